//! When work that could run does run: `SOFTCUDA_SCHEDULE`.

/// A rule that decides it. All of them keep the order that streams and events demand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// As soon as it can.
    Eager,
}

impl Schedule {
    /// The schedule that the environment names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        (name == "eager").then_some(Self::Eager)
    }
}
