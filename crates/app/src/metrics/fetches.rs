//! Renders what fetches from hosts cost.

use forge::FetchCounts;

use super::text::{Labels, Text};

pub(super) fn render(counts: &FetchCounts, text: &mut Text) {
    let families = [
        (
            "docwright_repository_fetched_bytes_total",
            "Bytes of packfiles that were fetched over HTTP.",
            counts.bytes(),
        ),
        (
            "docwright_repository_file_batches_total",
            "Requests for files that were left out of the fetch of their commit.",
            counts.batches(),
        ),
        (
            "docwright_repository_file_misses_total",
            "Files that were not in a cache when a job read them.",
            counts.misses(),
        ),
    ];
    for (name, help, count) in families {
        text.family(name, "counter", help);
        text.sample(name, &Labels::default(), count);
    }
}
