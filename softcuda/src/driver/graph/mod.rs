//! Graphs: work that is described once and launched many times.
//!
//! | file | concept |
//! |---|---|
//! | `edge` | what an edge says beside which node follows which |
//! | `leaf` | what nodes do, by their types |
//! | `definition` | graphs and their nodes |
//! | `calls` | the calls that make definitions, tell of them, and change them |
//! | `exec` | what is made of a definition to be launched |
//! | `picture` | graphs as text for Graphviz |
//! | `capture` | the calls that let a stream make a graph |

pub(crate) mod calls;
pub(crate) mod capture;
pub(crate) mod definition;
mod edge;
pub(crate) mod exec;
mod leaf;
pub(crate) mod picture;
