//! Access to the memory of a device that is the only one.

use super::Section;
use crate::driver::{Cu, Outcome, call};
use crate::transcript::Lines;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "peers", parts: 1, devices: 1, run };

fn run(t: &mut Lines, cu: &Cu, _: usize) -> Outcome {
    let own = cu.start()?;
    let mut can = 99;
    t.line("can device 0 access device 0", || {
        call!(cu, cuDeviceCanAccessPeer_4000(&raw mut can, 0, 0)).then(|| can)
    });
    t.line("can device 0 access device 99", || call!(cu, cuDeviceCanAccessPeer_4000(&raw mut can, 0, 99)));
    t.line("enable access to the own context", || call!(cu, cuCtxEnablePeerAccess_4000(own, 0)));
    t.line("disable access to the own context", || call!(cu, cuCtxDisablePeerAccess_4000(own)));
    t.line("enable access to NULL", || call!(cu, cuCtxEnablePeerAccess_4000(null_mut(), 0)));
    Ok(())
}
