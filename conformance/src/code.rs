//! Code for the device: what is loaded, and how it is launched.

use crate::driver::{Answer, Cu, Outcome, call, need};
use cushim::driver::sys::{
    CUdeviceptr, CUfunction, CUkernel, CUlaunchAttribute, CUlaunchConfig, CUlibrary, CUmodule, CUstream,
};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// PTX without an error: small kernels and variables.
pub(crate) const KERNELS: &CStr = text(concat!(include_str!("../ptx/kernels.ptx"), "\0"));
/// Kernels that break something.
pub(crate) const FAULTS: &CStr = text(concat!(include_str!("../ptx/faults.ptx"), "\0"));
/// Kernels of graphs: the order in which they ran can be told from what they leave.
pub(crate) const GRAPHS: &CStr = text(concat!(include_str!("../ptx/graphs.ptx"), "\0"));
/// A kernel that leaves a trace of the order in which it ran.
pub(crate) const CAPTURES: &CStr = text(concat!(include_str!("../ptx/captures.ptx"), "\0"));
/// Kernels that set the conditions of graphs, for drivers that have conditions.
pub(crate) const CONDITIONS: &CStr = text(concat!(include_str!("../ptx/conditions.ptx"), "\0"));
/// A text that is no code of any kind.
pub(crate) const GARBAGE: &CStr = c"this is no code";

const fn text(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text has a 0 in it"),
    }
}

/// How many blocks of how many threads, and their dynamic shared memory in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
}

impl Shape {
    /// One thread.
    pub(crate) const ONE: Self = Self { grid: [1; 3], block: [1; 3], shared: 0 };

    /// So many blocks of so many threads, in one row.
    pub(crate) const fn row(grid: u32, block: u32) -> Self {
        Self { grid: [grid, 1, 1], block: [block, 1, 1], shared: 0 }
    }

    /// The configuration of a launch on this stream with these attributes.
    pub(crate) fn config(self, stream: CUstream, attributes: &mut [CUlaunchAttribute]) -> CUlaunchConfig {
        CUlaunchConfig {
            gridDimX: self.grid[0],
            gridDimY: self.grid[1],
            gridDimZ: self.grid[2],
            blockDimX: self.block[0],
            blockDimY: self.block[1],
            blockDimZ: self.block[2],
            sharedMemBytes: self.shared,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: u32::try_from(attributes.len()).expect("there are few attributes"),
        }
    }
}

/// Arguments of a kernel, and the array of pointers to them that a launch takes.
pub(crate) struct Arguments<const N: usize>([u64; N]);

impl<const N: usize> Arguments<N> {
    /// These; a kernel that wants fewer bytes of one takes its low ones.
    pub(crate) const fn new(values: [u64; N]) -> Self {
        Self(values)
    }

    pub(crate) fn pointers(&mut self) -> [*mut c_void; N] {
        self.0.each_mut().map(|value| std::ptr::from_mut(value).cast())
    }
}

impl Cu {
    /// This code in the current context.
    pub(crate) fn module(&self, code: &CStr) -> Outcome<CUmodule> {
        let mut module = null_mut();
        need!(self, cuModuleLoadData_2000(&raw mut module, code.as_ptr().cast()))?;
        Ok(module)
    }

    /// A kernel of a module.
    pub(crate) fn function(&self, module: CUmodule, name: &CStr) -> Outcome<CUfunction> {
        let mut function = null_mut();
        need!(self, cuModuleGetFunction_2000(&raw mut function, module, name.as_ptr()))?;
        Ok(function)
    }

    /// Loads this code for all contexts, without options.
    pub(crate) fn load(&self, library: &mut CUlibrary, code: &CStr) -> Answer {
        let (none, nothing, neither) = (null_mut(), null_mut(), null_mut());
        call!(
            self,
            cuLibraryLoadData_12000(library, code.as_ptr().cast(), none, nothing, 0, neither, nothing, 0)
        )
    }

    /// This code for all contexts; NULL where the driver has no libraries.
    pub(crate) fn library(&self, code: &CStr) -> Outcome<CUlibrary> {
        let mut library = null_mut();
        if self.table.cuLibraryLoadData_12000.is_some() {
            self.load(&mut library, code).must("cuLibraryLoadData_12000")?;
        }
        Ok(library)
    }

    /// A kernel of a library; NULL where the driver has no libraries.
    pub(crate) fn kernel(&self, library: CUlibrary, name: &CStr) -> Outcome<CUkernel> {
        let mut kernel = null_mut();
        if self.table.cuLibraryGetKernel_12000.is_some() {
            need!(self, cuLibraryGetKernel_12000(&raw mut kernel, library, name.as_ptr()))?;
        }
        Ok(kernel)
    }

    /// Asks a question about a function, of a kernel: a driver without libraries has none.
    pub(crate) fn as_function(&self, kernel: CUkernel, ask: impl FnOnce(CUfunction) -> Answer) -> Answer {
        if self.table.cuLibraryGetKernel_12000.is_none() {
            return Answer::Absent("cuLibraryGetKernel_12000");
        }
        ask(kernel.cast())
    }

    /// Launches a kernel with these arguments.
    pub(crate) fn launch(
        &self,
        function: CUfunction,
        shape: Shape,
        stream: CUstream,
        arguments: &mut [*mut c_void],
    ) -> Answer {
        let parameters = if arguments.is_empty() { null_mut() } else { arguments.as_mut_ptr() };
        let Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared } = shape;
        call!(
            self,
            cuLaunchKernel_4000(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, null_mut())
        )
    }

    /// Launches a kernel that takes an address, with one thread.
    pub(crate) fn launch_at(&self, function: CUfunction, stream: CUstream, address: CUdeviceptr) -> Answer {
        self.launch(function, Shape::ONE, stream, &mut Arguments::new([address]).pointers())
    }
}

/// Four bytes of the host that a kernel looks at until they are not 0.
pub(crate) struct Flag {
    host: *mut u32,
    device: CUdeviceptr,
}

impl Flag {
    /// One that is 0.
    pub(crate) fn new(cu: &Cu) -> Outcome<Self> {
        const MAPPED: u32 = 2;
        let (mut host, mut device) = (null_mut(), 0);
        need!(cu, cuMemHostAlloc_2020(&raw mut host, 4, MAPPED))?;
        need!(cu, cuMemHostGetDevicePointer_3020(&raw mut device, host, 0))?;
        let flag = Self { host: host.cast(), device };
        flag.write(0);
        Ok(flag)
    }

    /// Where the device finds it.
    pub(crate) const fn address(&self) -> CUdeviceptr {
        self.device
    }

    /// Whether it was raised.
    pub(crate) fn is_raised(&self) -> bool {
        // SAFETY: the memory lives as long as the process.
        unsafe { self.host.read_volatile() != 0 }
    }

    /// Raises it a moment later, from another thread.
    pub(crate) fn raise_soon(&self) {
        let address = self.host.expose_provenance();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let flag = Self { host: std::ptr::with_exposed_provenance_mut(address), device: 0 };
            flag.write(1);
        });
    }

    fn write(&self, value: u32) {
        // SAFETY: the memory lives as long as the process.
        unsafe { self.host.write_volatile(value) }
    }
}
