//! Memory of graphs: when it is memory, under every schedule, who frees it, and what it takes of a device. What a driver
//! refuses, the conformance suite asks.

use crate::common::captures::{GLOBAL, begin, graph_of};
use crate::common::graphs::{
    any_params, destroy, destroy_exec, empty_node, function, graph, instantiate, instantiate_with,
    kernel_node, launch, memset_node, memset_params, run,
};
use crate::common::streams::{Gate, ILLEGAL_ADDRESS, event, free_stream, record, synchronize};
use crate::common::{
    INVALID_VALUE, Library, NOT_SUPPORTED, OUT_OF_MEMORY, alone, at, everywhere, first, with_context,
};

const AUTO_FREE: u64 = 1;

/// A node that allocates so many bytes on device 0, and the address.
fn alloc_node(cu: &Library, graph: u64, after: &[u64], size: u64) -> (u64, u64) {
    let (mut node, mut params) = (0, [0u64; 15]);
    // Pinned, on device 0.
    (params[0], params[1], params[13]) = (1, 1, size);
    let arguments = [at(&mut node), graph, first(after), after.len() as u64, at(&mut params)];
    assert_eq!(cu.call("cuGraphAddMemAllocNode", &arguments), 0);
    (node, params[14])
}

fn free_node(cu: &Library, graph: u64, after: &[u64], address: u64) -> u64 {
    let mut node = 0;
    let arguments = [at(&mut node), graph, first(after), after.len() as u64, address];
    assert_eq!(cu.call("cuGraphAddMemFreeNode", &arguments), 0);
    node
}

/// A graph that allocates memory and fills it with a value.
fn filling(cu: &Library, value: u32) -> (u64, u64) {
    let graph = graph(cu);
    let (node, address) = alloc_node(cu, graph, &[], 64);
    memset_node(cu, graph, &[node], &memset_params(address, value, 4, 16));
    (graph, address)
}

fn try_launch(cu: &Library, exec: u64, stream: u64) -> i32 {
    cu.call("cuGraphLaunch", &[exec, stream])
}

fn word(cu: &Library, address: u64) -> u32 {
    let mut word = 0u32;
    assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut word), address, 4]), 0);
    word
}

/// The current and the highest numbers of bytes: used, reserved.
fn bytes(cu: &Library) -> [u64; 4] {
    let mut bytes = [0; 4];
    for (attribute, place) in (0..).zip(&mut bytes) {
        assert_eq!(cu.call("cuDeviceGetGraphMemAttribute", &[0, attribute, at(place)]), 0);
    }
    bytes
}

#[test]
fn memory_lives_from_a_launch_to_its_free() {
    everywhere("memory_lives_from_a_launch_to_its_free", || {
        let cu = with_context();
        let stream = free_stream(&cu);
        let (allocating, address) = filling(&cu, 5);
        let freeing = graph(&cu);
        free_node(&cu, freeing, &[], address);
        let (exec, free) = (instantiate(&cu, allocating), instantiate(&cu, freeing));
        // Nothing is there before the first launch.
        assert_eq!(cu.call("cuMemFree_v2", &[address]), INVALID_VALUE);
        assert_eq!(try_launch(&cu, free, stream), INVALID_VALUE);
        assert_eq!(cu.call("cuMemsetD8Async", &[address, 1, 4, stream]), INVALID_VALUE);
        for way in 0..3 {
            launch(&cu, exec, stream);
            assert_eq!(try_launch(&cu, exec, stream), INVALID_VALUE);
            assert_eq!(synchronize(&cu, stream), 0);
            assert_eq!((word(&cu, address), cu.live("device memory")), (5, 1));
            match way {
                0 => run(&cu, free, stream),
                1 => assert_eq!(cu.call("cuMemFree_v2", &[address]), 0),
                _ => assert_eq!(cu.call("cuMemFreeAsync", &[address, stream]), 0),
            }
            assert_eq!(cu.live("device memory"), 0);
            assert_eq!(cu.call("cuMemFreeAsync", &[address, stream]), INVALID_VALUE);
        }
        // It outlives its graph and its exec.
        run(&cu, exec, stream);
        destroy_exec(&cu, exec);
        destroy(&cu, allocating);
        assert_eq!(word(&cu, address), 5);
        assert_eq!(cu.call("cuMemFreeAsync", &[address, stream]), 0);
        assert_eq!(synchronize(&cu, stream), 0);
        assert_eq!(cu.call("cuMemsetD8_v2", &[address, 1, 4]), INVALID_VALUE);
    });
}

/// Allocated and freed in one launch, so that many can be under way.
#[test]
fn launches_with_memory_of_their_own() {
    everywhere("launches_with_memory_of_their_own", || {
        let cu = with_context();
        let (stream, graph, (_, result)) = (free_stream(&cu), graph(&cu), cu.allocate(4));
        let (node, address) = alloc_node(&cu, graph, &[], 64);
        let fill = memset_node(&cu, graph, &[node], &memset_params(address, 9, 4, 16));
        let mut copy = [0u64; 25];
        // From device to device memory: types, addresses, extent.
        (copy[4], copy[6], copy[15], copy[17]) = (2, address, 2, result);
        (copy[22], copy[23], copy[24]) = (4, 1, 1);
        let (mut copied, mut context) = (0, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let after = [fill];
        let arguments = [at(&mut copied), graph, first(&after), 1, first(&copy), context];
        assert_eq!(cu.call("cuGraphAddMemcpyNode", &arguments), 0);
        free_node(&cu, graph, &[copied], address);
        let exec = instantiate(&cu, graph);
        let gate = Gate::in_stream(&cu, stream);
        for _ in 0..5 {
            launch(&cu, exec, stream);
        }
        destroy_exec(&cu, exec);
        destroy(&cu, graph);
        gate.open();
        assert_eq!(synchronize(&cu, stream), 0);
        assert_eq!((word(&cu, result), cu.live("device memory")), (9, 1));
        assert_eq!(cu.call("cuDeviceGraphMemTrim", &[0]), 0);
        assert_eq!(bytes(&cu)[..3], [0, 512, 0]);
    });
}

#[test]
fn what_a_launch_left_is_freed_by_the_next_one() {
    everywhere("what_a_launch_left_is_freed_by_the_next_one", || {
        let cu = with_context();
        let streams = [free_stream(&cu), free_stream(&cu)];
        let (graph, address) = filling(&cu, 3);
        let exec = instantiate_with(&cu, graph, AUTO_FREE);
        for round in 0..6 {
            launch(&cu, exec, streams[round % 2]);
        }
        for stream in streams {
            assert_eq!(synchronize(&cu, stream), 0);
        }
        assert_eq!((word(&cu, address), cu.live("device memory")), (3, 1));
        assert_eq!(cu.call("cuMemFree_v2", &[address]), 0);
        run(&cu, exec, streams[0]);
        assert_eq!(word(&cu, address), 3);
    });
}

/// A program that uses memory in another order than that of its allocation is found out.
#[test]
fn use_before_the_allocation_is_an_illegal_address() {
    let said =
        alone("use_before_the_allocation_is_an_illegal_address", &[("SOFTCUDA_SCHEDULE", "lazy")], || {
            let cu = with_context();
            let streams = [free_stream(&cu), free_stream(&cu)];
            let (graph, address) = filling(&cu, 3);
            launch(&cu, instantiate(&cu, graph), streams[0]);
            assert_eq!(cu.call("cuMemsetD8Async", &[address, 1, 4, streams[1]]), 0);
            assert_eq!(synchronize(&cu, streams[1]), ILLEGAL_ADDRESS);
        });
    assert!(said.is_empty() || said.contains("where the memory at"), "{said}");
}

#[test]
fn a_device_gives_memory_at_the_first_launch() {
    let settings = [("SOFTCUDA_MEMORY", "1M")];
    alone("a_device_gives_memory_at_the_first_launch", &settings, || {
        let cu = with_context();
        let (stream, graph) = (free_stream(&cu), graph(&cu));
        let (_, plain) = cu.allocate(512 << 10);
        let (node, address) = alloc_node(&cu, graph, &[], 768 << 10);
        free_node(&cu, graph, &[node], address);
        let exec = instantiate(&cu, graph);
        assert_eq!(try_launch(&cu, exec, stream), OUT_OF_MEMORY);
        assert_eq!(bytes(&cu), [0; 4]);
        assert_eq!(cu.call("cuMemFree_v2", &[plain]), 0);
        assert_eq!(cu.call("cuGraphUpload", &[exec, stream]), 0);
        assert_eq!(bytes(&cu), [768 << 10; 4]);
        run(&cu, exec, stream);
        assert_eq!(cu.call("cuDeviceGraphMemTrim", &[0]), 0);
        assert_eq!(bytes(&cu), [0, 768 << 10, 0, 768 << 10]);
        run(&cu, exec, stream);
        assert_eq!(bytes(&cu), [768 << 10; 4]);
        destroy_exec(&cu, exec);
        assert_eq!(bytes(&cu), [768 << 10; 4], "the graph has it");
        assert_eq!(cu.call("cuDeviceGraphMemTrim", &[0]), 0);
        let zero = 0u64;
        assert_eq!(cu.call("cuDeviceSetGraphMemAttribute", &[0, 1, std::ptr::from_ref(&zero) as u64]), 0);
        assert_eq!(
            cu.call("cuDeviceSetGraphMemAttribute", &[0, 0, std::ptr::from_ref(&zero) as u64]),
            INVALID_VALUE
        );
        assert_eq!(bytes(&cu), [0, 0, 0, 768 << 10]);
    });
}

#[test]
fn graphs_with_memory_stay_as_they_are() {
    alone("graphs_with_memory_stay_as_they_are", &[], || {
        let cu = with_context();
        let ((graph, address), mut other) = (filling(&cu, 1), 0);
        let nodes = crate::common::graphs::nodes(&cu, graph);
        assert_eq!(cu.call("cuGraphDestroyNode", &[nodes[1]]), NOT_SUPPORTED);
        let edge = [graph, first(&nodes[..1]), first(&nodes[1..]), 1];
        assert_eq!(cu.call("cuGraphRemoveDependencies", &edge), NOT_SUPPORTED);
        assert_eq!(cu.call("cuGraphClone", &[at(&mut other), graph]), NOT_SUPPORTED);
        let outer = crate::common::graphs::graph(&cu);
        let child = [at(&mut other), outer, 0, 0, graph];
        assert_eq!(cu.call("cuGraphAddChildGraphNode", &child), NOT_SUPPORTED);
        free_node(&cu, graph, &[], address);
        let again = [at(&mut other), graph, 0, 0, address];
        assert_eq!(cu.call("cuGraphAddMemFreeNode", &again), INVALID_VALUE);
        let exec = instantiate(&cu, graph);
        let second = |exec: &mut u64| cu.call("cuGraphInstantiateWithFlags", &[at(exec), graph, 0]);
        assert_eq!(second(&mut other), NOT_SUPPORTED);
        destroy_exec(&cu, exec);
        assert_eq!(second(&mut other), 0);
    });
}

/// A graph with memory can be a child graph if it is given away.
#[test]
fn a_moved_graph_has_memory() {
    everywhere("a_moved_graph_has_memory", || {
        let cu = with_context();
        let (stream, outer) = (free_stream(&cu), graph(&cu));
        let (inner, address) = filling(&cu, 4);
        let (mut node, mut params) = (0, any_params(4, &[inner, 1]));
        let stranger = empty_node(&cu, graph(&cu), &[]);
        let mut add = |after: &[u64]| {
            let count = after.len() as u64;
            cu.call("cuGraphAddNode_v2", &[at(&mut node), outer, first(after), 0, count, at(&mut params)])
        };
        // Refused, it stays the program's.
        assert_eq!(add(&[stranger]), INVALID_VALUE);
        let exec = instantiate(&cu, inner);
        run(&cu, exec, stream);
        assert_eq!(cu.call("cuMemFree_v2", &[address]), 0);
        destroy_exec(&cu, exec);
        assert_eq!(add(&[]), 0);
        assert_eq!(add(&[]), NOT_SUPPORTED);
        for refused in ["cuGraphDestroy", "cuGraphDestroyNode"] {
            let (handle, answer) =
                if refused == "cuGraphDestroy" { (inner, INVALID_VALUE) } else { (node, NOT_SUPPORTED) };
            assert_eq!(cu.call(refused, &[handle]), answer);
        }
        let exec = instantiate(&cu, outer);
        run(&cu, exec, stream);
        assert_eq!(word(&cu, address), 4);
        assert_eq!(try_launch(&cu, exec, stream), INVALID_VALUE);
        destroy(&cu, outer);
        destroy_exec(&cu, exec);
        assert_eq!(cu.call("cuMemFree_v2", &[address]), 0);
        assert_eq!(cu.live("device memory"), 0);
    });
}

/// A graph's memory stays the graphs' when it is gone: the next of that size has it, others when there is no more.
#[test]
fn memory_of_graphs_that_are_gone_is_kept_until_it_is_trimmed() {
    let settings = [("SOFTCUDA_MEMORY", "1M")];
    alone("memory_of_graphs_that_are_gone_is_kept_until_it_is_trimmed", &settings, || {
        let cu = with_context();
        let stream = free_stream(&cu);
        let run_once = |size: u64| {
            let graph = graph(&cu);
            let (node, address) = alloc_node(&cu, graph, &[], size);
            free_node(&cu, graph, &[node], address);
            let exec = instantiate(&cu, graph);
            run(&cu, exec, stream);
            destroy_exec(&cu, exec);
            destroy(&cu, graph);
        };
        run_once(768 << 10);
        assert_eq!(bytes(&cu), [768 << 10; 4]);
        run_once(768 << 10);
        assert_eq!(bytes(&cu), [768 << 10; 4], "the same");
        run_once(512 << 10);
        assert_eq!(bytes(&cu)[0], 512 << 10, "there was no room for both");
        run_once(256 << 10);
        assert_eq!(bytes(&cu)[0], 768 << 10);
        assert_eq!(cu.call("cuDeviceGraphMemTrim", &[0]), 0);
        assert_eq!(bytes(&cu), [0, 768 << 10, 0, 768 << 10]);
        run_once(256 << 10);
        assert_eq!(bytes(&cu)[0], 256 << 10);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
        assert_eq!(bytes(&cu)[0], 0, "nothing outlives the context");
    });
}

/// The parameters of a node that allocates managed memory on device 0.
fn managed_params(size: u64) -> [u64; 15] {
    let mut params = [0; 15];
    (params[0], params[1], params[13]) = (2, 1, size);
    params
}

fn try_managed(cu: &Library) -> i32 {
    let (mut node, mut params) = (0, managed_params(64));
    cu.call("cuGraphAddMemAllocNode", &[at(&mut node), graph(cu), 0, 0, at(&mut params)])
}

/// The host reads it where it is, from a launch to its free.
#[test]
fn managed_memory_of_graphs() {
    everywhere("managed_memory_of_graphs", || {
        let cu = with_context();
        let (stream, graph) = (free_stream(&cu), graph(&cu));
        let (mut node, mut params, mut is_managed) = (0, managed_params(64), 0u32);
        let arguments = [at(&mut node), graph, 0, 0, at(&mut params)];
        assert_eq!(cu.call("cuGraphAddMemAllocNode", &arguments), 0);
        let address = params[14];
        memset_node(&cu, graph, &[node], &memset_params(address, 5, 4, 16));
        let attribute = [at(&mut is_managed), 8, address];
        assert_eq!(cu.call("cuPointerGetAttribute", &attribute), INVALID_VALUE);
        assert_eq!(cu.call("cuMemPrefetchAsync", &[address, 64, 0, stream]), INVALID_VALUE);
        let exec = instantiate(&cu, graph);
        run(&cu, exec, stream);
        assert_eq!((cu.call("cuPointerGetAttribute", &attribute), is_managed), (0, 1));
        assert_eq!(crate::common::managed::bytes(address, 64)[60], 5);
        assert_eq!((cu.live("managed memory"), cu.live("device memory")), (1, 0));
        assert_eq!(cu.call("cuMemFree_v2", &[address]), 0);
        assert_eq!(cu.live("managed memory"), 0);
        destroy_exec(&cu, exec);
        destroy(&cu, graph);
    });
}

#[test]
fn managed_memory_of_graphs_came_with_13_0_and_needs_concurrent_access() {
    for (setting, answer) in
        [(("SOFTCUDA_VERSION", "12.9"), INVALID_VALUE), (("SOFTCUDA_CONCURRENT_MANAGED", "0"), NOT_SUPPORTED)]
    {
        alone("managed_memory_of_graphs_came_with_13_0_and_needs_concurrent_access", &[setting], || {
            assert_eq!(try_managed(&with_context()), answer);
        });
    }
}

/// A memset is refused where the graph has freed the memory before, and only there.
#[test]
fn a_memset_after_the_free_is_refused() {
    alone("a_memset_after_the_free_is_refused", &[], || {
        let cu = with_context();
        let (graph, mut context, mut made) = (graph(&cu), 0u64, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let (node, address) = alloc_node(&cu, graph, &[], 64);
        let free = free_node(&cu, graph, &[node], address);
        let behind = empty_node(&cu, graph, &[free]);
        let params = memset_params(address, 1, 4, 16);
        for (after, answer) in [(free, INVALID_VALUE), (behind, INVALID_VALUE), (node, 0)] {
            let after = [after];
            let arguments = [at(&mut made), graph, first(&after), 1, first(&params), context];
            assert_eq!(cu.call("cuGraphAddMemsetNode", &arguments), answer);
        }
    });
}

/// A module of one kernel, which stores a number at an address.
const STORE: &std::ffi::CStr = c".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry store(.param .u64 p, .param .u32 v) {\n.reg .u64 %p;\n.reg .u32 %v;\n\
    ld.param.u64 %p, [p];\nld.param.u32 %v, [v];\nst.global.u32 [%p], %v;\nret;\n}\n";

/// Copies four bytes.
fn copy_node(cu: &Library, graph: u64, after: &[u64], from: u64, to: u64) -> u64 {
    let (mut copy, mut copied, mut context) = ([0u64; 25], 0, 0u64);
    // From device to device memory: types, addresses, extent.
    (copy[4], copy[6], copy[15], copy[17]) = (2, from, 2, to);
    (copy[22], copy[23], copy[24]) = (4, 1, 1);
    assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
    let arguments = [at(&mut copied), graph, first(after), after.len() as u64, first(&copy), context];
    assert_eq!(cu.call("cuGraphAddMemcpyNode", &arguments), 0);
    copied
}

/// What comes behind a free in the same launch is found out, whatever it is, as it is in streams.
#[test]
fn use_after_the_free_is_an_illegal_address() {
    for user in
        ["a kernel", "a copy from it", "a copy to it", "a captured kernel", "a graph in it", "a relaunch"]
    {
        const NAME: &str = "use_after_the_free_is_an_illegal_address";
        for schedule in ["eager", "lazy", "seeded", "in-order"] {
            let case = [("SOFTCUDA_SCHEDULE", schedule), ("TEST_USER", user)];
            let said = alone(NAME, &case, || {
                let cu = with_context();
                let (stream, mut whole) = (free_stream(&cu), graph(&cu));
                let (store, (_, other)) = (function(&cu, STORE, c"store"), cu.allocate(4));
                let (node, address) = alloc_node(&cu, whole, &[], 64);
                let used = kernel_node(&cu, whole, &[node], store, &[address, 3]);
                let freed = free_node(&cu, whole, &[used], address);
                match user {
                    "a kernel" => {
                        let behind = empty_node(&cu, whole, &[freed]);
                        kernel_node(&cu, whole, &[behind], store, &[address, 3]);
                    }
                    "a copy from it" => {
                        copy_node(&cu, whole, &[freed], address, other);
                    }
                    "a copy to it" => {
                        copy_node(&cu, whole, &[freed], other, address);
                    }
                    "a graph in it" => {
                        let inner = graph(&cu);
                        kernel_node(&cu, inner, &[], store, &[address, 3]);
                        crate::common::graphs::child_node(&cu, whole, &[freed], inner);
                    }
                    "a captured kernel" => {
                        let (mut captured, mut again) = (0u64, 7u32);
                        assert_eq!(begin(&cu, stream, GLOBAL), 0);
                        assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut captured), 64, stream]), 0);
                        assert_eq!(cu.call("cuMemFreeAsync", &[captured, stream]), 0);
                        let config = [1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, stream, 0, 0];
                        let arguments = [at(&mut captured), at(&mut again)];
                        assert_eq!(
                            cu.call("cuLaunchKernelEx", &[first(&config), store, first(&arguments), 0]),
                            0
                        );
                        whole = graph_of(&cu, stream);
                    }
                    _ => {}
                }
                let exec = instantiate(&cu, whole);
                if user == "a relaunch" {
                    // It is memory again in each launch, and in none after it.
                    (0..3).for_each(|_| run(&cu, exec, stream));
                    let outside = graph(&cu);
                    kernel_node(&cu, outside, &[], store, &[address, 3]);
                    launch(&cu, instantiate(&cu, outside), stream);
                } else {
                    launch(&cu, exec, stream);
                }
                assert_eq!(synchronize(&cu, stream), ILLEGAL_ADDRESS, "{user}");
            });
            assert!(said.is_empty() || said.contains("illegal address"), "{user}: {said}");
        }
    }
}

/// Behind its free the address is the next one's, if that is not larger: a real driver does so, too.
#[test]
fn addresses_are_used_again() {
    everywhere("addresses_are_used_again", || {
        let cu = with_context();
        let (stream, graph, (_, results)) = (free_stream(&cu), graph(&cu), cu.allocate(8));
        let (one, first_one) = alloc_node(&cu, graph, &[], 4096);
        let filled = memset_node(&cu, graph, &[one], &memset_params(first_one, 5, 4, 16));
        let copied = copy_node(&cu, graph, &[filled], first_one, results);
        let freed = free_node(&cu, graph, &[copied], first_one);
        let behind = empty_node(&cu, graph, &[freed]);
        let (_, beside) = alloc_node(&cu, graph, &[copied], 4096);
        let (_, larger) = alloc_node(&cu, graph, &[behind], 8192);
        let (two, second_one) = alloc_node(&cu, graph, &[behind], 1000);
        let (_, third_one) = alloc_node(&cu, graph, &[behind], 4096);
        assert_eq!(second_one, first_one);
        for other in [beside, larger, third_one] {
            assert_ne!(other, first_one);
        }
        // A node means an address: this one comes while the first one has it, though it is added later.
        let late = copy_node(&cu, graph, &[filled], first_one, results + 4);
        assert_eq!(cu.call("cuGraphAddDependencies", &[graph, first(&[late]), first(&[freed]), 1]), 0);
        let filled = memset_node(&cu, graph, &[two], &memset_params(second_one, 6, 4, 16));
        let copied = copy_node(&cu, graph, &[filled], second_one, results);
        let freed = free_node(&cu, graph, &[copied], second_one);
        // Each of the two is freed once.
        let mut node = 0;
        let again = [at(&mut node), graph, first(&[freed]), 1, first_one];
        assert_eq!(cu.call("cuGraphAddMemFreeNode", &again), INVALID_VALUE);
        // Memory that was freed cannot be filled behind that, and that of the next one can.
        let (_, last) = alloc_node(&cu, graph, &[freed], 4096);
        assert_eq!(last, first_one);
        let exec = instantiate_with(&cu, graph, AUTO_FREE);
        for _ in 0..2 {
            run(&cu, exec, stream);
            assert_eq!((word(&cu, results), word(&cu, results + 4)), (6, 5));
        }
        // Those that nobody frees: beside, larger, the third, and the last, at the address of the first.
        assert_eq!((cu.live("device memory"), word(&cu, last)), (5, 6));
        // The block of the first is one.
        assert_eq!(bytes(&cu)[0], 4096 + 4096 + 8192 + 4096);
        assert_eq!(cu.call("cuDeviceGraphMemTrim", &[0]), 0);
        assert_eq!(word(&cu, last), 6, "it is memory");
        for address in [beside, larger, third_one, last] {
            assert_eq!(cu.call("cuMemFree_v2", &[address]), 0);
        }
        assert_eq!(cu.call("cuDeviceGraphMemTrim", &[0]), 0);
        assert_eq!(bytes(&cu)[0], 0);
        destroy_exec(&cu, exec);
        destroy(&cu, graph);
        assert_eq!(cu.call("cuMemsetD8_v2", &[first_one, 1, 4]), INVALID_VALUE);
        assert_eq!(cu.live("device memory"), 1);
    });
}

/// Also in captures, behind whatever stream has freed it; not beside it.
#[test]
fn addresses_are_used_again_in_captures() {
    alone("addresses_are_used_again_in_captures", &[], || {
        let cu = with_context();
        let (streams, event) = ([free_stream(&cu), free_stream(&cu)], event(&cu));
        let allocate = |stream: u64| {
            let mut address = 0u64;
            assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut address), 64, stream]), 0);
            address
        };
        let free = |address: u64, stream: u64| assert_eq!(cu.call("cuMemFreeAsync", &[address, stream]), 0);
        let join = |from: u64, to: u64| {
            record(&cu, event, from);
            assert_eq!(cu.call("cuStreamWaitEvent", &[to, event, 0]), 0);
        };
        assert_eq!(begin(&cu, streams[0], GLOBAL), 0);
        let first_one = allocate(streams[0]);
        join(streams[0], streams[1]);
        free(first_one, streams[1]);
        let beside = allocate(streams[0]);
        assert_ne!(beside, first_one);
        join(streams[1], streams[0]);
        let behind = allocate(streams[0]);
        assert_eq!(behind, first_one);
        free(behind, streams[0]);
        free(beside, streams[0]);
        let graph = graph_of(&cu, streams[0]);
        let exec = instantiate(&cu, graph);
        (0..3).for_each(|_| run(&cu, exec, streams[0]));
        assert_eq!(bytes(&cu)[..2], [1024; 2]);
    });
}

/// What could not be added leaves the address where it was.
#[test]
fn an_allocation_that_is_refused_takes_no_address() {
    alone("an_allocation_that_is_refused_takes_no_address", &[("SOFTCUDA_MEMORY", "1M")], || {
        let cu = with_context();
        let (stream, graph) = (free_stream(&cu), graph(&cu));
        let (node, address) = alloc_node(&cu, graph, &[], 64);
        let freed = free_node(&cu, graph, &[node], address);
        let stranger = empty_node(&cu, crate::common::graphs::graph(&cu), &[]);
        let (mut refused, mut params, after) = (0, [0u64; 15], [freed, stranger]);
        (params[0], params[1], params[13]) = (1, 1, 64);
        let arguments = [at(&mut refused), graph, first(&after), 2, at(&mut params)];
        assert_eq!(cu.call("cuGraphAddMemAllocNode", &arguments), INVALID_VALUE);
        assert_eq!(alloc_node(&cu, graph, &[freed], 64).1, address);
        run(&cu, instantiate(&cu, graph), stream);
        assert_eq!(cu.call("cuMemFree_v2", &[address]), 0);
    });
}

/// With an address for each, a use of the former one is found out, too.
#[test]
fn addresses_are_not_used_again_if_that_is_asked_for() {
    let settings = [("SOFTCUDA_GRAPH_REUSE", "0")];
    alone("addresses_are_not_used_again_if_that_is_asked_for", &settings, || {
        let cu = with_context();
        let (stream, graph, store) = (free_stream(&cu), graph(&cu), function(&cu, STORE, c"store"));
        let (one, first_one) = alloc_node(&cu, graph, &[], 64);
        let freed = free_node(&cu, graph, &[one], first_one);
        let (two, second_one) = alloc_node(&cu, graph, &[freed], 64);
        assert_ne!(first_one, second_one);
        kernel_node(&cu, graph, &[two], store, &[first_one, 1]);
        launch(&cu, instantiate(&cu, graph), stream);
        assert_eq!(synchronize(&cu, stream), ILLEGAL_ADDRESS);
    });
}
