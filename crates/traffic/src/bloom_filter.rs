//! A blocked Bloom filter for event ids: 14 bits per id, and one cache line per lookup.

use crate::block::Hash;

/// 512 bits: one cache line.
type CacheLine = [u64; 8];
/// Gives about one false positive in 600. Fuller lines need less memory, but each false positive costs a disk
/// read.
const IDS_PER_LINE: usize = 36;

#[derive(Debug, Clone)]
pub(crate) struct BloomFilter(Vec<CacheLine>);

impl BloomFilter {
    pub(crate) fn from_hashes<'a>(hashes: impl ExactSizeIterator<Item = &'a Hash>) -> Self {
        let mut filter = Self(vec![[0; 8]; hashes.len().div_ceil(IDS_PER_LINE).max(1)]);
        for hash in hashes {
            let line = filter.line(hash);
            bits(hash).for_each(|(word, bit)| filter.0[line][word] |= bit);
        }
        filter
    }

    /// May be a false positive, never a false negative.
    pub(crate) fn may_contain(&self, hash: &Hash) -> bool {
        let line = self.0.get(self.line(hash));
        line.is_some_and(|line| bits(hash).all(|(word, bit)| line[word] & bit != 0))
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let line = |bytes: &[u8; 64]| {
            let (words, _) = bytes.as_chunks::<8>();
            std::array::from_fn(|word| u64::from_le_bytes(words[word]))
        };
        Self(bytes.as_chunks::<64>().0.iter().map(line).collect())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(self.0.as_slice())
    }

    fn line(&self, hash: &Hash) -> usize {
        let (low, _) = halves(hash);
        ((u128::from(low) * self.0.len() as u128) >> 64) as usize
    }
}

/// One bit in each word of the cache line.
fn bits(hash: &Hash) -> impl Iterator<Item = (usize, u64)> {
    let (_, high) = halves(hash);
    (0..8).map(move |word| (word, 1 << (high >> (6 * word) & 63)))
}

fn halves(hash: &Hash) -> (u64, u64) {
    let both = u128::from_le_bytes(*hash);
    (both as u64, (both >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn hash(number: u32) -> Hash {
        *Sha256::digest(number.to_le_bytes()).first_chunk().unwrap()
    }

    #[test]
    fn there_are_no_false_negatives_and_few_false_positives() {
        let inside: Vec<Hash> = (0..10_000).map(hash).collect();
        let filter = BloomFilter::from_hashes(inside.iter());
        let filter = BloomFilter::from_bytes(&filter.to_bytes());
        assert!(inside.iter().all(|hash| filter.may_contain(hash)));
        let wrong = (10_000..110_000).filter(|number| filter.may_contain(&hash(*number))).count();
        assert!(wrong < 200, "{wrong} of 100,000");
        assert!(filter.memory_bytes() <= 10_000 * 15 / 8);
        assert!(!BloomFilter::from_bytes(b"junk").may_contain(&hash(1)));
    }
}
