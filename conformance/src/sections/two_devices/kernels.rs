//! Kernels on both devices, and on the other's memory.

use super::pointers::attribute;
use super::{Scene, Side};
use crate::code::{Arguments, FAULTS, KERNELS, Shape};
use crate::driver::{Answer, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CUdeviceptr, CUfunction};
use std::ptr::null_mut;

/// Stores a value with a kernel of the context that is current now.
fn store(s: &Scene, function: CUfunction, side: &Side, address: CUdeviceptr, value: u64) -> Answer {
    let mut arguments = Arguments::new([address, value]);
    match s.cu.launch(function, Shape::ONE, side.stream, &mut arguments.pointers()) {
        answer if answer.succeeded() => call!(s.cu, cuStreamSynchronize_2000(side.stream)),
        answer => answer,
    }
}

pub(super) fn run(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let library = cu.library(KERNELS)?;
    let kernel = cu.kernel(library, c"store")?;
    t.line("a library's kernel on the first", || {
        cu.as_function(kernel, |kernel| store(s, kernel, &s.here, s.here.memory, 5))
    });
    t.line("  on the second's stream, the first is current", || {
        cu.as_function(kernel, |kernel| store(s, kernel, &s.there, s.there.memory, 6))
    });
    t.line("  the value there", || if kernel.is_null() { "6".into() } else { s.first_byte(&s.there) });
    let (mut here, mut there) = (0, 0);
    let variable = |out: &mut CUdeviceptr| {
        let name = c"counter".as_ptr();
        call!(cu, cuLibraryGetGlobal_12000(std::ptr::from_mut(out), null_mut(), library, name))
    };
    t.line("a variable where the first is current", || match variable(&mut here) {
        answer if answer.succeeded() => attribute(cu, here, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL),
        answer => answer,
    });
    s.enter(&s.there)?;
    t.line("  where the second is", || match variable(&mut there) {
        answer if answer.succeeded() => attribute(cu, there, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL),
        answer => answer,
    });
    t.line("  another address", || yes(here == 0 || here != there));
    t.line("an attribute of the kernel on device 1", || {
        let mut value = 0;
        call!(cu, cuKernelGetAttribute_12000(&raw mut value, Default::default(), kernel, 1)).then(|| value)
    });
    t.line("set one on device 1", || {
        let shared = cushim::driver::sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        call!(cu, cuKernelSetAttribute_12000(shared, 65536, kernel, 1))
    });
    for device in [1, 0] {
        t.line(&format!("  it is on device {device}"), || {
            let mut value = 0;
            let shared = cushim::driver::sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            call!(cu, cuKernelGetAttribute_12000(&raw mut value, shared, kernel, device)).then(|| value)
        });
    }
    t.line("the second current: the kernel in the first's stream", || {
        cu.as_function(kernel, |kernel| store(s, kernel, &s.here, s.here.memory, 7))
    });
    need!(cu, cuCtxEnablePeerAccess_4000(s.here.context, 0))?;
    let module = cu.function(cu.module(KERNELS)?, c"store")?;
    t.line("with access: a kernel stores to the other's memory", || {
        store(s, module, &s.there, s.here.memory, 8)
    });
    t.line("  the value there", || s.first_byte(&s.here));
    t.line("  atomically", || {
        let Ok(add) = cu.module(FAULTS).and_then(|module| cu.function(module, c"add")) else {
            return "no such kernel".into();
        };
        match cu.launch_at(add, s.there.stream, s.here.memory) {
            answer if answer.succeeded() => call!(cu, cuStreamSynchronize_2000(s.there.stream)),
            answer => answer,
        }
    });
    t.line("  the value then", || s.first_byte(&s.here));
    Ok(())
}

/// Without access a store is a fault of the context that ran the kernel, and of no other.
pub(super) fn refused(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let function = cu.function(cu.module(KERNELS)?, c"store")?;
    t.line("without access: a kernel stores to the other's memory", || {
        store(s, function, &s.here, s.there.memory, 9)
    });
    after(t, s)
}

pub(super) fn faulty(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let function = cu.function(cu.module(FAULTS)?, c"trap")?;
    t.line("a trap on the first", || trap(s, function));
    after(t, s)
}

/// The second has no context when the first one's is lost.
pub(super) fn faulty_alone(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut context, mut address) = (&s.cu, null_mut(), 0);
    need!(cu, cuDevicePrimaryCtxReset_11000(1))?;
    let function = cu.function(cu.module(FAULTS)?, c"trap")?;
    t.line("a trap on the first, alone", || trap(s, function));
    t.line("  retain the second's", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, 1)));
    t.line("  make it current", || call!(cu, cuCtxSetCurrent_4000(s.there.context)));
    t.line("  an allocation there", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    Ok(())
}

/// Both are reset after a fault.
pub(super) fn recovered(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut context, mut address) = (&s.cu, null_mut(), 0);
    let function = cu.function(cu.module(FAULTS)?, c"trap")?;
    t.line("a trap on the first, and resets", || trap(s, function));
    for (name, device, side) in
        [("second", 1, &s.there), ("first", 0, &s.here), ("second again", 1, &s.there)]
    {
        t.line(&format!("  reset of the {name}"), || call!(cu, cuDevicePrimaryCtxReset_11000(device)));
        t.line("  retain", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, device)));
        t.line("  make it current", || call!(cu, cuCtxSetCurrent_4000(side.context)));
        t.line("  an allocation there", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    }
    Ok(())
}

fn trap(s: &Scene, function: CUfunction) -> Answer {
    match s.cu.launch_at(function, s.here.stream, 0) {
        answer if answer.succeeded() => call!(s.cu, cuStreamSynchronize_2000(s.here.stream)),
        answer => answer,
    }
}

/// Who knows of a lost context.
fn after(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let mut address = 0;
    t.line("  the next allocation", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("  query of the second's stream, the first is current", || {
        call!(cu, cuStreamQuery_2000(s.there.stream))
    });
    t.line("  a fill there", || call!(cu, cuMemsetD8Async_3020(s.there.memory, 1, 64, s.there.stream)));
    t.line("  a copy from the lost one's memory", || {
        call!(cu, cuMemcpyDtoDAsync_3020(s.there.memory, s.here.memory, 64, s.there.stream))
    });
    t.line("  the second's stream waits for the first's event", || {
        call!(cu, cuStreamWaitEvent_3020(s.there.stream, s.here.event, 0))
    });
    t.line("  make the second current", || call!(cu, cuCtxSetCurrent_4000(s.there.context)));
    t.line("  an allocation there", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("  query of the first's stream", || call!(cu, cuStreamQuery_2000(s.here.stream)));
    t.line("  synchronise the second", || call!(cu, cuCtxSynchronize_2000()));
    Ok(())
}
