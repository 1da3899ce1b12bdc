//! Judges the change of an editor before it becomes a commit. Text in the repository can deceive a model; the guard
//! protects the people who read, build and merge the result.
//!
//! The guard does no I/O except through the base tree, and its time is linear in the size of the change. It judges what
//! a change *adds*: content that the touched files already had, even if it moves, is not new. What it can't decide, it
//! refuses.

mod additions;
mod allowlist;
mod base_text;
mod change;
mod file_names;
mod hidden;
mod ignorable;
mod named_files;
mod plain;
mod random;
mod refusal;
mod repo_files;
mod secrets;
mod unescape;
mod url;
mod vocabulary;

pub use change::{Allow, Change, Policy};
pub use plain::{plain_body, plain_quotation, plain_title};
pub use refusal::{Refusal, Rule};
pub use vocabulary::Vocabulary;

use additions::Additions;
use pages::redirects::Redirect;

use crate::prompt::Instructions;

/// Returns all refusals of a change, fatal ones first.
pub fn judge(change: &Change<'_>, policy: &Policy<'_>) -> Vec<Refusal> {
    let additions = Additions::new(change);
    let mut violations = Vec::new();
    allowlist::judge(change, policy, &additions, &mut violations);
    secrets::judge(&additions, policy.secrets, &mut violations);
    hidden::judge(&additions, &mut violations);
    let mut refusals: Vec<_> =
        violations.into_iter().map(|violation| violation.into_refusal(&additions)).collect();
    refusals.sort_by(|a, b| b.fatal.cmp(&a.fatal).then_with(|| a.cmp(b)));
    refusals.dedup();
    refusals
}

/// The redirects that the guard accepts, in any format. `change` is the change without them.
pub(crate) fn valid_redirects(
    change: &Change<'_>,
    policy: &Policy<'_>,
    redirects: Vec<Redirect>,
) -> Vec<Redirect> {
    allowlist::valid_redirects(change, policy.docs_path, redirects)
}

/// Why jobs can't change a file, judged by its path alone. Some files can be changed if `instructions` name them.
pub fn refusal_of_path(policy: &Policy<'_>, instructions: &Instructions, path: &str) -> Option<&'static str> {
    let refusal = || allowlist::refusal_of_path(policy.docs_path, instructions.as_str(), path);
    if policy.allow.permits(path) { None } else { refusal() }
}
