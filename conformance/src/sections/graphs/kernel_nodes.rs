//! Kernel nodes: functions and kernels, contexts, arguments and limits.

use super::launch::{Launch, older};
use super::scene::{Elsewhere, Scene};
use super::work::Work;
use super::{Asked, Group, Question, Section, ask};
use crate::code::{Arguments, KERNELS, Shape};
use crate::driver::{Answer, Cu, Given, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CUDA_KERNEL_NODE_PARAMS_v2, CUfunction, CUgraph, CUkernel};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_kernel_nodes", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[
    |t, s| ask(t, s, WHICH),
    |t, s| ask(t, s, ARGUMENTS),
    limits,
    |t, s| ask(t, s, ELSEWHERE),
    |t, s| ask(t, s, GONE),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// Adds it to a graph, and if that succeeds runs the graph.
fn added(s: &Scene, launch: Launch) -> Asked {
    let (graph, mut node) = (s.graph()?, null_mut());
    let answer = s.add(graph, &[], Work::Kernel(launch), &raw mut node);
    Ok(answer.and(|| s.ran(graph).named("added, but")))
}

fn storing(s: &Scene) -> Launch {
    Launch::new(s.storing, [s.here, 7])
}

/// A kernel of a library.
fn kernel(s: &Scene, name: &CStr) -> Given<CUkernel> {
    let (mut library, mut kernel) = (null_mut(), null_mut());
    s.cu.load(&mut library, KERNELS).given("cuLibraryLoadData_12000")?;
    given!(s.cu, cuLibraryGetKernel_12000(&raw mut kernel, library, name.as_ptr()))?;
    Ok(kernel)
}

const WHICH: &[Question] = &[
    ("function", |s| added(s, storing(s))),
    ("function, its context", |s| added(s, Launch { context: s.context, ..storing(s) })),
    ("kernel", |s| added(s, Launch { function: null_mut(), kernel: kernel(s, c"store")?, ..storing(s) })),
    ("kernel, its context", |s| {
        let kernel = kernel(s, c"store")?;
        added(s, Launch { function: null_mut(), kernel, context: s.context, ..storing(s) })
    }),
    ("kernel as function", |s| added(s, Launch { function: kernel(s, c"store")?.cast(), ..storing(s) })),
    ("function as kernel", |s| {
        added(s, Launch { function: null_mut(), kernel: s.storing.cast(), ..storing(s) })
    }),
    ("function and kernel: which of them runs", |s| {
        s.clear()?;
        let kernel = kernel(s, c"nothing")?;
        let answer = added(s, Launch { kernel, ..storing(s) })?;
        Ok(Answer::all([answer, s.word(s.here)]))
    }),
    ("kernel as function, the ABI of 10.0", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        let launch = Launch { function: kernel(s, c"store")?.cast(), ..storing(s) };
        Ok(launch.with_params(|params| {
            let params = older(params);
            call!(s.cu, cuGraphAddKernelNode_10000(&raw mut node, graph, null(), 0, &raw const params))
        }))
    }),
    ("neither", |s| added(s, Launch { function: null_mut(), ..storing(s) })),
    ("zeros", |s| {
        let shape = Shape { grid: [0; 3], block: [0; 3], shared: 0 };
        added(s, Launch { function: null_mut(), shape, ..storing(s) })
    }),
    ("function of a module that was unloaded after the node was made", |s| {
        let module = s.cu.module(KERNELS)?;
        let function = s.cu.function(module, c"nothing")?;
        let graph = s.graph_of(&[Work::Kernel(Launch::new(function, [0; 2]))])?;
        Ok(call!(s.cu, cuModuleUnload_2000(module)).and(|| s.count(graph)))
    }),
];

/// What adding a kernel with these arguments answers, and the run's result if it succeeds.
fn with(s: &Scene, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void) -> Asked {
    s.clear()?;
    let (graph, mut node) = (s.graph()?, null_mut());
    let params: CUDA_KERNEL_NODE_PARAMS_v2 = Launch::new(function, [0; 2]).params(params, extra);
    let answer = call!(s.cu, cuGraphAddKernelNode_12000(&raw mut node, graph, null(), 0, &raw const params));
    Ok(answer.and(|| Answer::all([s.ran(graph), s.word(s.here)])))
}

const END: *mut c_void = null_mut();
const POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
const SIZE: *mut c_void = std::ptr::without_provenance_mut(2);

/// The same with arguments in one block of so many bytes.
fn packed(s: &Scene, function: CUfunction, mut size: usize, params: *mut *mut c_void) -> Asked {
    let mut block = [s.here, 43, 0, 0];
    let mut extra = [POINTER, block.as_mut_ptr().cast(), SIZE, (&raw mut size).cast(), END];
    with(s, function, params, extra.as_mut_ptr())
}

const ARGUMENTS: &[Question] = &[
    ("arguments: stored", |s| {
        let mut arguments = Arguments::new([s.here, 41]);
        let mut pointers = arguments.pointers();
        with(s, s.storing, pointers.as_mut_ptr(), null_mut())
    }),
    ("no arguments for a kernel that takes some", |s| with(s, s.storing, null_mut(), null_mut())),
    ("no arguments for a kernel that takes none", |s| with(s, s.nothing, null_mut(), null_mut())),
    ("arguments for a kernel that takes none", |s| {
        let mut arguments = Arguments::new([s.here, 41]);
        let mut pointers = arguments.pointers();
        with(s, s.nothing, pointers.as_mut_ptr(), null_mut())
    }),
    ("extra: stored", |s| packed(s, s.storing, 12, null_mut())),
    ("extra of 16 bytes", |s| packed(s, s.storing, 16, null_mut())),
    ("extra of 8 bytes", |s| packed(s, s.storing, 8, null_mut())),
    ("extra of 0 bytes for a kernel that takes none", |s| packed(s, s.nothing, 0, null_mut())),
    ("arguments and extra: stored", |s| {
        let mut arguments = Arguments::new([s.here, 41]);
        let mut pointers = arguments.pointers();
        packed(s, s.storing, 12, pointers.as_mut_ptr())
    }),
    ("extra of no entries", |s| with(s, s.nothing, null_mut(), [END].as_mut_ptr())),
    ("arguments change after the node was made: stored", |s| {
        s.clear()?;
        let (graph, mut node) = (s.graph()?, null_mut());
        let (mut address, mut value) = (s.here, 41u32);
        let mut pointers: [*mut c_void; 2] = [(&raw mut address).cast(), (&raw mut value).cast()];
        let params = Launch::new(s.storing, [0; 2]).params(pointers.as_mut_ptr(), null_mut());
        given!(s.cu, cuGraphAddKernelNode_12000(&raw mut node, graph, null(), 0, &raw const params))?;
        // SAFETY: the variable lives; the driver may still look at it, which is the question.
        unsafe { (&raw mut value).write_volatile(42) };
        Ok(Answer::all([s.ran(graph), s.word(s.here)]))
    }),
];

fn limits(t: &mut Lines, s: &Scene) {
    let one = Shape::ONE;
    let shapes = [
        ("block 0", Shape { block: [0, 1, 1], ..one }),
        ("block 1 x 0", Shape { block: [1, 0, 1], ..one }),
        ("grid 0", Shape { grid: [0, 1, 1], ..one }),
        ("grid 1 x 0", Shape { grid: [1, 0, 1], ..one }),
        ("block 1024", Shape::row(1, 1024)),
        ("block 1025", Shape::row(1, 1025)),
        ("block 5000", Shape::row(1, 5000)),
        ("block 32 x 33", Shape { block: [32, 33, 1], ..one }),
        ("block 1 x 1 x 65", Shape { block: [1, 1, 65], ..one }),
        ("grid 1 x 65535", Shape { grid: [1, 65535, 1], ..one }),
        ("grid 1 x 65536", Shape { grid: [1, 65536, 1], ..one }),
        ("grid 2^31", Shape { grid: [1 << 31, 1, 1], ..one }),
        ("shared memory 49152", Shape { shared: 49152, ..one }),
        ("shared memory 49153", Shape { shared: 49153, ..one }),
        ("shared memory 1 GiB", Shape { shared: 1 << 30, ..one }),
    ];
    for (name, shape) in shapes {
        t.line(name, || added(s, Launch { shape, ..Launch::new(s.nothing, [0; 2]) }));
        t.line(&format!("{name}: set"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], Work::Kernel(Launch::new(s.nothing, [0; 2])))?;
            Ok(Launch { shape, ..Launch::new(s.nothing, [0; 2]) }
                .with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params))))
        });
        t.line(&format!("{name}: set in an exec"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], Work::Kernel(Launch::new(s.nothing, [0; 2])))?;
            let exec = s.exec(graph)?;
            Ok(Launch { shape, ..Launch::new(s.nothing, [0; 2]) }
                .with_params(|params| call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, params))))
        });
    }
    t.line("block 5000 refused: instantiate the graph", || -> Asked {
        let (graph, mut node) = (s.graph()?, null_mut());
        let shape = Shape::row(1, 5000);
        let launch = Launch { shape, ..Launch::new(s.nothing, [0; 2]) };
        let refused = s.add(graph, &[], Work::Kernel(launch), &raw mut node);
        Ok(Answer::all([refused, s.count(graph), s.instantiate(graph)]))
    });
}

const ELSEWHERE: &[Question] = &[
    ("another context's function", |s| added(s, Launch::new(s.elsewhere()?.nothing, [0; 2]))),
    ("another context's function with that context", |s| {
        let Elsewhere { context, nothing: function, .. } = s.elsewhere()?;
        added(s, Launch { context, ..Launch::new(function, [0; 2]) })
    }),
    ("another context's function with the current context", |s| {
        added(s, Launch { context: s.context, ..Launch::new(s.elsewhere()?.nothing, [0; 2]) })
    }),
    ("a function with another context", |s| {
        added(s, Launch { context: s.elsewhere()?.context, ..storing(s) })
    }),
    ("a kernel with another context", |s| {
        let (context, kernel) = (s.elsewhere()?.context, kernel(s, c"nothing")?);
        added(s, Launch { function: null_mut(), kernel, context, ..Launch::new(null_mut(), [0; 2]) })
    }),
    ("kernels of two contexts in one graph", |s| {
        let Elsewhere { context, nothing: function, .. } = s.elsewhere()?;
        let other = Launch { context, ..Launch::new(function, [0; 2]) };
        let graph = s.graph_of(&[s.store(0, 1), Work::Kernel(other), s.store(0, 2)])?;
        Ok(s.ran(graph))
    }),
    ("the exec of another context's kernel, in this one's stream", |s| {
        let Elsewhere { context, nothing: function, .. } = s.elsewhere()?;
        let graph = s.graph_of(&[Work::Kernel(Launch { context, ..Launch::new(function, [0; 2]) })])?;
        Ok(s.ran(graph))
    }),
];

/// What a driver may look up where it no longer is.
const GONE: &[Question] = &[
    ("a module unloaded: instantiate", |s| unloaded(s, |_, graph| s.instantiate(graph))),
    ("a module unloaded: clone", |s| {
        unloaded(s, |_, graph| {
            let mut clone = null_mut();
            call!(s.cu, cuGraphClone_10000(&raw mut clone, graph))
        })
    }),
    ("a module unloaded: parameters", |s| {
        unloaded(s, |s, graph| {
            let mut params = Launch::new(null_mut(), [0; 2]).params(null_mut(), null_mut());
            s.first(graph).map_or_else(
                |obstacle| obstacle,
                |node| call!(s.cu, cuGraphKernelNodeGetParams_12000(node, &raw mut params)),
            )
        })
    }),
    ("a pointer to an argument is NULL", |s| {
        let mut arguments = Arguments::new([s.here, 41]);
        let mut pointers = arguments.pointers();
        pointers[1] = null_mut();
        with(s, s.storing, pointers.as_mut_ptr(), null_mut())
    }),
    ("an exec of a function of a module unloaded since: launch", |s| {
        let module = s.cu.module(KERNELS)?;
        let function = s.cu.function(module, c"nothing")?;
        let exec = s.exec(s.graph_of(&[Work::Kernel(Launch::new(function, [0; 2]))])?)?;
        given!(s.cu, cuModuleUnload_2000(module))?;
        Ok(s.launched(exec))
    }),
];

/// What is asked of a graph whose kernel's module was unloaded.
fn unloaded(s: &Scene, ask: impl FnOnce(&Scene, CUgraph) -> Answer) -> Asked {
    let module = s.cu.module(KERNELS)?;
    let function = s.cu.function(module, c"nothing")?;
    let graph = s.graph_of(&[Work::Kernel(Launch::new(function, [0; 2]))])?;
    given!(s.cu, cuModuleUnload_2000(module))?;
    Ok(ask(s, graph))
}
