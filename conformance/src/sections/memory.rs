//! Device memory: allocated, freed, filled, copied, asked about.

use super::Section;
use crate::driver::{Answer, BOGUS, Cu, HUGE, NON_BLOCKING, Outcome, yes};
use crate::driver::{call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr, CUpointer_attribute, CUstream};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "memory", parts: 4, devices: 1, run };

const SIZE: usize = 4096;

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    match part {
        0 => on_their_own(t, cu),
        1 => in_order(t, cu),
        2 => freed_in_order(t, cu),
        _ => {
            unknown(t, cu);
            Ok(())
        }
    }
}

fn on_their_own(t: &mut Lines, cu: &Cu) -> Outcome {
    plain(t, cu)?;
    copies(t, cu)?;
    fills(t, cu)?;
    pointers(t, cu)
}

fn plain(t: &mut Lines, cu: &Cu) -> Outcome {
    let mut address = 0;
    t.line("cuMemAlloc 0", || call!(cu, cuMemAlloc_3020(&raw mut address, 0)));
    t.line("cuMemAlloc huge", || call!(cu, cuMemAlloc_3020(&raw mut address, HUGE)));
    t.line("cuMemAlloc to NULL", || call!(cu, cuMemAlloc_3020(null_mut(), 64)));
    t.line("cuMemFree NULL", || call!(cu, cuMemFree_3020(0)));
    t.line("cuMemFree bad", || call!(cu, cuMemFree_3020(BOGUS)));
    let memory = cu.memory(SIZE)?;
    t.line("address is a multiple of 256", || yes(memory.is_multiple_of(256)));
    t.line("cuMemFree interior", || call!(cu, cuMemFree_3020(memory + 64)));
    t.line("cuMemFree", || call!(cu, cuMemFree_3020(memory)));
    t.line("cuMemFree again", || call!(cu, cuMemFree_3020(memory)));
    Ok(())
}

/// Copies that wait, and copies on a stream of the legacy kind.
fn copies(t: &mut Lines, cu: &Cu) -> Outcome {
    let (a, b, mut host) = (cu.memory(SIZE)?, cu.memory(SIZE)?, vec![5u8; 4 * SIZE]);
    let source = host.as_ptr().cast();
    t.line("HtoD", || call!(cu, cuMemcpyHtoD_3020(a, source, SIZE)));
    t.line("DtoD", || call!(cu, cuMemcpyDtoD_3020(b, a, SIZE)));
    host.fill(0);
    t.line("DtoH", || call!(cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), b, SIZE)));
    t.line("  what was written is read", || yes(host[..SIZE].iter().all(|&byte| byte == 5)));
    t.line("copy with unified pointers", || call!(cu, cuMemcpy_4000(a, b, SIZE)));
    t.line("copy with unified pointers, host to host", || {
        let (from, to) = host.split_at_mut(2 * SIZE);
        call!(cu, cuMemcpy_4000(to.as_ptr().addr() as u64, from.as_ptr().addr() as u64, 64))
    });
    t.line("DtoD past the end of the source", || call!(cu, cuMemcpyDtoD_3020(a, b, 2 * SIZE)));
    t.line("DtoD past the end, from the middle", || call!(cu, cuMemcpyDtoD_3020(a, b + 64, SIZE)));
    t.line("HtoD past the end", || call!(cu, cuMemcpyHtoD_3020(a, source, 2 * SIZE)));
    t.line("DtoH past the end", || call!(cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), a, 2 * SIZE)));
    t.line("copy 0 bytes", || call!(cu, cuMemcpyDtoD_3020(a, b, 0)));
    t.line("HtoD 0 bytes", || call!(cu, cuMemcpyHtoD_3020(a, source, 0)));
    t.line("HtoD 0 bytes to a bad address", || call!(cu, cuMemcpyHtoD_3020(BOGUS, source, 0)));
    t.line("copy NULL ptr", || call!(cu, cuMemcpyDtoD_3020(0, b, 64)));
    t.line("DtoD to a bad address", || call!(cu, cuMemcpyDtoD_3020(BOGUS, b, 64)));
    t.line("DtoD from a bad address", || call!(cu, cuMemcpyDtoD_3020(a, BOGUS, 64)));
    t.line("HtoD to a bad address", || call!(cu, cuMemcpyHtoD_3020(BOGUS, source, 64)));
    t.line("DtoH from a bad address", || call!(cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), BOGUS, 64)));
    t.line("context is well", || call!(cu, cuCtxSynchronize_2000()));
    need!(cu, cuMemFree_3020(a))?;
    need!(cu, cuMemFree_3020(b))
}

fn fills(t: &mut Lines, cu: &Cu) -> Outcome {
    let (memory, mut host) = (cu.memory(SIZE)?, [0u8; 16]);
    let read = |host: &mut [u8; 16]| call!(cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), memory, 16));
    t.line("memset D8", || call!(cu, cuMemsetD8_3020(memory, 0xa5, SIZE)));
    t.line("memset D16", || call!(cu, cuMemsetD16_3020(memory + 2, 0x1234, 1)));
    t.line("memset D32", || call!(cu, cuMemsetD32_3020(memory + 8, 0x0102_0304, 1)));
    t.line("  bytes", || read(&mut host).then(|| host.map(|byte| format!("{byte:02x}")).concat()));
    t.line("memset past the end", || call!(cu, cuMemsetD8_3020(memory, 0, 2 * SIZE)));
    t.line("memset past the end, from the middle", || call!(cu, cuMemsetD8_3020(memory + 64, 0, SIZE)));
    t.line("memset of a bad address", || call!(cu, cuMemsetD8_3020(BOGUS, 0, 64)));
    t.line("memset NULL", || call!(cu, cuMemsetD8_3020(0, 0, 64)));
    t.line("memset 0 bytes", || call!(cu, cuMemsetD8_3020(memory, 0, 0)));
    t.line("memset D16 misaligned", || call!(cu, cuMemsetD16_3020(memory + 1, 0, 1)));
    t.line("memset D32 misaligned", || call!(cu, cuMemsetD32_3020(memory + 2, 0, 1)));
    need!(cu, cuMemFree_3020(memory))
}

fn pointers(t: &mut Lines, cu: &Cu) -> Outcome {
    let (memory, host) = (cu.memory(SIZE)?, [0u8; 64]);
    let pageable = host.as_ptr().addr() as u64;
    t.line("memory type of device memory", || memory_type(cu, memory));
    t.line("  interior", || memory_type(cu, memory + 100));
    t.line("pointer attr on pageable host", || memory_type(cu, pageable));
    t.line("pointer attr on NULL", || memory_type(cu, 0));
    t.line("pointer attr 9999", || {
        let mut value = 0u64;
        call!(cu, cuPointerGetAttribute_4000((&raw mut value).cast(), CUpointer_attribute(9999), memory))
    });
    t.line("pointer attr to NULL", || {
        call!(cu, cuPointerGetAttribute_4000(null_mut(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory))
    });
    let (mut base, mut size) = (0, 0);
    let mut range = |address| call!(cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut size, address));
    t.line("address range bad", || range(BOGUS));
    t.line("address range of pageable host", || range(pageable));
    t.line("address range NULL", || range(0));
    t.line("address range interior", || range(memory + 100));
    t.line("  base,size", || format!("{},{size}", base.wrapping_sub(memory)));
    t.line("address range to NULL", || call!(cu, cuMemGetAddressRange_3020(null_mut(), null_mut(), memory)));
    need!(cu, cuMemFree_3020(memory))
}

fn memory_type(cu: &Cu, address: CUdeviceptr) -> Answer {
    let mut kind = 0u32;
    call!(cu, cuPointerGetAttribute_4000((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address))
        .then(|| kind)
}

/// What is told of an address that is nobody's, where many attributes are asked for at once.
fn unknown(t: &mut Lines, cu: &Cu) {
    for number in 1..=21 {
        // One of them is as large as two of the others.
        let mut value = [UNTOUCHED; 4];
        let (mut attributes, mut places) = ([CUpointer_attribute(number)], [(&raw mut value).cast()]);
        t.line(&format!("attribute {number} of a bad address, in bulk"), || {
            call!(cu, cuPointerGetAttributes_7000(1, attributes.as_mut_ptr(), places.as_mut_ptr(), BOGUS))
                .then(|| written(value[0]))
        });
    }
    let mut value = 0u64;
    let (mut attributes, mut places) = ([CUpointer_attribute(9999)], [(&raw mut value).cast()]);
    t.line("attribute 9999, in bulk", || {
        call!(cu, cuPointerGetAttributes_7000(1, attributes.as_mut_ptr(), places.as_mut_ptr(), BOGUS))
    });
    t.line("no attribute, in bulk", || {
        call!(cu, cuPointerGetAttributes_7000(0, attributes.as_mut_ptr(), places.as_mut_ptr(), BOGUS))
    });
}

const UNTOUCHED: u64 = 0xdead_beef_dead_beef;

/// How much of the value was written, and what.
fn written(value: u64) -> String {
    match value {
        UNTOUCHED => "nothing".to_owned(),
        BOGUS => "the address".to_owned(),
        _ if value >> 32 == UNTOUCHED >> 32 => format!("4 bytes: {}", value as u32 as i32),
        _ => format!("8 bytes: {value}"),
    }
}

/// Memory and copies in the order of a stream.
fn in_order(t: &mut Lines, cu: &Cu) -> Outcome {
    let stream = cu.stream(NON_BLOCKING)?;
    let mut address = 1;
    t.line("cuMemAllocAsync 0", || call!(cu, cuMemAllocAsync_11020(&raw mut address, 0, stream)));
    t.line("  pointer is null", || yes(address == 0));
    t.line("cuMemAllocAsync huge", || call!(cu, cuMemAllocAsync_11020(&raw mut address, HUGE, stream)));
    t.line("cuMemAllocAsync to NULL", || call!(cu, cuMemAllocAsync_11020(null_mut(), 64, stream)));
    t.line("cuMemFreeAsync NULL", || call!(cu, cuMemFreeAsync_11020(0, stream)));
    t.line("cuMemFreeAsync bad", || call!(cu, cuMemFreeAsync_11020(BOGUS, stream)));
    let memory = cu.memory(SIZE)?;
    t.line("cuMemFreeAsync of cuMemAlloc memory", || call!(cu, cuMemFreeAsync_11020(memory, stream)));
    let ordered = allocate(cu, stream)?;
    t.line("cuMemFree of async memory", || call!(cu, cuMemFree_3020(ordered)));
    let ordered = allocate(cu, stream)?;
    t.line("cuMemFreeAsync interior", || call!(cu, cuMemFreeAsync_11020(ordered + 64, stream)));
    t.line("cuMemFreeAsync", || call!(cu, cuMemFreeAsync_11020(ordered, stream)));
    t.line("double async free", || call!(cu, cuMemFreeAsync_11020(ordered, stream)));
    t.line("cuMemFree after it", || call!(cu, cuMemFree_3020(ordered)));
    need!(cu, cuStreamSynchronize_2000(stream))?;

    let (a, b, host) = (cu.memory(SIZE)?, cu.memory(SIZE)?, vec![5u8; 4 * SIZE]);
    let source = host.as_ptr().cast();
    t.line("HtoD async pageable", || call!(cu, cuMemcpyHtoDAsync_3020(a, source, SIZE, stream)));
    t.line("memcpy async unified ptrs", || call!(cu, cuMemcpyAsync_4000(b, a, SIZE, stream)));
    t.line("copy past the end", || call!(cu, cuMemcpyDtoDAsync_3020(b, a, 2 * SIZE, stream)));
    t.line("HtoD copy past the end", || call!(cu, cuMemcpyHtoDAsync_3020(a, source, 2 * SIZE, stream)));
    t.line("memset past the end", || call!(cu, cuMemsetD8Async_3020(a, 0, 2 * SIZE, stream)));
    t.line("stream after those", || call!(cu, cuStreamSynchronize_2000(stream)));
    Ok(())
}

/// Memory whose free was called and perhaps not yet reached.
fn freed_in_order(t: &mut Lines, cu: &Cu) -> Outcome {
    let stream = cu.stream(NON_BLOCKING)?;
    let (freed, other) = (allocate(cu, stream)?, allocate(cu, stream)?);
    let gate = Gate::close(cu, stream)?;
    need!(cu, cuMemFreeAsync_11020(freed, stream))?;
    t.line("memory type after cuMemFreeAsync", || memory_type(cu, freed));
    t.line("memset after cuMemFreeAsync", || call!(cu, cuMemsetD8Async_3020(freed, 0, 64, stream)));
    t.line("copy after cuMemFreeAsync", || call!(cu, cuMemcpyDtoDAsync_3020(other, freed, 64, stream)));
    gate.open();
    t.line("  stream", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("memory type when it is freed", || memory_type(cu, freed));
    Ok(())
}

fn allocate(cu: &Cu, stream: CUstream) -> Outcome<CUdeviceptr> {
    let mut address = 0;
    need!(cu, cuMemAllocAsync_11020(&raw mut address, SIZE, stream))?;
    Ok(address)
}
