//! Address space, and the bytes behind it: the window of device memory, the heap of kernels, host pages of the driver's own,
//! memory that several addresses and processes share, and files that others can map parts of.

pub(crate) mod file;
pub(crate) mod heap;
pub(crate) mod host_pages;
pub(crate) mod shared;
pub(crate) mod window;
