//! Describes what merges did for readers, for the pages of findings, jobs and pull requests.

use app::App;
use app::findings::{MergeEffect, effect_of_job, verdict_word};
use findings::{Measure, Measured, Period};
use jiff::civil::Date;
use store::Job;

use super::link;
use crate::PageError;
use crate::session::ProjectContext;
use crate::view::{EffectCell, EffectRow, EffectSummary, FixedFindings, with_commas};

pub(super) fn summary(merge: &MergeEffect) -> EffectSummary {
    let effect = &merge.effect;
    let columns = [&effect.human, &effect.ai, &effect.total];
    let row = |measure: Measure| EffectRow {
        measure: match measure {
            Measure::NotFound => "Not found",
            Measure::Views => "Views",
            Measure::Visitors => "Visitors",
        },
        cells: columns.map(|column| cell(column, measure)).into(),
    };
    EffectSummary {
        sentences: merge.sentences(),
        before: days(effect.before),
        after: days(effect.after),
        rows: Measure::ALL.map(row).into(),
    }
}

fn cell(column: &Measured, measure: Measure) -> EffectCell {
    let change = column.get(measure);
    EffectCell {
        numbers: format!("{} → {}", with_commas(change.before), with_commas(change.after)),
        verdict: verdict_word(measure, change.verdict),
    }
}

fn days(period: Period) -> String {
    if period.first == period.last {
        return day(period.first);
    }
    format!("{} – {}", day(period.first), day(period.last))
}

pub(super) fn day(day: Date) -> String {
    day.strftime("%b %-d, %Y").to_string()
}

/// The findings that the job was created to fix, and the effect of its merge, if its pull request is merged.
pub(crate) async fn load_fixed_findings(
    app: &App,
    ctx: &ProjectContext,
    job: &Job,
) -> Result<FixedFindings, PageError> {
    let findings = app.findings.findings_of_job(&ctx.project.id, &job.id).await?;
    let effect = effect_of_job(app, &ctx.project, job).await?;
    Ok(FixedFindings {
        findings: findings.iter().map(|finding| link(&ctx.project, finding)).collect(),
        effect: effect.as_ref().map(summary),
    })
}
