//! Interpreters that end while their functions are called: `python/ends.py`.

use capi_tests::libraries::{installed, soname};
use capi_tests::matrix::ONE_VERSION;
use capi_tests::parallel::for_each;
use capi_tests::repository;
use capi_tests::run::{Driver, Run};

#[test]
fn the_process_ends_when_python_does() {
    let library = installed().join(soname());
    let kinds = ["releases", "host_function", "log"];
    for_each(
        ["11.4", ONE_VERSION].into_iter().flat_map(|version| kinds.map(|kind| (version, kind))),
        |(version, kind)| {
            let script = repository("capi-tests/python/ends.py");
            let said =
                Run::new("python3", Driver::Shell(version)).arg(script).arg(kind).arg(&library).output()?;
            // What Python 3.14 and later do not end sleeps, and does not come back either.
            if said.trim() == "it ends" { Ok(()) } else { Err(said) }
        },
    );
}
