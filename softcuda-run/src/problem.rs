//! What went wrong, and how the program ends then.

use std::process::ExitCode;

/// Wrong usage.
const USAGE: u8 = 2;
/// The machine lacks something: as `sysexits.h` has it, EX_UNAVAILABLE.
const LACKING: u8 = 69;
/// As a shell says that a command was found and cannot be run, and that none was found.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Why the command was not run: the exit status, and a sentence.
#[derive(Debug)]
pub(crate) struct Problem {
    status: u8,
    sentence: String,
}

impl Problem {
    /// The command line is wrong.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self { status: USAGE, sentence: sentence.into() }
    }

    /// Something is not there, or the system refuses it.
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self { status: LACKING, sentence: sentence.into() }
    }

    /// The command cannot be started.
    pub(crate) fn command(name: &str, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound if name.contains('/') => {
                let why = "no such file, or its interpreter or loader is missing";
                Self { status: NOT_FOUND, sentence: format!("{name}: {why}") }
            }
            std::io::ErrorKind::NotFound => {
                Self { status: NOT_FOUND, sentence: format!("{name}: command not found") }
            }
            _ => Self { status: CANNOT_RUN, sentence: format!("{name} cannot be run: {error}") },
        }
    }

    pub(crate) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Says it, and ends the program with the status.
    #[allow(clippy::print_stderr)] // what a program says
    pub(crate) fn tell(self) -> ExitCode {
        eprintln!("softcuda-run: {}", self.sentence);
        ExitCode::from(self.status)
    }
}
