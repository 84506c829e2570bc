//! The same tests on softcuda as each version of the driver.

use cushim::driver::DRIVER_VARIABLE;
use std::process::Command;

const VERSIONS: [&str; 13] =
    ["11.4", "11.8", "12.0", "12.2", "12.3", "12.4", "12.5", "12.8", "12.9", "13.0", "13.1", "13.2", "13.5"];

/// How many tests the child says have passed.
fn passed(out: &str) -> Option<u32> {
    out.lines().find(|line| line.starts_with("test result: ok"))?.split_whitespace().nth(3)?.parse().ok()
}

#[test]
fn every_version_does_the_same() {
    let this = std::env::current_exe().expect("a test knows its executable");
    let mut counts = Vec::new();
    for version in VERSIONS {
        let mut command = Command::new(&this);
        command.args(["--skip", "versions::"]).env("SOFTCUDA_VERSION", version).env_remove(DRIVER_VARIABLE);
        let output = command.output().expect("the tests run again");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{version}:\n{out}\n{err}");
        counts.push(passed(&out).unwrap_or_else(|| panic!("{version} counted no tests:\n{out}")));
    }
    assert!(counts[0] > 40 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

/// Each child says which version it runs on.
#[test]
fn the_version_is_the_one_asked_for() {
    for version in ["11.4", "13.0"] {
        crate::alone("versions::the_version_is_the_one_asked_for", &[("SOFTCUDA_VERSION", version)], || {
            let asked = std::env::var("SOFTCUDA_VERSION").expect("set by the parent");
            let opened = cushim::driver::OpenOptions::new().choice(cushim::driver::Choice::Software).open();
            let version = opened.expect("softcuda is beside the tests").version().expect("a version");
            assert_eq!(version.to_string(), asked);
        });
    }
}
