//! Handles: the values by which callers know the driver's objects.
//!
//! A handle is a number that is never given out twice and is never an address, so a stale one, or one of another kind,
//! is recognised instead of followed. (The measured drivers follow it, and crash.)

use crate::check;
use crate::instruments::live::{self, Source};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Once};

/// Between the usual places of heap and mappings, so that nobody takes one for an address that works.
static NEXT: AtomicUsize = AtomicUsize::new(0x50f7_c0da_0000);

/// From one handle to the next.
const STEP: usize = 16;

/// Handles for objects that are made together; they rise.
pub(crate) fn reserve(count: usize) -> impl Iterator<Item = usize> {
    let first = NEXT.fetch_add(count * STEP, Ordering::Relaxed);
    (0..count).map(move |at| first + at * STEP)
}

/// An object that callers know by a handle.
pub(crate) trait Object: Send + Sync + 'static {
    /// What a report of all that lives says of it; `None` if it is not the program's to release.
    fn report(&self) -> Option<live::Object>;

    /// The program calls it so from now on.
    fn was_labelled(&self, _label: Option<&Arc<str>>) {}
}

/// The live objects of one kind.
pub(crate) struct Table<T> {
    objects: LazyLock<RwLock<HashMap<usize, Arc<T>>>>,
    /// What the program calls some of them. Its lock is taken under that of the objects.
    labels: Mutex<BTreeMap<usize, Arc<str>>>,
    registered: Once,
}

impl<T: Object> Table<T> {
    pub(crate) const fn new() -> Self {
        Self {
            objects: LazyLock::new(|| RwLock::new(HashMap::new())),
            labels: Mutex::new(BTreeMap::new()),
            registered: Once::new(),
        }
    }

    /// Adds the object that `make` builds for its handle.
    pub(crate) fn add(&'static self, make: impl FnOnce(usize) -> T) -> Arc<T> {
        self.registered.call_once(|| live::register(self));
        let handle = NEXT.fetch_add(STEP, Ordering::Relaxed);
        let object = Arc::new(make(handle));
        check::note_made(handle);
        self.objects.write().insert(handle, Arc::clone(&object));
        object
    }

    /// Adds objects that know their handles.
    pub(crate) fn insert(&'static self, objects: impl IntoIterator<Item = (usize, Arc<T>)>) {
        self.registered.call_once(|| live::register(self));
        let noted = objects.into_iter().inspect(|(handle, _)| check::note_made(*handle));
        self.objects.write().extend(noted);
    }

    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.objects.read().get(&handle).cloned()
    }

    /// Takes the object out; its handle stays unused for ever.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let mut objects = self.objects.write();
        self.labels.lock().remove(&handle);
        objects.remove(&handle)
    }

    /// Takes many objects out.
    pub(crate) fn remove_all(&self, handles: impl IntoIterator<Item = usize>) {
        let mut objects = self.objects.write();
        let mut labels = self.labels.lock();
        let mut take = |handle| {
            labels.remove(&handle);
            objects.remove(&handle)
        };
        let removed: Vec<_> = handles.into_iter().filter_map(&mut take).collect();
        drop((labels, objects));
        drop(removed); // which may have handles, too
    }

    /// Shows every object to `look`, which must not touch the table.
    pub(crate) fn each(&self, look: impl FnMut(&T)) {
        self.objects.read().values().map(|object| &**object).for_each(look);
    }
}

impl<T: Object> Source for Table<T> {
    fn show(&self, show: &mut dyn FnMut(live::Object)) {
        let objects = self.objects.read();
        let labels = self.labels.lock();
        let known = objects.iter().filter_map(|(handle, object)| Some((handle, object.report()?)));
        known
            .for_each(|(handle, object)| show(live::Object { label: labels.get(handle).cloned(), ..object }));
    }

    fn set_label(&self, name: usize, label: Option<&Arc<str>>) -> bool {
        let objects = self.objects.read();
        let Some(object) = objects.get(&name) else { return false };
        let mut labels = self.labels.lock();
        match label {
            Some(label) => drop(labels.insert(name, Arc::clone(label))),
            None => drop(labels.remove(&name)),
        }
        object.was_labelled(label);
        true
    }
}
