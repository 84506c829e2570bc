//! Oracles from elsewhere: fetched by a script into a cache in the target folder, and what a test does without them.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `scripts/fetch-*.sh` answer when a tool is missing.
const TOOL_MISSING: i32 = 69;
/// What they answer when the network did not.
const NO_ANSWER: i32 = 75;

/// Runs `scripts/<script>` on a cache folder of its own and returns the paths that it prints. `None` where the test
/// cannot be run, which has been said by then.
pub(crate) fn fetch(script: &str) -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(script.trim_end_matches(".sh"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(script);
    let Ok(output) = Command::new("bash").arg(&path).arg(&folder).output() else {
        skip(format_args!("{script} needs bash"));
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Some(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect()),
        // Whether a registry answers is nobody's fault here: never a failure.
        Some(NO_ANSWER) => {
            say(format_args!("skipped: download failed: {}", errors.lines().last().unwrap_or_default()));
            None
        }
        Some(TOOL_MISSING) => {
            skip(format_args!("{}", errors.lines().last().unwrap_or_default()));
            None
        }
        _ => panic!("{script}: {}\n{errors}", output.status),
    }
}

/// Says why a test cannot be run here; under `CUSHIM_REQUIRE=all` that is a failure.
pub(crate) fn skip(reason: fmt::Arguments<'_>) {
    assert!(
        std::env::var_os("CUSHIM_REQUIRE").is_none_or(|value| value != "all"),
        "CUSHIM_REQUIRE=all: {reason}"
    );
    say(format_args!("skipped: {reason}"));
}

/// Says a line that the test harness does not swallow.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    writeln!(std::io::stderr(), "{line}").expect("standard error takes a line");
}
