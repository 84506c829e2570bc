//! Conditional nodes under every schedule: kernels set conditions, and bodies run as these say. What a driver refuses, and
//! which value chooses what, the conformance suite asks.

use crate::common::graphs::{
    any_params, destroy, destroy_exec, function, graph, instantiate, kernel_node, kernel_params, launch, run,
};
use crate::common::streams::{free_stream, query, synchronize};
use crate::common::{INVALID_VALUE, Library, NOT_SUPPORTED, alone, at, everywhere, first, with_context};
use std::ffi::CStr;

/// `set` gives a condition a value. `note` appends a digit to the number at an address. `count` takes one from the number at
/// an address, and sets a condition to whether there is something left.
const KERNELS: &CStr = c"
.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 condition, .param .u32 number)
{
    .reg .u32 %r;
    .reg .u64 %c;
    ld.param.u64 %c, [condition];
    ld.param.u32 %r, [number];
    {
    .param .b64 handle;
    .param .b32 value;
    st.param.b64 [handle], %c;
    st.param.b32 [value], %r;
    call.uni cudaGraphSetConditional, (handle, value);
    }
    ret;
}
.visible .entry note(.param .u64 place, .param .u32 digit)
{
    .reg .u32 %r, %n;
    .reg .u64 %a;
    ld.param.u64 %a, [place];
    ld.param.u32 %r, [digit];
    ld.global.u32 %n, [%a];
    mad.lo.u32 %n, %n, 10, %r;
    st.global.u32 [%a], %n;
    ret;
}
.visible .entry count(.param .u64 condition, .param .u64 place)
{
    .reg .pred %p;
    .reg .u32 %n, %r;
    .reg .u64 %a, %c;
    ld.param.u64 %c, [condition];
    ld.param.u64 %a, [place];
    ld.global.u32 %n, [%a];
    sub.u32 %n, %n, 1;
    st.global.u32 [%a], %n;
    setp.ne.u32 %p, %n, 0;
    selp.u32 %r, 1, 0, %p;
    {
    .param .b64 handle;
    .param .b32 value;
    st.param.b64 [handle], %c;
    st.param.b32 [value], %r;
    call.uni cudaGraphSetConditional, (handle, value);
    }
    ret;
}
";

const IF: u64 = 0;
const WHILE: u64 = 1;
const SWITCH: u64 = 2;

/// What a test needs for graphs with conditions.
struct Setting {
    cu: Library,
    context: u64,
    stream: u64,
    set: u64,
    note: u64,
    count: u64,
    /// Two words: the noted number, and one that is counted down.
    memory: u64,
}

impl Setting {
    fn new() -> Self {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let (stream, (_, memory)) = (free_stream(&cu), cu.allocate(8));
        let [set, note, count] = [c"set", c"note", c"count"].map(|name| function(&cu, KERNELS, name));
        Self { cu, context, stream, set, note, count, memory }
    }

    /// A condition that has this value at the beginning of each launch, or the one that it had.
    fn condition(&self, graph: u64, value: Option<u64>) -> u64 {
        let (mut condition, flags) = (0, u64::from(value.is_some()));
        let arguments = [at(&mut condition), graph, self.context, value.unwrap_or(0), flags];
        assert_eq!(self.cu.call("cuGraphConditionalHandleCreate", &arguments), 0);
        condition
    }

    /// A conditional node, and its bodies.
    fn conditional(
        &self,
        graph: u64,
        after: &[u64],
        condition: u64,
        kind: u64,
        size: u64,
    ) -> (u64, Vec<u64>) {
        let mut node = 0;
        let mut params = any_params(13, &[condition, kind | size << 32, 0, self.context]);
        let arguments = [at(&mut node), graph, first(after), 0, after.len() as u64, at(&mut params)];
        assert_eq!(self.cu.call("cuGraphAddNode_v2", &arguments), 0);
        // SAFETY: the driver has written the address of so many handles.
        let bodies = unsafe { std::slice::from_raw_parts(params[4] as *const u64, size as usize) };
        (node, bodies.to_vec())
    }

    /// A node that appends a digit.
    fn note(&self, graph: u64, after: &[u64], digit: u64) -> u64 {
        kernel_node(&self.cu, graph, after, self.note, &[self.memory, digit])
    }

    fn set(&self, graph: u64, after: &[u64], condition: u64, value: u64) -> u64 {
        kernel_node(&self.cu, graph, after, self.set, &[condition, value])
    }

    fn write(&self, word: u64, value: u64) {
        let arguments = [self.memory + 4 * word, std::ptr::from_ref(&value) as u64, 4];
        assert_eq!(self.cu.call("cuMemcpyHtoD_v2", &arguments), 0);
    }

    /// What was noted, which is forgotten then.
    fn noted(&self) -> u32 {
        let mut noted = 0u32;
        assert_eq!(self.cu.call("cuMemcpyDtoH_v2", &[at(&mut noted), self.memory, 4]), 0);
        self.write(0, 0);
        noted
    }

    /// What one launch notes.
    fn run(&self, exec: u64) -> u32 {
        self.write(0, 0);
        run(&self.cu, exec, self.stream);
        self.noted()
    }
}

/// A kernel decides, the chosen body runs before what comes behind the node, and nothing else does.
#[test]
fn kernels_choose_bodies() {
    everywhere("kernels_choose_bodies", || {
        let it = Setting::new();
        for (kind, size, value, expected) in [
            (IF, 1, 0, 19),
            (IF, 1, 7, 129),
            (IF, 2, 0, 139),
            (IF, 2, 1, 129),
            (SWITCH, 3, 0, 129),
            (SWITCH, 3, 2, 149),
            (SWITCH, 3, 3, 19),
            (SWITCH, 3, u64::from(u32::MAX), 19),
        ] {
            let graph = graph(&it.cu);
            let condition = it.condition(graph, Some(5));
            let begin = it.note(graph, &[], 1);
            let setter = it.set(graph, &[begin], condition, value);
            let (node, bodies) = it.conditional(graph, &[setter], condition, kind, size);
            for (digit, body) in (2..).zip(bodies) {
                it.note(body, &[], digit);
            }
            it.note(graph, &[node], 9);
            let exec = instantiate(&it.cu, graph);
            destroy(&it.cu, graph);
            assert_eq!([it.run(exec), it.run(exec)], [expected; 2], "{kind} {size} {value}");
            destroy_exec(&it.cu, exec);
        }
    });
}

/// A loop with a branch in it, and a loop in a loop.
#[test]
fn loops_and_branches_in_each_other() {
    everywhere("loops_and_branches_in_each_other", || {
        let it = Setting::new();
        let graph = graph(&it.cu);
        let (outer, inner, branch) =
            (it.condition(graph, Some(1)), it.condition(graph, None), it.condition(graph, Some(0)));
        let (node, outer_body) = it.conditional(graph, &[], outer, WHILE, 1);
        it.note(graph, &[node], 9);
        // Each round: two rounds of the inner loop, then, once, the branch.
        let refill = it.set(outer_body[0], &[], inner, 1);
        let (node, inner_body) = it.conditional(outer_body[0], &[refill], inner, WHILE, 1);
        let noted = it.note(inner_body[0], &[], 1);
        it.set(inner_body[0], &[noted], inner, 0);
        let count = kernel_node(&it.cu, outer_body[0], &[node], it.count, &[outer, it.memory + 4]);
        let (_, branch_body) = it.conditional(outer_body[0], &[count], branch, IF, 1);
        it.note(branch_body[0], &[], 5);
        it.set(branch_body[0], &[], branch, 0);
        it.set(outer_body[0], &[count, node], inner, 0);
        let exec = instantiate(&it.cu, graph);
        for rounds in 1..5 {
            it.write(1, rounds);
            let expected = (0..rounds).fold(0, |all, _| all * 10 + 1) * 10 + 9;
            assert_eq!(u64::from(it.run(exec)), expected);
        }
    });
}

/// Launches of one exec come one after the other, each from the beginning, in however many streams.
#[test]
fn launches_begin_with_their_defaults() {
    everywhere("launches_begin_with_their_defaults", || {
        let it = Setting::new();
        let (graph, other_stream) = (graph(&it.cu), free_stream(&it.cu));
        let condition = it.condition(graph, Some(1));
        let (node, bodies) = it.conditional(graph, &[], condition, IF, 2);
        let taken = it.note(bodies[0], &[], 3);
        it.set(bodies[0], &[taken], condition, 0);
        it.note(bodies[1], &[], 4);
        it.note(graph, &[node], 5);
        let exec = instantiate(&it.cu, graph);
        it.write(0, 0);
        for stream in [it.stream, other_stream, it.stream, other_stream] {
            launch(&it.cu, exec, stream);
        }
        destroy_exec(&it.cu, exec);
        destroy(&it.cu, graph);
        for stream in [it.stream, other_stream] {
            assert_eq!(synchronize(&it.cu, stream), 0);
        }
        assert_eq!(it.noted(), 35_353_535);
    });
}

/// A graph of the same form brings other defaults, and other work in the bodies.
#[test]
fn updates_reach_conditions_and_bodies() {
    everywhere("updates_reach_conditions_and_bodies", || {
        let it = Setting::new();
        let make = |default: u64, digits: u64| {
            let graph = graph(&it.cu);
            let condition = it.condition(graph, Some(default));
            let (_, bodies) = it.conditional(graph, &[], condition, SWITCH, 3);
            let nodes: Vec<u64> =
                (digits..).zip(bodies).map(|(digit, body)| it.note(body, &[], digit)).collect();
            (graph, nodes)
        };
        let (own, nodes) = make(0, 1);
        let exec = instantiate(&it.cu, own);
        assert_eq!(it.run(exec), 1);
        let mut info = [0u64; 3];
        for default in [1, 2, 0] {
            let (twin, _) = make(default, 4);
            assert_eq!(it.cu.call("cuGraphExecUpdate_v2", &[exec, twin, at(&mut info)]), 0);
            destroy(&it.cu, twin);
            assert_eq!(u64::from(it.run(exec)), 4 + default);
        }
        let values = [it.memory, 8];
        let pointers = values.each_ref().map(|value| std::ptr::from_ref(value) as u64);
        let params = kernel_params(it.note, &pointers);
        let arguments = [exec, nodes[0], first(&params)];
        assert_eq!(it.cu.call("cuGraphExecKernelNodeSetParams_v2", &arguments), 0);
        assert_eq!(it.run(exec), 8);
    });
}

/// A loop without an end goes on beside everything else, and ends with its context.
#[test]
fn an_endless_loop_ends_with_its_context() {
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        alone("an_endless_loop_ends_with_its_context", &[("SOFTCUDA_SCHEDULE", schedule)], || {
            let it = Setting::new();
            let (graph, other_stream) = (graph(&it.cu), free_stream(&it.cu));
            let condition = it.condition(graph, Some(1));
            it.conditional(graph, &[], condition, WHILE, 1);
            let exec = instantiate(&it.cu, graph);
            launch(&it.cu, exec, it.stream);
            assert_eq!(query(&it.cu, it.stream), 600);
            assert_eq!(it.cu.call("cuMemsetD32Async", &[it.memory, 1, 1, other_stream]), 0);
            assert_eq!(synchronize(&it.cu, other_stream), 0);
            assert_eq!(it.cu.call("softcuda_poison", &[700]), 0);
            assert_eq!(synchronize(&it.cu, it.stream), 700);
        });
    }
}

#[test]
fn a_condition_is_one_exec_s_and_one_node_s() {
    alone("a_condition_is_one_exec_s_and_one_node_s", &[], || {
        let it = Setting::new();
        let (graph, mut other) = (graph(&it.cu), 0);
        let condition = it.condition(graph, Some(1));
        let (node, bodies) = it.conditional(graph, &[], condition, IF, 1);
        it.note(bodies[0], &[], 7);
        let second = |exec: &mut u64| it.cu.call("cuGraphInstantiateWithFlags", &[at(exec), graph, 0]);
        let exec = instantiate(&it.cu, graph);
        assert_eq!(second(&mut other), NOT_SUPPORTED);
        destroy_exec(&it.cu, exec);
        assert_eq!(second(&mut other), 0);
        // Its node and its body are gone, and it still runs.
        assert_eq!(it.cu.call("cuGraphDestroyNode", &[node]), 0);
        assert_eq!(it.cu.call("cuGraphDestroy", &[bodies[0]]), INVALID_VALUE);
        assert_eq!(it.run(other), 7);
        destroy_exec(&it.cu, other);
        assert_eq!(second(&mut other), INVALID_VALUE);
        it.conditional(graph, &[], condition, IF, 1);
        assert_eq!(second(&mut other), 0);
        assert_eq!(it.cu.live("graph"), 1);
        destroy(&it.cu, graph);
        assert_eq!(it.cu.live("graph"), 0);
    });
}

/// A condition of a graph that is removed with its node is the one's around it: that cannot be instantiated before a node looks at it.
#[test]
fn conditions_outlive_the_graph_that_they_were_created_for() {
    alone("conditions_outlive_the_graph_that_they_were_created_for", &[], || {
        let s = Setting::new();
        let (outer, inner, mut exec) = (graph(&s.cu), graph(&s.cu), 0);
        let looked_at = s.condition(outer, Some(1));
        let (conditional, bodies) = s.conditional(outer, &[], looked_at, IF, 1);
        let (mut child, mut embedded) = (0, 0);
        let added = [at(&mut child), bodies[0], 0, 0, inner];
        assert_eq!(s.cu.call("cuGraphAddChildGraphNode", &added), 0);
        assert_eq!(s.cu.call("cuGraphChildGraphNodeGetGraph", &[child, at(&mut embedded)]), 0);
        let left = s.condition(embedded, Some(1));
        assert_eq!(s.cu.call("cuGraphDestroyNode", &[conditional]), 0);
        let first = s.note(outer, &[], 1);
        let instantiated = |exec: &mut u64| s.cu.call("cuGraphInstantiateWithFlags", &[at(exec), outer, 0]);
        assert_eq!(instantiated(&mut exec), INVALID_VALUE);
        s.conditional(outer, &[], looked_at, IF, 1);
        assert_eq!(instantiated(&mut exec), INVALID_VALUE, "the other one");
        // After the note, which it would otherwise write at the same time.
        let (_, bodies) = s.conditional(outer, &[first], left, IF, 1);
        s.note(bodies[0], &[], 2);
        assert_eq!(s.run(instantiate(&s.cu, outer)), 12);
    });
}
