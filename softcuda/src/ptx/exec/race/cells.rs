//! Who has used which bytes of memory last, in one launch: a cell for each word, or for each byte where a byte was used by itself.

use super::super::seen::{PAGE, Use};
use super::pages::Pages;

/// Bytes of a cell, if nobody has used less.
const WORD: usize = 4;

/// Memory for cells, at most.
const MOST: usize = 256 << 20;

/// A thread at an instruction, in a tick: a number of `stamps`, and the lane. 0 is nobody.
pub(super) type Slot = u32;

/// What is known of a word's users, as far as later ones can conflict with that.
#[derive(Clone, Copy, Default)]
pub(super) struct Cell {
    write: Slot,
    /// Two plain reads, as far from each other as there were: if one is ordered with what comes, the other may not be.
    reads: [Slot; 2],
    /// The same of atomic operations and of stores that say how they are ordered.
    updates: [Slot; 2],
    /// Such a load.
    poll: Slot,
}

/// What says who comes before whom.
pub(super) trait Judge {
    fn is_before(&self, earlier: Slot, later: Slot) -> bool;
    /// Whether both are one thread's.
    fn is_one_thread(&self, one: Slot, other: Slot) -> bool;
    /// How far threads are from each other: of a warp, a block, a grid.
    fn distance(&self, one: Slot, other: Slot) -> u32;
}

/// The largest distance.
pub(super) const FAR: u32 = 3;

struct Page {
    /// The logarithm of a cell's bytes.
    shift: u32,
    cells: Vec<Cell>,
}

/// The cells of a launch.
#[derive(Default)]
pub(super) struct Cells {
    pages: Pages<Page>,
    weight: usize,
}

/// Keeps one of two that stands for most.
fn keep(slots: &mut [Slot; 2], new: Slot, judge: &impl Judge) {
    let [first, second] = slots;
    let covered = |slot: Slot| slot == 0 || judge.is_before(slot, new);
    if covered(*first) {
        *first = new;
        if covered(*second) {
            *second = 0;
        }
        return;
    }
    let distance = judge.distance(*first, new);
    if distance == FAR || covered(*second) || distance >= judge.distance(*first, *second) {
        *second = new;
    }
}

impl Cell {
    /// A thread uses it; tells of those that it conflicts with, and of its own reads before an atomic operation.
    fn touch(&mut self, new: Slot, how: Use, judge: &impl Judge, found: &mut impl FnMut(Slot, Use)) {
        let mut look = |slot: Slot, its: Use| {
            let is_own_read = || how == Use::Update && its == Use::Read && judge.is_one_thread(slot, new);
            if slot != 0 && slot != new && (!judge.is_before(slot, new) || is_own_read()) {
                found(slot, its);
            }
        };
        match how {
            Use::Read => {
                if self.reads.contains(&new) {
                    return;
                }
                look(self.write, Use::Write);
                self.updates.iter().for_each(|slot| look(*slot, Use::Update));
                keep(&mut self.reads, new, judge);
            }
            Use::AtomicRead => {
                look(self.write, Use::Write);
                self.poll = new;
            }
            Use::Update | Use::Atomic => {
                if self.updates.contains(&new) {
                    return;
                }
                look(self.write, Use::Write);
                self.reads.iter().for_each(|slot| look(*slot, Use::Read));
                keep(&mut self.updates, new, judge);
            }
            Use::Write => {
                look(self.write, Use::Write);
                self.reads.iter().for_each(|slot| look(*slot, Use::Read));
                self.updates.iter().for_each(|slot| look(*slot, Use::Update));
                look(self.poll, Use::AtomicRead);
                *self = Self { write: new, ..Self::default() };
            }
        }
    }
}

impl Cells {
    pub(super) fn is_full(&self) -> bool {
        self.weight > MOST
    }

    /// The bytes from one to before another of a page are used, `step` by each of lanes that follow one another: `slot` is the first one's.
    pub(super) fn touch(
        &mut self,
        page: u64,
        (from, to): (usize, usize),
        (slot, step): (Slot, usize),
        how: Use,
        judge: &impl Judge,
        found: &mut impl FnMut(usize, Slot, Slot, Use),
    ) {
        let weight = &mut self.weight;
        let page = self.pages.get(page, || {
            *weight += PAGE / WORD * size_of::<Cell>();
            Page { shift: WORD.trailing_zeros(), cells: vec![Cell::default(); PAGE / WORD] }
        });
        if page.shift != 0 && !(step | from).is_multiple_of(WORD) {
            *weight += (PAGE - PAGE / WORD) * size_of::<Cell>();
            page.cells = page.cells.iter().flat_map(|cell| [*cell; WORD]).collect();
            page.shift = 0;
        }
        let shift = page.shift;
        for at in from >> shift..((to - 1) >> shift) + 1 {
            let byte = at << shift;
            let new = slot + ((byte - from) / step) as Slot;
            page.cells[at].touch(new, how, judge, &mut |old, its| found(byte, old, new, its));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, Judge, Slot, Use};

    /// Even ones come before everything.
    struct Even;

    impl Judge for Even {
        fn is_before(&self, earlier: Slot, _: Slot) -> bool {
            earlier.is_multiple_of(2)
        }

        fn is_one_thread(&self, _: Slot, _: Slot) -> bool {
            false
        }

        fn distance(&self, one: Slot, other: Slot) -> u32 {
            u32::from(one / 100 != other / 100)
        }
    }

    fn clashes(uses: &[(usize, usize, Slot, Use)]) -> Vec<(usize, Slot, Slot)> {
        let (mut cells, mut all) = (Cells::default(), Vec::new());
        for &(from, size, slot, how) in uses {
            let mut found = |byte, old, new, _| all.push((byte, old, new));
            cells.touch(7, (from, from + size), (slot, size), how, &Even, &mut found);
        }
        all
    }

    #[test]
    fn which_conflict() {
        use Use::{Atomic, AtomicRead, Read, Update, Write};
        let does = |one, other| !clashes(&[(8, 4, 1, one), (8, 4, 3, other)]).is_empty();
        for (one, other, expected) in [
            (Read, Read, false),
            (Read, Write, true),
            (Write, Write, true),
            (Read, Update, true),
            (Update, Atomic, false),
            (AtomicRead, Update, false),
            (AtomicRead, Write, true),
            (AtomicRead, Read, false),
        ] {
            assert_eq!((does(one, other), does(other, one)), (expected, expected), "{one:?} {other:?}");
        }
        assert!(clashes(&[(8, 4, 2, Write), (8, 4, 3, Write)]).is_empty(), "ordered");
    }

    #[test]
    fn bytes_by_themselves() {
        use Use::Write;
        assert!(clashes(&[(8, 1, 1, Write), (9, 1, 3, Write)]).is_empty());
        assert_eq!(clashes(&[(8, 1, 1, Write), (9, 1, 3, Write), (8, 4, 5, Write)]), [(8, 1, 5), (9, 3, 5)]);
        assert_eq!(clashes(&[(8, 4, 1, Write), (10, 1, 3, Write)]), [(10, 1, 3)]);
    }

    #[test]
    fn of_readers_the_farthest_are_kept() {
        use Use::{Read, Write};
        // 1 and 3 are near each other, 101 is far; 1 is what the write is ordered behind.
        let uses =
            [(0, 4, 2, Read), (0, 4, 101, Read), (0, 4, 103, Read), (0, 4, 201, Read), (0, 4, 7, Write)];
        assert_eq!(clashes(&uses), [(0, 101, 7), (0, 201, 7)]);
    }
}
