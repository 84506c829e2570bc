//! Devices, versions and error texts.

use crate::common::{INVALID_DEVICE, INVALID_VALUE, Library, NOT_SUPPORTED, alone, at, rows, text};
use std::ffi::c_char;

fn initialised() -> Library {
    let cu = Library::core();
    assert_eq!(cu.call("cuInit", &[0]), 0);
    cu
}

/// Name and text of a code; `None` where the driver does not know it and answers NULL.
fn describe(cu: &Library, code: i32) -> Option<(String, String)> {
    let (mut name, mut message) = (std::ptr::dangling::<c_char>(), std::ptr::dangling::<c_char>());
    let results = [
        cu.call("cuGetErrorName", &[code as u64, at(&mut name)]),
        cu.call("cuGetErrorString", &[code as u64, at(&mut message)]),
    ];
    if results == [0, 0] {
        return Some((text(name), text(message)));
    }
    assert_eq!((results, name.is_null(), message.is_null()), ([INVALID_VALUE; 2], true, true), "{code}");
    None
}

#[test]
fn error_texts_of_13_0() {
    alone("error_texts_of_13_0", &[], || {
        let cu = Library::core(); // also before cuInit
        let measured = rows("tests/data/errors_580.csv");
        for code in -1..1000 {
            let expected = measured.iter().find(|row| row[0] == code.to_string());
            // The texts contain commas.
            let expected = expected.map(|row| (row[1].clone(), row[2..].join(",")));
            assert_eq!(describe(&cu, code), expected, "{code}");
        }
        assert_eq!(describe(&cu, 12345), None);
    });
}

#[test]
fn error_codes_belong_to_versions() {
    let introduced = [
        (912, "11.8"),
        (812, "12.0"),
        (402, "12.3"),
        (915, "12.4"),
        (916, "12.8"),
        (36, "13.0"),
        (917, "13.1"),
    ];
    let number =
        |version: &str| softcuda::VERSIONS.iter().find(|v| v.0 == version).expect("a known version").1;
    for (version, this) in softcuda::VERSIONS {
        alone("error_codes_belong_to_versions", &[("SOFTCUDA_VERSION", version)], || {
            let cu = Library::core();
            for (code, since) in introduced {
                assert_eq!(describe(&cu, code).is_some(), number(since) <= *this, "{code} in {version}");
            }
            assert!(describe(&cu, 1).is_some());
        });
    }
}

/// Attributes of features that are not modelled are 0, those of textures and surfaces among them; every other one is the
/// measured one, but for what pools are shared by: there is no fabric.
const DIFFERENT: &[i32] = &[
    21, 22, 23, 24, 25, 26, 27, 28, 29, 42, 43, 44, 45, 46, 47, 48, 49, 52, 53, 54, 55, 56, 57, 58, 59, 60,
    61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 77, 96, 107, 110, 112, 114, 116, 117, 118, 121,
    124, 127, 128, 139, 140,
];

#[test]
fn attributes_of_13_0() {
    alone("attributes_of_13_0", &[], || {
        let cu = initialised();
        for row in rows("tests/data/attributes_580.csv") {
            let attribute: i32 = row[0].parse().unwrap();
            let mut value = -77;
            let result = cu.call("cuDeviceGetAttribute", &[at(&mut value), attribute as u64, 0]);
            match row[1].parse::<i32>() {
                Err(_) => assert_eq!((result, value), (INVALID_VALUE, -77), "{attribute}"),
                Ok(_) if DIFFERENT.contains(&attribute) => assert_eq!((result, value), (0, 0), "{attribute}"),
                Ok(9) if attribute == 119 => assert_eq!((result, value), (0, 1)),
                Ok(measured) => assert_eq!((result, value), (0, measured), "{attribute}"),
            }
        }
        let mut value = 0;
        assert_eq!(cu.call("cuDeviceGetAttribute", &[at(&mut value), 9999, 0]), INVALID_VALUE);
        assert_eq!(cu.call("cuDeviceGetAttribute", &[at(&mut value), 1, 99]), INVALID_DEVICE);
        assert_eq!(cu.call("cuDeviceGetAttribute", &[0, 1, 0]), INVALID_VALUE);
    });
}

#[test]
fn attributes_belong_to_versions() {
    let cases = [
        ("11.4", 120, false),
        ("11.8", 120, true),
        ("12.2", 130, true),
        ("12.0", 130, false),
        ("13.0", 148, false),
        ("13.1", 148, true),
    ];
    for (version, attribute, known) in cases {
        let number = attribute.to_string();
        alone(
            "attributes_belong_to_versions",
            &[("SOFTCUDA_VERSION", version), ("TEST_ATTRIBUTE", &number)],
            || {
                let cu = initialised();
                let mut value = 0;
                let result = cu.call("cuDeviceGetAttribute", &[at(&mut value), attribute, 0]);
                assert_eq!(result, if known { 0 } else { INVALID_VALUE }, "{attribute} in {version}");
            },
        );
    }
}

#[test]
fn enumeration_and_identity() {
    let variables = [("SOFTCUDA_DEVICES", "2"), ("SOFTCUDA_MEMORY", "1G")];
    alone("enumeration_and_identity", &variables, || {
        let cu = initialised();
        let mut device = 7;
        assert_eq!(cu.call("cuDeviceGet", &[at(&mut device), 1]), 0);
        assert_eq!(device, 1);
        assert_eq!(cu.call("cuDeviceGet", &[at(&mut device), 2]), INVALID_DEVICE);
        assert_eq!(cu.call("cuDeviceCanAccessPeer", &[0, 0, 1]), INVALID_VALUE);
        assert_eq!(cu.call("cuDeviceGetP2PAttribute", &[0, 2, 0, 1]), INVALID_VALUE);
        // There are no arrays that could be reached.
        let mut arrays = 7;
        assert_eq!(cu.call("cuDeviceGetP2PAttribute", &[at(&mut arrays), 4, 0, 1]), 0);
        assert_eq!(arrays, 0);

        let mut name = [1u8; 100];
        assert_eq!(cu.call("cuDeviceGetName", &[at(&mut name), 5, 0]), 0);
        assert_eq!(&name[..6], b"soft\0\x01");
        assert_eq!(cu.call("cuDeviceGetName", &[at(&mut name), 1, 0]), 0);
        assert_eq!(name[0], 0);
        assert_eq!(cu.call("cuDeviceGetName", &[at(&mut name), 0, 0]), INVALID_VALUE);

        let mut address = [0u8; 13];
        assert_eq!(cu.call("cuDeviceGetPCIBusId", &[at(&mut address), 13, 1]), 0);
        assert_eq!(&address, b"0000:01:06.0\0");
        assert_eq!(cu.call("cuDeviceGetByPCIBusId", &[at(&mut device), at(&mut address)]), 0);
        assert_eq!(device, 1);
        assert_eq!(cu.call("cuDeviceGetPCIBusId", &[at(&mut address), 12, 1]), INVALID_VALUE);
        for (other, result) in
            [(c"0000:7f:00.0", INVALID_DEVICE), (c"01:06", INVALID_VALUE), (c"zz", INVALID_VALUE)]
        {
            assert_eq!(cu.call("cuDeviceGetByPCIBusId", &[at(&mut device), other.as_ptr() as u64]), result);
        }

        let (mut major, mut minor) = (0, 0);
        assert_eq!(cu.call("cuDeviceComputeCapability", &[at(&mut major), at(&mut minor), 0]), 0);
        assert_eq!((major, minor), (9, 0));
        let mut properties = [0i32; 14];
        assert_eq!(cu.call("cuDeviceGetProperties", &[at(&mut properties), 0]), 0);
        let measured = [
            1024, 1024, 1024, 64, 2147483647, 65535, 65535, 49152, 65536, 32, 2147483647, 65536, 1980000, 512,
        ];
        assert_eq!(properties, measured);
        let mut total = 0u64;
        assert_eq!(cu.call("cuDeviceTotalMem_v2", &[at(&mut total), 2]), INVALID_DEVICE);
        let mut old_total = 0u32;
        assert_eq!(cu.call("cuDeviceTotalMem", &[at(&mut old_total), 0]), 0);
        assert_eq!(old_total, 1 << 30);
        assert_eq!(cu.call("cuDeviceGetLuid", &[at(&mut name), at(&mut old_total), 0]), NOT_SUPPORTED);
    });
}

/// A total that 32 bits do not hold is the largest that they do.
#[test]
fn the_old_total_saturates() {
    alone("the_old_total_saturates", &[("SOFTCUDA_MEMORY", "8G")], || {
        let cu = initialised();
        let mut total = 0u32;
        assert_eq!(cu.call("cuDeviceTotalMem", &[at(&mut total), 0]), 0);
        assert_eq!(total, u32::MAX);
    });
}

/// As `softcuda.h` has it.
#[repr(C)]
#[derive(Clone, Copy)]
struct InstalledDevice {
    name: [u8; 64],
    uuid: [u8; 16],
    pci: [u32; 3],
    ordinal: i32,
    capability: [u32; 2],
    multiprocessors: u32,
    clock_rates: [u32; 2],
    contexts: u32,
    busy: u32,
    reserved: u32,
    memory: u64,
    used: u64,
}

/// The devices of the machine are those that the driver knows, also where it hides some.
#[test]
fn installed_devices() {
    let test = "installed_devices";
    let visible = [("SOFTCUDA_DEVICES", "3"), ("CUDA_VISIBLE_DEVICES", "2,0"), ("SOFTCUDA_MEMORY", "32M")];
    alone(test, &visible, || {
        let cu = initialised();
        assert_eq!(cu.call_wide("softcuda_device_count", &[]), 3);
        let nothing = InstalledDevice { name: [7; 64], memory: 7, ..all_zero() };
        let get = |number: u64| {
            let mut device = nothing;
            (cu.call("softcuda_device_get", &[number, at(&mut device)]), device)
        };
        for (number, ordinal) in [(0, 1), (1, -1), (2, 0)] {
            let (answer, device) = get(number);
            assert_eq!((answer, device.ordinal, device.memory), (0, ordinal, 32 << 20));
            assert_eq!((device.pci, device.contexts, device.used), ([0, number as u32, 6], 0, 0));
            assert!(device.name.starts_with(format!("softcuda device {number} (no GPU)\0").as_bytes()));
            if ordinal >= 0 {
                let (mut uuid, mut name, mut address) = ([0u8; 16], [0u8; 64], [0u8; 16]);
                assert_eq!(cu.call("cuDeviceGetUuid", &[at(&mut uuid), ordinal as u64]), 0);
                assert_eq!(cu.call("cuDeviceGetName", &[at(&mut name), 64, ordinal as u64]), 0);
                assert_eq!(cu.call("cuDeviceGetPCIBusId", &[at(&mut address), 16, ordinal as u64]), 0);
                assert_eq!((uuid, name), (device.uuid, device.name));
                assert!(address.starts_with(format!("0000:{number:02X}:06.0\0").as_bytes()));
            }
        }
        let (mut context, mut pointer) = (0u64, 0u64);
        assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut context), 0]), 0);
        assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), 4 << 20]), 0);
        let (mut free, mut total) = (0usize, 0usize);
        assert_eq!(cu.call("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]), 0);
        let device = get(2).1;
        assert_eq!((device.contexts, device.used), (1, (total - free) as u64));
        assert!(device.used >= 4 << 20);
        assert_eq!((get(0).1.contexts, get(0).1.used), (0, 0));
        let (answer, device) = get(3);
        assert_eq!((answer, device.memory, device.name), (INVALID_DEVICE, 7, [7; 64]));
        assert_eq!(cu.message(), "there is no device 3; the machine has 3");
        assert_eq!(cu.call("softcuda_device_get", &[0, 0]), INVALID_VALUE);
    });
}

fn all_zero() -> InstalledDevice {
    // SAFETY: numbers only.
    unsafe { std::mem::zeroed() }
}
