//! Memory that passes between cushim and NumPy without a copy, by DLPack: `python/dlpack_numpy.py`.

use capi_tests::libraries::{installed, soname};
use capi_tests::matrix::ONE_VERSION;
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{repository, skip};
use std::process::Command;

/// Whether there is a NumPy that knows DLPack 1, here or where `.ci/run` puts one.
fn has_numpy(path: &str) -> bool {
    let asks = "import numpy; assert numpy.lib.NumpyVersion(numpy.__version__) >= '2.1.0'";
    let asked = Command::new("python3").args(["-c", asks]).env("PYTHONPATH", path).output();
    asked.is_ok_and(|answer| answer.status.success())
}

#[test]
fn numpy_takes_and_gives_memory() {
    let path = repository("target/python").display().to_string();
    if !has_numpy(&path) {
        return skip(format_args!(
            "no NumPy 2.1 or newer; python3 -m pip install --target target/python numpy"
        ));
    }
    let library = installed().join(soname());
    for_each(["11.4", "12.4", ONE_VERSION], |version| {
        let run = Run::new("python3", Driver::Shell(version)).env("PYTHONPATH", &path);
        let script = repository("capi-tests/python/dlpack_numpy.py");
        let said = run.arg(script).arg(&library).output()?;
        if said.contains("checks passed") { Ok(()) } else { Err(said) }
    });
}
