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
//! | `named` | nodes by their handles |
//! | `read` | what a node does in its graph |
//! | `exec` | what is instantiated from a graph |
//! | `read_in_exec` | and in one exec |
//! | `attributes` | attributes of kernel nodes |
//! | `set` | nodes are changed in their graph |
//! | `set_in_exec` | and in one exec |
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

pub mod read_in_exec;

pub mod attributes;
pub mod set;
pub mod set_in_exec;

pub mod builder;

pub mod device_memory;

mod after;
mod named;
mod target;
