//! Weighs the clues for a target.

use std::collections::{BTreeMap, HashMap};

use super::matching::Candidate;

/// How often each kind of clue was right for the redirects of a site, and how often there was one, by the name of the kind.
pub type ClueRecord = BTreeMap<String, (usize, usize)>;

/// What speaks for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clue {
    pub(crate) target: String,
    pub(crate) kind: ClueKind,
    pub(crate) reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClueKind {
    SamePage,
    SpelledAlike,
    RedirectTwin,
    Renamed,
    /// To a page of a section, with a name without the words of the old one.
    RenamedOtherwise,
    RenamedIntoFolder,
    RenamedThenRedirected,
    RenamedThenNamed,
    ParallelEdition,
    /// The redirects of other editions lead to several pages.
    ParallelMixed,
    ParallelPrefix,
    ParallelName,
    FolderRule,
    FolderRuleOften,
    FolderRuleOnce,
    FolderRuleMixed,
    FolderToPage,
    FolderToPageOften,
    SpecificNameMoved,
    NameMoved,
    SpecificName,
    NameNear,
    NameElsewhere,
    NameGeneric,
    NameShared,
    IndexOfFolder,
    FolderIndex,
    WordsContained,
    WordsAlike,
    SameTitle,
    SameHeadings,
    Section,
}

/// Where a clue comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    History,
    Redirects,
    Names,
}

impl ClueKind {
    pub(super) const ALL: [Self; 32] = [
        Self::SamePage,
        Self::SpelledAlike,
        Self::RedirectTwin,
        Self::Renamed,
        Self::RenamedOtherwise,
        Self::RenamedIntoFolder,
        Self::RenamedThenRedirected,
        Self::RenamedThenNamed,
        Self::ParallelEdition,
        Self::ParallelMixed,
        Self::ParallelPrefix,
        Self::ParallelName,
        Self::FolderRule,
        Self::FolderRuleOften,
        Self::FolderRuleOnce,
        Self::FolderRuleMixed,
        Self::FolderToPage,
        Self::FolderToPageOften,
        Self::SpecificNameMoved,
        Self::NameMoved,
        Self::SpecificName,
        Self::NameNear,
        Self::NameElsewhere,
        Self::NameGeneric,
        Self::NameShared,
        Self::IndexOfFolder,
        Self::FolderIndex,
        Self::WordsContained,
        Self::WordsAlike,
        Self::SameTitle,
        Self::SameHeadings,
        Self::Section,
    ];

    /// The name in a [`ClueRecord`].
    fn name(self) -> String {
        format!("{self:?}")
    }

    /// Clues of one group come from the same source, so they say no more together than alone.
    fn group(self) -> Group {
        match self {
            Self::Renamed
            | Self::RenamedOtherwise
            | Self::RenamedIntoFolder
            | Self::RenamedThenRedirected
            | Self::RenamedThenNamed
            | Self::SameTitle
            | Self::SameHeadings => Group::History,
            Self::RedirectTwin
            | Self::ParallelEdition
            | Self::ParallelMixed
            | Self::ParallelPrefix
            | Self::ParallelName
            | Self::FolderRule
            | Self::FolderRuleOften
            | Self::FolderRuleOnce
            | Self::FolderRuleMixed
            | Self::FolderToPage
            | Self::FolderToPageOften => Group::Redirects,
            _ => Group::Names,
        }
    }

    /// How often such a clue is right on sites whose people chose redirects. `docs/redirects.md` names the sites.
    fn prior(self) -> f64 {
        match self {
            Self::SamePage => 0.99,
            Self::SpelledAlike => 0.98,
            Self::RedirectTwin => 0.8,
            Self::Renamed => 0.98,
            Self::RenamedOtherwise => 0.75,
            Self::RenamedIntoFolder => 0.7,
            Self::RenamedThenRedirected => 0.9,
            Self::RenamedThenNamed => 0.5,
            Self::ParallelEdition => 0.985,
            Self::ParallelMixed => 0.5,
            Self::ParallelPrefix => 0.95,
            Self::ParallelName => 0.4,
            Self::FolderRule => 0.975,
            Self::FolderRuleOften => 0.99,
            Self::FolderRuleOnce => 0.95,
            Self::FolderRuleMixed => 0.5,
            Self::FolderToPage => 0.8,
            Self::FolderToPageOften => 0.95,
            Self::SpecificNameMoved => 0.98,
            Self::SpecificName => 0.87,
            Self::NameMoved => 0.94,
            Self::NameNear => 0.85,
            Self::NameElsewhere => 0.87,
            Self::NameGeneric => 0.6,
            Self::NameShared => 0.75,
            Self::IndexOfFolder => 0.5,
            Self::FolderIndex => 0.75,
            Self::WordsContained => 0.8,
            Self::WordsAlike => 0.15,
            Self::SameTitle => 0.8,
            Self::SameHeadings => 0.7,
            Self::Section => 0.13,
        }
    }
}

/// A prior counts as much as this many redirects of the site.
const PRIOR_WEIGHT: f64 = 10.0;
/// How much a clue of another group adds to the best one. Clues are never independent of each other.
const AGREEMENT: f64 = 0.5;
/// How much more doubt there is in a clue if no other group agrees. A page that moved mostly kept its name.
const ALONE: f64 = 2.0;
/// Two targets can't both be right. From this share of the first confidence on, the second one counts.
const RIVAL: f64 = 0.5;

/// How reliable each kind of clue is on a site.
#[derive(Debug, Default, Clone)]
pub(crate) struct Reliability(HashMap<ClueKind, (usize, usize)>);

impl Reliability {
    /// Kinds that this version doesn't know are left out.
    pub(super) fn from_record(record: &ClueRecord) -> Self {
        let known = ClueKind::ALL.into_iter().filter_map(|kind| Some((kind, *record.get(&kind.name())?)));
        Self(known.collect())
    }

    pub(super) fn to_record(&self) -> ClueRecord {
        self.0.iter().map(|(kind, counts)| (kind.name(), *counts)).collect()
    }

    /// Records whether a clue for a redirect of the site was right.
    pub(crate) fn record(&mut self, kind: ClueKind, is_right: bool) {
        let (right, all) = self.0.entry(kind).or_default();
        *right += usize::from(is_right);
        *all += 1;
    }

    /// Takes a record back.
    #[cfg(test)]
    pub(crate) fn forget(&mut self, kind: ClueKind, is_right: bool) {
        let (right, all) = self.0.entry(kind).or_default();
        *right -= usize::from(is_right);
        *all -= 1;
    }

    fn of(&self, kind: ClueKind) -> f64 {
        let (right, all) = self.0.get(&kind).copied().unwrap_or_default();
        (right as f64 + PRIOR_WEIGHT * kind.prior()) / (all as f64 + PRIOR_WEIGHT)
    }

    /// The targets of clues, with the most probable one first.
    pub(crate) fn rank(&self, clues: Vec<Clue>) -> Vec<Candidate> {
        let mut by_target: BTreeMap<String, Vec<Clue>> = BTreeMap::new();
        for clue in clues {
            by_target.entry(clue.target.clone()).or_default().push(clue);
        }
        let candidate = |(target, clues): (String, Vec<Clue>)| {
            let best = clues.iter().max_by(|a, b| self.of(a.kind).total_cmp(&self.of(b.kind)))?;
            let (confidence, reason) = (self.combine(&clues), best.reason.clone());
            Some(Candidate { target, confidence, reason })
        };
        let mut candidates: Vec<Candidate> = by_target.into_iter().filter_map(candidate).collect();
        candidates.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        doubt_rivals(&mut candidates);
        candidates
    }

    /// The confidence of the best clue, raised by the best clue of each other group, or lowered if there is none.
    fn combine(&self, clues: &[Clue]) -> f64 {
        let mut groups: BTreeMap<Group, f64> = BTreeMap::new();
        for clue in clues {
            let best = groups.entry(clue.kind.group()).or_default();
            *best = best.max(self.of(clue.kind));
        }
        let mut found: Vec<f64> = groups.into_values().collect();
        found.sort_by(|a, b| b.total_cmp(a));
        if let [confidence] = found[..] {
            return 1.0 - (ALONE * (1.0 - confidence)).min(1.0);
        }
        let doubt = |(index, confidence): (usize, &f64)| {
            (1.0 - confidence).powf(if index == 0 { 1.0 } else { AGREEMENT })
        };
        1.0 - found.iter().enumerate().map(doubt).product::<f64>()
    }
}

/// Lowers the first confidence if the second one is not much lower.
fn doubt_rivals(candidates: &mut [Candidate]) {
    if let [first, second, ..] = candidates {
        let nearness = (second.confidence / first.confidence - RIVAL) / (1.0 - RIVAL);
        first.confidence *= 1.0 - 0.4 * nearness.max(0.0);
        second.confidence = second.confidence.min(first.confidence);
    }
}
