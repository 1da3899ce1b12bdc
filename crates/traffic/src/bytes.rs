//! Numbers and texts as bytes, and bytes as little as they can be. What is read back may have been
//! damaged on the disk, so that nothing here trusts a length or panics.

/// The most that one packed piece may hold, so that a damaged length cannot ask for all memory.
const MOST: usize = 64 << 20;

/// What was kept cannot be read any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a piece of the page views on disk is damaged ({0}): restore views.db from a backup")]
pub(crate) struct Damaged(pub(crate) &'static str);

/// Seven bits a byte, the lowest first.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Small numbers stay small on both sides of zero.
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

pub(crate) fn put_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// What is still to be read.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(Damaged("it ends too early"))?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Damaged("a number is too long"))
    }

    pub(crate) fn small(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.number()?).map_err(|_| Damaged("a number is too large"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Damaged> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(crate) fn slice(&mut self) -> Result<&'a [u8], Damaged> {
        let length = usize::try_from(self.number()?).map_err(|_| Damaged("a length is too large"))?;
        let (slice, rest) = self.0.split_at_checked(length).ok_or(Damaged("it ends too early"))?;
        self.0 = rest;
        Ok(slice)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (array, rest) = self.0.split_first_chunk().ok_or(Damaged("it ends too early"))?;
        self.0 = rest;
        Ok(*array)
    }
}

/// Compresses, with a checksum that tells whether the same bytes come back.
pub(crate) fn pack(plain: &[u8], level: i32) -> std::io::Result<Vec<u8>> {
    let mut zstd = zstd::bulk::Compressor::new(level)?;
    zstd.include_checksum(true)?;
    let mut packed = Vec::with_capacity(plain.len() / 2 + 16);
    put(&mut packed, plain.len() as u64);
    packed.extend(zstd.compress(plain)?);
    Ok(packed)
}

pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, Damaged> {
    let mut rest = Bytes(packed);
    let length = usize::try_from(rest.number()?).ok().filter(|length| *length <= MOST);
    let length = length.ok_or(Damaged("it is too large"))?;
    let plain = zstd::bulk::decompress(rest.0, length).map_err(|_| Damaged("it does not unpack"))?;
    if plain.len() == length { Ok(plain) } else { Err(Damaged("it is too short")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers: Vec<i64>) {
            let mut out = Vec::new();
            for number in &numbers {
                put(&mut out, *number as u64);
                put_signed(&mut out, *number);
            }
            let mut bytes = Bytes(&out);
            for number in numbers {
                prop_assert_eq!(bytes.number(), Ok(number as u64));
                prop_assert_eq!(bytes.signed(), Ok(number));
            }
            prop_assert!(bytes.number().is_err());
        }

        #[test]
        fn what_is_packed_comes_back_and_damage_is_found(plain: Vec<u8>, at: usize, with in 1..=255_u8) {
            let mut packed = pack(&plain, 1).unwrap();
            prop_assert_eq!(&unpack(&packed), &Ok(plain.clone()));
            let at = at % packed.len();
            packed[at] ^= with;
            let read = unpack(&packed);
            prop_assert!(read.is_err() || read == Ok(plain), "other bytes came back");
        }
    }
}
