//! What the driver releases for an instance that was destroyed: on a thread of its own, when the last launch is done.

use super::retired::Launches;
use crate::context::Context;
use crate::object::callback::{self, expect};
use crate::op::attachment::Version;
use std::sync::{Arc, Weak};

/// What the driver kept for a destroyed instance, and nothing else refers to.
struct Due {
    versions: Vec<Version>,
    context: Weak<Context>,
    /// `None` once they are known to be done.
    launches: Option<Launches>,
}

/// The driver's instance was destroyed, and had kept this: who waits for releases waits for it as soon as the launches are done.
pub(super) fn destroyed(mut versions: Vec<Version>, context: &Arc<Context>, launches: Launches) {
    versions.retain(|version| version.is_only() && version.is_there());
    if versions.is_empty() {
        return;
    }
    let launches = if launches.are_done() { None } else { Some(launches) };
    expect(Due { versions, context: Arc::downgrade(context), launches });
}

impl callback::Due for Due {
    fn is_over(&self) -> bool {
        !self.versions.iter().any(Version::is_there)
    }

    /// After an error of the device the driver may release nothing any more.
    fn is_now(&self) -> bool {
        self.launches.as_ref().is_none_or(Launches::are_done)
            && self.context.upgrade().is_some_and(|context| context.lost().is_none())
    }
}
