//! The driver's objects, and the calls on them, from the ground up: each module uses only those named before it.
//!
//! | module | concept |
//! |---|---|
//! | `call`, `handle`, `signal`, `waiting` | what a call says, handles, who is told of what, waiting for work |
//! | `device` | devices and their attributes |
//! | `space` | address space: the window of device memory, the heap of kernels, host pages |
//! | `sharing` | what processes have in common: boards, and the handles that name their entries |
//! | `capture` | which captures are under way, and what they forbid |
//! | `context` | contexts, and which one is current |
//! | `profiler` | the begin and end of what a profiler is to see |
//! | `peer` | access of one context to another's memory |
//! | `memory` | allocations, managed memory, pools |
//! | `event` | events |
//! | `kernel` | what a program loads, and its kernels |
//! | `condition` | the conditions of graphs, which kernels set |
//! | `operation` | what a stream or a node of a graph can ask for, as values |
//! | `stream` | streams, which put operations in order |
//! | `enqueue` | the calls that put operations into streams |
//! | `user_object` | data of the program's that graphs keep |
//! | `graph` | graphs, and captures, which make them |
//! | `checkpoint` | the state of a process that is saved and restored |
//! | `installed` | the devices of the machine, for tools that manage them |

pub(crate) mod call;
pub(crate) mod capture;
pub(crate) mod checkpoint;
mod condition;
pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod enqueue;
pub(crate) mod event;
pub(crate) mod graph;
mod handle;
pub(crate) mod installed;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod operation;
pub(crate) mod peer;
pub(crate) mod profiler;
mod sharing;
mod signal;
mod space;
pub(crate) mod stream;
pub(crate) mod user_object;
mod waiting;
