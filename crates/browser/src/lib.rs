//! The dashboard in a real browser: tests alone, in `tests/it`. Nobody that is shipped knows it.
