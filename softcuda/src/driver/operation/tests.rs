//! What a node of a graph will need of operations: their parameters are read, others are put in their place, and each is
//! submitted again and again.

use super::Operation;
use super::copy::{Copy, End, Extent, Reach};
use super::event::{Record, Wait};
use super::fill::{Fill, Parameters};
use super::host_function::{HostFunction, UserData};
use super::launch::Launch;
use super::value::{Condition, WaitValue, Word, WriteValue};
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CU_MEMORYTYPE_DEVICE, CUcontext, CUevent, CUfunction, CUmodule, CUstream};
use crate::driver::event::Event;
use crate::driver::kernel::found::Found;
use crate::driver::kernel::shape::Shape;
use crate::driver::stream::Stream;
use crate::driver::{context, event, kernel, memory, stream};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn out<T>(place: &mut T) -> Out<T> {
    Out::untyped(std::ptr::from_mut(place).cast())
}

/// A stream of a new context, which is current.
fn new_stream() -> Arc<Stream> {
    let (mut context, mut stream): (CUcontext, CUstream) = (std::ptr::null_mut(), std::ptr::null_mut());
    context::created::cuCtxCreate_v2(out(&mut context), 0, 0).expect("there is a device");
    stream::created::cuStreamCreate(out(&mut stream), 0).expect("the context is current");
    Stream::of(stream).expect("it is new")
}

fn allocate(bytes: usize) -> u64 {
    let mut address = 0;
    memory::plain::cuMemAlloc_v2(out(&mut address), bytes).expect("there is room");
    address
}

fn read<const N: usize>(stream: &Stream, address: u64) -> [u8; N] {
    stream.context.wait_for_work().expect("nothing goes wrong");
    let span = memory::span::Span::on_device(address as usize, N).expect("it is allocated");
    // SAFETY: as many bytes, which no work uses now.
    unsafe { span.bytes().cast::<[u8; N]>().read() }
}

fn end(address: u64) -> End {
    End::plain(CU_MEMORYTYPE_DEVICE, address as usize, Reach::Stream)
}

#[test]
fn copies_and_fills() {
    let stream = new_stream();
    let (a, b) = (allocate(8), allocate(8));
    let parameters = Parameters { address: a as usize, pitch: 0, value: 7, unit: 1, width: 8, height: 1 };
    let fill: Operation = Fill::new(parameters, &stream.context).unwrap().into();
    let copy = Copy::linear(end(b), end(a), 8, &stream.context).unwrap();
    let copy: Operation = copy.into();
    for _ in 0..2 {
        stream.submit(fill.clone()).unwrap();
        stream.submit(copy.clone()).unwrap();
        assert_eq!(read::<8>(&stream, b), [7; 8]);
    }
    let (Operation::Fill(fill), Operation::Copy(copy)) = (&fill, &copy) else {
        panic!("what they were made")
    };
    let changed =
        Fill::new(Parameters { value: 0x0102, unit: 2, width: 4, ..fill.parameters }, &stream.context);
    stream.submit(changed.unwrap()).unwrap();
    assert_eq!((copy.to.end.address as u64, copy.from.end.address as u64, copy.extent.width), (b, a, 8));
    let (to, from) = (End { x: 1, ..copy.to.end }, copy.from.end);
    let changed = Copy::new(to, from, Extent { width: 2, ..copy.extent }, &stream.context).unwrap();
    stream.submit(changed).unwrap();
    assert_eq!(read::<8>(&stream, b), [7, 2, 1, 7, 7, 7, 7, 7]);
    // Parameters are checked each time.
    assert!(
        Copy::new(copy.to.end, copy.from.end, Extent { width: 9, ..copy.extent }, &stream.context).is_err()
    );
}

#[test]
fn host_functions_and_values() {
    extern "C" fn count(counter: *mut c_void) {
        // SAFETY: the counter below, which outlives its submissions.
        unsafe { &*counter.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
    }
    let (stream, counter, word) = (new_stream(), AtomicU32::new(0), allocate(8));
    let data = UserData(std::ptr::from_ref(&counter).cast_mut().cast());
    let function: Operation = HostFunction { function: count, data, mode: 0 }.into();
    let at = |wide| Word::at(word, wide, &stream.context).unwrap();
    let write = WriteValue { word: at(true), value: 5 };
    let wait: Operation = WaitValue { word: at(true), value: 5, condition: Condition::of(1).unwrap() }.into();
    for round in 1..=3 {
        stream.submit(write.clone()).unwrap();
        stream.submit(wait.clone()).unwrap();
        stream.submit(function.clone()).unwrap();
        assert_eq!(read::<8>(&stream, word), 5u64.to_le_bytes());
        assert_eq!(counter.load(Ordering::Relaxed), round);
    }
    stream.submit(WriteValue { value: 6, ..write }).unwrap();
    assert_eq!(read::<8>(&stream, word), 6u64.to_le_bytes());
}

/// Each submission of a record is the event's last record, and each of a wait waits for that one.
#[test]
fn records_and_waits() {
    let (stream, mut handle): (_, CUevent) = (new_stream(), std::ptr::null_mut());
    event::cuEventCreate(out(&mut handle), 0).unwrap();
    let event = Event::of(handle).unwrap();
    let record: Operation = Record::of(Arc::clone(&event)).into();
    let wait: Operation = Wait { event: Arc::clone(&event) }.into();
    let mut records = Vec::new();
    for _ in 0..3 {
        records.push(stream.submit(record.clone()).unwrap());
        stream.submit(wait.clone()).unwrap();
        assert!(Arc::ptr_eq(records.last().unwrap(), &event.recorded().unwrap()));
    }
    stream.context.wait_for_work().unwrap();
    let times: Vec<_> = records.iter().map(|record| record.marked_at().unwrap()).collect();
    assert!(times.is_sorted() && times[0] < times[2]);
}

#[test]
fn launches() {
    const ADD: &[u8] = b".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .entry add(.param .u64 p, .param .u32 n) {\n.reg .u64 %p;\n.reg .u32 %x, %n;\n\
        ld.param.u64 %p, [p];\nld.param.u32 %n, [n];\n\
        ld.global.u32 %x, [%p];\nadd.u32 %x, %x, %n;\nst.global.u32 [%p], %x;\nret;\n}\n\0";
    let (stream, place) = (new_stream(), allocate(4));
    let (mut module, mut function): (CUmodule, CUfunction) = (std::ptr::null_mut(), std::ptr::null_mut());
    kernel::module::cuModuleLoadData(out(&mut module), ADD.as_ptr().cast()).unwrap();
    kernel::module::cuModuleGetFunction(out(&mut function), module, In::of(c"add")).unwrap();
    let fill = Parameters { address: place as usize, pitch: 0, value: 0, unit: 4, width: 1, height: 1 };
    stream.submit(Fill::new(fill, &stream.context).unwrap()).unwrap();
    let shape =
        Shape { grid: [1; 3], block: [1; 3], shared: 0, cluster: None, preferred: None, cooperative: false };
    let arguments = |number: u32| [&place.to_le_bytes()[..], &number.to_le_bytes()].concat().into();
    let kernel = Found::of(function, &stream.context).unwrap();
    let launch = Launch { kernel, shape, arguments: arguments(3) };
    let operation: Operation = launch.clone().into();
    for _ in 0..4 {
        stream.submit(operation.clone()).unwrap();
    }
    assert_eq!(read::<4>(&stream, place), 12u32.to_le_bytes());
    assert_eq!(launch.arguments[8..], 3u32.to_le_bytes());
    stream.submit(Launch { arguments: arguments(30), ..launch }).unwrap();
    assert_eq!(read::<4>(&stream, place), 42u32.to_le_bytes());
}
