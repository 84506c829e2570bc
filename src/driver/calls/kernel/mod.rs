//! Kernels: where they come from, what they are, how they are launched.

pub(crate) mod function;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod occupancy;
