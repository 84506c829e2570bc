//! How far a builder is.

use super::capture::Capture;
use crate::graph::Graph;
use std::sync::Arc;

/// How far a builder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuilderState {
    /// It was not begun.
    NotStarted,
    /// It captures.
    Capturing,
    /// It has ended.
    Ended,
    /// It was closed, was joined into another, or its capture failed.
    Closed,
}

/// What a builder captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuilderKind {
    /// A graph.
    Primary,
    /// A part of what another one captures, beside that.
    Forked,
    /// A body of a conditional node.
    Body,
}

impl BuilderKind {
    /// As messages name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Primary => "builder",
            Self::Forked => "forked builder",
            Self::Body => "body builder",
        }
    }
}

/// How far a builder is, with what it has there.
pub(super) enum Phase {
    NotStarted,
    Capturing(Arc<Capture>),
    Ended(Graph),
    Closed,
}

impl Phase {
    /// The capture that is under way.
    pub(super) fn capture(&self) -> Option<&Arc<Capture>> {
        match self {
            Self::Capturing(capture) if !capture.is_over() => Some(capture),
            _ => None,
        }
    }

    pub(super) fn state(&self) -> BuilderState {
        match self {
            Self::NotStarted => BuilderState::NotStarted,
            Self::Capturing(capture) if capture.is_over() => BuilderState::Closed,
            Self::Capturing(_) => BuilderState::Capturing,
            Self::Ended(_) => BuilderState::Ended,
            Self::Closed => BuilderState::Closed,
        }
    }
}
