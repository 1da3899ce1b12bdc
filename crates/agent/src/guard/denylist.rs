//! Refuses what is known to run, load or send readers away. It stands behind the allowlist for one version, until nothing
//! is left that only it refuses.

mod active;
mod cells;
mod code;
mod directives;
mod fences;
mod front;
mod includes;
mod markup;
mod redirects;
mod remote;
mod runs;
mod tags;

use super::{Change, Finding, MAX_TREE_BYTES, Rule, added, stood, unescape, url};
use added::Added;
use markup::Shown;

pub(super) fn judge<'a>(change: &Change<'a>, added: &Added<'a>, found: &mut Vec<Finding<'a>>) {
    let shown = Shown::of(added);
    remote::judge(change, &shown, added, found);
    redirects::judge(added, change.asked.as_str(), found);
    includes::judge(change, added, found);
    active::judge(change.asked.as_str(), &shown, found);
}
