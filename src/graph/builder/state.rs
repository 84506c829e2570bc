//! What a builder can be asked for, and when.

use super::Builder;
use super::capture::Capture;
use super::phase::{BuilderKind, BuilderState, Phase};
use super::refusal;
use crate::object::error::Error;
use std::sync::Arc;

impl Builder {
    /// What the builder captures.
    #[must_use]
    pub fn kind(&self) -> BuilderKind {
        self.0.kind
    }

    /// How far it is.
    #[must_use]
    pub fn state(&self) -> BuilderState {
        self.0.phase.lock().state()
    }

    /// Whether it has to be joined into another one before that can end.
    #[must_use]
    pub fn needs_join(&self) -> bool {
        self.0.kind == BuilderKind::Forked && self.state() == BuilderState::Capturing
    }

    pub(super) fn check_not_started(&self, phase: &Phase) -> Result<(), Error> {
        match phase.state() {
            BuilderState::NotStarted => Ok(()),
            BuilderState::Capturing => Err(self.refused(
                "is capturing already; end it (cushim_builder_end), or create another one".to_owned(),
            )),
            BuilderState::Ended => {
                Err(self.refused(format!("has ended, and captures once; {}", self.instead())))
            }
            BuilderState::Closed => Err(self.refused(format!("is closed; {}", self.instead()))),
        }
    }

    pub(super) fn check_ends<'a>(&self, phase: &'a Phase) -> Result<&'a Arc<Capture>, Error> {
        if self.0.kind == BuilderKind::Forked {
            let why = match phase.capture() {
                Some(_) => "was forked from another one: join it into that, and end that",
                None => "was forked from another one, and is closed or joined; end that one",
            };
            return Err(self.refused(why.to_owned()));
        }
        phase.capture().ok_or_else(|| self.out_of_order(phase, "cannot end"))
    }

    /// The capture that is under way; `why` says what does not go without.
    pub(super) fn capturing(&self, why: &str) -> Result<Arc<Capture>, Error> {
        let phase = self.0.phase.lock();
        phase.capture().cloned().ok_or_else(|| self.out_of_order(&phase, why))
    }

    /// How far it is, and what can be done then.
    fn advice(&self, state: BuilderState) -> (&'static str, &'static str) {
        match state {
            BuilderState::NotStarted => ("was not begun", "begin it first"),
            BuilderState::Capturing => ("is capturing", "end it first"),
            BuilderState::Ended => ("has ended", self.instead()),
            BuilderState::Closed => ("is closed", self.instead()),
        }
    }

    /// What can be done where it captures no more: a body has one builder.
    fn instead(&self) -> &'static str {
        match &self.0.body {
            None if self.0.kind == BuilderKind::Forked => "fork another one",
            None => "create another one",
            Some(body) if body.graph.still_there().is_err() => "the body is gone, capture its graph anew",
            Some(_) => "edit the body itself, by its handle (cushim_node_get_graphs)",
        }
    }

    #[cold]
    fn out_of_order(&self, phase: &Phase, why: &str) -> Error {
        let (is, advice) = self.advice(phase.state());
        self.refused(format!("{is}, so {why}; {advice}"))
    }

    /// The refusal of its stream, which is stale.
    #[cold]
    pub(super) fn no_stream(&self) -> Error {
        let (is, advice) = self.advice(self.state());
        let refusal = format!("{self} {is}, so it has no stream to capture; {advice}");
        Error::new(crate::object::error::Status::INVALID_HANDLE, refusal).about(self)
    }

    #[cold]
    pub(super) fn no_graph(&self, phase: &Phase) -> Error {
        match (self.0.kind, phase.state()) {
            (BuilderKind::Forked, _) => self.refused(
                "was forked from another one and has no graph of its own; ask the primary builder".to_owned(),
            ),
            _ => self.out_of_order(phase, "there is no graph"),
        }
    }

    #[cold]
    pub(super) fn refused(&self, why: String) -> Error {
        refusal::refused(self, &why)
    }
}
