//! A program that runs with other rights than the user's who started it.

use capi_tests::build::{Build, Link};
use capi_tests::libraries::Workshop;
use capi_tests::run::{Driver, Run};
use capi_tests::skip;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

const NOBODY: u32 = 65534;

#[test]
fn a_privileged_program_does_not_believe_its_environment() {
    let workshop = Workshop::new();
    // Everybody may look into the folder; the static library, because a set-uid program takes none from just anywhere.
    set_permissions(workshop.path(), Permissions::from_mode(0o755)).expect("the folder is ours");
    let program =
        Build::new(&workshop, "privileged.c").link(Link::Static).program("privileged").expect("it compiles");
    if !make_privileged(&program) {
        skip(format_args!("only root can make a set-uid program for another user; run the tests as root"));
        return;
    }
    let run = Run::new(&program, Driver::None).env("CUSHIM_SOFTCUDA", "/nonexistent/libsoftcuda.so");
    let run = run.env("CUSHIM_LOG", "trace");
    run.checks().unwrap_or_else(|failure| {
        panic!(
            "{failure}\nThe folder for temporary files must not be mounted nosuid; TMPDIR names another one."
        )
    });
}

/// Makes the program run as nobody, whoever starts it; false if this user may not.
fn make_privileged(program: &Path) -> bool {
    let is_root = program.metadata().is_ok_and(|file| file.uid() == 0);
    is_root
        && chown(program, Some(NOBODY), Some(NOBODY)).is_ok()
        && set_permissions(program, Permissions::from_mode(0o4755)).is_ok()
}
