//! Tells assets, such as styles and images, from pages.

/// Extensions of page assets, downloads and machine-readable data.
const ASSET_EXTENSIONS: &[&str] = &[
    "css",
    "js",
    "mjs",
    "cjs",
    "map",
    "wasm",
    "json",
    "jsonl",
    "webmanifest",
    "xml",
    "rss",
    "atom",
    "xsl",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "ico",
    "webp",
    "avif",
    "bmp",
    "tif",
    "tiff",
    "apng",
    "woff",
    "woff2",
    "ttf",
    "otf",
    "eot",
    "mp4",
    "webm",
    "mov",
    "m4v",
    "ogv",
    "mp3",
    "wav",
    "ogg",
    "flac",
    "m4a",
    "aac",
    "vtt",
    "srt",
    "zip",
    "gz",
    "tgz",
    "tar",
    "bz2",
    "xz",
    "zst",
    "7z",
    "rar",
    "exe",
    "dmg",
    "msi",
    "deb",
    "rpm",
    "apk",
    "iso",
];

/// Text files for crawlers. Other text files count as pages.
const CRAWLER_FILES: &[&str] = &["robots.txt", "ads.txt", "app-ads.txt", "humans.txt", "security.txt"];

/// Whether a normalized path is an asset by its extension or file name: styles, scripts, WebAssembly, source
/// maps, JSON, web manifests, XML (feeds, sitemaps), images, fonts, media, subtitles, archives, installers, disk
/// images, and files for crawlers such as `robots.txt`. Documents are not assets: PDF, YAML, `llms.txt`,
/// `llms-full.txt`, and a version such as `/v1.2`.
pub fn is_asset(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default();
    let same = |known: &&str, name: &str| known.eq_ignore_ascii_case(name);
    let extension = file.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| ASSET_EXTENSIONS.iter().any(|known| same(known, extension)))
        || CRAWLER_FILES.iter().any(|known| same(known, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_by_extension() {
        #[track_caller]
        fn check(path: &str, expected: bool) {
            assert_eq!(is_asset(path), expected, "{path}");
        }
        check("/app.js", true);
        check("/_next/static/chunks/main-1a2b.js.map", true);
        check("/logo.SVG", true);
        check("/fonts/inter.woff2", true);
        check("/favicon.ico", true);
        check("/sitemap.xml", true);
        check("/robots.txt", true);
        check("/search.json", true);
        check("/sdk.tar.gz", true);
        check("/", false);
        check("/guides/start", false);
        check("/guides/start.html", false);
        check("/llms.txt", false);
        check("/llms-full.txt", false);
        check("/spec.pdf", false);
        check("/openapi.yaml", false);
        check("/v1.2", false);
        check("/js", false);
        check("/a.js/b", false);
        check("/json", false);
    }
}
