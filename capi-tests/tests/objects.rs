//! The programs of the objects, `c/objects_*.c`: on every driver version, and on "none".

use capi_tests::build::{Build, Link};
use capi_tests::libraries::Workshop;
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use std::path::PathBuf;

/// The drivers that the programs run on.
fn drivers() -> Vec<Driver<'static>> {
    vec![Driver::None]
}

/// A plug-in with a copy of the library of its own.
fn plug_in(workshop: &Workshop) -> PathBuf {
    let build = Build::new(workshop, "plug_in.c").link(Link::Static).option("-Wl,--exclude-libs,ALL");
    build.plug_in("plug_in.so").expect("it compiles")
}

/// Bad arguments in every place of every function.
#[test]
fn sweep() {
    let workshop = Workshop::new();
    let plug_in = plug_in(&workshop);
    let program = Build::new(&workshop, "objects_sweep.c").program("objects_sweep").expect("it compiles");
    for_each(drivers(), |driver| Run::new(&program, driver).arg(&plug_in).checks());
}
