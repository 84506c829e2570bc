//! Launches: their limits, how arguments are passed, and attributes.

use super::Section;
use crate::code::{Arguments, FAULTS, GARBAGE, KERNELS, Shape};
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute, CUlaunchAttribute, CUlaunchAttributeID,
    CUlaunchAttributeValue, CUlaunchAttributeValue_clusterDim, CUlaunchAttributeValue_launchCompletionEvent,
    CUlaunchAttributeValue_programmaticEvent, CUlaunchMemSyncDomain, CUmodule, CUstream,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "launches", parts: PARTS.len() + APART.len(), devices: 1, run };

const PARTS: &[fn(&mut Lines, &Scene) -> Outcome] =
    &[story, limits, streams, arguments, packed, attributes, clusters, cooperative, by_number];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let module = cu.module(KERNELS)?;
    let scene = Scene {
        cu: *cu,
        module,
        nothing: cu.function(module, c"nothing")?,
        three: cu.function(module, c"three")?,
        store: cu.function(module, c"store")?,
        stream: cu.stream(NON_BLOCKING)?,
        memory: cu.memory(4096)?,
    };
    match PARTS.get(part) {
        Some(run) => run(t, &scene),
        None => {
            let (situation, ask) = APART[part - PARTS.len()];
            t.line(situation, || ask(&scene));
            Ok(())
        }
    }
}

struct Scene {
    cu: Cu,
    module: CUmodule,
    nothing: CUfunction,
    three: CUfunction,
    store: CUfunction,
    stream: CUstream,
    memory: CUdeviceptr,
}

impl Scene {
    /// Launches the kernel that takes nothing.
    fn shaped(&self, shape: Shape) -> Answer {
        self.cu.launch(self.nothing, shape, self.stream, &mut [])
    }

    /// The same with attributes.
    fn with(&self, shape: Shape, attributes: &mut [CUlaunchAttribute]) -> Answer {
        let config = shape.config(self.stream, attributes);
        call!(self.cu, cuLaunchKernelEx_11060(&raw const config, self.nothing, null_mut(), null_mut()))
    }

    fn synchronise(&self) -> Answer {
        call!(self.cu, cuStreamSynchronize_2000(self.stream))
    }

    /// What is at the beginning of the memory.
    fn stored(&self) -> String {
        let mut value = 0u32;
        match call!(self.cu, cuMemcpyDtoH_3020((&raw mut value).cast(), self.memory, 4)) {
            answer if answer.succeeded() => value.to_string(),
            answer => answer.to_string(),
        }
    }
}

/// What a program meets on its way: loading, launching, and the end of the context.
fn story(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream) = (&s.cu, s.stream);
    let (mut library, mut kernel, mut module) = (null_mut(), null_mut(), null_mut());
    let one = Shape::ONE;
    t.line("block 0", || s.shaped(Shape { block: [0, 1, 1], ..one }));
    t.line("grid 0", || s.shaped(Shape { grid: [0, 1, 1], ..one }));
    t.line("block 2048", || s.shaped(Shape::row(1, 2048)));
    t.line("shmem 1 GiB", || s.shaped(Shape { shared: 1 << 30, ..one }));
    t.line("NULL function", || cu.launch(null_mut(), one, stream, &mut []));
    t.line("missing params", || cu.launch(s.store, one, stream, &mut []));
    t.line("missing kernel name", || {
        let mut function = null_mut();
        call!(cu, cuModuleGetFunction_2000(&raw mut function, s.module, c"absent".as_ptr()))
    });
    t.line("garbage PTX", || call!(cu, cuModuleLoadData_2000(&raw mut module, GARBAGE.as_ptr().cast())));
    t.line("PTX newer than driver", || {
        let newer = c".version 9.9\n.target sm_70\n.address_size 64\n";
        call!(cu, cuModuleLoadData_2000(&raw mut module, newer.as_ptr().cast()))
    });
    t.line("library load", || cu.load(&mut library, KERNELS));
    t.line("library kernel", || {
        call!(cu, cuLibraryGetKernel_12000(&raw mut kernel, library, c"store".as_ptr()))
    });
    t.line("library no kernel", || {
        let mut none = null_mut();
        call!(cu, cuLibraryGetKernel_12000(&raw mut none, library, c"absent".as_ptr()))
    });
    t.line("launch CUkernel", || {
        cu.as_function(kernel, |kernel| {
            cu.launch(kernel, one, stream, &mut Arguments::new([s.memory, 5]).pointers())
        })
    });
    let (mut offset, mut size) = (0, 0);
    t.line("param 0", || call!(cu, cuKernelGetParamInfo_12040(kernel, 0, &raw mut offset, &raw mut size)));
    t.line("param 2", || call!(cu, cuKernelGetParamInfo_12040(kernel, 2, &raw mut offset, &raw mut size)));
    t.line("sync", || s.synchronise());
    t.line("stored", || if kernel.is_null() { "5".to_owned() } else { s.stored() });
    t.line("unload library", || call!(cu, cuLibraryUnload_12000(library)));
    let faulty = cu.function(cu.module(FAULTS)?, c"store")?;
    let (mut address, mut current) = (0, null_mut());
    need!(cu, cuCtxGetCurrent_4000(&raw mut current))?;
    t.line("illegal address launch", || cu.launch_at(faulty, stream, 0));
    t.line("sync", || s.synchronise());
    t.line("next alloc (sticky)", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("stream destroy after", || call!(cu, cuStreamDestroy_4000(stream)));
    t.line("ctx reset", || call!(cu, cuDevicePrimaryCtxReset_11000(0)));
    t.line("set current again", || call!(cu, cuCtxSetCurrent_4000(current)));
    t.line("alloc after reset", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    Ok(())
}

fn limits(t: &mut Lines, s: &Scene) -> Outcome {
    let one = Shape::ONE;
    let mut ask = |situation: &str, shape: Shape| t.line(situation, || s.shaped(shape));
    ask("block 1024", Shape::row(1, 1024));
    ask("block 1025", Shape::row(1, 1025));
    ask("block 32 x 32", Shape { block: [32, 32, 1], ..one });
    ask("block 32 x 33", Shape { block: [32, 33, 1], ..one });
    ask("block 1 x 1024", Shape { block: [1, 1024, 1], ..one });
    ask("block 1 x 1025", Shape { block: [1, 1025, 1], ..one });
    ask("block 1 x 1 x 64", Shape { block: [1, 1, 64], ..one });
    ask("block 1 x 1 x 65", Shape { block: [1, 1, 65], ..one });
    ask("block 1 x 0", Shape { block: [1, 0, 1], ..one });
    ask("block 1 x 1 x 0", Shape { block: [1, 1, 0], ..one });
    ask("block of 2^16 x 2^16 threads", Shape { block: [1 << 16, 1 << 16, 1], ..one });
    ask("grid 1 x 65535", Shape { grid: [1, 65535, 1], ..one });
    ask("grid 1 x 65536", Shape { grid: [1, 65536, 1], ..one });
    ask("grid 1 x 1 x 65535", Shape { grid: [1, 1, 65535], ..one });
    ask("grid 1 x 1 x 65536", Shape { grid: [1, 1, 65536], ..one });
    ask("grid 2^31", Shape { grid: [1 << 31, 1, 1], ..one });
    ask("grid 1 x 0", Shape { grid: [1, 0, 1], ..one });
    ask("grid 1 x 1 x 0", Shape { grid: [1, 1, 0], ..one });
    ask("shared memory 49152", Shape { shared: 49152, ..one });
    ask("shared memory 49153", Shape { shared: 49153, ..one });
    ask("shared memory 2^32 - 1", Shape { shared: u32::MAX, ..one });
    let opt_in = call!(s.cu, cuFuncSetAttribute_9000(s.nothing, CUfunction_attribute(8), 232_448));
    t.line("opt in to 232448 bytes", || opt_in);
    t.line("  shared memory 232448", || s.shaped(Shape { shared: 232_448, ..one }));
    t.line("  shared memory 232449", || s.shaped(Shape { shared: 232_449, ..one }));
    t.line("opt in to 1024 bytes", || {
        call!(s.cu, cuFuncSetAttribute_9000(s.nothing, CUfunction_attribute(8), 1024))
    });
    t.line("  shared memory 1025", || s.shaped(Shape { shared: 1025, ..one }));
    t.line("  shared memory 49152", || s.shaped(Shape { shared: 49152, ..one }));
    let limited = s.cu.function(s.module, c"limited")?;
    let sharing = s.cu.function(s.module, c"sharing")?;
    let mut of = |situation: &str, function, shape| {
        t.line(situation, || s.cu.launch(function, shape, s.stream, &mut []));
    };
    of(".maxntid 64: block 64", limited, Shape::row(1, 64));
    of(".maxntid 64: block 65", limited, Shape::row(1, 65));
    of(".maxntid 64: block 8 x 8", limited, Shape { block: [8, 8, 1], ..one });
    of("4 KiB of its own: shared memory 45056", sharing, Shape { shared: 45056, ..one });
    of("4 KiB of its own: shared memory 45057", sharing, Shape { shared: 45057, ..one });
    of("4 KiB of its own: shared memory 49152", sharing, Shape { shared: 49152, ..one });
    t.line("sync", || s.synchronise());
    Ok(())
}

fn streams(t: &mut Lines, s: &Scene) -> Outcome {
    for (name, stream) in [("NULL", null_mut()), ("legacy", LEGACY), ("per-thread", PER_THREAD)] {
        t.line(&format!("launch on the {name} stream"), || {
            s.cu.launch(s.nothing, Shape::ONE, stream, &mut [])
        });
    }
    let stream = s.cu.stream(0)?;
    t.line("launch on a blocking stream", || s.cu.launch(s.nothing, Shape::ONE, stream, &mut []));
    t.line("synchronise the context", || call!(s.cu, cuCtxSynchronize_2000()));
    Ok(())
}

fn arguments(t: &mut Lines, s: &Scene) -> Outcome {
    let launch = |function, parameters, extra| {
        call!(s.cu, cuLaunchKernel_4000(function, 1, 1, 1, 1, 1, 1, 0, s.stream, parameters, extra))
    };
    let mut values = Arguments::new([s.memory, 41]);
    let mut pointers = values.pointers();
    let mut block = Block::new(&[s.memory, 42]);
    t.line("params", || launch(s.store, pointers.as_mut_ptr(), null_mut()));
    t.line("  stored", || synchronised(s));
    t.line("params NULL", || launch(s.store, null_mut(), null_mut()));
    t.line("params for a kernel without", || launch(s.nothing, pointers.as_mut_ptr(), null_mut()));
    t.line("extra", || launch(s.store, null_mut(), block.extra(12).as_mut_ptr()));
    t.line("  stored", || synchronised(s));
    t.line("params and extra", || launch(s.store, pointers.as_mut_ptr(), block.extra(12).as_mut_ptr()));
    t.line("  stored", || synchronised(s));
    t.line("params and extra for a kernel without", || {
        launch(s.nothing, pointers.as_mut_ptr(), block.extra(0).as_mut_ptr())
    });
    t.line("params and an extra of no entries", || {
        launch(s.store, pointers.as_mut_ptr(), [null_mut()].as_mut_ptr())
    });
    let config = Shape::ONE.config(s.stream, &mut []);
    let launch_ex = |function, parameters, extra| {
        call!(s.cu, cuLaunchKernelEx_11060(&raw const config, function, parameters, extra))
    };
    t.line("Ex: params", || launch_ex(s.store, pointers.as_mut_ptr(), null_mut()));
    t.line("Ex: params NULL", || launch_ex(s.store, null_mut(), null_mut()));
    t.line("Ex: params and extra", || {
        launch_ex(s.store, pointers.as_mut_ptr(), block.extra(12).as_mut_ptr())
    });
    t.line("Ex: NULL function", || launch_ex(null_mut(), null_mut(), null_mut()));
    t.line("cooperative: params NULL", || {
        call!(s.cu, cuLaunchCooperativeKernel_9000(s.store, 1, 1, 1, 1, 1, 1, 0, s.stream, null_mut()))
    });
    t.line("sync", || s.synchronise());
    Ok(())
}

/// What was stored, after all work.
fn synchronised(s: &Scene) -> String {
    match s.synchronise() {
        answer if answer.succeeded() => s.stored(),
        answer => answer.to_string(),
    }
}

/// Arguments in one block, as `extra` takes them.
struct Block {
    bytes: Vec<u64>,
    size: usize,
}

const END: *mut c_void = null_mut();
const POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
const SIZE: *mut c_void = std::ptr::without_provenance_mut(2);

impl Block {
    /// These, and zeros after them.
    fn new(values: &[u64]) -> Self {
        let mut bytes = values.to_vec();
        bytes.resize(1024, 0);
        Self { bytes, size: 0 }
    }

    fn pointer(&mut self) -> *mut c_void {
        self.bytes.as_mut_ptr().cast()
    }

    fn size(&mut self, size: usize) -> *mut c_void {
        self.size = size;
        (&raw mut self.size).cast()
    }

    fn extra(&mut self, size: usize) -> [*mut c_void; 5] {
        [POINTER, self.pointer(), SIZE, self.size(size), END]
    }
}

fn packed(t: &mut Lines, s: &Scene) -> Outcome {
    let launch = |function, extra: &mut [*mut c_void]| {
        call!(
            s.cu,
            cuLaunchKernel_4000(function, 1, 1, 1, 1, 1, 1, 0, s.stream, null_mut(), extra.as_mut_ptr())
        )
    };
    let config = Shape::ONE.config(s.stream, &mut []);
    let launch_ex = |function, extra: &mut [*mut c_void]| {
        let config = &raw const config;
        call!(s.cu, cuLaunchKernelEx_11060(config, function, null_mut(), extra.as_mut_ptr()))
    };
    let mut block = Block::new(&[s.memory, 7]);
    for size in [0, 8, 11, 12, 13, 16, 24, 4096] {
        t.line(&format!("12 bytes of parameters: {size}"), || launch(s.store, &mut block.extra(size)));
    }
    for size in [8, 12, 13, 16] {
        t.line(&format!("Ex: 12 bytes of parameters: {size}"), || launch_ex(s.store, &mut block.extra(size)));
    }
    for size in [8, 12, 13, 14, 16, 20, 24] {
        t.line(&format!("13 bytes of parameters: {size}"), || launch(s.three, &mut block.extra(size)));
    }
    for size in [0, 1, 8] {
        t.line(&format!("no parameters: {size}"), || launch(s.nothing, &mut block.extra(size)));
    }
    let pointer = block.pointer();
    t.line("the size before the pointer", || {
        let size = block.size(12);
        launch(s.store, &mut [SIZE, size, POINTER, pointer, END])
    });
    t.line("no entries", || launch(s.store, &mut [END]));
    t.line("no entries, no parameters", || launch(s.nothing, &mut [END]));
    t.line("only a pointer", || launch(s.store, &mut [POINTER, pointer, END]));
    t.line("only a size", || {
        let size = block.size(12);
        launch(s.store, &mut [SIZE, size, END])
    });
    t.line("an unknown entry", || {
        let unknown = std::ptr::without_provenance_mut(99);
        launch(s.store, &mut [unknown, pointer, END])
    });
    t.line("sync", || s.synchronise());
    t.line("stored", || s.stored());
    Ok(())
}

/// An attribute, all of whose other bytes are 0.
fn attribute(id: i32, value: CUlaunchAttributeValue) -> CUlaunchAttribute {
    CUlaunchAttribute { id: CUlaunchAttributeID(id), pad: [0; 4], value }
}

const fn zero() -> CUlaunchAttributeValue {
    CUlaunchAttributeValue { pad: [0; 64] }
}

/// An attribute with a number at the beginning of its value.
fn number(id: i32, number: i32) -> CUlaunchAttribute {
    let mut value = zero();
    value.priority = number;
    attribute(id, value)
}

fn cluster(x: u32, y: u32, z: u32) -> CUlaunchAttribute {
    let mut value = zero();
    value.clusterDim = CUlaunchAttributeValue_clusterDim { x, y, z };
    attribute(4, value)
}

fn attributes(t: &mut Lines, s: &Scene) -> Outcome {
    let mut ask = |situation: &str, attributes: &mut [CUlaunchAttribute]| {
        t.line(situation, || s.with(Shape::row(4, 32), attributes));
    };
    ask("no attributes", &mut []);
    ask("ignored attribute", &mut [number(0, 5)]);
    for priority in [0, -5, 5, -9, i32::MAX, i32::MIN] {
        ask(&format!("priority {priority}"), &mut [number(8, priority)]);
    }
    for allowed in [0, 1, 2] {
        ask(&format!("programmatic serialisation {allowed}"), &mut [number(6, allowed)]);
    }
    for domain in [0, 1, 2, 7, -1] {
        let mut value = zero();
        value.memSyncDomain = CUlaunchMemSyncDomain(domain);
        ask(&format!("domain {domain}"), &mut [attribute(10, value)]);
    }
    for (default, remote) in [(0, 1), (1, 0), (4, 0), (255, 255)] {
        let mut value = zero();
        value.memSyncDomainMap.default_ = default;
        value.memSyncDomainMap.remote = remote;
        ask(&format!("domain map {default} {remote}"), &mut [attribute(9, value)]);
    }
    for carveout in [0, 50, 100, 101, -1, -2] {
        ask(&format!("carveout {carveout}"), &mut [number(14, carveout)]);
    }
    for policy in [0, 1, 2, 3, 4, 99] {
        ask(&format!("synchronisation policy {policy}"), &mut [number(3, policy)]);
    }
    for policy in [0, 1, 2, 99] {
        ask(&format!("cluster scheduling policy {policy}"), &mut [number(5, policy)]);
    }
    ask("the same attribute twice", &mut [number(8, 0), number(8, -1)]);
    ask("unknown attribute 77", &mut [number(77, 0)]);
    ask("unknown attribute after a known one", &mut [number(8, 0), number(77, 0)]);
    ask("65 ignored attributes", &mut [number(0, 0); 65]);
    events(t, s)?;
    t.line("sync", || s.synchronise());
    Ok(())
}

/// Attributes that name an event.
fn events(t: &mut Lines, s: &Scene) -> Outcome {
    const NO_TIMING: u32 = 2;
    const INTERPROCESS: u32 = 4;
    for (name, kind) in
        [("without timing", NO_TIMING), ("with timing", 0), ("interprocess", INTERPROCESS | NO_TIMING)]
    {
        let event = s.cu.event(kind)?;
        for (flags, at_start) in [(0, 0), (0, 1), (1, 0), (99, 0)] {
            let mut value = zero();
            value.programmaticEvent =
                CUlaunchAttributeValue_programmaticEvent { event, flags, triggerAtBlockStart: at_start };
            t.line(&format!("programmatic event {name}, flags {flags}, start {at_start}"), || {
                s.with(Shape::ONE, &mut [attribute(7, value)])
            });
        }
        let mut value = zero();
        value.launchCompletionEvent = CUlaunchAttributeValue_launchCompletionEvent { event, flags: 0 };
        t.line(&format!("completion event {name}"), || s.with(Shape::ONE, &mut [attribute(12, value)]));
        t.line("  query", || s.cu.settled(|| call!(s.cu, cuEventQuery_2000(event))));
    }
    Ok(())
}

fn clusters(t: &mut Lines, s: &Scene) -> Outcome {
    let mut ask = |situation: &str, shape: Shape, attribute: CUlaunchAttribute| {
        t.line(situation, || s.with(shape, &mut [attribute]));
    };
    let four = Shape::row(4, 32);
    ask("cluster 1 of 4", four, cluster(1, 1, 1));
    ask("cluster 2 of 4", four, cluster(2, 1, 1));
    ask("cluster 4 of 4", four, cluster(4, 1, 1));
    ask("cluster 3 of 4", four, cluster(3, 1, 1));
    ask("cluster 8 of 4", four, cluster(8, 1, 1));
    ask("cluster 0 of 4", four, cluster(0, 0, 0));
    ask("cluster 0 x 1 x 1 of 4", four, cluster(0, 1, 1));
    ask("cluster 1 x 2 of 4", four, cluster(1, 2, 1));
    ask("cluster 8 of 16", Shape::row(16, 32), cluster(8, 1, 1));
    ask("cluster 16 of 16", Shape::row(16, 32), cluster(16, 1, 1));
    ask("cluster 2 x 2 x 2 of 2 x 2 x 2", Shape { grid: [2; 3], ..four }, cluster(2, 2, 2));
    ask("cluster 2 of 4, block 1024", Shape::row(4, 1024), cluster(2, 1, 1));
    ask("cluster 2 of 4, block 1025", Shape::row(4, 1025), cluster(2, 1, 1));
    ask("cluster 2^31 of 4", four, cluster(1 << 31, 1, 1));
    let mut preferred = cluster(4, 1, 1);
    preferred.id = CUlaunchAttributeID(11);
    t.line("preferred cluster 4 with cluster 2 of 4", || s.with(four, &mut [cluster(2, 1, 1), preferred]));
    t.line("preferred cluster 4 of 4", || s.with(four, &mut [preferred]));
    t.line("cluster 2, cooperative", || s.with(four, &mut [cluster(2, 1, 1), number(2, 1)]));
    t.line("non-portable sizes allowed", || {
        call!(s.cu, cuFuncSetAttribute_9000(s.nothing, CUfunction_attribute(14), 1))
    });
    t.line("  cluster 16 of 16", || s.with(Shape::row(16, 32), &mut [cluster(16, 1, 1)]));
    t.line("  cluster 32 of 32", || s.with(Shape::row(32, 32), &mut [cluster(32, 1, 1)]));
    t.line("sync", || s.synchronise());
    Ok(())
}

fn cooperative(t: &mut Lines, s: &Scene) -> Outcome {
    let launch = |grid: u32, block: u32, shared: u32| {
        call!(
            s.cu,
            cuLaunchCooperativeKernel_9000(s.nothing, grid, 1, 1, block, 1, 1, shared, s.stream, null_mut())
        )
    };
    let mut multiprocessors = 0;
    let count = cushim::driver::sys::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    need!(s.cu, cuDeviceGetAttribute_2000(&raw mut multiprocessors, count, 0))?;
    let all = u32::try_from(multiprocessors).unwrap_or(1);
    t.line("cooperative, 1 block", || launch(1, 32, 0));
    t.line("cooperative, grid 0", || launch(0, 32, 0));
    t.line("cooperative, 2 blocks of 1024 for each multiprocessor", || launch(2 * all, 1024, 0));
    t.line("cooperative, one more", || launch(2 * all + 1, 1024, 0));
    t.line("cooperative, 32 blocks of 32 for each multiprocessor", || launch(32 * all, 32, 0));
    t.line("cooperative, one more", || launch(32 * all + 1, 32, 0));
    t.line("cooperative, 4 of 48 KiB for each multiprocessor", || launch(4 * all, 32, 49152));
    t.line("cooperative, one more", || launch(4 * all + 1, 32, 49152));
    t.line("cooperative, block 1025", || launch(1, 1025, 0));
    t.line("cooperative on the NULL stream", || {
        call!(s.cu, cuLaunchCooperativeKernel_9000(s.nothing, 1, 1, 1, 32, 1, 1, 0, null_mut(), null_mut()))
    });
    for value in [0, 1, 2] {
        t.line(&format!("attribute cooperative {value}"), || {
            s.with(Shape::row(4, 32), &mut [number(2, value)])
        });
    }
    t.line("attribute cooperative, too many", || s.with(Shape::row(2 * all + 1, 1024), &mut [number(2, 1)]));
    t.line("attribute cooperative 0, too many", || {
        s.with(Shape::row(2 * all + 1, 1024), &mut [number(2, 0)])
    });
    t.line("sync", || s.synchronise());
    Ok(())
}

/// Attributes by their numbers, known or not, with all of the value 0. Those that name an event are below.
fn by_number(t: &mut Lines, s: &Scene) -> Outcome {
    for id in [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 1000, -1] {
        t.line(&format!("attribute {id}, zeros"), || s.with(Shape::row(4, 32), &mut [number(id, 0)]));
    }
    t.line("sync", || s.synchronise());
    t.line("event is there", || yes(s.cu.event(0).is_ok()));
    Ok(())
}

type Question = (&'static str, fn(&Scene) -> Answer);

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("attribute 7 without an event", |s| s.with(Shape::ONE, &mut [number(7, 0)])),
    ("attribute 12 without an event", |s| s.with(Shape::ONE, &mut [number(12, 0)])),
    ("configuration NULL", |s| {
        call!(s.cu, cuLaunchKernelEx_11060(null(), s.nothing, null_mut(), null_mut()))
    }),
    ("one attribute at NULL", |s| {
        let mut config = Shape::ONE.config(s.stream, &mut []);
        (config.attrs, config.numAttrs) = (null_mut(), 1);
        call!(s.cu, cuLaunchKernelEx_11060(&raw const config, s.nothing, null_mut(), null_mut()))
    }),
    ("a pointer to an argument is NULL", |s| {
        let mut pointers = Arguments::new([s.memory, 1]).pointers();
        pointers[1] = null_mut();
        s.cu.launch(s.store, Shape::ONE, s.stream, &mut pointers)
    }),
    ("packed: the pointer is NULL", |s| {
        let mut size = 12usize;
        let mut extra = [POINTER, null_mut(), SIZE, (&raw mut size).cast(), END];
        let extra = extra.as_mut_ptr();
        call!(s.cu, cuLaunchKernel_4000(s.store, 1, 1, 1, 1, 1, 1, 0, s.stream, null_mut(), extra))
    }),
    ("packed: the place of the size is NULL", |s| {
        let mut block = Block::new(&[s.memory]);
        let mut extra = [POINTER, block.pointer(), SIZE, null_mut(), END];
        let extra = extra.as_mut_ptr();
        call!(s.cu, cuLaunchKernel_4000(s.store, 1, 1, 1, 1, 1, 1, 0, s.stream, null_mut(), extra))
    }),
    ("on a destroyed stream", |s| match call!(s.cu, cuStreamDestroy_4000(s.stream)) {
        answer if answer.succeeded() => s.cu.launch(s.nothing, Shape::ONE, s.stream, &mut []),
        answer => answer,
    }),
];
