//! Instructions of several lanes: what each gets of the others.

use super::core::{Bits, LANES, Reg};

/// What is done together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptx) enum Kind {
    /// `bar.warp.sync`
    Wait,
    ShuffleUp,
    ShuffleDown,
    ShuffleButterfly,
    ShuffleIndex,
    VoteAll,
    VoteAny,
    VoteUniform,
    Ballot,
    MatchAny,
    MatchAll,
    ReduceAdd,
    ReduceMinUnsigned,
    ReduceMaxUnsigned,
    ReduceMinSigned,
    ReduceMaxSigned,
    ReduceAnd,
    ReduceOr,
    ReduceXor,
    Elect,
}

/// The operands of a collective instruction.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct Collective {
    pub(in crate::ptx) kind: Kind,
    /// The result and its bytes; 0 is a predicate.
    pub(in crate::ptx) result: Option<(Reg, u32)>,
    /// The predicate beside it.
    pub(in crate::ptx) beside: Option<Reg>,
    /// The value and its bytes; 0 is a predicate, negated if the flag says so.
    pub(in crate::ptx) value: Option<(Reg, u32)>,
    pub(in crate::ptx) negated: bool,
    /// Operands b and c of a shuffle.
    pub(in crate::ptx) lane: Option<Reg>,
    pub(in crate::ptx) clamp: Option<Reg>,
    /// The member mask; without one the active lanes take part (the forms before `.sync`).
    pub(in crate::ptx) members: Option<Reg>,
}

/// The operands' values by lane.
#[derive(Clone)]
pub(in crate::ptx) struct Inputs {
    pub(in crate::ptx) value: [u64; LANES],
    pub(in crate::ptx) lane: [u32; LANES],
    pub(in crate::ptx) clamp: [u32; LANES],
}

impl Inputs {
    pub(in crate::ptx) const fn new() -> Self {
        Self { value: [0; LANES], lane: [0; LANES], clamp: [0; LANES] }
    }
}

/// What each lane gets: a value (1 or 0 where it is a predicate), and the predicate beside it.
pub(in crate::ptx) struct Outputs {
    pub(in crate::ptx) value: [u64; LANES],
    pub(in crate::ptx) beside: u32,
}

/// Does it for the lanes of `set`.
pub(in crate::ptx) fn exchange(kind: Kind, set: u32, inputs: &Inputs) -> Outputs {
    let mut out = Outputs { value: [0; LANES], beside: 0 };
    let truth = Bits(set).fold(0, |bits, lane| bits | u32::from(inputs.value[lane] != 0) << lane);
    let all = |value: u64| [value; LANES];
    match kind {
        Kind::Wait => {}
        Kind::ShuffleUp | Kind::ShuffleDown | Kind::ShuffleButterfly | Kind::ShuffleIndex => {
            shuffle(kind, set, inputs, &mut out);
        }
        Kind::VoteAll => out.value = all(u64::from(truth == set)),
        Kind::VoteAny => out.value = all(u64::from(truth != 0)),
        Kind::VoteUniform => out.value = all(u64::from(truth == 0 || truth == set)),
        Kind::Ballot => out.value = all(truth.into()),
        Kind::MatchAny => {
            for lane in Bits(set) {
                let same = Bits(set).filter(|&other| inputs.value[other] == inputs.value[lane]);
                out.value[lane] = same.fold(0, |bits, other| bits | 1 << other);
            }
        }
        Kind::MatchAll => {
            let first = inputs.value[set.trailing_zeros() as usize % LANES];
            if Bits(set).all(|lane| inputs.value[lane] == first) {
                out.value = all(set.into());
                out.beside = set;
            }
        }
        Kind::Elect => {
            out.value = all(set.trailing_zeros().into());
            out.beside = 1 << (set.trailing_zeros() % 32);
        }
        _ => out.value = all(reduce(kind, set, inputs).into()),
    }
    out
}

fn shuffle(kind: Kind, set: u32, inputs: &Inputs, out: &mut Outputs) {
    for lane in Bits(set) {
        let by = (inputs.lane[lane] & 31) as usize;
        let (clamp, segment) = ((inputs.clamp[lane] & 31) as usize, (inputs.clamp[lane] >> 8 & 31) as usize);
        let last = lane & segment | clamp & !segment;
        let first = lane & segment;
        let (from, valid) = match kind {
            Kind::ShuffleUp => (lane.wrapping_sub(by), lane as isize - by as isize >= last as isize),
            Kind::ShuffleDown => (lane + by, lane + by <= last),
            Kind::ShuffleButterfly => (lane ^ by, lane ^ by <= last),
            _ => {
                let from = first | by & !segment;
                (from, from <= last)
            }
        };
        let from = if valid { from } else { lane };
        out.value[lane] = inputs.value[from];
        out.beside |= u32::from(valid) << lane;
    }
}

fn reduce(kind: Kind, set: u32, inputs: &Inputs) -> u32 {
    let values = Bits(set).map(|lane| inputs.value[lane] as u32);
    let result = match kind {
        Kind::ReduceAdd => values.reduce(u32::wrapping_add),
        Kind::ReduceMinUnsigned => values.reduce(u32::min),
        Kind::ReduceMaxUnsigned => values.reduce(u32::max),
        Kind::ReduceMinSigned => values.reduce(|a, b| (a as i32).min(b as i32) as u32),
        Kind::ReduceMaxSigned => values.reduce(|a, b| (a as i32).max(b as i32) as u32),
        Kind::ReduceAnd => values.reduce(|a, b| a & b),
        Kind::ReduceOr => values.reduce(|a, b| a | b),
        _ => values.reduce(|a, b| a ^ b),
    };
    result.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Inputs, Kind, LANES, exchange};

    fn numbered() -> Inputs {
        Inputs { value: std::array::from_fn(|i| i as u64), lane: [1; LANES], clamp: [0; LANES] }
    }

    #[test]
    fn shuffles_stay_in_their_segment() {
        let mut inputs = numbered();
        inputs.clamp = [31; LANES];
        let down = exchange(Kind::ShuffleDown, !0, &inputs);
        assert_eq!((down.value[0], down.value[31], down.beside), (1, 31, !0 >> 1));
        inputs.clamp = [24 << 8 | 31; LANES]; // width 8
        let down = exchange(Kind::ShuffleDown, !0, &inputs);
        assert_eq!((down.value[6], down.value[7], down.value[8]), (7, 7, 9));
        inputs.clamp = [24 << 8; LANES];
        let up = exchange(Kind::ShuffleUp, !0, &inputs);
        assert_eq!((up.value[0], up.value[1], up.value[8], up.value[9]), (0, 0, 8, 8));
    }

    #[test]
    fn votes_and_reductions() {
        let inputs = numbered();
        assert_eq!(exchange(Kind::Ballot, 0xff, &inputs).value[0], 0xfe);
        assert_eq!(exchange(Kind::ReduceAdd, 0xf, &inputs).value[2], 6);
        assert_eq!(exchange(Kind::MatchAny, 0xf, &inputs).value[2], 4);
        assert_eq!(exchange(Kind::VoteAny, 1, &inputs).value[0], 0);
    }
}
