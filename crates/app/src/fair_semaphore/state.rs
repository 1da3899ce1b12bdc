//! Decides who gets a free permit. Without locks and tasks, so that tests can try every order of events.

use std::collections::{BTreeMap, HashMap};

use tokio::sync::oneshot;

use super::Claimant;

pub(super) struct State {
    permits: usize,
    /// The number of permits that one project can hold.
    project_permits: usize,
    in_use: usize,
    /// By their number, which is the order of arrival.
    waiters: BTreeMap<u64, Waiter>,
    next_number: u64,
    organizations: HashMap<String, Share>,
    projects: HashMap<String, Share>,
    turns: u64,
    last_was_unassigned: bool,
}

struct Waiter {
    claimant: Option<Claimant>,
    granted: oneshot::Sender<()>,
}

#[derive(Default, Clone, Copy)]
struct Share {
    held: usize,
    last_turn: u64,
}

/// The lowest rank is first: whether the same kind of claimant was last; then permits and last turn of the organization;
/// then those of the project; then the order of arrival.
type Rank = (bool, usize, u64, usize, u64, u64);

impl State {
    pub(super) fn new(permits: usize, project_permits: usize) -> Self {
        Self {
            permits,
            project_permits,
            in_use: 0,
            waiters: BTreeMap::new(),
            next_number: 0,
            organizations: HashMap::new(),
            projects: HashMap::new(),
            turns: 0,
            last_was_unassigned: false,
        }
    }

    pub(super) fn in_use(&self) -> usize {
        self.in_use
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn resize(&mut self, permits: usize) {
        (self.permits, self.project_permits) = (permits, permits);
        self.grant_free_permits();
    }

    /// Adds a waiter. It may get its permit at once.
    pub(super) fn enqueue(&mut self, claimant: Option<Claimant>, granted: oneshot::Sender<()>) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.waiters.insert(number, Waiter { claimant, granted });
        self.grant_free_permits();
        number
    }

    /// Removes a waiter. Returns false if it has a permit already.
    pub(super) fn cancel(&mut self, number: u64) -> bool {
        self.waiters.remove(&number).is_some()
    }

    pub(super) fn release(&mut self, claimant: Option<&Claimant>) {
        self.in_use -= 1;
        if let Some(Claimant { organization, project }) = claimant {
            for (shares, name) in [(&mut self.organizations, organization), (&mut self.projects, project)] {
                shares.entry(name.clone()).and_modify(|share| share.held -= 1);
            }
        }
        self.grant_free_permits();
        if self.waiters.is_empty() {
            // Nobody waits, so turns don't matter, and the maps stay small.
            self.organizations.retain(|_, share| share.held > 0);
            self.projects.retain(|_, share| share.held > 0);
        }
    }

    /// Counts a permit, or a permit that had no claimant, for this one.
    pub(super) fn assign(&mut self, claimant: &Claimant) {
        self.turns += 1;
        let Claimant { organization, project } = claimant;
        for (shares, name) in [(&mut self.organizations, organization), (&mut self.projects, project)] {
            let share = shares.entry(name.clone()).or_default();
            *share = Share { held: share.held + 1, last_turn: self.turns };
        }
    }

    fn grant_free_permits(&mut self) {
        while self.in_use < self.permits
            && let Some(waiter) = self.next_waiter().and_then(|number| self.waiters.remove(&number))
        {
            self.in_use += 1;
            self.last_was_unassigned = waiter.claimant.is_none();
            if let Some(claimant) = &waiter.claimant {
                self.assign(claimant);
            }
            // A receiver that is gone releases the permit itself.
            let _ = waiter.granted.send(());
        }
    }

    fn next_waiter(&self) -> Option<u64> {
        let ranked = self.waiters.iter().filter_map(|(number, waiter)| self.rank(*number, waiter));
        ranked.min().map(|(.., number)| number)
    }

    /// `None` if the project has all the permits that it can hold.
    fn rank(&self, number: u64, waiter: &Waiter) -> Option<Rank> {
        let Some(claimant) = &waiter.claimant else {
            return Some((self.last_was_unassigned, 0, 0, 0, 0, number));
        };
        let organization = self.organizations.get(&claimant.organization).copied().unwrap_or_default();
        let project = self.projects.get(&claimant.project).copied().unwrap_or_default();
        (project.held < self.project_permits).then_some((
            !self.last_was_unassigned,
            organization.held,
            organization.last_turn,
            project.held,
            project.last_turn,
            number,
        ))
    }
}
