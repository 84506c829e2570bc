//! What is made of a definition to be launched.
//!
//! An exec knows the definition as it was (`layout`), and the work that is to be done, in which child graphs have become part
//! of the graph around them (`plan`). What each node does can be exchanged later; launches that are under way do what they
//! began with.

pub(crate) mod change;
pub(crate) mod created;
mod drawn;
pub(crate) mod launch;
mod layout;
mod limits;
mod memory;
mod objects;
mod operands;
mod pairing;
mod plan;
mod refusal;
mod run;
pub(crate) mod update;

use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, CUgraphExec, CUresult,
};
use crate::driver::graph::definition::{Node, next_id};
use crate::driver::handle::{Object, Table};
use crate::executor::Task;
use crate::instruments::live;
use layout::Layout;
use memory::Memory;
use objects::Objects;
use parking_lot::Mutex;
use plan::{Actions, Plan};
use run::Queues;
use std::sync::Arc;

/// Execs that were not destroyed.
static EXECS: Table<Exec> = Table::new();

/// A graph that can be launched.
pub(crate) struct Exec {
    handle: usize,
    /// Never used twice, nor by a graph.
    id: u32,
    flags: u64,
    state: Mutex<State>,
}

/// What changes of an exec.
struct State {
    layout: Layout,
    plan: Arc<Plan>,
    actions: Arc<Actions>,
    objects: Arc<Objects>,
    memory: Memory,
    /// Given up when the exec is destroyed, if there may be no other one of the graph until then.
    sole: Option<Arc<()>>,
    /// By this the graph knows that the exec exists, until it is destroyed.
    of: Option<Arc<()>>,
    /// The end of the last launch.
    last: Option<Arc<Task>>,
    /// Queues for the work of contexts other than that of the stream.
    queues: Queues,
}

impl State {
    /// The step that a node of the definition, or of a graph in it, stands for.
    fn step(&self, node: &Node) -> Result<usize, CUresult> {
        self.plan.steps.get(&node.handle).map(|step| *step as usize).ok_or(CUDA_ERROR_INVALID_VALUE)
    }
}

impl Object for Exec {
    fn report(&self) -> Option<live::Object> {
        let (kind, name) = (live::EXEC, self.handle);
        Some(live::Object { kind, name, bytes: 0, device: None, context: None, label: None })
    }
}

impl Exec {
    /// The exec that a caller's handle means.
    pub(crate) fn of(handle: CUgraphExec) -> Result<Arc<Self>, CUresult> {
        EXECS.get(handle as usize).ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    /// Whether kernels have the priorities of their nodes.
    fn has_own_priorities(&self) -> bool {
        self.flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY.0 as u64 != 0
    }

    /// Gives up what was kept: on this thread if it was never launched, else on a thread of the driver's (measured). Launches
    /// under way keep it longer. No lock may be held.
    fn release(objects: Arc<Objects>, launched: bool) {
        if launched {
            objects.set_launched();
        } else if let Some(objects) = Arc::into_inner(objects) {
            objects.release();
        }
    }

    fn add(flags: u64, state: State) -> Arc<Self> {
        EXECS.add(|handle| Self { handle, id: next_id(), flags, state: Mutex::new(state) })
    }
}
