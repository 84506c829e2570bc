//! What it all comes to: a finding, what was seen in one sentence, and one line that says what to do.

use crate::advice::Advice;
use crate::calls::Failure;
use crate::devices::Device;
use crate::program::Program;
use crate::selfcheck::Check;
use crate::subject::{self, Init, Subject};
use cushim::driver::{Candidate, Choice, Driver, Kind, LoadReport, OpenError, Version};

/// What can be the matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    Ok,
    Usage,
    NoDriver,
    UnusableDriver,
    NoSoftcuda,
    NoneChosen,
    Stub,
    NoDevice,
    InitFailed,
    TooOld,
    SelfCheckFailed,
    Mismatch,
    ProgramNeedsMore,
}

impl Finding {
    /// The word for programs, and the exit code.
    fn word_and_code(self) -> (&'static str, u8) {
        match self {
            Self::Ok => ("ok", 0),
            Self::Usage => ("usage", 2),
            Self::NoDriver => ("no-driver", 10),
            Self::UnusableDriver => ("unusable-driver", 10),
            Self::NoSoftcuda => ("no-softcuda", 10),
            Self::NoneChosen => ("none-chosen", 10),
            Self::Stub => ("stub", 11),
            Self::NoDevice => ("no-device", 12),
            Self::InitFailed => ("init-failed", 13),
            Self::TooOld => ("too-old", 14),
            Self::SelfCheckFailed => ("self-check-failed", 15),
            Self::Mismatch => ("mismatch", 16),
            Self::ProgramNeedsMore => ("program-needs-more", 17),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) finding: Finding,
    pub(crate) exit_code: u8,
    pub(crate) summary: String,
    /// What to do.
    pub(crate) action: String,
}

impl Verdict {
    fn new(finding: Finding, summary: impl Into<String>, action: impl Into<String>) -> Self {
        let (_, exit_code) = finding.word_and_code();
        Self { finding, exit_code, summary: summary.into(), action: action.into() }
    }

    /// The finding as a word for programs.
    pub(crate) fn name(&self) -> &'static str {
        self.finding.word_and_code().0
    }
}

/// Judges the driver that was asked for.
pub(crate) fn of(
    subject: &Subject,
    require: Option<Version>,
    program: Option<&Program>,
    advice: &Advice,
) -> Verdict {
    match &subject.opened {
        Err(error) => of_search(error, subject, advice),
        Ok(driver) if driver.kind() == Kind::None => Verdict::new(
            Finding::NoneChosen,
            "no driver is used, because \"none\" was asked for",
            "unset CUSHIM_DRIVER, or give --driver auto, to see the driver of this machine",
        ),
        Ok(driver) => of_version(driver, require, advice)
            .or_else(|| of_program(driver, program?, advice))
            .unwrap_or_else(|| with_program(of_init(driver, subject, advice), program)),
    }
}

const NO_DRIVER: &str = "there is no CUDA driver on this machine";

/// Judges a machine without a driver by softcuda, which stood in: the exit code is that of its own verdict.
pub(crate) fn of_stand_in(stand_in: &Subject, advice: &Advice) -> Verdict {
    let verdict = of(stand_in, None, None, advice);
    if verdict.exit_code == 0 {
        let summary = format!("{NO_DRIVER}; {}", verdict.summary);
        Verdict { exit_code: 0, ..Verdict::new(Finding::NoDriver, summary, without_driver(advice)) }
    } else {
        Verdict {
            summary: format!("{NO_DRIVER}, and softcuda does not stand in: {}", verdict.summary),
            ..verdict
        }
    }
}

/// What to do on a machine that has no driver.
fn without_driver(advice: &Advice) -> String {
    format!("{}; without a GPU, set CUSHIM_DRIVER=software", advice.install())
}

/// Judges a search that led to no driver.
fn of_search(error: &OpenError, subject: &Subject, advice: &Advice) -> Verdict {
    let tried = subject.candidates().last();
    match error {
        OpenError::Stub(_) => Verdict::new(
            Finding::Stub,
            "only a stub of the driver was found: it serves for linking and cannot run anything",
            Advice::stub(tried),
        ),
        OpenError::InvalidOption(complaint) => Verdict::new(Finding::Usage, complaint, "see --help"),
        OpenError::Refused(search) => of_refused(search, subject.broken(), advice),
        OpenError::NotFound(_) => Verdict::new(Finding::NoDriver, NO_DRIVER, without_driver(advice)),
        OpenError::SoftwareNotFound(_) => Verdict::new(
            Finding::NoSoftcuda,
            "softcuda is not beside this program, nor where the loader looks",
            "run the probe through cargo, or name softcuda's library in CUSHIM_SOFTCUDA",
        ),
        _ => Verdict::new(
            Finding::UnusableDriver,
            format!("the driver that was asked for cannot be used: {}", described(tried)),
            Advice::unusable(tried),
        ),
    }
}

/// Judges a search that met a library and could not use it.
fn of_refused(search: &LoadReport, broken: Option<&Candidate>, advice: &Advice) -> Verdict {
    let (what, action) = match search.choice {
        Some(Choice::Software) => ("softcuda", advice.softcuda()),
        _ => (
            "a libcuda is there and",
            "remove or repair that file, or reinstall the NVIDIA driver".to_owned(),
        ),
    };
    Verdict::new(Finding::UnusableDriver, format!("{what} cannot be used: {}", described(broken)), action)
}

fn described(candidate: Option<&Candidate>) -> String {
    let described = |candidate: &Candidate| {
        format!("{}: {}", candidate.name.display(), subject::reason(candidate).unwrap_or_default())
    };
    candidate.map(described).unwrap_or_default()
}

/// Complains if the driver is older than it must be.
fn of_version(driver: &Driver, require: Option<Version>, advice: &Advice) -> Option<Verdict> {
    let (version, require) = (driver.version()?, require?);
    (version < require).then(|| {
        let summary = format!("{} is older than {require}, which is required", named(driver));
        Verdict::new(Finding::TooOld, summary, advice.update(driver, require))
    })
}

/// Where all is well, says so of the program, too.
fn with_program(mut verdict: Verdict, program: Option<&Program>) -> Verdict {
    if let Some(program) = program.filter(|_| verdict.finding == Finding::Ok) {
        let path = program.path.display();
        verdict.summary += &match program.needs() {
            Some(needs) => format!("; it has all that {path} needs, which is CUDA {needs}"),
            None => format!("; {path} imports nothing of a driver"),
        };
    }
    verdict
}

/// Complains if the driver lacks what a program needs.
fn of_program(driver: &Driver, program: &Program, advice: &Advice) -> Option<Verdict> {
    if program.is_served_by(driver) {
        return None;
    }
    let path = program.path.display();
    let missing: Vec<&str> = program.missing(driver).iter().map(|wanted| wanted.name.as_str()).collect();
    let lacks = match missing[..] {
        [] => program.newest().join(", "),
        [only] => only.to_owned(),
        [first, .., last] if missing.len() > 3 => format!("{first}, {last} and {} more", missing.len() - 2),
        _ => missing.join(", "),
    };
    let needs = program.needs()?;
    let (summary, action) = match driver.version() {
        Some(version) if version < needs => (
            format!("{} is older than {path} needs: CUDA {needs}, for {lacks}", named(driver)),
            advice.update(driver, needs),
        ),
        _ => (
            format!("{} lacks functions that {path} imports: {lacks}", named(driver)),
            "load the functions by cushim, or by cuGetProcAddress: this driver does not export them"
                .to_owned(),
        ),
    };
    Some(Verdict::new(Finding::ProgramNeedsMore, summary, action))
}

fn of_init(driver: &Driver, subject: &Subject, advice: &Advice) -> Verdict {
    match &subject.init {
        Init::NotCalled => {
            let found = driver.symbols().iter().filter(|symbol| symbol.via.is_some()).count();
            let total = driver.symbols().len();
            let summary = format!("{} has {found} of {total} ABIs; it was not initialised", named(driver));
            Verdict::new(Finding::Ok, summary, "run the probe without --no-init to try it")
        }
        Init::Failed(failure) => of_failed_init(failure, driver, advice),
        Init::Done(Err(failure)) => Verdict::new(
            Finding::InitFailed,
            format!("the devices cannot be listed: {failure}"),
            advice.init(failure.code(), driver),
        ),
        Init::Done(Ok(devices)) if devices.is_empty() => {
            Verdict::new(Finding::NoDevice, "the driver starts and sees no device", advice.no_device(driver))
        }
        Init::Done(Ok(devices)) => of_checks(driver, devices, &subject.checks, advice),
    }
}

fn of_failed_init(failure: &Failure, driver: &Driver, advice: &Advice) -> Verdict {
    let (finding, what) = match failure.code() {
        Some(34) => (Finding::Stub, "the library is a stub"),
        Some(100) => (Finding::NoDevice, "the driver sees no device"),
        Some(803 | 804) => (Finding::Mismatch, "the driver library does not fit this machine"),
        _ => (Finding::InitFailed, "the driver cannot be initialised"),
    };
    Verdict::new(finding, format!("{what}: {failure}"), advice.init(failure.code(), driver))
}

fn of_checks(driver: &Driver, devices: &[Device], checks: &[Check], advice: &Advice) -> Verdict {
    if let Some(Check { device, name, detail, code, .. }) = checks.iter().find(|check| !check.ok) {
        let summary = format!("the self-check failed on device {device}: {name}: {detail}");
        return Verdict::new(Finding::SelfCheckFailed, summary, advice.self_check(*code, driver));
    }
    let devices = match devices.len() {
        1 => "its device".to_owned(),
        count => format!("each of its {count} devices"),
    };
    let summary = format!("{} works: {devices} passed the self-check", named(driver));
    Verdict::new(Finding::Ok, summary, advice.when_all_is_well(driver))
}

/// What to call a driver in a sentence.
fn named(driver: &Driver) -> String {
    let version = driver.version().map(|version| version.to_string()).unwrap_or_default();
    match driver.kind() {
        Kind::Software => format!("softcuda, the driver in software, here as one for CUDA {version},"),
        _ => format!("the driver for CUDA {version}"),
    }
}
