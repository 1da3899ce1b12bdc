//! Server-sent events, put together from pieces that end anywhere: within a line, an event or a letter.

/// The data of the events that are not whole yet.
#[derive(Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
}

impl Events {
    /// Takes a piece in and answers the data of every event that it completes.
    pub(super) fn push(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        let mut whole = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                whole.extend(self.end_line());
            }
        }
        whole
    }

    /// An empty line ends the event; the event's name is in its data too, and of no use here.
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

    fn read(size: usize) -> Vec<String> {
        let mut events = Events::default();
        let pieces = STREAM.as_bytes().chunks(size).flat_map(|piece| events.push(piece));
        pieces.map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn pieces_end_anywhere() {
        for size in 1..=STREAM.len() {
            assert_eq!(read(size), ["{\"text\":\n\"é — 日本\"}", "two", "[DONE]"], "pieces of {size}");
        }
    }
}
