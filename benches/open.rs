//! What opening a driver through cushim costs above loading libcuda and calling cuInit by hand.
//!
//! A driver is loaded once per process, so each sample is a process of its own, and the two ways take turns. Prints a
//! table; `--samples N` (default 15), `--driver PATH` (default libcuda.so.1).

#![allow(clippy::print_stdout, clippy::print_stderr)] // a command-line tool

use cushim::driver::OpenOptions;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Microseconds that a sample spent until the library was open, and in cuInit.
struct Sample {
    open: f64,
    init: f64,
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

fn with_cushim(driver: &str) -> Sample {
    let start = Instant::now();
    let driver = OpenOptions::new().path(driver).open().expect("the driver opens");
    let open = micros(start);
    let init = driver.table().cuInit_2000.expect("a driver has cuInit");
    let start = Instant::now();
    // SAFETY: cuInit may be called at any time.
    let _ = unsafe { init(0) };
    Sample { open, init: micros(start) }
}

fn by_hand(driver: &str) -> Sample {
    type Init = unsafe extern "C" fn(u32) -> i32;
    let start = Instant::now();
    // SAFETY: the caller named a library whose initialisers may run.
    let library = unsafe { libloading::Library::new(driver) }.expect("the driver opens");
    // SAFETY: this is the function's type.
    let init = unsafe { library.get::<Init>(b"cuInit\0") }.expect("a driver has cuInit");
    let open = micros(start);
    let start = Instant::now();
    // SAFETY: cuInit may be called at any time.
    let _ = unsafe { init(0) };
    let sample = Sample { open, init: micros(start) };
    std::mem::forget(library);
    sample
}

fn child(way: &str, driver: &str) -> Sample {
    let me = std::env::current_exe().expect("this program has a path");
    let out = Command::new(me).args(["--sample", way, driver]).output().expect("a child runs");
    let text = String::from_utf8_lossy(&out.stdout);
    let mut numbers = text.split_whitespace().map(|n| n.parse::<f64>().expect("a number"));
    let mut next = || numbers.next().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&out.stderr)));
    Sample { open: next(), init: next() }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|i| args.get(i + 1));
    if let [flag, way, driver] = args.as_slice()
        && flag == "--sample"
    {
        let sample = if way == "cushim" { with_cushim(driver) } else { by_hand(driver) };
        println!("{} {}", sample.open, sample.init);
        return ExitCode::SUCCESS;
    }
    let driver = value("--driver").map_or("libcuda.so.1", String::as_str);
    let samples: usize = value("--samples").map_or(Ok(15), |n| n.parse()).expect("--samples takes a number");
    // SAFETY: only whether it opens is asked.
    if let Err(error) = unsafe { libloading::Library::new(driver) } {
        println!("open: skipped, {error}");
        return ExitCode::SUCCESS;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        ours.push(child("cushim", driver));
        theirs.push(child("raw", driver));
    }
    println!("{driver}, median of {samples} processes each, taking turns, in µs");
    println!("{:<24}{:>10}{:>12}{:>12}", "", "load", "cuInit", "sum");
    for (name, list) in [("cushim", &ours), ("dlopen, dlsym", &theirs)] {
        let load = median(list.iter().map(|s| s.open).collect());
        let init = median(list.iter().map(|s| s.init).collect());
        println!("{name:<24}{load:>10.0}{init:>12.0}{:>12.0}", load + init);
    }
    let cost = |list: &[Sample]| median(list.iter().map(|s| s.open).collect());
    println!("cushim's own share: {:.0} µs", cost(&ours) - cost(&theirs));
    ExitCode::SUCCESS
}
