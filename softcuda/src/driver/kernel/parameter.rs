//! Parameters of kernels.

/// Where a parameter stands in the packed block.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}
