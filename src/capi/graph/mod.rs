//! Graphs.
//!
//! | file | concept |
//! |---|---|
//! | `definition` | graphs: created, wrapped, cloned, listed, drawn |
//! | `after` | the nodes that come before another, as callers give them |
//! | `edges` | which node comes after which |
//! | `add`, `kernel`, `memory` | nodes are added: without memory, kernels, with memory |
//! | `child`, `conditional` | nodes with graphs in them |
//! | `node` | nodes: type, graph, owners, removal |
//! | `read` | what a node does |
//! | `exec` | what is instantiated from a graph |
//! | `set` | nodes are changed, in the graph or in one exec |
//! | `builder` | graphs that are captured from streams |
//! | `device_memory` | the memory that a device keeps for graphs |

pub mod definition;

pub mod edges;

pub mod add;
pub mod child;
pub mod conditional;
pub mod kernel;
pub mod memory;

pub mod node;
pub mod read;

pub mod exec;

pub mod set;

pub mod builder;

pub mod device_memory;

mod after;
