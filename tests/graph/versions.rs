//! All of it as each version of the driver has it.

#[test]
fn every_version() {
    super::common::on_every_version(80);
}
