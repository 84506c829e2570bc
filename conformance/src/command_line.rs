//! The command line.

use crate::process::{self, PART_OPTION};
use crate::sections::{SECTIONS, Section};
use crate::{expectation, waiver};
use cushim::driver::{Choice, Driver, Kind, OpenOptions};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

const HELP: &str = "\
Asks a CUDA driver what it answers in many situations, and prints a transcript.

usage: conformance [options]

  --driver auto       the NVIDIA driver of this machine
  --driver software   softcuda, the driver in software
  --driver PATH       this library and no other
  --section NAME      only this section (may be given several times)
  --compare           then compare with what is known of drivers of this version, and fail if anything differs; where
                      softcuda differs on purpose does not count, nor what it does not answer yet
  --strictly          with --compare: what softcuda does not answer yet counts, too
  --learn TRANSCRIPT  print what is known of driver 580, with the answers of its newer TRANSCRIPT where there was none;
                      complain about answers that differ
  --list              the names of the sections
  --help, -h          this text

Without --driver: what CUSHIM_DRIVER says, else the NVIDIA driver of this machine.

Every part of a section runs in a process of its own. A crash of the driver is an answer: `!! killed by signal 11`. The
device is used lightly: little memory, small kernels, no settings; some kernels break their own context on purpose.

Exit codes:
   0  the transcript is complete; with --compare, nothing differs
   1  with --compare: something differs, or nothing is known of drivers of this version; with --learn: something differs
   2  the command line makes no sense, or a file cannot be read
  10  the driver cannot be opened
";

const DIFFERS: u8 = 1;
const USAGE: u8 = 2;
const NO_DRIVER: u8 = 10;

#[derive(Default)]
struct Args {
    driver: Option<OsString>,
    sections: Vec<&'static Section>,
    compare: bool,
    /// Whether what softcuda does not answer yet counts.
    strictly: bool,
    part: Option<Part>,
}

/// A part of a section, and how many of its questions or stories are left out.
struct Part {
    section: &'static Section,
    number: usize,
    left_out: usize,
}

enum Command {
    Help,
    List,
    Learn(OsString),
    Run(Args),
}

/// Does what the command line asks for.
pub(crate) fn run() -> ExitCode {
    match parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => print(HELP),
        Ok(Command::List) => {
            print(&SECTIONS.iter().map(|section| format!("{}\n", section.name)).collect::<String>())
        }
        Ok(Command::Learn(path)) => learn(&path),
        Ok(Command::Run(args)) => ask(&args),
        Err(complaint) => fail(USAGE, &format!("{complaint}\nTry --help for the options.")),
    }
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut args = Args::default();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{} needs a value", argument.display()));
        match argument.to_str() {
            Some("--driver") => args.driver = Some(value()?),
            Some("--section") => args.sections.push(section(&value()?.to_string_lossy())?),
            Some(PART_OPTION) => args.part = Some(part(&value()?.to_string_lossy())?),
            Some("--compare") => args.compare = true,
            Some("--strictly") => args.strictly = true,
            Some("--learn") => return Ok(Command::Learn(value()?)),
            Some("--list") => return Ok(Command::List),
            Some("--help" | "-h") => return Ok(Command::Help),
            _ => return Err(format!("{} is no option", argument.display())),
        }
    }
    if args.sections.is_empty() {
        args.sections = SECTIONS.to_vec();
    }
    Ok(Command::Run(args))
}

fn section(name: &str) -> Result<&'static Section, String> {
    let known = SECTIONS.iter().copied().find(|section| section.name == name);
    known.ok_or_else(|| format!("there is no section {name}; --list tells which there are"))
}

fn part(text: &str) -> Result<Part, String> {
    let words: Vec<&str> = text.split(':').collect();
    let [name, number, left_out] = words[..] else {
        return Err("a part is NAME:NUMBER:LEFT-OUT".to_owned());
    };
    let section = section(name)?;
    let number = number.parse().ok().filter(|&number| number < section.parts);
    let number = number.ok_or_else(|| format!("{name} has {} parts", section.parts))?;
    let left_out =
        left_out.parse().map_err(|_| format!("{left_out} is no number of questions or stories"))?;
    Ok(Part { section, number, left_out })
}

fn ask(args: &Args) -> ExitCode {
    let options = args
        .driver
        .as_ref()
        .map_or(OpenOptions::new(), |driver| OpenOptions::new().choice(Choice::from(driver.as_os_str())));
    let driver = match options.open() {
        Ok(driver) => driver,
        Err(error) => return fail(NO_DRIVER, &error.to_string()),
    };
    let Some(version) = driver.version() else {
        return fail(NO_DRIVER, "there is no driver to ask: `none` was chosen");
    };
    match &args.part {
        Some(Part { section, number, left_out }) => {
            section.run_part(*number, *left_out, driver.table(), version);
            ExitCode::SUCCESS
        }
        None => run_sections(args, &driver),
    }
}

fn run_sections(args: &Args, driver: &Driver) -> ExitCode {
    let choice: Vec<OsString> =
        args.driver.iter().flat_map(|driver| ["--driver".into(), driver.clone()]).collect();
    let version = driver.version().map(|version| version.to_string()).unwrap_or_default();
    print(&format!("# Answers of a {} driver for CUDA {version}\n", driver.kind()));
    let mut transcript = String::new();
    let ran = process::transcript(&args.sections, &choice, |piece| {
        print(piece);
        transcript += piece;
    });
    if let Err(error) = ran {
        return fail(NO_DRIVER, &format!("a part of the suite cannot be run: {error}"));
    }
    if args.compare { compare(driver, &transcript, args.strictly) } else { ExitCode::SUCCESS }
}

fn compare(driver: &Driver, transcript: &str, strictly: bool) -> ExitCode {
    let Some(expected) = driver.version().and_then(expectation::of_version) else {
        return fail(DIFFERS, "nothing is known of drivers for this version of CUDA");
    };
    let mut waivers = if driver.kind() == Kind::Software { waiver::of_softcuda() } else { Vec::new() };
    if driver.kind() == Kind::Software && !strictly {
        waivers.extend(waiver::not_yet());
    }
    let complaints = waiver::complaints(expected, &waivers, transcript);
    let mut text: String = complaints.iter().map(|complaint| format!("# {complaint}\n")).collect();
    text += &format!("# {} complaints\n", complaints.len());
    print(&text);
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERS) }
}

fn learn(path: &OsString) -> ExitCode {
    let transcript = match std::fs::read_to_string(path) {
        Ok(transcript) => transcript,
        Err(error) => return fail(USAGE, &format!("{}: {error}", path.display())),
    };
    print(&expectation::learn(expectation::DRIVER_580, &transcript));
    let both = |difference: &&expectation::Difference| difference.expected.is_some();
    let differences = expectation::compare(expectation::DRIVER_580, &transcript);
    let complaints: Vec<String> = differences.iter().filter(both).map(ToString::to_string).collect();
    if complaints.is_empty() { ExitCode::SUCCESS } else { fail(DIFFERS, &complaints.join("\n")) }
}

/// Writes the text, also if the reader wanted the beginning only.
fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    ExitCode::SUCCESS
}

fn fail(code: u8, complaint: &str) -> ExitCode {
    // Nothing is left to be done for whoever closed the error stream.
    let _ = writeln!(io::stderr(), "conformance: {complaint}");
    ExitCode::from(code)
}
