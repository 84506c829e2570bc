//! One driver under examination: opened, initialised, listed, tried, as far as each step lets the next one begin.

use crate::calls::{self, Failure};
use crate::devices::{self, Device};
use crate::selfcheck::{self, Check};
use cushim::driver::{
    Candidate, Choice, DRIVER_VARIABLE, Driver, Kind, LoadReport, OpenError, OpenOptions, Outcome,
};

#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) opened: Result<Driver, OpenError>,
    pub(crate) init: Init,
    pub(crate) checks: Vec<Check>,
}

/// What came of `cuInit`.
#[derive(Debug)]
pub(crate) enum Init {
    NotCalled,
    Failed(Failure),
    /// It succeeded; so far the devices, or why they cannot be listed.
    Done(Result<Vec<Device>, Failure>),
}

impl Subject {
    /// Opens a driver (`None`: the one that the environment or the machine suggests) and examines it.
    pub(crate) fn examine(choice: Option<Choice>, no_init: bool) -> Self {
        let options = OpenOptions::new();
        let options = if let Some(choice) = choice { options.choice(choice) } else { options };
        let opened = options.open();
        let init = match &opened {
            Ok(driver) if !no_init && driver.kind() != Kind::None => Init::of(driver),
            _ => Init::NotCalled,
        };
        let checks = match (&opened, &init) {
            (Ok(driver), Init::Done(Ok(devices))) => selfcheck::run(driver, devices),
            _ => Vec::new(),
        };
        Self { opened, init, checks }
    }

    /// How the search went; `None` if it did not begin.
    pub(crate) fn search(&self) -> Option<&LoadReport> {
        match &self.opened {
            Ok(driver) => Some(driver.report()),
            Err(error) => error.report(),
        }
    }

    pub(crate) fn candidates(&self) -> &[Candidate] {
        self.search().map_or(&[], |search| &search.candidates)
    }

    pub(crate) fn devices(&self) -> &[Device] {
        match &self.init {
            Init::Done(Ok(devices)) => devices,
            _ => &[],
        }
    }

    /// Whether `CUSHIM_DRIVER` chose the driver, provided that nobody overruled it.
    pub(crate) fn variable_is_set(&self) -> bool {
        let variables = self.search().map_or(&[][..], |search| &search.variables);
        variables.iter().any(|variable| variable.name == DRIVER_VARIABLE)
    }

    /// The first library that is there and cannot be used.
    pub(crate) fn broken(&self) -> Option<&Candidate> {
        self.candidates().iter().find(|candidate| candidate.outcome == Outcome::Refused)
    }
}

impl Init {
    fn of(driver: &Driver) -> Self {
        match calls::init(driver) {
            Ok(()) => Self::Done(devices::list(driver)),
            Err(failure) => Self::Failed(failure),
        }
    }
}

/// Why a candidate does not serve. The loader's words begin with the name, which reports have beside them already.
pub(crate) fn reason(candidate: &Candidate) -> Option<&str> {
    let error = candidate.error.as_deref()?;
    Some(error.strip_prefix(&format!("{}: ", candidate.name.display())).unwrap_or(error))
}
