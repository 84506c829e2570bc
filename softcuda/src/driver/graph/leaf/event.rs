//! Nodes that record events, and that wait for them.

use crate::driver::event::Event;
use crate::driver::operation::Operation;
use crate::driver::operation::event::{Record, Wait};
use std::sync::Arc;

/// Records an event.
pub(crate) struct RecordNode {
    pub(crate) event: Arc<Event>,
    pub(crate) operation: Arc<Operation>,
}

/// Waits for one.
pub(crate) struct WaitNode {
    pub(crate) event: Arc<Event>,
    pub(crate) operation: Arc<Operation>,
}

impl RecordNode {
    pub(crate) fn new(event: Arc<Event>) -> Self {
        let operation = Arc::new(Record::of(Arc::clone(&event)).into());
        Self { event, operation }
    }
}

impl WaitNode {
    pub(crate) fn new(event: Arc<Event>) -> Self {
        let operation = Arc::new(Wait { event: Arc::clone(&event) }.into());
        Self { event, operation }
    }
}
