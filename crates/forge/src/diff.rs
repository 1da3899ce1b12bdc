//! The difference between two commits, as git writes it.

use std::path::Path;

use crate::git::Git;
use crate::{Oid, Result};

const MAX_DIFF: usize = 2 << 20;
const CUT: &str = "The diff is longer than 2 MiB and ends here.\n";

/// A longer one than 2 MiB is cut at a line, and its last line says so.
pub(crate) async fn between(dir: &Path, from: &Oid, to: &Oid) -> Result<String> {
    let output = Git::at(dir, "diff-tree")
        .args(["-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"])
        .args([from.as_str(), to.as_str()])
        .max_output(MAX_DIFF)
        .run()
        .await?;
    if output.code != Some(0) && !output.cut {
        return Err(output.failure());
    }
    Ok(cut_at_line(&output.stdout, output.cut))
}

fn cut_at_line(diff: &[u8], cut: bool) -> String {
    if !cut {
        return String::from_utf8_lossy(diff).into_owned();
    }
    let end = diff.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    String::from_utf8_lossy(&diff[..end]).into_owned() + CUT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts() {
        #[track_caller]
        fn check(diff: &[u8], cut: bool, expected: &str) {
            assert_eq!(cut_at_line(diff, cut), expected);
        }
        check(b"+a\n+b\n", false, "+a\n+b\n");
        check(b"+\xff\n", false, "+\u{fffd}\n");
        check(b"+a\n+b", true, &format!("+a\n{CUT}"));
        check(b"+a", true, CUT);
    }
}
