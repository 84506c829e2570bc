//! The typed layer for Rust beside cudarc's safe one: the same operation, on memory that each keeps track of. "cushim" is `cushim::typed`.

use super::{Burst, Row, cu, row};
use crate::kernels;
use crate::world::{BYTES, World, entry};
use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig as CudarcConfig, PushKernelArg};
use cushim::driver::OpenOptions;
use cushim::driver::sys::CUlaunchConfig;
use cushim::kernel::{Image, LaunchConfig, Library, LoadOptions};
use cushim::typed::{DeviceSlice, Parameters, PinnedSlice, RecordedGraph, SafeKernel, TypedKernel, Write};
use cushim::{Context, Device, Event, EventOptions, Stream, StreamOptions};
use std::ptr::null_mut;

/// Threads of the one block that runs.
const THREADS: u32 = 32;

/// What the typed rows use.
struct Typed {
    context: Context,
    stream: Stream,
    library: Library,
}

impl Typed {
    /// On the driver that the world has.
    fn new(w: &World) -> Self {
        let driver = OpenOptions::new().path(&w.about.driver).open().expect("it is open already");
        let context = Device::get(&driver, 0).expect("a device").primary_context().expect("a context");
        let stream = Stream::create(&context, &StreamOptions::default()).expect("a stream");
        let image = Image::new(kernels::ptx()).expect("PTX");
        let library = Library::load(&context, &image, &LoadOptions::default()).expect("loaded");
        Self { context, stream, library }
    }

    fn memory(&self) -> DeviceSlice<u8> {
        DeviceSlice::allocate(&self.stream, BYTES).expect("memory")
    }

    /// The kernel that takes so many numbers of 8 bytes, or as many addresses.
    fn kernel<P: Parameters>(&self, count: usize) -> SafeKernel<P> {
        let kernel = self.library.kernel(&kernels::name(count)).expect("there is one");
        let typed = TypedKernel::<P>::new(&kernel).expect("its parameters");
        // SAFETY: it does nothing.
        unsafe { typed.vouch(|_, _| true) }
    }
}

/// All rows.
pub(crate) fn all(w: &'static World) -> Vec<Row> {
    let typed: &'static Typed = Box::leak(Box::new(Typed::new(w)));
    let mut rows = vec![event(w, typed), synchronize(w, typed), allocate(w, typed), fill(w, typed)];
    rows.extend(copies(w, typed));
    rows.extend(launches(w, typed));
    rows.push(graph(w, typed));
    rows
}

fn event(w: &'static World, typed: &'static Typed) -> Row {
    let record = entry!(w.raw.table, cuEventRecord_2000);
    let event = Event::create(&typed.context, &EventOptions::default()).expect("an event");
    row("event record", 256, None)
        .raw(burst!(raw!(record(w.raw.event, w.raw.stream))))
        .cushim(burst!(event.record(&typed.stream).expect("recorded")))
        .cudarc(burst!(w.cudarc.event.record(&w.cudarc.stream).expect("recorded")))
}

fn synchronize(w: &'static World, typed: &'static Typed) -> Row {
    let synchronize = entry!(w.raw.table, cuStreamSynchronize_2000);
    row("stream synchronize", 256, None)
        .raw(burst!(raw!(synchronize(w.raw.stream))))
        .cushim(burst!(typed.stream.synchronize().expect("waited")))
        .cudarc(burst!(w.cudarc.stream.synchronize().expect("waited")))
}

fn allocate(w: &'static World, typed: &'static Typed) -> Row {
    let (allocate, free) =
        (entry!(w.raw.table, cuMemAllocAsync_11020), entry!(w.raw.table, cuMemFreeAsync_11020));
    row("slice, allocate + drop", 64, None)
        .raw(burst!({
            let mut pointer = 0;
            raw!(allocate(&raw mut pointer, BYTES, w.raw.stream));
            raw!(free(pointer, w.raw.stream));
        }))
        .cushim(burst!(drop(typed.memory())))
        .cudarc(burst!(drop(w.cudarc.memory())))
        .untracked(burst!(drop(w.untracked.memory())))
}

fn fill(w: &'static World, typed: &'static Typed) -> Row {
    let fill = entry!(w.raw.table, cuMemsetD8Async_3020);
    let (mut own, mut tracked, mut untracked) = (typed.memory(), w.cudarc.memory(), w.untracked.memory());
    row("slice, set to zero", 64, None)
        .raw(burst!(raw!(fill(w.raw.memory[0], 0, BYTES, w.raw.stream))))
        .cushim(burst!(own.fill_zero(&typed.stream).expect("set")))
        .cudarc(burst!(w.cudarc.stream.memset_zeros(&mut tracked).expect("set")))
        .untracked(burst!(w.untracked.stream.memset_zeros(&mut untracked).expect("set")))
}

fn copies(w: &'static World, typed: &'static Typed) -> [Row; 4] {
    let (raw, table) = (&w.raw, w.raw.table);
    let (up, down) = (entry!(table, cuMemcpyHtoDAsync_3020), entry!(table, cuMemcpyDtoHAsync_3020));
    let (across, synchronize) =
        (entry!(table, cuMemcpyDtoDAsync_3020), entry!(table, cuStreamSynchronize_2000));
    let ([here, there], host) = (raw.memory, w.pinned);
    let pinned = || PinnedSlice::<u8>::zeroed(&typed.stream, BYTES).expect("page-locked memory");
    // SAFETY: nobody reads what it holds.
    let cudarc_pinned =
        || unsafe { w.cudarc.stream.context().alloc_pinned::<u8>(BYTES) }.expect("page-locked memory");
    let (up_from, mut up_to) = (pinned(), typed.memory());
    let (mut down_to, down_from) = (pinned(), typed.memory());
    let (across_from, mut across_to) = (typed.memory(), typed.memory());
    let (cudarc_up_from, mut cudarc_up_to) = (cudarc_pinned(), w.cudarc.memory());
    let (mut cudarc_down_to, cudarc_down_from) = (cudarc_pinned(), w.cudarc.memory());
    let (from_t, mut to_t) = (w.cudarc.memory(), w.cudarc.memory());
    let (from_u, mut to_u) = (w.untracked.memory(), w.untracked.memory());
    let numbers: &'static [u8] = Vec::leak(vec![1; BYTES]);
    let (mut own, mut tracked, mut untracked) = (typed.memory(), w.cudarc.memory(), w.untracked.memory());
    [
        row("copy, page-locked to device", 64, None)
            .raw(burst!(raw!(up(here, host.cast(), BYTES, raw.stream))))
            .cushim(burst!(up_to.copy_from(&typed.stream, &up_from).expect("copied")))
            .cudarc(burst!(w.cudarc.stream.memcpy_htod(&cudarc_up_from, &mut cudarc_up_to).expect("copied"))),
        row("copy, device to page-locked", 64, None)
            .raw(burst!(raw!(down(host.wrapping_add(BYTES).cast(), here, BYTES, raw.stream))))
            .cushim(burst!(down_to.copy_from(&typed.stream, &down_from).expect("copied")))
            .cudarc(burst!(
                w.cudarc.stream.memcpy_dtoh(&cudarc_down_from, &mut cudarc_down_to).expect("copied")
            )),
        row("copy, slice to slice", 64, None)
            .raw(burst!(raw!(across(there, here, BYTES, raw.stream))))
            .cushim(burst!(across_to.copy_from(&typed.stream, &across_from).expect("copied")))
            .cudarc(burst!(w.cudarc.stream.memcpy_dtod(&from_t, &mut to_t).expect("copied")))
            .untracked(burst!(w.untracked.stream.memcpy_dtod(&from_u, &mut to_u).expect("copied"))),
        // cushim's waits by itself.
        row("copy of a Vec, until it is done", 16, None)
            .raw(burst!({
                raw!(up(here, numbers.as_ptr().cast(), BYTES, raw.stream));
                raw!(synchronize(raw.stream));
            }))
            .cushim(burst!(own.copy_from_slice(&typed.stream, numbers).expect("copied")))
            .cudarc(burst!({
                w.cudarc.stream.memcpy_htod(numbers, &mut tracked).expect("copied");
                w.cudarc.stream.synchronize().expect("waited");
            }))
            .untracked(burst!({
                w.untracked.stream.memcpy_htod(numbers, &mut untracked).expect("copied");
                w.untracked.stream.synchronize().expect("waited");
            })),
    ]
}

fn launches(w: &'static World, typed: &'static Typed) -> [Row; 3] {
    type Numbers16 = (u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64);
    let config = LaunchConfig::new(1, THREADS);
    let (two, sixteen) = (typed.kernel::<(u64, u64)>(2), typed.kernel::<Numbers16>(16));
    let slices = typed.kernel::<(Write<u8>, Write<u8>)>(2);
    let (mut a, mut b) = (typed.memory(), typed.memory());
    [
        row("launch, 2 numbers", 64, None)
            .raw(raw_launch(w, 2))
            .cushim(burst!(two.launch(&typed.stream, &config, (1, 2)).expect("launched")))
            .cudarc(cudarc_launch(w, 2)),
        row("launch, 16 numbers", 64, None)
            .raw(raw_launch(w, 16))
            .cushim(burst!({
                let numbers = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                sixteen.launch(&typed.stream, &config, numbers).expect("launched");
            }))
            .cudarc(cudarc_launch(w, 16)),
        row("launch, 2 slices", 64, None)
            .raw(raw_launch(w, 2))
            .cushim(burst!(slices.launch(&typed.stream, &config, (&mut a, &mut b)).expect("launched")))
            .cudarc(cudarc_launch_slices(w, &w.cudarc))
            .untracked(cudarc_launch_slices(w, &w.untracked)),
    ]
}

fn raw_launch(w: &'static World, count: usize) -> Option<Burst> {
    let kernel = w.kernels.iter().find(|kernel| kernel.count == count).expect("there is one").raw;
    let launch = entry!(w.raw.table, cuLaunchKernelEx_11060);
    let config = CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: THREADS,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: w.raw.stream,
        attrs: null_mut(),
        numAttrs: 0,
    };
    let values: &'static [u64] = Vec::leak((0..count as u64).collect());
    let mut addresses: Vec<_> =
        values.iter().map(|value| std::ptr::from_ref(value).cast_mut().cast()).collect();
    burst!(raw!(launch(&raw const config, kernel.cast(), addresses.as_mut_ptr(), null_mut())))
}

const CUDARC_CONFIG: CudarcConfig =
    CudarcConfig { grid_dim: (1, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };

fn cudarc_kernel(w: &'static World, count: usize) -> &'static CudaFunction {
    &w.kernels.iter().find(|kernel| kernel.count == count).expect("there is one").cudarc
}

fn cudarc_launch(w: &'static World, count: usize) -> Option<Burst> {
    let kernel = cudarc_kernel(w, count);
    let values: &'static [u64] = Vec::leak((0..count as u64).collect());
    burst!({
        let mut builder = w.cudarc.stream.launch_builder(kernel);
        for value in values {
            builder.arg(value);
        }
        // SAFETY: the kernel takes so many numbers, and does nothing with them.
        unsafe { builder.launch(CUDARC_CONFIG) }.expect("launched");
    })
}

fn cudarc_launch_slices(w: &'static World, cudarc: &'static crate::world::Cudarc) -> Option<Burst> {
    let kernel = cudarc_kernel(w, 2);
    let (mut a, mut b): (CudaSlice<u8>, CudaSlice<u8>) = (cudarc.memory(), cudarc.memory());
    burst!({
        let mut builder = cudarc.stream.launch_builder(kernel);
        builder.arg(&mut a).arg(&mut b);
        // SAFETY: the kernel takes two addresses, and does nothing with them.
        unsafe { builder.launch(CUDARC_CONFIG) }.expect("launched");
    })
}

/// A graph of one kernel, which keeps its slices; cudarc's keeps nothing, and is launched in the stream that it was captured in.
fn graph(w: &'static World, typed: &'static Typed) -> Row {
    let kernel = typed.kernel::<(Write<u8>, Write<u8>)>(2);
    let (mut a, mut b) = (typed.memory(), typed.memory());
    let graph = RecordedGraph::record(&typed.context, |recording| {
        kernel.launch(recording, &LaunchConfig::new(1, THREADS), (&mut a, &mut b))
    });
    let graph = graph.expect("recorded");
    row("launch a graph", 64, None)
        .raw(super::execs::raw_launch(w, w.raw.stream, false))
        .cushim(burst!(graph.launch(&typed.stream).expect("launched")))
        .cudarc(super::execs::cudarc_launch(w))
}
