//! The calls by which memory comes into other processes.

pub(crate) mod plain;
pub(crate) mod pools;
