//! Defines why an edit fails, with a sentence for the model.

use std::fmt;

/// Lines that are similar to the old text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMatch {
    /// The number of the first line, from 1.
    pub line: usize,
    /// The lines, each with its number and a tab before it.
    pub text: String,
    /// The first difference.
    pub difference: String,
}

/// Why an edit failed. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The old text is empty.
    Empty,
    /// The new text is the old text.
    SameText,
    /// The file already has the new text.
    AlreadyApplied { line: usize },
    /// The old text is not in the file. Contains similar lines, best first.
    NotFound { nearest: Vec<NearMatch> },
    /// The old text matches several times. Contains the lines of the first matches, and whether there are more.
    Ambiguous { lines: Vec<usize>, more: bool },
    /// The words were found at `line`, but their indentation does not determine the indentation of new lines.
    Indentation { line: usize },
    /// Some lines of the new text begin with a line number, others don't.
    Numbered,
    /// The text, the old text or the result is too large.
    TooLarge,
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the old text is empty; copy the lines to change from the file"),
            Self::SameText => f.write_str("the old and the new text are the same; nothing was changed"),
            Self::AlreadyApplied { line } => {
                write!(f, "line {line} already has the new text; nothing was changed")
            }
            Self::NotFound { nearest } => not_found(f, nearest),
            Self::Ambiguous { lines, more } => ambiguous(f, lines, *more),
            Self::Indentation { line } => write!(
                f,
                "the old text is at line {line} with another indentation, so the indentation of the new lines is \
                not clear; nothing was changed. Copy the lines with their exact indentation"
            ),
            Self::Numbered => f.write_str(
                "some lines of the new text begin with a line number; nothing was changed. Remove the line \
                numbers from both texts",
            ),
            Self::TooLarge => f.write_str("too large for one edit; nothing was changed. Give fewer lines"),
        }
    }
}

impl std::error::Error for EditError {}

fn not_found(f: &mut fmt::Formatter<'_>, nearest: &[NearMatch]) -> fmt::Result {
    f.write_str("the old text is not in the file; nothing was changed.")?;
    if nearest.is_empty() {
        return f.write_str(" No similar lines were found: read the file again, then copy the lines exactly");
    }
    f.write_str(" Similar lines:")?;
    for near in nearest {
        write!(f, "\n\n{}:\n{}", near.difference, near.text)?;
    }
    f.write_str("\n\nIf you mean these lines, copy them exactly, without the line numbers")
}

fn ambiguous(f: &mut fmt::Formatter<'_>, lines: &[usize], more: bool) -> fmt::Result {
    let lines: Vec<_> = lines.iter().map(usize::to_string).collect();
    let more = if more { " and more" } else { "" };
    write!(
        f,
        "the old text matches several times, at lines {}{more}; nothing was changed. Include more of the lines \
        around the match that you mean, or set all",
        lines.join(", ")
    )
}
