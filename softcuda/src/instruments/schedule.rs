//! When work that could run does run: `SOFTCUDA_SCHEDULE`.

/// A rule that decides it. All of them keep the order that streams and events demand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// As soon as it can.
    Eager,
    /// When something waits for it or asks about it.
    Lazy,
    /// At moments and in an order that are drawn at random, from this seed.
    Seeded(u64),
    /// One piece after the other, in the order in which they were submitted.
    InOrder,
}

impl Schedule {
    /// The schedule that the environment names.
    pub(crate) fn named(name: &str, seed: u64) -> Option<Self> {
        Some(match name {
            "eager" => Self::Eager,
            "lazy" => Self::Lazy,
            "seeded" => Self::Seeded(seed),
            "in-order" => Self::InOrder,
            _ => return None,
        })
    }
}
