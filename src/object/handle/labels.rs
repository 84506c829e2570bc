//! The labels of destroyed handles, for messages about them.

use super::token::Token;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many are remembered. Each is at most 4 KiB long, so a program that labels everything keeps 1 MiB.
pub(super) const REMEMBERED: usize = 256;

/// The labels of the handles that were destroyed last.
pub(super) struct Labels(VecDeque<(Token, Arc<str>)>);

impl Labels {
    pub(super) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Remembers the label of a handle that ends, and forgets the oldest if there are too many.
    pub(super) fn remember(&mut self, token: Token, label: Arc<str>) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        // Without memory the message lacks a label; a destroy does not fail for that.
        if self.0.try_reserve(1).is_ok() {
            self.0.push_back((token, label));
        }
    }

    pub(super) fn of(&self, token: Token) -> Option<Arc<str>> {
        self.0.iter().rev().find(|(of, _)| *of == token).map(|(_, label)| Arc::clone(label))
    }
}
