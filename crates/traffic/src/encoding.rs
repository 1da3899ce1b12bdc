//! Binary encoding of stored data: varints, length-prefixed slices, and zstd compression with a checksum.
//!
//! Data may be damaged on disk, so decoding never trusts a length and never panics.

/// Bounds the decompressed size, so that a damaged length cannot allocate all memory.
const MAX_PLAIN_BYTES: usize = 64 << 20;

/// Stored data that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("page views on disk are damaged ({0}). Restore views.db from a backup")]
pub(crate) struct DamagedData(pub(crate) &'static str);

/// Appends a LEB128 varint: seven bits per byte, the lowest first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a zigzag varint, so that small negative numbers stay short, too.
pub(crate) fn put_zigzag(out: &mut Vec<u8>, number: i64) {
    put_varint(out, ((number << 1) ^ (number >> 63)) as u64);
}

pub(crate) fn put_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A cursor over encoded bytes.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a>(pub(crate) &'a [u8]);

impl<'a> Decoder<'a> {
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, DamagedData> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(DamagedData("unexpected end"))?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DamagedData("varint too long"))
    }

    pub(crate) fn varint_u32(&mut self) -> Result<u32, DamagedData> {
        u32::try_from(self.varint()?).map_err(|_| DamagedData("number out of range"))
    }

    pub(crate) fn zigzag(&mut self) -> Result<i64, DamagedData> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(crate) fn slice(&mut self) -> Result<&'a [u8], DamagedData> {
        let length = usize::try_from(self.varint()?).map_err(|_| DamagedData("length out of range"))?;
        let (slice, rest) = self.0.split_at_checked(length).ok_or(DamagedData("unexpected end"))?;
        self.0 = rest;
        Ok(slice)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DamagedData> {
        let (array, rest) = self.0.split_first_chunk().ok_or(DamagedData("unexpected end"))?;
        self.0 = rest;
        Ok(*array)
    }
}

/// Compresses with a checksum that detects damage.
pub(crate) fn compress(plain: &[u8], level: i32) -> std::io::Result<Vec<u8>> {
    let mut zstd = zstd::bulk::Compressor::new(level)?;
    zstd.include_checksum(true)?;
    let mut compressed = Vec::with_capacity(plain.len() / 2 + 16);
    put_varint(&mut compressed, plain.len() as u64);
    compressed.extend(zstd.compress(plain)?);
    Ok(compressed)
}

pub(crate) fn decompress(compressed: &[u8]) -> Result<Vec<u8>, DamagedData> {
    let mut rest = Decoder(compressed);
    let length = usize::try_from(rest.varint()?).ok().filter(|length| *length <= MAX_PLAIN_BYTES);
    let length = length.ok_or(DamagedData("too large"))?;
    let plain = zstd::bulk::decompress(rest.0, length).map_err(|_| DamagedData("decompression failed"))?;
    if plain.len() == length { Ok(plain) } else { Err(DamagedData("length mismatch")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_round_trip(numbers: Vec<i64>) {
            let mut out = Vec::new();
            for number in &numbers {
                put_varint(&mut out, *number as u64);
                put_zigzag(&mut out, *number);
            }
            let mut bytes = Decoder(&out);
            for number in numbers {
                prop_assert_eq!(bytes.varint(), Ok(number as u64));
                prop_assert_eq!(bytes.zigzag(), Ok(number));
            }
            prop_assert!(bytes.varint().is_err());
        }

        #[test]
        fn compression_round_trips_and_detects_damage(plain: Vec<u8>, at: usize, with in 1..=255_u8) {
            let mut compressed = compress(&plain, 1).unwrap();
            prop_assert_eq!(&decompress(&compressed), &Ok(plain.clone()));
            let at = at % compressed.len();
            compressed[at] ^= with;
            let read = decompress(&compressed);
            prop_assert!(read.is_err() || read == Ok(plain), "other bytes came back");
        }
    }
}
