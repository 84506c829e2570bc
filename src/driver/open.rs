//! Opening: tries the places of the plan, checks what the loader gives, and keeps one driver per library.

use super::environment::Environment;
use super::error::OpenError;
use super::find::{self, Chosen, Place, Plan, Wanted};
use super::getter::{CustomGetter, Getter};
use super::kind::Kind;
use super::library::{Library, Lookup, NotOpened};
use super::module;
use super::opened::{Core, Driver};
use super::options::{Choice, OpenOptions};
use super::report::{Candidate, LoadReport, Origin, Outcome};
use super::resolve::Resolver;
use super::sys::{CUDA_ERROR_STUB_LIBRARY, CUDA_SUCCESS, CUresult, result_name};
use super::unknown_variable;
use super::version::Version;
use std::ffi::{CStr, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) fn open(options: &OpenOptions) -> Result<Driver, OpenError> {
    check(options)?;
    module::pin();
    let environment = Environment::read(options.environment);
    let checks_graphs = options.check_graphs || environment.checks_graphs();
    let checks_order = options.check_order || environment.checks_order();
    unknown_variable::tell(&environment);
    let driver = search(options, environment)?;
    if checks_graphs {
        driver.check_graphs();
    }
    if checks_order {
        driver.check_order();
    }
    Ok(driver)
}

fn search(options: &OpenOptions, environment: Environment) -> Result<Driver, OpenError> {
    if let Some(getter) = options.getter {
        return Search::new(environment, None).custom(getter);
    }
    let chosen = find::chosen(options.choice.as_ref(), &environment);
    let mut search = Search::new(environment, chosen);
    match find::plan(search.chosen.as_ref(), &search.environment, module::path) {
        Plan::Nothing => Ok(search.finish(none())),
        Plan::Only(place, wanted) => match search.attempt(place, wanted) {
            Some(core) => Ok(search.finish(core)),
            None => Err(search.into_refusal(OpenError::Unusable)),
        },
        Plan::First(places, wanted) => {
            match places.into_iter().find_map(|place| search.attempt_all(place, wanted)) {
                Some(core) => Ok(search.finish(core)),
                None if search.refused().next().is_some() => Err(search.into_refusal(OpenError::Refused)),
                None if wanted == Wanted::Software => Err(OpenError::SoftwareNotFound(search.into_report())),
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
    chosen: Option<Chosen>,
    candidates: Vec<Candidate>,
}

/// Why a candidate does not serve.
struct Refusal {
    outcome: Outcome,
    reason: String,
    path: Option<PathBuf>,
    kind: Option<Kind>,
}

impl Refusal {
    fn new(reason: impl Into<String>, path: Option<PathBuf>) -> Self {
        Self { outcome: Outcome::Refused, reason: reason.into(), path, kind: None }
    }
}

impl From<NotOpened> for Refusal {
    fn from(NotOpened { reason, is_absent }: NotOpened) -> Self {
        let outcome = if is_absent { Outcome::Absent } else { Outcome::Refused };
        Self { outcome, ..Self::new(reason, None) }
    }
}

impl Search {
    fn new(environment: Environment, chosen: Option<Chosen>) -> Self {
        Self { environment, chosen, candidates: Vec::new() }
    }

    /// The libraries that are there and do not serve.
    fn refused(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.outcome == Outcome::Refused)
    }

    /// Stubs there were, and nothing else.
    fn met_only_stubs(&self) -> bool {
        let mut refused = self.refused().peekable();
        refused.peek().is_some() && refused.all(|candidate| candidate.kind == Some(Kind::Stub))
    }

    /// The error of a search that met libraries that do not serve: `otherwise`, unless they are stubs.
    fn into_refusal(self, otherwise: fn(Box<LoadReport>) -> OpenError) -> OpenError {
        let error = if self.met_only_stubs() { OpenError::Stub } else { otherwise };
        error(self.into_report())
    }

    /// Tries a place and, where that is a name for the loader, the files that it would have come to if it went past one that does not
    /// serve.
    fn attempt_all(&mut self, place: Place, wanted: Wanted) -> Option<&'static Core> {
        if self.has_tried(&place) {
            return None;
        }
        let name = (place.origin == Origin::Loader).then(|| place.name.clone());
        self.attempt(place, wanted).or_else(|| {
            let files = Library::found_by_loader(&name?).into_iter();
            let mut places = files.map(|name| Place { name, origin: Origin::Loader });
            places.find_map(|place| self.attempt(place, wanted))
        })
    }

    /// A folder of ours may be one of the loader's.
    fn has_tried(&self, place: &Place) -> bool {
        place.name.is_absolute() && self.candidates.iter().any(|candidate| candidate.name == place.name)
    }

    /// Tries one place and notes what came of it.
    fn attempt(&mut self, place: Place, wanted: Wanted) -> Option<&'static Core> {
        let outcome = open_place(&place, wanted);
        self.note(place, outcome)
    }

    fn note(&mut self, place: Place, outcome: Result<&'static Core, Refusal>) -> Option<&'static Core> {
        let Place { name, origin } = place;
        let core = outcome.as_ref().ok().copied();
        let candidate = match outcome {
            Ok(Core { path, kind, .. }) => {
                let (path, kind) = (path.clone(), Some(*kind));
                Candidate { name, origin, outcome: Outcome::Opened, path, error: None, kind }
            }
            Err(Refusal { outcome, reason, path, kind }) => {
                Candidate { name, origin, outcome, path, error: Some(reason), kind }
            }
        };
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
        let Self { environment, chosen, candidates } = self;
        let (choice, chosen_by) = chosen.map(|Chosen { choice, by }| (choice, by)).unzip();
        Box::new(LoadReport {
            choice,
            chosen_by,
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

/// The drivers of all libraries opened so far. They live until the process ends, as their libraries do. Nothing of a
/// library is called while this is locked: it may open a driver itself.
static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

struct Opened {
    library: Library,
    core: &'static Core,
    /// Whether somebody had named it when it was opened first.
    named: bool,
}

/// The libraries that are being examined, and by which threads.
static EXAMINED: Mutex<Vec<(usize, Library)>> = Mutex::new(Vec::new());

/// A number of this thread's, as long as it lives. The standard library's would take memory that may not be there.
fn thread_number() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

fn open_place(place: &Place, wanted: Wanted) -> Result<&'static Core, Refusal> {
    let lookup = match place.origin {
        Origin::Loaded => Lookup::Loaded,
        Origin::Loader if wanted != Wanted::Software => Lookup::System,
        _ => Lookup::Load,
    };
    let library = Library::open(&place.name, lookup)?;
    let first = known(&opened(), library);
    let core = match first {
        Some(core) => core,
        None => keep(library, examine_once(library)?, matches!(wanted, Wanted::Any | Wanted::Software)),
    };
    let was_named = || opened().iter().any(|known| known.library == library && known.named);
    let reason = match (wanted, core.kind) {
        (Wanted::Software, kind) if kind != Kind::Software => "it is a CUDA driver, but not softcuda",
        (Wanted::Found, Kind::Software) if was_named() => {
            // As if it were not there: the machine may have no driver at all.
            let reason = "it is softcuda, which is in the process because it was named; name it again";
            return Err(Refusal { outcome: Outcome::Absent, ..Refusal::new(reason, core.path.clone()) });
        }
        (Wanted::Hardware, Kind::Software) => {
            "it is softcuda, which a process with more rights than its user (set-uid) opens only if its options name it"
        }
        _ => return Ok(core),
    };
    Err(Refusal::new(reason, core.path.clone()))
}

fn opened() -> MutexGuard<'static, Vec<Opened>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known(opened: &[Opened], library: Library) -> Option<&'static Core> {
    opened.iter().find(|known| known.library == library).map(|known| known.core)
}

/// Keeps what was found of a library, unless somebody else was faster: all openings share the first.
fn keep(library: Library, core: Core, named: bool) -> &'static Core {
    let mut opened = opened();
    known(&opened, library).unwrap_or_else(|| {
        let core = leak(core);
        opened.push(Opened { library, core, named });
        core
    })
}

/// A library that looks for a driver when it is asked for its version, and finds itself, would be asked for ever.
fn examine_once(library: Library) -> Result<Core, Refusal> {
    let examined = || EXAMINED.lock().unwrap_or_else(PoisonError::into_inner);
    let own = (thread_number(), library);
    if examined().contains(&own) {
        return Err(Refusal::new("it is this library that looks for a driver; name another", None));
    }
    examined().push(own);
    let outcome = examine(library);
    examined().retain(|other| *other != own);
    outcome
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
            return Err(Refusal { kind: is_stub.then_some(Kind::Stub), ..Refusal::new(reason, path) });
        }
    };
    let kind = kind_of(&library, path.as_deref());
    let getter = Getter::of(&library);
    let resolver = Resolver { kind, getter, library: Some(library), version: Some(version) };
    let core = Core::new(path.clone(), &resolver);
    if core.cannot_begin() {
        return Err(Refusal::new("it has no cuInit, without which nothing can be done with it", path));
    }
    Ok(core)
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
    let resolver =
        Resolver { kind: Kind::Custom, getter: Some(getter), library: None, version: Some(version) };
    Ok(leak(Core::new(None, &resolver)))
}

/// The one driver that is none.
fn none() -> &'static Core {
    static NONE: std::sync::LazyLock<Core> = std::sync::LazyLock::new(|| {
        Core::new(None, &Resolver { kind: Kind::None, getter: None, library: None, version: None })
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
            Self::Result(CUresult(result)) => {
                let name = result_name(result).map_or("an unknown error".into(), CStr::to_string_lossy);
                format!("its cuDriverGetVersion answers {name} ({result})")
            }
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
