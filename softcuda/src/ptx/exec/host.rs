//! What the engine needs of the driver around it.

/// Memory that kernels may reach: a run of device addresses and where its bytes are.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The first device address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Where the bytes are in this process.
    pub bytes: *mut u8,
    /// Whether kernels may only read it.
    pub read_only: bool,
}

impl Region {
    /// Nowhere.
    pub const NONE: Self = Self { start: 0, size: 0, bytes: std::ptr::null_mut(), read_only: false };

    /// Whether all of so many bytes at an address lie in it.
    #[inline(always)]
    pub(in crate::ptx) fn holds(&self, address: u64, size: usize) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset < self.size && self.size - offset >= size as u64
    }

    /// Where the bytes at an address are, which lies in it.
    #[inline(always)]
    pub(in crate::ptx) fn place(&self, address: u64) -> *mut u8 {
        self.bytes.wrapping_add(address.wrapping_sub(self.start) as usize)
    }
}

/// The driver, to a running kernel. Called from the threads that run its blocks.
///
/// # Safety
/// The bytes of a region that `region` gives can be read and written, by any thread, until the launch returns.
pub unsafe trait Host: Sync {
    /// The memory that the device address lies in; `None` if there is none.
    fn region(&self, address: u64) -> Option<Region>;

    /// Whether a launch that is watched notes the use of the memory around an address, which has some.
    fn is_watched(&self, _address: u64) -> bool {
        true
    }

    /// Called in between: the kernel's warps have executed so many instructions more. It may take its time. With false the
    /// launch ends, as `Cancelled`.
    fn spend(&self, _instructions: u32) -> bool {
        true
    }

    /// The text of a `printf`, formatted.
    fn print(&self, text: &[u8]);

    /// `cudaGraphSetConditional`; false if there is no such handle, which is an illegal address (measured).
    fn set_conditional(&self, handle: u64, value: u32) -> bool;

    /// `malloc` in a kernel: a device address of so many bytes, aligned to 16, or 0.
    fn allocate(&self, size: u64) -> u64;

    /// `free` in a kernel, never of 0; false if nothing is there any more.
    fn release(&self, address: u64) -> bool;
}
