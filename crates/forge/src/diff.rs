//! Produces the diff between two commits in git's format.

use std::path::Path;

use crate::git::Git;
use crate::{Oid, Result};

const MAX_DIFF_BYTES: usize = 2 << 20;
const TRUNCATION_NOTICE: &str = "The diff is longer than 2 MiB and ends here.\n";

/// Truncates a diff of more than 2 MiB at a line end and adds a notice.
pub(crate) async fn diff_commits(dir: &Path, from: &Oid, to: &Oid) -> Result<String> {
    let output = Git::at(dir, "diff-tree")
        .args(["-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"])
        .args([from.as_str(), to.as_str()])
        .max_output(MAX_DIFF_BYTES)
        .run()
        .await?;
    if output.code != Some(0) && !output.truncated {
        return Err(output.failure());
    }
    Ok(truncate_at_line(&output.stdout, output.truncated))
}

fn truncate_at_line(diff: &[u8], truncated: bool) -> String {
    if !truncated {
        return String::from_utf8_lossy(diff).into_owned();
    }
    let end = diff.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    String::from_utf8_lossy(&diff[..end]).into_owned() + TRUNCATION_NOTICE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_diff_is_truncated_at_a_line_end() {
        #[track_caller]
        fn check(diff: &[u8], truncated: bool, expected: &str) {
            assert_eq!(truncate_at_line(diff, truncated), expected);
        }
        check(b"+a\n+b\n", false, "+a\n+b\n");
        check(b"+\xff\n", false, "+\u{fffd}\n");
        check(b"+a\n+b", true, &format!("+a\n{TRUNCATION_NOTICE}"));
        check(b"+a", true, TRUNCATION_NOTICE);
    }
}
