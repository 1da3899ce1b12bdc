//! Patterns that are made once.

/// `pattern!(name, r"part", r"part")` is a function of that name, and a test that there is such a pattern: one that
/// cannot be made, or is too large, would be a rule that is off without a word.
#[macro_export]
macro_rules! pattern {
    ($(#[$doc:meta])* $name:ident, $($part:literal),+ $(,)?) => {
        $crate::pattern!($(#[$doc])* $name = concat!($($part),+));
    };
    ($(#[$doc:meta])* $name:ident = $text:expr) => {
        $(#[$doc])*
        fn $name() -> Option<&'static regex::Regex> {
            static PATTERN: std::sync::OnceLock<Option<regex::Regex>> = std::sync::OnceLock::new();
            PATTERN.get_or_init(|| regex::Regex::new($text.as_ref()).ok()).as_ref()
        }

        #[cfg(test)]
        mod $name {
            #[test]
            fn is_a_pattern() {
                assert!(super::$name().is_some());
            }
        }
    };
}
