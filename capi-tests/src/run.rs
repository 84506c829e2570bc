//! Runs programs on a driver.

use crate::build::{Build, Link};
use crate::libraries::library;
use crate::repository;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The driver that a program finds in its environment.
#[derive(Debug, Clone, Copy)]
pub enum Driver<'a> {
    /// softcuda as a driver of this version, with exactly that version's exports.
    Shell(&'a str),
    /// softcuda as a driver of this version, found as `CUSHIM_DRIVER=software` finds it.
    Software(&'a str),
    /// No driver.
    None,
    /// This value of `CUSHIM_DRIVER`.
    Value(&'a str),
    /// `CUSHIM_DRIVER` unset.
    Unset,
}

impl fmt::Display for Driver<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(version) => f.write_str(version),
            Self::Software(version) => write!(f, "software {version}"),
            Self::None => f.write_str("none"),
            Self::Value(value) => f.write_str(value),
            Self::Unset => f.write_str("whatever there is"),
        }
    }
}

/// An NVRTC as old as the oldest driver, whose sources are PTX.
fn nvrtc() -> &'static Path {
    static FAKE: LazyLock<PathBuf> =
        LazyLock::new(|| fake("nvrtc.c", &["-DVERSION=11040", "-DOLDEST_ONLY=0"]));
    &FAKE
}

/// An nvJitLink for what that one makes.
fn nvjitlink() -> &'static Path {
    static FAKE: LazyLock<PathBuf> = LazyLock::new(|| fake("nvjitlink.c", &["-DVERSION=11040", "-DOLD=0"]));
    &FAKE
}

fn fake(source: &str, defines: &[&'static str]) -> PathBuf {
    let build = Build::of(&repository("tests/fakes").join(source)).link(Link::Without);
    let build = defines.iter().fold(build, |build, define| build.option(*define));
    build.plug_in().unwrap_or_else(|error| panic!("{error}"))
}

/// One run of a program.
pub struct Run {
    command: Command,
    errors: Option<PathBuf>,
}

/// Variables that steer the libraries or the loader.
const STEERING: [&str; 8] = [
    "CUSHIM_DRIVER",
    "CUSHIM_SOFTCUDA",
    "SOFTCUDA_VERSION",
    "SOFTCUDA_DEVICES",
    "SOFTCUDA_MEMORY",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "LD_LIBRARY_PATH",
];

/// What softcuda's devices have, so that no program uses up the machine's memory.
const MEMORY: &str = "1G";

impl Run {
    /// Of the program, on the driver, and with no other variable that steers anything.
    ///
    /// `CHECK_VERSION` tells the program the number of the version that it is to find. What it finds as NVRTC takes PTX for CUDA C++, what
    /// it finds as nvJitLink links that, and nothing is kept on disk.
    ///
    /// # Panics
    /// If softcuda cannot be that version.
    pub fn new(program: impl AsRef<OsStr>, driver: Driver<'_>) -> Self {
        let mut command = Command::new(program);
        for name in STEERING {
            command.env_remove(name);
        }
        command.env("CUSHIM_NVRTC", nvrtc()).env("CUSHIM_NVJITLINK", nvjitlink()).env("CUSHIM_CACHE", "off");
        match driver {
            Driver::Shell(version) => {
                let shell = softcuda::shell_path(version).expect("softcuda has a shell of each version");
                command.env("CUSHIM_DRIVER", shell).env("CHECK_VERSION", number(version));
                command.env("SOFTCUDA_MEMORY", MEMORY);
            }
            Driver::Software(version) => {
                command.env("CUSHIM_DRIVER", "software").env("CUSHIM_SOFTCUDA", library("libsoftcuda.so"));
                command.env("SOFTCUDA_VERSION", version).env("CHECK_VERSION", number(version));
                command.env("SOFTCUDA_MEMORY", MEMORY);
            }
            Driver::None => {
                command.env("CUSHIM_DRIVER", "none");
            }
            Driver::Value(value) => {
                command.env("CUSHIM_DRIVER", value);
            }
            Driver::Unset => {}
        }
        Self { command, errors: None }
    }

    /// With this variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With this argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// In this folder.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// With its standard error in this file.
    #[must_use]
    pub fn errors(mut self, file: &Path) -> Self {
        self.errors = Some(file.to_owned());
        self
    }

    /// What the program printed.
    ///
    /// # Errors
    /// If it failed: the command with its variables, the status, and all that it printed.
    pub fn output(mut self) -> Result<String, String> {
        let output = self.command.output().map_err(|error| format!("{:?}: {error}", self.command))?;
        if let Some(file) = &self.errors {
            std::fs::write(file, &output.stderr).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(self.report(&output))
    }

    /// How the program ends, whatever it prints; it is ended after the limit.
    ///
    /// # Errors
    /// If it cannot be started, or had to be ended.
    pub fn ends_within(mut self, limit: Duration) -> Result<ExitStatus, String> {
        let errors =
            self.errors.as_ref().map_or(Ok(Stdio::null()), |file| File::create(file).map(Stdio::from));
        let errors = errors.map_err(|error| format!("{:?}: {error}", self.errors))?;
        let child = self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn();
        let mut child = child.map_err(|error| format!("{:?}: {error}", self.command))?;
        let end = Instant::now() + limit;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("{:?} did not end within {limit:?}", self.command));
                }
            }
        }
    }

    /// Runs the program where its output is seen; the exit status is that of the program.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn code(mut self) -> ExitCode {
        let status = self.command.status().unwrap_or_else(|error| panic!("{:?}: {error}", self.command));
        status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
    }

    /// Runs a program that uses `check.h` to its end: it failed no check, and it made some.
    ///
    /// # Errors
    /// As [`output`](Self::output).
    pub fn checks(self) -> Result<(), String> {
        self.checked().map(drop)
    }

    /// As [`checks`](Self::checks); answers what the program has said.
    ///
    /// # Errors
    /// As [`output`](Self::output).
    pub fn checked(mut self) -> Result<String, String> {
        let output = self.command.output().map_err(|error| format!("{:?}: {error}", self.command))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let made = printed.lines().last().and_then(|line| line.strip_suffix(" checks passed"));
        if output.status.success()
            && made.and_then(|count| count.parse().ok()).is_some_and(|count: u32| count > 0)
        {
            return Ok(printed.into_owned());
        }
        Err(self.report(&output))
    }

    fn report(&self, output: &Output) -> String {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        format!("{:?}: {}\n{out}{err}", self.command, output.status)
    }
}

/// The number of a version.
fn number(version: &str) -> String {
    let found = softcuda::VERSIONS.iter().find(|(name, _)| *name == version);
    found.expect("the version is one of the list").1.to_string()
}
