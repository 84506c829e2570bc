//! The same tests on softcuda as each version of the driver.

#[test]
fn every_version_does_the_same() {
    crate::common::on_every_version(60);
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
