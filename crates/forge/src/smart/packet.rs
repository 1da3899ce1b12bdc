//! Packets, in which git puts everything it says: four hexadecimal digits, which count themselves,
//! and what they count. Or one of three marks.

/// The longest there is, with its digits.
const MAX_PACKET: usize = 65_520;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Data(Vec<u8>),
    /// The end of an answer, or of one of its halves.
    Flush,
    /// Between two sections.
    Delim,
    /// The end of everything.
    End,
}

/// What was read is not made of packets.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Garbled;

/// Takes bytes as they come and gives packets as they are whole. Keeps at most one that is not, and
/// what came with it.
#[derive(Default)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    /// Where the next one begins.
    at: usize,
}

impl Packets {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// `None` until there is more.
    pub(super) fn next(&mut self) -> Result<Option<Packet>, Garbled> {
        let Some((digits, rest)) = self.bytes[self.at..].split_first_chunk::<4>() else { return Ok(None) };
        let (size, packet) = match length(digits)? {
            0 => (4, Packet::Flush),
            1 => (4, Packet::Delim),
            2 => (4, Packet::End),
            size @ 4..=MAX_PACKET => match rest.get(..size - 4) {
                Some(data) => (size, Packet::Data(data.to_vec())),
                None => return Ok(None),
            },
            _ => return Err(Garbled),
        };
        self.at += size;
        Ok(Some(packet))
    }
}

fn length(digits: &[u8; 4]) -> Result<usize, Garbled> {
    // `from_str_radix` would take a sign as well.
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(Garbled);
    }
    let digits = std::str::from_utf8(digits).map_err(|_| Garbled)?;
    usize::from_str_radix(digits, 16).map_err(|_| Garbled)
}

/// A request, packet by packet. A line is far shorter than the longest packet.
#[derive(Default)]
pub(super) struct Request(Vec<u8>);

impl Request {
    pub(super) fn line(mut self, line: &str) -> Self {
        self.0.extend_from_slice(format!("{:04x}{line}\n", line.len() + 5).as_bytes());
        self
    }

    pub(super) fn lines(self, lines: impl IntoIterator<Item = String>) -> Self {
        lines.into_iter().fold(self, |request, line| request.line(&line))
    }

    pub(super) fn delim(mut self) -> Self {
        self.0.extend_from_slice(b"0001");
        self
    }

    pub(super) fn flush(mut self) -> Vec<u8> {
        self.0.extend_from_slice(b"0000");
        self.0
    }
}

/// A line of an answer as text, without its end.
pub(super) fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(packets: &mut Packets) -> Result<Vec<Packet>, Garbled> {
        std::iter::from_fn(|| packets.next().transpose()).collect()
    }

    #[test]
    fn packets_come_whole_however_they_are_cut() {
        let stream = Request::default().line("want x").delim().line("").flush();
        assert_eq!(stream, b"000bwant x\n00010005\n0000");
        let data = |text: &[u8]| Packet::Data(text.to_vec());
        let expected = [data(b"want x\n"), Packet::Delim, data(b"\n"), Packet::Flush];
        for size in 1..=stream.len() {
            let mut packets = Packets::default();
            let mut found = Vec::new();
            for piece in stream.chunks(size) {
                packets.push(piece);
                found.extend(all(&mut packets).unwrap());
            }
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn lengths() {
        #[track_caller]
        fn check(stream: &[u8], expected: Result<Option<Packet>, Garbled>) {
            let mut packets = Packets::default();
            packets.push(stream);
            assert_eq!(packets.next(), expected);
        }
        check(b"", Ok(None));
        check(b"000", Ok(None));
        check(b"0004", Ok(Some(Packet::Data(Vec::new()))));
        check(b"0002", Ok(Some(Packet::End)));
        check(b"0006a", Ok(None));
        check(b"FFF0", Ok(None));
        for bad in [b"0003", b"fff1", b"ffff", b"+005", b"-001", b"<htm", b"\0\0\0\0", b"00\xff0"] {
            check(bad, Err(Garbled));
        }
    }

    #[test]
    fn no_more_is_kept_than_one_packet_and_what_came_with_it() {
        let mut packets = Packets::default();
        let one = [b"fff0".as_slice(), &[7; MAX_PACKET - 4]].concat();
        for piece in one.repeat(5).chunks(8000) {
            packets.push(piece);
            all(&mut packets).unwrap();
            assert!(packets.bytes.len() <= MAX_PACKET + 8000);
        }
    }
}
