//! The tasks that one can be drawn from. Drawing takes the same time from many as from few.

use super::numbers::Numbered;

#[derive(Default)]
pub(super) struct Ready {
    numbers: Vec<u64>,
    /// Where each of them stands in the list.
    places: Numbered<usize>,
}

impl Ready {
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn insert(&mut self, number: u64) {
        if let std::collections::hash_map::Entry::Vacant(place) = self.places.entry(number) {
            place.insert(self.numbers.len());
            self.numbers.push(number);
        }
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(place) = self.places.remove(&number) {
            self.take_from(place);
        }
    }

    /// Takes the one at a place of the list, which is shorter then.
    pub(super) fn take(&mut self, place: usize) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::Ready;

    #[test]
    fn what_is_taken_is_gone_and_the_rest_is_found() {
        let mut ready = Ready::default();
        (10..20).chain(12..15).for_each(|number| ready.insert(number));
        [13, 19, 13, 99].iter().for_each(|number| ready.remove(*number));
        let mut taken: Vec<u64> = (0..ready.len()).map(|turn| ready.take(turn % ready.len())).collect();
        taken.sort_unstable();
        assert_eq!(taken, [10, 11, 12, 14, 15, 16, 17, 18]);
        assert!(ready.is_empty());
    }
}
