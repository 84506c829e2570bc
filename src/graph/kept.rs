//! Which operands of a page its nodes keep, and what for.

use super::ids::PLACES;
use crate::op::node::For;
use smallvec::SmallVec;

/// An operand of the page, by its number, and what it is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    whose: u16,
    pub(super) operand: u32,
}

impl Kept {
    #[inline]
    pub(super) fn new(whose: For, operand: u32) -> Self {
        Self { whose: whose.packed(), operand }
    }

    #[inline]
    pub(super) fn whose(self) -> For {
        For::unpacked(self.whose)
    }
}

/// The same in one word, if the number is small enough; or none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u32);

impl Word {
    const NONE: Self = Self(u32::MAX);

    #[inline]
    fn of(kept: Kept) -> Option<Self> {
        let word = Self(kept.operand << 16 | u32::from(kept.whose));
        (kept.operand < u16::MAX.into()).then_some(word)
    }

    #[inline]
    fn kept(self) -> Option<Kept> {
        (self != Self::NONE).then_some(Kept { whose: self.0 as u16, operand: self.operand() })
    }

    #[inline]
    fn operand(self) -> u32 {
        self.0 >> 16
    }

    /// Whether it is one, and for this: nothing is packed like the lower half of none.
    #[inline]
    fn is_for(self, whose: For) -> bool {
        self.0 as u16 == whose.packed()
    }
}

/// How much is listed of each node in a word: a kernel and a buffer.
const FEW: usize = 2;

/// What each node of a page keeps, by its place.
#[derive(Clone)]
pub(super) struct KeptLists {
    few: [[Word; FEW]; PLACES],
    /// What does not fit there, by the places.
    more: Vec<(usize, Vec<Kept>)>,
}

impl Default for KeptLists {
    fn default() -> Self {
        Self { few: [[Word::NONE; FEW]; PLACES], more: Vec::new() }
    }
}

impl KeptLists {
    /// What a node keeps.
    pub(super) fn of(&self, place: usize) -> impl Iterator<Item = Kept> {
        let more = self.more.iter().find(|(of, _)| *of == place);
        let few = self.few[place].iter().filter_map(|word| word.kept());
        few.chain(more.into_iter().flat_map(|(_, more)| more.iter().copied()))
    }

    /// Whether a node keeps anything.
    pub(super) fn is_any(&self, place: usize) -> bool {
        self.is_any_such(place, |_| true)
    }

    /// Whether a node keeps anything for one of these.
    #[inline]
    pub(super) fn is_any_such(&self, place: usize, is_one: impl Fn(For) -> bool) -> bool {
        let mut few = self.few[place].iter().filter_map(|word| word.kept());
        few.any(|kept| is_one(kept.whose()))
            || (!self.more.is_empty() && self.of(place).any(|kept| is_one(kept.whose())))
    }

    /// Lists one more for a node.
    #[inline]
    pub(super) fn add(&mut self, place: usize, kept: Kept) {
        let free = self.few[place].iter_mut().find(|word| **word == Word::NONE);
        match (free, Word::of(kept)) {
            (Some(free), Some(word)) => *free = word,
            _ => _ = self.in_more(place, kept),
        }
    }

    /// Lists one operand in place of each that a node keeps for this, of which `before` is told. Answers with how many those are.
    #[inline(always)]
    pub(super) fn exchange(
        &mut self,
        place: usize,
        whose: For,
        operand: u32,
        before: &mut impl FnMut(u32),
    ) -> u32 {
        let now = Kept::new(whose, operand);
        let mut times = if self.more.is_empty() { 0 } else { self.exchange_more(place, now, before) };
        for at in 0..FEW {
            let word = self.few[place][at];
            if word.is_for(whose) {
                self.few[place][at] = Word::of(now).unwrap_or_else(|| self.in_more(place, now));
                before(word.operand());
                times += 1;
            }
        }
        times
    }

    #[cold]
    fn exchange_more(&mut self, place: usize, now: Kept, before: &mut dyn FnMut(u32)) -> u32 {
        let more = self.more.iter_mut().find(|(of, _)| *of == place);
        let those = more.into_iter().flat_map(|(_, more)| more).filter(|kept| kept.whose == now.whose);
        those.map(|kept| before(std::mem::replace(kept, now).operand)).count() as u32
    }

    /// What a node keeps, taken out.
    pub(super) fn take(&mut self, place: usize) -> SmallVec<[Kept; 4]> {
        let taken = self.of(place).collect();
        self.few[place] = [Word::NONE; FEW];
        self.more.retain(|(of, _)| *of != place);
        taken
    }

    /// Lists one more elsewhere. Answers with what is listed here then.
    #[cold]
    fn in_more(&mut self, place: usize, kept: Kept) -> Word {
        match self.more.iter_mut().find(|(of, _)| *of == place) {
            Some((_, more)) => more.push(kept),
            None => self.more.push((place, vec![kept])),
        }
        Word::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(of: &[(usize, u32, u32)]) -> KeptLists {
        let mut lists = KeptLists::default();
        of.iter().for_each(|(place, whose, operand)| {
            lists.add(*place, Kept::new(For::Argument(*whose), *operand))
        });
        lists
    }

    fn operands(lists: &KeptLists, place: usize) -> Vec<u32> {
        let mut all: Vec<_> = lists.of(place).map(|kept| kept.operand).collect();
        all.sort_unstable();
        all
    }

    /// The numbers at which a word ends are the last of an argument, and those around the last of an operand.
    const EDGES: [u32; 5] = [0, 65_533, 65_534, 65_535, 131_040];

    #[test]
    fn much_and_large_numbers_are_listed_too() {
        let mut all = lists(&[]);
        for (place, count) in [(0, 1), (1, 2), (2, 3), (31, 40)] {
            (0..count).for_each(|at| all.add(place, Kept::new(For::Argument(at), at)));
        }
        EDGES.iter().for_each(|operand| all.add(3, Kept::new(For::Argument(32_764), *operand)));
        assert_eq!([0, 1, 2, 31].map(|place| operands(&all, place).len()), [1, 2, 3, 40]);
        assert_eq!(operands(&all, 3), EDGES);
        assert!(all.of(3).all(|kept| kept.whose() == For::Argument(32_764)));
        let copy = all.clone();
        assert_eq!(all.take(31).len(), 40);
        assert!(!all.is_any(31) && !all.is_any(4) && all.is_any(2));
        assert_eq!(operands(&all, 3), EDGES);
        assert_eq!(operands(&copy, 31).len(), 40);
    }

    #[test]
    fn operands_are_exchanged_wherever_they_stand() {
        for operand in EDGES {
            let mut all = lists(&[(5, 7, 1), (5, 8, 2), (5, 7, 3), (5, 7, 4), (6, 7, 5)]);
            let mut before = Vec::new();
            assert_eq!(all.exchange(5, For::Argument(7), operand, &mut |one| before.push(one)), 3);
            before.sort_unstable();
            assert_eq!(before, [1, 3, 4]);
            let mut now = vec![2, operand, operand, operand];
            now.sort_unstable();
            assert_eq!(operands(&all, 5), now);
            assert_eq!(operands(&all, 6), [5]);
            assert_eq!(
                all.exchange(5, For::Argument(9), 1, &mut |_| unreachable!("nothing is kept for it")),
                0
            );
        }
    }
}
