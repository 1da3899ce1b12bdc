//! Generates page views of 90 days for the demo: humans, a growing share of AI assistants, and crawlers. Also generates
//! requests for pages that don't exist, so that the demo has findings.
//!
//! They depend only on the current time, so two runs at the same time generate the same ones.

use jiff::{SignedDuration, Timestamp};
use wire::ViewEvent;

const DAYS: u64 = 90;
const DAY_SECONDS: i64 = 24 * 3_600;

const BROWSERS: &[&str] = &[
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
];
const ASSISTANTS: &[&str] = &[
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot",
    "Mozilla/5.0 (compatible; Claude-User/1.0; +Claude-User@anthropic.com)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)",
];
const CRAWLERS: &[&str] = &[
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
];

/// Paths that readers ask for and don't get, each with the requests of a day. The first one certainly means a page.
const MISSING: &[(&str, u64)] = &[("/Guides/Kill-Switches", 3), ("/sdk/python", 2)];
const MISSING_DAYS: u64 = 30;
const REFERRERS: &[&str] = &["https://www.google.com/", "https://chatgpt.com/"];

/// Generates requests that weren't found, of the last days up to `now`.
pub(super) fn generate_missing(now: Timestamp) -> Vec<ViewEvent> {
    let mut random = Random(0x404);
    let mut events = Vec::new();
    for age in (0..MISSING_DAYS).rev() {
        for (path, requests) in MISSING {
            for _ in 0..*requests {
                // A day and more ago, so that none is in the future.
                let seconds = (age + 1) as i64 * DAY_SECONDS - random.below(DAY_SECONDS as u64) as i64;
                events.extend(missing(path, now.as_second() - seconds, &mut random));
            }
        }
    }
    events
}

fn missing(path: &str, second: i64, random: &mut Random) -> Option<ViewEvent> {
    let agents = if random.below(3) == 0 { ASSISTANTS } else { BROWSERS };
    Some(ViewEvent {
        path: Some(path.to_owned()),
        timestamp: Some(Timestamp::from_second(second).ok()?.to_string()),
        status: Some(404),
        user_agent: Some(random.pick(agents).to_owned()),
        referrer: Some(random.pick(REFERRERS).to_owned()),
        ..ViewEvent::default()
    })
}

/// Generates views, oldest first and none after `now`.
pub(super) fn generate_views(pages: &[String], now: Timestamp) -> Vec<ViewEvent> {
    let mut random = Random(0x5eed);
    let mut events = Vec::new();
    for age in (0..DAYS).rev() {
        let midnight = now.as_second() - now.as_second().rem_euclid(DAY_SECONDS) - age as i64 * DAY_SECONDS;
        for _ in 0..views_on(DAYS - age, midnight, &mut random) {
            let second = midnight + random.below(DAY_SECONDS as u64) as i64;
            events.extend(view(pages, second, DAYS - age, &mut random).filter(|_| second < now.as_second()));
        }
    }
    events
}

/// More from week to week, fewer on weekends (1970 began on a Thursday).
fn views_on(day: u64, midnight: i64, random: &mut Random) -> u64 {
    let is_weekend = matches!((midnight / DAY_SECONDS).rem_euclid(7), 2 | 3);
    let weekday = 160 + day * 2 + random.below(60);
    if is_weekend { weekday / 2 } else { weekday }
}

fn view(pages: &[String], second: i64, day: u64, random: &mut Random) -> Option<ViewEvent> {
    let page = &pages[random.low_index(pages.len())];
    let assistants = 12 + day / 3;
    let (user_agent, accept) = match random.below(100) {
        roll if roll < assistants => (random.pick(ASSISTANTS), None),
        roll if roll < assistants + 4 => ("axios/1.13.2", Some("text/markdown, text/html;q=0.8")),
        roll if roll < assistants + 12 => (random.pick(CRAWLERS), None),
        _ => (random.pick(BROWSERS), None),
    };
    let at = Timestamp::from_second(second)
        .ok()?
        .checked_add(SignedDuration::from_millis(random.below(1_000) as i64));
    Some(ViewEvent {
        path: Some(page.clone()),
        timestamp: Some(at.ok()?.to_string()),
        status: Some(200),
        user_agent: Some(user_agent.to_owned()),
        accept: accept.map(str::to_owned),
        ..ViewEvent::default()
    })
}

/// The generator SplitMix64, with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len() as u64) as usize]
    }

    /// An index that is more often low, because some pages have far more views than others.
    fn low_index(&mut self, length: usize) -> usize {
        let length = length as u64;
        let roll = self.below(length * length);
        (length - 1 - roll.isqrt()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_deterministic_and_never_in_the_future() {
        let now: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
        let pages = vec!["/".to_owned(), "/a".to_owned()];
        let events = generate_views(&pages, now);
        assert!((10_000..40_000).contains(&events.len()), "{}", events.len());
        let latest = events.iter().filter_map(|e| e.timestamp.as_deref()?.parse::<Timestamp>().ok()).max();
        assert!(latest.unwrap() < now);
        let again = generate_views(&pages, now);
        assert_eq!(events.last().unwrap().timestamp, again.last().unwrap().timestamp);
    }

    #[test]
    fn missing_paths_are_not_pages_and_one_of_them_means_a_page() {
        let now: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
        let pages = server::sample::pages();
        assert!(MISSING.iter().all(|(path, _)| !pages.iter().any(|page| page == path)));
        assert!(pages.iter().any(|page| page.eq_ignore_ascii_case(MISSING[0].0)), "{pages:?}");
        let events = generate_missing(now);
        assert_eq!(events.len(), 150);
        let times = events.iter().filter_map(|event| event.timestamp.as_deref()?.parse::<Timestamp>().ok());
        assert!(times.into_iter().all(|at| at <= now));
    }
}
