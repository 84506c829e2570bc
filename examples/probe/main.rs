//! Tells the truth about the CUDA driver of this machine, or why there is none.
//!
//! `cargo run --example probe -- --help` lists the options. The parts:
//!
//! - `args`: the command line; `verdict`, `advice`: what it all comes to, and what to do;
//! - `host`, `kernel_module`, `environment`, `process`: what surrounds the driver;
//! - `subject`: one driver, opened and examined; `devices`, `operations`, `selfcheck`: the examinations;
//! - `program`, `elf`: what another program wants of the driver;
//! - `calls`: the only file that calls the driver;
//! - `report`: the same facts for people and for programs.

mod advice;
mod args;
mod calls;
mod devices;
mod elf;
mod environment;
mod host;
mod kernel_module;
mod operations;
mod process;
mod program;
mod report;
mod selfcheck;
mod subject;
mod verdict;

use args::{Args, Command};
use report::Report;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code for a command line that makes no sense, or names a file that is no program.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let program = program();
    match args::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => print(&args::HELP.replace("PROGRAM", &program), 0),
        Ok(Command::Version) => print(&format!("{program} {}\n", env!("CARGO_PKG_VERSION")), 0),
        Ok(Command::Probe(args)) => {
            let report = match Report::gather(&args, program == INSTALLED) {
                Ok(report) => report,
                Err(complaint) => return complain(&program, &complaint),
            };
            let text = match args {
                Args { json: true, .. } => report::json::render(&report),
                Args { report: true, .. } => report::human::render_to_paste(&report, args.symbols),
                _ => report::human::render(&report, args.symbols),
            };
            let text = if args.report { without_home(&text) } else { text };
            print(&text, report.verdict.exit_code)
        }
        Err(complaint) => complain(&program, &format!("{complaint}\nTry --help for the options.")),
    }
}

fn complain(program: &str, complaint: &str) -> ExitCode {
    // Nothing is left to be done for whoever closed the error stream.
    let _ = writeln!(io::stderr(), "{program}: {complaint}");
    ExitCode::from(USAGE)
}

/// What the program is called where it is installed.
const INSTALLED: &str = "cushim-probe";

/// What the program is called: [`INSTALLED`], or otherwise `probe`.
fn program() -> String {
    let path = std::env::args_os().next().map(PathBuf::from);
    let name = path.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "probe".to_owned())
}

/// The text without the name of the user, as paths have it.
fn without_home(text: &str) -> String {
    match std::env::var("HOME") {
        Ok(home) if home.len() > 1 => text.replace(&home, "~"),
        _ => text.to_owned(),
    }
}

/// Writes the report and ends with its exit code, also if the reader wanted the beginning only.
fn print(text: &str, exit_code: u8) -> ExitCode {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    ExitCode::from(exit_code)
}
