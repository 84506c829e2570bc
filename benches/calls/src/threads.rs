//! Several threads that make the same calls at the same time, each with a stream, events and memory of its own in the one primary
//! context: what they take from each other, in cushim and in the driver.

use crate::measure::{Spread, cores, stay_on};
use crate::options::Options;
use crate::rows::cu;
use crate::shim::{self, Functions};
use crate::world::{BYTES, Raw, Shim, entry, open_driver};
use cushim::driver::sys::CU_EVENT_DISABLE_TIMING;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Calls between two looks at the clock, few enough that they do not fill a queue.
const BURST: u32 = 256;

/// At least so many bursts, however slow the calls are.
const LEAST: usize = 9;

/// What a thread has to itself.
struct Own {
    shim: Shim,
    raw: Raw,
}

/// The same call through the raw table and through cushim.
struct Row {
    name: &'static str,
    subjects: [fn(&Own); 2],
}

const SUBJECTS: [&str; 2] = ["raw", "cushim"];

const ROWS: [Row; 5] = [
    Row { name: "event query", subjects: [query_raw, query] },
    Row { name: "event record", subjects: [record_raw, record] },
    Row { name: "event create + destroy", subjects: [event_raw, event] },
    Row { name: "allocate + free, in a stream", subjects: [memory_raw, memory] },
    Row { name: "buffer create + destroy", subjects: [memory_raw, buffer] },
];

macro_rules! ok {
    ($own:expr, $name:ident($($argument:expr),*)) => {{
        // SAFETY: every pointer is good, and handles are checked.
        let status = unsafe { ($own.shim.call.$name)($($argument),*) };
        if status != 0 {
            $own.shim.call.must(stringify!($name), status);
        }
    }};
}

macro_rules! raw {
    ($own:expr, $name:ident($($argument:expr),*)) => {
        // SAFETY: every pointer and handle is good.
        cu(unsafe { entry!($own.raw.table, $name)($($argument),*) })
    };
}

fn query_raw(own: &Own) {
    raw!(own, cuEventQuery_2000(own.raw.event));
}

fn query(own: &Own) {
    let mut done = 0;
    ok!(own, cushim_event_query(own.shim.event, &raw mut done));
}

fn record_raw(own: &Own) {
    raw!(own, cuEventRecord_2000(own.raw.event, own.raw.stream));
}

fn record(own: &Own) {
    ok!(own, cushim_event_record(own.shim.event, own.shim.stream));
}

fn event_raw(own: &Own) {
    let mut event = null_mut();
    raw!(own, cuEventCreate_2000(&raw mut event, CU_EVENT_DISABLE_TIMING.0 as u32));
    raw!(own, cuEventDestroy_4000(event));
}

fn event(own: &Own) {
    let mut event = null_mut();
    ok!(own, cushim_event_create(own.shim.context, null(), &raw mut event));
    ok!(own, cushim_event_destroy(event));
}

fn memory_raw(own: &Own) {
    let mut pointer = 0;
    raw!(own, cuMemAllocAsync_11020(&raw mut pointer, BYTES, own.raw.stream));
    raw!(own, cuMemFreeAsync_11020(pointer, own.raw.stream));
}

fn memory(own: &Own) {
    let mut pointer = 0;
    ok!(own, cushim_stream_allocate(own.shim.stream, BYTES, &raw mut pointer));
    ok!(own, cushim_stream_free(own.shim.stream, pointer));
}

fn buffer(own: &Own) {
    let mut buffer = null_mut();
    ok!(own, cushim_buffer_create(own.shim.pool, own.shim.stream, BYTES, &raw mut buffer));
    ok!(own, cushim_buffer_destroy(buffer));
}

impl Own {
    fn settle(&self) {
        raw!(self, cuStreamSynchronize_2000(self.raw.stream));
        ok!(self, cushim_stream_synchronize(self.shim.stream));
    }

    /// Nanoseconds per call: the median over bursts, for at least so long.
    fn measure(&self, call: fn(&Self), time: Duration) -> f64 {
        let (mut bursts, start) = (Vec::new(), Instant::now());
        while bursts.len() < LEAST || start.elapsed() < time {
            let burst = Instant::now();
            (0..BURST).for_each(|_| call(self));
            bursts.push(burst.elapsed().as_secs_f64() * 1e9 / f64::from(BURST));
            self.settle();
        }
        Spread::of(bursts).median
    }
}

/// So many threads make one call.
struct Step {
    row: usize,
    subject: usize,
    threads: usize,
}

/// 1, 2, 4 and so on, and the most.
fn counts(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1), |count| Some(count * 2)).take_while(|count| *count < most);
    doubled.chain([most]).collect()
}

/// Measures with one thread, two, four and so on to the most, each on a core of its own; answers with the report.
pub(crate) fn run(options: &Options, most: usize) -> Result<String, String> {
    let cores = cores();
    if most == 0 || most > cores.len() {
        return Err(format!("--threads takes 1 to {}, one for each core", cores.len()));
    }
    let call = Functions::load(&options.library.clone().map_or_else(shim::beside_this_program, Ok)?)?;
    // A handle, which any thread may use.
    let driver = open_driver(&call, options)?.expose_provenance();
    let rows: Vec<usize> = (0..ROWS.len()).filter(|row| options.wants(ROWS[*row].name)).collect();
    if rows.is_empty() {
        let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        return Err(format!("no row for threads has such a name; there are: {}", names.join(", ")));
    }
    let counts = counts(most);
    let of_row = |row| (0..2).flat_map(move |subject| [(row, subject)]);
    let pairs = rows.iter().copied().flat_map(of_row);
    let steps: Vec<_> = pairs
        .flat_map(|(row, subject)| counts.iter().map(move |threads| Step { row, subject, threads: *threads }))
        .collect();
    let time = if options.quick { Duration::ZERO } else { Duration::from_millis(options.millis) };
    let together = Barrier::new(most);
    let work = |index: usize| {
        stay_on(Some(cores[index]))?;
        let shim = Shim::new(call, std::ptr::with_exposed_provenance_mut(driver))?;
        let own = Own { raw: Raw::new(&shim), shim };
        own.shim.record();
        own.raw.record();
        let each = steps.iter().map(|Step { row, subject, threads }| {
            together.wait();
            (index < *threads).then(|| own.measure(ROWS[*row].subjects[*subject], time))
        });
        Ok::<_, String>(each.collect::<Vec<_>>())
    };
    let by_thread: Result<Vec<_>, String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..most).map(|index| scope.spawn(move || work(index))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread measures")).collect()
    });
    let by_thread = by_thread?;
    let taken = |step: usize| Spread::of(by_thread.iter().filter_map(|thread| thread[step]).collect());
    let taken: Vec<_> = (0..steps.len()).map(taken).collect();
    Ok(if options.json { json_of(&steps, &taken) } else { table(&counts, &steps, &taken) })
}

fn table(counts: &[usize], steps: &[Step], taken: &[Spread]) -> String {
    let mut text =
        "ns per call of each thread, all at the same time on objects of their own: the median of the threads\n\n"
            .to_owned();
    let _ = write!(text, "{:<40}", "threads");
    counts.iter().for_each(|count| _ = write!(text, "{count:>9}"));
    for (line, taken) in steps.chunks(counts.len()).zip(taken.chunks(counts.len())) {
        let name = format!("{}, {}", ROWS[line[0].row].name, SUBJECTS[line[0].subject]);
        let _ = write!(text, "\n{name:<40}");
        taken.iter().for_each(|taken| _ = write!(text, "{:>9.1}", taken.median));
    }
    text + "\n"
}

fn json_of(steps: &[Step], taken: &[Spread]) -> String {
    let each = steps.iter().zip(taken).map(|(Step { row, subject, threads }, taken)| {
        json!({ "name": ROWS[*row].name, "subject": SUBJECTS[*subject], "threads": threads, "median": taken.median })
    });
    format!("{:#}\n", json!({ "unit": "ns per call of each thread", "rows": each.collect::<Vec<Value>>() }))
}
