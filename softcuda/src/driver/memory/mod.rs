//! Memory: allocations, host memory that the device reaches, managed memory, pools, and what pointers are.
//!
//! Device memory cannot be read by the host, as on a GPU. Two mappings of the same size exist: the *front*, which has no
//! access rights and whose addresses are the device pointers, and the *back*, which holds the bytes. An allocation is a
//! range of the front with the range of the back at the same offset (`space::window`); host memory that the device reaches
//! has its own address as device pointer. `table` knows every allocation, so each access finds its bytes through it and is
//! checked against the bounds. Work that is under way holds its allocations (`Arc`), whose bytes stay until it is done.
//! Virtual memory is a range of both in which a program maps what it has created (`vmm`, `mapping`).
//! Managed memory (`managed`) is memory that the host may touch too; what is known of its pages is in `pages`.

pub(crate) mod access;
pub(crate) mod attachment;
pub(crate) mod attributes;
pub(crate) mod graph_allocation;
pub(crate) mod graph_memory;
mod identity;
pub(crate) mod location;
pub(crate) mod managed;
pub(crate) mod mapping;
mod meter;
mod opened;
pub(crate) mod pages;
pub(crate) mod pinned;
pub(crate) mod plain;
pub(crate) mod pool;
pub(crate) mod processes;
pub(crate) mod span;
pub(crate) mod table;
pub(crate) mod vmm;
