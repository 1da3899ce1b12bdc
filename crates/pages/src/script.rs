//! Scans JavaScript just enough to find where its brackets close. Brackets in strings and comments don't count.

/// A quote without another one within this distance is an apostrophe, so that many of them stay cheap to read.
const MAX_STRING_BYTES: usize = 1024;

/// The end of the braces that open at `at`. `None` when they don't close.
pub(crate) fn braces_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut here) = (0_usize, at);
    while let Some(byte) = bytes.get(here) {
        if let Some(end) = literal_end(bytes, here) {
            here = end;
            continue;
        }
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        here += 1;
        if depth == 0 {
            return Some(here);
        }
    }
    None
}

/// The end of the statement at `at`: the first blank line with no open bracket. `None` when the brackets never close.
pub(crate) fn statement_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut here) = (0_usize, at);
    while let Some(byte) = bytes.get(here) {
        if let Some(end) = literal_end(bytes, here) {
            here = end;
            continue;
        }
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b'\n' if depth == 0 && is_blank_line(&bytes[here + 1..]) => return Some(here + 1),
            _ => {}
        }
        here += 1;
    }
    (depth == 0).then_some(text.len())
}

fn is_blank_line(rest: &[u8]) -> bool {
    rest.iter().take_while(|byte| **byte != b'\n').all(u8::is_ascii_whitespace)
}

/// The end of the string or comment that begins at `at`. A quote that doesn't close on its line is an apostrophe in text.
pub(crate) fn literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    match rest {
        [b'/', b'*', ..] => {
            let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
            Some(end.map_or(bytes.len(), |end| at + end + 4))
        }
        // The slashes of an address don't begin a comment.
        [b'/', b'/', ..] if at == 0 || bytes[at - 1] != b':' => {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            Some(at + end)
        }
        [quote @ (b'"' | b'\'' | b'`'), ..] => string_end(bytes, at, *quote),
        _ => None,
    }
}

fn string_end(bytes: &[u8], at: usize, quote: u8) -> Option<usize> {
    let limit = if quote == b'`' { bytes.len() } else { bytes.len().min(at + MAX_STRING_BYTES) };
    let mut here = at + 1;
    while let Some(byte) = bytes[..limit].get(here) {
        match byte {
            b'\\' => here += 1,
            b'\n' if quote != b'`' => return None,
            byte if *byte == quote => return Some(here + 1),
            _ => {}
        }
        here += 1;
    }
    (quote == b'`').then_some(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_braces() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(braces_end(text, 0).map(|end| &text[..end]), expected);
        }
        check("{a} b", Some("{a}"));
        check("{a: {b: 1}} c", Some("{a: {b: 1}}"));
        check("{c ? '}' : \"{\"} d", Some("{c ? '}' : \"{\"}"));
        check("{/* it's a { brace */} d", Some("{/* it's a { brace */}"));
        check("{`}\n}`} d", Some("{`}\n}`}"));
        check("{a // it's }\n} d", Some("{a // it's }\n}"));
        check("{<p>it's</p>} d", Some("{<p>it's</p>}"));
        check("{'a\\'}'} d", Some("{'a\\'}'}"));
        check("{<a>https://x.dev</a>} d", Some("{<a>https://x.dev</a>}"));
        check("{a", None);
        check("{\"a}", Some("{\"a}"));
    }

    #[test]
    fn ends_of_statements() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(statement_end(text, 0).map(|end| &text[..end]), expected);
        }
        check("import a from 'a'\n\nText", Some("import a from 'a'\n"));
        check(
            "export const m = {\n  a: 1,\n\n  b: '}',\n}\n\nText",
            Some("export const m = {\n  a: 1,\n\n  b: '}',\n}\n"),
        );
        check("export const m = 1", Some("export const m = 1"));
        check("export const m = {\n\nText", None);
    }
}
