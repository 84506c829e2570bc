//! Captures that reach over two devices.

use super::graph::{self, Exec, picture};
use super::scene::Scene;
use crate::driver::{Answer, Cu, Outcome, call, need};
use crate::sections::Section;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED, CUDA_MEMCPY3D_PEER_v1, CUDA_MEMCPY3D_v2, CUdeviceptr,
    CUmemorytype, CUstream,
};

pub(in crate::sections) const SECTION: Section =
    Section { name: "capture_two_devices", parts: 2 * STORIES.len(), devices: 2, run };

/// Both devices; the first's context is current.
struct Both {
    here: Scene,
    there: Scene,
}

type Story = fn(&mut Lines, &Both) -> Outcome;

const STORIES: &[[Story; 2]] = &[[copies, copies_there], [forked, launched_elsewhere], [pooled, others]];

/// Two stories in a part without access between the contexts, and in one with.
fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let there = Scene::of_device(cu, 1)?;
    let here = Scene::of_device(cu, 0)?;
    let both = Both { here, there };
    let with_access = part % 2 == 1;
    if with_access {
        need!(cu, cuCtxEnablePeerAccess_4000(there.context, 0))?;
        both.enter(&there)?;
        need!(cu, cuCtxEnablePeerAccess_4000(here.context, 0))?;
        both.enter(&here)?;
    }
    for story in STORIES[part / 2] {
        t.line("between the two", || if with_access { "with access" } else { "without access" });
        story(t, &both)?;
    }
    Ok(())
}

impl Both {
    fn enter(&self, scene: &Scene) -> Outcome {
        need!(scene.cu, cuCtxSetCurrent_4000(scene.context))
    }

    /// The first number of a device's memory; the current context does not matter.
    fn number(&self, scene: &Scene) -> Answer {
        scene.number(0)
    }

    /// Sets the memory of both to other numbers.
    fn prepare(&self) -> Outcome {
        for (scene, value) in [(&self.there, 1), (&self.here, 7)] {
            self.enter(scene)?;
            scene.clear();
            need!(scene.cu, cuMemsetD32_3020(scene.memory, value, 16))?;
            need!(scene.cu, cuCtxSynchronize_2000())?;
        }
        Ok(())
    }
}

/// Ways to copy 64 bytes from one to the other in a stream.
type Way = (&'static str, fn(&Both, CUdeviceptr, CUdeviceptr, CUstream) -> Answer);

const WAYS: [Way; 6] = [
    ("cuMemcpyDtoDAsync", |b, to, from, stream| {
        call!(b.here.cu, cuMemcpyDtoDAsync_3020(to, from, 64, stream))
    }),
    ("cuMemcpyAsync", |b, to, from, stream| call!(b.here.cu, cuMemcpyAsync_4000(to, from, 64, stream))),
    ("cuMemcpyPeerAsync", |b, to, from, stream| {
        let (there, here) = (b.there.context, b.here.context);
        call!(b.here.cu, cuMemcpyPeerAsync_4000(to, there, from, here, 64, stream))
    }),
    ("cuMemcpy3DPeerAsync", |b, to, from, stream| {
        let copy = CUDA_MEMCPY3D_PEER_v1 {
            srcMemoryType: CU_MEMORYTYPE_DEVICE,
            srcDevice: from,
            srcContext: b.here.context,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstDevice: to,
            dstContext: b.there.context,
            WidthInBytes: 64,
            Height: 1,
            Depth: 1,
            ..zeroed()
        };
        call!(b.here.cu, cuMemcpy3DPeerAsync_4000(&raw const copy, stream))
    }),
    ("cuMemcpy3DAsync", |b, to, from, stream| boxed(b, to, from, stream, CU_MEMORYTYPE_DEVICE)),
    ("cuMemcpy3DAsync, unified", |b, to, from, stream| boxed(b, to, from, stream, CU_MEMORYTYPE_UNIFIED)),
];

fn zeroed<T: Copy>() -> T {
    // SAFETY: called for parameters of copies only, in which zero is a value of every field.
    unsafe { std::mem::zeroed() }
}

fn boxed(b: &Both, to: CUdeviceptr, from: CUdeviceptr, stream: CUstream, kind: CUmemorytype) -> Answer {
    let copy = CUDA_MEMCPY3D_v2 {
        srcMemoryType: kind,
        srcDevice: from,
        dstMemoryType: kind,
        dstDevice: to,
        WidthInBytes: 64,
        Height: 1,
        Depth: 1,
        ..zeroed()
    };
    call!(b.here.cu, cuMemcpy3DAsync_3020(&raw const copy, stream))
}

/// Ends a capture, tells the graph, and runs it.
fn done(t: &mut Lines, s: &Scene, stream: CUstream, launch: CUstream) {
    let graph = s.finish(t, stream);
    t.line("  runs", || graph::replay(&s.cu, graph, launch));
    graph::destroy(&s.cu, graph);
}

/// From the first's memory to the second's.
fn copies(t: &mut Lines, b: &Both) -> Outcome {
    copied(t, b, b.here.stream, &b.here, "the first's stream")
}

/// The same in the second's stream.
fn copies_there(t: &mut Lines, b: &Both) -> Outcome {
    copied(t, b, b.there.stream, &b.there, "the second's stream")
}

fn copied(t: &mut Lines, b: &Both, stream: CUstream, of: &Scene, name: &str) -> Outcome {
    for (way, copy) in WAYS {
        b.prepare()?;
        b.enter(&b.here)?;
        t.line(&format!("{way} in {name}"), || {
            of.begin().and(|| copy(b, b.there.memory, b.here.memory, stream))
        });
        t.line("  status", || of.status(stream));
        done(t, of, stream, stream);
        t.line("  at the second", || b.number(&b.there));
    }
    Ok(())
}

/// A capture that forks to the second's stream.
fn forked(t: &mut Lines, b: &Both) -> Outcome {
    let Both { here, there } = b;
    b.prepare()?;
    here.clear();
    b.enter(&b.here)?;
    t.line("forked to the second's stream", || {
        here.begin().and(|| here.append(here.stream, 1)).and(|| here.fork(here.stream, there.side))
    });
    t.line("  its status", || here.status(there.side));
    t.line("  its kernel there", || there.append(there.side, 2));
    t.line("  a memset there", || {
        call!(there.cu, cuMemsetD32Async_3020(there.memory + 64, 5, 1, there.side))
    });
    t.line("  a copy from there to here", || {
        call!(here.cu, cuMemcpyDtoDAsync_3020(here.memory + 64, there.memory + 64, 4, there.side))
    });
    t.line("  joined by the first's event", || here.join(there.side, here.stream));
    t.line("  joined by the second's event", || {
        there.record(there.joined, there.side).and(|| here.wait(here.stream, there.joined))
    });
    t.line("  statuses", || format!("{}, {}", here.status(here.stream), here.status(there.side)));
    t.line("  launch", || here.append(here.stream, 3));
    let graph = here.finish(t, here.stream);
    let _ = call!(there.cu, cuStreamSynchronize_2000(there.side));
    let exec = Exec::of(&here.cu, graph, 0);
    t.line("  instantiated", || exec.made.clone());
    for (name, stream) in [("the first's", here.third), ("the second's", there.third)] {
        t.line(&format!("  runs in {name} stream"), || exec.run(stream));
        t.line("  numbers", || format!("{}, {}", b.number(here), b.number(there)));
        t.line("  copied", || here.number(16));
    }
    graph::destroy(&here.cu, graph);
    Ok(())
}

/// Work of one device captured in the other's stream, or with the other's context current.
fn launched_elsewhere(t: &mut Lines, b: &Both) -> Outcome {
    let Both { here, there } = b;
    b.prepare()?;
    b.enter(here)?;
    t.line("the second's kernel in the first's stream", || here.begin().and(|| there.append(here.stream, 2)));
    t.line("  status", || here.status(here.stream));
    done(t, here, here.stream, here.third);
    t.line("a memset of the second's memory", || {
        here.begin().and(|| call!(here.cu, cuMemsetD32Async_3020(there.memory, 4, 1, here.stream)))
    });
    t.line("  status", || here.status(here.stream));
    done(t, here, here.stream, here.third);
    t.line("  at the second", || b.number(there));
    t.line("the second's context current: begin, launch", || {
        let entered = call!(here.cu, cuCtxSetCurrent_4000(there.context));
        entered.and(|| here.begin()).and(|| here.append(here.stream, 3))
    });
    t.line("  cuMemAlloc of the second", || {
        let mut address = 0;
        call!(there.cu, cuMemAlloc_3020(&raw mut address, 64))
    });
    t.line("  cuCtxSynchronize of the second", || call!(there.cu, cuCtxSynchronize_2000()));
    t.line("  status", || here.status(here.stream));
    done(t, here, here.stream, here.third);
    b.enter(here)?;
    t.line("the second's event recorded in the first's stream", || {
        here.begin().and(|| here.record(there.event, here.stream))
    });
    t.line("  status", || here.status(here.stream));
    done(t, here, here.stream, here.third);
    t.line("external record of the second's event", || {
        here.begin().and(|| call!(here.cu, cuEventRecordWithFlags_11010(there.event, here.stream, 1)))
    });
    t.line("  status", || here.status(here.stream));
    done(t, here, here.stream, here.third);
    Ok(())
}

/// Memory of the second's pool.
fn pooled(t: &mut Lines, b: &Both) -> Outcome {
    let Both { here, there } = b;
    b.prepare()?;
    b.enter(there)?;
    let mut address = 0;
    need!(there.cu, cuMemAllocAsync_11020(&raw mut address, 64, there.third))?;
    need!(there.cu, cuMemsetD32Async_3020(address, 6, 16, there.third))?;
    need!(there.cu, cuStreamSynchronize_2000(there.third))?;
    for (name, current) in [("first", here), ("second", there)] {
        for (way, copy) in [WAYS[0], WAYS[1]] {
            b.enter(current)?;
            t.line(&format!("the {name} current: {way} from the second's pool"), || {
                here.begin().and(|| copy(b, here.memory, address, here.stream))
            });
            t.line("  status", || here.status(here.stream));
            done(t, here, here.stream, here.third);
            b.enter(here)?;
            t.line("  number", || b.number(here));
        }
    }
    b.enter(here)?;
    t.line("allocated in the second's stream of a fork", || {
        let mut inside = 0;
        here.begin()
            .and(|| here.append(here.stream, 1))
            .and(|| here.fork(here.stream, there.side))
            .and(|| call!(there.cu, cuMemAllocAsync_11020(&raw mut inside, 64, there.side)))
            .and(|| call!(there.cu, cuMemsetD32Async_3020(inside, 3, 1, there.side)))
            .and(|| call!(there.cu, cuMemFreeAsync_11020(inside, there.side)))
            .and(|| here.join(there.side, here.stream))
    });
    t.line("  statuses", || format!("{}, {}", here.status(here.stream), here.status(there.side)));
    if here.status(there.side).number() != "0" {
        let _ = there.record(there.joined, there.side).and(|| here.wait(here.stream, there.joined));
    }
    done(t, here, here.stream, here.third);
    Ok(())
}

/// What a capture on the first forbids on the second.
fn others(t: &mut Lines, b: &Both) -> Outcome {
    use super::{MODES, begin};
    let Both { here, there } = b;
    type Call = (&'static str, fn(&Scene) -> Answer);
    const CALLS: [Call; 5] = [
        ("cuMemAlloc", |s| {
            let mut address = 0;
            call!(s.cu, cuMemAlloc_3020(&raw mut address, 64))
        }),
        ("cuStreamQuery", |s| call!(s.cu, cuStreamQuery_2000(s.third))),
        ("cuCtxSynchronize", |s| call!(s.cu, cuCtxSynchronize_2000())),
        ("cuMemcpyHtoD", |s| call!(s.cu, cuMemcpyHtoD_3020(s.memory, s.pinned, 64))),
        ("cuMemsetD8", |s| call!(s.cu, cuMemsetD8_3020(s.memory, 0, 64))),
    ];
    for (name, mode) in MODES {
        for (call, ask) in CALLS {
            t.line(&format!("{name}: the first captures, the second's {call}"), || {
                let begun = begin(&here.cu, here.stream, mode);
                let entered = begun.and(|| call!(here.cu, cuCtxSetCurrent_4000(there.context)));
                let answer = entered.and(|| ask(there));
                let _ = call!(here.cu, cuCtxSetCurrent_4000(here.context));
                format!("{answer}, {}, {}", here.status(here.stream), here.end(here.stream).0)
            });
        }
    }
    t.line("a capture on each at a time", || {
        let (one, other) = (here.begin(), there.begin());
        let launched =
            one.and(|| other).and(|| here.append(here.stream, 1)).and(|| there.append(there.stream, 2));
        let (first, second) = (here.end(here.stream), there.end(there.stream));
        format!("{launched}; {}; {}", picture(&here.cu, first.1), picture(&here.cu, second.1))
    });
    Ok(())
}
