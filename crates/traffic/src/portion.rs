//! Which of the pages, or of other names, are asked for, and in which order.

/// What comes first. Then the smaller path does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    #[default]
    Total,
    Human,
    Ai,
    Path,
}

impl Sort {
    pub const NAMES: [&str; 4] = ["total", "human", "ai", "path"];

    pub fn from_name(name: &str) -> Option<Self> {
        let all = Self::NAMES.into_iter().zip([Self::Total, Self::Human, Self::Ai, Self::Path]);
        all.into_iter().find(|(known, _)| *known == name).map(|(_, sort)| sort)
    }

    /// The number that is larger the earlier its page comes.
    pub(crate) fn key(self, human: u64, ai: u64, total: u64) -> u64 {
        match self {
            Self::Total => total,
            Self::Human => human,
            Self::Ai => ai,
            Self::Path => 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Portion {
    pub limit: u32,
    pub offset: u64,
    pub sort: Sort,
    /// What their paths begin with.
    pub path: Option<String>,
}

impl Portion {
    /// Of all pages, those with most first.
    pub fn new(limit: u32, offset: u64) -> Self {
        Self { limit, offset, ..Self::default() }
    }

    /// Whether a page is one of those; its path is only looked up if it matters.
    pub(crate) fn wants<'a>(&self, path: impl FnOnce() -> &'a str) -> bool {
        self.path.as_ref().is_none_or(|start| path().starts_with(start))
    }

    /// Those that are asked for of all that are sorted, and whether there are more after them.
    pub(crate) fn of<T>(&self, sorted: Vec<T>) -> (Vec<T>, bool) {
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let has_more = sorted.len() > offset.saturating_add(self.limit as usize);
        (sorted.into_iter().skip(offset).take(self.limit as usize).collect(), has_more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions() {
        let of = |limit, offset| Portion::new(limit, offset).of(vec![1, 2, 3]);
        assert_eq!(of(2, 0), (vec![1, 2], true));
        assert_eq!(of(2, 1), (vec![2, 3], false));
        assert_eq!(of(u32::MAX, 2), (vec![3], false));
        assert_eq!(of(1, u64::MAX), (vec![], false));
        let guides = Portion { path: Some("/guides".into()), ..Portion::default() };
        assert!(guides.wants(|| "/guides/a") && guides.wants(|| "/guides") && !guides.wants(|| "/"));
        assert_eq!(Sort::NAMES.map(Sort::from_name).iter().flatten().count(), 4);
        assert_eq!(Sort::from_name("best"), None);
    }
}
