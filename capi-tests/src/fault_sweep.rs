//! Runs programs with each of their driver calls failing in turn: none may crash, hang, or keep what it no longer holds.
//!
//! A program runs once on softcuda with a trace, which tells its calls, and then once for each call and each [`Fault`].
//! Checks of the program may fail then. Because a program whose checks fail may skip its own cleaning up, those of the objects
//! are compiled with `claims.inc`, which destroys at the end what the program still holds; after that the trace of the run must show for
//! every stream, event and context that was made an attempt to release it.

use crate::build::Build;
use crate::interface::{self, list, text};
use crate::libraries::Workshop;
use crate::matrix::ONE_VERSION;
use crate::programs::{ON_ANY_DRIVER, workshop};
use crate::repository;
use crate::run::{Driver, Run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Alone, for want of memory.
    Alone,
    /// In such a way that the context is lost.
    Lost,
}

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The first call of each function in each program but the longest.
    Short,
    /// The first calls of each function in each program, twelve of them; of the longest program four.
    Whole,
}

/// A program with a call that is to fail in it.
pub struct Pair {
    program: &'static str,
    path: PathBuf,
    function: String,
    ordinal: usize,
    fault: Fault,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, function, ordinal, fault, .. } = self;
        write!(f, "{program} with {function}#{ordinal} failing ({fault:?})")
    }
}

/// Longer than any program takes.
const LIMIT: Duration = Duration::from_secs(30);

/// So many calls of one function in one program are enough.
const REPEATED: usize = 12;

/// How often a program that left something behind is tried.
const ATTEMPTS: usize = 4;

/// Programs that are left out: the first cleans up after the end, when the trace is closed; the fuzzer takes every answer
/// that its model does not foresee for a failure; and the last makes a few calls thousands of times, in another order each
/// time.
const LEFT_OUT: &[&str] = &["objects_exit", "objects_fuzz", "objects_threads"];

/// The program that calls every function dozens of times; in it, so many calls of each driver function are enough.
/// `objects_every_fault.c` has every call of every function fail.
const REPETITIVE: (&str, usize) = ("objects_sweep", 4);

/// Examples that run by themselves.
const EXAMPLES: &[&str] = &[
    "examples/buffers.c",
    "examples/managed.c",
    "examples/ordered.c",
    "examples/porting/after.c",
    "examples/raw.c",
    "examples/saxpy.c",
];

/// The programs, and what is made in sweeping them.
pub struct Sweep {
    workshop: Workshop,
    traces: AtomicUsize,
}

impl Sweep {
    /// Makes the folder.
    #[must_use]
    pub fn new() -> Self {
        let workshop = workshop();
        workshop.write("claims.inc", &claims(&interface::read()));
        Self { workshop, traces: AtomicUsize::new(0) }
    }

    /// Every program with the calls that it makes.
    ///
    /// # Errors
    /// If one cannot be compiled, or run.
    pub fn pairs(&self, extent: Extent) -> Result<Vec<Pair>, String> {
        let programs = ON_ANY_DRIVER.iter().filter(|name| !LEFT_OUT.contains(name));
        let mut pairs = Vec::new();
        for name in programs {
            let build = Build::new(&self.workshop, &format!("{name}.c"));
            pairs.extend(self.pairs_of(name, build, extent)?);
        }
        for source in EXAMPLES {
            let build = Build::of(&self.workshop, &repository(source));
            pairs.extend(self.pairs_of(source, build, extent)?);
        }
        Ok(pairs)
    }

    fn pairs_of(&self, program: &'static str, build: Build<'_>, extent: Extent) -> Result<Vec<Pair>, String> {
        let build = if uses_objects(program) { build.option("-include").option("claims.inc") } else { build };
        let path = build.program(&program.replace('/', "-"))?;
        let trace = self.trace();
        run(&path, &trace, "").output()?;
        let calls = read(&trace)?;
        let left = if uses_objects(program) { left(&calls) } else { Vec::new() };
        if !left.is_empty() {
            return Err(format!("{program} with nothing failing: never released: {}", left.join(", ")));
        }
        let most = match extent {
            Extent::Short => usize::from(program != REPETITIVE.0),
            Extent::Whole if program == REPETITIVE.0 => REPETITIVE.1,
            Extent::Whole => REPEATED,
        };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for call in calls {
            *counts.entry(text(&call, "function").to_owned()).or_default() += 1;
        }
        let ordinals = counts.into_iter().flat_map(|(function, count)| {
            // Each program asks for the same functions in the same way.
            let most = if function.starts_with("cuGetProcAddress") { most.min(2) } else { most };
            (1..=count.min(most)).map(move |ordinal| (function.clone(), ordinal))
        });
        let pairs = ordinals.flat_map(|(function, ordinal)| {
            [Fault::Alone, Fault::Lost].map(|fault| Pair {
                program,
                path: path.clone(),
                function: function.clone(),
                ordinal,
                fault,
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
        for _ in 0..ATTEMPTS {
            left = self.left_by(pair)?;
            if left.is_empty() {
                return Ok(());
            }
        }
        Err(format!("{pair}: never released: {}", left.join(", ")))
    }

    fn left_by(&self, pair: &Pair) -> Result<Vec<String>, String> {
        let code = match pair.fault {
            Fault::Alone => "2",
            Fault::Lost => "700/sticky",
        };
        let trace = self.trace();
        let fault = format!("{}#{}={code}", pair.function, pair.ordinal);
        let ended = run(&pair.path, &trace, &fault).ends_within(LIMIT);
        let ended = ended.map_err(|why| format!("{pair}: {why}"))?;
        if ended.code().is_none() {
            return Err(format!("{pair}: {ended}"));
        }
        let left = if uses_objects(pair.program) { left(&read(&trace)?) } else { Vec::new() };
        let _ = std::fs::remove_file(&trace);
        Ok(left)
    }

    fn trace(&self) -> PathBuf {
        let number = self.traces.fetch_add(1, Ordering::Relaxed);
        self.workshop.path().join(format!("trace-{number}"))
    }
}

impl Default for Sweep {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether it makes objects. What the others make, by the driver's own functions, is theirs to release.
fn uses_objects(program: &str) -> bool {
    program.starts_with("objects_") || ["examples/managed.c", "examples/ordered.c"].contains(&program)
}

fn run(program: &Path, trace: &Path, fault: &str) -> Run {
    Run::new(program, Driver::Shell(ONE_VERSION)).env("SOFTCUDA_TRACE", trace).env("SOFTCUDA_FAULT", fault)
}

/// The calls of a trace, those of the process that began it; none if there is no file, because no call was made.
fn read(trace: &Path) -> Result<Vec<Value>, String> {
    let Ok(written) = std::fs::read_to_string(trace) else { return Ok(Vec::new()) };
    let parse = |line: &str| serde_json::from_str(line).map_err(|error| format!("{line}: {error}"));
    let calls: Vec<Value> = written.lines().map(parse).collect::<Result<_, _>>()?;
    let process = calls.first().map(|call| call["process"].clone());
    Ok(calls.into_iter().filter(|call| Some(&call["process"]) == process.as_ref()).collect())
}

/// What was made and never released, nor tried to be.
fn left(calls: &[Value]) -> Vec<String> {
    let mut held: Vec<String> = Vec::new();
    for call in calls {
        let function = text(call, "function");
        let made = call["made"].as_str().filter(|_| call["result"] == 0);
        match made {
            Some(made) if makes(function) => held.push(name(function, made)),
            _ => {}
        }
        if function.starts_with("cuDevicePrimaryCtxReset") {
            // What was in it is gone, and nothing in a trace tells what that is.
            held.retain(|held| !held.starts_with("Stream") && !held.starts_with("Event"));
        }
        if let Some(ended) = ended(call, function) {
            held.iter().position(|held| *held == ended).map(|at| held.remove(at));
        }
    }
    held
}

fn makes(function: &str) -> bool {
    ["cuStreamCreate", "cuEventCreate", "cuCtxCreate", "cuDevicePrimaryCtxRetain"]
        .iter()
        .any(|prefix| function.starts_with(prefix))
}

/// An object by its kind and handle. Primary contexts of a device are all one.
fn name(function: &str, handle: &str) -> String {
    let kind =
        function.trim_start_matches("cu").split_once(['C', 'D', 'P']).map_or(function, |(kind, _)| kind);
    match function.contains("PrimaryCtx") {
        true => "primary context".to_owned(),
        false if function.starts_with("cuCtx") => format!("context {handle}"),
        false => format!("{kind} {handle}"),
    }
}

/// What a call releases, if it is one that does.
fn ended(call: &Value, function: &str) -> Option<String> {
    if function.starts_with("cuDevicePrimaryCtxRelease") {
        return Some("primary context".to_owned());
    }
    let releases = ["cuStreamDestroy", "cuEventDestroy", "cuCtxDestroy"];
    releases.iter().find(|prefix| function.starts_with(**prefix))?;
    let handle = call["arguments"].as_object()?.values().next()?.as_str()?;
    Some(name(function, handle))
}

/// `claims.inc`: included before everything else, it notes each claim and at the end of the program destroys those that are
/// left. It takes the place of the recorder, which defines the same names.
fn claims(interface: &Value) -> String {
    let mut out = String::from(CLAIMS);
    for handle in list(interface, "handles") {
        let kind = text(handle, "kind");
        let destroy = format!("cushim_{kind}_destroy((cushim_{kind})handle)");
        line(&mut out, &format!("  if (kind == '{}') {destroy};", letter(interface, kind)));
    }
    out.push_str("}\n");
    list(interface, "functions").iter().for_each(|function| write_wrapper(interface, function, &mut out));
    out
}

fn line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("a text grows");
}

/// A character for each kind.
fn letter(interface: &Value, kind: &str) -> char {
    let at = list(interface, "handles").iter().position(|handle| handle["kind"] == kind);
    char::from(b'a' + u8::try_from(at.expect("a kind of the interface")).expect("there are few"))
}

fn write_wrapper(interface: &Value, function: &Value, out: &mut String) {
    let (name, parameters) = (text(function, "name"), list(function, "parameters"));
    let role = |role: &str| parameters.iter().position(|parameter| parameter["role"] == role);
    let declared: Vec<String> = parameters
        .iter()
        .enumerate()
        .map(|(index, parameter)| format!("{} a{index}", text(parameter, "type")))
        .collect();
    let given: Vec<String> = (0..parameters.len()).map(|index| format!("a{index}")).collect();
    let after = match (role("claim"), role("ended")) {
        (Some(at), _) => {
            let kind = letter(interface, text(&parameters[at], "kind"));
            format!("if (status == 0 && a{at} != NULL) claim_begins('{kind}', (void *)*a{at});")
        }
        (_, Some(at)) => format!("if (!claim_is_kept(status)) claim_ends((void *)a{at});"),
        _ => return,
    };
    let (declared, given) = (declared.join(", "), given.join(", "));
    line(out, &format!("static inline cushim_status claiming_{name}({declared}) {{"));
    line(out, &format!("  cushim_status status = {name}({given});\n  {after}\n  return status;\n}}"));
    line(out, &format!("#define {name}(...) claiming_{name}(__VA_ARGS__)"));
}

const CLAIMS: &str = "\
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define RECORDER_H
#include <cushim.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_CLAIMS_NOTED = 4096 };
static struct { char kind; void *handle; } claims_noted[MOST_CLAIMS_NOTED];
static pthread_mutex_t claims_lock = PTHREAD_MUTEX_INITIALIZER;
static int claims_are_noted;
static void end_claims(void);

static inline void claim_begins(char kind, void *handle) {
  int i = 0;
  pthread_mutex_lock(&claims_lock);
  if (!claims_are_noted) {
    claims_are_noted = 1;
    atexit(end_claims);
  }
  while (i < MOST_CLAIMS_NOTED - 1 && claims_noted[i].handle != NULL) i++;
  claims_noted[i].kind = kind;
  claims_noted[i].handle = handle;
  pthread_mutex_unlock(&claims_lock);
}

static inline void claim_ends(void *handle) {
  int i;
  pthread_mutex_lock(&claims_lock);
  for (i = 0; handle != NULL && i < MOST_CLAIMS_NOTED; i++) {
    if (claims_noted[i].handle == handle) claims_noted[i].handle = NULL;
  }
  pthread_mutex_unlock(&claims_lock);
}

/* Whether a destroy said no, and the claim is what it was. */
static inline int claim_is_kept(cushim_status status) {
  return status == CUSHIM_ERROR_INVALID_HANDLE || status == CUSHIM_ERROR_INVALID_ARGUMENT ||
         status == CUSHIM_ERROR_STREAM_REQUIRED;
}

static void end_claim(char kind, void *handle);

static void end_claims(void) {
  int32_t done;
  int i;
  for (i = 0; i < MOST_CLAIMS_NOTED; i++) {
    if (claims_noted[i].handle != NULL) end_claim(claims_noted[i].kind, claims_noted[i].handle);
  }
  cushim_flush_callbacks(2000, &done);
}

static void end_claim(char kind, void *handle) {
";
