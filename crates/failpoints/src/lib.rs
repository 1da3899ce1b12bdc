//! Places at which a build for tests can be told to die: before and after every step that leaves a mark, in the store,
//! in a repository, at a host or with a model. Without the feature `on` there is nothing of it in the program.
//!
//! The variable `DOCWRIGHT_FAILPOINT_FILE` names a file. Whoever comes by the place whose name stands in it, such as
//! `push.after`, takes the file away and dies at once, as by SIGKILL. `scripts/crash` knows the places by looking for
//! calls of [`around`] in the sources, so each has a name of its own.

/// The step, between its two places: `{name}.before` and `{name}.after`.
#[cfg(not(feature = "on"))]
#[inline(always)]
pub fn around<F: Future>(_name: &'static str, step: F) -> F {
    step
}

#[cfg(feature = "on")]
pub async fn around<F: Future>(name: &'static str, step: F) -> F::Output {
    told::die_at(name, "before");
    let done = step.await;
    told::die_at(name, "after");
    done
}

#[cfg(feature = "on")]
mod told {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::LazyLock;

    static FILE: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| std::env::var_os("DOCWRIGHT_FAILPOINT_FILE").map(PathBuf::from));

    pub(super) fn die_at(name: &str, when: &str) {
        let Some(file) = FILE.as_ref() else { return };
        let Ok(place) = fs::read_to_string(file) else { return };
        // Of several that come by at once, one dies.
        if place == format!("{name}.{when}") && fs::rename(file, file.with_extension("hit")).is_ok() {
            std::process::abort();
        }
    }
}
