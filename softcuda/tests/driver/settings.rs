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
        refused(test, "SOFTCUDA_SCHEDULE", value, "eager, lazy, seeded or in-order");
    }
    for value in ["-1", "x", "18446744073709551616"] {
        refused(test, "SOFTCUDA_SEED", value, "a number from 0 to 18446744073709551615");
    }
    for value in ["0", "lots", "1T"] {
        refused(test, "SOFTCUDA_MEMORY", value, "bytes from 1M to 1024G");
    }
    for value in ["Exact", "2M"] {
        refused(test, "SOFTCUDA_BOUNDS", value, "exact or allocation");
    }
    for value in ["2", "yes"] {
        refused(test, "SOFTCUDA_CONCURRENT_MANAGED", value, "0 or 1");
        refused(test, "SOFTCUDA_MEMORY_POOLS", value, "0 or 1");
        refused(test, "SOFTCUDA_GRAPH_REUSE", value, "0 or 1");
    }
}

/// A test of faults, say, must not pass because nothing failed.
#[test]
fn a_variable_that_does_not_exist_is_refused_loudly() {
    let test = "a_variable_that_does_not_exist_is_refused_loudly";
    for (name, near) in [
        ("SOFTCUDA_FAULTS", Some("SOFTCUDA_FAULT")),
        ("SOFTCUDA_SHEDULE", Some("SOFTCUDA_SCHEDULE")),
        ("SOFTCUDA_LEAK", Some("SOFTCUDA_LEAKS")),
        ("SOFTCUDA_", None),
        ("SOFTCUDA_TEST_CHILDREN", None),
        ("SOFTCUDA_FAULT_SEED", None),
    ] {
        let said = alone(test, &[(name, "cuInit=999")], || {
            let cu = Library::core();
            let mut number = 7;
            assert_eq!(cu.call("cuInit", &[0]), SYSTEM_NOT_READY);
            assert_eq!(cu.call("cuDriverGetVersion", &[at(&mut number)]), SYSTEM_NOT_READY);
            assert_eq!(cu.call("cuInit", &[0]), SYSTEM_NOT_READY, "nor later");
        });
        if !said.is_empty() {
            assert_eq!(said.matches("softcuda: ").count(), 1, "{said}");
            assert!(said.contains(&format!("softcuda: {name} is no variable of softcuda's")), "{said}");
            assert!(said.contains("SOFTCUDA_VERSION, ") && said.contains("SOFTCUDA_TRACE"), "{said}");
            let hint = near.map(|near| format!("; {near} is near it"));
            assert!(hint.as_ref().is_none_or(|hint| said.contains(hint)), "{said}");
            assert_eq!(said.contains("is near it"), hint.is_some(), "{said}");
        }
    }
    // One that is empty counts as unset, and other programs' names are theirs.
    let others = [("SOFTCUDA_FAULTS", ""), ("CUSHIM_TEST_MINE", "1"), ("MY_SOFTCUDA_FAULT", "1")];
    alone(test, &others, || drop(with_context()));
}

#[test]
fn the_default_is_13_0_with_one_device() {
    alone("the_default_is_13_0_with_one_device", &[("SOFTCUDA_VERSION", "")], || {
        let cu = with_context();
        let (mut version, mut count) = (0, 0);
        assert_eq!(cu.call("cuDriverGetVersion", &[at(&mut version)]), 0);
        assert_eq!(cu.call("cuDeviceGetCount", &[at(&mut count)]), 0);
        assert_eq!((version, count), (13000, 1));
        assert_eq!(cu.call("softcuda_version", &[]), 13000);
    });
}

fn total(cu: &Library) -> u64 {
    let mut total = 0u64;
    assert_eq!(cu.call("cuDeviceTotalMem_v2", &[at(&mut total), 0]), 0);
    total
}

/// A value of `/proc/meminfo`, in bytes.
fn machine(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("Linux has it");
    let line = text.lines().find(|line| line.starts_with(name)).expect("it is there");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number") << 10
}

/// No more than half of what is free, for all devices together, and not much less unless somebody has limited the process.
#[test]
fn by_default_devices_have_half_of_what_is_free() {
    let name = "by_default_devices_have_half_of_what_is_free";
    for (devices, count) in [("1", 1), ("4", 4), ("64", 64)] {
        alone(name, &[("SOFTCUDA_DEVICES", devices)], || {
            let (all, free) = (count * total(&with_context()), machine("MemAvailable:"));
            // What is free changes meanwhile.
            assert!(all <= free / 2 + free / 8 && all >= 1 << 20, "{all} of {free}");
            let limited =
                std::fs::read_to_string("/proc/self/cgroup").is_ok_and(|groups| groups.contains("memory:/"));
            assert!(limited || count > 1 || all >= free / 4, "{all} of {free}");
        });
    }
}

#[test]
fn a_process_that_may_map_little_has_devices() {
    alone("a_process_that_may_map_little_has_devices", &[("SOFTCUDA_LEAKS", "0")], || {
        let limit = libc::rlimit { rlim_cur: 4 << 30, rlim_max: 4 << 30 };
        // SAFETY: limits what this process may map.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
        let cu = with_context();
        let (total, mut pointer) = (total(&cu), 0u64);
        assert!((1 << 20..=1 << 30).contains(&total), "{total}");
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), total]), 0, "and there is so much");
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

/// The numbers of the devices that are visible, by each way in which they are told.
fn visible(cu: &Library) -> Vec<i32> {
    let mut count = -1;
    assert_eq!(cu.call("cuDeviceGetCount", &[at(&mut count)]), 0);
    let number = |ordinal: i32| {
        let (mut id, mut bus, mut found) = ([0u8; 16], -1, -1);
        let (mut name, mut address) = ([0u8; 64], [0u8; 16]);
        let ordinal = ordinal as u64;
        assert_eq!(cu.call("cuDeviceGetUuid_v2", &[at(&mut id), ordinal]), 0);
        assert_eq!(cu.call("cuDeviceGetAttribute", &[at(&mut bus), 33, ordinal]), 0);
        assert_eq!(cu.call("cuDeviceGetName", &[at(&mut name), 64, ordinal]), 0);
        assert_eq!(cu.call("cuDeviceGetPCIBusId", &[at(&mut address), 16, ordinal]), 0);
        assert_eq!(cu.call("cuDeviceGetByPCIBusId", &[at(&mut found), at(&mut address)]), 0);
        assert_eq!(found, ordinal as i32);
        assert!(name.starts_with(format!("softcuda device {bus} ").as_bytes()));
        assert_eq!(i32::from(id[15]), bus);
        bus
    };
    (0..count).map(number).collect()
}

#[test]
fn visible_devices() {
    let test = "visible_devices";
    let first = "GPU-736f6674-6375-6461-2064-657669636500";
    for (list, expected) in [
        ("0,1,2,3", &[0, 1, 2, 3][..]),
        ("3,1", &[3, 1]),
        ("2", &[2]),
        ("1,-1,0", &[1]),
        ("1,4,0", &[1]),
        ("1,nothing,0", &[1]),
        (first, &[0]),
        ("GPU-736f6674-6375-6461-2064-657669636503,GPU-736F6674-6375-6461-2064-657669636502", &[3, 2]),
        ("3,GPU-736f6674-6375-6461-2064-657669636502", &[3]),
    ] {
        let said = alone(test, &[("SOFTCUDA_DEVICES", "4"), ("CUDA_VISIBLE_DEVICES", list)], || {
            let cu = with_context();
            assert_eq!(visible(&cu), expected);
            let (mut hidden, mut context) = (-1, 0u64);
            let count = expected.len() as u64;
            assert_eq!(cu.call("cuDeviceGet", &[at(&mut hidden), count]), INVALID_DEVICE);
            assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, count]), INVALID_DEVICE);
            let missing = (0..4).find(|number| !expected.contains(number));
            if let Some(missing) = missing {
                let mut address = format!("0000:{missing:02X}:00.0\0").into_bytes();
                let slot = attribute(&cu, 34);
                address[8..10].copy_from_slice(format!("{slot:02X}").as_bytes());
                let arguments = [at(&mut hidden), address.as_ptr() as u64];
                assert_eq!(cu.call("cuDeviceGetByPCIBusId", &arguments), INVALID_DEVICE);
            }
        });
        assert!(!said.contains("softcuda: "), "{said}");
    }
    for list in ["", "-1", "4,0", "none", "0,1,0", "GPU-", "GPU-736f6674"] {
        let said = alone(test, &[("SOFTCUDA_DEVICES", "2"), ("CUDA_VISIBLE_DEVICES", list)], || {
            let answer = if list == "0,1,0" { INVALID_DEVICE } else { NO_DEVICE };
            assert_eq!(Library::core().call("cuInit", &[0]), answer);
        });
        if !said.is_empty() {
            assert_eq!(said.matches("softcuda: ").count(), 1, "{said}");
            assert!(
                said.contains(&format!("CUDA_VISIBLE_DEVICES={list} leaves no device visible")),
                "{said}"
            );
        }
    }
}

fn attribute(cu: &Library, attribute: u64) -> i32 {
    let mut value = -1;
    assert_eq!(cu.call("cuDeviceGetAttribute", &[at(&mut value), attribute, 0]), 0);
    value
}
