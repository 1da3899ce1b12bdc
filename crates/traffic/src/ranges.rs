//! Verifies agents by the address ranges that their operators publish.
//!
//! Each list belongs to one product. Lists of this version are compiled in. A file `PRODUCT.json` in the
//! folder `ranges` of the data directory replaces the list of its product or adds one.

mod file;
mod prefix;

use std::collections::HashMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::agents::product_named;
use file::Content;
use prefix::{Span, public_number};

/// The day on which the lists of this version were collected; `assets/ranges/README.md` has their sources.
const SHIPPED_DATE: &str = "2026-03-11";
const SHIPPED: [(&str, &str); 6] = [
    ("Amazonbot", include_str!("../assets/ranges/Amazonbot.json")),
    ("Amzn-SearchBot", include_str!("../assets/ranges/Amzn-SearchBot.json")),
    ("Amzn-User", include_str!("../assets/ranges/Amzn-User.json")),
    ("ChatGPT-User", include_str!("../assets/ranges/ChatGPT-User.json")),
    ("GPTBot", include_str!("../assets/ranges/GPTBot.json")),
    ("OAI-SearchBot", include_str!("../assets/ranges/OAI-SearchBot.json")),
];
/// A file with this prefix lists the addresses of a CDN or proxy, behind which readers are unknown.
const PROXY_PREFIX: &str = "proxy-";
/// Bounds the files of the folder. There are about 300 products.
const MAX_FILES: usize = 1_000;

/// Whether a reader is the agent that it claims to be. The numbers are stored on disk and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
#[repr(u8)]
pub enum Verification {
    /// No public address is known, or no ranges of the product, or the address belongs to a known proxy.
    #[default]
    Unknown = 0,
    /// The address is outside the product's ranges.
    Claimed = 1,
    /// The address is in the product's ranges.
    Verified = 2,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeSource {
    Shipped,
    File(PathBuf),
}

/// A list of address ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeList {
    /// The product, or the file's name without its extension for a proxy.
    pub name: String,
    pub is_proxy: bool,
    pub source: RangeSource,
    /// The day on which the list was published, collected or last changed, such as `2026-03-11`.
    pub date: Option<String>,
    /// Number of separate ranges.
    pub ranges: usize,
}

/// A file that cannot be used, with sentences for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRangeFile {
    pub path: PathBuf,
    pub problems: Vec<String>,
}

/// The address ranges of all products.
#[derive(Debug, Clone, Default)]
pub struct AddressRanges {
    products: HashMap<&'static str, Vec<Span>>,
    proxies: Vec<Span>,
    lists: Vec<RangeList>,
}

impl AddressRanges {
    /// The lists of this version.
    pub fn shipped() -> Self {
        let mut ranges = Self::default();
        for (name, text) in SHIPPED {
            // A test reads each of them.
            if let Ok(content) = file::parse(text.as_bytes()) {
                let date = content.date.clone().or(Some(SHIPPED_DATE.into()));
                ranges.add(name, RangeSource::Shipped, date, content);
            }
        }
        ranges
    }

    /// The lists of this version and of a folder, and the files that could not be used. The folder may be
    /// missing.
    pub fn load(folder: &Path) -> (Self, Vec<BadRangeFile>) {
        let (mut ranges, mut bad) = (Self::shipped(), Vec::new());
        for path in json_files(folder) {
            match read_named(&path) {
                Ok((name, content, date)) => ranges.add(&name, RangeSource::File(path), date, content),
                Err(problems) => bad.push(BadRangeFile { path, problems }),
            }
        }
        (ranges, bad)
    }

    /// Sorted by name.
    pub fn lists(&self) -> &[RangeList] {
        &self.lists
    }

    pub(crate) fn verify(&self, product: &str, address: Option<IpAddr>) -> Verification {
        let Some(ranges) = self.products.get(product) else { return Verification::Unknown };
        match address.and_then(public_number) {
            Some(address) if contains(ranges, address) => Verification::Verified,
            Some(address) if !contains(&self.proxies, address) => Verification::Claimed,
            _ => Verification::Unknown,
        }
    }

    fn add(&mut self, name: &str, source: RangeSource, date: Option<String>, content: Content) {
        let (product, ranges) = (product_named(name), content.spans.len());
        let name = product.unwrap_or(name).to_owned();
        match product {
            Some(product) => drop(self.products.insert(product, content.spans)),
            None => {
                self.proxies.extend(content.spans);
                self.proxies = file::merge(std::mem::take(&mut self.proxies));
            }
        }
        self.lists.retain(|known| known.name != name);
        self.lists.push(RangeList { name, is_proxy: product.is_none(), source, date, ranges });
        self.lists.sort_by(|one, next| one.name.cmp(&next.name));
    }
}

/// Validates a file as the server reads it. The errors are sentences for the operator.
pub fn check_range_file(path: &Path) -> Result<RangeList, BadRangeFile> {
    let (name, content, date) =
        read_named(path).map_err(|problems| BadRangeFile { path: path.to_owned(), problems })?;
    let mut ranges = AddressRanges::default();
    ranges.add(&name, RangeSource::File(path.to_owned()), date, content);
    ranges.lists.pop().ok_or_else(|| BadRangeFile { path: path.to_owned(), problems: Vec::new() })
}

/// The name, content and date of a file.
fn read_named(path: &Path) -> Result<(String, Content, Option<String>), Vec<String>> {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    if product_named(name).is_none() && !name.starts_with(PROXY_PREFIX) {
        return Err(vec![format!(
            "`{}` is not a known product. Name the file after the product, as in the agents report \
             (ChatGPT-User.json), or `{PROXY_PREFIX}NAME.json` for the addresses of a CDN or proxy.",
            name.escape_debug()
        )]);
    }
    let (content, changed) = file::read(path)?;
    let date = content.date.clone().or(changed);
    Ok((name.to_owned(), content, date))
}

/// The files of the folder that end in `.json`, in order. Only files: reading a pipe could wait forever.
fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_json =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json") && path.is_file();
    let mut files: Vec<PathBuf> = entries.filter(is_json).take(MAX_FILES).collect();
    files.sort();
    files
}

fn contains(ranges: &[Span], address: u128) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= address);
    after.checked_sub(1).is_some_and(|index| address <= ranges[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_list_belongs_to_a_product() {
        let ranges = AddressRanges::shipped();
        let names: Vec<&str> = ranges.lists().iter().map(|list| &*list.name).collect();
        assert_eq!(names, SHIPPED.map(|(name, _)| name));
        for list in ranges.lists() {
            assert_eq!((list.is_proxy, list.date.as_deref()), (false, Some(SHIPPED_DATE)), "{}", list.name);
            assert!(list.ranges > 0, "{}", list.name);
        }
    }

    #[test]
    fn agents_are_verified_by_their_address() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("claude-user.json", r#"["160.79.104.0/23"]"#);
        write("gptbot.json", r#"["9.9.9.0/24"]"#);
        write("proxy-cdn.json", r#"["104.16.0.0/13"]"#);
        write("proxy-other.json", r#"["172.64.0.0/13"]"#);
        write("Amazonbot.json", r#"["0.0.0.0/0"]"#);
        write("Nobody.json", r#"["9.9.9.9"]"#);
        write("notes.txt", "not read");
        let (ranges, bad) = AddressRanges::load(folder.path());
        let names: Vec<_> = bad.iter().map(|bad| bad.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["Amazonbot.json", "Nobody.json"]);
        assert_eq!(bad[0].problems, ["`0.0.0.0/0` is too wide: the length must be at least 8."]);
        assert_eq!(ranges.lists().len(), SHIPPED.len() + 3);

        #[track_caller]
        fn check(ranges: &AddressRanges, product: &str, address: Option<&str>, expected: Verification) {
            let address = address.map(|address| address.parse().unwrap());
            assert_eq!(ranges.verify(product, address), expected, "{product} {address:?}");
        }
        check(&ranges, "Claude-User", Some("160.79.105.255"), Verification::Verified);
        check(&ranges, "Claude-User", Some("::ffff:160.79.104.0"), Verification::Verified);
        check(&ranges, "Claude-User", Some("160.79.106.0"), Verification::Claimed);
        check(&ranges, "Claude-User", Some("2a03:2880::1"), Verification::Claimed);
        check(&ranges, "Claude-User", Some("104.17.1.1"), Verification::Unknown);
        check(&ranges, "Claude-User", Some("172.65.1.1"), Verification::Unknown);
        check(&ranges, "Claude-User", Some("10.0.0.1"), Verification::Unknown);
        check(&ranges, "Claude-User", Some("0.0.0.0"), Verification::Unknown);
        check(&ranges, "Claude-User", None, Verification::Unknown);
        check(&ranges, "GPTBot", Some("9.9.9.9"), Verification::Verified);
        check(&ranges, "GPTBot", Some("132.196.86.1"), Verification::Claimed);
        check(&ranges, "Amazonbot", Some("100.24.149.244"), Verification::Verified);
        check(&ranges, "Googlebot", Some("66.249.66.1"), Verification::Unknown);
        check(&AddressRanges::shipped(), "GPTBot", Some("132.196.86.1"), Verification::Verified);
    }

    #[test]
    fn a_missing_folder_leaves_the_shipped_lists() {
        let (ranges, bad) = AddressRanges::load(Path::new("/nowhere/ranges"));
        assert_eq!((ranges.lists().len(), bad.len()), (SHIPPED.len(), 0));
    }
}
