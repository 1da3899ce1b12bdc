//! Fills in the pages about findings, as `samples` does.

use super::super::*;
use super::samples::{shell, text_or};
use askama::Template;

pub(super) fn pages(text: &str) -> Vec<(&'static str, String)> {
    let empty = Findings { total: 0, groups: Vec::new(), ..findings(text) };
    vec![
        ("findings", findings(text).render().unwrap()),
        ("findings-empty", empty.render().unwrap()),
        ("finding", finding(text, Fix::Prompt(text_or(text, "Add redirects."))).render().unwrap()),
        ("finding-stale", finding(text, Fix::NeedsModel).render().unwrap()),
        ("weekly", weekly(text).render().unwrap()),
    ]
}

/// The findings of a job.
pub(super) fn fixes(text: &str) -> FixedFindings {
    let link = |_| link(text, "open", "bad");
    FixedFindings { findings: (0..11).map(link).collect(), effect: Some(effect(text)) }
}

fn link(text: &str, label: &str, class: &'static str) -> FindingLink {
    FindingLink {
        href: text_or(text, "/p/kettle-docs/findings/fnd_1"),
        subject: text_or(text, "/guides/Install"),
        kind: "Not found",
        state: FindingChip { label: text_or(text, label), class },
        note: Some(text_or(text, "Merged, not seen live yet")),
    }
}

fn effect(text: &str) -> EffectSummary {
    EffectSummary {
        sentences: vec![text_or(text, "Not-found requests for this path: 31 → 0. Site-wide: −4%.")],
        before: text_or(text, "Nov 1 – Nov 14, 2026"),
        after: text_or(text, "Nov 16 – Nov 29, 2026"),
        rows: vec![EffectRow {
            measure: "Not found",
            cells: ["20 → 0", "11 → 0", "31 → 0"].map(effect_cell).into(),
        }],
    }
}

fn effect_cell(numbers: &str) -> EffectCell {
    EffectCell { numbers: numbers.into(), verdict: "fewer" }
}

fn pull_ref(text: &str) -> PullRef {
    PullRef { href: text_or(text, "/p/kettle-docs/pulls/3"), number: 3, state: PullState::Open }
}

fn findings(text: &str) -> Findings {
    let row = |id: &str, label: &str, class, waits: bool| FindingRow {
        id: id.to_owned(),
        link: link(text, label, class),
        target: Some(text_or(text, "/guides/install")),
        human: 1_204,
        ai: 31,
        job: Some(text_or(text, "/p/kettle-docs/jobs/0199")),
        pull: (!waits).then(|| pull_ref(text)),
        waits,
        can_dismiss: waits,
    };
    let choice = |label: &str, chosen| CountedLink {
        href: text_or(text, "/p/kettle-docs/findings?state=all"),
        label: text_or(text, label),
        count: 12,
        chosen,
    };
    let link_choice = |label, chosen| LinkChoice { href: text_or(text, "?sort=ai"), label, chosen };
    Findings {
        shell: shell(text, "Findings", Section::Findings, true),
        groups: vec![FindingGroup {
            kind: "not-found",
            title: "Not found",
            meaning: "Readers ask for these paths, and get no page",
            counted: "requests",
            needs_model: false,
            rows: vec![row("a", "open", "bad", true), row("b", "in review", "wait", false)],
            full_list: Some(text_or(text, "/p/kettle-docs/findings?kind=not-found")),
            count: 12,
        }],
        states: vec![choice("open", true), choice("all", false)],
        kinds: vec![choice("all kinds", true), choice("dead link", false)],
        readers: vec![link_choice("any readers", true)],
        sorts: vec![link_choice("readers hurt", true), link_choice("human", false)],
        total: 24,
        previous: Some(text_or(text, "?offset=0")),
        next: Some(text_or(text, "?offset=100")),
        hint: Some(SourceHint {
            has_no_views: false,
            import: text_or(text, "docwright import prj_1 access.log"),
        }),
        query: text_or(text, "state=all"),
        once: text_or(text, "0nce"),
        was_dismissed: true,
        error: Some(text_or(text, "Choose at least one finding.")),
    }
}

fn finding(text: &str, fix: Fix) -> Finding {
    let step = |what, job: bool| FindingStep {
        day: text_or(text, "Nov 15, 2026"),
        what,
        job: job.then(|| text_or(text, "/p/kettle-docs/jobs/0199")),
        pull: job.then(|| pull_ref(text)),
    };
    let point = traffic::Point { at: 0, reads: traffic::Tally { human: 3, ai: 1 } };
    let day = jiff::Timestamp::from_second(86_400).unwrap();
    let chart = Chart::new(&[point], traffic::Interval::Day, (day, day), &[]);
    Finding {
        shell: shell(text, "/guides/Install", Section::Findings, true),
        id: text_or(text, "fnd_1"),
        kind: "Not found",
        meaning: "Readers ask for these paths, and get no page",
        state: FindingChip { label: text_or(text, "in review"), class: "wait" },
        note: Some(text_or(text, "Merged, not seen live yet")),
        counted: "requests",
        human: 1_204,
        ai: 31,
        window_days: 30,
        steps: vec![step("First seen", false), step("Job created", true)],
        effect: Some(effect(text)),
        awaits_effect: false,
        candidates: vec![Target {
            path: text_or(text, "/guides/install"),
            reason: text_or(text, "the page was renamed to `/guides/install`"),
        }],
        chart: Some(chart),
        paths: vec![CountedPath {
            path: text_or(text, "/guides/Install"),
            figures: ["1,204".into(), "31".into()],
        }],
        more_paths: 2,
        referrers: vec![(text_or(text, "https://chatgpt.com/"), "31".into())],
        pages: vec![text_or(text, "/quickstart")],
        more_pages: 1,
        fix,
        can_dismiss: true,
        reason: text.into(),
        once: text_or(text, "0nce"),
        error: (!text.is_empty()).then(|| text.to_owned()),
    }
}

fn weekly(text: &str) -> Weekly {
    let row = || WeekRow {
        link: link(text, "open", "bad"),
        counted: "requests",
        human: "1,204".into(),
        ai: "31".into(),
    };
    let tile = Tile {
        id: "week-views",
        name: "Views",
        number: Some(310),
        previous: 290,
        days: 7,
        note: "",
        is_fault: false,
    };
    Weekly {
        shell: shell(text, "Weekly summary", Section::Findings, true),
        days: text_or(text, "Nov 9 – Nov 15, 2026"),
        tiles: vec![WeekTile { tile, split: "200 human, 110 AI".into() }],
        lists: vec![
            WeekList {
                id: "new",
                title: "New findings",
                empty: "Nothing new.",
                rows: vec![row()],
                more: Some("12 more".into()),
            },
            WeekList { id: "resolved", title: "Resolved", empty: "None.", rows: Vec::new(), more: None },
        ],
        merges: vec![WeekMerge {
            job: Link {
                href: text_or(text, "/p/kettle-docs/jobs/1"),
                label: text_or(text, "Add 4 redirects"),
            },
            day: text_or(text, "Nov 12, 2026"),
            effect: Some(effect(text)),
        }],
        open: "12".into(),
        window_days: 30,
        findings: text_or(text, "/p/kettle-docs/findings"),
        previous: Some(text_or(text, "/p/kettle-docs/weekly?week=2026-11-02")),
        next: Some(text_or(text, "/p/kettle-docs/weekly?week=2026-11-16")),
        error: None,
    }
}
