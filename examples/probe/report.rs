//! Everything that the probe found, before it is put into words.

pub(crate) mod human;
pub(crate) mod json;
mod page;

use crate::advice::Advice;
use crate::args::Args;
use crate::calls;
use crate::environment::Environment;
use crate::host::Host;
use crate::process::Process;
use crate::program::Program;
use crate::subject::Subject;
use crate::verdict::{self, Verdict};
use cushim::driver::{Choice, OpenError};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) host: Host,
    pub(crate) environment: Environment,
    /// Only in a bug report.
    pub(crate) process: Option<Process>,
    /// What another program wants of the driver, if that was asked.
    pub(crate) program: Option<Program>,
    /// The driver that was asked for.
    pub(crate) subject: Subject,
    /// softcuda, where nobody asked for a driver and there is none, and the probe is not an installed one.
    pub(crate) stand_in: Option<Subject>,
    pub(crate) notes: Vec<String>,
    pub(crate) verdict: Verdict,
}

impl Report {
    /// An installed probe answers for the machine, whatever it has beside itself.
    ///
    /// # Errors
    /// Why the program that the arguments name cannot be read.
    pub(crate) fn gather(args: &Args, is_installed: bool) -> Result<Self, String> {
        let program = args.program.as_deref().map(Program::read).transpose()?;
        let host = Host::read(Path::new("/"), calls::c_library());
        let environment = Environment::of(std::env::vars_os());
        let subject = Subject::examine(args.driver.clone(), args.no_init);
        let stands_in = !is_installed && stands_in(args, &subject);
        let stand_in = stands_in.then(|| Subject::examine(Some(Choice::Software), false));
        let advice = Advice { host: &host, environment: &environment };
        let verdict = match &stand_in {
            Some(stand_in) => verdict::of_stand_in(stand_in, &advice),
            None => verdict::of(&subject, args.require, program.as_ref(), &advice),
        };
        let notes = advice.notes(&subject, args.driver.is_some());
        // Last: which libraries are mapped now.
        let process = args.report.then(|| Process::read(Path::new("/"), &host.device_files));
        Ok(Self { host, environment, process, program, subject, stand_in, notes, verdict })
    }

    /// The one whose self-check the report shows.
    pub(crate) fn checked(&self) -> &Subject {
        self.stand_in.as_ref().unwrap_or(&self.subject)
    }
}

/// Whether softcuda goes through the self-check: nobody has said what the driver should be, or that nothing is to run, and
/// there is none at all.
fn stands_in(args: &Args, subject: &Subject) -> bool {
    let of_a_driver = args.driver.is_some()
        || args.require.is_some()
        || args.program.is_some()
        || subject.variable_is_set();
    let nothing_asked = !of_a_driver && !args.no_init;
    let nothing_there = matches!(subject.opened, Err(OpenError::NotFound(_)));
    nothing_asked && nothing_there
}
