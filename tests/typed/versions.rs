//! The same tests on softcuda as each version of the driver.

#[test]
fn every_version_does_the_same() {
    if !crate::is_softcuda() {
        return;
    }
    crate::common::on_every_version(20);
}
