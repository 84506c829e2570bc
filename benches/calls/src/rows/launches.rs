//! Launches of kernels that do nothing.

use super::{Burst, Row, cu, row};
use crate::kernels::Kernel;
use crate::world::{World, entry};
use cudarc::driver::{LaunchConfig, PushKernelArg};
use cushim::capi::kernel::{cushim_arg, cushim_arg_kind, cushim_dim3, cushim_launch_config};
use cushim::driver::sys::CUlaunchConfig;
use std::ptr::{null, null_mut};

/// Threads of the one block that runs.
const THREADS: u32 = 32;

/// Launches in a row on a real driver, whose queue takes about a thousand.
const BURST: u32 = 64;

pub(super) fn launches(w: &'static World) -> Vec<Row> {
    let mut rows: Vec<_> = w.kernels.iter().map(|kernel| each(w, kernel)).collect();
    let sixteen = w.kernels.iter().find(|kernel| kernel.count == 16).expect("there is one");
    rows.insert(3, packed(w, sixteen));
    let two = w.kernels.iter().find(|kernel| kernel.count == 2).expect("there is one");
    rows.insert(2, buffers(w, two));
    rows
}

/// An address for each argument.
fn each(w: &'static World, kernel: &'static Kernel) -> Row {
    let (name, values) = (name(kernel.count), values(kernel.count));
    let launch = entry!(w.raw.table, cuLaunchKernelEx_11060);
    let config = raw_config(w);
    let mut addresses: Vec<_> =
        values.iter().map(|value| std::ptr::from_ref(value).cast_mut().cast()).collect();
    let shim_config = shim_config();
    let args: Vec<_> = values.iter().map(argument).collect();
    row(name, BURST, None)
        .raw(burst!(raw!(launch(&raw const config, kernel.raw.cast(), addresses.as_mut_ptr(), null_mut()))))
        .cushim(burst!(ok!(
            w,
            cushim_kernel_launch(
                kernel.shim,
                w.shim.stream,
                &raw const shim_config,
                args.as_ptr(),
                args.len()
            )
        )))
        .cudarc(burst!({
            let mut builder = w.cudarc.stream.launch_builder(&kernel.cudarc);
            for value in values {
                builder.arg(value);
            }
            let config =
                LaunchConfig { grid_dim: (1, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
            // SAFETY: the kernel takes so many numbers, and does nothing with them.
            unsafe { builder.launch(config) }.expect("launched");
        }))
}

/// Buffers, where the others pass the addresses of their memory.
fn buffers(w: &'static World, kernel: &'static Kernel) -> Row {
    let launch = entry!(w.raw.table, cuLaunchKernelEx_11060);
    let config = raw_config(w);
    let mut addresses = w.raw.memory.each_ref().map(|value| std::ptr::from_ref(value).cast_mut().cast());
    let shim_config = shim_config();
    let kind = cushim_arg_kind::CUSHIM_ARG_BUFFER as i32;
    let args = w.shim.buffers.map(|buffer| cushim_arg { kind, size: 0, value: buffer.cast_const().cast() });
    row("launch, 2 buffers", BURST, None)
        .raw(burst!(raw!(launch(&raw const config, kernel.raw.cast(), addresses.as_mut_ptr(), null_mut()))))
        .cushim(burst!(ok!(
            w,
            cushim_kernel_launch(
                kernel.shim,
                w.shim.stream,
                &raw const shim_config,
                args.as_ptr(),
                args.len()
            )
        )))
}

/// All arguments in one block.
fn packed(w: &'static World, kernel: &'static Kernel) -> Row {
    let values = values(kernel.count);
    let bytes: &'static usize = Box::leak(Box::new(size_of_val(values)));
    let launch = entry!(w.raw.table, cuLaunchKernelEx_11060);
    let config = raw_config(w);
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, and the end.
    let [pointer, size] = [1, 2].map(std::ptr::without_provenance_mut);
    let (block, bytes_at) = (values.as_ptr().cast_mut().cast(), std::ptr::from_ref(bytes).cast_mut().cast());
    let mut extra = [pointer, block, size, bytes_at, null_mut()];
    let shim_config = shim_config();
    row("launch, 16 arguments, packed", BURST, None)
        .raw(burst!(raw!(launch(&raw const config, kernel.raw.cast(), null_mut(), extra.as_mut_ptr()))))
        .cushim(burst!(ok!(
            w,
            cushim_kernel_launch_packed(
                kernel.shim,
                w.shim.stream,
                &raw const shim_config,
                values.as_ptr().cast(),
                *bytes
            )
        )))
}

fn name(count: usize) -> &'static str {
    match count {
        0 => "launch, no arguments",
        count => Box::leak(format!("launch, {count} arguments").into_boxed_str()),
    }
}

/// Something to pass, for ever.
fn values(count: usize) -> &'static [u64] {
    Vec::leak((0..count as u64).collect())
}

pub(super) fn argument(value: &u64) -> cushim_arg {
    let kind = cushim_arg_kind::CUSHIM_ARG_BYTES as i32;
    cushim_arg { kind, size: size_of_val(value) as u32, value: std::ptr::from_ref(value).cast() }
}

fn raw_config(w: &World) -> CUlaunchConfig {
    CUlaunchConfig {
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
    }
}

fn shim_config() -> cushim_launch_config {
    let one = cushim_dim3 { x: 1, y: 1, z: 1 };
    cushim_launch_config {
        struct_size: size_of::<cushim_launch_config>(),
        grid: one,
        block: cushim_dim3 { x: THREADS, ..one },
        cluster: cushim_dim3 { x: 0, y: 0, z: 0 },
        shared_bytes: 0,
        flags: 0,
        priority: 0,
        memory_sync_domain: 0,
        programmatic_event_flags: 0,
        programmatic_event: null_mut(),
        attributes: null(),
        attribute_count: 0,
        attribute_stride: 0,
        context: null_mut(),
    }
}
