//! Attributes of kernel nodes, by number and by value, and which of them copies have.

use super::launch::Launch;
use super::scene::Scene;
use super::work::Work;
use super::{Asked, Group, Question, Section, ask};
use crate::code::Shape;
use crate::driver::{Answer, Cu, Given, NON_BLOCKING, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUgraphNode,
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchAttributeValue_launchCompletionEvent, CUlaunchAttributeValue_programmaticEvent, CUstream,
};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_attributes", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[by_number, values, |t, s| ask(t, s, EVENTS), |t, s| ask(t, s, KEPT)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// A value of these numbers, and zeros.
fn value(numbers: [i32; 3]) -> CUlaunchAttributeValue {
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    for (place, byte) in numbers.iter().flat_map(|number| number.to_ne_bytes()).enumerate() {
        // SAFETY: every byte of the union is initialised, and any is a number.
        unsafe { value.pad[place] = byte.cast_signed() };
    }
    value
}

/// The numbers at the beginning of a value.
fn numbers(value: &CUlaunchAttributeValue) -> String {
    // SAFETY: every byte of the union is initialised, and any is a number.
    let bytes = unsafe { value.pad }.map(i8::cast_unsigned);
    let number = |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    format!("{} {} {}", number(0), number(4), number(8))
}

/// A graph with a kernel of four blocks.
fn kernel(s: &Scene) -> Given<(CUgraph, CUgraphNode)> {
    let graph = s.graph()?;
    Ok((graph, s.node(graph, &[], four_blocks(s))?))
}

fn four_blocks(s: &Scene) -> Work {
    Work::Kernel(Launch { shape: Shape::row(4, 32), ..Launch::new(s.nothing, [0; 2]) })
}

fn get(s: &Scene, node: CUgraphNode, id: CUlaunchAttributeID) -> Answer {
    let mut value = value([77; 3]);
    call!(s.cu, cuGraphKernelNodeGetAttribute_11000(node, id, &raw mut value)).then(|| numbers(&value))
}

fn set(s: &Scene, node: CUgraphNode, id: CUlaunchAttributeID, value: &CUlaunchAttributeValue) -> Answer {
    call!(s.cu, cuGraphKernelNodeSetAttribute_11000(node, id, &raw const *value))
}

/// Attributes whose value is an event or a handle are asked for elsewhere.
fn by_number(t: &mut Lines, s: &Scene) {
    for id in (-1..=6).chain(8..=11).chain(14..=20).chain([77, 1000]) {
        t.line(&format!("attribute {id}: get"), || -> Asked {
            Ok(get(s, kernel(s)?.1, CUlaunchAttributeID(id)))
        });
        t.line(&format!("attribute {id}: set to zeros, get, run"), || -> Asked {
            let (graph, node) = kernel(s)?;
            let id = CUlaunchAttributeID(id);
            Ok(Answer::all([set(s, node, id, &value([0; 3])), get(s, node, id), s.ran(graph)]))
        });
    }
}

/// Numbers of attributes, and their values.
const VALUES: &[(i32, &[[i32; 3]])] = &[
    (2, &[[1, 0, 0], [2, 0, 0], [-1, 0, 0]]),
    (3, &[[1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0], [99, 0, 0]]),
    (4, &[[1, 1, 1], [2, 1, 1], [4, 1, 1], [3, 1, 1], [8, 1, 1], [1, 2, 1], [0, 1, 1], [9, 1, 1]]),
    (5, &[[1, 0, 0], [2, 0, 0], [3, 0, 0], [99, 0, 0]]),
    (6, &[[1, 0, 0], [2, 0, 0]]),
    (8, &[[-1, 0, 0], [-5, 0, 0], [-9, 0, 0], [5, 0, 0]]),
    (9, &[[0x0100, 0, 0], [0x0001, 0, 0], [0x0404, 0, 0]]),
    (10, &[[1, 0, 0], [2, 0, 0]]),
    (11, &[[2, 1, 1], [4, 1, 1]]),
    (14, &[[50, 0, 0], [100, 0, 0], [101, 0, 0], [-1, 0, 0]]),
    (16, &[[1, 0, 0]]),
    (17, &[[1, 0, 0]]),
    (18, &[[1, 0, 0]]),
];

fn values(t: &mut Lines, s: &Scene) {
    for (id, values) in VALUES {
        let id = CUlaunchAttributeID(*id);
        for numbers in *values {
            let [x, y, z] = numbers;
            t.line(&format!("attribute {} to {x} {y} {z}: set, get, run", id.0), || -> Asked {
                let (graph, node) = kernel(s)?;
                Ok(Answer::all([set(s, node, id, &value(*numbers)), get(s, node, id), s.ran(graph)]))
            });
        }
    }
}

/// Attributes that name an event.
const EVENTS: &[Question] = &[
    ("programmatic event: get", |s| {
        let mut value = value([0; 3]);
        let (node, id) = (kernel(s)?.1, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
        Ok(call!(s.cu, cuGraphKernelNodeGetAttribute_11000(node, id, &raw mut value)))
    }),
    ("programmatic event without an event", |s| {
        Ok(set(s, kernel(s)?.1, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, &value([0; 3])))
    }),
    ("programmatic event: set, run", |s| {
        let ((graph, node), event) = (kernel(s)?, s.cu.event(2)?);
        let mut value = value([0; 3]);
        value.programmaticEvent =
            CUlaunchAttributeValue_programmaticEvent { event, flags: 0, triggerAtBlockStart: 0 };
        Ok(Answer::all([set(s, node, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, &value), s.ran(graph)]))
    }),
    ("completion event: get", |s| {
        let mut value = value([0; 3]);
        let (node, id) = (kernel(s)?.1, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
        Ok(call!(s.cu, cuGraphKernelNodeGetAttribute_11000(node, id, &raw mut value)))
    }),
    ("completion event without an event", |s| {
        Ok(set(s, kernel(s)?.1, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, &value([0; 3])))
    }),
    ("completion event: set, run", |s| {
        let ((graph, node), event) = (kernel(s)?, s.cu.event(2)?);
        let mut value = value([0; 3]);
        value.launchCompletionEvent = CUlaunchAttributeValue_launchCompletionEvent { event, flags: 0 };
        Ok(Answer::all([set(s, node, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, &value), s.ran(graph)]))
    }),
    ("get to NULL", |s| {
        let (node, id) = (kernel(s)?.1, CU_LAUNCH_ATTRIBUTE_PRIORITY);
        Ok(call!(s.cu, cuGraphKernelNodeGetAttribute_11000(node, id, null_mut())))
    }),
    ("set from NULL", |s| {
        let (node, id) = (kernel(s)?.1, CU_LAUNCH_ATTRIBUTE_PRIORITY);
        Ok(call!(s.cu, cuGraphKernelNodeSetAttribute_11000(node, id, std::ptr::null())))
    }),
    ("of node NULL: get, set", |s| {
        let id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        Ok(Answer::all([get(s, null_mut(), id), set(s, null_mut(), id, &value([0; 3]))]))
    }),
    ("of a memset: get, set", |s| {
        let (node, id) = (s.node(s.graph()?, &[], s.fill(1))?, CU_LAUNCH_ATTRIBUTE_PRIORITY);
        Ok(Answer::all([get(s, node, id), set(s, node, id, &value([0; 3]))]))
    }),
    ("of an empty node: get, set", |s| {
        let (node, id) = (s.node(s.graph()?, &[], Work::Empty)?, CU_LAUNCH_ATTRIBUTE_PRIORITY);
        Ok(Answer::all([get(s, node, id), set(s, node, id, &value([0; 3]))]))
    }),
];

/// A kernel whose priority is -2.
fn urgent(s: &Scene) -> Given<(CUgraph, CUgraphNode)> {
    let (graph, node) = kernel(s)?;
    set(s, node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value([-2, 0, 0])).given("setting the priority")?;
    Ok((graph, node))
}

fn priority(s: &Scene, node: CUgraphNode) -> Answer {
    get(s, node, CU_LAUNCH_ATTRIBUTE_PRIORITY)
}

fn copied(s: &Scene, to: CUgraphNode, from: CUgraphNode) -> Answer {
    call!(s.cu, cuGraphKernelNodeCopyAttributes_11000(to, from))
}

/// Captures what `work` does in the stream, and tells the priority of the first node.
fn captured(s: &Scene, stream: CUstream, work: impl FnOnce() -> Answer) -> Asked {
    let mut graph = null_mut();
    given!(s.cu, cuStreamBeginCapture_10010(stream, CU_STREAM_CAPTURE_MODE_RELAXED))?;
    let answer = work();
    given!(s.cu, cuStreamEndCapture_10000(stream, &raw mut graph))?;
    answer.given("capturing")?;
    let node = s.first(graph)?;
    Ok(Answer::all([priority(s, node), get(s, node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)]))
}

/// Launches four blocks in a stream.
fn launch(s: &Scene, stream: CUstream, attributes: &mut [CUlaunchAttribute]) -> Answer {
    let config = Shape::row(4, 32).config(stream, attributes);
    call!(s.cu, cuLaunchKernelEx_11060(&raw const config, s.nothing, null_mut(), null_mut()))
}

fn attribute(id: CUlaunchAttributeID, numbers: [i32; 3]) -> CUlaunchAttribute {
    CUlaunchAttribute { id, pad: [0; 4], value: value(numbers) }
}

/// Blocks of the largest size: more than are resident at once on any device, and few enough to run in software.
const TOO_MANY: u32 = 1 << 12;

const KEPT: &[Question] = &[
    ("copy to another kernel: answer, priority", |s| {
        let ((_, from), (_, to)) = (urgent(s)?, kernel(s)?);
        Ok(Answer::all([copied(s, to, from), priority(s, to)]))
    }),
    ("copy to a kernel with another function: answer, priority", |s| {
        let (from, to) = (urgent(s)?.1, s.node(s.graph()?, &[], s.store(0, 1))?);
        Ok(Answer::all([copied(s, to, from), priority(s, to)]))
    }),
    ("copy of defaults to a kernel with priority: answer, priority", |s| {
        let ((_, from), (_, to)) = (kernel(s)?, urgent(s)?);
        Ok(Answer::all([copied(s, to, from), priority(s, to)]))
    }),
    ("copy of a cluster to one block: answer, run", |s| {
        let (graph, from) = (s.graph()?, kernel(s)?.1);
        let to = s.node(graph, &[], Work::Kernel(Launch::new(s.nothing, [0; 2])))?;
        let set = set(s, from, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value([2, 1, 1]));
        Ok(Answer::all([set, copied(s, to, from), s.ran(graph)]))
    }),
    ("copy to itself", |s| {
        let node = urgent(s)?.1;
        Ok(Answer::all([copied(s, node, node), priority(s, node)]))
    }),
    ("copy to a memset", |s| Ok(copied(s, s.node(s.graph()?, &[], s.fill(1))?, urgent(s)?.1))),
    ("copy from a memset", |s| Ok(copied(s, urgent(s)?.1, s.node(s.graph()?, &[], s.fill(1))?))),
    ("copy to NULL", |s| Ok(copied(s, null_mut(), urgent(s)?.1))),
    ("copy from NULL", |s| Ok(copied(s, urgent(s)?.1, null_mut()))),
    ("priority in a clone", |s| Ok(priority(s, s.first(s.clone_of(urgent(s)?.0)?)?))),
    ("priority in a child graph", |s| {
        let outer = s.graph_of(&[Work::Child(urgent(s)?.0)])?;
        Ok(priority(s, s.first(s.inner(s.first(outer)?)?)?))
    }),
    ("priority after the parameters were set", |s| {
        let node = urgent(s)?.1;
        let shape = Shape::row(8, 32);
        let launch = Launch { shape, ..Launch::new(s.nothing, [0; 2]) };
        let set = launch.with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params)));
        Ok(Answer::all([set, priority(s, node)]))
    }),
    ("priority after another function was set", |s| {
        let node = urgent(s)?.1;
        let set = Launch::new(s.storing, [s.here, 1])
            .with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params)));
        Ok(Answer::all([set, priority(s, node)]))
    }),
    ("cooperative, then a grid that is too large: set, run", |s| {
        let (graph, node) = kernel(s)?;
        let cooperative = set(s, node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value([1, 0, 0]));
        let launch = Launch { shape: Shape::row(TOO_MANY, 1024), ..Launch::new(s.nothing, [0; 2]) };
        let set = launch.with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params)));
        Ok(Answer::all([cooperative, set, s.ran(graph)]))
    }),
    ("a grid that is too large, then cooperative: set, run", |s| {
        let graph = s.graph()?;
        let launch = Launch { shape: Shape::row(TOO_MANY, 1024), ..Launch::new(s.nothing, [0; 2]) };
        let node = s.node(graph, &[], Work::Kernel(launch))?;
        let cooperative = set(s, node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value([1, 0, 0]));
        Ok(Answer::all([cooperative, s.ran(graph)]))
    }),
    ("captured: priority, cluster", |s| captured(s, s.stream, || launch(s, s.stream, &mut []))),
    ("captured with priority -2: priority, cluster", |s| {
        captured(s, s.stream, || {
            launch(s, s.stream, &mut [attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, [-2, 0, 0])])
        })
    }),
    ("captured with cluster 2: priority, cluster", |s| {
        captured(s, s.stream, || {
            launch(s, s.stream, &mut [attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, [2, 1, 1])])
        })
    }),
    ("captured in a stream of priority -3: priority, cluster", |s| {
        let mut stream = null_mut();
        given!(s.cu, cuStreamCreateWithPriority_5050(&raw mut stream, NON_BLOCKING, -3))?;
        captured(s, stream, || launch(s, stream, &mut []))
    }),
    ("exec of a kernel with priority, flag for priorities: run", |s| {
        let exec = s.exec_with(urgent(s)?.0, 8)?;
        Ok(s.launched(exec))
    }),
];
