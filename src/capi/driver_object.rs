//! What stands behind a `cushim_driver`: the driver, with its texts as C reads them; and what all its handles have.
//!
//! @header cushim.h

use super::driver::{cushim_driver, cushim_driver_s};
use super::driver_types::Driver;
use super::error::cushim_status;
use super::handles::{self, Incomplete, borrowed};
use crate::driver::{Candidate, catalogue};
use crate::object::error::Error;
use crate::object::handle::{Header, object};
use crate::object::release;
use parking_lot::Mutex;
use std::ffi::{CString, OsStr};
use std::sync::{Arc, OnceLock, Weak};

/// An opened driver.
pub(crate) struct DriverObject {
    header: Header,
    pub(super) driver: Driver,
    pub(super) path: CString,
    pub(super) getter: CString,
    pub(super) candidates: Vec<CandidateTexts>,
}

/// A library that was tried.
pub(super) struct CandidateTexts {
    pub(super) path: CString,
    pub(super) error: Option<CString>,
    pub(super) origin: CString,
}

impl DriverObject {
    pub(super) fn new(driver: Driver) -> Arc<Self> {
        let object = Arc::new(Self {
            header: Header::new::<Self>(),
            path: os_text(driver.path().map_or(OsStr::new(""), |path| path.as_os_str())),
            getter: text(driver.getter().name()),
            candidates: driver.report().candidates.iter().map(candidate).collect(),
            driver,
        });
        let others = ALL.same(&object.driver);
        object.header.set_label(others.first().and_then(|other| other.header.label()).as_deref());
        ALL.0.lock().push(Arc::downgrade(&object));
        object
    }

    /// Names the driver, by whichever of its objects: they are the same driver.
    pub(super) fn set_label(&self, label: Option<&str>) {
        for object in ALL.same(&self.driver) {
            object.header.set_label(label);
        }
    }
}

/// The living objects. Each opening makes one, since each has tried its own candidates.
struct All(Mutex<Vec<Weak<DriverObject>>>);

static ALL: All = All(Mutex::new(Vec::new()));

impl All {
    fn same(&self, driver: &Driver) -> Vec<Arc<DriverObject>> {
        let mut all = self.0.lock();
        all.retain(|object| object.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).filter(|object| object.driver == *driver).collect()
    }
}

object!(DriverObject: Driver, header);

impl Incomplete for cushim_driver_s {
    type Object = DriverObject;
}

/// The object that stands for the driver where a device is asked for it: one for each driver, and never released.
pub(super) fn shared(driver: &Driver) -> Arc<DriverObject> {
    static SHARED: Mutex<Vec<Arc<DriverObject>>> = Mutex::new(Vec::new());
    let mut shared = SHARED.lock();
    if let Some(known) = shared.iter().find(|known| known.driver == *driver) {
        return Arc::clone(known);
    }
    let new = DriverObject::new(driver.clone());
    shared.push(Arc::clone(&new));
    new
}

fn candidate(candidate: &Candidate) -> CandidateTexts {
    CandidateTexts {
        path: os_text(candidate.name.as_os_str()),
        error: candidate.error.as_deref().map(text),
        origin: text(candidate.origin.name()),
    }
}

fn os_text(os: &OsStr) -> CString {
    text(os.as_encoded_bytes())
}

/// The text as C reads it: up to a NUL, should one be in it.
fn text(text: impl AsRef<[u8]>) -> CString {
    let bytes = text.as_ref();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}

/// The names of a row of the catalogue.
pub(super) struct RowTexts {
    pub(super) base: CString,
    pub(super) exported: CString,
    pub(super) per_thread: CString,
    pub(super) group: CString,
}

/// The names of every row, made when they are first asked for.
pub(super) fn catalogue_texts() -> &'static [RowTexts] {
    static TEXTS: OnceLock<Vec<RowTexts>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let rows = catalogue::ROWS.iter().map(|row| RowTexts {
            base: text(row.base),
            exported: text(row.exported),
            per_thread: text(row.per_thread.map_or("", |(exported, _)| exported)),
            group: text(row.group.name()),
        });
        rows.collect()
    })
}

/// The driver's borrowed handle, whoever opened it.
pub(super) fn driver_handle(driver: &Driver) -> Result<cushim_driver, Error> {
    borrowed(&shared(driver))
}

/// Returns one more owning handle of a driver.
///
/// @param[in] driver The driver.
/// @param[out, owned] reference The new handle.
/// @task open a driver
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_ref(
    driver: cushim_driver,
    reference: *mut cushim_driver,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(driver, reference) }
}

/// Returns how many deferred releases have failed.
///
/// An object whose last handle is destroyed while a thread or another object still uses it is released later. If that
/// release fails, no call can return the error: it is logged and counted here.
///
/// @param[in] driver The driver.
/// @param[out] count The number since the process started.
/// @task find out why a call failed
///
/// # Safety
/// `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_unreported_errors(
    driver: cushim_driver,
    count: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for `count`.
    unsafe {
        handles::tell(driver, count, "count", |driver| Ok(release::unreported_release_errors(&driver.driver)))
    }
}
