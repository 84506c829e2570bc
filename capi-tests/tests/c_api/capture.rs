//! Work of cushim and of another library in one capture: `python/capture_mixed.py`. CuPy and PyTorch need a GPU; plain calls of the
//! driver do not.

use capi_tests::libraries::{installed, soname};
use capi_tests::matrix::ONE_VERSION;
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{repository, skip};

#[test]
fn a_stream_is_captured_with_work_of_another_library() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return skip(format_args!("no python3: apt install python3"));
    }
    let library = installed().join(soname());
    for_each(["11.4", "12.4", ONE_VERSION], |version| {
        let driver = softcuda::shell_path(version).ok_or("softcuda has a shell of each version")?;
        let script = repository("capi-tests/python/capture_mixed.py");
        let run = Run::new("python3", Driver::Shell(version)).arg(script).arg(&library).arg(driver);
        let said = run.output()?;
        if said.contains("capture_mixed driver: ok") { Ok(()) } else { Err(said) }
    });
}
