//! What opening a driver through cushim costs above loading libcuda and calling cuInit by hand.
//!
//! A driver is loaded once per process, so each sample is a process of its own. It loads the library by hand, which takes
//! far longer and varies by more than what is to be measured, then opens it through cushim, then calls cuInit. cushim's own
//! share is the third line less the second. Prints a table; `--samples N` (default 25), `--driver PATH` (default libcuda.so.1).

#![allow(clippy::print_stdout)] // a command-line tool

use cushim::driver::OpenOptions;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// What a process takes, in microseconds.
const STEPS: [&str; 4] = ["dlopen, by hand", "dlopen once more", "cushim: find, open, resolve", "cuInit"];

fn sample(driver: &str) -> [f64; 4] {
    let micros = |since: Instant| since.elapsed().as_secs_f64() * 1e6;
    let start = Instant::now();
    // SAFETY: the caller named a library whose initialisers may run.
    let library = unsafe { libloading::Library::new(driver) }.expect("the driver opens");
    let load = micros(start);
    // What cushim does first, and would not do twice in a program that only uses cushim.
    let start = Instant::now();
    // SAFETY: as above.
    let again = unsafe { libloading::Library::new(driver) }.expect("the driver is open");
    let load_again = micros(start);
    std::mem::forget([library, again]);

    let start = Instant::now();
    let driver = OpenOptions::new().path(driver).open().expect("the driver opens");
    let open = micros(start);

    let init = driver.table().cuInit_2000.expect("a driver has cuInit");
    let start = Instant::now();
    // SAFETY: cuInit may be called at any time. Its answer does not matter here.
    let _ = unsafe { init(0) };
    [load, load_again, open, micros(start)]
}

fn child(driver: &str) -> [f64; 4] {
    let me = std::env::current_exe().expect("this program has a path");
    let out = Command::new(me).args(["--sample", driver]).output().expect("a child runs");
    let text = String::from_utf8_lossy(&out.stdout);
    let mut numbers = text.split_whitespace().map(|n| n.parse().expect("a number"));
    std::array::from_fn(|_| {
        numbers.next().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&out.stderr)))
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|i| args.get(i + 1));
    if let Some(driver) = value("--sample") {
        println!("{}", sample(driver).map(|step| step.to_string()).join(" "));
        return ExitCode::SUCCESS;
    }
    let driver = value("--driver").map_or("libcuda.so.1", String::as_str);
    let samples: usize = value("--samples").map_or(Ok(25), |n| n.parse()).expect("--samples takes a number");
    // SAFETY: only whether it opens is asked.
    if let Err(error) = unsafe { libloading::Library::new(driver) } {
        println!("open: skipped, {error}");
        return ExitCode::SUCCESS;
    }
    let taken: Vec<[f64; 4]> = (0..samples).map(|_| child(driver)).collect();
    println!("{driver}, {samples} processes, µs");
    println!("{:<30}{:>10}{:>10}{:>10}", "", "least", "median", "most");
    for (step, name) in STEPS.iter().enumerate() {
        let column: Vec<f64> = taken.iter().map(|sample| sample[step]).collect();
        let (least, most) =
            (column.iter().copied().fold(f64::MAX, f64::min), column.iter().copied().fold(0.0, f64::max));
        println!("{name:<30}{least:>10.0}{:>10.0}{most:>10.0}", median(column));
    }
    ExitCode::SUCCESS
}
