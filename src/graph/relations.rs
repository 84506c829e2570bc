//! Definitions, and what was made of them.
//!
//! The driver knows of a definition its clones, the graphs that embed it, and its instances, and guards none of that: driver 580 crashes
//! when one thread makes or destroys such a relative while another edits the definition, or makes or destroys another one (measured;
//! launches, and edits of two relatives at the same time, go well). So whoever makes or destroys relatives is alone in the process, and
//! who edits a definition that has some waits for that. A definition without relatives takes no lock but its own.
//!
//! This lock is the innermost: it is held for one call of the driver, in which no definition is locked or destroyed.

use super::definition::State;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static RELATIONS: RwLock<()> = RwLock::new(());

/// While the definition is edited.
#[inline]
pub(super) fn kept(state: &State) -> Option<RwLockReadGuard<'static, ()>> {
    state.has_relatives.then(|| RELATIONS.read())
}

/// While relatives of definitions are made or destroyed.
pub(super) fn changed() -> RwLockWriteGuard<'static, ()> {
    RELATIONS.write()
}
