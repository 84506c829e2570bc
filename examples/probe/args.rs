//! The command line.

use cushim::driver::{Choice, Version};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Version,
    Help,
    Probe(Args),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Args {
    /// Write JSON.
    pub(crate) json: bool,
    /// List every ABI, not only counts.
    pub(crate) symbols: bool,
    /// For a bug report: all that matters, ready to be pasted.
    pub(crate) report: bool,
    /// Resolve only.
    pub(crate) no_init: bool,
    /// The driver that the command line names.
    pub(crate) driver: Option<Choice>,
    /// The oldest version that will do.
    pub(crate) require: Option<Version>,
    /// A program or library, of which the report says what it wants of the driver.
    pub(crate) program: Option<PathBuf>,
}

pub(crate) const HELP: &str = "\
Says which CUDA driver a program gets on this machine, what that driver offers, and whether it works.

usage: PROGRAM [options]

  --driver auto       the NVIDIA driver of this machine
  --driver software   softcuda, the driver in software
  --software          the same
  --driver PATH       this library and no other
  --require X.Y       fail unless the driver is for CUDA X.Y or newer (checked before the driver is initialised)
  --program FILE      what this program or library wants of a driver: the functions that it imports or names, from which CUDA
                      version on there are all of them, and whether the driver here has them
  --no-init           resolve only: cuInit is never called, nothing runs on a device
  --symbols           list every ABI of every function instead of counts
  --report            what a bug report needs, ready to be pasted: also this process, its limits, and the files of drivers,
                      without secrets and the name of the home directory; with --json, as JSON
  --json              write JSON (which always lists every ABI) and nothing else
  --version           which version this is
  --help, -h          this text

Which driver: --driver, else the environment variable CUSHIM_DRIVER (auto, software, none or a path), else the NVIDIA
driver of this machine. A driver that cannot be had is an error.

One exception, where it is run from the sources and called probe: on a machine that has no libcuda at all the report
says so, and then the self-check runs on softcuda, so that something is proven; the exit code is that of the self-check.
cushim-probe, which is installed, answers for the machine, and so does either with --driver, --software, --require or
--no-init, or with CUSHIM_DRIVER.

Exit codes:
   0  all is well, as far as it was asked for
   2  the command line makes no sense, or --program names a file that is no program
  10  no usable libcuda: none was found, or what was found or named cannot be opened
  11  only a stub was found, which the CUDA toolkit has for linking
  12  the driver is there and sees no device
  13  the driver cannot be initialised
  14  the driver is older than --require (one that is not there is 10)
  15  the self-check failed
  16  the driver library does not fit the kernel module or the device (results 803 and 804)
  17  the driver lacks functions that --program needs (a driver that is not there is 10)
";

/// Reads the arguments after the program's name, or says what is wrong with them.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let mut args = Args::default();
    while let Some(argument) = arguments.next() {
        let (name, attached) = split(&argument);
        match name.as_str() {
            "--driver" => {
                let value = value(&name, attached, &mut arguments)?;
                set(&mut args.driver, &name, Choice::from(value.as_os_str()))?;
            }
            "--require" => {
                let value = value(&name, attached, &mut arguments)?;
                set(&mut args.require, &name, version(&value.to_string_lossy())?)?;
            }
            "--program" => {
                let value = value(&name, attached, &mut arguments)?;
                set(&mut args.program, &name, value.into())?;
            }
            "--json" | "--report" | "--symbols" | "--no-init" | "--software" | "--version" | "--help"
                if attached.is_some() =>
            {
                return Err(format!("{name} takes no value"));
            }
            "--software" => set(&mut args.driver, &name, Choice::Software)?,
            "--json" => args.json = true,
            "--report" => args.report = true,
            "--symbols" => args.symbols = true,
            "--no-init" => args.no_init = true,
            "--version" => return Ok(Command::Version),
            "--help" | "-h" => return Ok(Command::Help),
            _ => return Err(format!("{} is no option", argument.display())),
        }
    }
    Ok(Command::Probe(args))
}

/// `--name=value` as its two parts; anything else is a name only.
fn split(argument: &OsStr) -> (String, Option<OsString>) {
    match argument.to_str().filter(|text| text.starts_with("--")).and_then(|text| text.split_once('=')) {
        Some((name, value)) => (name.to_owned(), Some(value.into())),
        None => (argument.to_string_lossy().into_owned(), None),
    }
}

fn value(
    name: &str,
    attached: Option<OsString>,
    rest: &mut impl Iterator<Item = OsString>,
) -> Result<OsString, String> {
    let value = attached.or_else(|| rest.next());
    value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{name} needs a value"))
}

fn set<T>(place: &mut Option<T>, name: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{name} is given twice, or beside one that means the same")),
    }
}

/// `12.8` or `12`. A larger major number is that of a driver release, or 1000 × major + 10 × minor.
fn version(text: &str) -> Result<Version, String> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    match (small_number(major), small_number(minor)) {
        (Some(major), Some(minor)) => Ok(Version::from_number(1000 * major + 10 * minor)),
        _ => Err(format!("--require takes a CUDA version such as 12.8, not {text:?}")),
    }
}

fn small_number(text: &str) -> Option<u32> {
    let is_short = matches!(text.len(), 1..=2) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_short.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_are_read() {
        let Ok(Command::Probe(args)) = parse_text("--json --driver ./libcuda.so.1 --require=12.8 --no-init")
        else {
            panic!("a good command line is refused")
        };
        assert!(args.json && args.no_init && !args.symbols);
        assert_eq!(args.driver, Some(Choice::Path("./libcuda.so.1".into())));
        assert_eq!(args.require, Some(Version::from_number(12080)));
        assert_eq!(parse_text(""), Ok(Command::Probe(Args::default())));
        assert_eq!(parse_text("--symbols -h"), Ok(Command::Help));
        let software = Args { driver: Some(Choice::Software), ..Args::default() };
        assert_eq!(parse_text("--software"), Ok(Command::Probe(software)));
    }

    #[test]
    fn versions() {
        for (text, number) in [("12.8", 12080), ("13", 13000), ("11.0", 11000)] {
            assert_eq!(version(text), Ok(Version::from_number(number)), "{text}");
        }
        for text in ["", ".", "12.", ".8", "12.8.1", "535.104", "12080", "+1.2", "x", "12.x", "-1.0", "1 2"] {
            assert!(version(text).is_err(), "{text:?} passes for a version");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("--driver", "--driver needs a value"),
            ("--driver=", "--driver needs a value"),
            ("--driver a --driver b", "--driver is given twice"),
            ("--require 12.8 --require 12.8", "--require is given twice"),
            ("--require twelve", "such as 12.8"),
            ("--software --driver auto", "--driver is given twice, or beside one that means the same"),
            ("--program", "--program needs a value"),
            ("--program a --program b", "--program is given twice"),
            ("--json=yes", "--json takes no value"),
            ("--verbose", "--verbose is no option"),
            ("libcuda.so.1", "libcuda.so.1 is no option"),
        ] {
            let complaint = parse_text(line).expect_err(line);
            assert!(complaint.contains(part), "{line}: {complaint}");
        }
    }
}
