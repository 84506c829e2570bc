//! Whether a batch pays: many ranges of managed memory, or many copies, in one call of the driver against one call for each.
//!
//! Each line is one operation on so many items of so many bytes. "Returns" is how long the calling thread was held,
//! "done" how long it took until the stream was: medians, in microseconds. The ways take turns, in one process, so that
//! what the machine does meanwhile meets them all. Prints tables in Markdown; `--samples N` (default 15), `--driver
//! CHOICE` (as `CUSHIM_DRIVER` has it; default: that, or the driver of this machine).

#![allow(clippy::print_stdout)] // a command-line tool

use cushim::driver::{Choice, Driver, OpenOptions, Table, sys};
use cushim::managed::{Discard, Range};
use cushim::memory::{DeviceMemory, DevicePointer, PinnedMemory, PinnedOptions};
use cushim::op::batch::{BatchOptions, MOST_ITEMS};
use cushim::op::{Copy, CopyBatch};
use cushim::{Context, Device, Error, Feature, Location, Status, Stream, StreamOptions};
use std::process::ExitCode;
use std::time::Instant;

/// Items and bytes of each.
const RANGES: [(usize, usize); 7] = [
    (1, 64 << 10),
    (8, 64 << 10),
    (64, 64 << 10),
    (512, 64 << 10),
    (8, 2 << 20),
    (64, 2 << 20),
    (4096, 4 << 10),
];
const COPIES: [(usize, usize); 6] = [(1, 64), (8, 64), (64, 64), (1024, 64), (64, 64 << 10), (64, 2 << 20)];
/// Copies in one call of the driver, of 16384 in all.
const PARTS: [usize; 5] = [256, 1024, 4096, 8192, 16384];
/// Bytes of each.
const PART_BYTES: usize = 64;

/// One way to do something: returns when the calls are made.
type Way<'a> = (&'static str, Box<dyn FnMut() -> Result<(), Error> + 'a>);

/// When the calls returned and when the work was done, in microseconds.
type Times = (f64, f64);

struct Bench {
    context: Context,
    stream: Stream,
    samples: usize,
}

impl Bench {
    fn table(&self) -> &'static Table {
        self.context.driver().table()
    }

    /// Times of each way, which take turns. `prepare` comes before each and is not timed.
    fn measure(
        &self,
        ways: &mut [Way<'_>],
        mut prepare: impl FnMut() -> Result<(), Error>,
    ) -> Result<Vec<Times>, Error> {
        let mut taken = vec![(Vec::new(), Vec::new()); ways.len()];
        // The first round is for warming up.
        for round in 0..=self.samples {
            for ((_, way), (returned, done)) in ways.iter_mut().zip(&mut taken) {
                prepare()?;
                self.stream.synchronize()?;
                let start = Instant::now();
                way()?;
                let at_return = start.elapsed();
                self.stream.synchronize()?;
                let at_end = start.elapsed();
                if round > 0 {
                    returned.push(at_return.as_secs_f64() * 1e6);
                    done.push(at_end.as_secs_f64() * 1e6);
                }
            }
        }
        Ok(taken.into_iter().map(|(returned, done)| (median(returned), median(done))).collect())
    }

    /// Prints a line for some items: every way's times.
    fn line(&self, what: &str, (count, bytes): (usize, usize), times: &[Times]) {
        let cells: String =
            times.iter().map(|(returned, done)| format!(" {returned:.0} | {done:.0} |")).collect();
        println!("| {what} | {count} × {} |{cells}", size(bytes));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

fn heading(title: &str, ways: &[&str]) {
    println!("\n{title}, µs\n");
    let names: String = ways.iter().map(|name| format!(" {name}: returns | done |")).collect();
    println!("| | items |{names}");
    println!("|---|---|{}", "---|---|".repeat(ways.len()));
}

/// What the driver answered to a call of its own.
fn accepted(result: sys::CUresult) -> Result<(), Error> {
    match result {
        sys::CUDA_SUCCESS => Ok(()),
        sys::CUresult(code) => Err(Error::new(Status(code), format!("the driver answered {code}"))),
    }
}

/// Managed memory, freed at the end.
fn managed(context: &Context, bytes: usize) -> Result<DeviceMemory, Error> {
    let mut pointer = 0;
    let allocate = context.driver().table().cuMemAllocManaged_6000.expect("every driver has it");
    // SAFETY: writes a pointer; a context is current.
    accepted(unsafe { allocate(&raw mut pointer, bytes, sys::CU_MEM_ATTACH_GLOBAL.0 as u32) })?;
    // SAFETY: nobody else frees it.
    Ok(unsafe { DeviceMemory::from_pointer(context, DevicePointer(pointer), bytes) })
}

/// Prefetches to the device of what the host has touched, and discards in front of them.
fn prefetches(bench: &Bench) -> Result<(), Error> {
    let names = ["batch", "loop", "the driver's batch", "the driver's loop"];
    heading("Prefetch from the host to the device", &names);
    for (count, bytes) in RANGES {
        let memory = managed(&bench.context, count * bytes)?;
        let at = |i: usize| memory.pointer().0 + (i * bytes) as u64;
        let ranges: Vec<Range> = (0..count).map(|i| Range::new(DevicePointer(at(i)), bytes)).collect();
        let to = Location::device(0);
        let all = Range::new(memory.pointer(), count * bytes);
        let back = || bench.stream.prefetch(&all, Location::HOST);
        let options = BatchOptions::default;
        let mut ways: Vec<Way<'_>> = vec![
            (names[0], Box::new(|| bench.stream.prefetch_batch(&ranges, &[to], options()))),
            (names[1], Box::new(|| ranges.iter().try_for_each(|range| bench.stream.prefetch(range, to)))),
            (names[2], Box::new(|| raw_batch(bench, &ranges))),
            (names[3], Box::new(|| raw_loop(bench, &ranges))),
        ];
        let times = bench.measure(&mut ways, back)?;
        drop(ways);
        bench.line("prefetch", (count, bytes), &times);
        memory.free()?;
    }
    Ok(())
}

fn device() -> sys::CUmemLocation {
    let device = sys::CUmemLocation_v1_u4 { id: 0 };
    sys::CUmemLocation { type_: sys::CU_MEM_LOCATION_TYPE_DEVICE, u4: device }
}

fn raw_batch(bench: &Bench, ranges: &[Range]) -> Result<(), Error> {
    let Some(prefetch) = bench.table().cuMemPrefetchBatchAsync_13000 else { return raw_loop(bench, ranges) };
    let mut pointers: Vec<u64> = ranges.iter().map(|range| range.pointer().0).collect();
    let mut sizes: Vec<usize> = ranges.iter().map(Range::bytes).collect();
    let (mut to, mut start) = (device(), 0);
    // SAFETY: the arrays are as long as is said; the stream is alive and its context current.
    accepted(unsafe {
        prefetch(
            pointers.as_mut_ptr(),
            sizes.as_mut_ptr(),
            sizes.len(),
            &raw mut to,
            &raw mut start,
            1,
            0,
            bench.stream.native(),
        )
    })
}

fn raw_loop(bench: &Bench, ranges: &[Range]) -> Result<(), Error> {
    let table = bench.table();
    for range in ranges {
        let (pointer, bytes, stream) = (range.pointer().0, range.bytes(), bench.stream.native());
        // SAFETY: the stream is alive and its context current; the driver looks the range up.
        accepted(unsafe {
            match table.cuMemPrefetchAsync_12020 {
                Some(prefetch) => prefetch(pointer, bytes, device(), 0, stream),
                None => {
                    (table.cuMemPrefetchAsync_8000.expect("every driver has it"))(pointer, bytes, 0, stream)
                }
            }
        })?;
    }
    Ok(())
}

/// Moving memory whose bytes nobody needs: with them, and without.
fn discards(bench: &Bench) -> Result<(), Error> {
    if bench.table().cuMemDiscardAndPrefetchBatchAsync_13000.is_none() {
        println!("\nDiscards: skipped, this driver has none.");
        return Ok(());
    }
    let names = ["prefetch", "discard and prefetch"];
    heading("With what the memory held, and without", &names);
    for (count, bytes) in RANGES {
        let memory = managed(&bench.context, count * bytes)?;
        let at = |i: usize| DevicePointer(memory.pointer().0 + (i * bytes) as u64);
        let ranges: Vec<Range> = (0..count).map(|i| Range::new(at(i), bytes)).collect();
        let to = [Location::device(0)];
        let all = Range::new(memory.pointer(), count * bytes);
        let back = || bench.stream.prefetch(&all, Location::HOST);
        let with = || bench.stream.prefetch_batch(&ranges, &to, BatchOptions::default());
        // SAFETY: nobody reads it.
        let without = || unsafe { bench.stream.enqueue(&mut Discard::new(&ranges).with_prefetch(&to)) };
        let mut ways: Vec<Way<'_>> = vec![(names[0], Box::new(with)), (names[1], Box::new(without))];
        let times = bench.measure(&mut ways, back)?;
        drop(ways);
        bench.line("batch", (count, bytes), &times);
        memory.free()?;
    }
    Ok(())
}

/// Copies from page-locked memory to the device.
fn copies(bench: &Bench) -> Result<(), Error> {
    let names = ["batch", "loop"];
    heading("Copies from page-locked memory to the device", &names);
    for (count, bytes) in COPIES {
        let blocks = Blocks::new(bench, count, bytes)?;
        let (mut many, mut each) = (blocks.copies(), blocks.copies());
        // SAFETY: both ends hold so many bytes until the stream is done.
        let batch = || unsafe { bench.stream.enqueue(&mut CopyBatch::new(&mut many, &[])) };
        // SAFETY: as above.
        let one = |copy: &mut Copy<'_>| unsafe { bench.stream.enqueue(copy) };
        let one_by_one = || each.iter_mut().try_for_each(one);
        let mut ways: Vec<Way<'_>> = vec![(names[0], Box::new(batch)), (names[1], Box::new(one_by_one))];
        let times = bench.measure(&mut ways, || Ok(()))?;
        drop(ways);
        drop((many, each));
        bench.line("copy", (count, bytes), &times);
        blocks.free()?;
    }
    Ok(())
}

/// So many blocks on both sides.
struct Blocks {
    memory: DeviceMemory,
    host: PinnedMemory,
    count: usize,
    bytes: usize,
}

impl Blocks {
    fn new(bench: &Bench, count: usize, bytes: usize) -> Result<Self, Error> {
        let memory = DeviceMemory::allocate(&bench.context, count * bytes)?;
        let host = PinnedMemory::allocate(&bench.context, count * bytes, PinnedOptions::default())?;
        Ok(Self { memory, host, count, bytes })
    }

    /// The copies between them.
    fn copies(&self) -> Vec<Copy<'_>> {
        let offsets = (0..self.count).map(|i| i * self.bytes);
        offsets.map(|at| Copy::new(self.memory.at(at as u64), self.host.at(at), self.bytes)).collect()
    }

    /// The addresses of these copies: the destinations, and the sources.
    fn addresses(&self) -> (Vec<u64>, Vec<u64>) {
        let (to, from) = (self.memory.pointer().0, self.host.address().expose_provenance() as u64);
        let offsets = (0..self.count).map(|i| (i * self.bytes) as u64);
        offsets.map(|at| (to + at, from + at)).unzip()
    }

    fn free(self) -> Result<(), Error> {
        self.memory.free()?;
        self.host.free()
    }
}

/// What it costs to give the driver fewer copies at a time than it would take.
fn parts(bench: &Bench) -> Result<(), Error> {
    if bench.table().cuMemcpyBatchAsync_12080.is_none() {
        println!("\nBatches of copies: this driver has none.");
        return Ok(());
    }
    let count = PARTS[PARTS.len() - 1];
    let blocks = Blocks::new(bench, count, PART_BYTES)?;
    let (to, from) = blocks.addresses();
    println!(
        "\n{count} copies of {PART_BYTES} B, so many in a call of the driver (cushim: {MOST_ITEMS}), µs\n"
    );
    println!("| in a call | returns | done |\n|---|---|---|");
    for part in PARTS {
        let raw =
            || to.chunks(part).zip(from.chunks(part)).try_for_each(|(to, from)| raw_copies(bench, to, from));
        let mut ways: Vec<Way<'_>> = vec![("parts", Box::new(raw))];
        let times = bench.measure(&mut ways, || Ok(()))?;
        println!("| {part} | {:.0} | {:.0} |", times[0].0, times[0].1);
    }
    blocks.free()
}

fn raw_copies(bench: &Bench, to: &[u64], from: &[u64]) -> Result<(), Error> {
    let (mut to, mut from, mut sizes) = (to.to_vec(), from.to_vec(), vec![PART_BYTES; to.len()]);
    let nowhere = sys::CUmemLocation {
        type_: sys::CU_MEM_LOCATION_TYPE_INVALID,
        u4: sys::CUmemLocation_v1_u4 { id: 0 },
    };
    let mut attributes = sys::CUmemcpyAttributes {
        srcAccessOrder: sys::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
        srcLocHint: nowhere,
        dstLocHint: nowhere,
        flags: 0,
    };
    let (mut start, mut item, stream) = (0, 0, bench.stream.native());
    let (to, from, sizes, count) = (to.as_mut_ptr(), from.as_mut_ptr(), sizes.as_mut_ptr(), to.len());
    let (attributes, start) = (&raw mut attributes, &raw mut start);
    // SAFETY: the arrays are as long as is said; both ends hold the bytes until the stream is done.
    accepted(unsafe {
        match (bench.table().cuMemcpyBatchAsync_13000, bench.table().cuMemcpyBatchAsync_12080) {
            (Some(copy), _) => copy(to, from, sizes, count, attributes, start, 1, stream),
            (None, Some(copy)) => copy(to, from, sizes, count, attributes, start, 1, &raw mut item, stream),
            (None, None) => sys::CUDA_ERROR_NOT_SUPPORTED,
        }
    })
}

fn run(driver: &Driver, samples: usize) -> Result<(), Error> {
    let device = Device::get(driver, 0)?;
    let context = device.primary_context()?;
    context.push()?;
    let stream = Stream::create(&context, &StreamOptions::default())?;
    let version = driver.version().map(|version| version.to_string()).unwrap_or_default();
    println!("{}, CUDA {version}, medians of {samples}", device.name()?);
    let bench = Bench { context, stream, samples };
    if device.supports(Feature::ConcurrentManagedAccess)? {
        prefetches(&bench)?;
        discards(&bench)?;
    } else {
        println!("\nManaged memory: skipped, the device moves it by itself.");
    }
    copies(&bench)?;
    parts(&bench)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|i| args.get(i + 1));
    let samples: usize = value("--samples").map_or(Ok(15), |n| n.parse()).expect("--samples takes a number");
    let options = OpenOptions::new();
    let options = match value("--driver") {
        Some(choice) => options.choice(Choice::from(choice.as_ref())),
        None => options,
    };
    let driver = match options.open() {
        Ok(driver) => driver,
        Err(error) => {
            println!("batches: skipped, {error}");
            return ExitCode::SUCCESS;
        }
    };
    match run(&driver, samples.max(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("batches: {error}");
            ExitCode::FAILURE
        }
    }
}
