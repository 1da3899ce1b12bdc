//! Tests the dashboard in a real browser. The tests are in `tests/it`, and no released program depends on this crate.
