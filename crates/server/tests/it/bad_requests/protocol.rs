//! Tests malformed HTTP. If the HTTP library refuses a request, the response has an empty body
//! (ARCHITECTURE.md).

use crate::raw;
use crate::support::Answer;

use super::row::{TestProject, check_error_format};

/// `(name, the bytes, the status and code of each response)`. A status alone is a response of the library,
/// without a code and a body.
type Exchange = (&'static str, Vec<u8>, &'static [&'static str]);

const INCOMPLETE: &[&str] = &["400 invalid_body: the body is incomplete, or its chunks are malformed"];
const EMPTY: &[&str] = &["400 invalid_body: not valid JSON: EOF while parsing a value at line 1 column 0"];

fn get(headers: &str) -> Vec<u8> {
    format!("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n").into_bytes()
}

/// Without a key, so that the server doesn't read the body.
fn post(headers: &str, body: &str) -> Vec<u8> {
    format!("POST /v2/agent/x/job HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n\r\n{body}")
        .into_bytes()
}

fn line(line: &str) -> Vec<u8> {
    format!("{line}\r\nhost: x\r\nconnection: close\r\n\r\n").into_bytes()
}

fn request_lines() -> Vec<Exchange> {
    vec![
        ("no HTTP", b"hello\r\n\r\n".to_vec(), &["400"]),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), &["400"]),
        ("HTTP/2 right away", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), &[]),
        ("no version", line("GET /healthz"), &["400"]),
        ("an old version", line("GET /healthz HTTP/0.9"), &["400"]),
        ("a new version", line("GET /healthz HTTP/1.2"), &["400"]),
        ("a lower-case version", line("GET /healthz http/1.1"), &["400"]),
        ("a space too many", line("GET  /healthz HTTP/1.1"), &["400"]),
        ("a space in the path", line("GET /health z HTTP/1.1"), &["400"]),
        ("a tab for a space", line("GET\t/healthz HTTP/1.1"), &["400"]),
        ("no path", line("GET  HTTP/1.1"), &["400"]),
        ("a path without its slash", line("GET healthz HTTP/1.1"), &["404 no_such_route"]),
        ("a NUL in the path", line("GET /health\0z HTTP/1.1"), &["400"]),
        ("a method with brackets", line("G<E>T /healthz HTTP/1.1"), &["400"]),
        ("a letter beyond ASCII", line("GET /é HTTP/1.1"), &["404 no_such_route"]),
        ("a byte that is no text", b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(), &["400"]),
        ("a fragment", line("GET /healthz#x HTTP/1.1"), &["200"]),
        ("an address with its host", line("GET http://evil.example/healthz HTTP/1.1"), &["200"]),
        ("an address with its host, nowhere", line("GET http://x/nowhere HTTP/1.1"), &["404 no_such_route"]),
        ("an address of another kind", line("GET ftp://x/healthz HTTP/1.1"), &["200"]),
        ("a star", line("OPTIONS * HTTP/1.1"), &["404 no_such_route"]),
        ("a tunnel", line("CONNECT evil.example:443 HTTP/1.1"), &["404 no_such_route"]),
        ("a long address", line(&format!("GET /{} HTTP/1.1", "x".repeat(65_534))), &["431"]),
        (
            "a long method",
            line(&format!("{} /healthz HTTP/1.1", "X".repeat(5_000))),
            &["405 method_not_allowed"],
        ),
        ("HTTP/1.0", b"GET /healthz HTTP/1.0\r\n\r\n".to_vec(), &["200"]),
        ("HTTP/1.0, nowhere", b"GET /nowhere HTTP/1.0\r\n\r\n".to_vec(), &["404 no_such_route"]),
        ("bare line feeds", b"GET /healthz HTTP/1.1\nhost: x\nconnection: close\n\n".to_vec(), &["200"]),
        ("empty lines first", b"\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n".to_vec(), &["200"]),
    ]
}

fn headers() -> Vec<Exchange> {
    let many: String = (0..101).map(|n| format!("x-{n}: y\r\n")).collect();
    let mut long = get("x-long: ");
    long.resize(8192 + 4096 * 100, b'x'); // the library's limit for a head
    vec![
        ("no host", b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n".to_vec(), &["200"]),
        ("two hosts", get("host: y\r\n"), &["200"]),
        ("a name with a space", get("x y: z\r\n"), &["400"]),
        ("a space before the colon", get("x-y : z\r\n"), &["400"]),
        ("no colon", get("nonsense\r\n"), &["400"]),
        ("no name", get(": z\r\n"), &["400"]),
        ("a name in UTF-8", get("clé: z\r\n"), &["400"]),
        ("a folded value", get("x-y: z\r\n and more\r\n"), &["400"]),
        ("a NUL in a value", get("x-y: a\0b\r\n"), &["400"]),
        ("a bell in a value", get("x-y: a\x07b\r\n"), &["400"]),
        ("a bare carriage return", get("x-y: a\rb\r\n"), &["400"]),
        ("UTF-8 in a value", get("x-y: clé\r\n"), &["200"]),
        ("a hundred headers and one", get(&many), &["431"]),
        ("a head without end", long, &["431"]),
    ]
}

/// Several requests at once on one connection. They're answered in order, as long as the server knows where
/// the next one begins.
fn pipelines() -> Vec<Exchange> {
    let first = |line: &str, body: &str| {
        format!("{line} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let then = |requests: &[String]| [requests.concat().into_bytes(), get("")].concat();
    let (alive, nowhere) = (first("GET /healthz", ""), first("GET /nowhere", ""));
    let unread = first("POST /v2/agent/x/job", "GET /nowhere HTTP/1.1\r\n\r\n");
    vec![
        ("two at once", then(std::slice::from_ref(&alive)), &["200", "200"]),
        ("a bad one first", then(std::slice::from_ref(&nowhere)), &["404 no_such_route", "200"]),
        ("an unread body isn't a request", then(&[unread]), &["401 unauthorized", "200"]),
        ("junk between two", then(&[alive.clone(), "junk\r\n\r\n".into()]), &["200", "400"]),
        (
            "two and then junk",
            [alive.as_bytes(), nowhere.as_bytes(), b"\0\r\n\r\n"].concat(),
            &["200", "404 no_such_route", "400"],
        ),
    ]
}

fn bodies() -> Vec<Exchange> {
    let json = "authorization: Bearer {key}\r\ncontent-type: application/json\r\n";
    let chunked = |headers: &str, body: &str| {
        let path = "/v2/agent/{project}/job";
        format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{json}{headers}\r\n\r\n{body}")
            .into_bytes()
    };
    let te = "transfer-encoding: chunked";
    let commented = format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(17_000));
    vec![
        ("a length that is no number", post("content-length: x", ""), &["400"]),
        ("a negative length", post("content-length: -1", ""), &["400"]),
        ("a length with a plus", post("content-length: +2", "{}"), &["400"]),
        ("a length in hexadecimal", post("content-length: 0x2", "{}"), &["400"]),
        ("an empty length", post("content-length:", ""), &["400"]),
        ("a length beyond all", post("content-length: 99999999999999999999", ""), &["400"]),
        ("two lengths", post("content-length: 2\r\ncontent-length: 3", "{}"), &["400"]),
        ("two lengths in one", post("content-length: 2, 3", "{}"), &["400"]),
        (
            "the same length twice",
            post("content-length: 2\r\ncontent-length: 2", "{}"),
            &["401 unauthorized"],
        ),
        (
            "a length and chunks",
            chunked("content-length: 5\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
            EMPTY,
        ),
        ("chunks by another name", post("transfer-encoding: xchunked", "0\r\n\r\n"), &["400"]),
        ("chunks that are not the last", post("transfer-encoding: chunked, gzip", "0\r\n\r\n"), &["400"]),
        (
            "chunks in HTTP/1.0",
            b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_vec(),
            &["400"],
        ),
        ("a chunk of no size", chunked(te, "x\r\n{}\r\n0\r\n\r\n"), INCOMPLETE),
        ("a chunk of a negative size", chunked(te, "-2\r\n{}\r\n0\r\n\r\n"), INCOMPLETE),
        ("a chunk of a huge size", chunked(te, "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"), INCOMPLETE),
        ("a chunk longer than it says", chunked(te, "1\r\n{}\r\n0\r\n\r\n"), INCOMPLETE),
        ("a chunk with a long comment", chunked(te, &commented), INCOMPLETE),
        (
            "a body without 100 Continue",
            post("expect: 100-continue\r\ncontent-length: 9", ""),
            &["401 unauthorized"],
        ),
        (
            "a body after 100 Continue",
            chunked("expect: 100-continue\r\ncontent-length: 2", "{}"),
            &["100", "400 invalid_body"],
        ),
    ]
}

#[tokio::test]
async fn malformed_http_is_refused() {
    let project = TestProject::create().await;
    let mut wrong = Vec::new();
    for (name, bytes, expected) in
        request_lines().into_iter().chain(headers()).chain(bodies()).chain(pipelines())
    {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => project.fill(&text).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        let answers = raw::exchange(&project.server, &bytes).await;
        let got: Vec<_> = answers.iter().map(|answer| status_and_error(name, answer)).collect();
        let matches =
            |got: &String, expected: &&str| got == expected || got.starts_with(&format!("{expected}: "));
        if got.len() != expected.len()
            || !got.iter().zip(expected).all(|(got, expected)| matches(got, expected))
        {
            wrong.push(format!("{name}: {got:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_malformed_form_is_a_400_and_not_a_408() {
    let project = TestProject::create().await;
    let form = b"POST /login HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nx\r\na=b\r\n0\r\n\r\n";
    let answers = raw::exchange(&project.server, form).await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].status, 400);
    assert!(answers[0].to_string().contains("The form arrived incomplete"), "{}", answers[0]);
}

fn status_and_error(name: &str, answer: &Answer) -> String {
    match answer.header("x-error-code") {
        "" => {
            assert!(answer.status < 400 || answer.body.is_empty(), "{name}: a body of the library: {answer}");
            answer.status.to_string()
        }
        code => {
            check_error_format(name, "", answer);
            format!("{} {code}: {}", answer.status, answer.json()["error"].as_str().unwrap())
        }
    }
}
