//! Conformance of CUDA drivers: situations that programs get into, and what the driver answers.
//!
//! The same calls run on softcuda and on a real GPU. What comes out is a *transcript*: sections of lines, each with a
//! situation and an answer, the same for every run on the same driver, so that two transcripts can be compared. What
//! the real drivers answered is kept in `expect/`, and there too where softcuda differs from them on purpose.
//!
//! - `command_line`: what can be asked for;
//! - `sections`: the situations, a file for each section;
//! - `driver`, `gate`: the driver's calls, and work that waits until it is let go;
//! - `code`: what is loaded into a driver, and how it is launched;
//! - `nodes`, `user_object`: what questions about graphs and about captures look at;
//! - `transcript`: how lines are written and read;
//! - `process`: a process for every part of a section, because a driver may crash;
//! - `expectation`, `waiver`: a driver's known answers, the differences from them, and those that are meant.

#[cfg(unix)]
mod code;
#[cfg(unix)]
mod command_line;
#[cfg(unix)]
mod driver;
#[cfg(unix)]
mod expectation;
#[cfg(unix)]
mod gate;
#[cfg(unix)]
mod nodes;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod sections;
#[cfg(unix)]
mod transcript;
#[cfg(unix)]
mod user_object;
#[cfg(unix)]
mod waiver;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    command_line::run()
}

#[cfg(not(unix))]
#[allow(clippy::print_stderr)] // it is what there is to say
fn main() -> std::process::ExitCode {
    eprintln!("conformance: runs on Linux only: it asks what is left of a driver after a fork or a signal");
    std::process::ExitCode::FAILURE
}
