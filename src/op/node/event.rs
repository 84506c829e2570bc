//! Records of events and waiting for them, as nodes.

use super::holds::For;
use super::{HandedOver, Holds, NodeOperation, NodeType, Parameters};
use crate::context::Context;
use crate::driver::Driver;
use crate::driver::sys::CUevent;
use crate::event::Event;
use crate::object::error::Error;
use crate::object::handle::Shared as _;
use crate::object::handle::Weakly;
use crate::op::event::check_event;
use crate::op::{Record, Traits, Wait};

/// Which event a node records, or waits for.
#[derive(Debug, Clone)]
pub struct EventParameters {
    event: Weakly<Event>,
    native: CUevent,
}

// SAFETY: the driver's events may be used from every thread.
unsafe impl Send for EventParameters {}
// SAFETY: as above.
unsafe impl Sync for EventParameters {}

impl EventParameters {
    fn of(event: &Event) -> Self {
        Self { event: event.downgrade(), native: event.native_in_graph() }
    }

    /// What the driver says of a node.
    pub(crate) fn of_driver(driver: &Driver, native: CUevent) -> Self {
        let event = Event::of_native(driver, native);
        Self { event: event.as_ref().map_or_else(Weakly::new, |event| event.downgrade()), native }
    }

    /// The event, as long as it is there.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        self.event.upgrade()
    }

    /// The driver's own handle.
    #[must_use]
    pub fn native(&self) -> CUevent {
        self.native
    }
}

fn holds(event: &Event) -> HandedOver {
    let mut holds = Holds::default();
    holds.keep(For::Object(0), event.hold());
    HandedOver(holds)
}

impl NodeOperation for Record<'_> {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::EventRecord
    }

    fn node_traits(&self) -> Traits {
        Traits::default()
    }

    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error> {
        check_event(self.0, at)?;
        Ok(Parameters::EventRecord(EventParameters::of(self.0)))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        true
    }

    fn holds(&mut self) -> HandedOver {
        self.0.is_recorded_by_graph();
        holds(self.0)
    }
}

impl NodeOperation for Wait<'_> {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::EventWait
    }

    fn node_traits(&self) -> Traits {
        Traits::default()
    }

    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error> {
        check_event(self.0.event, at)?;
        Ok(Parameters::EventWait(EventParameters::of(self.0.event)))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        true
    }

    fn holds(&mut self) -> HandedOver {
        self.0.event.is_awaited_by_graph();
        holds(self.0.event)
    }
}
