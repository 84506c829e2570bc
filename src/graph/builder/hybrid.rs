//! Graphs and conditional nodes in what is captured.

use super::capture::Body;
use super::phase::Phase;
use super::{Builder, BuilderKind, Of};
use crate::graph::{Condition, ConditionOptions, ConditionalKind, Graph, Node};
use crate::object::error::Error;
use crate::stream::{Stream, StreamOptions};
use std::sync::Arc;

/// How a graph is embedded in what a builder captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embedding {
    /// As a copy.
    Clone,
    /// It is a part of what is captured from now on; driver 12.9.
    Move,
}

impl Builder {
    /// Embeds a graph as a child graph node, which comes after what was captured by now; what is captured next comes after it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a builder that does not capture; those of
    /// [`Graph::add_child`] and [`Graph::move_child`].
    pub fn add_child(&self, graph: &Graph, how: Embedding) -> Result<(Node, Graph), Error> {
        let capture = self.capturing("nothing can be embedded in it")?;
        let after = capture.tail_of(&self.0.stream);
        let added = match how {
            Embedding::Clone => capture.graph.add_child_after(&after, graph)?,
            Embedding::Move => capture.graph.move_child_after(&after, graph)?,
        };
        let node = after.goes_on_with(added)?;
        let inner = node.graphs()?.remove(0);
        Ok((node, inner))
    }

    /// Creates a condition of what is captured: [`Graph::create_condition`].
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a builder that does not capture;
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) before driver 12.3.
    pub fn create_condition(&self, options: &ConditionOptions) -> Result<Condition, Error> {
        self.capturing("it has no conditions")?.graph.create_condition(options)
    }

    /// Adds a conditional node, which comes after what was captured by now; what is captured next comes after it. Its bodies are
    /// captured by a builder each, which are not begun yet, or filled by hand: [`Builder::graph`] gives a body before its builder begins.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a builder that does not capture; those of
    /// [`Graph::add_conditional`].
    pub fn add_conditional(
        &self,
        condition: &Condition,
        kind: ConditionalKind,
        bodies: usize,
    ) -> Result<(Node, Vec<Self>), Error> {
        let capture = self.capturing("no conditional node can be added")?;
        let streams: Result<Vec<_>, _> = (0..bodies.min(MOST_STREAMS))
            .map(|_| Stream::create(self.context(), &StreamOptions::default()))
            .collect();
        let streams = streams?;
        let after = capture.tail_of(&self.0.stream);
        let node =
            after.goes_on_with(capture.graph.add_conditional_after(&after, condition, kind, bodies)?)?;
        let graphs = node.graphs()?;
        let body = |(graph, stream): (Graph, Stream)| {
            stream.belongs_to_builder();
            let body = Body { graph, outer: Arc::downgrade(&capture) };
            Self::new(BuilderKind::Body, self.0.mode, Of::Builder(stream), Some(body), Phase::NotStarted)
        };
        Ok((node, graphs.into_iter().zip(streams).map(body).collect()))
    }
}

/// A number of bodies above this is refused.
const MOST_STREAMS: usize = 4096;
