//! Encodes and decodes git's pkt-line format: four hexadecimal digits with the length (including the digits),
//! then the data; or one of three special packets.

/// The protocol's limit, including the length digits.
const MAX_PACKET: usize = 65_520;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Data(Vec<u8>),
    /// Ends a response or a part of it.
    Flush,
    /// Separates sections.
    Delim,
    ResponseEnd,
}

/// The bytes are not valid pkt-lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MalformedPacket;

/// Decodes packets from chunks of bytes. Buffers at most one incomplete packet and one chunk.
#[derive(Default)]
pub(super) struct PacketDecoder {
    bytes: Vec<u8>,
    /// The offset of the next packet.
    position: usize,
}

impl PacketDecoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.position);
        self.position = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// `None` until the next packet is complete.
    pub(super) fn next(&mut self) -> Result<Option<Packet>, MalformedPacket> {
        let Some((digits, rest)) = self.bytes[self.position..].split_first_chunk::<4>() else {
            return Ok(None);
        };
        let (size, packet) = match parse_length(digits)? {
            0 => (4, Packet::Flush),
            1 => (4, Packet::Delim),
            2 => (4, Packet::ResponseEnd),
            size @ 4..=MAX_PACKET => match rest.get(..size - 4) {
                Some(data) => (size, Packet::Data(data.to_vec())),
                None => return Ok(None),
            },
            _ => return Err(MalformedPacket),
        };
        self.position += size;
        Ok(Some(packet))
    }
}

fn parse_length(digits: &[u8; 4]) -> Result<usize, MalformedPacket> {
    // `from_str_radix` would also accept a sign.
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(MalformedPacket);
    }
    let digits = std::str::from_utf8(digits).map_err(|_| MalformedPacket)?;
    usize::from_str_radix(digits, 16).map_err(|_| MalformedPacket)
}

/// Builds a request from pkt-lines. Lines must be shorter than [`MAX_PACKET`].
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

/// A line as text, without its line end.
pub(super) fn line_text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_all(packets: &mut PacketDecoder) -> Result<Vec<Packet>, MalformedPacket> {
        std::iter::from_fn(|| packets.next().transpose()).collect()
    }

    #[test]
    fn packets_are_decoded_from_chunks_of_any_size() {
        let stream = Request::default().line("want x").delim().line("").flush();
        assert_eq!(stream, b"000bwant x\n00010005\n0000");
        let data = |text: &[u8]| Packet::Data(text.to_vec());
        let expected = [data(b"want x\n"), Packet::Delim, data(b"\n"), Packet::Flush];
        for size in 1..=stream.len() {
            let mut packets = PacketDecoder::default();
            let mut found = Vec::new();
            for chunk in stream.chunks(size) {
                packets.push(chunk);
                found.extend(decode_all(&mut packets).unwrap());
            }
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn only_valid_lengths_are_accepted() {
        #[track_caller]
        fn check(stream: &[u8], expected: Result<Option<Packet>, MalformedPacket>) {
            let mut packets = PacketDecoder::default();
            packets.push(stream);
            assert_eq!(packets.next(), expected);
        }
        check(b"", Ok(None));
        check(b"000", Ok(None));
        check(b"0004", Ok(Some(Packet::Data(Vec::new()))));
        check(b"0002", Ok(Some(Packet::ResponseEnd)));
        check(b"0006a", Ok(None));
        check(b"FFF0", Ok(None));
        for bad in [b"0003", b"fff1", b"ffff", b"+005", b"-001", b"<htm", b"\0\0\0\0", b"00\xff0"] {
            check(bad, Err(MalformedPacket));
        }
    }

    #[test]
    fn at_most_one_packet_and_one_chunk_are_buffered() {
        let mut packets = PacketDecoder::default();
        let packet = [b"fff0".as_slice(), &[7; MAX_PACKET - 4]].concat();
        for chunk in packet.repeat(5).chunks(8000) {
            packets.push(chunk);
            decode_all(&mut packets).unwrap();
            assert!(packets.bytes.len() <= MAX_PACKET + 8000);
        }
    }
}
