//! Pagination, sorting and filtering of lists in reports.

/// The sort order: the largest number first. Ties are sorted by path.
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

    /// The sort key, in descending order.
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
pub struct ListQuery {
    pub limit: u32,
    pub offset: u64,
    pub sort: Sort,
    /// The prefix that a path must have.
    pub path: Option<String>,
}

impl ListQuery {
    /// All pages, by total.
    pub fn new(limit: u32, offset: u64) -> Self {
        Self { limit, offset, ..Self::default() }
    }

    /// Whether a path matches the filter. The path is looked up only if there is a filter.
    pub(crate) fn matches<'a>(&self, path: impl FnOnce() -> &'a str) -> bool {
        self.path.as_ref().is_none_or(|start| path().starts_with(start))
    }

    /// One page of the sorted list, and whether there are more items after it.
    pub(crate) fn paginate<T>(&self, sorted: Vec<T>) -> (Vec<T>, bool) {
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let has_more = sorted.len() > offset.saturating_add(self.limit as usize);
        (sorted.into_iter().skip(offset).take(self.limit as usize).collect(), has_more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_paginated_and_filtered() {
        let paginate = |limit, offset| ListQuery::new(limit, offset).paginate(vec![1, 2, 3]);
        assert_eq!(paginate(2, 0), (vec![1, 2], true));
        assert_eq!(paginate(2, 1), (vec![2, 3], false));
        assert_eq!(paginate(u32::MAX, 2), (vec![3], false));
        assert_eq!(paginate(1, u64::MAX), (vec![], false));
        let guides = ListQuery { path: Some("/guides".into()), ..ListQuery::default() };
        assert!(guides.matches(|| "/guides/a") && guides.matches(|| "/guides") && !guides.matches(|| "/"));
        assert_eq!(Sort::NAMES.map(Sort::from_name).iter().flatten().count(), 4);
        assert_eq!(Sort::from_name("best"), None);
    }
}
