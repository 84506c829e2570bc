//! Runs programs with each of their driver calls failing in turn: none may crash, hang, or keep what it no longer holds.
//!
//! A program runs once on softcuda with a trace, which tells its calls, and then once for each call and each [`Fault`].
//! Checks of the program may fail then. Because a program whose checks fail may skip its own cleaning up, those of the
//! objects are compiled with `claims.inc`, which destroys at the end what the program still holds; after that the trace of
//! the run must show for each thing that the driver made an attempt to release it.

pub(crate) mod claims;
mod left;

use crate::build::Build;
use crate::interface::text;
use crate::matrix::ONE_VERSION;
use crate::programs::{on_any_driver, uses_objects};
use crate::repository;
use crate::run::{Driver, Run};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Alone, for want of memory.
    Alone,
    /// In such a way that the context is lost.
    Lost,
}

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The first call of each function, in the first program that makes it; without the longest programs, and most on graphs.
    Short,
    /// The first calls of each function in each program, twelve of them; fewer of the longest programs.
    Whole,
}

/// A program with a call that is to fail in it.
pub struct Pair {
    program: String,
    path: PathBuf,
    function: String,
    ordinal: usize,
    fault: Fault,
    /// How many calls of the driver the program makes.
    calls: usize,
}

impl Pair {
    /// Whether it is of what is named: a program, or a function in it.
    fn is_of(&self, wanted: &str) -> bool {
        wanted.split_once(':').map_or(wanted == self.program, |(program, function)| {
            program == self.program && function == self.function
        })
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, function, ordinal, fault, .. } = self;
        write!(f, "{program} with {function}#{ordinal} failing ({fault:?})")
    }
}

/// What makes a program clean up at its end.
const CLAIMING: &[&str] = &["-include", "claims.inc", "-Wl,--wrap=main,--wrap=exit"];

/// Longer than any program takes.
const LIMIT: Duration = Duration::from_secs(30);

/// The same on a machine that has much else to do, for the second attempt of what did not end in the first.
const LIMIT_AGAIN: Duration = Duration::from_secs(200);

/// So many calls of one function in one program are enough.
const REPEATED: usize = 12;

/// How often a program that left something behind is tried.
const ATTEMPTS: usize = 4;

/// Left out: a fuzzer takes every answer that its model does not foresee for a failure, and stops at the first; two make 100,000
/// events, or changes of an exec, whose traces take gigabytes; what one makes depends on which of two threads is first; and one has
/// streams that never end, because a host function ended its thread: to clean up at the end would wait for them.
const LEFT_OUT: &[&str] = &[
    "fuzz/fuzz",
    "fuzz/graphs",
    "fuzz/threads",
    "graphs/often",
    "graphs/raced",
    "graphs/vanishing",
    "objects/bounds",
    "objects/pthread_exit",
];

/// Programs that may leave things behind: the first two let go of them while the process exits, when the driver has ended and
/// the trace is closed; the others make them by the driver's own functions, and they are theirs to release.
const MAY_LEAVE: &[&str] = &[
    "objects/exit",
    "objects/main_ended",
    "graphs/exit",
    "graphs/keeping",
    "examples/porting/after.c",
    "examples/raw.c",
];

/// Programs that make the same calls again and again; in them, so many calls of each driver function are enough. The first
/// calls every function dozens of times, and `softcuda/every_fault.c` has every call of every function fail; the second
/// makes a few calls thousands of times, in another order each time; the third each kind of call beside ten captures; the fourth
/// one kind thousands of times.
const REPETITIVE: &[(&str, usize)] =
    &[("sweep/sweep", 4), ("objects/threads", 2), ("graphs/beside", 2), ("graphs/many", 2)];

/// The folder of programs that take long, and those of them that the short form tries: most calls are the same in all.
const GRAPHS: &str = "graphs/";
const SHORT_GRAPHS: &[&str] = &["graphs/builders", "graphs/conditionals", "graphs/moving"];

/// Examples that run by themselves.
const EXAMPLES: &[&str] = &[
    "examples/buffers.c",
    "examples/graphs/bisection.c",
    "examples/graphs/heat.c",
    "examples/graphs/switch.c",
    "examples/managed.c",
    "examples/ordered.c",
    "examples/porting/after.c",
    "examples/raw.c",
    "examples/saxpy.c",
];

/// What one run writes: the calls of the driver, the memory that the program itself has to free, and the library's log.
struct Files {
    trace: PathBuf,
    lent: PathBuf,
    log: PathBuf,
}

impl Files {
    fn remove(&self) {
        for file in [&self.trace, &self.lent, &self.log] {
            // The program may not have come to write it.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The programs, and what is made in sweeping them.
pub struct Sweep {
    folder: TempDir,
    runs: AtomicUsize,
}

impl Sweep {
    /// Makes the folder.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, runs: AtomicUsize::new(0) }
    }

    /// How many times a program has run.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// Every program with the calls that it makes; only those that are named, if any are: `graphs/execs`, or of its calls those of one
    /// function, `graphs/execs:cuEventCreate`.
    ///
    /// # Errors
    /// If one cannot be compiled, or run.
    pub fn pairs(&self, extent: Extent, only: &[String]) -> Result<Vec<Pair>, String> {
        let mut pairs = Vec::new();
        let named = |wanted: &str| wanted.split_once(':').map_or(wanted, |(program, _)| program).to_owned();
        let is_wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| named(wanted) == name);
        for name in swept(extent).filter(|name| is_wanted(name)) {
            pairs.extend(self.pairs_of(&name, Build::new(&name), extent)?);
        }
        for source in EXAMPLES.iter().filter(|source| is_wanted(source)) {
            let build = Build::of(&repository(source));
            pairs.extend(self.pairs_of(source, build, extent)?);
        }
        pairs.retain(|pair| only.is_empty() || only.iter().any(|wanted| pair.is_of(wanted)));
        if extent == Extent::Short {
            keep_shortest_programs(&mut pairs);
        }
        Ok(pairs)
    }

    fn pairs_of(&self, program: &str, build: Build, extent: Extent) -> Result<Vec<Pair>, String> {
        let build = if lets_go(program) {
            CLAIMING.iter().fold(build, |build, option| build.option(*option))
        } else {
            build
        };
        let path = build.program()?;
        let files = self.files();
        run(&path, &files, "").output()?;
        let left = left_behind(program, &files)?;
        if !left.is_empty() {
            return Err(format!("{program} with nothing failing: never released: {}", left.join(", ")));
        }
        let fewer = REPETITIVE.iter().find(|(name, _)| *name == program).map(|(_, most)| *most);
        let most = match extent {
            Extent::Short => usize::from(fewer.is_none()),
            Extent::Whole => fewer.unwrap_or(REPEATED),
        };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for call in read(&files.trace, |_| true)? {
            *counts.entry(text(&call, "function").to_owned()).or_default() += 1;
        }
        let calls = counts.values().sum();
        let ordinals = counts.into_iter().flat_map(|(function, count)| {
            // Each program asks for the same functions in the same way.
            let most = if function.starts_with("cuGetProcAddress") { most.min(2) } else { most };
            (1..=count.min(most)).map(move |ordinal| (function.clone(), ordinal))
        });
        let pairs = ordinals.flat_map(|(function, ordinal)| {
            [Fault::Alone, Fault::Lost].map(|fault| Pair {
                program: program.to_owned(),
                path: path.clone(),
                function: function.clone(),
                ordinal,
                fault,
                calls,
            })
        });
        Ok(pairs.collect())
    }

    /// Runs the program with its call failing.
    ///
    /// A thread that is inside a call when the process ends still owes what others left it to release. That depends on
    /// luck, so only what is left each time is left.
    ///
    /// # Errors
    /// If it crashes, hangs or leaves something behind.
    pub fn attempt(&self, pair: &Pair) -> Result<(), String> {
        let mut left = Vec::new();
        for attempt in 0..ATTEMPTS {
            left = self.left_by(pair, attempt > 0)?;
            if left.is_empty() {
                return Ok(());
            }
        }
        Err(format!("{pair}: never released: {}", left.join(", ")))
    }

    fn left_by(&self, pair: &Pair, is_again: bool) -> Result<Vec<String>, String> {
        let code = match pair.fault {
            Fault::Alone => "2",
            Fault::Lost => "700/sticky",
        };
        let files = self.files();
        let fault = format!("{}#{}={code}", pair.function, pair.ordinal);
        let run = run(&pair.path, &files, &fault);
        // With more patience, which would take hours for all.
        let run = if is_again { run.env("FAULT_SWEEP_AGAIN", "1") } else { run };
        let ended = match run.ends_within(if is_again { LIMIT_AGAIN } else { LIMIT }) {
            Ok(ended) => ended,
            Err(_) if !is_again => {
                files.remove();
                return self.left_by(pair, true);
            }
            Err(why) => return Err(format!("{pair}: {why}")),
        };
        if ended.code().is_none() {
            return Err(format!("{pair}: {ended}"));
        }
        let left = left_behind(&pair.program, &files);
        files.remove();
        left
    }

    fn files(&self) -> Files {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let file = |name| self.folder.path().join(format!("{name}-{number}"));
        Files { trace: file("trace"), lent: file("lent"), log: file("log") }
    }
}

impl Default for Sweep {
    fn default() -> Self {
        Self::new()
    }
}

/// Leaves of each function and fault the pair in the program that makes the fewest calls.
fn keep_shortest_programs(pairs: &mut Vec<Pair>) {
    pairs.sort_by_key(|pair| pair.calls);
    let mut seen: HashSet<(String, Fault)> = HashSet::new();
    pairs.retain(|pair| seen.insert((pair.function.clone(), pair.fault)));
}

/// The programs of `c/` that are tried.
fn swept(extent: Extent) -> impl Iterator<Item = String> {
    let is_short = |name: &str| !name.starts_with(GRAPHS) || SHORT_GRAPHS.contains(&name);
    let is_tried = move |name: &String| {
        !LEFT_OUT.contains(&name.as_str()) && (extent == Extent::Whole || is_short(name))
    };
    on_any_driver().into_iter().filter(is_tried)
}

/// Whether it makes objects, and lets go of all of them.
fn lets_go(program: &str) -> bool {
    !MAY_LEAVE.contains(&program) && uses_objects(program)
}

fn run(program: &Path, files: &Files, fault: &str) -> Run {
    let run = Run::new(program, Driver::Shell(ONE_VERSION)).env("SOFTCUDA_FAULT", fault);
    let run = run.env("CUSHIM_LOG", "warn").errors(&files.log);
    run.env("SOFTCUDA_TRACE", &files.trace).env("FAULT_SWEEP_LENT", &files.lent)
}

fn left_behind(program: &str, files: &Files) -> Result<Vec<String>, String> {
    if !lets_go(program) {
        return Ok(Vec::new());
    }
    let lent = std::fs::read_to_string(&files.lent).unwrap_or_default();
    let log = std::fs::read(&files.log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let excused: Vec<&str> = lent.lines().chain(leaks_told(&log)).collect();
    // Most of the calls look functions up, and make nothing; to read them all takes longer than the program did.
    let may_make = |line: &str| !line.contains("\"function\":\"cuGetProcAddress");
    Ok(left::left(&read(&files.trace, may_make)?, &excused))
}

/// The memory that could not be freed, and the execs that could not be destroyed, of which the log says so.
fn leaks_told(log: &str) -> impl Iterator<Item = &str> {
    let told = |(end, _): (usize, &str)| log[..end].trim_end_matches(" and what it has").rsplit(' ').next();
    log.match_indices(" are leaked").filter_map(told)
}

/// The calls of a trace whose lines are wanted, those of the process that began it; none if there is no file, because no
/// call was made.
fn read(trace: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Value>, String> {
    let Ok(written) = std::fs::read_to_string(trace) else { return Ok(Vec::new()) };
    let parse = |line: &str| line.parse().map_err(|error| format!("{line}: {error}"));
    let calls: Vec<Value> =
        written.lines().filter(|line| is_wanted(line)).map(parse).collect::<Result<_, _>>()?;
    let process = calls.first().map(|call| call["process"].clone());
    Ok(calls.into_iter().filter(|call| Some(&call["process"]) == process.as_ref()).collect())
}
