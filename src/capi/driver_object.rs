//! What stands behind a `cushim_driver`: the driver, with its texts as C reads them.

use crate::driver::{Candidate, Driver, catalogue};
use crate::handle::{Header, object};
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
