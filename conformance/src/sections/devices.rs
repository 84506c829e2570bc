//! What can be asked about devices.

use super::Section;
use crate::driver::{Answer, Cu, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CUdevice_attribute, CUuuid};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "devices", parts: 2, devices: 1, run };

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    need!(cu, cuInit_2000(0))?;
    if part == 1 {
        let mut room = [0u8; 64];
        t.line("name in 0 bytes", || call!(cu, cuDeviceGetName_2000(room.as_mut_ptr().cast(), 0, 0)));
        return Ok(());
    }
    let (mut count, mut device, mut value, mut bytes) = (0, -1, 0, 0);
    let major = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    t.line("count", || call!(cu, cuDeviceGetCount_2000(&raw mut count)));
    t.line("  at least one", || yes(count > 0));
    t.line("count to NULL", || call!(cu, cuDeviceGetCount_2000(null_mut())));
    t.line("device 0", || call!(cu, cuDeviceGet_2000(&raw mut device, 0)).then(|| device));
    t.line("device -1", || call!(cu, cuDeviceGet_2000(&raw mut device, -1)));
    t.line("device count", || call!(cu, cuDeviceGet_2000(&raw mut device, count)));
    t.line("device to NULL", || call!(cu, cuDeviceGet_2000(null_mut(), 0)));
    t.line("attribute", || call!(cu, cuDeviceGetAttribute_2000(&raw mut value, major, 0)));
    t.line("attribute 0", || call!(cu, cuDeviceGetAttribute_2000(&raw mut value, CUdevice_attribute(0), 0)));
    t.line("attribute 9999", || {
        call!(cu, cuDeviceGetAttribute_2000(&raw mut value, CUdevice_attribute(9999), 0))
    });
    t.line("attribute of device 99", || call!(cu, cuDeviceGetAttribute_2000(&raw mut value, major, 99)));
    t.line("attribute to NULL", || call!(cu, cuDeviceGetAttribute_2000(null_mut(), major, 0)));
    t.line("total memory", || call!(cu, cuDeviceTotalMem_3020(&raw mut bytes, 0)).then(|| yes(bytes > 0)));
    t.line("total memory of device 99", || call!(cu, cuDeviceTotalMem_3020(&raw mut bytes, 99)));
    names(t, cu);
    uuids(t, cu);
    Ok(())
}

fn names(t: &mut Lines, cu: &Cu) {
    let mut room = [b'#'; 64];
    t.line("name", || call!(cu, cuDeviceGetName_2000(room.as_mut_ptr().cast(), 64, 0)));
    let length = room.iter().position(|&byte| byte == 0);
    t.line("  it has a text and an end", || yes(length.is_some_and(|length| length > 0)));
    room = [b'#'; 64];
    t.line("name in 4 bytes", || call!(cu, cuDeviceGetName_2000(room.as_mut_ptr().cast(), 4, 0)));
    t.line("  end at", || {
        room.iter().position(|&byte| byte == 0).map_or("none".to_owned(), |at| at.to_string())
    });
    t.line("name of device 99", || call!(cu, cuDeviceGetName_2000(room.as_mut_ptr().cast(), 64, 99)));

    let (mut found, mut room) = (-1, [0u8; 64]);
    t.line("PCI bus id", || call!(cu, cuDeviceGetPCIBusId_4010(room.as_mut_ptr().cast(), 64, 0)));
    t.line("  device of that id", || {
        call!(cu, cuDeviceGetByPCIBusId_4010(&raw mut found, room.as_ptr().cast())).then(|| found)
    });
    t.line("PCI bus id in 4 bytes", || call!(cu, cuDeviceGetPCIBusId_4010(room.as_mut_ptr().cast(), 4, 0)));
    t.line("device of a PCI bus id that is none", || {
        call!(cu, cuDeviceGetByPCIBusId_4010(&raw mut found, c"nonsense".as_ptr()))
    });
    t.line("device of an absent PCI bus id", || {
        call!(cu, cuDeviceGetByPCIBusId_4010(&raw mut found, c"ffff:ff:1f.0".as_ptr()))
    });
}

fn uuids(t: &mut Lines, cu: &Cu) {
    let (mut old, mut new) = (CUuuid { bytes: [0; 16] }, CUuuid { bytes: [0; 16] });
    t.line("UUID", || call!(cu, cuDeviceGetUuid_9020(&raw mut old, 0)).then(|| not_zero(&old)));
    t.line("UUID of a part", || call!(cu, cuDeviceGetUuid_11040(&raw mut new, 0)).then(|| not_zero(&new)));
    t.line("UUID of device 99", || call!(cu, cuDeviceGetUuid_11040(&raw mut new, 99)));
    t.line("UUID to NULL", || -> Answer { call!(cu, cuDeviceGetUuid_11040(null_mut(), 0)) });
}

fn not_zero(uuid: &CUuuid) -> &'static str {
    if uuid.bytes.iter().any(|&byte| byte != 0) { "not all zero" } else { "all zero" }
}
