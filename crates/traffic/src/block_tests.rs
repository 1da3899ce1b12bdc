//! Tests that blocks round-trip, and that damaged data is an error.

use proptest::prelude::*;

use super::*;

fn any_row() -> impl Strategy<Value = (Row, Option<String>, Option<String>, Option<String>)> {
    let text = || prop::option::of("[a-zé/]{0,12}");
    let verification =
        prop::sample::select(vec![Verification::Unknown, Verification::Claimed, Verification::Verified]);
    let numbers = (any::<i64>(), any::<u32>(), 0..4_u8, 0..7_usize, 0..600_u16, verification);
    let more = (any::<bool>(), any::<Option<u64>>(), any::<Option<Hash>>());
    (numbers, more, text(), text(), text()).prop_map(|(numbers, more, agent, referrer, path)| {
        let (at, page, kind, class, status, verification) = numbers;
        let (markdown, visitor, id) = more;
        let (kind, class) = kind_and_class(kind | (class as u8) << 2).unwrap();
        let page = PathRef::Page(page);
        let row = Row {
            at,
            path: page,
            kind,
            class,
            markdown,
            status,
            agent: 0,
            referrer: 0,
            verification,
            visitor,
            id,
        };
        (row, agent, referrer, path)
    })
}

fn any_block() -> impl Strategy<Value = Block> {
    prop::collection::vec(any_row(), 0..40).prop_map(|rows| {
        let mut block = Block::default();
        for (mut row, agent, referrer, path) in rows {
            let mut number = |text: Option<String>| text.map_or(0, |text| block.texts.number(&text));
            row.agent = number(agent);
            row.referrer = number(referrer);
            if let Some(path) = path {
                row.path = PathRef::Text(number(Some(path)));
            }
            block.rows.push(row);
        }
        block
    })
}

/// Rows with their texts instead of the numbers.
fn with_texts(block: &Block) -> Vec<String> {
    let text = |number| block.texts.get(number).unwrap_or("-");
    let path = |path| match path {
        PathRef::Page(page) => page.to_string(),
        PathRef::Text(number) => text(number).to_owned(),
    };
    let with_texts = |row: &Row| {
        let plain = Row { path: PathRef::Page(0), agent: 0, referrer: 0, ..row.clone() };
        format!("{plain:?} {} {} {}", path(row.path), text(row.agent), text(row.referrer))
    };
    block.rows.iter().map(with_texts).collect()
}

proptest! {
    #[test]
    fn a_block_round_trips(block in any_block(), cut: prop::sample::Index) {
        let packed = block.encode(&block.rows, 1).unwrap();
        prop_assert_eq!(with_texts(&Block::decode(&packed).unwrap()), with_texts(&block));
        let mut reads = Vec::new();
        each_read(&packed, |read, visitor| reads.push((read, visitor))).unwrap();
        let expected: Vec<_> = block.rows.iter().filter_map(|row| Some((row.read()?, row.visitor))).collect();
        prop_assert_eq!(reads, expected);

        let (left, right) = block.rows.split_at(cut.index(block.rows.len() + 1));
        let mut joined = Block::decode(&block.encode(left, 1).unwrap()).unwrap();
        joined.append(Block::decode(&block.encode(right, 3).unwrap()).unwrap());
        prop_assert_eq!(with_texts(&joined), with_texts(&block));
    }

    #[test]
    fn blocks_of_version_1_are_read(block in any_block()) {
        let mut old = block.clone();
        old.rows.iter_mut().for_each(|row| row.verification = Verification::Unknown);
        // Version 1 had no column of verifications. It is empty here, so it is the 0 after the ids.
        let plain = decompress(&old.encode(&old.rows, 1).unwrap()).unwrap();
        let mut bytes = Decoder(&plain);
        bytes.varint().unwrap();
        let rows = bytes.varint().unwrap();
        let mut version_1 = Vec::new();
        put_varint(&mut version_1, 1);
        put_varint(&mut version_1, rows);
        (0..8).for_each(|_| put_slice(&mut version_1, bytes.slice().unwrap()));
        prop_assert!(bytes.slice().unwrap().is_empty());
        version_1.extend(bytes.0);
        let packed = compress(&version_1, 1).unwrap();
        prop_assert_eq!(with_texts(&Block::decode(&packed).unwrap()), with_texts(&old));
    }

    #[test]
    fn junk_is_refused(junk: Vec<u8>) {
        prop_assert!(Block::decode(&junk).is_err());
        prop_assert!(each_read(&junk, |_, _| ()).is_err());
        // Junk that decompresses: the columns are damaged.
        let _ = Block::decode(&compress(&junk, 1).unwrap());
        let _ = each_read(&compress(&junk, 1).unwrap(), |_, _| ());
    }

    #[test]
    fn a_damaged_block_is_refused(block in any_block(), at: prop::sample::Index, with in 1..=255_u8) {
        let plain = decompress(&block.encode(&block.rows, 1).unwrap()).unwrap();
        let mut damaged = plain.clone();
        damaged[at.index(plain.len())] ^= with;
        // The result does not matter, but decoding must not panic.
        let _ = Block::decode(&compress(&damaged, 1).unwrap());
        let mut packed = compress(&plain, 1).unwrap();
        let last = packed.len() - 1;
        packed[last] ^= with; // within the checksum
        prop_assert!(Block::decode(&packed).is_err());
    }
}
