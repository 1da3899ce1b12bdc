//! Checks the stylesheet against the pages: every class is styled, files are small, and contrast is sufficient.

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
    // Classes without a style of their own.
    let unstyled = ["axis", "ctx", "list", "what"];
    for (name, html) in pages(ORDINARY) {
        for class in super::attributes(&html, "class=\"").iter().flat_map(|list| list.split(' ')) {
            assert!(unstyled.contains(&class) || css().contains(&format!(".{class}")), "{name}: .{class}");
        }
    }
}

#[test]
fn the_assets_are_small() {
    assert!(css().len() < 31_000);
    assert!(ASSETS[1].1.len() < 4_500);
}

/// WCAG AA: 4.5 to 1 for text on every background that it's used on, 3 to 1 for borders of controls.
#[test]
fn contrast_is_sufficient_in_light_and_in_dark_mode() {
    let (light, dark) = css().split_once("prefers-color-scheme: dark").unwrap();
    for (theme, vars) in [("light", light), ("dark", dark)] {
        let check = |text: &str, background: &str, min_ratio: f64| {
            let ratio = contrast(color(vars, text), color(vars, background));
            assert!(ratio >= min_ratio, "{theme}: {text} on {background} is {ratio:.2}");
        };
        for background in ["paper", "card", "hover"] {
            for text in ["ink", "soft", "human", "ai", "good", "bad", "wait", "done"] {
                check(text, background, 4.5);
            }
            check("edge", background, 3.0);
            check("focus", background, 3.0);
        }
        for background in ["add", "add-mark", "del", "del-mark"] {
            check("ink", background, 4.5);
        }
        for (text, background) in [("soft", "add"), ("soft", "del"), ("good", "add"), ("bad", "del")] {
            check(text, background, 4.5);
        }
        check("paper", "ink", 4.5);
    }
}

fn color(vars: &str, name: &str) -> [f64; 3] {
    let after = vars.split_once(&format!("--{name}: #")).unwrap_or_else(|| panic!("no color {name}")).1;
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
