//! Follows the changes of a branch from its newest commit back, and collects what became of each file.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::pairs;
use super::raw_log::{Change, File, RawLog, Record};
use super::{History, HistoryLimits, Removed, Rename};
use crate::{Oid, Result};

/// What a kept name costs in addition to its bytes: its place in a list or a map, with an id.
const NAME_OVERHEAD: usize = 128;

/// Says which paths the caller asks for.
pub(crate) type Keep<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// What became of a path, as seen from an older commit.
enum Later {
    /// It was changed, removed or created since: older changes of the path are not its last.
    Settled,
    /// It was only renamed since. This is its current name.
    Renamed(String),
}

pub(super) struct Collector<'a> {
    keep: Keep<'a>,
    limits: HistoryLimits,
    /// Commits without their parents. Their changes are unknown.
    shallow: HashSet<Oid>,
    /// Whether git compared contents. Otherwise this looks for renames.
    compared: bool,
    log: RawLog,
    /// The date and the changes of the commit that is being read.
    date: i64,
    changes: Vec<Change>,
    commits: u32,
    /// How many bytes of names are kept.
    names: usize,
    later: HashMap<String, Later>,
    history: History,
}

impl<'a> Collector<'a> {
    pub(super) fn new(commit: &Oid, keep: Keep<'a>, limits: HistoryLimits, shallow: HashSet<Oid>) -> Self {
        Self {
            keep,
            limits,
            shallow,
            compared: true,
            log: RawLog::default(),
            date: 0,
            changes: Vec::new(),
            commits: 0,
            names: 0,
            later: HashMap::new(),
            history: History::unknown(commit),
        }
    }

    /// For a log that lists a rename as a removal and a creation.
    pub(super) fn with_own_renames(self) -> Self {
        Self { compared: false, ..self }
    }

    /// Breaks when a limit is reached.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<ControlFlow<()>> {
        self.log.push(bytes);
        while let Some(record) = self.log.next()? {
            let more = match record {
                Record::Commit { id, date } => self.begin_commit(&id, date),
                Record::Change(change) => self.add(change),
            };
            if more.is_break() {
                return Ok(more);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The result when git listed everything.
    pub(super) fn complete(mut self) -> History {
        self.end_commit();
        self.history.complete = true;
        self.cut_off()
    }

    /// The result without the commit that was being read.
    pub(super) fn cut_off(mut self) -> History {
        self.history.last_changed.sort_unstable();
        self.history
    }

    fn begin_commit(&mut self, id: &Oid, date: i64) -> ControlFlow<()> {
        self.end_commit();
        self.date = date;
        self.history.since = date;
        self.commits += 1;
        let is_last = self.commits > self.limits.commits || self.names > self.limits.names;
        match is_last || self.shallow.contains(id) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn add(&mut self, change: Change) -> ControlFlow<()> {
        if self.matters(&change) {
            let sides = [&change.from, &change.to];
            self.names += sides.into_iter().flatten().map(|file| name_cost(&file.path)).sum::<usize>();
            self.changes.push(change);
        }
        // A commit can create millions of files.
        match self.names > self.limits.names.saturating_mul(2) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// A removal or creation elsewhere may be one half of a rename.
    fn matters(&self, change: &Change) -> bool {
        let is_tracked = |file: &File| (self.keep)(&file.path) || self.later.contains_key(&file.path);
        match (&change.from, &change.to) {
            (Some(from), Some(to)) => is_tracked(from) || is_tracked(to),
            (Some(file), None) | (None, Some(file)) => !self.compared || is_tracked(file),
            (None, None) => false,
        }
    }

    fn end_commit(&mut self) {
        let mut changes = std::mem::take(&mut self.changes);
        let sides = changes.iter().flat_map(|change| [&change.from, &change.to]).flatten();
        self.names = self.names.saturating_sub(sides.map(|file| name_cost(&file.path)).sum());
        if !self.compared {
            changes = pairs::find_renames(changes);
        }
        // A path can be the old name of one file and the new name of another. So everything about the names
        // after the commit comes before everything about the names before it.
        let before: Vec<_> = changes.into_iter().filter_map(|change| self.apply(change)).collect();
        for (path, later) in before {
            self.settle(path, later);
        }
    }

    /// Records a change. Returns what older commits need to know about the path that the file had before.
    fn apply(&mut self, change: Change) -> Option<(String, Later)> {
        match (change.from, change.to) {
            (None, None) => None,
            (None, Some(to)) => {
                self.change_content(to.path);
                None
            }
            (Some(from), None) => {
                self.remove(&from);
                Some((from.path, Later::Settled))
            }
            // Only the mode changed.
            (Some(from), Some(to)) if from == to => None,
            (Some(from), Some(to)) if from.path == to.path => {
                self.change_content(to.path);
                None
            }
            (Some(from), Some(to)) => Some(self.rename(from, to, change.similarity)),
        }
    }

    fn rename(&mut self, from: File, to: File, similarity: Option<u8>) -> (String, Later) {
        if (self.keep)(&from.path) || (self.keep)(&to.path) {
            self.names += name_cost(&from.path) + name_cost(&to.path);
            let (from, to) = (from.path.clone(), to.path.clone());
            self.history.renames.push(Rename { date: self.date, from, to, similarity });
        }
        if from.blob != to.blob {
            self.change_content(to.path);
            return (from.path, Later::Settled);
        }
        let current = self.current_name(&to.path);
        self.settle(to.path, Later::Settled);
        (from.path, current.map_or(Later::Settled, Later::Renamed))
    }

    fn remove(&mut self, file: &File) {
        if (self.keep)(&file.path) && !self.later.contains_key(&file.path) {
            self.names += name_cost(&file.path);
            let blob = Oid::parse(&file.blob.to_string()).ok();
            self.history.removed.push(Removed { path: file.path.clone(), date: self.date, blob });
        }
    }

    fn change_content(&mut self, path: String) {
        if let Some(current) = self.current_name(&path).filter(|name| (self.keep)(name)) {
            self.names += name_cost(&current);
            self.history.last_changed.push((current, self.date));
        }
        self.settle(path, Later::Settled);
    }

    /// The current name of the file that had this path, if no newer change of its content is known.
    fn current_name(&self, path: &str) -> Option<String> {
        match self.later.get(path) {
            None => Some(path.to_owned()),
            Some(Later::Renamed(name)) => Some(name.clone()),
            Some(Later::Settled) => None,
        }
    }

    fn settle(&mut self, path: String, later: Later) {
        let is_needed = match &later {
            Later::Settled => (self.keep)(&path) || self.later.contains_key(&path),
            Later::Renamed(name) => (self.keep)(name) || (self.keep)(&path),
        };
        if is_needed {
            self.names += name_cost(&path);
            self.later.insert(path, later);
        }
    }
}

fn name_cost(path: &str) -> usize {
    path.len() + NAME_OVERHEAD
}
