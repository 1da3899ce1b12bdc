//! Failpoints: crash points for tests, before and after every step with a lasting effect in the store, in a
//! repository, at a host or with a model. Without the feature `on`, the program contains none of this.
//!
//! The variable `DOCWRIGHT_FAILPOINT_FILE` names a file that contains the name of one failpoint, such as
//! `push.after`. The first process that reaches this failpoint renames the file and aborts immediately, as if
//! by SIGKILL. `scripts/crash` finds the failpoints by searching the sources for calls of
//! [`with_failpoints`], so each name must be unique.

/// Runs `step` between the failpoints `{name}.before` and `{name}.after`.
#[cfg(not(feature = "on"))]
#[inline(always)]
pub fn with_failpoints<F: Future>(_name: &'static str, step: F) -> F {
    step
}

#[cfg(feature = "on")]
pub async fn with_failpoints<F: Future>(name: &'static str, step: F) -> F::Output {
    trigger::abort_if_armed(name, "before");
    let output = step.await;
    trigger::abort_if_armed(name, "after");
    output
}

#[cfg(feature = "on")]
mod trigger {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::LazyLock;

    static FILE: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| std::env::var_os("DOCWRIGHT_FAILPOINT_FILE").map(PathBuf::from));

    pub(super) fn abort_if_armed(name: &str, when: &str) {
        let Some(file) = FILE.as_ref() else { return };
        let Ok(armed) = fs::read_to_string(file) else { return };
        // The rename succeeds once, so only one of several concurrent processes aborts.
        if armed == format!("{name}.{when}") && fs::rename(file, file.with_extension("hit")).is_ok() {
            std::process::abort();
        }
    }
}
