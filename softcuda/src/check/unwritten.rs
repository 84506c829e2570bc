//! Memory that nothing has written since it was made.

use super::access::{Kind, Memory, Moved, Op, Sites};
use super::bits::PAGE;
use super::report::{Json, Report, bytes};
use super::side::Side;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// So many ranges are told apart. Where there would be more, all is taken for written.
const MOST: usize = 1 << 22;

/// Ranges of addresses that do not touch, by their beginnings.
#[derive(Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    pub(super) fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        while let Some((&first, &last)) = self.0.range(..=end).next_back().filter(|(_, last)| **last >= start)
        {
            (start, end) = (start.min(first), end.max(last));
            self.0.remove(&first);
        }
        self.0.insert(start, end);
    }

    pub(super) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((&first, &last)) =
            self.0.range(..range.end).next_back().filter(|(_, last)| **last > range.start)
        {
            self.0.remove(&first);
            if first < range.start {
                self.0.insert(first, range.start);
            }
            if last > range.end {
                self.0.insert(range.end, last);
            }
        }
    }

    /// Those inside of a range.
    pub(super) fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let before = self.0.range(..range.start).next_back().map(|(first, last)| (*first, *last));
        let inside = self.0.range(range.clone()).map(|(first, last)| (*first, *last));
        let all = before.into_iter().chain(inside);
        all.map(move |(first, last)| first.max(range.start)..last.min(range.end))
            .filter(|part| !part.is_empty())
    }

    fn contains(&self, address: u64) -> bool {
        self.within(address..address + 1).next().is_some()
    }
}

/// What is known of memory that is looked at.
#[derive(Default)]
pub(super) struct Unwritten {
    /// Nothing has written there.
    ranges: Ranges,
    /// Memory of which everything that is done to it is seen.
    known: Ranges,
    /// Whether there were too many ranges once.
    pub(super) was_full: bool,
}

/// A use of bytes that nothing has written.
pub(super) struct Found {
    pub(super) op: Arc<Op>,
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) sites: Option<Arc<dyn Sites>>,
    pub(super) memory: Option<Memory>,
}

/// What an operation has read, with where.
pub(super) struct Read {
    pub(super) range: Range<u64>,
    pub(super) sites: Option<Arc<dyn Sites>>,
}

impl Unwritten {
    /// Memory begins, and nothing is in it.
    pub(super) fn begin(&mut self, range: Range<u64>) {
        self.known.add(range.clone());
        self.ranges.add(range);
    }

    /// It ends, or somebody may write there who is not seen.
    pub(super) fn end(&mut self, range: Range<u64>) {
        self.known.remove(range.clone());
        self.ranges.remove(range);
    }

    /// Work may have written anywhere.
    pub(super) fn forget(&mut self) {
        self.ranges = Ranges::default();
    }

    /// An operation has read and written. What it has written itself it may have read behind that.
    pub(super) fn look(
        &mut self,
        reads: &[Read],
        writes: &[Range<u64>],
        moves: &[Moved],
        found: &mut dyn FnMut(Range<u64>, Option<Arc<dyn Sites>>),
    ) {
        if self.ranges.0.is_empty() {
            return;
        }
        let (mut left, mut shown) = (Vec::new(), None);
        for Moved { from, to, size } in moves {
            let is_followed = *size > 0 && self.known.contains(*to);
            for part in self.ranges.within(*from..from + size) {
                if is_followed {
                    left.push(part.start - from + to..part.end - from + to);
                } else {
                    shown = shown.or(Some((part, None)));
                }
            }
        }
        let mut own = Ranges::default();
        writes.iter().for_each(|range| own.add(range.clone()));
        for read in reads {
            if shown.is_some() {
                break;
            }
            for part in self.ranges.within(read.range.clone()) {
                let mut rest = Ranges::default();
                rest.add(part.clone());
                own.within(part).for_each(|written| rest.remove(written));
                if let Some((first, last)) = rest.0.first_key_value() {
                    shown = Some((*first..*last, read.sites.clone()));
                    break;
                }
            }
        }
        writes.iter().for_each(|range| self.ranges.remove(range.clone()));
        for Moved { to, size, .. } in moves {
            self.ranges.remove(*to..to + size);
        }
        left.into_iter().for_each(|range| self.ranges.add(range));
        if self.ranges.0.len() > MOST {
            self.was_full = true;
            self.forget();
        }
        if let Some((range, sites)) = shown {
            found(range, sites);
        }
    }
}

impl Found {
    fn side(&self) -> Side {
        let site = self.sites.as_ref().map(|sites| sites.site(self.start as usize % PAGE));
        Side::new(&self.op, Kind::Read, site)
    }

    pub(super) fn places(&self) -> String {
        let made = self.memory.as_ref().map_or("", |memory| memory.made);
        format!("uninitialised: {} / {made}", self.side().place())
    }

    pub(super) fn report(&self, places: &str) -> Report {
        let side = self.side();
        let mut json = Json::new("uninitialised", places);
        json = json.number("address", self.start).number("bytes", self.size).side("use", &side);
        let mut text = format!(
            "uninitialised: {} in {} reads {} at {:#x} that nothing has written\n    use:    {side}",
            side.work(),
            side.stream,
            bytes(self.size),
            self.start
        );
        if let Some(memory) = &self.memory {
            let offset = self.start - memory.start;
            text += &format!("\n    memory: offset {offset} of {memory}, made by {}", memory.made);
            json = json
                .text("allocation", &memory.to_string())
                .number("offset", offset)
                .text("made", memory.made);
        }
        Report::new("uninitialised", text, json)
    }
}

#[cfg(test)]
mod tests {
    use super::{Moved, Range, Ranges, Read, Unwritten};

    #[test]
    fn ranges_are_sets_of_addresses() {
        let (mut ranges, mut bytes, mut state) = (Ranges::default(), [false; 64], 9u64);
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (start, size, adds) = (state >> 40 & 63, state >> 50 & 15, state >> 60 & 1 == 1);
            let end = (start + size).min(64);
            match adds {
                true => ranges.add(start..end),
                false => ranges.remove(start..end),
            }
            bytes[start as usize..end as usize].fill(adds);
            let told: Vec<bool> = (0..64).map(|at| ranges.contains(at)).collect();
            assert_eq!(told, bytes);
        }
    }

    #[test]
    fn what_is_moved_is_as_it_was() {
        let mut unwritten = Unwritten::default();
        unwritten.begin(0..100);
        unwritten.begin(200..300);
        let mut look = |read: Option<Range<u64>>, written: Option<Range<u64>>, moved: Option<Moved>| {
            let reads: Vec<Read> = read.into_iter().map(|range| Read { range, sites: None }).collect();
            let (writes, moves): (Vec<_>, Vec<_>) =
                (written.into_iter().collect(), moved.into_iter().collect());
            let mut found = None;
            unwritten.look(&reads, &writes, &moves, &mut |range, _| found = Some(range));
            found
        };
        assert_eq!(look(None, Some(0..50), None), None);
        let inside = Moved { from: 40, to: 240, size: 20 };
        assert_eq!(look(None, None, Some(inside)), None, "to memory that is followed");
        assert_eq!(look(Some(240..250), None, None), None);
        assert_eq!(look(Some(240..260), None, None), Some(250..260));
        let own = look(Some(240..260), Some(250..258), None);
        assert_eq!(own, Some(258..260), "what it writes itself may come first");
        let outside = Moved { from: 0, to: 1000, size: 60 };
        assert_eq!(look(None, None, Some(outside)), Some(50..60), "to the host");
    }
}
