//! Captures of this library's that are under way, by the driver's graph: by that streams are recognised which others, or the driver, have
//! made part of one. A per-thread default stream that waits for a captured event is one, which is another stream on each thread.

use super::{CaptureSink, info};
use crate::driver::sys::CUgraph;
use crate::object::error::Error;
use crate::stream::Stream;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

struct Known {
    graph: usize,
    sink: Weak<dyn CaptureSink>,
}

static UNDER_WAY: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// A capture has begun.
pub(crate) fn began(graph: CUgraph, sink: Weak<dyn CaptureSink>) {
    UNDER_WAY.lock().push(Known { graph: graph.addr(), sink });
}

/// A capture is over; the driver may give the handle of its graph to another.
pub(crate) fn is_over(sink: &Weak<dyn CaptureSink>) {
    UNDER_WAY.lock().retain(|known| !known.sink.ptr_eq(sink));
}

/// The capture that a stream is part of, if that is one of this library's.
pub(super) fn of(stream: &Stream) -> Result<Option<Arc<dyn CaptureSink>>, Error> {
    if UNDER_WAY.lock().is_empty() {
        return Ok(None);
    }
    let graph = info(stream)?.graph.addr();
    let under_way = UNDER_WAY.lock();
    let sink = under_way.iter().find(|known| known.graph == graph).and_then(|known| known.sink.upgrade());
    drop(under_way);
    Ok(sink.filter(|sink| !sink.is_over()))
}
