//! The interpreter: a warp at a time, each instruction applied to 32 lanes.
//!
//! `core` is what an instruction sees: registers (32 values each), the lanes that take part, and through `access` and
//! `space` the memory. `map` makes instructions of functions of one lane. `warp` keeps the groups of lanes that share a
//! program counter, `block` the warps and their barriers, `grid` gives blocks to threads of the host.

pub(super) mod access;
pub(super) mod atomic;
pub(super) mod barrier;
pub(super) mod block;
pub(super) mod bulk;
pub(super) mod bulk_reduce;
pub(super) mod clock;
pub(super) mod collective;
pub(super) mod control;
pub(super) mod copy;
pub(super) mod core;
pub(super) mod external;
pub(super) mod fault;
pub(super) mod grid;
pub(super) mod host;
pub(super) mod map;
pub(super) mod mbarrier;
pub(super) mod mma;
mod mma_sum;
pub(super) mod print;
pub(super) mod program;
pub(super) mod race;
pub(super) mod read_only;
pub(super) mod seen;
pub(super) mod space;
pub(super) mod special;
pub(super) mod unit;
pub(super) mod warp;
