//! Launches of kernels, and the attributes that they leave on nodes.

use super::super::graph::{self, node};
use super::super::scene::Scene;
use super::parameters::Places;
use super::{captured, captured_after};
use crate::code::{Arguments, CAPTURES, Shape};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_IGNORE, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    CU_LAUNCH_ATTRIBUTE_PRIORITY, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CUaccessPolicyWindow_v1, CUaccessProperty, CUgraphNode,
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchAttributeValue_clusterDim,
    CUlaunchMemSyncDomain, CUlaunchMemSyncDomainMap, CUstream, CUsynchronizationPolicy,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// A launch with attributes, which appends a digit.
pub(super) fn launch(
    s: &Scene,
    stream: CUstream,
    shape: Shape,
    digit: u64,
    attributes: &mut [CUlaunchAttribute],
) -> Answer {
    let config = shape.config(stream, attributes);
    let (mut arguments, none) = (Arguments::new([s.memory, digit]), null_mut());
    let mut pointers = arguments.pointers();
    call!(s.cu, cuLaunchKernelEx_11060(&raw const config, s.append, pointers.as_mut_ptr(), none))
}

pub(super) fn attribute(id: CUlaunchAttributeID, value: CUlaunchAttributeValue) -> CUlaunchAttribute {
    CUlaunchAttribute { id, pad: [0; 4], value }
}

/// Launches without attributes.
pub(super) fn plain(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, places) = (&s.cu, Places::of(s));
    let arguments = || Arguments::new([s.memory + 16, 5]);
    let shape = Shape { grid: [2, 3, 4], block: [5, 6, 7], shared: 128 };
    captured(t, s, &places, "cuLaunchKernel", || {
        cu.launch(s.append, shape, s.stream, &mut arguments().pointers())
    });
    captured(t, s, &places, "cuLaunchKernelEx", || launch(s, s.stream, shape, 5, &mut []));
    captured(t, s, &places, "cuLaunchKernel, arguments packed", || packed(s));
    captured(t, s, &places, "cuLaunchCooperativeKernel", || {
        let (mut arguments, stream) = (arguments(), s.stream);
        let mut p = arguments.pointers();
        call!(cu, cuLaunchCooperativeKernel_9000(s.append, 1, 1, 1, 32, 1, 1, 0, stream, p.as_mut_ptr()))
    });
    let library = cu.library(CAPTURES)?;
    let kernel = cu.kernel(library, c"append")?;
    captured(t, s, &places, "cuLaunchKernel of a CUkernel", || {
        cu.as_function(kernel, |kernel| cu.launch(kernel, Shape::ONE, s.stream, &mut arguments().pointers()))
    });
    let refused = [
        ("of a block of 0", Shape { block: [0, 1, 1], ..Shape::ONE }),
        ("of a grid of 0", Shape { grid: [0, 1, 1], ..Shape::ONE }),
        ("of 2048 threads", Shape::row(1, 2048)),
        ("with 1 GiB of shared memory", Shape { shared: 1 << 30, ..Shape::ONE }),
    ];
    for (name, shape) in refused {
        captured(t, s, &places, &format!("cuLaunchKernel {name}"), || {
            cu.launch(s.append, shape, s.stream, &mut arguments().pointers())
        });
    }
    captured(t, s, &places, "cuLaunchKernel of NULL", || {
        cu.launch(null_mut(), Shape::ONE, s.stream, &mut arguments().pointers())
    });
    captured(t, s, &places, "cuLaunchKernel without arguments", || {
        cu.launch(s.append, Shape::ONE, s.stream, &mut [])
    });
    captured_after(
        t,
        s,
        &places,
        "cuLaunchKernel after one that was refused",
        || {
            let _ = cu.launch(s.append, Shape::row(1, 2048), s.stream, &mut arguments().pointers());
        },
        || s.append(s.stream, 7),
    );
    Ok(())
}

/// The arguments in one block.
fn packed(s: &Scene) -> Answer {
    const POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
    const SIZE: *mut c_void = std::ptr::without_provenance_mut(2);
    let (mut block, mut size) = ([s.memory + 16, 5], 12usize);
    let mut extra = [POINTER, block.as_mut_ptr().cast(), SIZE, (&raw mut size).cast::<c_void>(), null_mut()];
    let none = null_mut();
    call!(s.cu, cuLaunchKernel_4000(s.append, 1, 1, 1, 1, 1, 1, 0, s.stream, none, extra.as_mut_ptr()))
}

/// The attributes that are read back of nodes.
const READ: [(&str, CUlaunchAttributeID); 7] = [
    ("window", CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW),
    ("cooperative", CU_LAUNCH_ATTRIBUTE_COOPERATIVE),
    ("cluster", CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION),
    ("priority", CU_LAUNCH_ATTRIBUTE_PRIORITY),
    ("domains", CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP),
    ("domain", CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN),
    ("carveout", CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
];

/// Those of a node, as text.
fn attributes_of(cu: &Cu, node: CUgraphNode) -> String {
    let one = |(name, id): (&str, CUlaunchAttributeID)| {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        let answer = call!(cu, cuGraphKernelNodeGetAttribute_11000(node, id, &raw mut value));
        // SAFETY: all of it was written, if only with zeros, and every field is of numbers and addresses.
        let text = unsafe {
            match id {
                CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => value.accessPolicyWindow.num_bytes.to_string(),
                CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                    format!("{}x{}x{}", value.clusterDim.x, value.clusterDim.y, value.clusterDim.z)
                }
                CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {
                    format!("{},{}", value.memSyncDomainMap.default_, value.memSyncDomainMap.remote)
                }
                _ => value.priority.to_string(),
            }
        };
        format!("{name} {}", if answer.succeeded() { text } else { format!("({})", answer.number()) })
    };
    READ.map(one).join(", ")
}

/// Captures a launch after another one, and tells the attributes of its node.
fn with(t: &mut Lines, s: &Scene, name: &str, launch: impl FnOnce() -> Answer) {
    t.line(name, || s.begin().and(launch));
    t.line("  status", || s.status(s.stream));
    let graph = s.finish(t, s.stream);
    t.line("  attributes", || match node(&s.cu, graph, 0) {
        node if node.is_null() => "no node".to_owned(),
        node => attributes_of(&s.cu, node),
    });
    t.line("  runs", || graph::replay(&s.cu, graph, s.third));
    graph::destroy(&s.cu, graph);
}

/// Launches with one attribute.
pub(super) fn attributes(t: &mut Lines, s: &Scene) -> Outcome {
    let one = Shape::ONE;
    let mut window = CUlaunchAttributeValue { pad: [0; 64] };
    window.accessPolicyWindow = CUaccessPolicyWindow_v1 {
        base_ptr: std::ptr::with_exposed_provenance_mut(s.memory as usize),
        num_bytes: 1024,
        hitRatio: 0.5,
        hitProp: CUaccessProperty(2),
        missProp: CUaccessProperty(1),
    };
    let cluster =
        |x| CUlaunchAttributeValue { clusterDim: CUlaunchAttributeValue_clusterDim { x, y: 1, z: 1 } };
    let map = CUlaunchMemSyncDomainMap { default_: 2, remote: 3 };
    let number = |priority| CUlaunchAttributeValue { priority };
    let domain = CUlaunchAttributeValue { memSyncDomain: CUlaunchMemSyncDomain(1) };
    let policy = CUlaunchAttributeValue { syncPolicy: CUsynchronizationPolicy(1) };
    let serial = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    with(t, s, "no attribute", || launch(s, s.stream, one, 1, &mut []));
    for (name, shape, id, value) in [
        ("ignored", one, CU_LAUNCH_ATTRIBUTE_IGNORE, number(0)),
        ("window", one, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, window),
        ("cooperative", one, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, number(1)),
        ("cluster of 2", Shape::row(4, 1), CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster(2)),
        ("cluster of 3 of 4 blocks", Shape::row(4, 1), CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster(3)),
        ("priority -3", one, CU_LAUNCH_ATTRIBUTE_PRIORITY, number(-3)),
        ("priority -99", one, CU_LAUNCH_ATTRIBUTE_PRIORITY, number(-99)),
        (
            "domain map",
            one,
            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
            CUlaunchAttributeValue { memSyncDomainMap: map },
        ),
        ("domain", one, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, domain),
        ("carveout", one, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, number(50)),
        ("policy, which is for streams", one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, policy),
        ("programmatic, first of all", one, serial, number(1)),
        ("number 99", one, CUlaunchAttributeID(99), number(1)),
    ] {
        with(t, s, &format!("attribute: {name}"), || {
            launch(s, s.stream, shape, 1, &mut [attribute(id, value)])
        });
    }
    Ok(())
}

/// What the stream gives to the nodes that it captures.
pub(super) fn priorities(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut urgent) = (&s.cu, null_mut());
    need!(cu, cuStreamCreateWithPriority_5050(&raw mut urgent, NON_BLOCKING, -3))?;
    let on = |stream: CUstream| Scene { stream, ..*s };
    with(t, &on(urgent), "stream of priority -3", || s.append(urgent, 1));
    with(t, s, "priority of the stream set to -2 meanwhile", || {
        let value = CUlaunchAttributeValue { priority: -2 };
        let which = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        call!(cu, cuStreamSetAttribute_11000(s.stream, which, &raw const value)).and(|| s.append(s.stream, 1))
    });
    let other = s.anew()?;
    with(t, &other, "domain of the stream set to 1 before", || {
        let value = CUlaunchAttributeValue { memSyncDomain: CUlaunchMemSyncDomain(1) };
        let which = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
        call!(cu, cuStreamSetAttribute_11000(other.stream, which, &raw const value))
            .and(|| other.append(other.stream, 1))
    });
    with(t, s, "fork to a stream of priority -3", || {
        s.fork(s.stream, urgent).and(|| s.append(urgent, 1)).and(|| s.join(urgent, s.stream))
    });
    Ok(())
}
