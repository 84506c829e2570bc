//! The driver's instance goes, with what it holds.
//!
//! It is destroyed inside the destroy, also while a launch of it is in flight, which goes on (measured). One with conditional nodes is not:
//! driver 580 waits for the launch there, and keeps every other call of the context waiting. Such a one goes when its launches are done.

use super::held::Held;
use super::launches::Launches;
use super::leaving::Leaving;
use super::retired::{Wait, when_over};
use crate::driver::calls::graph::exec::RawExec;
use crate::graph::definition::Tree;
use crate::graph::instance::Instance;
use crate::graph::relations;
use crate::object::error::{Error, Subject};
use crate::object::native::Named;
use crate::object::release::report;
use std::sync::Arc;

/// The driver's instance, which nobody has any more.
pub(super) struct Ending {
    pub(super) raw: RawExec,
    pub(super) held: Held,
    pub(super) tree: Arc<Tree>,
    pub(super) instance: Arc<Instance>,
}

impl Ending {
    /// Ends it, and lets go of what was kept for its launches when they are done.
    pub(super) fn end(
        self,
        mut launches: Launches,
        leaving: Leaving,
        exec: &dyn Subject,
    ) -> Result<(), Error> {
        let contexts = self.held.contexts().to_vec();
        let waits = match self.held.has_conditional() {
            true => launches.take_pending(&contexts),
            false => Default::default(),
        };
        if waits.is_empty() {
            let result = self.destroy(exec);
            launches.end(leaving, &contexts, exec);
            return result;
        }
        if waits.iter().any(Wait::is_of_capture) {
            // Perhaps the caller's: it must not wait for its end in an instantiation.
            let result = self.destroy(exec);
            when_over(waits, contexts, move || drop(leaving));
            return result;
        }
        self.instance.ends_later();
        let named = Named::of(exec);
        when_over(waits, contexts, move || {
            let driver = self.tree.driver().clone();
            report(&driver, self.destroy(&named));
            drop(leaving);
        });
        Ok(())
    }

    fn destroy(self, exec: &dyn Subject) -> Result<(), Error> {
        let Self { raw, held, tree, instance } = self;
        let result = if held.is_gone() {
            let native = raw.handle();
            log::warn!(target: "cushim", "{exec}: a context of its nodes is gone, so the driver's exec {native:?} and what it has are leaked");
            held.abandon(tree.context().is_gone() || tree.definition().is_none());
            Ok(())
        } else {
            let relatives = relations::changed();
            let destroyed = raw.destroy();
            drop(relatives);
            tree.context().released(destroyed, exec)
        };
        drop(instance); // from now on the definition can have another one
        result
    }
}
