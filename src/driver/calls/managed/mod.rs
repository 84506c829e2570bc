//! Managed memory: advice, prefetch, discard, and what the driver knows of a range.
//!
//! Advice and questions need a current context. What is enqueued needs none, except in a default stream: measured, on 580.
//! The driver looks addresses up and answers an error for those that are not managed. Only a discard changes what memory
//! holds; it is called by the `unsafe` functions of the objects, which pass the duty on to their callers.

pub(crate) mod advise;
pub(crate) mod attach;
pub(crate) mod attributes;
pub(crate) mod discard;
mod location;
pub(crate) mod prefetch;

use crate::driver::sys::CUdeviceptr;

/// A range of addresses: where it starts, and its bytes.
pub(crate) type Range = (CUdeviceptr, usize);
