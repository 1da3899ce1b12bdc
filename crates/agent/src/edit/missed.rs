//! Why an edit was not made, in the words that whoever asked for it is told.

use std::fmt;

/// A place that is like the one looked for, but is not it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// Its first line, from 1.
    pub line: usize,
    /// Its lines, each with its number and a tab before it.
    pub text: String,
    /// What differs there.
    pub why: String,
}

/// Nothing was changed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missed {
    /// The old text is empty.
    Empty,
    /// The new text is the old one.
    SameText,
    /// The place was found, and reads already as it should.
    AlreadySo { line: usize },
    /// The old text stands nowhere. The nearest places, best first.
    NotFound { nearest: Vec<Near> },
    /// It stands in several places: the first lines of the first few, and whether there are more.
    Ambiguous { lines: Vec<usize>, more: bool },
    /// The words were found at `line`, but the indentation of the old text does not tell that of new lines.
    Indentation { line: usize },
    /// Some lines of the new text begin with a line number, others not.
    Numbered,
    /// The text, the old text or the result is beyond what an edit may be.
    TooLarge,
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the old text is empty; give the lines to change"),
            Self::SameText => f.write_str("the old and the new text are the same; nothing was changed"),
            Self::AlreadySo { line } => {
                write!(f, "line {line} reads already as the new text has it; nothing was changed")
            }
            Self::NotFound { nearest } => not_found(f, nearest),
            Self::Ambiguous { lines, more } => ambiguous(f, lines, *more),
            Self::Indentation { line } => write!(
                f,
                "the old text is at line {line}, but indented otherwise, and how to indent the new lines is \
                 not clear; nothing was changed. Copy the lines with their indentation exactly"
            ),
            Self::Numbered => f.write_str(
                "some lines of the new text begin with a line number; nothing was changed. Leave the line \
                 numbers out of both texts",
            ),
            Self::TooLarge => f.write_str("too large for one edit; nothing was changed. Give fewer lines"),
        }
    }
}

impl std::error::Error for Missed {}

fn not_found(f: &mut fmt::Formatter<'_>, nearest: &[Near]) -> fmt::Result {
    f.write_str("the old text is not in the file; nothing was changed.")?;
    if nearest.is_empty() {
        return f
            .write_str(" Nothing like it is there either: read the file again, then copy the lines exactly");
    }
    f.write_str(" The nearest:")?;
    for near in nearest {
        write!(f, "\n\n{}:\n{}", near.why, near.text)?;
    }
    f.write_str("\n\nIf one of these is meant, copy it exactly, without the line numbers")
}

fn ambiguous(f: &mut fmt::Formatter<'_>, lines: &[usize], more: bool) -> fmt::Result {
    let lines: Vec<_> = lines.iter().map(usize::to_string).collect();
    let more = if more { " and more" } else { "" };
    write!(
        f,
        "the old text fits several places, at lines {}{more}; nothing was changed. Include more of the lines \
         around the one that is meant, or ask for all of them",
        lines.join(", ")
    )
}
