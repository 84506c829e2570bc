//! Atomic operations by which threads tell each other how far they are: one writes behind a fence, another one reads.
//!
//! A place of memory keeps what was passed on there, in the order in which that happened. Who reads there atomically learns all of it up to
//! then; which that is needs two numbers only.

use super::order::Reach;
use std::collections::HashMap;

/// So many bytes are remembered of one launch.
const MOST: usize = 64 << 20;

/// What somebody has learnt: of each place, so many signals. By the numbers of places.
#[derive(Clone, Default, Debug)]
pub(super) struct Known(Vec<(u32, u32)>);

impl Known {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn learn(&mut self, place: u32, count: u32) {
        match self.0.binary_search_by_key(&place, |one| one.0) {
            Ok(at) => self.0[at].1 = self.0[at].1.max(count),
            Err(at) => self.0.insert(at, (place, count)),
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|&(place, count)| self.learn(place, count));
    }
}

#[derive(Default)]
struct Place {
    count: u32,
    /// So many that somebody has read.
    read: u32,
    /// Of each block: all that its threads have passed on, up to the signal of that number.
    of_block: HashMap<u32, Vec<(u32, Reach)>>,
    /// What those had learnt who have passed something on.
    known: Known,
}

/// All of a launch.
#[derive(Default)]
pub(super) struct Signals {
    numbers: HashMap<u64, u32>,
    places: Vec<Place>,
    /// About how many bytes they take.
    weight: usize,
}

impl Signals {
    /// Whether there were more than are remembered.
    pub(super) fn is_full(&self) -> bool {
        self.weight >= MOST
    }

    /// A block's thread writes.
    pub(super) fn send(&mut self, address: u64, block: u32, reach: &Reach, known: &Known) {
        let places = &mut self.places;
        let number = *self.numbers.entry(address).or_insert_with(|| {
            places.push(Place::default());
            places.len() as u32 - 1
        });
        let place = &mut self.places[number as usize];
        place.count += 1;
        place.known.join(known);
        let list = place.of_block.entry(block).or_default();
        match list.last_mut() {
            // Nobody knows of the one without the other.
            Some((count, all)) if *count > place.read => {
                *count = place.count;
                all.join(reach);
            }
            last => {
                let mut all = last.map_or_else(Reach::default, |(_, all)| all.clone());
                all.join(reach);
                self.weight += 64 + all.weight();
                list.push((place.count, all));
            }
        }
    }

    /// A thread reads.
    pub(super) fn take(&mut self, address: u64, known: &mut Known) {
        let Some(&number) = self.numbers.get(&address) else { return };
        let place = &mut self.places[number as usize];
        place.read = place.count;
        known.join(&place.known);
        known.learn(number, place.count);
    }

    /// The memory at these addresses is another block's from now on, and what was told there matters to nobody.
    pub(super) fn forget(&mut self, addresses: &[u64]) {
        for number in addresses.iter().filter_map(|address| self.numbers.remove(address)) {
            let place = std::mem::take(&mut self.places[number as usize]);
            let all = place.of_block.values().flatten();
            self.weight -= all.map(|(_, reach)| 64 + reach.weight()).sum::<usize>().min(self.weight);
        }
    }

    /// Whether somebody has learnt something at an address.
    pub(super) fn is_told(&self, known: &Known, address: u64) -> bool {
        let number = self.numbers.get(&address);
        number.is_some_and(|number| known.0.binary_search_by_key(number, |one| one.0).is_ok())
    }

    /// Whether a block's thread has told what it had done up to a tick.
    pub(super) fn have(&self, known: &Known, block: u32, thread: u32, tick: u32) -> bool {
        known.0.iter().any(|&(place, count)| {
            let Some(list) = self.places[place as usize].of_block.get(&block) else { return false };
            let after = list.partition_point(|(number, _)| *number <= count);
            after > 0 && list[after - 1].1.has(thread, tick)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Block;
    use super::{Known, Signals};

    #[test]
    fn who_reads_learns_what_was_written_until_then() {
        let (mut signals, mut first, mut second) = (Signals::default(), Block::new(0, 1), Block::new(1, 1));
        let tell = |block: &mut Block, signals: &mut Signals, known: &Known, address| {
            let (tick, reach) = (block.tick(0), block.pass_on(0, 0, true).unwrap_or_default());
            signals.send(address, block.number, &reach, known);
            tick
        };
        let early = tell(&mut first, &mut signals, &Known::default(), 8);
        let mut known = Known::default();
        signals.take(16, &mut known);
        assert!(known.is_empty());
        signals.take(8, &mut known);
        let late = tell(&mut first, &mut signals, &Known::default(), 8);
        assert!(signals.have(&known, 0, 0, early) && !signals.have(&known, 0, 0, late));
        assert!(!signals.have(&known, 0, 1, early) && !signals.have(&known, 1, 0, early));
        // And whoever hears of the second hears of the first.
        tell(&mut second, &mut signals, &known, 16);
        let mut third = Known::default();
        signals.take(16, &mut third);
        assert!(signals.have(&third, 0, 0, early) && !signals.have(&third, 0, 0, late));
    }
}
