//! The tasks that can run and wait to be chosen. Choosing takes about the same time from many as from few.

use super::numbers::Numbered;
use super::task::Task;
use std::collections::BTreeSet;

/// How the next one is chosen.
pub(super) enum Ready {
    Drawn(Bag),
    First(Line),
}

impl Ready {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Drawn(bag) => bag.numbers.is_empty(),
            Self::First(line) => line.places.is_empty(),
        }
    }

    pub(super) fn insert(&mut self, task: &Task) {
        match self {
            Self::Drawn(bag) => bag.insert(task.number),
            Self::First(line) => drop(line.places.insert(task.place())),
        }
    }

    pub(super) fn remove(&mut self, task: &Task) {
        match self {
            Self::Drawn(bag) => bag.remove(task.number),
            Self::First(line) => drop(line.places.remove(&task.place())),
        }
    }

    /// Takes one of them, of which there are some; `below` draws a number that is less than the given one.
    pub(super) fn next(&mut self, below: impl FnOnce(usize) -> usize) -> Option<u64> {
        match self {
            Self::Drawn(bag) if bag.numbers.is_empty() => None,
            Self::Drawn(bag) => Some(bag.take(below(bag.numbers.len()))),
            Self::First(line) => line.places.pop_first().map(|(_, number)| number),
        }
    }
}

/// Those that one is drawn from.
#[derive(Default)]
pub(super) struct Bag {
    numbers: Vec<u64>,
    /// Where each of them stands in the list.
    places: Numbered<usize>,
}

impl Bag {
    fn insert(&mut self, number: u64) {
        if let std::collections::hash_map::Entry::Vacant(place) = self.places.entry(number) {
            place.insert(self.numbers.len());
            self.numbers.push(number);
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(place) = self.places.remove(&number) {
            self.take_from(place);
        }
    }

    /// Takes the one at a place of the list, which is shorter then.
    fn take(&mut self, place: usize) -> u64 {
        let number = self.take_from(place);
        self.places.remove(&number);
        number
    }

    fn take_from(&mut self, place: usize) -> u64 {
        let number = self.numbers.swap_remove(place);
        if let Some(moved) = self.numbers.get(place) {
            self.places.insert(*moved, place);
        }
        number
    }
}

/// Those of which the one that was submitted first is next.
#[derive(Default)]
pub(super) struct Line {
    /// By `Task::place`.
    places: BTreeSet<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::Bag;

    #[test]
    fn what_is_taken_is_gone_and_the_rest_is_found() {
        let mut bag = Bag::default();
        (10..20).chain(12..15).for_each(|number| bag.insert(number));
        [13, 19, 13, 99].iter().for_each(|number| bag.remove(*number));
        let mut taken: Vec<u64> =
            (0..bag.numbers.len()).map(|turn| bag.take(turn % bag.numbers.len())).collect();
        taken.sort_unstable();
        assert_eq!(taken, [10, 11, 12, 14, 15, 16, 17, 18]);
        assert!(bag.numbers.is_empty());
    }
}
