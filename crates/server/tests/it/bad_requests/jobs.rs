//! Lists invalid requests to create jobs and to send follow-ups.

use super::row::{Row, row};

const CREATE: &str = "POST /v2/agent/{project}/job";
const MESSAGE: &str = "POST /v2/agent/{project}/job/{job}/message";

/// Bodies that aren't JSON, for any route that expects an object.
pub(super) const NOT_JSON: &[(&str, &[u8])] = &[
    ("nothing", b""),
    ("blanks", b" \r\n\t"),
    ("a cut-off object", b"{"),
    ("a cut-off key", b"{\"prompt"),
    ("a key without a value", b"{\"prompt\"}"),
    ("a cut-off string", b"{\"prompt\":\"x"),
    ("a cut-off list", b"{\"prompt\":[1,"),
    ("single quotes", b"{'prompt':'x'}"),
    ("a bare key", b"{prompt:\"x\"}"),
    ("a comma too many", b"{\"prompt\":\"x\",}"),
    ("a comma too few", b"{\"prompt\":\"x\" \"draft\":true}"),
    ("a comment", b"{\"prompt\":\"x\"} // please"),
    ("a second value", b"{\"prompt\":\"x\"}{\"prompt\":\"y\"}"),
    ("junk at the end", b"{\"prompt\":\"x\"}x"),
    ("a NUL at the end", b"{\"prompt\":\"x\"}\0"),
    ("a NUL in a string", b"{\"prompt\":\"a\0b\"}"),
    ("a line break in a string", b"{\"prompt\":\"a\nb\"}"),
    ("no number", b"{\"prompt\":NaN}"),
    ("no end", b"{\"prompt\":-Infinity}"),
    ("a zero too many", b"{\"prompt\":\"x\",\"n\":01}"),
    ("a plus", b"{\"prompt\":\"x\",\"n\":+1}"),
    ("hexadecimal", b"{\"prompt\":\"x\",\"n\":0x1}"),
    ("a point without digits", b"{\"prompt\":\"x\",\"n\":1.}"),
    ("another language's true", b"{\"prompt\":\"x\",\"n\":True}"),
    ("half a character, the first", b"{\"prompt\":\"\\ud83d\"}"),
    ("half a character, the second", b"{\"prompt\":\"\\udca9\"}"),
    ("the halves the wrong way round", b"{\"prompt\":\"\\udca9\\ud83d\"}"),
    ("an unknown escape", b"{\"prompt\":\"\\x41\"}"),
    ("a short escape", b"{\"prompt\":\"\\u12\"}"),
    ("a byte-order mark", b"\xef\xbb\xbf{\"prompt\":\"x\"}"),
    ("UTF-16", b"\xff\xfe{\0\"\0p\0\"\0:\x001\0}\0"),
    ("Latin-1", b"{\"prompt\":\"caf\xe9\"}"),
    ("an overlong NUL", b"{\"prompt\":\"\xc0\x80\"}"),
    ("a half in UTF-8", b"{\"prompt\":\"\xed\xa0\x80\"}"),
    ("a character cut in two", b"{\"prompt\":\"\xe2\x82\"}"),
    ("beyond Unicode", b"{\"prompt\":\"\xf4\x90\x80\x80\"}"),
    ("a form", b"prompt=x"),
    ("XML", b"<prompt>x</prompt>"),
    ("a number without end", b"{\"prompt\":1e}"),
];

/// JSON that isn't an object.
pub(super) const NOT_OBJECTS: &[&str] = &[
    "[]",
    "[\"x\"]",
    " [{\"prompt\":\"x\"}] ",
    "null",
    "true",
    "7",
    "1.5e3",
    "\"prompt\"",
    "[[[[[[[[]]]]]]]]",
];

/// Values of `prompt` that aren't text.
const NOT_TEXT: &[&str] =
    &["null", "7", "-0", "1.5", "1e999", "true", "[]", "[\"x\"]", "{}", "{\"text\":\"x\"}"];

/// Invalid fields besides a valid prompt.
const FIELDS: &[(&str, &str)] = &[
    (
        r#""prompt":"y""#,
        "400 invalid_body: the JSON doesn't match this operation: duplicate field `prompt` at line 1 column 22",
    ),
    (r#""draft":true,"draft":true"#, "400 invalid_body"),
    (r#""draft":"true""#, "400 invalid_body"),
    (r#""draft":1"#, "400 invalid_body"),
    (r#""draft":[]"#, "400 invalid_body"),
    (r#""ref":7"#, "400 invalid_body"),
    (r#""ref":true"#, "400 invalid_body"),
    (r#""ref":["main"]"#, "400 invalid_body"),
    (r#""branch":7"#, "400 invalid_body"),
    (r#""branch":{}"#, "400 invalid_body"),
    (r#""model":7"#, "400 invalid_body"),
    (r#""model":["offline"]"#, "400 invalid_body"),
    (r#""model":"""#, "400 invalid_model: model must be one that the project allows: offline"),
    (r#""model":"gpt""#, "400 invalid_model"),
    (r#""model":"OFFLINE""#, "400 invalid_model"),
    (r#""model":" offline""#, "400 invalid_model"),
    (r#""model":"offline\u0000""#, "400 invalid_model"),
    (r#""ref":"","draft":7"#, "400 invalid_body"),
];

/// Invalid names of branches.
const INVALID_BRANCHES: &[&str] = &[
    "",
    " ",
    "a b",
    " main",
    "-x",
    "--upload-pack=x",
    "a..b",
    "a.lock",
    "a.lock/b",
    "HEAD",
    "@",
    "a@{1}",
    "refs/heads/main",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[b",
    "a\\\\b",
    "/a",
    "a/",
    "a//b",
    ".a",
    "a.",
    "a/.b",
    "a\\u0000b",
    "a\\nb",
    "a\\u007f",
    "\\u00a0",
];

const UNSUPPORTED_CONTENT_TYPES: &[&[u8]] = &[
    b"",
    b"text/plain",
    b"text/json",
    b"json",
    b"application",
    b"application/",
    b"application/jsonp",
    b"application/json-seq",
    b"application/x-ndjson",
    b"application/x-www-form-urlencoded",
    b"multipart/form-data; boundary=x",
    b"application / json",
    b"application/json, text/plain",
    b";application/json",
    b"text/plain; application/json",
    b"image/svg+json",
    b"+json",
    b"\"application/json\"",
    b"*/*",
    b"application/j\xffson",
    b"application/\xff+json",
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = bodies(CREATE);
    rows.extend(bodies(MESSAGE));
    rows.extend(fields());
    rows.extend(idempotency_keys());
    rows
}

/// Invalid bodies for both routes.
fn bodies(route: &str) -> Vec<Row> {
    let json = |name: String, body: &[u8], expected: &str| row(route, name, expected).json(body);
    let mut rows = Vec::new();
    rows.extend(NOT_JSON.iter().map(|(name, body)| json((*name).into(), body, "400 invalid_body")));
    let object = "400 invalid_body: expected a JSON object";
    rows.extend(NOT_OBJECTS.iter().map(|body| json(format!("no object: {body}"), body.as_bytes(), object)));
    let prompt = |value: &str| format!("{{\"prompt\":{value}}}");
    rows.extend(
        NOT_TEXT
            .iter()
            .map(|value| json(format!("no text: {value}"), prompt(value).as_bytes(), "400 invalid_body")),
    );
    for invisible in ["", " ", "\\n\\t", "\\u0000", "\\u200b\\ufeff", "\\u00a0\\u3000"] {
        let text = prompt(&format!("\"{invisible}\""));
        let empty = "400 invalid_prompt: prompt must not be empty";
        rows.push(json(format!("invisible: {invisible}"), text.as_bytes(), empty));
    }
    let long = prompt(&format!("\"{}\"", "é".repeat(100_001)));
    let too_long = "400 invalid_prompt: prompt must be at most 100,000 characters, got 100001";
    rows.push(json("a prompt too long".into(), long.as_bytes(), too_long));
    let missing =
        "400 invalid_body: the JSON doesn't match this operation: missing field `prompt` at line 1 column 14";
    rows.push(json("no prompt".into(), br#"{"Prompt":"x"}"#, missing));
    let deep = "400 invalid_body: not valid JSON: EOF while parsing a list at line 1 column 100005";
    rows.push(json("a deep list".into(), format!("{{\"x\":{}", "[".repeat(100_000)).as_bytes(), deep));
    let deep = prompt(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    rows.push(json("a deep prompt".into(), deep.as_bytes(), "400 invalid_body"));
    rows.extend(content_types(route));
    rows.extend(sizes(route));
    rows
}

fn content_types(route: &str) -> Vec<Row> {
    let expected = "415 unsupported_media_type: send the body as application/json";
    let mut rows: Vec<_> = UNSUPPORTED_CONTENT_TYPES
        .iter()
        .map(|kind| {
            let name = format!("the content type `{}`", String::from_utf8_lossy(kind));
            row(route, name, expected).content_type(kind).body(r#"{"prompt":"x"}"#)
        })
        .collect();
    rows.push(row(route, "no content type", expected).body(r#"{"prompt":"x"}"#));
    rows
}

fn sizes(route: &str) -> [Row; 5] {
    const MAX_BYTES: u64 = 2 * 1024 * 1024;
    let large = |name: &str| {
        row(route, name, "413 too_large: the body must be at most 2 MiB").content_type("application/json")
    };
    [
        large("a byte too many is claimed").claim_length(MAX_BYTES + 1),
        large("ten gigabytes are claimed").claim_length(10_000_000_000),
        large("the maximum is claimed").claim_length(u64::MAX - 2),
        large("a byte too many, in one piece").body(vec![b' '; MAX_BYTES as usize + 1]),
        large("a byte too many, in chunks").body(vec![b' '; MAX_BYTES as usize + 1]).chunked(),
    ]
}

fn fields() -> Vec<Row> {
    let create = |field: &str, expected: &str| {
        row(CREATE, format!("the field {field:.60}"), expected).json(format!("{{\"prompt\":\"x\",{field}}}"))
    };
    let mut rows: Vec<_> = FIELDS.iter().map(|(field, expected)| create(field, expected)).collect();
    for name in INVALID_BRANCHES {
        rows.push(create(&format!("\"branch\":\"{name}\""), "400 invalid_branch"));
        rows.push(create(&format!("\"ref\":\"{name}\""), "400 invalid_branch"));
    }
    rows.push(create(&format!("\"ref\":\"{}\"", "é".repeat(101)), "400 invalid_branch"));
    rows
}

fn idempotency_keys() -> Vec<Row> {
    let sentence =
        "400 invalid_idempotency_key: Idempotency-Key must have 1 to 255 printable ASCII characters";
    let mut rows = Vec::new();
    for route in [CREATE, MESSAGE] {
        let with = |name: &str, key: &[u8]| {
            row(route, name, sentence).header("idempotency-key", key).json(r#"{"prompt":"x"}"#)
        };
        rows.push(with("an empty Idempotency-Key", b""));
        rows.push(with("a blank Idempotency-Key", b" \t "));
        rows.push(with("an Idempotency-Key too long", &[b'k'; 256]));
        rows.push(with("an Idempotency-Key in UTF-8", "clé".as_bytes()));
        rows.push(with("an Idempotency-Key in Latin-1", b"cl\xe9"));
        let several = "400 invalid_idempotency_key: Idempotency-Key must be sent only once";
        for (name, second) in [("an Idempotency-Key twice", "one"), ("two Idempotency-Keys", "other")] {
            let twice = row(route, name, several).header("idempotency-key", "one");
            rows.push(twice.header("idempotency-key", second).json(r#"{"prompt":"x"}"#));
        }
    }
    rows
}
