//! Graphs that are recorded from typed work, and launched without `unsafe`.

use crate::context::Context;
use crate::graph::{Builder, BuilderOptions, Exec, ExecOptions, Graph};
use crate::object::error::Error;
use crate::stream::Stream;

/// Work that was recorded once and is launched again and again. It keeps what it uses: slices may be dropped meanwhile.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::typed::{DeviceSlice, RecordedGraph};
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let stream = Stream::create(&context, &StreamOptions::default())?;
/// let (mut from, mut to) = (DeviceSlice::<u32>::zeroed(&stream, 4)?, DeviceSlice::zeroed(&stream, 4)?);
/// let graph = RecordedGraph::record(&context, |stream| to.copy_from(stream, &from))?;
///
/// from.fill(&stream, 7)?;
/// graph.launch(&stream)?;
/// assert_eq!(to.to_vec(&stream)?, [7; 4]);
/// drop(from); // the graph keeps its memory
/// graph.launch(&stream)?;
/// assert_eq!(to.to_vec(&stream)?, [7; 4]);
/// # Ok::<(), cushim::Error>(())
/// ```
///
/// A launch is ordered as any other work in its stream. Slices know nothing of launches in other streams than their home stream: these wait
/// for each other where you say so ([`Stream::wait_stream`]).
#[derive(Debug, Clone)]
pub struct RecordedGraph {
    graph: Graph,
    exec: Exec,
}

impl RecordedGraph {
    /// Records what `body` enqueues in the stream that it gets: nothing of it is done before the graph is launched.
    ///
    /// # Errors
    /// What `body` returns; as for [`Builder::end`] and [`Exec::create`].
    pub fn record(context: &Context, body: impl FnOnce(&Stream) -> Result<(), Error>) -> Result<Self, Error> {
        let builder = Builder::create(context, &BuilderOptions::default())?;
        builder.begin()?;
        let recorded = builder.stream().and_then(|stream| body(&stream));
        if let Err(failure) = recorded {
            // What the body says is the reason, whatever comes of the rest of it.
            return Err(builder.close().err().map_or(failure.clone(), |_| failure));
        }
        let graph = builder.end()?;
        let exec = Exec::create(&graph, &ExecOptions::default(), None)?;
        Ok(Self { graph, exec })
    }

    /// Launches it in a stream. It returns before the work is done. Launches of one graph run one after the other.
    ///
    /// # Errors
    /// As for [`Exec::launch`].
    pub fn launch(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: it was recorded from safe calls, and from those for whose every launch somebody vouched; the graph keeps the memory that
        // they name, which is inside of slices.
        unsafe { self.exec.launch(stream) }
    }

    /// The definition. Changes of it do not reach this.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What is launched.
    #[must_use]
    pub fn exec(&self) -> &Exec {
        &self.exec
    }
}
