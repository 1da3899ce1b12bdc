//! Redirects as a person adds them to the settings of a web server.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::redirects::existing::Redirect;

/// Everything but unreserved characters and the slash. Other characters mean something in the settings of some server.
const SPECIAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Lines for nginx, Caddy, and a file `_redirects`, each as a block of Markdown with a sentence in front.
pub fn snippets(redirects: &[Redirect]) -> [String; 3] {
    let lines = |line: fn(&Redirect) -> String| redirects.iter().map(line).collect::<String>();
    [
        block("nginx", "nginx", &lines(nginx)),
        block("Caddy", "caddy", &lines(caddy)),
        block("a file `_redirects`", "text", &lines(plain)),
    ]
}

fn block(server: &str, language: &str, lines: &str) -> String {
    format!("For {server}:\n\n```{language}\n{lines}```")
}

/// Both forms of the address, because a server looks at the slash.
fn nginx(redirect: &Redirect) -> String {
    let (from, to) = (&redirect.from, encoded(&redirect.to));
    format!("location = {from} {{ return 301 {to}; }}\nlocation = {from}/ {{ return 301 {to}; }}\n")
}

fn caddy(redirect: &Redirect) -> String {
    let (from, to) = (&redirect.from, encoded(&redirect.to));
    format!("redir {from} {to} 301\nredir {from}/ {to} 301\n")
}

fn plain(redirect: &Redirect) -> String {
    format!("{} {} 301\n", redirect.from, encoded(&redirect.to))
}

/// The address of a page, which is the name of a file and can have any character. An address to redirect from has only
/// plain ones, because a visitor chooses it.
fn encoded(address: &str) -> String {
    utf8_percent_encode(address, SPECIAL).to_string()
}
