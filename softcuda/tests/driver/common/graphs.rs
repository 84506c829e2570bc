//! Graphs, their nodes, and what is launched of them.

use super::streams::Log;
use super::{Library, at, first};
use std::ffi::{CStr, c_void};

pub(crate) fn graph(cu: &Library) -> u64 {
    let mut graph = 0;
    assert_eq!(cu.call("cuGraphCreate", &[at(&mut graph), 0]), 0);
    graph
}

pub(crate) fn destroy(cu: &Library, graph: u64) {
    assert_eq!(cu.call("cuGraphDestroy", &[graph]), 0);
}

pub(crate) fn empty_node(cu: &Library, graph: u64, after: &[u64]) -> u64 {
    let mut node = 0;
    let arguments = [at(&mut node), graph, first(after), after.len() as u64];
    assert_eq!(cu.call("cuGraphAddEmptyNode", &arguments), 0);
    node
}

/// A node that calls a function with data that lives for ever.
pub(crate) fn host_node<T>(
    cu: &Library,
    graph: u64,
    after: &[u64],
    function: extern "C" fn(*mut c_void),
    data: &'static T,
) -> u64 {
    let (mut node, params) = (0, [function as *const () as u64, std::ptr::from_ref(data) as u64]);
    let arguments = [at(&mut node), graph, first(after), after.len() as u64, first(&params)];
    assert_eq!(cu.call("cuGraphAddHostNode", &arguments), 0);
    node
}

pub(crate) fn child_node(cu: &Library, graph: u64, after: &[u64], child: u64) -> u64 {
    let mut node = 0;
    let arguments = [at(&mut node), graph, first(after), after.len() as u64, child];
    assert_eq!(cu.call("cuGraphAddChildGraphNode", &arguments), 0);
    node
}

/// The parameters of a memset node: address, pitch, value and its bytes, width, height.
pub(crate) fn memset_params(address: u64, value: u32, bytes: u32, width: u64) -> [u64; 5] {
    [address, 0, u64::from(value) | u64::from(bytes) << 32, width, 1]
}

pub(crate) fn memset_node(cu: &Library, graph: u64, after: &[u64], params: &[u64; 5]) -> u64 {
    let (mut node, mut context) = (0, 0u64);
    assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
    let arguments = [at(&mut node), graph, first(after), after.len() as u64, first(params), context];
    assert_eq!(cu.call("cuGraphAddMemsetNode", &arguments), 0);
    node
}

/// A launch of one thread, in the ABI of 12.0. The arguments are of eight bytes, or of which the low ones count.
pub(crate) fn kernel_node(cu: &Library, graph: u64, after: &[u64], function: u64, arguments: &[u64]) -> u64 {
    let pointers: Vec<u64> = arguments.iter().map(|argument| std::ptr::from_ref(argument) as u64).collect();
    let params = kernel_params(function, &pointers);
    let mut node = 0;
    let arguments = [at(&mut node), graph, first(after), after.len() as u64, first(&params)];
    assert_eq!(cu.call("cuGraphAddKernelNode_v2", &arguments), 0);
    node
}

/// `CUDA_KERNEL_NODE_PARAMS_v2` of one thread.
pub(crate) fn kernel_params(function: u64, pointers: &[u64]) -> [u64; 9] {
    const TWO: u64 = 1 | 1 << 32;
    let pointers = if pointers.is_empty() { 0 } else { first(pointers) };
    [function, TWO, TWO, TWO, 0, pointers, 0, 0, 0]
}

/// A function of a module of PTX text.
pub(crate) fn function(cu: &Library, text: &CStr, name: &CStr) -> u64 {
    let (mut module, mut function) = (0, 0);
    assert_eq!(cu.call("cuModuleLoadData", &[at(&mut module), text.as_ptr() as u64]), 0);
    assert_eq!(cu.call("cuModuleGetFunction", &[at(&mut function), module, name.as_ptr() as u64]), 0);
    function
}

pub(crate) fn instantiate(cu: &Library, graph: u64) -> u64 {
    instantiate_with(cu, graph, 0)
}

pub(crate) fn instantiate_with(cu: &Library, graph: u64, flags: u64) -> u64 {
    let mut exec = 0;
    assert_eq!(cu.call("cuGraphInstantiateWithFlags", &[at(&mut exec), graph, flags]), 0);
    exec
}

/// Launches it, and waits for it.
pub(crate) fn run(cu: &Library, exec: u64, stream: u64) {
    launch(cu, exec, stream);
    assert_eq!(cu.call("cuStreamSynchronize", &[stream]), 0);
}

pub(crate) fn launch(cu: &Library, exec: u64, stream: u64) {
    assert_eq!(cu.call("cuGraphLaunch", &[exec, stream]), 0);
}

pub(crate) fn destroy_exec(cu: &Library, exec: u64) {
    assert_eq!(cu.call("cuGraphExecDestroy", &[exec]), 0);
}

/// The nodes of a graph.
pub(crate) fn nodes(cu: &Library, graph: u64) -> Vec<u64> {
    let mut count = 0usize;
    assert_eq!(cu.call("cuGraphGetNodes", &[graph, 0, at(&mut count)]), 0);
    let mut nodes = vec![0; count];
    assert_eq!(cu.call("cuGraphGetNodes", &[graph, nodes.as_mut_ptr() as u64, at(&mut count)]), 0);
    nodes
}

/// The parameters of a node of any type, by which the call for all takes them.
pub(crate) fn any_params(kind: u64, words: &[u64]) -> [u64; 32] {
    let mut params = [0; 32];
    params[0] = kind;
    params[2..2 + words.len()].copy_from_slice(words);
    params
}

impl Log {
    /// A node that writes the number at each launch.
    pub(crate) fn node(&'static self, cu: &Library, graph: u64, after: &[u64], number: i32) -> u64 {
        let (mut node, params) = (0, self.params(number));
        let arguments = [at(&mut node), graph, first(after), after.len() as u64, first(&params)];
        assert_eq!(cu.call("cuGraphAddHostNode", &arguments), 0);
        node
    }

    /// The parameters of such a node: function and data, which lives for ever.
    pub(crate) fn params(&'static self, number: i32) -> [u64; 2] {
        struct Note(&'static Log, i32);
        extern "C" fn write(note: *mut c_void) {
            // SAFETY: the note below.
            let note = unsafe { &*note.cast::<Note>() };
            note.0.add(note.1);
        }
        let note: &'static Note = Box::leak(Box::new(Note(self, number)));
        [write as *const () as u64, std::ptr::from_ref(note) as u64]
    }
}
