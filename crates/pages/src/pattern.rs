//! Provides a macro for regular expressions that are compiled once.

/// `pattern!(name, r"part", r"part")` defines a function of that name, and a test that the pattern compiles. A pattern
/// that doesn't compile, or is too large, would silently turn off a rule.
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
            fn compiles() {
                assert!(super::$name().is_some());
            }
        }
    };
}
