//! A capture into a graph, as the rest of its definition knows it.

/// What captures into a graph.
pub(super) trait Recorder: Send + Sync {
    /// Whether it has ended.
    fn is_over(&self) -> bool;

    /// Whether the driver must not be asked for the graph any more, because the capture is invalid.
    fn graph_is_invalid(&self) -> bool;

    /// What its builder is called.
    fn builder(&self) -> String;
}
