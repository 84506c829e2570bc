//! Memory whose stream went with its context, while the memory is still there.

use crate::context::Context;
use crate::object::error::Error;
use crate::stream::{Stream, StreamOptions};
use std::sync::Arc;

/// A stream to free memory in whose own went with its context, `gone`: one of the living context, or of the primary one of its device,
/// which is retained for as long as that takes. Everything that came before in the stream is over: a reset waits for it (measured).
#[cold]
pub(crate) fn stand_in_for(gone: &Context, living: Option<&Arc<Context>>) -> Result<Arc<Stream>, Error> {
    match living {
        Some(living) => Stream::create(living, &StreamOptions::default()),
        None => Stream::create(&gone.device().primary_context()?, &StreamOptions::default()),
    }
}
