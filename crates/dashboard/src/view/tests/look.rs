//! The style sheet against the pages: classes that exist, contrast that can be read.

use super::samples::{ORDINARY, pages};

pub(super) const ASSETS: [(&str, &str); 3] = [
    ("docwright.css", include_str!("../../../assets/docwright.css")),
    ("docwright.js", include_str!("../../../assets/docwright.js")),
    ("mark.svg", include_str!("../../../assets/mark.svg")),
];

fn css() -> &'static str {
    ASSETS[0].1
}

#[test]
fn every_class_of_a_page_is_styled() {
    // Hooks that need no look of their own.
    let plain = ["ctx", "list", "what"];
    for (name, html) in pages(ORDINARY) {
        for class in super::attributes(&html, "class=\"").iter().flat_map(|list| list.split(' ')) {
            assert!(plain.contains(&class) || css().contains(&format!(".{class}")), "{name}: .{class}");
        }
    }
}

#[test]
fn the_assets_are_small() {
    assert!(css().len() < 31_000);
    assert!(ASSETS[1].1.len() < 4_500);
}

/// WCAG AA: text 4.5 to 1 on every ground it stands on, edges of controls 3 to 1.
#[test]
fn contrast_suffices_in_light_and_in_dark() {
    let (light, dark) = css().split_once("prefers-color-scheme: dark").unwrap();
    for (theme, vars) in [("light", light), ("dark", dark)] {
        let check = |text: &str, ground: &str, least: f64| {
            let ratio = contrast(colour(vars, text), colour(vars, ground));
            assert!(ratio >= least, "{theme}: {text} on {ground} is {ratio:.2}");
        };
        for ground in ["paper", "card", "hover"] {
            for text in ["ink", "soft", "human", "ai", "good", "bad", "wait", "done"] {
                check(text, ground, 4.5);
            }
            check("edge", ground, 3.0);
            check("focus", ground, 3.0);
        }
        for ground in ["add", "add-mark", "del", "del-mark"] {
            check("ink", ground, 4.5);
        }
        for (text, ground) in [("soft", "add"), ("soft", "del"), ("good", "add"), ("bad", "del")] {
            check(text, ground, 4.5);
        }
        check("paper", "ink", 4.5);
    }
}

fn colour(vars: &str, name: &str) -> [f64; 3] {
    let after = vars.split_once(&format!("--{name}: #")).unwrap_or_else(|| panic!("no colour {name}")).1;
    [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&after[at..at + 2], 16).unwrap()) / 255.0)
}

fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(rgb: [f64; 3]) -> f64 {
    let linear = rgb.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}
