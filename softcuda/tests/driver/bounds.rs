//! Where memory ends: for calls and kernels at its last byte, or where a GPU's does, and where the machine has no more.

use crate::common::graphs::function;
use crate::common::managed::managed;
use crate::common::streams::{ILLEGAL_ADDRESS, free_stream, nop, pinned, synchronize};
use crate::common::{INVALID_VALUE, Library, OUT_OF_MEMORY, alone, at, first, with_context};
use std::ffi::CStr;

const WIDE: (&str, &str) = ("SOFTCUDA_BOUNDS", "allocation");

/// Adds one to the eight bytes at its address.
const ADD: &CStr = c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry add(.param .u64 p) {\n\
    .reg .u64 %p, %x;\nld.param.u64 %p, [p];\nld.global.u64 %x, [%p];\nadd.u64 %x, %x, 1;\n\
    st.global.u64 [%p], %x;\nret;\n}\n";

/// What becomes of a kernel that uses eight bytes at the address.
fn used(cu: &Library, address: u64) -> i32 {
    let (add, stream) = (function(cu, ADD, c"add"), free_stream(cu));
    let config = [1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, stream, 0, 0];
    let arguments = [&raw const address];
    assert_eq!(cu.call("cuLaunchKernelEx", &[first(&config), add, first(&arguments), 0]), 0);
    synchronize(cu, stream)
}

fn in_stream(cu: &Library, size: u64) -> u64 {
    let (mut pointer, stream) = (0u64, free_stream(cu));
    assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut pointer), size, stream]), 0);
    assert_eq!(synchronize(cu, stream), 0);
    pointer
}

fn registered(cu: &Library, size: u64) -> u64 {
    let pages = Box::leak(vec![0u8; 1 << 14].into_boxed_slice());
    let start = (pages.as_ptr() as u64).next_multiple_of(4096);
    assert_eq!(cu.call("cuMemHostRegister_v2", &[start, size, 0]), 0);
    start
}

/// A kind of memory, and how it is allocated.
type Kind = (&'static str, fn(&Library, u64) -> u64);

const KINDS: [Kind; 5] = [
    ("plain", |cu, size| cu.allocate(size).1),
    ("in a stream", in_stream),
    ("page-locked", |cu, size| pinned(cu, size as usize).as_ptr() as u64),
    ("registered", registered),
    ("managed", managed),
];

#[test]
fn kernels_end_where_their_memory_does() {
    for (kind, allocate) in KINDS {
        for beyond in ["96", "104", "512", "4088"] {
            let case = [("TEST_KIND", kind), ("TEST_OFFSET", beyond)];
            alone("kernels_end_where_their_memory_does", &case, || {
                let cu = with_context();
                let (address, beyond) = (allocate(&cu, 100), beyond.parse::<u64>().expect("a number"));
                assert_eq!(used(&cu, address + 88), 0, "{kind}");
                assert_eq!(used(&cu, address + beyond), ILLEGAL_ADDRESS, "{kind}, {beyond}");
            });
        }
    }
}

/// To the end of the block of 2 MiB, or of the host's page, across the end of the allocation.
#[test]
fn kernels_end_where_a_gpu_does() {
    const NAME: &str = "kernels_end_where_a_gpu_does";
    for (kind, allocate) in KINDS {
        alone(NAME, &[WIDE, ("TEST_KIND", kind)], || {
            let cu = with_context();
            let address = allocate(&cu, 100);
            for beyond in [88, 96, 104, 512, 1000, 4088 - address % 4096] {
                assert_eq!(used(&cu, address + beyond), 0, "{kind}, {beyond}");
            }
            // Calls look at what was asked for, as on a GPU.
            assert_eq!(cu.call("cuMemsetD8_v2", &[address, 0, 101]), INVALID_VALUE, "{kind}");
        });
    }
    alone(NAME, &[WIDE], || {
        let cu = with_context();
        let (small, large) = (cu.allocate(64).1, cu.allocate(1 << 20).1);
        // Between the two, and behind them; what is another's is as it was, and what is beside freed memory of its own goes.
        assert_eq!((used(&cu, small + 64), used(&cu, small + 2048)), (0, 0));
        let mut word = 7u64;
        assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut word), large, 8]), 0);
        assert_eq!(word, 0);
        assert_eq!(used(&cu, large + (1 << 20)), 0);
        assert_eq!(used(&cu, small + (1 << 22)), ILLEGAL_ADDRESS);
    });
    // A block without memory is none.
    alone(NAME, &[WIDE], || {
        let cu = with_context();
        let (small, large) = (cu.allocate(64).1, cu.allocate(6 << 20).1);
        assert_eq!(cu.call("cuMemFree_v2", &[large]), 0);
        assert_eq!((used(&cu, small + 4096), used(&cu, large + (3 << 20))), (0, ILLEGAL_ADDRESS));
    });
    // Another device's block is for those that have access to it.
    alone(NAME, &[WIDE, ("SOFTCUDA_DEVICES", "2"), ("SOFTCUDA_MEMORY", "64M")], || {
        let cu = with_context();
        let (mut other, address) = (0u64, cu.allocate(64).1);
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 1]), 0);
        assert_eq!(used(&cu, address + 64), ILLEGAL_ADDRESS);
    });
}

fn limit_addresses(more: u64) {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: u64 = text.split(' ').next().and_then(|pages| pages.parse().ok()).expect("a number");
    let limit = libc::rlimit { rlim_cur: pages * 4096 + more, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: limits what this process may map.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// Whatever maps memory says that there is no more, again and again, and the process goes on.
#[test]
fn a_mapping_that_fails_is_out_of_memory() {
    const NAME: &str = "a_mapping_that_fails_is_out_of_memory";
    for (kind, name) in [
        ("page-locked", "cuMemHostAlloc"),
        ("page-locked by the older call", "cuMemAllocHost_v2"),
        ("managed", "cuMemAllocManaged"),
        ("of the host's pool", "cuMemAllocFromPoolAsync"),
    ] {
        alone(NAME, &[("SOFTCUDA_MEMORY", "1M"), ("TEST_KIND", kind)], || {
            let cu = with_context();
            let (mut pool, props) = (0u64, [1u64, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut pool), first(&props)]), 0);
            let stream = free_stream(&cu);
            let allocate = |size: u64| {
                let mut pointer = 7u64;
                let more = if kind == "managed" { [1, 0] } else { [pool, stream] };
                let more = if name.contains("Host") { [0, 0] } else { more };
                (cu.call(name, &[at(&mut pointer), size, more[0], more[1]]), pointer)
            };
            assert_eq!(allocate(4096).0, 0);
            // Each thread has its own data with this, for which the C library takes memory when it first uses it.
            let (_, device) = cu.allocate(64);
            assert_eq!(cu.call("cuMemsetD8Async", &[device, 1, 64, stream]), 0);
            nop(&cu, stream);
            assert_eq!(synchronize(&cu, stream), 0);
            limit_addresses(256 << 20);
            let mut size = 64 << 20;
            while size >= 4096 {
                match allocate(size) {
                    (0, _) => {}
                    (answer, pointer) => {
                        assert_eq!((answer, pointer), (OUT_OF_MEMORY, 7), "{kind}, {size}");
                        size /= 2;
                    }
                }
            }
            // What is small can still be had.
            assert_eq!(synchronize(&cu, stream), 0);
            assert_ne!(function(&cu, ADD, c"add"), 0);
        });
    }
    // Device memory that cannot be mapped at all.
    alone(NAME, &[("SOFTCUDA_MEMORY", "64G")], || {
        limit_addresses(512 << 20);
        let cu = with_context();
        let mut pointer = 7u64;
        for _ in 0..3 {
            assert_eq!((cu.call("cuMemAlloc_v2", &[at(&mut pointer), 64]), pointer), (OUT_OF_MEMORY, 7));
        }
    });
}

/// Memory of the host's that nobody writes takes none; but there is no more of it than the machine has.
#[test]
fn pages_of_the_host_are_counted() {
    alone("pages_of_the_host_are_counted", &[("SOFTCUDA_MEMORY", "1M")], || {
        let cu = with_context();
        let (mut kept, mut pointer) = (Vec::new(), 0u64);
        let each = 1u64 << 30;
        while cu.call("cuMemHostAlloc", &[at(&mut pointer), each, 0]) == 0 {
            kept.push(pointer);
            assert!(kept.len() < 1 << 12, "{} times 1 GiB", kept.len());
        }
        assert_eq!(cu.call("cuMemHostAlloc", &[at(&mut pointer), each, 0]), OUT_OF_MEMORY);
        assert_eq!(cu.call("cuMemFreeHost", &[kept.pop().expect("some")]), 0);
        assert_eq!(cu.call("cuMemHostAlloc", &[at(&mut pointer), each, 0]), 0, "there is room again");
    });
}
