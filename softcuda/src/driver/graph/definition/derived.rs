//! What was made of a graph, and keeps a real driver from instantiating it, or what it is part of: measured of graphs with conditional nodes.

use super::{GRAPHS, Graph};
use std::sync::{Arc, Weak};

#[derive(Default)]
pub(super) struct Derived {
    /// Also those that are gone.
    clones: Vec<usize>,
    /// Those that nodes of other graphs have.
    copies: Vec<usize>,
    execs: Vec<Weak<()>>,
}

impl Graph {
    /// A copy that the program asked for, and has for itself.
    pub(crate) fn clone_graph(&self) -> Arc<Self> {
        let clone = self.duplicate();
        add(&mut self.derived.lock().clones, clone.handle);
        clone
    }

    /// A copy for a node of another graph.
    pub(crate) fn copy_for_node(&self) -> Arc<Self> {
        let copy = self.duplicate();
        add(&mut self.derived.lock().copies, copy.handle);
        copy
    }

    /// An exec was made of it, which keeps the token.
    pub(crate) fn has_exec(&self) -> Arc<()> {
        let token = Arc::new(());
        let execs = &mut self.derived.lock().execs;
        execs.retain(|exec| exec.strong_count() > 0);
        execs.push(Arc::downgrade(&token));
        token
    }

    /// Whether there are clones of it.
    pub(crate) fn is_cloned(&self) -> bool {
        self.derived.lock().clones.iter().any(exists)
    }

    /// Whether there are clones of a graph in it, at any depth, or copies or execs of one that was moved there.
    pub(crate) fn holds_derived(&self) -> bool {
        let nodes: Vec<_> = self.content.lock().nodes.values().cloned().collect();
        nodes.iter().any(|node| {
            node.work()
                .graphs()
                .iter()
                .any(|graph| graph.is_cloned() || graph.was_derived_before() || graph.holds_derived())
        })
    }

    fn was_derived_before(&self) -> bool {
        let derived = self.derived.lock();
        self.is_moved()
            && (derived.copies.iter().any(exists) || derived.execs.iter().any(|exec| exec.strong_count() > 0))
    }
}

fn add(graphs: &mut Vec<usize>, graph: usize) {
    graphs.retain(exists);
    graphs.push(graph);
}

fn exists(graph: &usize) -> bool {
    GRAPHS.get(*graph).is_some()
}
