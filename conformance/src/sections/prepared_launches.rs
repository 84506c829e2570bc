//! The oldest way of launching: what is set of a function, and launches that name it and a grid.

use super::Section;
use crate::code::KERNELS;
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute, CUmodule, CUstream, CUstreamCaptureMode,
};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "prepared_launches", parts: PARTS.len() + OUTSIDE.len(), devices: 1, run };

const PARTS: &[fn(&mut Lines, &Scene) -> Outcome] = &[
    blocks,
    shared,
    sizes,
    offsets,
    textures,
    unprepared,
    without_arguments,
    launches,
    grids,
    again,
    captured,
    kernels,
    contexts,
    unloaded,
];

/// Offsets that a driver may not survive.
const OUTSIDE: [i32; 4] = [-4, 32_761, 1 << 20, i32::MAX];

struct Scene {
    cu: Cu,
    module: CUmodule,
    nothing: CUfunction,
    store: CUfunction,
    stream: CUstream,
    memory: CUdeviceptr,
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let module = cu.module(KERNELS)?;
    let scene = Scene {
        cu: *cu,
        module,
        nothing: cu.function(module, c"nothing")?,
        store: cu.function(module, c"store")?,
        stream: cu.stream(NON_BLOCKING)?,
        memory: cu.memory(64)?,
    };
    match PARTS.get(part) {
        Some(run) => run(t, &scene)?,
        None => offset(t, &scene, OUTSIDE[part - PARTS.len()]),
    }
    Ok(())
}

impl Scene {
    fn block(&self, function: CUfunction, [x, y, z]: [i32; 3]) -> Answer {
        call!(self.cu, cuFuncSetBlockShape_2000(function, x, y, z))
    }

    fn shared(&self, function: CUfunction, bytes: u32) -> Answer {
        call!(self.cu, cuFuncSetSharedSize_2000(function, bytes))
    }

    fn size(&self, function: CUfunction, bytes: u32) -> Answer {
        call!(self.cu, cuParamSetSize_2000(function, bytes))
    }

    fn number(&self, function: CUfunction, offset: i32, value: u32) -> Answer {
        call!(self.cu, cuParamSeti_2000(function, offset, value))
    }

    fn float(&self, function: CUfunction, offset: i32, value: f32) -> Answer {
        call!(self.cu, cuParamSetf_2000(function, offset, value))
    }

    fn bytes(&self, function: CUfunction, offset: i32, bytes: &mut [u8]) -> Answer {
        let (start, size) = (bytes.as_mut_ptr().cast(), bytes.len() as u32);
        call!(self.cu, cuParamSetv_2000(function, offset, start, size))
    }

    fn launch(&self, function: CUfunction) -> Answer {
        call!(self.cu, cuLaunch_2000(function))
    }

    fn grid(&self, function: CUfunction, width: i32, height: i32) -> Answer {
        call!(self.cu, cuLaunchGrid_2000(function, width, height))
    }

    fn grid_in(&self, stream: CUstream, function: CUfunction, width: i32, height: i32) -> Answer {
        call!(self.cu, cuLaunchGridAsync_2000(function, width, height, stream))
    }

    /// Lets a kernel that stores a value have its arguments, and blocks of one thread.
    fn prepare(&self, function: CUfunction, value: u32) -> Answer {
        self.block(function, [1, 1, 1])
            .and(|| self.size(function, 12))
            .and(|| self.bytes(function, 0, &mut self.memory.to_ne_bytes()))
            .and(|| self.number(function, 8, value))
    }

    fn synchronise(&self) -> Answer {
        call!(self.cu, cuCtxSynchronize_2000())
    }

    /// The answer, that of the end of the work, and what is at the beginning of the memory, which is 0 afterwards.
    fn done(&self, answer: Answer) -> Answer {
        let (end, mut value) = (self.synchronise(), 0u32);
        let read = call!(self.cu, cuMemcpyDtoH_3020((&raw mut value).cast(), self.memory, 4));
        let _ = call!(self.cu, cuMemsetD32_3020(self.memory, 0, 1)).and(|| self.synchronise());
        Answer::all([answer, end, read.then(|| value)])
    }
}

/// Blocks that can be set.
fn blocks(t: &mut Lines, s: &Scene) -> Outcome {
    for block in [
        [1, 1, 1],
        [0, 1, 1],
        [1, 0, 1],
        [1, 1, 0],
        [-1, 1, 1],
        [1024, 1, 1],
        [1025, 1, 1],
        [1, 1025, 1],
        [1, 1, 64],
        [1, 1, 65],
        [1024, 2, 1],
        [i32::MAX, i32::MAX, i32::MAX],
    ] {
        t.line(&format!("block {block:?}"), || s.block(s.nothing, block));
        t.line("  launch", || s.done(s.launch(s.nothing)));
    }
    t.line("block of NULL", || s.block(null_mut(), [1, 1, 1]));
    let limited = s.cu.function(s.module, c"limited")?;
    t.line("a kernel of at most 64 threads: block of 65", || s.block(limited, [65, 1, 1]));
    t.line("  launch", || s.done(s.launch(limited)));
    Ok(())
}

fn shared(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("block", || s.block(s.nothing, [1, 1, 1]));
    for bytes in [0, 1, 49_152, 49_153, 232_448, 232_449, 1 << 30, u32::MAX] {
        t.line(&format!("shared {bytes}"), || s.shared(s.nothing, bytes));
        t.line("  launch", || s.done(s.launch(s.nothing)));
    }
    t.line("shared of NULL", || s.shared(null_mut(), 0));
    t.line("shared 1000: the function's own", || {
        let mut bytes = -1;
        let own = CUfunction_attribute(1);
        s.shared(s.nothing, 1000)
            .and(|| call!(s.cu, cuFuncGetAttribute_2020(&raw mut bytes, own, s.nothing)).then(|| bytes))
    });
    t.line("shared 60000, then allowed: launch", || {
        let most = CUfunction_attribute(8);
        let first = s.shared(s.nothing, 60_000);
        let allowed = call!(s.cu, cuFuncSetAttribute_9000(s.nothing, most, 60_000));
        Answer::all([first, allowed, s.done(s.launch(s.nothing))])
    });
    Ok(())
}

/// Sizes of all arguments.
fn sizes(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("prepared", || s.prepare(s.store, 5));
    for bytes in [12, 11, 16, 8, 4, 0, 4096, 4097, 32_764, 32_765, u32::MAX] {
        t.line(&format!("size {bytes}"), || s.size(s.store, bytes));
        // A kernel without its address would end the context.
        if bytes >= 8 {
            t.line("  launch", || s.done(s.launch(s.store)));
        }
    }
    t.line("size 0: launch", || s.size(s.store, 0).and(|| s.done(s.launch(s.store))));
    t.line("size of NULL", || s.size(null_mut(), 4));
    t.line("size 8 of a kernel without parameters", || s.size(s.nothing, 8));
    t.line("  launch", || s.block(s.nothing, [1, 1, 1]).and(|| s.done(s.launch(s.nothing))));
    Ok(())
}

fn offset(t: &mut Lines, s: &Scene, offset: i32) {
    t.line(&format!("number, float, bytes at {offset}"), || {
        let bytes = s.bytes(s.store, offset, &mut [1; 4]);
        Answer::all([s.number(s.store, offset, 1), s.float(s.store, offset, 1.0), bytes])
    });
}

/// Where arguments can be set.
fn offsets(t: &mut Lines, s: &Scene) -> Outcome {
    for at in [0, 1, 8, 9, 12, 16, 4092, 4096, 32_760] {
        offset(t, s, at);
    }
    t.line("of NULL: number, float, bytes", || {
        let none = null_mut();
        Answer::all([s.number(none, 0, 1), s.float(none, 0, 1.0), s.bytes(none, 0, &mut [1; 4])])
    });
    t.line("8 bytes from NULL", || call!(s.cu, cuParamSetv_2000(s.store, 0, null_mut(), 8)));
    t.line("0 bytes from NULL", || call!(s.cu, cuParamSetv_2000(s.store, 0, null_mut(), 0)));
    t.line("0 bytes", || s.bytes(s.store, 0, &mut []));
    t.line("number of a kernel without parameters", || s.number(s.nothing, 0, 1));
    Ok(())
}

fn textures(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("texture NULL of NULL, default unit", || {
        call!(s.cu, cuParamSetTexRef_2000(null_mut(), -1, null_mut()))
    });
    t.line("texture NULL, unit 0", || call!(s.cu, cuParamSetTexRef_2000(s.store, 0, null_mut())));
    t.line("texture NULL, default unit", || call!(s.cu, cuParamSetTexRef_2000(s.store, -1, null_mut())));
    Ok(())
}

/// Launches of what nobody has set.
fn unprepared(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("no block: launch", || s.done(s.launch(s.nothing)));
    t.line("no block: grid", || s.done(s.grid(s.nothing, 2, 2)));
    t.line("launch NULL", || s.launch(null_mut()));
    t.line("grid of NULL", || s.grid(null_mut(), 1, 1));
    t.line("grid of NULL in a stream", || s.grid_in(s.stream, null_mut(), 1, 1));
    Ok(())
}

/// The end of the context: the address is 0.
fn without_arguments(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("no arguments: launch", || Answer::all([s.launch(s.store), s.synchronise()]));
    Ok(())
}

fn launches(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("prepared", || s.prepare(s.store, 11));
    t.line("launch", || s.done(s.launch(s.store)));
    t.line("again", || s.done(s.launch(s.store)));
    t.line("grid 3 2", || s.done(s.grid(s.store, 3, 2)));
    t.line("another value", || s.number(s.store, 8, 12));
    for (name, stream) in
        [("a stream", s.stream), ("legacy", LEGACY), ("per-thread", PER_THREAD), ("NULL", null_mut())]
    {
        t.line(&format!("grid in {name}"), || s.done(s.grid_in(stream, s.store, 2, 5)));
    }
    t.line("a value that is set after the launch", || {
        let launched = s.grid_in(s.stream, s.store, 1, 1);
        let set = s.number(s.store, 8, 13);
        Answer::all([set, s.done(launched)])
    });
    t.line("launch", || s.done(s.launch(s.store)));
    Ok(())
}

/// Grids that there are not.
fn grids(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("prepared", || s.prepare(s.store, 3));
    for (width, height) in [(0, 1), (1, 0), (-1, 1), (1, -1), (1, 65_535), (1, 65_536), (65_536, 1)] {
        t.line(&format!("grid {width} {height}"), || s.done(s.grid(s.store, width, height)));
    }
    Ok(())
}

/// Other ways of launching, and of naming the function.
fn again(t: &mut Lines, s: &Scene) -> Outcome {
    t.line("prepared", || s.prepare(s.store, 21));
    t.line("the function looked up again: launch", || match s.cu.function(s.module, c"store") {
        Ok(same) => s.done(s.launch(same)),
        Err(stop) => stop.into(),
    });
    t.line("another launch between", || {
        let mut arguments = crate::code::Arguments::new([s.memory, 22]);
        let launched = s.cu.launch(s.store, crate::code::Shape::ONE, s.stream, &mut arguments.pointers());
        s.done(launched)
    });
    t.line("launch", || s.done(s.launch(s.store)));
    Ok(())
}

/// Launches beside captures, and in them.
fn captured(t: &mut Lines, s: &Scene) -> Outcome {
    type Asked = (&'static str, fn(&Scene) -> Answer);
    const ASKED: [Asked; 4] = [
        ("grid in a capture", |s| s.grid_in(s.stream, s.store, 3, 2)),
        ("grid 0 0 in a capture", |s| s.grid_in(s.stream, s.store, 0, 0)),
        ("launch while another stream captures", |s| s.launch(s.store)),
        ("set while a stream captures", |s| s.prepare(s.store, 32)),
    ];
    t.line("prepared", || s.prepare(s.store, 31));
    for mode in [0, 1, 2] {
        for (name, ask) in ASKED {
            let mut graph = null_mut();
            need!(s.cu, cuStreamBeginCapture_10010(s.stream, CUstreamCaptureMode(mode)))?;
            t.line(&format!("mode {mode}: {name}"), || ask(s));
            t.line("  end", || call!(s.cu, cuStreamEndCapture_10000(s.stream, &raw mut graph)));
        }
    }
    Ok(())
}

/// Kernels of libraries.
fn kernels(t: &mut Lines, s: &Scene) -> Outcome {
    let kernel = s.cu.kernel(s.cu.library(KERNELS)?, c"store")?;
    t.line("a library's kernel: prepared", || s.cu.as_function(kernel, |function| s.prepare(function, 41)));
    t.line("  launch", || s.cu.as_function(kernel, |function| s.done(s.launch(function))));
    Ok(())
}

/// Where another context is current, or none.
fn contexts(t: &mut Lines, s: &Scene) -> Outcome {
    let mut own = null_mut();
    need!(s.cu, cuCtxGetCurrent_4000(&raw mut own))?;
    t.line("its own context: prepared", || s.prepare(s.store, 50));
    s.cu.context()?;
    t.line("another context: prepared", || s.prepare(s.store, 51));
    t.line("  launch", || s.launch(s.store));
    t.line("  grid in the function's stream", || s.grid_in(s.stream, s.store, 1, 1));
    // The one behind it is its own.
    for _ in 0..2 {
        need!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
    }
    t.line("no context: prepared", || s.prepare(s.store, 52));
    t.line("  shared", || s.shared(s.store, 0));
    t.line("  launch", || s.launch(s.store));
    t.line("  grid in the function's stream", || s.grid_in(s.stream, s.store, 1, 1));
    need!(s.cu, cuCtxSetCurrent_4000(own))?;
    t.line("its own again: launch", || s.done(s.launch(s.store)));
    Ok(())
}

fn unloaded(t: &mut Lines, s: &Scene) -> Outcome {
    need!(s.cu, cuModuleUnload_2000(s.module))?;
    t.line("unloaded: block", || s.block(s.store, [1, 1, 1]));
    Ok(())
}
