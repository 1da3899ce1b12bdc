//! Tells scanners from readers, by the paths they ask for.
//!
//! Scanners look for programs, secrets and backups, which a docs site doesn't have. `traffic` never reports assets and
//! requests of bots as not found, so no list of them is needed here.

use percent_encoding::percent_decode_str;

use crate::SitePages;

const MAX_PATH_BYTES: usize = 300;
/// A longer segment without a separator is an id or a hash, when it mixes letters and digits.
const MIN_TOKEN_BYTES: usize = 16;
const MIN_SWITCHES: usize = 3;

/// Extensions of programs, secrets, databases, backups and archives.
const EXTENSIONS: [&str; 31] = [
    "php", "php3", "php4", "php5", "php7", "phtml", "asp", "aspx", "ashx", "asmx", "jsp", "jspx", "jspa",
    "do", "action", "cgi", "pl", "cfm", "env", "sql", "sqlite", "bak", "old", "orig", "swp", "zip", "rar",
    "7z", "tar", "gz", "tgz",
];
/// First segments of programs that scanners look for, unless the site has pages below them.
const PROGRAMS: [&str; 20] = [
    "cgi-bin",
    "wordpress",
    "wp",
    "xmlrpc",
    "phpmyadmin",
    "pma",
    "actuator",
    "owa",
    "ecp",
    "autodiscover",
    "boaform",
    "hnap1",
    "solr",
    "_ignition",
    "telescope",
    "server-status",
    "geoserver",
    "druid",
    "nacos",
    "phpunit",
];
/// Texts of attacks.
const ATTACKS: [&str; 8] = ["\\", "${", "{{", "<script", "etc/passwd", "union select", "' or ", "select("];

pub(super) fn is_scanner_path(path: &str, site: &SitePages) -> bool {
    let text = percent_decode_str(path).decode_utf8_lossy().to_lowercase();
    let text = percent_decode_str(&text).decode_utf8_lossy();
    let first = text.split('/').find(|segment| !segment.is_empty()).unwrap_or_default();
    text.len() > MAX_PATH_BYTES
        || text.contains(char::is_control)
        || ATTACKS.iter().any(|attack| text.contains(attack))
        || is_program(first) && !site.has_first_segment(first)
        || text.split('/').enumerate().any(|(at, segment)| is_scanner_segment(at, segment))
}

fn is_program(first: &str) -> bool {
    PROGRAMS.contains(&first) || first.starts_with("wp-")
}

/// `at` is 1 for the first segment, because a path begins with `/`.
fn is_scanner_segment(at: usize, segment: &str) -> bool {
    let is_hidden = segment.starts_with('.') && segment.chars().any(char::is_alphanumeric);
    let is_well_known = at == 1 && segment == ".well-known";
    let extension = segment.rsplit_once('.').map(|(_, extension)| extension);
    segment == ".."
        || is_hidden && !is_well_known
        || extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        || segment.ends_with('~')
        || is_token(segment)
}

/// Whether a segment is a UUID, a hash or a random id: no words, letters and digits mixed.
fn is_token(segment: &str) -> bool {
    let bare: Vec<u8> = segment.bytes().filter(|byte| *byte != b'-').collect();
    let is_hex = bare.len() == 32 && bare.iter().all(u8::is_ascii_hexdigit);
    let is_plain = segment.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let switches =
        bare.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    is_hex || is_plain && segment.len() >= MIN_TOKEN_BYTES && switches >= MIN_SWITCHES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scanners_ask_for_what_a_docs_site_has_not() {
        let site = SitePages::new(["/solr/install", "/guides/install"]);
        #[track_caller]
        fn check(site: &SitePages, path: &str, expected: bool) {
            assert_eq!(is_scanner_path(path, site), expected, "{path}");
        }
        for path in [
            "/wp-login.php",
            "/blog/wp-login.PHP",
            "/index.php/admin",
            "/.env",
            "/.git/config",
            "/docs/.env.local",
            "/%2eenv",
            "/cgi-bin/luci",
            "/actuator/health",
            "/wp-admin",
            "/wordpress",
            "/../../etc/passwd",
            "/%2e%2e%2fsecret",
            "/%252e%252e/secret",
            "/backup.sql",
            "/site.tar.gz",
            "/config.bak",
            "/default.aspx",
            "/a%00b",
            "/login.action",
            "/${jndi:ldap://x}",
            "/3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "/9b2c7d1fa06e4c8877aa55ee00112233",
            "/a8f3kd92kfj38fhq",
        ] {
            check(&site, path, true);
        }
        check(&site, &format!("/{}", "a".repeat(400)), true);
        for path in [
            "/",
            "/guides/instal",
            "/solr/query",
            "/.well-known/llms.txt",
            "/llms.txt",
            "/guides/php",
            "/integrations/wordpress",
            "/v1.2",
            "/reference/array.map",
            "/install.sh",
            "/guides/install...",
            "/getting-started-with-kubernetes-and-docker",
            "/internationalization",
            "/guides/oauth2-proxy-v7",
            "/base64url",
        ] {
            check(&site, path, false);
        }
    }
}
