//! Attributes of streams: read, set, copied to another stream.

use super::Section;
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CUaccessPolicyWindow_v1, CUaccessProperty,
    CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchMemSyncDomain, CUlaunchMemSyncDomainMap, CUstream,
    CUsynchronizationPolicy,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section = Section { name: "stream_attributes", parts: 5, devices: 1, run };

const WINDOW: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
const POLICY: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
const PRIORITY: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_PRIORITY;
const DOMAIN_MAP: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
const DOMAIN: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;

/// The attributes that a stream has, and what they are called here.
const OF_STREAMS: [(&str, CUlaunchAttributeID); 5] = [
    ("window", WINDOW),
    ("policy", POLICY),
    ("priority", PRIORITY),
    ("domain map", DOMAIN_MAP),
    ("domain", DOMAIN),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    match part {
        0 => read(t, cu, stream),
        1 => write(t, cu, stream)?,
        2 => copy(t, cu, stream)?,
        3 => t.line("to NULL", || call!(cu, cuStreamGetAttribute_11000(stream, POLICY, null_mut()))),
        _ => t.line("set from NULL", || call!(cu, cuStreamSetAttribute_11000(stream, POLICY, null()))),
    }
    Ok(())
}

/// What the stream's attribute is, as text.
fn get(cu: &Cu, stream: CUstream, attribute: CUlaunchAttributeID) -> Answer {
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    call!(cu, cuStreamGetAttribute_11000(stream, attribute, &raw mut value)).then(|| show(attribute, &value))
}

fn show(attribute: CUlaunchAttributeID, value: &CUlaunchAttributeValue) -> String {
    // SAFETY: all of it was written, if only with zeros, and every field is of numbers and addresses.
    unsafe {
        match attribute {
            WINDOW => {
                let CUaccessPolicyWindow_v1 { num_bytes, hitRatio, hitProp, missProp, .. } =
                    value.accessPolicyWindow;
                format!("{num_bytes} bytes, {hitRatio}, {}, {}", hitProp.0, missProp.0)
            }
            POLICY => value.syncPolicy.0.to_string(),
            DOMAIN_MAP => format!("{},{}", value.memSyncDomainMap.default_, value.memSyncDomainMap.remote),
            DOMAIN => value.memSyncDomain.0.to_string(),
            _ => value.priority.to_string(),
        }
    }
}

fn read(t: &mut Lines, cu: &Cu, stream: CUstream) {
    for (on, stream) in
        [("", stream), (" of NULL", null_mut()), (" of legacy", LEGACY), (" of per-thread", PER_THREAD)]
    {
        for (name, attribute) in OF_STREAMS {
            t.line(&format!("{name}{on}"), || get(cu, stream, attribute));
        }
    }
    let others = (-1..=20).chain([99]).map(CUlaunchAttributeID);
    for attribute in others.filter(|other| OF_STREAMS.iter().all(|(_, known)| known != other)) {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        t.line(&format!("attribute {}", attribute.0), || {
            call!(cu, cuStreamGetAttribute_11000(stream, attribute, &raw mut value))
        });
    }
}

fn write(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    let memory = cu.memory(4096)?;
    let mut set = |situation: &str, attribute, value: CUlaunchAttributeValue| {
        t.line(situation, || call!(cu, cuStreamSetAttribute_11000(stream, attribute, &raw const value)));
        t.line("  reads back", || get(cu, stream, attribute));
    };
    for number in [2, 4, 0, 9] {
        let value = CUlaunchAttributeValue { syncPolicy: CUsynchronizationPolicy(number) };
        set(&format!("set policy {number}"), POLICY, value);
    }
    for priority in [-3, -99, 99] {
        set(&format!("set priority {priority}"), PRIORITY, CUlaunchAttributeValue { priority });
    }
    for number in [1, 0, 2] {
        let value = CUlaunchAttributeValue { memSyncDomain: CUlaunchMemSyncDomain(number) };
        set(&format!("set domain {number}"), DOMAIN, value);
    }
    for (default_, remote) in [(1, 0), (2, 3), (0, 9)] {
        let value =
            CUlaunchAttributeValue { memSyncDomainMap: CUlaunchMemSyncDomainMap { default_, remote } };
        set(&format!("set domain map {default_},{remote}"), DOMAIN_MAP, value);
    }
    let address: *mut c_void = std::ptr::with_exposed_provenance_mut(memory as usize);
    for (situation, base_ptr, num_bytes, ratio, hit, miss) in [
        ("set window", address, 1024, 0.5, 2, 1),
        ("set window of ratio 2", address, 1024, 2.0, 2, 1),
        ("set window that hits with 9", address, 1024, 0.5, 9, 1),
        ("set window that misses persisting", address, 1024, 0.5, 2, 2),
        ("set window of 1 TiB", address, 1 << 40, 0.5, 2, 1),
        ("set window at a bad address", std::ptr::without_provenance_mut(64), 64, 0.5, 2, 1),
        ("set window of 0 bytes", null_mut(), 0, 0.0, 0, 0),
    ] {
        set(situation, WINDOW, window(base_ptr, num_bytes, ratio, hit, miss));
    }
    for attribute in [0, 2, 4, 14, 99] {
        let value = CUlaunchAttributeValue { pad: [0; 64] };
        t.line(&format!("set attribute {attribute}"), || {
            call!(cu, cuStreamSetAttribute_11000(stream, CUlaunchAttributeID(attribute), &raw const value))
        });
    }
    for (name, stream) in [("NULL", null_mut()), ("legacy", LEGACY), ("per-thread", PER_THREAD)] {
        let value = CUlaunchAttributeValue { syncPolicy: CUsynchronizationPolicy(2) };
        t.line(&format!("set policy 2 of {name}"), || {
            call!(cu, cuStreamSetAttribute_11000(stream, POLICY, &raw const value))
        });
        t.line("  reads back", || get(cu, stream, POLICY));
    }
    Ok(())
}

fn window(
    base_ptr: *mut c_void,
    num_bytes: usize,
    ratio: f32,
    hit: i32,
    miss: i32,
) -> CUlaunchAttributeValue {
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    value.accessPolicyWindow = CUaccessPolicyWindow_v1 {
        base_ptr,
        num_bytes,
        hitRatio: ratio,
        hitProp: CUaccessProperty(hit),
        missProp: CUaccessProperty(miss),
    };
    value
}

/// Which attributes go over to another stream.
fn copy(t: &mut Lines, cu: &Cu, from: CUstream) -> Outcome {
    let (memory, to) = (cu.memory(4096)?, cu.stream(0)?);
    let address = std::ptr::with_exposed_provenance_mut(memory as usize);
    let values = [
        (POLICY, CUlaunchAttributeValue { syncPolicy: CUsynchronizationPolicy(2) }),
        (PRIORITY, CUlaunchAttributeValue { priority: -3 }),
        (DOMAIN, CUlaunchAttributeValue { memSyncDomain: CUlaunchMemSyncDomain(1) }),
        (
            DOMAIN_MAP,
            CUlaunchAttributeValue { memSyncDomainMap: CUlaunchMemSyncDomainMap { default_: 2, remote: 3 } },
        ),
        (WINDOW, window(address, 1024, 0.5, 2, 1)),
    ];
    for (attribute, value) in values {
        // One that cannot be set is seen in `write`.
        let _ = call!(cu, cuStreamSetAttribute_11000(from, attribute, &raw const value));
    }
    t.line("copy to another", || call!(cu, cuStreamCopyAttributes_11000(to, from)));
    for (name, attribute) in OF_STREAMS {
        t.line(&format!("  its {name}"), || get(cu, to, attribute));
    }
    t.line("copy to itself", || call!(cu, cuStreamCopyAttributes_11000(from, from)));
    t.line("copy to legacy", || call!(cu, cuStreamCopyAttributes_11000(LEGACY, from)));
    t.line("copy from legacy", || call!(cu, cuStreamCopyAttributes_11000(to, LEGACY)));
    need!(cu, cuStreamDestroy_4000(to))
}
