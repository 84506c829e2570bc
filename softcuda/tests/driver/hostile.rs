//! What a clumsy or hostile program hands over: the answer is a status, and the process goes on.

use crate::common::streams::{ILLEGAL_ADDRESS, stream, synchronize};
use crate::common::{
    DESTROYED, INVALID_CONTEXT, INVALID_VALUE, Library, OUT_OF_MEMORY, alone, at, everywhere, first,
    with_context,
};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const INVALID_PTX: i32 = 218;
const FILE_NOT_FOUND: i32 = 301;
const OPERATING_SYSTEM: i32 = 304;
const PAGE: usize = 4096;

/// New pages of the host's, where the system puts nothing by itself: what a test has unmapped is not taken by an allocator that maps a
/// page now and then, as a sanitizer does.
fn pages(count: usize) -> u64 {
    static NEXT: AtomicUsize = AtomicUsize::new(0x2000_0000_0000);
    let hint = NEXT.fetch_add((count + 1) * PAGE, Relaxed);
    let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping; a place that is taken is only a wish.
    let pages = unsafe { libc::mmap(hint as *mut _, count * PAGE, rights, flags, -1, 0) };
    assert_ne!(pages, libc::MAP_FAILED);
    pages as u64
}

fn protect(address: u64, rights: libc::c_int) {
    // SAFETY: a page of a test's own.
    assert_eq!(unsafe { libc::mprotect(address as *mut _, PAGE, rights) }, 0);
}

fn unmap(address: u64, count: usize) {
    // SAFETY: pages of a test's own, which it does not use any more.
    assert_eq!(unsafe { libc::munmap(address as *mut _, count * PAGE) }, 0);
}

fn load(cu: &Library, declarations: &str) -> (i32, u64) {
    let text = format!(
        ".version 8.3\n.target sm_70\n.address_size 64\n{declarations}\n.visible .entry k(.param .u64 p) {{\n\
         .reg .u64 %p;\n.reg .u32 %x;\nld.param.u64 %p, [p];\nld.global.u32 %x, [%p];\nret;\n}}\n\0"
    );
    let mut module = 0u64;
    (cu.call("cuModuleLoadData", &[at(&mut module), text.as_ptr() as u64]), module)
}

/// Memory that is not there, must not be read, or must not be written; with a page before it that is as it should be.
#[test]
fn copies_of_memory_that_is_not_the_programs() {
    everywhere("copies_of_memory_that_is_not_the_programs", || {
        let cu = with_context();
        let s = stream(&cu);
        let (_, device) = cu.allocate(2 * PAGE as u64);
        let size = PAGE as u64 + 1;
        let read = |host: u64| {
            [
                cu.call("cuMemcpyHtoD_v2", &[device, host, size]),
                cu.call("cuMemcpyHtoDAsync_v2", &[device, host, size, s]),
                cu.call("cuMemcpy", &[device, host, size]),
                cu.call("cuMemcpyAsync", &[device, host, size, s]),
            ]
        };
        let write = |host: u64| {
            [
                cu.call("cuMemcpyDtoH_v2", &[host, device, size]),
                cu.call("cuMemcpyDtoHAsync_v2", &[host, device, size, s]),
                cu.call("cuMemcpy", &[host, device, size]),
            ]
        };
        let host = pages(2);
        let second = host + PAGE as u64;
        assert_eq!((read(host), write(host)), ([0; 4], [0; 3]));
        protect(second, libc::PROT_READ);
        assert_eq!((read(host), write(host)), ([0; 4], [INVALID_VALUE; 3]), "read only");
        protect(second, libc::PROT_NONE);
        assert_eq!((read(host), write(host)), ([INVALID_VALUE; 4], [INVALID_VALUE; 3]), "neither");
        unmap(second, 1);
        assert_eq!((read(host), write(host)), ([INVALID_VALUE; 4], [INVALID_VALUE; 3]), "unmapped");
        assert_eq!(synchronize(&cu, s), 0);
    });
}

#[test]
fn registrations_of_memory_that_cannot_be_locked() {
    alone("registrations_of_memory_that_cannot_be_locked", &[], || {
        let cu = with_context();
        let register = |address: u64, size: u64, flags: u64| {
            let answer = cu.call("cuMemHostRegister_v2", &[address, size, flags]);
            if answer == 0 {
                assert_eq!(cu.call("cuMemHostUnregister", &[address]), 0);
            }
            answer
        };
        let host = pages(2);
        for size in [1 << 40, 1 << 46, 1 << 60, 1 << 63, u64::MAX - host] {
            assert_eq!(register(host, size, 0), INVALID_VALUE, "{size:#x} bytes");
        }
        let both = 2 * PAGE as u64;
        const READ_ONLY: u64 = 8;
        assert_eq!((register(host, both, 0), register(host, both, READ_ONLY)), (0, 0));
        protect(host + PAGE as u64, libc::PROT_READ);
        assert_eq!((register(host, both, 0), register(host, both, READ_ONLY)), (INVALID_VALUE, 0));
        protect(host + PAGE as u64, libc::PROT_NONE);
        assert_eq!(
            (register(host, both, 0), register(host, both, READ_ONLY)),
            (INVALID_VALUE, INVALID_VALUE)
        );
    });
}

/// What work uses that is still ahead: the sticky error of an illegal access, and not a signal.
#[test]
fn registered_memory_that_is_gone() {
    for user in ["a copy from it", "a copy to it", "a memset", "a kernel"] {
        let said = alone("registered_memory_that_is_gone", &[("SOFTCUDA_TEST_CASE", user)], || {
            let cu = with_context();
            let s = stream(&cu);
            let (host, size) = (pages(1), PAGE as u64);
            let (_, device) = cu.allocate(size);
            assert_eq!(cu.call("cuMemHostRegister_v2", &[host, size, 0]), 0);
            let (_, module) = load(&cu, "");
            let mut kernel = 0u64;
            assert_eq!(cu.call("cuModuleGetFunction", &[at(&mut kernel), module, first(b"k\0")]), 0);
            unmap(host, 1);
            let answer = match user {
                "a copy from it" => cu.call("cuMemcpyHtoDAsync_v2", &[device, host, size, s]),
                "a copy to it" => cu.call("cuMemcpyDtoHAsync_v2", &[host, device, size, s]),
                "a memset" => cu.call("cuMemsetD8Async", &[host, 1, size, s]),
                _ => {
                    let config = [1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, s, 0, 0];
                    let arguments = [&raw const host];
                    cu.call("cuLaunchKernelEx", &[first(&config), kernel, first(&arguments), 0])
                }
            };
            assert_eq!((answer, synchronize(&cu, s)), (0, ILLEGAL_ADDRESS));
        });
        assert!(said.is_empty() || said.contains("illegal address"), "{said}");
    }
}

/// Whatever a parameter points to that cannot be read, or written, is refused; nothing needs to be aligned.
#[test]
fn parameters_that_point_nowhere() {
    alone("parameters_that_point_nowhere", &[], || {
        let cu = with_context();
        let s = stream(&cu);
        let (_, module) = load(&cu, "");
        let (mut kernel, mut graph, mut node, mut found) = (0u64, 0u64, 0u64, 0u64);
        assert_eq!(cu.call("cuModuleGetFunction", &[at(&mut kernel), module, first(b"k\0")]), 0);
        assert_eq!(cu.call("cuGraphCreate", &[at(&mut graph), 0]), 0);
        let (none, read_only, gone) = (pages(1), pages(1), pages(1));
        protect(none, libc::PROT_NONE);
        protect(read_only, libc::PROT_READ);
        unmap(gone, 1);
        let config = [1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, s, 0, 0];
        let launch =
            |list: u64, block: u64| cu.call("cuLaunchKernelEx", &[first(&config), kernel, list, block]);
        let node_of =
            |list: u64, block: u64| [kernel, 1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, list, block, 0, 0];
        for bad in [none, gone, 8, 0xdead_beef_dead_beef, u64::MAX - 7] {
            let each = |name: &str, arguments: &[u64]| {
                assert_eq!(cu.call(name, arguments), INVALID_VALUE, "{name} with {bad:#x}");
            };
            assert_eq!((launch(first(&[bad]), 0), launch(bad, 0), launch(0, bad)), (1, 1, 1), "{bad:#x}");
            assert_eq!(launch(0, first(&[1, bad, 2, first(&[8u64]), 0])), INVALID_VALUE);
            assert_eq!(launch(0, first(&[1, first(&[0u64]), 2, bad, 0])), INVALID_VALUE);
            each("cuLaunchKernelEx", &[bad, kernel, 0, 0]);
            for params in [node_of(first(&[bad]), 0), node_of(bad, 0), node_of(0, bad)] {
                each("cuGraphAddKernelNode_v2", &[at(&mut node), graph, 0, 0, first(&params)]);
            }
            each("cuGraphAddKernelNode_v2", &[at(&mut node), graph, 0, 0, bad]);
            each("cuGraphAddEmptyNode", &[at(&mut node), graph, bad, 1]);
            each("cuModuleLoadData", &[at(&mut found), bad]);
            each("cuModuleGetFunction", &[at(&mut found), module, bad]);
            each("cuModuleLoad", &[at(&mut found), bad]);
            each("cuGetProcAddress_v2", &[bad, at(&mut found), 12000, 0, 0]);
            each("cuMemcpy2D_v2", &[bad]);
            each("cuGraphGetNodes", &[graph, 0, bad]);
            each("cuMemAlloc_v2", &[bad, 64]);
            each("cuStreamGetFlags", &[s, bad]);
        }
        assert_eq!(cu.call("cuMemAlloc_v2", &[read_only, 64]), INVALID_VALUE);
        let mut room = [0u8; 24];
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut room[1]), 64]), 0);
        // No text has an end here.
        let end = pages(2) + PAGE as u64;
        protect(end, libc::PROT_NONE);
        // SAFETY: a page of the test's own.
        unsafe { ((end - PAGE as u64) as *mut u8).write_bytes(b'x', PAGE) };
        for start in [end - PAGE as u64, end - 1] {
            assert_eq!(cu.call("cuModuleLoadData", &[at(&mut found), start]), INVALID_VALUE);
            assert_eq!(cu.call("cuModuleGetFunction", &[at(&mut found), module, start]), INVALID_VALUE);
        }
        assert_eq!(synchronize(&cu, s), 0);
    });
}

/// Arrays that end with the program's memory, and are said to go on.
#[test]
fn counts_that_are_too_large() {
    alone("counts_that_are_too_large", &[], || {
        let cu = with_context();
        let (s, (_, device)) = (stream(&cu), cu.allocate(64));
        let (mut graph, mut node, mut found) = (0u64, 0u64, 0u64);
        assert_eq!(cu.call("cuGraphCreate", &[at(&mut graph), 0]), 0);
        assert_eq!(cu.call("cuGraphAddEmptyNode", &[at(&mut node), graph, 0, 0]), 0);
        let list = |item: u64, count: u64| {
            let end = pages(2) + PAGE as u64;
            protect(end, libc::PROT_NONE);
            let start = end - 8 * count;
            // SAFETY: the last words of a page.
            (0..count as usize).for_each(|i| unsafe { (start as *mut u64).add(i).write(item) });
            start
        };
        let (nodes, zeros, sizes, places) = (list(node, 3), list(0, 3), list(64, 3), list(device, 3));
        for count in [1 << 30, 1 << 61, u64::MAX] {
            let each = |name: &str, arguments: &[u64]| {
                assert_eq!(cu.call(name, arguments), INVALID_VALUE, "{name} with {count:#x}");
            };
            each("cuGraphAddEmptyNode", &[at(&mut found), graph, nodes, count]);
            each("cuGraphAddDependencies", &[graph, nodes, nodes, count]);
            each("cuGraphRemoveDependencies", &[graph, nodes, nodes, count]);
            let mut room = count;
            each("cuGraphGetNodes", &[graph, zeros, at(&mut room)]);
            each("cuStreamBeginCaptureToGraph", &[s, graph, nodes, 0, count, 0]);
            let attributes = [1u64, 0, 0, 0];
            let batch = [places, places, sizes, count, first(&attributes), first(&[0u64]), 1, 0, s];
            each("cuMemcpyBatchAsync", &batch);
            each(
                "cuModuleLoadDataEx",
                &[at(&mut found), first(b".version 7.0\0"), count.min(u64::from(u32::MAX)), zeros, zeros],
            );
            each(
                "cuPointerGetAttributes",
                &[count.min(u64::from(u32::MAX)), list(1 | 1 << 32, 1), zeros, device],
            );
            let bytes = list(8, 1);
            assert_eq!(
                cu.call("softcuda_kernel_register", &[first(b"n\0"), bytes, count, bytes, 0]),
                INVALID_VALUE
            );
        }
        // A kernel that nobody could launch; bodies that no machine has room for.
        let huge = [u64::MAX, u64::MAX];
        assert_eq!(
            cu.call("softcuda_kernel_register", &[first(b"n\0"), first(&huge), 2, device, 0]),
            INVALID_VALUE
        );
        let (mut context, mut condition) = (0u64, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let create = [at(&mut condition), graph, context, 0, 0];
        assert_eq!(cu.call("cuGraphConditionalHandleCreate", &create), 0);
        let mut params = [0u64; 32];
        // A conditional node; the condition; a switch of 2^32 - 1 bodies; where they are told; the context.
        (params[0], params[2], params[3], params[5]) =
            (13, condition, 2 | u64::from(u32::MAX) << 32, context);
        assert_eq!(
            cu.call("cuGraphAddNode_v2", &[at(&mut found), graph, 0, 0, 0, first(&params)]),
            OUT_OF_MEMORY
        );
        assert_eq!(cu.call("softcuda_dump", &[u64::MAX]), OPERATING_SYSTEM);
    });
}

/// A graph with two copies of another, and another with two of that: refused before the machine has no memory left.
#[test]
fn graphs_that_double() {
    let said = alone("graphs_that_double", &[], || {
        let cu = with_context();
        let (mut graph, mut node) = (0u64, 0u64);
        assert_eq!(cu.call("cuGraphCreate", &[at(&mut graph), 0]), 0);
        // So many nodes has the first, and each further one two more than twice as many.
        for _ in 0..1024 {
            assert_eq!(cu.call("cuGraphAddEmptyNode", &[at(&mut node), graph, 0, 0]), 0);
        }
        let mut around = 0u64;
        let embed = |around: u64, graph: u64| {
            let mut node = 0u64;
            cu.call("cuGraphAddChildGraphNode", &[at(&mut node), around, 0, 0, graph])
        };
        for level in 0..=10 {
            assert_eq!(cu.call("cuGraphCreate", &[at(&mut around), 0]), 0);
            let answers = [embed(around, graph), embed(around, graph)];
            assert_eq!(answers, if level < 10 { [0; 2] } else { [OUT_OF_MEMORY; 2] }, "level {level}");
            assert_eq!(cu.call("cuGraphDestroy", &[graph]), 0);
            graph = around;
        }
        // Such a refusal leaves nothing behind.
        let mut count = 7u64;
        assert_eq!(cu.call("cuGraphGetNodes", &[graph, 0, at(&mut count)]), 0);
        assert_eq!(count, 0);
    });
    assert!(said.is_empty(), "{said}");
}

/// Graphs far inside each other are refused before what goes through them has no stack left.
#[test]
fn graphs_in_graphs() {
    let said = alone("graphs_in_graphs", &[("SOFTCUDA_VERSION", "13.0")], || {
        let cu = with_context();
        let s = stream(&cu);
        let create = || {
            let mut graph = 0u64;
            assert_eq!(cu.call("cuGraphCreate", &[at(&mut graph), 0]), 0);
            graph
        };
        let embed = |around: u64, graph: u64, ownership: u64| {
            let (mut node, mut inner, mut params) = (0u64, 0u64, [0u64; 32]);
            (params[0], params[2], params[3]) = (4, graph, ownership);
            let added = cu.call("cuGraphAddNode_v2", &[at(&mut node), around, 0, 0, 0, first(&params)]);
            if added == 0 {
                assert_eq!(cu.call("cuGraphChildGraphNodeGetGraph", &[node, at(&mut inner)]), 0);
            }
            (added, inner)
        };
        // Each is moved into the one before: 512 stand around the last.
        let (top, mut lowest) = (create(), 0u64);
        for level in 0..512 {
            let (added, inner) = embed(if level == 0 { top } else { lowest }, create(), 1);
            assert_eq!(added, 0, "level {level}");
            lowest = inner;
        }
        let (around, single) = (create(), create());
        assert_eq!(embed(lowest, single, 1).0, OUT_OF_MEMORY);
        assert_eq!(embed(lowest, single, 0).0, OUT_OF_MEMORY);
        assert_eq!([embed(around, top, 1).0, embed(around, top, 0).0], [OUT_OF_MEMORY; 2], "from above, too");
        assert_eq!(embed(around, single, 1).0, 0, "what was refused is still the program's");
        // All that goes through them.
        let (mut exec, mut clone, mut result) = (0u64, 0u64, [0u64; 3]);
        assert_eq!(cu.call("cuGraphAddEmptyNode", &[at(&mut clone), lowest, 0, 0]), 0);
        assert_eq!(cu.call("cuGraphClone", &[at(&mut clone), top]), 0);
        assert_eq!(cu.call("cuGraphInstantiateWithFlags", &[at(&mut exec), clone, 0]), 0);
        assert_eq!(cu.call("cuGraphExecUpdate_v2", &[exec, clone, at(&mut result)]), 0);
        assert_eq!((cu.call("cuGraphLaunch", &[exec, s]), synchronize(&cu, s)), (0, 0));
        assert_eq!(cu.call("cuGraphDebugDotPrint", &[clone, first(b"/dev/null\0"), 0]), 0);
        assert_eq!(cu.call("cuGraphExecDestroy", &[exec]), 0);
        assert_eq!([top, clone, around].map(|graph| cu.call("cuGraphDestroy", &[graph])), [0; 3]);
    });
    assert!(said.is_empty(), "{said}");
}

/// What nodes and captured copies name is the program's to unmap before they run; so is the driver's own memory that it can reach.
#[test]
fn memory_that_is_gone_when_a_graph_runs() {
    for user in ["a node", "an exec", "a capture", "pinned", "managed"] {
        let said = alone("memory_that_is_gone_when_a_graph_runs", &[("SOFTCUDA_TEST_CASE", user)], || {
            let cu = with_context();
            let s = stream(&cu);
            let (size, good, bad) = (PAGE as u64, pages(1), pages(1));
            let (_, device) = cu.allocate(size);
            let (mut graph, mut captured, mut context) = (0u64, 0u64, 0u64);
            assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
            assert_eq!(cu.call("cuGraphCreate", &[at(&mut graph), 0]), 0);
            // Of 25 words: types and addresses of source and destination, and what is copied.
            let copy = |host: u64| {
                let mut params = [0u64; 25];
                (params[4], params[5], params[15], params[17]) = (1, host, 2, device);
                (params[22], params[23], params[24]) = (size, 1, 1);
                params
            };
            let launch = |graph: u64, set: Option<u64>| {
                let mut exec = 0u64;
                assert_eq!(cu.call("cuGraphInstantiateWithFlags", &[at(&mut exec), graph, 0]), 0);
                if let Some(node) = set {
                    let params = copy(bad);
                    let set = [exec, node, first(&params), context];
                    assert_eq!(cu.call("cuGraphExecMemcpyNodeSetParams", &set), 0);
                }
                unmap(bad, 1);
                assert_eq!((cu.call("cuGraphLaunch", &[exec, s]), synchronize(&cu, s)), (0, ILLEGAL_ADDRESS));
            };
            let add = |host: u64| {
                let (mut node, params) = (0u64, copy(host));
                let arguments = [at(&mut node), graph, 0, 0, first(&params), context];
                assert_eq!(cu.call("cuGraphAddMemcpyNode", &arguments), 0);
                node
            };
            match user {
                "a node" => {
                    add(bad);
                    launch(graph, None);
                }
                "an exec" => launch(graph, Some(add(good))),
                "a capture" => {
                    assert_eq!(cu.call("cuStreamBeginCapture_v2", &[s, 0]), 0);
                    assert_eq!(cu.call("cuMemcpyHtoDAsync_v2", &[device, bad, size, s]), 0);
                    assert_eq!(cu.call("cuStreamEndCapture", &[s, at(&mut captured)]), 0);
                    launch(captured, None);
                }
                _ => {
                    let mut own = 0u64;
                    let (name, flags) =
                        if user == "pinned" { ("cuMemHostAlloc", 0) } else { ("cuMemAllocManaged", 1) };
                    assert_eq!(
                        cu.call(name, &[at(&mut own), 1 << 46, flags]),
                        OUT_OF_MEMORY,
                        "more than there is"
                    );
                    assert_eq!(cu.call(name, &[at(&mut own), size, flags]), 0);
                    protect(own, libc::PROT_READ);
                    assert_eq!(cu.call("cuMemsetD8Async", &[own, 1, size, s]), 0);
                    assert_eq!(synchronize(&cu, s), ILLEGAL_ADDRESS);
                }
            }
        });
        assert!(said.is_empty() || said.contains("illegal address"), "{said}");
    }
}

/// What a module says of its variables.
#[test]
fn modules_with_impossible_variables() {
    alone("modules_with_impossible_variables", &[("SOFTCUDA_MEMORY", "1G")], || {
        let cu = with_context();
        for refused in [
            ".global .pred p;",
            ".shared .pred p;",
            ".const .pred p;",
            ".global .b128 g = 1;",
            ".global .b128 g[2] = {1, 2};",
            ".global .b8 a[2199023255552];",
            ".global .b8 a[18446744073709551615][18446744073709551615] = {{1}};",
            ".global .b8 a[2] = {1, 2, 3};",
        ] {
            assert_eq!(load(&cu, refused).0, INVALID_PTX, "{refused}");
        }
        for too_large in [
            ".global .b8 a[68719476736] = {1};",
            ".global .b8 a[2][34359738368] = {{1}, {2}};",
            ".global .u64 a[4][4294967296] = {{1}, {2}, {3}, {4}};",
            ".global .attribute(.managed) .b8 a[1099511627776] = {1};",
        ] {
            let answer = load(&cu, too_large).0;
            assert!(
                answer == OUT_OF_MEMORY || answer == 0 && too_large.contains("managed"),
                "{too_large}: {answer}"
            );
        }
        // What fits is as it says, and takes no more memory than it uses.
        let (answer, module) = load(&cu, ".global .u32 a[2][100000000] = {{5}, {6, 7}};");
        let (mut address, mut size) = (0u64, 0u64);
        assert_eq!(answer, 0);
        let name = first(b"a\0");
        assert_eq!(cu.call("cuModuleGetGlobal_v2", &[at(&mut address), at(&mut size), module, name]), 0);
        assert_eq!(size, 800_000_000);
        for (offset, expected) in [(0, 5), (4, 0), (400_000_000, 6), (400_000_004, 7), (799_999_996, 0)] {
            let mut value = 9u32;
            assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut value), address + offset, 4]), 0);
            assert_eq!(value, expected, "at {offset}");
        }
    });
}

/// Bytes of address space that the process has.
fn mapped() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("Linux has it");
    text.split(' ').next().and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * PAGE as u64
}

#[test]
fn a_system_without_threads() {
    alone("a_system_without_threads", &[("SOFTCUDA_MEMORY", "1M")], || {
        let cu = Library::core();
        let mut pointers = [0u64; 2];
        assert_eq!(cu.call("cuInit", &[0]), 0);
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        let set = |bytes| {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
            // SAFETY: limits what this process may map.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
        };
        // SAFETY: writes the struct.
        assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) }, 0);
        // Less than a stack.
        set(mapped() + (1 << 20));
        let mut context = 0u64;
        for _ in 0..3 {
            assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, 0]), OPERATING_SYSTEM);
            assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut context), 0]), OPERATING_SYSTEM);
        }
        let release: extern "C" fn(u64) = nothing;
        let create =
            |object: &mut u64| cu.call("cuUserObjectCreate", &[at(object), 0, release as usize as u64, 1, 1]);
        assert_eq!(create(&mut pointers[0]), OPERATING_SYSTEM);
        assert_eq!(cu.call("softcuda_live_objects", &[]), 0);
        set(limit.rlim_cur);
        let cu = with_context();
        assert_eq!(create(&mut pointers[0]), 0);
        let (s, (_, device)) = (stream(&cu), cu.allocate(64));
        let work = |count| {
            for _ in 0..count {
                assert_eq!(cu.call("cuMemsetD8Async", &[device, 1, 64, s]), 0);
                assert_eq!(cu.call("cuLaunchHostFunc", &[s, release as usize as u64, 0]), 0);
            }
            assert_eq!(synchronize(&cu, s), 0);
        };
        // Each thread has its own data with this, for which the C library takes memory when it first uses it.
        work(1);
        // With those that there are everything comes to its end, whatever else is asked for.
        set(mapped() + (1 << 20));
        work(100);
        set(limit.rlim_cur);
    });
}

extern "C" fn nothing(_: u64) {}

/// A program's handler of SIGSEGV sees what a host function does, and its other signals reach only its own threads.
#[test]
fn threads_of_the_driver_block_only_the_programs_signals() {
    alone("threads_of_the_driver_block_only_the_programs_signals", &[], || {
        let cu = with_context();
        let s = stream(&cu);
        let (_, device) = cu.allocate(64);
        assert_eq!(cu.call("cuMemsetD8Async", &[device, 1, 64, s]), 0);
        assert_eq!(synchronize(&cu, s), 0);
        let mut seen = 0;
        for task in fs::read_dir("/proc/self/task").expect("Linux has it") {
            let text = fs::read_to_string(task.expect("a thread").path().join("status")).unwrap_or_default();
            if !text.lines().any(|line| line.starts_with("Name:") && line.contains("softcuda-")) {
                continue;
            }
            let blocked = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("it is there");
            let blocked = u64::from_str_radix(blocked.trim(), 16).expect("a number");
            let is_blocked = |signal: i32| blocked >> (signal - 1) & 1 == 1;
            for own in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
                assert!(!is_blocked(own), "signal {own}: {text}");
            }
            for other in [libc::SIGTERM, libc::SIGINT, libc::SIGCHLD, libc::SIGUSR1] {
                assert!(is_blocked(other), "signal {other}: {text}");
            }
            seen += 1;
        }
        assert!(seen > 0, "there are threads of the driver");
    });
}

/// Devices and pipes are no files; a large file is not read.
#[test]
fn files_that_do_not_end() {
    alone("files_that_do_not_end", &[], || {
        let cu = with_context();
        let folder = std::env::temp_dir().join(format!("softcuda-files-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = |name: &str| format!("{}\0", folder.join(name).display());
        let pipe = path("pipe");
        // SAFETY: a terminated path.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr().cast(), 0o600) }, 0);
        fs::File::create(folder.join("large")).and_then(|file| file.set_len(1 << 42)).expect("a sparse file");
        let (mut handle, mut linker) = (0u64, 0u64);
        assert_eq!(cu.call("cuLinkCreate_v2", &[0, 0, 0, at(&mut linker)]), 0);
        let begun = Instant::now();
        for (name, expected) in [
            (pipe, FILE_NOT_FOUND),
            ("/dev/zero\0".to_owned(), FILE_NOT_FOUND),
            ("/dev/tty\0".to_owned(), FILE_NOT_FOUND),
            (path("nothing"), FILE_NOT_FOUND),
            (path("large"), OUT_OF_MEMORY),
            (path("."), OUT_OF_MEMORY),
        ] {
            let file = first(name.as_bytes());
            assert_eq!(cu.call("cuModuleLoad", &[at(&mut handle), file]), expected, "{name}");
            let arguments = [at(&mut handle), file, 0, 0, 0, 0, 0, 0];
            assert_eq!(cu.call("cuLibraryLoadFromFile", &arguments), expected, "{name}");
            assert_eq!(cu.call("cuLinkAddFile_v2", &[linker, 1, file, 0, 0, 0]), expected, "{name}");
        }
        // Nobody reads the pipe, nor has the device room.
        let mut graph = 0u64;
        assert_eq!(cu.call("cuGraphCreate", &[at(&mut graph), 0]), 0);
        for name in [path("pipe"), "/dev/full\0".to_owned(), path(".")] {
            let file = first(name.as_bytes());
            assert_eq!(cu.call("cuGraphDebugDotPrint", &[graph, file, 0]), OPERATING_SYSTEM, "{name}");
            assert_eq!(cu.call("cuLogsDumpToFile", &[0, file, 0]), OPERATING_SYSTEM, "{name}");
        }
        assert_eq!(cu.call("softcuda_trace_start", &[first(path("pipe").as_bytes())]), FILE_NOT_FOUND);
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        fs::remove_dir_all(&folder).expect("the folder is ours");
    });
}

/// Bytes that the process has in memory.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("Linux has it");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * PAGE as u64
}

/// Contexts that are gone take no room, and are no work for the others; their handles are still known as such.
#[test]
fn contexts_leave_nothing_behind() {
    alone("contexts_leave_nothing_behind", &[("SOFTCUDA_DEVICES", "2")], || {
        let cu = Library::core();
        assert_eq!(cu.call("cuInit", &[0]), 0);
        let create = |device: u64| {
            let mut context = 0u64;
            assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, device]), 0);
            context
        };
        let many = |count: u64| {
            let begun = Instant::now();
            for i in 0..count {
                assert_eq!(cu.call("cuCtxDestroy_v2", &[create(i % 2)]), 0);
            }
            begun.elapsed()
        };
        let old = create(1);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[old]), 0);
        let one_round = many(5_000);
        let before = resident();
        let later = (0..8).map(|_| many(5_000)).min().expect("there are some");
        let grown = resident().saturating_sub(before);
        assert!(grown < 512 << 10, "{grown} bytes for 40000 contexts");
        assert!(later < 4 * one_round, "{later:?} after {one_round:?}");
        // The oldest one is still told from what never was one.
        let (mut device, mut current) = (9, 0u64);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[old]), DESTROYED);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[old + 8]), INVALID_CONTEXT);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[create(0) + 64 * 16]), INVALID_CONTEXT);
        assert_eq!(cu.call("cuCtxSetCurrent", &[old]), 0);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut current)]), 0);
        assert_eq!(cu.call("cuCtxGetDevice", &[at(&mut device)]), 0);
        assert_eq!((current, device), (old, 1));
        assert_eq!(cu.call("cuCtxSynchronize", &[]), DESTROYED);
    });
}
