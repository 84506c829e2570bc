//! What streams tell of themselves where somebody wants to know what nothing orders (`CUSHIM_CHECK=order`).

use super::{NOTHING_RUNS, Stream, StreamKind};
use crate::check::{self, LookedUp, Sort, StreamKey, Who};
use crate::driver::calls::stream::RawStream;
use crate::object::error::Error;
use crate::object::thread::ThreadId;

impl Stream {
    /// By what it is known. A default stream is another one in each context, and perhaps on each thread.
    pub(super) fn key(&self) -> StreamKey {
        let thread = if self.kind() == StreamKind::PerThread { ThreadId::current().number() } else { 0 };
        let context = if self.is_default() { self.context().native().addr() } else { 0 };
        StreamKey { context, native: self.raw().handle().addr(), thread }
    }

    /// The stream as one that does something, and is not under capture.
    #[cold]
    pub(crate) fn who(&self) -> Who {
        let is_non_blocking = || self.here(RawStream::is_non_blocking).unwrap_or(false);
        let sort = match self.kind() {
            StreamKind::Legacy => Sort::Legacy,
            StreamKind::Created | StreamKind::Wrapped if is_non_blocking() => Sort::NonBlocking,
            _ => Sort::Blocking,
        };
        let is_unnamed = self.label().is_none() && !self.is_default();
        Who {
            key: self.key(),
            sort,
            context: self.context().native().addr(),
            is_shared: !self.is_default() && self.may_be_known_to_others(),
            name: if is_unnamed { format!("{self} {:?}", self.raw().handle()) } else { self.to_string() },
        }
    }

    /// The context has done this, after what was in the stream, and has waited for it.
    #[cold]
    pub(crate) fn was_waited_for_after(&self, deeds: LookedUp) {
        let who = self.who();
        let key = who.key;
        check::did(who, deeds);
        check::waited_for_stream(key);
    }

    /// As [`synchronize`](Self::synchronize), where a capture or the check may have to be asked.
    #[cold]
    pub(super) fn synchronize_asking(&self) -> Result<(), Error> {
        self.here_uncaptured(NOTHING_RUNS, RawStream::synchronize)?;
        if self.is_order_checked() {
            check::waited_for_stream(self.key());
        }
        Ok(())
    }

    /// As [`query`](Self::query), where a capture or the check may have to be asked.
    #[cold]
    pub(super) fn query_asking(&self) -> Result<bool, Error> {
        let is_done = self.here_uncaptured(NOTHING_RUNS, RawStream::query)?;
        if is_done && self.is_order_checked() {
            check::waited_for_stream(self.key());
        }
        Ok(is_done)
    }
}
