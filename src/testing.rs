//! Drivers for tests: of other crates, too.
//!
//! ```toml
//! [dev-dependencies]
//! softcuda = { path = "…/cushim/softcuda" }   # cargo builds it, and this finds it
//! ```
//!
//! ```
//! use cushim::Device;
//!
//! let driver = cushim::testing::driver(); // softcuda, unless CUSHIM_DRIVER names another
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! # context.synchronize()?;
//! # Ok::<(), cushim::Error>(())
//! ```
//!
//! A test that needs a GPU ends where there is none; where there must be one, `CUSHIM_REQUIRE=gpu` makes that a failure:
//!
//! ```
//! let Some(driver) = cushim::testing::gpu() else { return };
//! assert!(cushim::Device::count(&driver).unwrap() > 0);
//! ```

use crate::device::Device;
use crate::driver::{Choice, DRIVER_VARIABLE, Driver, Kind, OpenOptions};
use crate::object::error::Error;
use std::io::Write as _;

/// What must be there, in place of being skipped: words with commas between them. `gpu` is one.
const REQUIRE_VARIABLE: &str = "CUSHIM_REQUIRE";

/// The driver that tests run on: softcuda, or the one that `CUSHIM_DRIVER` names. The same each time.
///
/// The crate `softcuda` is a development dependency of the crate that is tested: cargo then builds `libsoftcuda.so`, and tells the loader
/// where it is. `SOFTCUDA_VERSION` says as which version.
///
/// # Panics
/// If it cannot be opened, with what was tried.
#[must_use]
#[track_caller]
pub fn driver() -> Driver {
    let options = OpenOptions::new();
    let chosen = std::env::var_os(DRIVER_VARIABLE).is_some_and(|value| !value.is_empty());
    let options = if chosen { options } else { options.choice(Choice::Software) };
    match options.open() {
        Ok(driver) => driver,
        Err(refused) => panic!(
            "{refused}\nA crate that tests with softcuda names it among its [dev-dependencies], so that cargo builds it; the tests run by \
             `cargo test`, which tells the loader where it is"
        ),
    }
}

/// The driver of a GPU: the machine's, or the one that `CUSHIM_DRIVER` names. `None` where there is none, or it has no device; a line on
/// standard error says why.
///
/// # Panics
/// Instead of `None`, if `gpu` is among the words of `CUSHIM_REQUIRE`.
#[must_use]
#[track_caller]
pub fn gpu() -> Option<Driver> {
    let why = match found() {
        Ok(driver) => return Some(driver),
        Err(why) => why,
    };
    let required = std::env::var(REQUIRE_VARIABLE).unwrap_or_default();
    assert!(
        !required.split(',').any(|word| word.trim() == "gpu"),
        "a GPU is required ({REQUIRE_VARIABLE}=gpu), and {why}"
    );
    _ = writeln!(std::io::stderr(), "skipped for want of a GPU: {why}");
    None
}

/// The driver of a GPU, or why there is none.
fn found() -> Result<Driver, Error> {
    let driver = Driver::open()?;
    let refused =
        |why: &str| Err(Error::new(crate::Status::UNSUPPORTED, format!("{why}; unset {DRIVER_VARIABLE}")));
    match driver.kind() {
        Kind::Software => return refused("softcuda was asked for, which is no GPU"),
        Kind::None => return refused("no driver was asked for"),
        _ => {}
    }
    match Device::count(&driver)? {
        0 => Err(Error::new(
            crate::Status::UNSUPPORTED,
            "the driver has no device; look at CUDA_VISIBLE_DEVICES",
        )),
        _ => Ok(driver),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::process::Command;

    const CHILD: &str = "CUSHIM_TEST_CHILD";

    /// Runs the test of this name again, with these variables; the output if it passed, or failed.
    fn again(name: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let mut command = Command::new(std::env::current_exe().expect("a test knows its executable"));
        command.args([&format!("testing::tests::{name}"), "--exact", "--nocapture"]).env(CHILD, name);
        let output = command.envs(variables.iter().copied()).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(text) } else { Err(text) }
    }

    #[test]
    fn a_gpu_is_skipped_or_required() {
        const NAME: &str = "a_gpu_is_skipped_or_required";
        if std::env::var_os(CHILD).is_some() {
            assert!(gpu().is_none());
            return;
        }
        for (driver, why) in [
            ("software", "softcuda was asked for"),
            ("none", "no driver was asked for"),
            ("/nowhere", "/nowhere"),
        ] {
            let skipped = again(NAME, &[("CUSHIM_DRIVER", driver)]).expect("it is skipped");
            assert!(skipped.contains("skipped for want of a GPU") && skipped.contains(why), "{skipped}");
            let failed = again(NAME, &[("CUSHIM_DRIVER", driver), ("CUSHIM_REQUIRE", "python, gpu")]);
            let failed = failed.expect_err("it is required");
            assert!(failed.contains("a GPU is required") && failed.contains(why), "{failed}");
        }
        again(NAME, &[("CUSHIM_DRIVER", "software"), ("CUSHIM_REQUIRE", "all")])
            .expect("tools are required, and no GPU");
    }

    #[test]
    fn tests_run_on_softcuda_unless_another_driver_is_named() {
        const NAME: &str = "tests_run_on_softcuda_unless_another_driver_is_named";
        if let Some(kind) = std::env::var_os("CUSHIM_TEST_KIND") {
            assert_eq!(driver().kind().name(), kind.to_string_lossy());
            return;
        }
        again(NAME, &[("CUSHIM_DRIVER", ""), ("CUSHIM_TEST_KIND", Kind::Software.name())]).expect("softcuda");
        again(NAME, &[("CUSHIM_DRIVER", "none"), ("CUSHIM_TEST_KIND", Kind::None.name())]).expect("none");
    }
}
