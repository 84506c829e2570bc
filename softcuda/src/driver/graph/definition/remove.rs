//! What goes when a node or a graph goes.

use super::content::Content;
use super::{GRAPHS, Graph, NODES, Node, Work};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUresult};
use crate::driver::condition::Condition;
use crate::driver::user_object::UserObject;
use crate::driver::user_object::references::References;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What is taken apart.
#[derive(Default)]
struct Remains {
    nodes: Vec<Arc<Node>>,
    graphs: Vec<usize>,
    objects: References,
    conditions: Vec<Arc<Condition>>,
}

impl Remains {
    fn add_node(&mut self, node: Arc<Node>) {
        self.add_work(&node.work());
        self.nodes.push(node);
    }

    fn add_work(&mut self, work: &Work) {
        work.graphs().iter().for_each(|graph| self.add_graph(graph));
        if let Work::Conditional(conditional) = work {
            conditional.condition.give_up();
        }
    }

    fn add_graph(&mut self, graph: &Graph) {
        let content = std::mem::take(&mut *graph.content.lock());
        let Content { nodes, objects, conditions, .. } = content;
        self.objects.append(objects);
        self.conditions.extend(conditions);
        self.graphs.push(graph.handle);
        nodes.into_values().for_each(|node| self.add_node(node));
    }

    /// Forgets the handles, and calls destructors on this thread (measured). No lock may be held.
    fn forget(self) {
        NODES.remove_all(self.nodes.iter().map(|node| node.handle));
        GRAPHS.remove_all(self.graphs);
        drop(self.nodes);
        self.objects.release();
    }
}

impl Work {
    /// No node is to do it. A graph that was to be moved stays the program's.
    pub(crate) fn discard(&self) {
        if let Self::Child(graph) = self
            && graph.place().is_none()
            && graph.moved.swap(false, Ordering::AcqRel)
        {
            return;
        }
        let mut remains = Remains::default();
        remains.add_work(self);
        remains.forget();
    }
}

impl Node {
    /// Gives it another graph, and destroys the one that it has.
    pub(crate) fn set_graph(self: &Arc<Self>, new: Work) -> Result<(), CUresult> {
        new.graphs().iter().for_each(|graph| graph.put_into(self));
        let former = std::mem::replace(&mut *self.work.write(), new);
        former.discard();
        Ok(())
    }
}

impl Graph {
    /// Destroys it, with everything in it.
    pub(crate) fn destroy(&self) {
        let mut remains = Remains::default();
        remains.add_graph(self);
        remains.forget();
    }

    /// Destroys a node of it.
    pub(crate) fn remove(&self, node: &Node) -> Result<(), CUresult> {
        let mut content = self.content.lock();
        content.check_removal()?;
        if node.work().graphs().iter().any(|graph| graph.content.lock().has_memory_nodes()) {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
        // Measured.
        if node.leaf().is_ok_and(|leaf| leaf.is_updatable()) {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
        let removed = content.remove(node.handle).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        drop(content);
        let mut remains = Remains::default();
        remains.add_node(removed);
        self.inherit(std::mem::take(&mut remains.conditions));
        remains.forget();
        Ok(())
    }

    /// Keeps an object, to which these references are its own.
    pub(crate) fn keep(&self, object: &Arc<UserObject>, count: u64) {
        self.content.lock().objects.add(object, count);
    }

    /// Gives references up, as far as it has so many; answers how many that are.
    pub(crate) fn give_up(&self, object: &UserObject, count: u64) -> u64 {
        let references = self.content.lock().objects.split(object, count);
        let given_up = references.count();
        references.release();
        given_up
    }

    /// References of its own for something that is made of it; those of the graphs in it are not among them.
    pub(crate) fn objects(&self) -> References {
        self.content.lock().objects.again()
    }
}
