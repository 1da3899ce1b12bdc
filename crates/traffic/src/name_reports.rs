//! Builds the reports by name from counts: agents, referrers, AI referrals, not found and redirected.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::agents::operator;
use crate::assistants::{operator_of_host, operators};
use crate::cells::{CLASSES, Cell};
use crate::classify::Class;
use crate::list_query::ListQuery;
use crate::name_counts::NameCounts;
use crate::names::{CLAIMED, VERIFIED};
use crate::reports::{AgentCount, Agents, AiReferrals, MissingPath, NotFound, Redirected, Referrers};
use crate::views::Tally;

/// Referrers that are listed for a missing path.
const MAX_REFERRERS: usize = 5;
/// The classes of AI agents.
const AI_CLASSES: [Class; 4] = [Class::Assistant, Class::AiSearch, Class::AiTraining, Class::AiOther];

pub(crate) fn agents(names: &NameCounts, checked: &NameCounts, query: &ListQuery) -> Agents {
    let mut classes: [u64; CLASSES] = [0; CLASSES];
    let mut all = Vec::new();
    for (product, cell) in names.iter() {
        for (class, reads) in Class::ALL.into_iter().zip(*cell).filter(|(_, reads)| *reads > 0) {
            classes[usize::from(class.code())] += reads;
            all.push((product, class, reads));
        }
    }
    let key = |class: Class, reads: u64| {
        let reads_by = |wanted: Class| if class == wanted { reads } else { 0 };
        (Reverse(query.sort.key(reads_by(Class::Human), reads_by(Class::Assistant), reads)), Reverse(reads))
    };
    all.sort_unstable_by_key(|(product, class, reads)| (key(*class, *reads), *product, *class));
    let (some, has_more) = query.paginate(all);
    let checked: HashMap<&str, &Cell> = checked.iter().collect();
    let agent = |(product, class, reads): (&str, Class, u64)| {
        let reads_as = |how: &str| {
            checked.get(&*format!("{product}\t{how}")).map_or(0, |cell| cell[usize::from(class.code())])
        };
        let (verified, claimed) = (reads_as(VERIFIED), reads_as(CLAIMED));
        AgentCount {
            operator: operator(product),
            product: product.to_owned(),
            class,
            reads,
            verified,
            claimed,
        }
    };
    Agents {
        classes: Class::ALL.into_iter().zip(classes).collect(),
        agents: some.into_iter().map(agent).collect(),
        has_more,
    }
}

pub(crate) fn referrers(names: &NameCounts, query: &ListQuery) -> Referrers {
    let hosts = names.iter().map(|(host, cell)| (host, tally(cell))).collect();
    let (totals, hosts, has_more) = list(hosts, query);
    Referrers { totals, hosts, has_more }
}

pub(crate) fn ai_referrals(products: &NameCounts, hosts: &NameCounts) -> Vec<AiReferrals> {
    let mut sums = BTreeMap::<&str, (u64, u64)>::new();
    for (product, cell) in products.iter() {
        let reads = AI_CLASSES.iter().map(|class| cell[usize::from(class.code())]).sum::<u64>();
        operator(product).into_iter().for_each(|name| sums.entry(name).or_default().0 += reads);
    }
    for (host, cell) in hosts.iter() {
        let referrals = tally(cell).human;
        operator_of_host(host).into_iter().for_each(|name| sums.entry(name).or_default().1 += referrals);
    }
    let counts = |operator| {
        let (reads, referrals) = sums.get(operator).copied().unwrap_or_default();
        AiReferrals { operator, reads, referrals }
    };
    let mut all: Vec<_> =
        operators().map(counts).filter(|counts| counts.reads + counts.referrals > 0).collect();
    all.sort_by_key(|counts| (Reverse(counts.referrals), Reverse(counts.reads), counts.operator));
    all
}

pub(crate) fn redirected(names: &NameCounts, query: &ListQuery) -> Redirected {
    let paths = names.iter().filter(|(path, _)| query.matches(|| path));
    let (totals, pages, has_more) = list(paths.map(|(path, cell)| (path, tally(cell))).collect(), query);
    Redirected { totals, pages, has_more }
}

/// The total of all names, and the names that a query lists.
fn list(mut names: Vec<(&str, Tally)>, query: &ListQuery) -> (Tally, Vec<(String, Tally)>, bool) {
    let totals = sum(names.iter().map(|(_, counts)| counts));
    let key = |counts: &Tally| Reverse(query.sort.key(counts.human, counts.ai, counts.total()));
    names.sort_unstable_by_key(|(name, counts)| (key(counts), *name));
    let (some, has_more) = query.paginate(names);
    (totals, some.into_iter().map(|(name, counts)| (name.to_owned(), counts)).collect(), has_more)
}

pub(crate) fn not_found(names: &NameCounts, query: &ListQuery) -> NotFound {
    let mut pages = BTreeMap::<&str, (Tally, Vec<(&str, u64)>)>::new();
    for (name, cell) in names.iter() {
        let (path, referrer) = name.split_once('\t').unwrap_or((name, ""));
        if query.matches(|| path) {
            let (requests, referrers) = pages.entry(path).or_default();
            let counts = tally(cell);
            requests.add(counts.human, counts.ai);
            referrers.extend((!referrer.is_empty()).then_some((referrer, counts.total())));
        }
    }
    let totals = sum(pages.values().map(|(requests, _)| requests));
    let mut pages: Vec<_> = pages.into_iter().collect();
    let key = |requests: &Tally| query.sort.key(requests.human, requests.ai, requests.total());
    pages.sort_by_key(|(path, (requests, _))| (Reverse(key(requests)), *path));
    let (some, has_more) = query.paginate(pages);
    let pages = some
        .into_iter()
        .map(|(path, (requests, referrers))| missing_path(path, requests, referrers))
        .collect();
    NotFound { totals, pages, has_more }
}

fn missing_path(path: &str, requests: Tally, mut referrers: Vec<(&str, u64)>) -> MissingPath {
    referrers.sort_unstable_by_key(|(referrer, times)| (Reverse(*times), *referrer));
    referrers.truncate(MAX_REFERRERS);
    let referrers = referrers.into_iter().map(|(referrer, times)| (referrer.to_owned(), times)).collect();
    MissingPath { path: path.to_owned(), requests, referrers }
}

pub(crate) fn tally(cell: &Cell) -> Tally {
    let of = |class: Class| cell[usize::from(class.code())];
    Tally { human: of(Class::Human), ai: of(Class::Assistant) }
}

fn sum<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Tally {
    tallies.fold(Tally::default(), |mut sum, tally| {
        sum.add(tally.human, tally.ai);
        sum
    })
}
