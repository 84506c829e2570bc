//! `mbarrier`: barriers in shared memory, which count threads that arrive and bytes that copies bring.
//!
//! One thread of the host runs all blocks of a cluster, so that a barrier's word is read and written like any other.

use super::access::Address;
use super::core::{Core, Handler, LANES, Op, Step};
use super::fault::FaultKind;
use super::seen::Use;
use super::space::Space;

/// The most arrivals that a barrier can wait for, and the most bytes that it can.
pub(in crate::ptx) const MOST: u32 = (1 << 20) - 1;

/// What an instruction does to a barrier. `b` is a number of arrivals or of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptx) enum Change {
    /// Waits for `b` arrivals in each phase.
    Init,
    /// The memory is for something else from now on; nothing is changed.
    Invalidate,
    /// `b` threads arrive.
    Arrive,
    /// The same, where the phase must not end.
    ArriveWithin,
    /// `b` threads arrive, and are not waited for in later phases.
    Drop,
    DropWithin,
    /// `b` more bytes are waited for.
    Expect,
    /// The same, and one thread arrives.
    ArriveExpecting,
    DropExpecting,
    /// `b` bytes have come.
    Complete,
    /// What `cp.async` has begun is done: nothing, for that is done at once.
    Copied,
}

/// What a barrier's 64 bits say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptx) struct Word {
    /// Whether the number of ended phases is odd.
    pub(in crate::ptx) odd: bool,
    /// How many arrivals each phase waits for.
    pub(in crate::ptx) expected: u32,
    /// How many are missing in this phase.
    pub(in crate::ptx) pending: u32,
    /// How many bytes are missing; less than none if copies came before they were expected.
    pub(in crate::ptx) bytes: i32,
}

/// Numbers of arrivals are kept as what is missing to this: so does compute capability 9.0, whose bits programs can see in a state.
const FULL: u32 = MOST + 1;

impl Word {
    const PHASE: u32 = 63;
    const PENDING: u32 = 43;
    const BYTES: u32 = 21;
    const EXPECTED: u32 = 1;

    pub(in crate::ptx) fn of(bits: u64) -> Self {
        let missing = |shift: u32| (FULL - ((bits >> shift) as u32 & MOST)) & MOST;
        Self {
            odd: bits >> Self::PHASE != 0,
            expected: missing(Self::EXPECTED),
            pending: missing(Self::PENDING),
            // 21 bits, the topmost of which is the sign.
            bytes: -(((bits >> Self::BYTES) as i32) << 11 >> 11),
        }
    }

    fn bits(self) -> u64 {
        let missing = |count: u32, shift: u32| u64::from((FULL - count) & MOST) << shift;
        u64::from(self.odd) << Self::PHASE
            | missing(self.pending, Self::PENDING)
            | (-self.bytes as u64 & ((1 << 21) - 1)) << Self::BYTES
            | missing(self.expected, Self::EXPECTED)
    }

    fn new(count: u32) -> Self {
        Self { odd: false, expected: count, pending: count, bytes: 0 }
    }

    fn arrive(&mut self, count: u32) -> Result<(), String> {
        match self.pending.checked_sub(count) {
            Some(left) => self.pending = left,
            None => return Err(format!("{count} arrive at an mbarrier that waits for {}", self.pending)),
        }
        self.end_phase();
        Ok(())
    }

    fn arrive_within(&mut self, count: u32) -> Result<(), String> {
        if count < self.pending {
            self.pending -= count;
            return Ok(());
        }
        Err(format!("{count} arrive with .noComplete at an mbarrier that waits for {}", self.pending))
    }

    fn forget(&mut self, count: u32) {
        self.expected = self.expected.saturating_sub(count);
    }

    fn add_bytes(&mut self, bytes: i64) -> Result<(), String> {
        let sum = i64::from(self.bytes) + bytes;
        if sum.abs() > i64::from(MOST) {
            return Err(format!("an mbarrier cannot wait for {sum} bytes: {MOST} are the most"));
        }
        self.bytes = sum as i32;
        self.end_phase();
        Ok(())
    }

    fn end_phase(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.odd = !self.odd;
            self.pending = self.expected;
        }
    }

    fn changed(mut self, change: Change, b: u32) -> Result<Self, String> {
        match change {
            Change::Init if (1..=MOST).contains(&b) => self = Self::new(b),
            Change::Init => return Err(format!("an mbarrier waits for 1 to {MOST} arrivals, not for {b}")),
            Change::Invalidate | Change::Copied => {}
            Change::Arrive => self.arrive(b)?,
            Change::ArriveWithin => self.arrive_within(b)?,
            Change::Drop => {
                self.forget(b);
                self.arrive(b)?;
            }
            Change::DropWithin => {
                self.forget(b);
                self.arrive_within(b)?;
            }
            Change::Expect => self.add_bytes(b.into())?,
            Change::ArriveExpecting => {
                self.add_bytes(b.into())?;
                self.arrive(1)?;
            }
            Change::DropExpecting => {
                self.add_bytes(b.into())?;
                self.forget(1);
                self.arrive(1)?;
            }
            Change::Complete => self.add_bytes(-i64::from(b))?,
        }
        Ok(self)
    }
}

impl Core<'_> {
    /// Where one lane's barrier is.
    fn mbarrier<S: Space>(&mut self, lane: usize, address: u64, how: Use) -> Result<*mut u64, FaultKind> {
        if !address.is_multiple_of(8) {
            return Err(FaultKind::MisalignedAddress);
        }
        self.doing = Some(how);
        let place = S::locate(self, lane, address, 8);
        self.doing = None;
        place.map(<*mut u8>::cast)
    }

    /// Changes one lane's barrier; gives the word that was there.
    pub(super) fn change_mbarrier<S: Space>(
        &mut self,
        lane: usize,
        address: u64,
        (change, b): (Change, u32),
    ) -> Result<u64, Step> {
        // What makes a barrier, or ends it, must be ordered with what uses it.
        let is_plain = matches!(change, Change::Init | Change::Invalidate);
        let place = match self.mbarrier::<S>(lane, address, if is_plain { Use::Write } else { Use::Update }) {
            Ok(place) => place,
            Err(kind) => return Err(self.fail(kind, lane, Some(address))),
        };
        // SAFETY: `locate` gave eight bytes, of blocks that this thread runs.
        let before = unsafe { place.read_unaligned() };
        let word = match Word::of(before).changed(change, b) {
            Ok(word) => word.bits(),
            Err(message) => return Err(self.fail_saying(FaultKind::Mbarrier, lane, message)),
        };
        if !matches!(change, Change::Invalidate | Change::Copied) {
            // SAFETY: as above.
            unsafe { place.write_unaligned(word) };
        }
        Ok(before)
    }

    fn change<S: Space, A: Address>(&mut self, op: &Op, change: Change) -> Step {
        let (addresses, b) = (self.get::<A>(op.a), self.get::<u32>(op.b));
        let mut states = [0u64; LANES];
        for lane in self.active() {
            match self.change_mbarrier::<S>(lane, addresses[lane].plus(op.imm), (change, b[lane])) {
                Ok(before) => states[lane] = before & STATE,
                Err(step) => return step,
            }
        }
        self.put(op.d, &states);
        Step::Next
    }

    /// Whether the phase is over that each lane asks for: the one whose parity it gives.
    fn test<S: Space, A: Address>(
        &mut self,
        op: &Op,
        odd: impl Fn(&Self, usize) -> bool,
    ) -> Result<u32, Step> {
        let addresses = self.get::<A>(op.a);
        let mut over = 0;
        for lane in self.active() {
            let address = addresses[lane].plus(op.imm);
            match self.mbarrier::<S>(lane, address, Use::Update) {
                Ok(place) => {
                    // SAFETY: as in `change_mbarrier`.
                    let word = Word::of(unsafe { place.read_unaligned() });
                    over |= u32::from(word.odd != odd(self, lane)) << lane;
                }
                Err(kind) => return Err(self.fail(kind, lane, Some(address))),
            }
        }
        self.set_predicate(op.d, over);
        Ok(over)
    }

    fn test_of<S: Space, A: Address>(&mut self, op: &Op) -> Result<u32, Step> {
        if op.extra & BY_PARITY != 0 {
            let parity = self.get::<u32>(op.b);
            self.test::<S, A>(op, |_, lane| parity[lane] & 1 != 0)
        } else {
            let state = self.get::<u64>(op.b);
            self.test::<S, A>(op, |_, lane| Word::of(state[lane]).odd)
        }
    }
}

/// What arrivals give of the word that was there: the phase, what is missing, and a part of the bytes. What a card has in the other half differs.
const STATE: u64 = !0 << 32;

/// In the `extra` of what tests: `b` is a parity, and not a state.
pub(in crate::ptx) const BY_PARITY: u32 = 1;
/// In the same: where a phase is not over, others have their turn.
pub(in crate::ptx) const WAITS: u32 = 2;

/// `d =` the state of the barrier at `a + imm`, to which the change of that number is done with `b`.
pub(in crate::ptx) fn change<S: Space, A: Address>(change: Change) -> Handler {
    match change {
        Change::Init => |core, op| core.change::<S, A>(op, Change::Init),
        Change::Invalidate => |core, op| core.change::<S, A>(op, Change::Invalidate),
        Change::Arrive => |core, op| core.change::<S, A>(op, Change::Arrive),
        Change::ArriveWithin => |core, op| core.change::<S, A>(op, Change::ArriveWithin),
        Change::Drop => |core, op| core.change::<S, A>(op, Change::Drop),
        Change::DropWithin => |core, op| core.change::<S, A>(op, Change::DropWithin),
        Change::Expect => |core, op| core.change::<S, A>(op, Change::Expect),
        Change::ArriveExpecting => |core, op| core.change::<S, A>(op, Change::ArriveExpecting),
        Change::DropExpecting => |core, op| core.change::<S, A>(op, Change::DropExpecting),
        Change::Complete => |core, op| core.change::<S, A>(op, Change::Complete),
        Change::Copied => |core, op| core.change::<S, A>(op, Change::Copied),
    }
}

/// `d =` whether a phase of the barrier at `a + imm` is over: that of the state `b`, or of its parity.
pub(in crate::ptx) fn test<S: Space, A: Address>() -> Handler {
    |core, op| match core.test_of::<S, A>(op) {
        Ok(over) if op.extra & WAITS != 0 && over & core.mask != core.mask => Step::Yield,
        Ok(_) => Step::Next,
        Err(step) => step,
    }
}

/// How many arrivals a state says are missing.
pub(in crate::ptx) fn pending(state: u64) -> u32 {
    Word::of(state).pending
}

#[cfg(test)]
mod tests {
    use super::{Change, MOST, Word};

    fn after(count: u32, changes: &[(Change, u32)]) -> Result<Word, String> {
        changes.iter().try_fold(Word::new(count), |word, &(change, b)| word.changed(change, b))
    }

    #[test]
    fn bits_there_and_back() {
        for bytes in [0, 1, -1, MOST as i32, -(MOST as i32)] {
            for (expected, pending) in [(1, 1), (MOST, MOST), (MOST, 1), (5, 0)] {
                for odd in [false, true] {
                    let word = Word { odd, expected, pending, bytes };
                    assert_eq!(Word::of(word.bits()), word);
                }
            }
        }
    }

    #[test]
    fn phases() {
        let fresh = Word::new(2);
        assert_eq!(after(2, &[(Change::Arrive, 1), (Change::Arrive, 1)]), Ok(Word { odd: true, ..fresh }));
        assert_eq!(after(2, &[(Change::Arrive, 2), (Change::Arrive, 2)]), Ok(fresh));
        let waits = Word { pending: 0, bytes: 8, ..fresh };
        let begun = [(Change::ArriveExpecting, 16), (Change::Arrive, 1), (Change::Complete, 8)];
        assert_eq!(after(2, &begun), Ok(waits));
        // Copies may be faster than those who expect them.
        let early = [(Change::Complete, 16), (Change::Arrive, 1), (Change::ArriveExpecting, 16)];
        assert_eq!(after(2, &early), Ok(Word { odd: true, ..fresh }));
        let dropped = Word { odd: true, expected: 1, pending: 1, bytes: 0 };
        assert_eq!(after(2, &[(Change::Drop, 1), (Change::Arrive, 1)]), Ok(dropped));
        assert_eq!(
            after(2, &[(Change::DropExpecting, 4), (Change::Complete, 4), (Change::Arrive, 1)]),
            Ok(dropped)
        );
    }

    #[test]
    fn what_has_no_meaning() {
        for (changes, sentence) in [
            (&[(Change::Arrive, 3)][..], "3 arrive at an mbarrier that waits for 2"),
            (&[(Change::ArriveWithin, 2)], "2 arrive with .noComplete at an mbarrier that waits for 2"),
            (&[(Change::Init, 0)], "an mbarrier waits for 1 to 1048575 arrivals, not for 0"),
            (&[(Change::Expect, MOST), (Change::Expect, 1)], "cannot wait for 1048576 bytes"),
        ] {
            let error = after(2, changes).expect_err("has no meaning");
            assert!(error.contains(sentence), "{error}");
        }
    }
}
