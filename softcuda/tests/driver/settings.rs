//! The environment variables.

use crate::common::{INVALID_DEVICE, Library, NO_DEVICE, SYSTEM_NOT_READY, alone, at, with_context};

fn refused(test: &str, name: &str, value: &str, wanted: &str) {
    let said = alone(test, &[(name, value)], || {
        let cu = Library::core();
        let mut number = 7;
        assert_eq!(cu.call("cuInit", &[0]), SYSTEM_NOT_READY);
        assert_eq!(cu.call("cuDriverGetVersion", &[at(&mut number)]), SYSTEM_NOT_READY);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut number), 64]), SYSTEM_NOT_READY);
        assert_eq!(cu.call("cuTexRefCreate", &[at(&mut number)]), SYSTEM_NOT_READY);
        assert_eq!(number, 7);
        assert_eq!(cu.call("softcuda_version", &[]), -1);
    });
    if !said.is_empty() {
        assert_eq!(said.matches("softcuda: ").count(), 1, "{said}");
        assert!(said.contains(&format!("{name}={value} is not {wanted}")), "{said}");
    }
}

#[test]
fn an_impossible_setting_is_refused_loudly() {
    let test = "an_impossible_setting_is_refused_loudly";
    let versions = "one of 11.4, 11.8, 12.0, 12.2, 12.3, 12.4, 12.5, 12.8, 12.9, 13.0, 13.1, 13.2, 13.5";
    for value in ["12.7", "12", "v13.0", "13.0 "] {
        refused(test, "SOFTCUDA_VERSION", value, versions);
    }
    for value in ["-1", "65", "two"] {
        refused(test, "SOFTCUDA_DEVICES", value, "a number from 0 to 64");
    }
    for value in ["fast", "Lazy", "seeded:1"] {
        refused(test, "SOFTCUDA_SCHEDULE", value, "eager, lazy or seeded");
    }
    for value in ["-1", "x", "18446744073709551616"] {
        refused(test, "SOFTCUDA_SEED", value, "a number from 0 to 18446744073709551615");
    }
    for value in ["0", "lots", "1T"] {
        refused(test, "SOFTCUDA_MEMORY", value, "bytes from 1M to 1024G");
    }
    for value in ["2", "yes"] {
        refused(test, "SOFTCUDA_CONCURRENT_MANAGED", value, "0 or 1");
        refused(test, "SOFTCUDA_MEMORY_POOLS", value, "0 or 1");
    }
}

#[test]
fn the_default_is_13_0_with_one_device_of_1_gib() {
    alone("the_default_is_13_0_with_one_device_of_1_gib", &[("SOFTCUDA_VERSION", "")], || {
        let cu = with_context();
        let (mut version, mut count, mut total) = (0, 0, 0u64);
        assert_eq!(cu.call("cuDriverGetVersion", &[at(&mut version)]), 0);
        assert_eq!(cu.call("cuDeviceGetCount", &[at(&mut count)]), 0);
        assert_eq!(cu.call("cuDeviceTotalMem_v2", &[at(&mut total), 0]), 0);
        assert_eq!((version, count, total), (13000, 1, 1 << 30));
        assert_eq!(cu.call("softcuda_version", &[]), 13000);
    });
}

#[test]
fn no_devices() {
    alone("no_devices", &[("SOFTCUDA_DEVICES", "0")], || {
        assert_eq!(Library::core().call("cuInit", &[0]), NO_DEVICE);
    });
}

#[test]
fn several_devices_with_memory_of_their_own() {
    let variables = [("SOFTCUDA_DEVICES", "3"), ("SOFTCUDA_MEMORY", "2M")];
    alone("several_devices_with_memory_of_their_own", &variables, || {
        let cu = Library::core();
        assert_eq!(cu.call("cuInit", &[0]), 0);
        let mut count = 0;
        assert_eq!(cu.call("cuDeviceGetCount", &[at(&mut count)]), 0);
        assert_eq!(count, 3);
        let mut ids = Vec::new();
        for device in 0..3 {
            let (mut context, mut pointer, mut free, mut total) = (0u64, 0u64, 0u64, 0u64);
            let mut id = [0u8; 16];
            assert_eq!(cu.call("cuDeviceGetUuid_v2", &[at(&mut id), device]), 0);
            ids.push(id);
            assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, device]), 0);
            assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), 1 << 20]), 0);
            assert_eq!(cu.call("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]), 0);
            assert_eq!((free, total), (1 << 20, 2 << 20));
            let mut ordinal = -1;
            assert_eq!(cu.call("cuPointerGetAttribute", &[at(&mut ordinal), 9, pointer]), 0);
            assert_eq!(ordinal, device as i32);
        }
        ids.dedup();
        assert_eq!(ids.len(), 3);
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, 3]), INVALID_DEVICE);
    });
}
