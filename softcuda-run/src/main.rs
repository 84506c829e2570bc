//! `softcuda-run COMMAND`: runs a command on softcuda, the CUDA driver in software, and changes nothing for others.
//!
//! - `arguments`: what the command line asks for;
//! - `libraries`: where softcuda is;
//! - `question`: what libsoftcuda makes of the settings, asked in a process of its own;
//! - `folder`: a folder with `libcuda.so.1`, which the loader finds and which goes at the end;
//! - `setting`: the variables of the command;
//! - `command`: the command, its signals and its end;
//! - `ptxas`: this program under that name, for the command;
//! - `nvcc`: NVIDIA's, made to call that;
//! - `doctor`: what was found on this machine, and what will not work here.
#![cfg(target_os = "linux")]

mod arguments;
mod command;
mod doctor;
mod folder;
mod libraries;
mod nvcc;
mod problem;
mod ptxas;
mod question;
mod setting;

use arguments::{Arguments, Task};
use libraries::Libraries;
use problem::Problem;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // This program, as the command calls it.
    let name = std::env::args_os().next().unwrap_or_default();
    if std::path::Path::new(&name).file_name() == Some(OsStr::new(ptxas::NAME)) {
        return ptxas::main(&words);
    }
    // This program, started by itself.
    if let [first, library] = &words[..]
        && first == question::WORD
    {
        return question::answer(library);
    }
    match arguments::read(words).and_then(perform) {
        Ok(code) => code,
        Err(problem) => problem.tell(),
    }
}

fn perform(task: Task) -> Result<ExitCode, Problem> {
    match task {
        Task::Help => print(arguments::HELP).map(|()| ExitCode::SUCCESS),
        Task::Version => {
            print(concat!("softcuda-run ", env!("CARGO_PKG_VERSION"), "\n")).map(|()| ExitCode::SUCCESS)
        }
        Task::Doctor { arguments, json } => doctor::examine(&arguments, json),
        Task::Run(arguments) => run(&arguments),
    }
}

fn print(text: &str) -> Result<(), Problem> {
    use std::io::Write as _;
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|error| Problem::failed(format!("the standard output takes no text: {error}")))
}

fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let libraries = Libraries::find()?;
    let settings = setting::of(&arguments.options)?;
    let driver = question::ask(&libraries.core, &settings)
        .map_err(|why| setting::in_words_of_options(why, &arguments.options))?;
    setting::has_its_checks(&arguments.options)?;
    let signals = command::block_signals();
    let folder = folder::Folder::new(&libraries, &driver.version)?;
    let variables = setting::for_command(settings, &libraries, &driver, &folder);
    let end = command::run(&arguments.command, &variables, &signals)?;
    drop(folder);
    Ok(end.pass_on())
}

/// A text of the system's as people read it.
fn shown(text: impl AsRef<OsStr>) -> String {
    text.as_ref().to_string_lossy().into_owned()
}
