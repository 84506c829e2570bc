//! The driver's own getter of entry points, and names of errors.

use super::Section;
use crate::driver::call;
use crate::driver::{Answer, Cu, Outcome, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CUdriverProcAddressQueryResult, CUresult};
use std::ffi::CStr;
use std::ptr::{null, null_mut, without_provenance_mut};

pub(super) const SECTION: Section = Section { name: "entry", parts: 4, devices: 1, run };

const LEGACY_STREAM: u64 = 1;
const PER_THREAD_STREAM: u64 = 2;

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    match part {
        0 => answers(t, cu),
        1 => t.line("no place for the address", || {
            let mut status = CUdriverProcAddressQueryResult(-1);
            call!(cu, cuGetProcAddress_12000(c"cuInit".as_ptr(), null_mut(), 12000, 0, &raw mut status))
        }),
        2 => t.line("no place for the name of a result", || {
            call!(cu, cuGetErrorName_6000(CUresult(0), null_mut()))
        }),
        _ => t.line("no name", || {
            let (mut address, mut status) = (null_mut(), CUdriverProcAddressQueryResult(-1));
            call!(cu, cuGetProcAddress_12000(null(), &raw mut address, 12000, 0, &raw mut status))
        }),
    }
    Ok(())
}

fn answers(t: &mut Lines, cu: &Cu) {
    let driver = cu.version as i32;
    t.line("unknown name", || get(cu, c"cuNoSuch", 12000, 0));
    t.line("name with a suffix", || get(cu, c"cuMemAlloc_v2", 12000, 0));
    t.line("empty name", || get(cu, c"", 12000, 0));
    t.line("newer than asked for", || get(cu, c"cuGraphConditionalHandleCreate", 12000, 0));
    t.line("as new as asked for", || get(cu, c"cuGraphConditionalHandleCreate", 12030, 0));
    t.line("version of the driver", || get(cu, c"cuMemAlloc", driver, 0));
    t.line("version of the driver + 10", || get(cu, c"cuMemAlloc", driver + 10, 0));
    t.line("version 99000", || get(cu, c"cuMemAlloc", 99000, 0));
    t.line("version 0", || get(cu, c"cuMemAlloc", 0, 0));
    t.line("version -1", || get(cu, c"cuMemAlloc", -1, 0));
    t.line("legacy flag", || get(cu, c"cuStreamQuery", driver, LEGACY_STREAM));
    t.line("per-thread flag", || get(cu, c"cuStreamQuery", driver, PER_THREAD_STREAM));
    t.line("both flags", || get(cu, c"cuStreamQuery", driver, LEGACY_STREAM | PER_THREAD_STREAM));
    t.line("flags 4", || get(cu, c"cuStreamQuery", driver, 4));
    t.line("no place for the status", || {
        let mut address = without_provenance_mut(1);
        let entry =
            call!(cu, cuGetProcAddress_12000(c"cuInit".as_ptr(), &raw mut address, 12000, 0, null_mut()));
        entry.then(|| if address.is_null() { "null" } else { "address" })
    });
    t.line("four arguments: unknown name", || get_v1(cu, c"cuNoSuch", 11040));
    t.line("four arguments: known name", || get_v1(cu, c"cuMemAlloc", 11040));
    t.line("four arguments: newer than asked for", || get_v1(cu, c"cuMemAllocAsync", 11010));
    t.line("four arguments: version of the driver + 10", || get_v1(cu, c"cuMemAlloc", driver + 10));

    let mut text = null();
    t.line("name of result 0", || call!(cu, cuGetErrorName_6000(CUresult(0), &raw mut text)));
    text = std::ptr::without_provenance(1);
    t.line("name of result 12345", || call!(cu, cuGetErrorName_6000(CUresult(12345), &raw mut text)));
    t.line("  name is null", || yes(text.is_null()));
    text = std::ptr::without_provenance(1);
    t.line("text of result 12345", || call!(cu, cuGetErrorString_6000(CUresult(12345), &raw mut text)));
    t.line("  text is null", || yes(text.is_null()));
}

/// What the getter with five arguments answers: result, address and status.
fn get(cu: &Cu, name: &CStr, version: i32, flags: u64) -> Answer {
    let mut address = without_provenance_mut(1);
    let mut status = CUdriverProcAddressQueryResult(-1);
    let result =
        call!(cu, cuGetProcAddress_12000(name.as_ptr(), &raw mut address, version, flags, &raw mut status));
    match result {
        Answer::Absent(_) => result,
        _ => Answer::Value(format!("{result}, {}, status {}", kind(address), written(status.0))),
    }
}

/// The same for the getter with four.
fn get_v1(cu: &Cu, name: &CStr, version: i32) -> Answer {
    let mut address = without_provenance_mut(1);
    let result = call!(cu, cuGetProcAddress_11030(name.as_ptr(), &raw mut address, version, 0));
    Answer::Value(format!("{result}, {}", kind(address)))
}

fn kind(address: *mut std::ffi::c_void) -> &'static str {
    match address.addr() {
        0 => "null",
        1 => "untouched",
        _ => "address",
    }
}

fn written(status: i32) -> String {
    if status == -1 { "untouched".to_owned() } else { status.to_string() }
}
