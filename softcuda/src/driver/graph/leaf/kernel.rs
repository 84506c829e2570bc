//! Nodes that launch kernels.

use super::kernel_attributes::Attributes;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE,
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, CUcontext,
    CUfunction, CUkernel, CUresult,
};
use crate::driver::context::Activation;
use crate::driver::context::current::{named_or_current, top};
use crate::driver::kernel::arguments::{extra, pack};
use crate::driver::kernel::found::Found;
use crate::driver::kernel::instance::Function;
use crate::driver::kernel::shape::Shape;
use crate::driver::operation::Operation;
use crate::driver::operation::launch::Launch;
use crate::instruments::log;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

/// A launch as a caller describes it.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    func: CUfunction,
    kern: CUkernel,
    ctx: CUcontext,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    each: Out<*mut c_void>,
    extra: Out<*mut c_void>,
}

/// Launches a kernel.
pub(crate) struct KernelNode {
    pub(crate) launch: Launch,
    /// What callers are told: also of a library's kernel it is the function in its context (measured).
    function: usize,
    /// Whether the arguments were given in one block.
    packed: bool,
    pub(crate) attributes: Attributes,
    pub(crate) context: Arc<Activation>,
    pub(crate) operation: Arc<Operation>,
    /// Where the arguments are, for callers who ask.
    pointers: OnceLock<Pointers>,
}

struct Pointers {
    /// Where each argument is, or the list that tells of the block.
    list: Box<[*mut c_void]>,
    #[allow(dead_code)] // read through the list
    size: Box<usize>,
}

// SAFETY: addresses within the node's own arguments and of their size, which nobody changes.
unsafe impl Send for Pointers {}
// SAFETY: as above.
unsafe impl Sync for Pointers {}

/// A caller's structure, in both directions; the fields behind the common ones are given with what they are for a caller.
macro_rules! structure { ($($params:ident { $($field:ident: $told:expr),* })*) => { $(
    impl From<$params> for Parameters {
        #[allow(clippy::needless_update)] // the oldest has fewer fields
        fn from(p: $params) -> Self {
            Self {
                func: p.func,
                grid: [p.gridDimX, p.gridDimY, p.gridDimZ],
                block: [p.blockDimX, p.blockDimY, p.blockDimZ],
                shared: p.sharedMemBytes,
                each: Out::untyped(p.kernelParams.cast()),
                extra: Out::untyped(p.extra.cast()),
                $($field: p.$field,)*
                ..Self::NONE
            }
        }
    }

    impl From<&KernelNode> for $params {
        fn from(node: &KernelNode) -> Self {
            let Shape { grid, block, shared, .. } = node.launch.shape;
            Self {
                func: node.function as CUfunction,
                gridDimX: grid[0],
                gridDimY: grid[1],
                gridDimZ: grid[2],
                blockDimX: block[0],
                blockDimY: block[1],
                blockDimZ: block[2],
                sharedMemBytes: shared,
                kernelParams: node.arguments(),
                extra: node.extra(),
                $($field: $told(node),)*
            }
        }
    }
)* } }

structure! {
    CUDA_KERNEL_NODE_PARAMS_v1 {}
    CUDA_KERNEL_NODE_PARAMS_v2 { kern: KernelNode::library_kernel, ctx: KernelNode::context_handle }
    CUDA_KERNEL_NODE_PARAMS_v3 { kern: KernelNode::library_kernel, ctx: KernelNode::context_handle }
}

impl Parameters {
    const NONE: Self = Self {
        func: null_mut(),
        kern: null_mut(),
        ctx: null_mut(),
        grid: [0; 3],
        block: [0; 3],
        shared: 0,
        each: Out::null(),
        extra: Out::null(),
    };

    /// The kernel that is meant. A function has its own context, whichever is named; a library's kernel runs in the one that
    /// is named, or in the current one. Where none is current a real driver crashes, whatever is named (measured).
    fn find(&self) -> Result<Found, CUresult> {
        if top().is_none() {
            log::detail("A kernel node needs a current context");
            return Err(CUDA_ERROR_INVALID_CONTEXT);
        }
        match (self.func.is_null(), self.kern.is_null()) {
            (true, true) => Err(CUDA_ERROR_INVALID_HANDLE),
            (true, false) => Found::anywhere(self.kern.cast(), &named_or_current(self.ctx)?.activation()?),
            (false, _) => Found::function(self.func),
        }
    }
}

impl KernelNode {
    /// A node with those attributes that its kernel brings along.
    pub(crate) fn new(parameters: Parameters) -> Result<Self, CUresult> {
        Self::build(parameters, Attributes::default())
    }

    /// The same node with another launch.
    pub(crate) fn with(&self, parameters: Parameters) -> Result<Self, CUresult> {
        Self::build(parameters, self.attributes.clone())
    }

    /// A node for a launch that was made for a stream.
    pub(crate) fn captured(launch: Launch, packed: bool, attributes: Attributes) -> Self {
        Self::checked(launch, packed, attributes)
    }

    /// The same node with other attributes.
    pub(crate) fn with_attributes(&self, attributes: Attributes) -> Result<Self, CUresult> {
        Self::fitting(self.launch.clone(), self.packed, attributes)
    }

    fn build(parameters: Parameters, attributes: Attributes) -> Result<Self, CUresult> {
        let kernel = parameters.find()?;
        let Parameters { grid, block, shared, each, extra, .. } = parameters;
        let shape = Shape { grid, block, shared, cluster: None, preferred: None, cooperative: false };
        // A block that is too long is a wrong value here, and no lack of resources (measured).
        let arguments = pack(kernel.kernel(), each, extra).map_err(|_| CUDA_ERROR_INVALID_VALUE)?.into();
        let packed = each.address() == 0 && extra.address() != 0;
        Self::fitting(Launch { kernel, shape, arguments }, packed, attributes)
    }

    /// A launch that fits with its attributes.
    fn fitting(launch: Launch, packed: bool, attributes: Attributes) -> Result<Self, CUresult> {
        let kernel = launch.kernel.attributes();
        let shape = Shape {
            cluster: attributes.cluster(),
            preferred: attributes.preferred_cluster(),
            cooperative: attributes.is_cooperative(),
            ..launch.shape
        };
        let shape = shape.with_required_cluster(kernel)?;
        shape.check(kernel)?;
        Ok(Self::checked(Launch { shape, ..launch }, packed, attributes))
    }

    fn checked(launch: Launch, packed: bool, attributes: Attributes) -> Self {
        let Found { instance, index, .. } = &launch.kernel;
        let (context, function) =
            (Arc::clone(&instance.context), instance.function(*index).handle() as usize);
        let operation = Arc::new(launch.clone().into());
        Self { launch, function, packed, attributes, context, operation, pointers: OnceLock::new() }
    }

    /// Whether the module or library of the kernel was unloaded.
    pub(crate) fn is_unloaded(&self) -> bool {
        !Function::is_there(self.function)
    }

    fn library_kernel(&self) -> CUkernel {
        self.launch.kernel.library_kernel as CUkernel
    }

    /// NULL for a kernel that takes none, and for arguments that were given in one block (measured).
    fn arguments(&self) -> *mut *mut c_void {
        if self.packed { null_mut() } else { self.pointers() }
    }

    /// The block, where the arguments were given so.
    fn extra(&self) -> *mut *mut c_void {
        if self.packed { self.pointers() } else { null_mut() }
    }

    fn pointers(&self) -> *mut *mut c_void {
        let block: *mut c_void = self.launch.arguments.as_ptr().cast_mut().cast();
        let pointers = self.pointers.get_or_init(|| {
            let size = Box::new(self.launch.arguments.len());
            let list = if self.packed {
                extra(block, &size).into()
            } else {
                let parameters = self.launch.kernel.kernel().parameters.iter();
                parameters.map(|p| block.wrapping_byte_add(p.offset)).collect()
            };
            Pointers { list, size }
        });
        if pointers.list.is_empty() { null_mut() } else { pointers.list.as_ptr().cast_mut() }
    }

    fn context_handle(&self) -> CUcontext {
        self.context.context()
    }
}
