//! Memory of the host and arguments: when they are read.

use super::super::graph::{self, Exec, replay};
use super::super::scene::{SIZE, Scene};
use crate::code::Shape;
use crate::driver::{Answer, Outcome, call, yes};
use crate::transcript::Lines;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::ThreadId;

/// Memory of the program, for ever, registered if that is wanted.
fn host(s: &Scene, registered: bool) -> *mut c_void {
    let host = vec![0u8; SIZE].leak().as_mut_ptr().cast();
    if registered {
        let _ = call!(s.cu, cuMemHostRegister_6050(host, SIZE, 0));
    }
    host
}

fn write(host: *mut c_void, size: usize, value: u8) {
    // SAFETY: the memory lives as long as the process, has room for so much, and no copy is under way.
    unsafe { host.cast::<u8>().write_bytes(value, size) }
}

fn read(host: *mut c_void) -> u8 {
    // SAFETY: as above.
    unsafe { host.cast::<u8>().read_volatile() }
}

/// The first byte of the scene's memory.
fn first(s: &Scene) -> Answer {
    let mut value = 0u8;
    call!(s.cu, cuMemcpyDtoH_3020((&raw mut value).cast(), s.memory, 1)).then(|| value)
}

/// The source of a copy is written anew at each step: 1 before the capture, 2 after the call, 3 after the end, 4 when it is
/// instantiated, 5 after a launch.
pub(super) fn sources(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for size in [4, 64, 4096, SIZE] {
        for (name, from) in
            [("pageable", host(s, false)), ("registered", host(s, true)), ("pinned", s.pinned)]
        {
            s.clear();
            write(from, size, 1);
            t.line(&format!("copy of {size} bytes, {name}"), || {
                s.begin().and(|| call!(cu, cuMemcpyHtoDAsync_3020(s.memory, from, size, s.stream)))
            });
            write(from, size, 2);
            let graph = s.end(s.stream).1;
            write(from, size, 3);
            let exec = Exec::of(cu, graph, 0);
            write(from, size, 4);
            t.line("  runs", || exec.run(s.third));
            t.line("  what was copied", || first(s));
            write(from, size, 5);
            t.line("  runs again", || exec.run(s.third));
            t.line("  what was copied", || first(s));
            graph::destroy(cu, graph);
        }
    }
    Ok(())
}

/// Where a copy goes to, at each launch.
pub(super) fn destinations(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (name, to) in [("pageable", host(s, false)), ("registered", host(s, true)), ("pinned", s.pinned)] {
        let _ = call!(cu, cuMemsetD8_3020(s.memory, 6, 64)).and(|| s.settle());
        write(to, 64, 1);
        t.line(&format!("copy to {name}"), || {
            s.begin().and(|| call!(cu, cuMemcpyDtoHAsync_3020(to, s.memory, 64, s.stream)))
        });
        let graph = s.end(s.stream).1;
        t.line("  after the end", || read(to).to_string());
        t.line("  runs", || replay(cu, graph, s.third));
        t.line("  what was copied", || read(to).to_string());
        graph::destroy(cu, graph);
    }
    Ok(())
}

/// Arguments of kernels, and what addresses in them point to.
pub(super) fn arguments(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let (address, digit) = (Cell::new(s.memory), Cell::new(1u64));
    let launch = || {
        let mut pointers = [address.as_ptr().cast(), digit.as_ptr().cast()];
        cu.launch(s.append, Shape::ONE, s.stream, &mut pointers)
    };
    t.line("arguments changed after the call", || {
        let first = s.begin().and(launch);
        digit.set(2);
        first.and(launch)
    });
    digit.set(3);
    address.set(s.memory + 1024);
    s.done_and_run(t, s.stream);

    t.line("memory changed before the launch", || s.begin().and(|| s.append(s.stream, 1)));
    let graph = s.finish(t, s.stream);
    t.line("  set to 8, runs", || {
        call!(cu, cuMemsetD32_3020(s.memory, 8, 1)).and(|| s.settle()).and(|| replay(cu, graph, s.third))
    });
    t.line("  digits", || s.number(0));
    graph::destroy(cu, graph);
    Ok(())
}

static CALLS: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicU32 = AtomicU32::new(0);
static THREAD: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Notes what is at the address.
extern "C" fn look(at: *mut c_void) {
    CALLS.fetch_add(1, Ordering::SeqCst);
    // SAFETY: page-locked memory, which lives as long as the process; the copy to it is done.
    SEEN.store(unsafe { at.cast::<u32>().read_volatile() }, Ordering::SeqCst);
    *THREAD.lock().expect("nothing panics with the lock") = Some(std::thread::current().id());
}

/// Host functions between other nodes.
pub(super) fn host_functions(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let calls = || CALLS.load(Ordering::SeqCst).to_string();
    write(s.pinned, 4, 0);
    t.line("kernels, a copy to the host, a host function", || {
        s.begin()
            .and(|| s.append(s.stream, 1))
            .and(|| s.append(s.stream, 2))
            .and(|| call!(cu, cuMemcpyDtoHAsync_3020(s.pinned, s.memory, 4, s.stream)))
            .and(|| call!(cu, cuLaunchHostFunc_10000(s.stream, Some(look), s.pinned)))
            .and(|| s.append(s.stream, 3))
    });
    t.line("  calls meanwhile", calls);
    let graph = s.finish(t, s.stream);
    t.line("  calls after the end", calls);
    s.clear();
    let exec = Exec::of(cu, graph, 0);
    for _ in 0..2 {
        t.line("  runs", || exec.run(s.third));
        t.line("  calls", calls);
        t.line("  seen", || SEEN.load(Ordering::SeqCst).to_string());
        t.line("  digits", || s.number(0));
    }
    t.line("  on another thread", || {
        let thread = *THREAD.lock().expect("nothing panics with the lock");
        yes(thread.is_some_and(|thread| thread != std::thread::current().id()))
    });
    t.line("a host function in a fork, joined", || {
        s.begin()
            .and(|| s.append(s.stream, 1))
            .and(|| s.fork(s.stream, s.side))
            .and(|| call!(cu, cuLaunchHostFunc_10000(s.side, Some(look), s.pinned)))
            .and(|| s.join(s.side, s.stream))
    });
    t.line("  end", || {
        let (ended, other) = s.end(s.stream);
        let ran = replay(cu, other, s.third);
        graph::destroy(cu, other);
        format!("{ended}, {ran}")
    });
    t.line("  calls", calls);
    t.line("launched in legacy", || exec.run(null_mut()));
    t.line("  calls", calls);
    graph::destroy(cu, graph);
    Ok(())
}
