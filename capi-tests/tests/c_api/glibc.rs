//! That what is built takes nothing of the C library that the oldest glibc of a release lacks. A release is linked with that glibc
//! (`scripts/release.sh`), but a shared library with a name that is nowhere is linked as well, and loads nowhere.

use crate::cdef::{has_zig, run_zig};
use capi_tests::libraries::built;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// As `scripts/release.sh` has it by default.
const OLDEST: &str = "x86_64-linux-gnu.2.17";

#[test]
fn what_is_taken_of_the_c_library_is_in_the_oldest() {
    if !has_zig() {
        return;
    }
    // Those of the workspace that this test does not depend on are there if the workspace was built.
    let libraries = ["libcushim.so", "libsoftcuda.so", "libsoftcuda_nvml.so", "libsoftcuda_compilers.so"];
    let found = libraries.map(|name| built().join(name)).into_iter().filter(|path| path.exists());
    let names: BTreeSet<String> = found.flat_map(|library| taken(&library)).collect();
    assert!(names.contains("malloc") || names.contains("dlopen"), "{names:?}");
    link(&names).unwrap_or_else(|error| panic!("glibc of {OLDEST} lacks some of these:\n{error}"));
    let newer = BTreeSet::from(["gettid".to_owned()]); // of 2.30
    assert!(link(&newer).is_err(), "the test finds nothing");
}

/// The functions and data that a library takes of others, but those that it does without (weak ones).
fn taken(library: &Path) -> Vec<String> {
    let output = Command::new("nm")
        .args(["--dynamic", "--undefined-only", "--without-symbol-versions"])
        .arg(library)
        .output();
    let output = output.expect("nm runs; install binutils");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names");
    text.lines().filter_map(|line| line.trim().strip_prefix("U ")).map(str::to_owned).collect()
}

/// Links a program that takes these.
fn link(names: &BTreeSet<String>) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let declarations: String = names.iter().map(|name| format!("extern char {name}[];\n")).collect();
    let uses: String = names.iter().map(|name| format!("{name}, ")).collect();
    let source =
        format!("{declarations}char *const all[] = {{{uses}}};\nint main(void) {{ return all[0] == 0; }}\n");
    std::fs::write(folder.path().join("all.c"), source).expect("the folder can be written");
    let arguments = [
        "cc",
        "-target",
        OLDEST,
        "-w",
        "-fno-builtin",
        "all.c",
        "-o",
        "all",
        "-lgcc_s",
        "-lm",
        "-ldl",
        "-lpthread",
        "-lrt",
        "-lutil",
    ];
    run_zig(folder.path(), &arguments.map(Path::new)).map(drop)
}
