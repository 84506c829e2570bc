//! Opening: tries the places of the plan, checks what the loader gives, and keeps one driver per library.

use super::environment::Environment;
use super::error::OpenError;
use super::find::{self, Place, Plan, Wanted};
use super::getter::{CustomGetter, Getter};
use super::kind::Kind;
use super::library::{Library, Lookup};
use super::module;
use super::opened::{Core, Driver};
use super::options::{Choice, OpenOptions};
use super::report::{Candidate, LoadReport, Origin};
use super::resolve::Resolver;
use super::sys::{CUDA_ERROR_STUB_LIBRARY, CUDA_SUCCESS, CUresult};
use super::version::Version;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub(super) fn open(options: &OpenOptions) -> Result<Driver, OpenError> {
    check(options)?;
    module::pin();
    let mut search = Search::new(Environment::read(options.environment));
    if let Some(getter) = options.getter {
        return search.custom(getter);
    }
    match find::plan(options.choice.as_ref(), &search.environment, module::path) {
        Plan::Nothing => Ok(search.finish(none())),
        Plan::Only(place, wanted) => match search.attempt(place, wanted) {
            Some(core) => Ok(search.finish(core)),
            None if search.saw_stub() => Err(OpenError::Stub(search.into_report())),
            None => Err(OpenError::Unusable(search.into_report())),
        },
        Plan::First(places, wanted) => {
            match places.into_iter().find_map(|place| search.attempt(place, wanted)) {
                Some(core) => Ok(search.finish(core)),
                None if wanted == Wanted::Software => Err(OpenError::SoftwareNotFound(search.into_report())),
                None if search.saw_stub() => Err(OpenError::Stub(search.into_report())),
                None => Err(OpenError::NotFound(search.into_report())),
            }
        }
    }
}

fn check(options: &OpenOptions) -> Result<(), OpenError> {
    let complain = |what: &str| Err(OpenError::InvalidOption(what.to_owned()));
    if options.getter.is_some() && options.choice.is_some() {
        return complain("both a getter and a driver were chosen; leave one of them out");
    }
    match &options.choice {
        Some(Choice::Path(path)) if path.as_os_str().is_empty() => {
            complain("the path of the driver's library is empty; leave it out to have the driver looked for")
        }
        Some(Choice::Path(path)) if path.as_os_str().as_encoded_bytes().contains(&0) => {
            complain("the path of the driver's library contains a NUL byte, which no file name can")
        }
        _ => Ok(()),
    }
}

/// A search under way.
struct Search {
    environment: Environment,
    candidates: Vec<Candidate>,
}

/// Why a candidate does not serve.
struct Refusal {
    reason: String,
    path: Option<PathBuf>,
    kind: Option<Kind>,
}

impl Refusal {
    fn new(reason: impl Into<String>, path: Option<PathBuf>) -> Self {
        Self { reason: reason.into(), path, kind: None }
    }
}

impl Search {
    fn new(environment: Environment) -> Self {
        Self { environment, candidates: Vec::new() }
    }

    fn saw_stub(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.kind == Some(Kind::Stub))
    }

    /// Tries one place and notes what came of it.
    fn attempt(&mut self, place: Place, wanted: Wanted) -> Option<&'static Core> {
        let outcome = open_place(&place, wanted);
        self.note(place, outcome)
    }

    fn note(&mut self, place: Place, outcome: Result<&'static Core, Refusal>) -> Option<&'static Core> {
        let Place { name, origin } = place;
        let (core, path, error, kind) = match outcome {
            Ok(core) => (Some(core), core.path.clone(), None, Some(core.kind)),
            Err(Refusal { reason, path, kind }) => (None, path, Some(reason), kind),
        };
        let candidate = Candidate { name, origin, path, error, kind };
        log::debug!(target: "cushim", "driver candidate {candidate}");
        self.candidates.push(candidate);
        core
    }

    /// Takes the driver from the caller's getter. Each opening makes a driver of its own, because nobody knows whether
    /// two getters with the same address mean the same functions.
    fn custom(mut self, getter: CustomGetter) -> Result<Driver, OpenError> {
        let place = Place { name: PathBuf::from("the caller's getter"), origin: Origin::Getter };
        let outcome = open_getter(Getter::Custom(getter));
        match self.note(place, outcome) {
            Some(core) => Ok(self.finish(core)),
            None => Err(OpenError::Unusable(self.into_report())),
        }
    }

    fn finish(self, core: &'static Core) -> Driver {
        let mut report = self.into_report();
        report.path.clone_from(&core.path);
        report.kind = Some(core.kind);
        report.version = core.version;
        report.getter = Some(core.getter);
        Driver::new(core, *report)
    }

    fn into_report(self) -> Box<LoadReport> {
        let Self { environment, candidates } = self;
        Box::new(LoadReport {
            candidates,
            privileged: environment.privileged,
            environment_read: environment.read,
            variables: environment.variables,
            path: None,
            kind: None,
            version: None,
            getter: None,
        })
    }
}

/// The drivers of all libraries opened so far. They live until the process ends, as their libraries do.
static OPENED: Mutex<Vec<(Library, &'static Core)>> = Mutex::new(Vec::new());

fn open_place(place: &Place, wanted: Wanted) -> Result<&'static Core, Refusal> {
    let lookup = match place.origin {
        Origin::Loaded => Lookup::Loaded,
        Origin::Loader if wanted == Wanted::Any => Lookup::System,
        _ => Lookup::Load,
    };
    let library = Library::open(&place.name, lookup).map_err(|reason| Refusal::new(reason, None))?;
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = opened.iter().find(|(other, _)| *other == library).map(|(_, core)| *core);
    let core = match known {
        Some(core) => core,
        None => {
            let core = leak(examine(library)?);
            opened.push((library, core));
            core
        }
    };
    if wanted == Wanted::Software && core.kind != Kind::Software {
        return Err(Refusal::new("it is a CUDA driver, but not softcuda", core.path.clone()));
    }
    Ok(core)
}

fn leak(core: Core) -> &'static Core {
    Box::leak(Box::new(core))
}

/// Decides whether a library is a driver that can be used, and resolves it if so.
fn examine(library: Library) -> Result<Core, Refusal> {
    let get_version = library.symbol(c"cuDriverGetVersion");
    if get_version.is_null() {
        // SAFETY: nothing was taken from it.
        unsafe { library.close() };
        return Err(Refusal::new("it exports no cuDriverGetVersion, so it is not a CUDA driver", None));
    }
    let path = Library::path_of(get_version);
    // SAFETY: the address is that of the export of this name.
    let version = match unsafe { ask_version(get_version) } {
        Ok(version) => version,
        Err(answer) => {
            let in_stubs = path.iter().flat_map(|path| path.iter()).any(|part| part == "stubs");
            let is_stub = answer == VersionError::Result(CUDA_ERROR_STUB_LIBRARY) || in_stubs;
            if is_stub {
                // SAFETY: no address of it is used any more, and a stub has neither threads nor state.
                unsafe { library.close() };
            }
            let reason = if is_stub { STUB.to_owned() } else { answer.reason() };
            return Err(Refusal { reason, path, kind: is_stub.then_some(Kind::Stub) });
        }
    };
    let kind = kind_of(&library, path.as_deref());
    let resolver = Resolver { getter: Getter::of(&library), library: Some(library), version: Some(version) };
    Ok(Core::new(kind, path, &resolver))
}

/// softcuda gives itself away by an export, its per-version shells, which export a driver's names only, by their own.
fn kind_of(library: &Library, path: Option<&Path>) -> Kind {
    if library.symbol(c"softcuda_version").is_null() {
        path.map_or(Kind::Native, Kind::of_path)
    } else {
        Kind::Software
    }
}

const STUB: &str =
    "it is the CUDA toolkit's stub, which serves for linking and answers every call with an error";

fn open_getter(getter: Getter) -> Result<&'static Core, Refusal> {
    let get_version = getter.ask(c"cuDriverGetVersion", 2020, super::getter::LEGACY_STREAM).address;
    if get_version.is_null() {
        return Err(Refusal::new(
            "it gives no cuDriverGetVersion (ABI 2020), without which nothing can be asked",
            None,
        ));
    }
    // SAFETY: whoever made the getter promised that its addresses are those of the functions asked for.
    let version =
        unsafe { ask_version(get_version) }.map_err(|answer| Refusal::new(answer.reason(), None))?;
    let resolver = Resolver { getter: Some(getter), library: None, version: Some(version) };
    Ok(leak(Core::new(Kind::Custom, None, &resolver)))
}

/// The one driver that is none.
fn none() -> &'static Core {
    static NONE: std::sync::LazyLock<Core> = std::sync::LazyLock::new(|| {
        Core::new(Kind::None, None, &Resolver { getter: None, library: None, version: None })
    });
    &NONE
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionError {
    /// The call failed.
    Result(CUresult),
    /// It succeeded and gave a number that is no version.
    Number(c_int),
}

impl VersionError {
    fn reason(self) -> String {
        match self {
            Self::Result(CUresult(result)) => format!("its cuDriverGetVersion answers with error {result}"),
            Self::Number(number) => format!("its cuDriverGetVersion answers {number}, which is no version"),
        }
    }
}

/// Asks a driver for its version, which it tells before it is initialised.
///
/// # Safety
/// `get_version` is the address of a `cuDriverGetVersion`.
unsafe fn ask_version(get_version: *const c_void) -> Result<Version, VersionError> {
    // SAFETY: the caller vouches for the function, whose type has never changed.
    let get_version = unsafe {
        std::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut c_int) -> CUresult>(get_version)
    };
    let mut number = 0;
    // SAFETY: the out-pointer is valid.
    let result = unsafe { get_version(&raw mut number) };
    match u32::try_from(number) {
        _ if result != CUDA_SUCCESS => Err(VersionError::Result(result)),
        Ok(number) if number >= 1000 => Ok(Version::from_number(number)),
        _ => Err(VersionError::Number(number)),
    }
}
