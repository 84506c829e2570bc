//! Memory of graphs: when it is memory, under every schedule, who frees it, and what it takes of a device. What a driver
//! refuses, the conformance suite asks.

use crate::common::graphs::{
    any_params, destroy, destroy_exec, empty_node, graph, instantiate, instantiate_with, launch, memset_node,
    memset_params, run,
};
use crate::common::streams::{Gate, ILLEGAL_ADDRESS, free_stream, synchronize};
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
        let (graph, mut context, mut made) = (graph(&cu), 0u64, 0);
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
