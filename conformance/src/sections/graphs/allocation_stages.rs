//! What is known of the address of an allocation, from the node to the end of its memory.

use super::Asked;
use super::scene::Scene;
use super::work::Work;
use crate::driver::{Answer, Given, call, given, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CUdeviceptr, CUgraph, CUgraphExec, CUpointer_attribute};
use std::ptr::null_mut;

/// A graph with an allocation to which a kernel stores.
struct Story {
    graph: CUgraph,
    address: CUdeviceptr,
    exec: CUgraphExec,
}

fn story(s: &Scene) -> Given<Story> {
    let graph = s.graph()?;
    let (node, address) = s.allocation(graph, &[], 100)?;
    s.node(graph, &[node], Work::Kernel(super::launch::Launch::new(s.storing, [address, 7])))?;
    Ok(Story { graph, address, exec: null_mut() })
}

type Stage = (&'static str, fn(&Scene) -> Given<CUdeviceptr>);

const STAGES: &[Stage] = &[
    ("added", |s| Ok(story(s)?.address)),
    ("instantiated", |s| {
        let story = story(s)?;
        s.exec(story.graph)?;
        Ok(story.address)
    }),
    ("launched", |s| Ok(launched(s)?.address)),
    ("freed by cuMemFree", |s| {
        let story = launched(s)?;
        given!(s.cu, cuMemFree_3020(story.address))?;
        Ok(story.address)
    }),
    ("launched, exec gone", |s| {
        let story = launched(s)?;
        given!(s.cu, cuGraphExecDestroy_10000(story.exec))?;
        Ok(story.address)
    }),
    ("launched, all gone", |s| {
        let story = launched(s)?;
        given!(s.cu, cuGraphExecDestroy_10000(story.exec))?;
        s.destroy(story.graph)?;
        Ok(story.address)
    }),
    ("not launched, all gone", |s| {
        let story = story(s)?;
        given!(s.cu, cuGraphExecDestroy_10000(s.exec(story.graph)?))?;
        s.destroy(story.graph)?;
        Ok(story.address)
    }),
];

fn launched(s: &Scene) -> Given<Story> {
    let mut story = story(s)?;
    story.exec = s.exec(story.graph)?;
    s.launched(story.exec).given("launching")?;
    Ok(story)
}

/// Attributes of an address that are no addresses or sizes.
const ATTRIBUTES: &[(&str, i32)] = &[
    ("context", 1),
    ("kind", 2),
    ("device pointer", 3),
    ("host pointer", 4),
    ("synchronous operations", 6),
    ("buffer id", 7),
    ("managed", 8),
    ("device", 9),
    ("IPC capable", 10),
    ("range start", 11),
    ("range size", 12),
    ("mapped", 13),
    ("handle types", 14),
    ("RDMA capable", 15),
    ("access", 16),
    ("pool", 17),
];

/// What is known of an address at each stage.
pub(super) fn stages(t: &mut Lines, s: &Scene) {
    for (stage, address) in STAGES {
        for (name, attribute) in ATTRIBUTES {
            t.line(&format!("{stage}: {name}"), || -> Asked {
                let (address, mut value) = (address(s)?, 0u64);
                let place = (&raw mut value).cast();
                let attribute = CUpointer_attribute(*attribute);
                Ok(call!(s.cu, cuPointerGetAttribute_4000(place, attribute, address))
                    .then(|| shown(s, attribute.0, value, address)))
            });
        }
        t.line(&format!("{stage}: its range"), || -> Asked {
            let (address, mut base, mut size) = (address(s)?, 0, 0);
            Ok(call!(s.cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut size, address))
                .then(|| format!("from it {}, bytes {size}", yes(base == address))))
        });
        t.line(&format!("{stage}: read and written by the host"), || -> Asked {
            let address = address(s)?;
            let four = [1u8; 4];
            Ok(Answer::all([
                s.word(address),
                call!(s.cu, cuMemcpyHtoD_3020(address, four.as_ptr().cast(), 4)),
            ]))
        });
        t.line(&format!("{stage}: filled in a stream"), || -> Asked {
            let address = address(s)?;
            Ok(Answer::all([call!(s.cu, cuMemsetD8Async_3020(address, 1, 4, s.stream)), s.synchronise()]))
        });
    }
}

fn shown(s: &Scene, attribute: i32, value: u64, address: CUdeviceptr) -> String {
    match attribute {
        1 if value == s.context.addr() as u64 => "the current one".to_owned(),
        3 | 11 if value == address => "the address".to_owned(),
        7 | 17 | 1 | 3 | 4 | 11 => (if value == 0 { "0" } else { "another" }).to_owned(),
        _ => value.to_string(),
    }
}
