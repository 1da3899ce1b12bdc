//! The thresholds of a project.

use serde::{Deserialize, Serialize};

const MAX_TIERS: usize = 100;
/// The library that reads globs panics on deep ones.
const MAX_GLOB_NESTING: usize = 3;
const MAX_GLOB_CHARS: usize = 500;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// The fewest requests in the window that make a finding.
    pub min_requests: u64,
    /// The fewest days with requests in the window.
    pub min_days: u32,
    /// The days up to today that are counted.
    pub window_days: u32,
    /// Days without a change after which a page that no tier names is stale.
    pub stale_days: u32,
    /// Other numbers of days for some pages. The first tier that matches counts.
    pub stale_tiers: Vec<StaleTier>,
    /// The fewest views in the window that make a stale page a finding.
    pub stale_min_views: u64,
    /// Days after a merge until it counts as shipped even if no view shows that it's live.
    pub shipped_delay_days: u32,
    /// Days after shipping until a finding is judged.
    pub judge_days: u32,
    /// How many times its evidence must have grown for a closed finding to open again.
    pub reopen_factor: f64,
    /// The most candidates of each kind. Those that hurt the most readers are kept.
    pub max_findings: u32,
}

/// Days without a change after which the pages of a glob are stale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaleTier {
    /// `*` matches within a folder, `**` across folders.
    pub glob: String,
    pub days: u32,
}

/// Why settings are invalid, as a sentence for the person who changes them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("`{name}` must be a number from {min} to {}", crate::text::grouped(*max))]
    OutOfRange { name: &'static str, min: u64, max: u64 },
    #[error("`staleTiers` can have at most {MAX_TIERS} entries")]
    TooManyTiers,
    #[error("the glob `{0}` of `staleTiers` must begin with `/`, such as `/guides/**`")]
    NoSlash(String),
    #[error("a glob of `staleTiers` can have at most {MAX_GLOB_CHARS} characters")]
    LongGlob,
    #[error("the glob `{glob}` of `staleTiers` is invalid: {reason}")]
    BadGlob { glob: String, reason: String },
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            min_requests: 5,
            min_days: 1,
            window_days: 30,
            stale_days: 365,
            stale_tiers: Vec::new(),
            stale_min_views: 50,
            shipped_delay_days: 3,
            judge_days: 14,
            reopen_factor: 2.0,
            max_findings: 1_000,
        }
    }
}

impl Settings {
    /// Checks every value. Call it on settings that come from outside.
    pub fn validate(self) -> Result<Self, SettingsError> {
        let window = u64::from(self.window_days);
        check("windowDays", window, 1, 90)?;
        check("minRequests", self.min_requests, 1, 1_000_000)?;
        check("minDays", self.min_days.into(), 1, window)?;
        check("staleDays", self.stale_days.into(), 1, 3_650)?;
        check("staleMinViews", self.stale_min_views, 1, 1_000_000)?;
        check("shippedDelayDays", self.shipped_delay_days.into(), 0, 90)?;
        check("judgeDays", self.judge_days.into(), 1, 90)?;
        check("maxFindings", self.max_findings.into(), 1, 10_000)?;
        if !(1.0..=100.0).contains(&self.reopen_factor) {
            return Err(SettingsError::OutOfRange { name: "reopenFactor", min: 1, max: 100 });
        }
        check_tiers(&self.stale_tiers)?;
        Ok(self)
    }
}

fn check(name: &'static str, value: u64, min: u64, max: u64) -> Result<(), SettingsError> {
    if (min..=max).contains(&value) { Ok(()) } else { Err(SettingsError::OutOfRange { name, min, max }) }
}

fn check_tiers(tiers: &[StaleTier]) -> Result<(), SettingsError> {
    if tiers.len() > MAX_TIERS {
        return Err(SettingsError::TooManyTiers);
    }
    for tier in tiers {
        check("staleTiers.days", tier.days.into(), 1, 3_650)?;
        if tier.glob.chars().count() > MAX_GLOB_CHARS {
            return Err(SettingsError::LongGlob);
        }
        if !tier.glob.starts_with('/') {
            return Err(SettingsError::NoSlash(tier.glob.clone()));
        }
        if nesting(&tier.glob) > MAX_GLOB_NESTING {
            let reason = format!("braces can be nested {MAX_GLOB_NESTING} deep");
            return Err(SettingsError::BadGlob { glob: tier.glob.clone(), reason });
        }
        tier.matcher()?;
    }
    Ok(())
}

/// How deep braces are nested.
fn nesting(glob: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for c in glob.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

impl StaleTier {
    pub(crate) fn matcher(&self) -> Result<globset::GlobMatcher, SettingsError> {
        let glob =
            globset::GlobBuilder::new(&self.glob).literal_separator(true).empty_alternates(true).build();
        glob.map(|glob| glob.compile_matcher()).map_err(|error| SettingsError::BadGlob {
            glob: self.glob.clone(),
            reason: error.kind().to_string(),
        })
    }
}
