//! How much of a kernel fits on a device. The numbers are those of devices of capability 9.0: 2048 threads, 32 blocks and
//! 228 KiB of shared memory on a multiprocessor.

use super::Section;
use crate::code::{KERNELS, Shape};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CUfunction,
    CUfunction_attribute, CUlaunchAttribute, CUlaunchAttributeValue, CUlaunchAttributeValue_clusterDim,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "occupancy", parts: PARTS.len() + APART.len(), devices: 1, run };

const PARTS: &[fn(&mut Lines, &Cu, CUfunction) -> Outcome] =
    &[active, potential, available, clusters, |t, cu, _| required_clusters(t, cu), handles];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let function = cu.function(cu.module(KERNELS)?, c"nothing")?;
    match PARTS.get(part) {
        Some(run) => run(t, cu, function),
        None => {
            let (situation, ask) = APART[part - PARTS.len()];
            t.line(situation, || ask(cu, function));
            Ok(())
        }
    }
}

/// Blocks on a multiprocessor.
fn blocks(cu: &Cu, function: CUfunction, threads: i32, shared: usize) -> Answer {
    let mut blocks = 99;
    call!(cu, cuOccupancyMaxActiveBlocksPerMultiprocessor_6050(&raw mut blocks, function, threads, shared))
        .then(|| blocks)
}

fn active(t: &mut Lines, cu: &Cu, function: CUfunction) -> Outcome {
    for threads in [1, 32, 33, 63, 64, 65, 96, 128, 192, 256, 512, 768, 1023, 1024, 1025, 0, -1] {
        t.line(&format!("active blocks of {threads} threads"), || blocks(cu, function, threads, 0));
    }
    for shared in [1, 1024, 4096, 7168, 7169, 49152, 49153, 232_448, 1 << 30, 1 << 32, usize::MAX] {
        t.line(&format!("active blocks of 128 threads and {shared} bytes"), || {
            blocks(cu, function, 128, shared)
        });
    }
    let module = cu.module(KERNELS)?;
    let (limited, sharing) = (cu.function(module, c"limited")?, cu.function(module, c"sharing")?);
    for threads in [64, 65, 128] {
        t.line(&format!(".maxntid 64: active blocks of {threads} threads"), || {
            blocks(cu, limited, threads, 0)
        });
    }
    for shared in [0, 1024, 45056, 45057] {
        t.line(&format!("4 KiB of its own: active blocks with {shared} bytes"), || {
            blocks(cu, sharing, 64, shared)
        });
    }
    need!(cu, cuFuncSetAttribute_9000(function, CUfunction_attribute(8), 232_448))?;
    for shared in [49153, 100_000, 115_712, 115_713, 232_448, 232_449] {
        t.line(&format!("after an opt-in: active blocks with {shared} bytes"), || {
            blocks(cu, function, 128, shared)
        });
    }
    let mut number = 99;
    for flags in [0, 1, 2] {
        t.line(&format!("active blocks with flags {flags}"), || {
            call!(
                cu,
                cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_7000(
                    &raw mut number,
                    function,
                    64,
                    0,
                    flags
                )
            )
            .then(|| number)
        });
    }
    Ok(())
}

/// Twice as many bytes as threads: what a kernel may need.
extern "C" fn twice(threads: i32) -> usize {
    2 * usize::try_from(threads).unwrap_or_default()
}

fn potential(t: &mut Lines, cu: &Cu, function: CUfunction) -> Outcome {
    let mut multiprocessors = 1;
    let count = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    need!(cu, cuDeviceGetAttribute_2000(&raw mut multiprocessors, count, 0))?;
    let ask = |function, callback, shared, limit| {
        let (mut grid, mut block) = (0, 0);
        call!(
            cu,
            cuOccupancyMaxPotentialBlockSize_6050(
                &raw mut grid,
                &raw mut block,
                function,
                callback,
                shared,
                limit
            )
        )
        .then(|| format!("{} per multiprocessor of {block}", f64::from(grid) / f64::from(multiprocessors)))
    };
    t.line("potential", || ask(function, None, 0, 0));
    t.line("potential with 1024 bytes", || ask(function, None, 1024, 0));
    t.line("potential with 49152 bytes", || ask(function, None, 49152, 0));
    t.line("potential with 49153 bytes", || ask(function, None, 49153, 0));
    t.line("potential with 2 bytes for each thread", || ask(function, Some(twice), 0, 0));
    for limit in [1, 31, 32, 100, 256, 1024, 5000, -1] {
        t.line(&format!("potential of at most {limit} threads"), || ask(function, None, 0, limit));
    }
    let module = cu.module(KERNELS)?;
    let (limited, sharing) = (cu.function(module, c"limited")?, cu.function(module, c"sharing")?);
    t.line("potential with .maxntid 64", || ask(limited, None, 0, 0));
    t.line("potential with 4 KiB of its own", || ask(sharing, None, 0, 0));
    let (mut grid, mut block) = (0, 0);
    let (to, of) = (&raw mut grid, &raw mut block);
    for flags in [0, 1, 2] {
        t.line(&format!("potential with flags {flags}"), || {
            call!(cu, cuOccupancyMaxPotentialBlockSizeWithFlags_7000(to, of, function, None, 0, 0, flags))
        });
    }
    Ok(())
}

fn available(t: &mut Lines, cu: &Cu, function: CUfunction) -> Outcome {
    let ask = |function, blocks, threads| {
        let mut bytes = 99;
        call!(cu, cuOccupancyAvailableDynamicSMemPerBlock_10020(&raw mut bytes, function, blocks, threads))
            .then(|| bytes)
    };
    for (blocks, threads) in [
        (1, 64),
        (2, 64),
        (4, 64),
        (8, 64),
        (32, 64),
        (33, 64),
        (2, 1024),
        (3, 1024),
        (1, 1025),
        (0, 64),
        (-1, 64),
        (1, 0),
        (1, -1),
    ] {
        t.line(&format!("available to {blocks} blocks of {threads} threads"), || {
            ask(function, blocks, threads)
        });
    }
    let sharing = cu.function(cu.module(KERNELS)?, c"sharing")?;
    t.line("4 KiB of its own: available to 1 block", || ask(sharing, 1, 64));
    t.line("4 KiB of its own: available to 8 blocks", || ask(sharing, 8, 64));
    need!(cu, cuFuncSetAttribute_9000(function, CUfunction_attribute(8), 232_448))?;
    t.line("after an opt-in: available to 1 block", || ask(function, 1, 64));
    t.line("after an opt-in: available to 2 blocks", || ask(function, 2, 64));
    Ok(())
}

/// A cluster's size as an attribute of a launch.
fn cluster(x: u32, y: u32, z: u32) -> CUlaunchAttribute {
    CUlaunchAttribute {
        id: CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        pad: [0; 4],
        value: CUlaunchAttributeValue { clusterDim: CUlaunchAttributeValue_clusterDim { x, y, z } },
    }
}

fn clusters(t: &mut Lines, cu: &Cu, function: CUfunction) -> Outcome {
    let stream = cu.stream(NON_BLOCKING)?;
    let mut number = 99;
    let largest = |shape: Shape, attributes: &mut [CUlaunchAttribute]| {
        let (config, mut size) = (shape.config(stream, attributes), 99);
        call!(cu, cuOccupancyMaxPotentialClusterSize_11070(&raw mut size, function, &raw const config))
            .then(|| size)
    };
    t.line("largest cluster", || largest(Shape::row(16, 64), &mut []));
    t.line("largest cluster of 1 block", || largest(Shape::row(1, 64), &mut []));
    t.line("largest cluster of 1024 threads", || largest(Shape::row(16, 1024), &mut []));
    t.line("largest cluster of 1025 threads", || largest(Shape::row(16, 1025), &mut []));
    t.line("largest cluster of 2^32 - 1 threads", || largest(Shape::row(16, u32::MAX), &mut []));
    t.line("largest cluster with 48 KiB", || largest(Shape { shared: 49152, ..Shape::row(16, 64) }, &mut []));
    t.line("largest cluster of too many blocks", || {
        largest(Shape { grid: [16, 65536, 1], ..Shape::row(16, 64) }, &mut [])
    });
    t.line("largest cluster with a size that is too large", || {
        largest(Shape::row(1, 64), &mut [cluster(64, 1, 1)])
    });
    t.line("largest cluster with a size given", || largest(Shape::row(16, 64), &mut [cluster(2, 1, 1)]));
    let mut active = |shape: Shape, attributes: &mut [CUlaunchAttribute]| {
        let config = shape.config(stream, attributes);
        call!(cu, cuOccupancyMaxActiveClusters_11070(&raw mut number, function, &raw const config))
            .then(|| crate::driver::yes(number > 0))
    };
    t.line("active clusters of 2", || active(Shape::row(16, 64), &mut [cluster(2, 1, 1)]));
    t.line("active clusters of 8", || active(Shape::row(16, 64), &mut [cluster(8, 1, 1)]));
    t.line("active clusters of 16", || active(Shape::row(16, 64), &mut [cluster(16, 1, 1)]));
    t.line("active clusters of 3, of 16 blocks", || active(Shape::row(16, 64), &mut [cluster(3, 1, 1)]));
    t.line("active clusters of 0", || active(Shape::row(16, 64), &mut [cluster(0, 1, 1)]));
    t.line("active clusters of no size", || active(Shape::row(16, 64), &mut []));
    t.line("active clusters of 0 threads", || active(Shape::row(16, 0), &mut [cluster(2, 1, 1)]));
    t.line("non-portable sizes allowed", || {
        call!(cu, cuFuncSetAttribute_9000(function, CUfunction_attribute(14), 1))
    });
    t.line("  largest cluster", || largest(Shape::row(16, 64), &mut []));
    t.line("  active clusters of 16", || active(Shape::row(16, 64), &mut [cluster(16, 1, 1)]));
    let legacy = Shape::row(16, 64).config(null_mut(), &mut []);
    let mut size = 99;
    t.line("largest cluster on the NULL stream", || {
        call!(cu, cuOccupancyMaxPotentialClusterSize_11070(&raw mut size, function, &raw const legacy))
            .then(|| size)
    });
    Ok(())
}

/// A cluster that was set of the function, with one that the launch gives, or none.
fn required_clusters(t: &mut Lines, cu: &Cu) -> Outcome {
    let stream = cu.stream(NON_BLOCKING)?;
    for required in [[2, 1, 1], [2, 0, 0], [0, 2, 0], [0, 0, 1], [1, 1, 1], [64, 1, 1]] {
        let function = cu.function(cu.module(KERNELS)?, c"nothing")?;
        let [x, y, z] = required;
        for (attribute, size) in (11..).zip(required) {
            need!(cu, cuFuncSetAttribute_9000(function, CUfunction_attribute(attribute), size))?;
        }
        for given in [0, 1, 2, 4] {
            let mut given_attributes = [cluster(given, 1, 1)];
            let attributes = if given == 0 { &mut [][..] } else { &mut given_attributes[..] };
            let with = if given == 0 { String::new() } else { format!(", {given} x 1 x 1 given") };
            let config = Shape::row(16, 64).config(stream, attributes);
            let (mut size, mut number) = (99, 99);
            t.line(&format!("{x} x {y} x {z} required{with}: largest cluster"), || {
                call!(
                    cu,
                    cuOccupancyMaxPotentialClusterSize_11070(&raw mut size, function, &raw const config)
                )
                .then(|| size)
            });
            t.line(&format!("{x} x {y} x {z} required{with}: active clusters"), || {
                call!(cu, cuOccupancyMaxActiveClusters_11070(&raw mut number, function, &raw const config))
                    .then(|| crate::driver::yes(number > 0))
            });
            t.line(&format!("{x} x {y} x {z} required{with}: launch"), || {
                call!(cu, cuLaunchKernelEx_11060(&raw const config, function, null_mut(), null_mut()))
            });
        }
    }
    Ok(())
}

/// Other things than functions, and functions where there is no context.
fn handles(t: &mut Lines, cu: &Cu, function: CUfunction) -> Outcome {
    let kernel = cu.kernel(cu.library(KERNELS)?, c"nothing")?;
    let of_kernel = || cu.as_function(kernel, |kernel| blocks(cu, kernel, 64, 0));
    t.line("active blocks of NULL", || blocks(cu, null_mut(), 64, 0));
    t.line("active blocks of a kernel", of_kernel);
    let mut size = 99;
    t.line("largest cluster of NULL", || {
        let config = Shape::row(16, 64).config(null_mut(), &mut []);
        call!(cu, cuOccupancyMaxPotentialClusterSize_11070(&raw mut size, null_mut(), &raw const config))
    });
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line("no context: active blocks of a kernel", of_kernel);
    t.line("no context: active blocks of a function", || blocks(cu, function, 64, 0));
    Ok(())
}

type Question = (&'static str, fn(&Cu, CUfunction) -> Answer);

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("active blocks to NULL", |cu, function| {
        call!(cu, cuOccupancyMaxActiveBlocksPerMultiprocessor_6050(null_mut(), function, 64, 0))
    }),
    ("potential to NULL", |cu, function| {
        let (grid, block) = (null_mut(), null_mut());
        call!(cu, cuOccupancyMaxPotentialBlockSize_6050(grid, block, function, None, 0, 0))
    }),
    ("potential of NULL", |cu, _| {
        let (mut grid, mut block) = (0, 0);
        let (to, of) = (&raw mut grid, &raw mut block);
        call!(cu, cuOccupancyMaxPotentialBlockSize_6050(to, of, null_mut(), None, 0, 0))
    }),
    ("available of NULL", |cu, _| {
        let mut bytes = 0;
        call!(cu, cuOccupancyAvailableDynamicSMemPerBlock_10020(&raw mut bytes, null_mut(), 1, 64))
    }),
    ("largest cluster without a configuration", |cu, function| {
        let mut size = 0;
        call!(cu, cuOccupancyMaxPotentialClusterSize_11070(&raw mut size, function, null()))
    }),
];
