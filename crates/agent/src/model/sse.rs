//! Parses server-sent events from chunks, which can end within a line, an event or a character.

/// Holds the data of the incomplete event.
#[derive(Default)]
pub(super) struct SseParser {
    line: Vec<u8>,
    data: Vec<u8>,
}

impl SseParser {
    /// Adds a chunk, and returns the data of every event that it completes.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                events.extend(self.end_line());
            }
        }
        events
    }

    /// An empty line ends the event. The event's name is ignored, because its data contains it.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return Some(std::mem::take(&mut self.data)).filter(|data| !data.is_empty());
        }
        if let Some(more) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(more.trim_ascii_start());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: hello\r\nevent: a\r\ndata: {\"text\":\r\ndata: \"é — 日本\"}\r\n\r\n\
        id: 1\ndata:two\n\n\n\nretry: 5\n\ndata: [DONE]\n\ndata: cut";

    fn parse_in_chunks(size: usize) -> Vec<String> {
        let mut parser = SseParser::default();
        let events = STREAM.as_bytes().chunks(size).flat_map(|chunk| parser.push(chunk));
        events.map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn chunks_can_end_anywhere() {
        for size in 1..=STREAM.len() {
            assert_eq!(
                parse_in_chunks(size),
                ["{\"text\":\n\"é — 日本\"}", "two", "[DONE]"],
                "chunks of {size}"
            );
        }
    }
}
