//! Graphs as text for Graphviz.

use super::definition::conditional::Choice;
use super::definition::{Edge, Graph, Node, Work};
use super::leaf::Leaf;
use crate::abi::Answer;
use crate::abi::pointer::In;
use crate::abi::sys::{
    CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS, CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS,
    CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS, CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO,
    CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES, CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS,
    CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS,
    CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS,
    CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS,
    CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE, CUDA_ERROR_OPERATING_SYSTEM, CUgraph, CUgraphDebugDot_flags,
};
use crate::instruments::output;
use std::ffi::c_char;
use std::fmt::{self, Write};

/// What a caller wants to be shown.
#[derive(Clone, Copy)]
struct Wanted(u32);

impl Wanted {
    fn has(self, flag: CUgraphDebugDot_flags) -> bool {
        self.0 & (flag.0 | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE.0) as u32 != 0
    }
}

/// Draws a graph, and behind it the graphs in it.
fn draw(graph: &Graph, wanted: Wanted, text: &mut String) -> fmt::Result {
    let id = graph.id;
    writeln!(text, "subgraph cluster_{id} {{\nlabel=\"graph_{id}\" graph[style=\"dashed\"];")?;
    let nodes = graph.nodes();
    for node in &nodes {
        write!(text, "\"graph_{id}_node_{}\"[style=\"solid\" shape=\"rectangle\" label=\"", node.number)?;
        label(node, wanted, text)?;
        writeln!(text, "\"];")?;
    }
    for Edge { from, to, data } in graph.edges() {
        write!(text, "\"graph_{id}_node_{}\" -> \"graph_{id}_node_{}\"", from.number, to.number)?;
        if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO) {
            let data = data.tell();
            write!(text, " [label=\"type {}, port {} to {}\"]", data.type_, data.from_port, data.to_port)?;
        }
        writeln!(text, ";")?;
    }
    writeln!(text, "}}")?;
    nodes.iter().flat_map(|node| node.work().into_graphs()).try_for_each(|inner| draw(&inner, wanted, text))
}

/// Lines of a label, each on its own.
fn label(node: &Node, wanted: Wanted, text: &mut String) -> fmt::Result {
    write!(text, "{}", node.number)?;
    if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES) {
        write!(text, "\\nnode {:#x}", node.handle)?;
    }
    match node.work() {
        Work::Child(graph) => write!(text, "\\nGRAPH\\ngraph_{}", graph.id),
        Work::Conditional(it) => {
            let kind = match it.choice {
                Choice::If => "IF",
                Choice::While => "WHILE",
                Choice::Switch => "SWITCH",
            };
            write!(text, "\\nCONDITIONAL {kind}")?;
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS) {
                write!(text, "\\nhandle {:#x}", it.condition.handle)?;
            }
            it.bodies.iter().try_for_each(|body| write!(text, "\\ngraph_{}", body.id))
        }
        Work::Leaf(leaf) => label_leaf(&leaf, wanted, text),
    }
}

fn label_leaf(leaf: &Leaf, wanted: Wanted, text: &mut String) -> fmt::Result {
    match leaf {
        Leaf::Empty => write!(text, "\\nEMPTY"),
        Leaf::Kernel(it) => {
            let name = it.launch.kernel.kernel().name.to_string_lossy();
            write!(text, "\\nKERNEL\\n{name}")?;
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS) {
                let shape = it.launch.shape;
                write!(
                    text,
                    "\\ngrid {:?}, block {:?}, shared memory {}",
                    shape.grid, shape.block, shape.shared
                )?;
            }
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES) {
                let (priority, shape) = (it.attributes.priority(), it.launch.shape);
                let cluster = shape.cluster.unwrap_or([0; 3]);
                write!(
                    text,
                    "\\npriority {priority}, cluster {cluster:?}, cooperative {}",
                    u8::from(shape.cooperative)
                )?;
            }
            Ok(())
        }
        Leaf::Copy(it) => {
            write!(text, "\\nMEMCPY")?;
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS) {
                let (from, to, extent) = (it.copy.from.end, it.copy.to.end, it.copy.extent);
                let [width, height, depth] = [extent.width, extent.height, extent.depth];
                write!(text, "\\nfrom {:#x} (type {})", from.address, from.kind.0)?;
                write!(text, "\\nto {:#x} (type {})\\n{width} x {height} x {depth}", to.address, to.kind.0)?;
            }
            Ok(())
        }
        Leaf::Fill(it) => {
            write!(text, "\\nMEMSET")?;
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS) {
                let p = &it.params;
                write!(text, "\\nto {:#x}, value {:#x} of {}", p.dst, p.value, p.elementSize)?;
                write!(text, "\\n{} x {}, pitch {}", p.width, p.height, p.pitch)?;
            }
            Ok(())
        }
        Leaf::Host(it) => {
            write!(text, "\\nHOST")?;
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS) {
                let params = it.tell();
                let function = params.fn_.map_or(0, |function| function as usize);
                write!(text, "\\nfunction {function:#x}, data {:#x}", params.userData as usize)?;
            }
            Ok(())
        }
        Leaf::Record(it) => label_event("EVENT_RECORD", it.event.handle() as usize, wanted, text),
        Leaf::Wait(it) => label_event("EVENT_WAIT", it.event.handle() as usize, wanted, text),
        Leaf::Alloc(it) => {
            write!(text, "\\nMEM_ALLOC")?;
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS) {
                write!(text, "\\n{} bytes at {:#x}", it.tell().bytesize, it.address())?;
            }
            Ok(())
        }
        Leaf::Free(it) => {
            write!(text, "\\nMEM_FREE")?;
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS) {
                write!(text, "\\nat {:#x}", it.address())?;
            }
            Ok(())
        }
        Leaf::Values(it) => {
            write!(text, "\\nBATCH_MEM_OP")?;
            if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS) {
                write!(text, "\\noperations {:?}", it.kinds().map(|kind| kind.0).collect::<Vec<_>>())?;
            }
            Ok(())
        }
    }
}

fn label_event(kind: &str, event: usize, wanted: Wanted, text: &mut String) -> fmt::Result {
    write!(text, "\\n{kind}")?;
    if wanted.has(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS) {
        write!(text, "\\nevent {event:#x}")?;
    }
    Ok(())
}

/// Replaces the file if there is one.
pub(crate) fn cuGraphDebugDotPrint(hGraph: CUgraph, path: In<c_char>, flags: u32) -> Answer {
    let (graph, path) = (Graph::of(hGraph)?, path.text()?);
    let mut text = String::from("digraph dot {\n");
    let drawn = draw(&graph, Wanted(flags), &mut text).and_then(|()| text.write_str("}\n"));
    let written = drawn.map_err(|_| CUDA_ERROR_OPERATING_SYSTEM);
    written.and_then(|()| output::write(path, &text).map_err(|_| CUDA_ERROR_OPERATING_SYSTEM))
}
