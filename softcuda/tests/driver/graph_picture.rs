//! What softcuda says of a graph to people: its text for Graphviz, and its numbers.

use crate::common::graphs::{child_node, destroy, empty_node, graph, memset_node, memset_params, nodes};
use crate::common::{Library, alone, at, with_context};
use std::ffi::CString;

const VERBOSE: u64 = 1;
const OPERATING_SYSTEM: i32 = 304;

fn picture(cu: &Library, graph: u64, flags: u64) -> String {
    let path = std::env::temp_dir().join(format!("softcuda-graph-{}-{flags}.dot", std::process::id()));
    let name = CString::new(path.to_str().unwrap()).unwrap();
    assert_eq!(cu.call("cuGraphDebugDotPrint", &[graph, name.as_ptr() as u64, flags]), 0);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    text
}

#[test]
fn a_picture_shows_nodes_edges_and_graphs_in_graphs() {
    alone("a_picture_shows_nodes_edges_and_graphs_in_graphs", &[("SOFTCUDA_VERSION", "13.1")], || {
        let cu = with_context();
        let (_, memory) = cu.allocate(64);
        let (outer, inner) = (graph(&cu), graph(&cu));
        empty_node(&cu, inner, &[]);
        let fill = memset_node(&cu, outer, &[], &memset_params(memory, 7, 4, 16));
        let child = child_node(&cu, outer, &[fill], inner);
        let mut held = 0u64;
        assert_eq!(cu.call("cuGraphChildGraphNodeGetGraph", &[child, at(&mut held)]), 0);
        let id = |graph: u64| {
            let mut id = 0u32;
            assert_eq!(cu.call("cuGraphGetId", &[graph, at(&mut id)]), 0);
            id
        };
        let (brief, full) = (picture(&cu, outer, 0), picture(&cu, outer, VERBOSE));
        assert!(brief.starts_with("digraph dot {\n") && brief.ends_with("}\n"), "{brief}");
        let expected = [
            format!("subgraph cluster_{}", id(outer)),
            format!("\"graph_{0}_node_0\" -> \"graph_{0}_node_1\";", id(outer)),
            format!("subgraph cluster_{}", id(held)),
            format!("\"graph_{}_node_0\"[", id(held)),
            "MEMSET".to_owned(),
            "EMPTY".to_owned(),
        ];
        assert!(expected.iter().all(|part| brief.contains(part)), "{brief}");
        let address = format!("to {memory:#x}, value 0x7 of 4");
        assert!(!brief.contains(&address) && full.contains(&address), "{full}");
        assert_eq!(brief.matches('{').count(), brief.matches('}').count());
        let nowhere = c"/proc/nowhere/picture".as_ptr() as u64;
        assert_eq!(cu.call("cuGraphDebugDotPrint", &[outer, nowhere, 0]), OPERATING_SYSTEM);
    });
}

/// A node keeps its number in copies, and numbers of removed nodes do not come again.
#[test]
fn numbers_of_nodes_stay() {
    alone("numbers_of_nodes_stay", &[("SOFTCUDA_VERSION", "13.1")], || {
        let cu = with_context();
        let (graph, mut copy) = (graph(&cu), 0u64);
        let made: Vec<u64> = (0..4).map(|_| empty_node(&cu, graph, &[])).collect();
        assert_eq!(cu.call("cuGraphDestroyNode", &[made[1]]), 0);
        assert_eq!(cu.call("cuGraphClone", &[at(&mut copy), graph]), 0);
        empty_node(&cu, copy, &[]);
        let number = |node: &u64| {
            let mut number = 0u32;
            assert_eq!(cu.call("cuGraphNodeGetLocalId", &[*node, at(&mut number)]), 0);
            number
        };
        assert_eq!(nodes(&cu, graph).iter().map(number).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(nodes(&cu, copy).iter().map(number).collect::<Vec<_>>(), [0, 2, 3, 4]);
        let (mut tools, mut id, mut of) = (0u64, 0u32, 0u64);
        let last = nodes(&cu, copy)[3];
        assert_eq!(cu.call("cuGraphNodeGetToolsId", &[last, at(&mut tools)]), 0);
        assert_eq!(cu.call("cuGraphNodeGetContainingGraph", &[last, at(&mut of)]), 0);
        assert_eq!(cu.call("cuGraphGetId", &[of, at(&mut id)]), 0);
        assert_eq!((of, tools), (copy, u64::from(id) << 32 | 4));
        [graph, copy].into_iter().for_each(|graph| destroy(&cu, graph));
    });
}
