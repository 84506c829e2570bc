//! A device for the engine alone: buffers at made-up addresses.
#![allow(dead_code)] // the benchmark uses a part

use parking_lot::Mutex;
use softcuda::ptx::{Fault, Host, JitError, Launch, Module, Region};
use std::cell::UnsafeCell;

/// A run of device addresses with its bytes.
struct Buffer {
    start: u64,
    words: Box<[UnsafeCell<u64>]>,
    size: u64,
}

/// Memory of a device, in buffers with gaps between them.
#[derive(Default)]
pub(crate) struct Device {
    buffers: Mutex<Vec<Buffer>>,
    freed: Mutex<Vec<Buffer>>,
    pub(crate) printed: Mutex<Vec<u8>>,
    pub(crate) conditions: Mutex<Vec<(u64, u32)>>,
}

// SAFETY: bytes that kernels and tests read and write in turn.
unsafe impl Sync for Device {}

// SAFETY: buffers stay as long as the device, freed ones too.
unsafe impl Host for Device {
    fn region(&self, address: u64) -> Option<Region> {
        let buffers = self.buffers.lock();
        let buffer = buffers.iter().find(|b| (b.start..b.start + b.size).contains(&address))?;
        Some(Region {
            start: buffer.start,
            size: buffer.size,
            bytes: buffer.words.as_ptr().cast_mut().cast(),
            read_only: false,
        })
    }

    fn print(&self, text: &[u8]) {
        self.printed.lock().extend(text);
    }

    fn set_conditional(&self, handle: u64, value: u32) -> bool {
        self.conditions.lock().push((handle, value));
        handle != 0
    }

    fn allocate(&self, size: u64) -> u64 {
        self.zeroed(size as usize)
    }

    fn release(&self, address: u64) -> bool {
        let mut buffers = self.buffers.lock();
        let Some(at) = buffers.iter().position(|buffer| buffer.start == address) else { return false };
        // Its bytes stay, for another thread may be at them.
        self.freed.lock().push(buffers.remove(at));
        true
    }
}

/// Values that buffers hold.
///
/// # Safety
/// Every bit pattern is a value.
pub(crate) unsafe trait Plain: Copy + Default {}
macro_rules! plain { ($($t:ty)*) => { $(
    // SAFETY: a number.
    unsafe impl Plain for $t {}
)* } }
plain!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

impl Device {
    /// A buffer of zeros; gives its address.
    pub(crate) fn zeroed(&self, size: usize) -> u64 {
        let mut buffers = self.buffers.lock();
        let end = buffers.iter().map(|buffer| buffer.start + buffer.size).max().unwrap_or(0x7_0000_0000);
        let start = (end + 4096).next_multiple_of(4096);
        let words = (0..size.div_ceil(8)).map(|_| UnsafeCell::new(0)).collect();
        buffers.push(Buffer { start, words, size: size as u64 });
        start
    }

    /// A buffer with these values; gives its address.
    pub(crate) fn upload<T: Plain>(&self, values: &[T]) -> u64 {
        let address = self.zeroed(size_of_val(values));
        self.write(address, values);
        address
    }

    pub(crate) fn write<T: Plain>(&self, address: u64, values: &[T]) {
        let place = self.place(address, size_of_val(values));
        // SAFETY: as many bytes of a buffer.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), place.cast(), values.len()) };
    }

    pub(crate) fn read<T: Plain>(&self, address: u64, count: usize) -> Vec<T> {
        let mut values = vec![T::default(); count];
        let place = self.place(address, size_of::<T>() * count);
        // SAFETY: as many bytes of a buffer.
        unsafe { std::ptr::copy_nonoverlapping(place.cast(), values.as_mut_ptr(), count) };
        values
    }

    fn place(&self, address: u64, size: usize) -> *mut u8 {
        let region = self.region(address).expect("an address of a buffer");
        assert!(address - region.start + size as u64 <= region.size);
        region.bytes.wrapping_add((address - region.start) as usize)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock()).into_owned()
    }
}

/// Compiles for a device of compute capability 9.0 and the driver of CUDA 13.0.
pub(crate) fn compile(text: &str) -> Result<Module, JitError> {
    Module::compile(text, 90, 90)
}

/// A module on a device, with its variables in place.
pub(crate) struct Loaded {
    pub(crate) module: Module,
    pub(crate) globals: Vec<u64>,
}

pub(crate) fn load(device: &Device, text: &str) -> Loaded {
    let module = compile(text).unwrap_or_else(|error| panic!("{error}"));
    let globals: Vec<u64> = module.globals().iter().map(|global| device.zeroed(global.size.max(1))).collect();
    for (global, address) in module.globals().iter().zip(&globals) {
        let mut bytes = vec![0; global.size];
        global.initialise(&globals, |offset, values| {
            bytes[offset..offset + values.len()].copy_from_slice(values)
        });
        device.write(*address, &bytes);
    }
    Loaded { module, globals }
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Arg {
    U32(u32),
    I32(i32),
    U64(u64),
    F32(f32),
}

impl Arg {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::U32(x) => x.to_le_bytes().to_vec(),
            Self::I32(x) => x.to_le_bytes().to_vec(),
            Self::U64(x) => x.to_le_bytes().to_vec(),
            Self::F32(x) => x.to_le_bytes().to_vec(),
        }
    }
}

impl Loaded {
    pub(crate) fn pack(&self, kernel: &str, args: &[Arg]) -> Vec<u8> {
        let function = self.module.function(kernel).expect("the kernel is there");
        assert_eq!(function.params.len(), args.len(), "{kernel}: arguments");
        let mut block = vec![0; function.param_bytes];
        for (param, arg) in function.params.iter().zip(args) {
            let bytes = arg.bytes();
            assert_eq!(bytes.len(), param.size, "{kernel}: size of an argument");
            block[param.offset..param.offset + param.size].copy_from_slice(&bytes);
        }
        block
    }

    pub(crate) fn run(
        &self,
        device: &Device,
        kernel: &str,
        grid: u32,
        block: u32,
        args: &[Arg],
    ) -> Result<(), Fault> {
        self.run_with(device, kernel, args, |launch| {
            launch.grid = [grid, 1, 1];
            launch.block = [block, 1, 1];
        })
    }

    pub(crate) fn run_with(
        &self,
        device: &Device,
        kernel: &str,
        args: &[Arg],
        change: impl FnOnce(&mut Launch<'_>),
    ) -> Result<(), Fault> {
        let block = self.pack(kernel, args);
        let mut launch = Launch::new(device);
        launch.args = &block;
        launch.globals = &self.globals;
        launch.cores = 2;
        change(&mut launch);
        self.module.function(kernel).expect("the kernel is there").launch(&launch)
    }
}

/// A text with a head in front.
pub(crate) fn text(body: &str) -> String {
    format!(".version 7.0\n.target sm_70\n.address_size 64\n{body}")
}

/// What one thread of the kernel `k(.param .u64 out)` leaves in the first `count` values at `out`.
pub(crate) fn results<T: Plain>(text: &str, count: usize) -> Vec<T> {
    let device = Device::default();
    let out = device.zeroed(size_of::<T>() * count);
    load(&device, text).run(&device, "k", 1, 1, &[Arg::U64(out)]).unwrap_or_else(|fault| panic!("{fault}"));
    device.read(out, count)
}
