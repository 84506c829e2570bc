//! The calls that put operations into streams: what each of them demands, in the order that was measured.

pub(crate) mod allocation;
pub(crate) mod batch;
pub(crate) mod clusters;
pub(crate) mod copy;
pub(crate) mod copy_3d;
pub(crate) mod events;
pub(crate) mod fill;
pub(crate) mod host_functions;
pub(crate) mod launch;
pub(crate) mod managed;
pub(crate) mod prepared_launch;
mod transfer;
pub(crate) mod values;
