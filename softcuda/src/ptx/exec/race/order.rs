//! What comes before what in a block: its barriers, those of its warps, and fences.
//!
//! Each warp counts *ticks*: one goes by at every barrier and fence. An access is known by its thread and its tick. What all lanes of a warp
//! know of another warp is one number; what single lanes know of each other is kept only if some of a warp's lanes have met alone.

use super::signals::Known;
use crate::ptx::exec::barrier::BARRIERS;
use crate::ptx::exec::core::{Bits, LANES};
use std::collections::HashMap;

/// Accesses of a block's threads: all of whole warps, and of single threads, up to some ticks.
#[derive(Clone, Default, Debug)]
pub(super) struct Reach {
    warps: Vec<u32>,
    threads: Vec<(u32, u32)>,
}

/// One warp.
#[derive(Default)]
struct Warp {
    tick: u32,
    /// What all its lanes know of all lanes of each warp of the block.
    warps: Vec<u32>,
    /// What a lane knows of another one, beyond that.
    lanes: Option<Box<[[u32; LANES]; LANES]>>,
    /// What lanes had known at their last fences, and when those were.
    fenced: HashMap<u32, (u32, Reach)>,
    /// What of that barriers have told of others.
    passed: Vec<u32>,
    /// What was learnt by atomic operations.
    known: Known,
    /// Lanes that have used memory since others of the warp wait at a barrier.
    busy: u32,
}

/// Those that are at a barrier, until all have come.
#[derive(Default)]
struct Meeting {
    warps: Vec<u32>,
    passed: Vec<u32>,
    known: Known,
}

/// One block.
pub(super) struct Block {
    pub(super) number: u32,
    warps: Vec<Warp>,
    meetings: [Meeting; BARRIERS],
    /// Where in its shared memory something was passed on.
    pub(super) told: Vec<u64>,
}

fn join(own: &mut Vec<u32>, other: &[u32]) {
    if own.len() < other.len() {
        own.resize(other.len(), 0);
    }
    own.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}

fn raise(own: &mut Vec<u32>, at: usize, tick: u32) {
    if own.len() <= at {
        own.resize(at + 1, 0);
    }
    own[at] = own[at].max(tick);
}

impl Reach {
    fn is_empty(&self) -> bool {
        self.threads.is_empty() && self.warps.iter().all(|tick| *tick == 0)
    }

    /// About how many bytes it takes.
    pub(super) fn weight(&self) -> usize {
        self.warps.len() * 4 + self.threads.len() * 8
    }

    pub(super) fn join(&mut self, other: &Self) {
        join(&mut self.warps, &other.warps);
        for &(thread, tick) in &other.threads {
            match self.threads.binary_search_by_key(&thread, |one| one.0) {
                Ok(at) => self.threads[at].1 = self.threads[at].1.max(tick),
                Err(at) => self.threads.insert(at, (thread, tick)),
            }
        }
    }

    pub(super) fn has(&self, thread: u32, tick: u32) -> bool {
        let of_thread = || self.threads.binary_search_by_key(&thread, |one| one.0);
        self.warps.get(thread as usize / LANES).is_some_and(|known| *known >= tick)
            || of_thread().is_ok_and(|at| self.threads[at].1 >= tick)
    }
}

impl Warp {
    fn reach(&self, number: usize, lane: usize) -> Reach {
        let first = (number * LANES) as u32;
        let mut threads = vec![(first + lane as u32, self.tick)];
        if let Some(lanes) = &self.lanes {
            let others = lanes[lane].iter().enumerate().filter(|(other, tick)| **tick > 0 && *other != lane);
            threads.extend(others.map(|(other, tick)| (first + other as u32, *tick)));
            threads.sort_unstable();
        }
        Reach { warps: self.warps.clone(), threads }
    }
}

impl Block {
    pub(super) fn new(number: u32, warps: usize) -> Self {
        let warp = || Warp { tick: 1, warps: vec![0; warps], ..Warp::default() };
        Self {
            number,
            warps: (0..warps).map(|_| warp()).collect(),
            meetings: Default::default(),
            told: Vec::new(),
        }
    }

    pub(super) fn tick(&self, warp: u32) -> u32 {
        self.warps[warp as usize].tick
    }

    pub(super) fn known(&mut self, warp: u32) -> &mut Known {
        &mut self.warps[warp as usize].known
    }

    pub(super) fn learnt(&self, warp: u32) -> &Known {
        &self.warps[warp as usize].known
    }

    /// Whether a thread's access comes before what a lane does now, as far as the block says.
    pub(super) fn has(&self, warp: u32, lane: u32, thread: u32, tick: u32) -> bool {
        let (own, other) = (&self.warps[warp as usize], thread as usize / LANES);
        if own.warps[other] >= tick {
            return true;
        }
        let of = thread as usize % LANES;
        other == warp as usize
            && (of == lane as usize
                || own.lanes.as_ref().is_some_and(|lanes| lanes[lane as usize][of] >= tick))
    }

    /// A warp comes to a barrier, all of its lanes that are left.
    pub(super) fn arrive(&mut self, warp: u32, barrier: usize, live: u32) {
        let (at, meeting) = (warp as usize, &mut self.meetings[barrier]);
        let own = &mut self.warps[at];
        join(&mut meeting.warps, &own.warps);
        raise(&mut meeting.warps, at, own.tick);
        join(&mut meeting.passed, &own.passed);
        let fences = Bits(live).map(|lane| own.fenced.get(&(lane as u32)).map_or(0, |(tick, _)| *tick));
        raise(&mut meeting.passed, at, fences.min().unwrap_or(0));
        meeting.known.join(&own.known);
        own.tick += 1;
    }

    /// All have come; these warps have waited.
    pub(super) fn meet(&mut self, barrier: usize, waiting: impl Iterator<Item = usize>) {
        let meeting = std::mem::take(&mut self.meetings[barrier]);
        for warp in waiting {
            let own = &mut self.warps[warp];
            join(&mut own.warps, &meeting.warps);
            join(&mut own.passed, &meeting.passed);
            own.known.join(&meeting.known);
        }
    }

    /// Lanes of a warp have met; `live` are all that are left.
    pub(super) fn meet_lanes(&mut self, warp: u32, set: u32, live: u32) {
        let own = &mut self.warps[warp as usize];
        let tick = own.tick;
        own.tick += 1;
        if live & !set == 0 {
            own.warps[warp as usize] = tick;
            return;
        }
        let lanes = own.lanes.get_or_insert_default();
        let mut all = [0; LANES];
        for lane in Bits(set) {
            all.iter_mut().zip(&lanes[lane]).for_each(|(all, known)| *all = (*all).max(*known));
        }
        Bits(set).for_each(|lane| all[lane] = tick);
        Bits(set).for_each(|lane| lanes[lane] = all);
    }

    /// Lanes make a fence: what they know is passed on by what they write atomically from now on.
    pub(super) fn fence(&mut self, warp: u32, lanes: u32) {
        let own = &mut self.warps[warp as usize];
        for lane in Bits(lanes) {
            let reach = own.reach(warp as usize, lane);
            own.fenced.insert(lane as u32, (own.tick, reach));
        }
        own.tick += 1;
    }

    /// What a lane passes on with an atomic write: all that it knows, if that says `release`, or else what it knew at its last fence.
    pub(super) fn pass_on(&mut self, warp: u32, lane: u32, releases: bool) -> Option<Reach> {
        let own = &mut self.warps[warp as usize];
        if releases {
            let reach = own.reach(warp as usize, lane as usize);
            own.tick += 1;
            return Some(reach);
        }
        let mut reach = own.fenced.get(&lane).map_or_else(Reach::default, |(_, reach)| reach.clone());
        reach.join(&Reach { warps: own.passed.clone(), threads: Vec::new() });
        (!reach.is_empty()).then_some(reach)
    }

    /// What a warp passes on whose lanes have all come to the barrier of their cluster.
    pub(super) fn pass_on_all(&mut self, warp: u32) -> Reach {
        let own = &mut self.warps[warp as usize];
        let mut reach = Reach { warps: own.warps.clone(), threads: Vec::new() };
        raise(&mut reach.warps, warp as usize, own.tick);
        own.tick += 1;
        reach
    }

    /// Some lanes wait at a barrier, while others go on.
    pub(super) fn begin_to_wait(&mut self, warp: u32) {
        self.warps[warp as usize].busy = 0;
    }

    pub(super) fn is_busy(&mut self, warp: u32, lanes: u32) {
        self.warps[warp as usize].busy |= lanes;
    }

    /// Those of the lanes that have used memory meanwhile.
    pub(super) fn busy(&self, warp: u32) -> u32 {
        self.warps[warp as usize].busy
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Reach};

    #[test]
    fn barriers_order_those_that_come() {
        let mut block = Block::new(0, 3);
        let before = block.tick(0);
        assert!(block.has(0, 5, 5, before), "its own");
        assert!(!block.has(0, 5, 6, before) && !block.has(1, 0, 5, before));
        for warp in [0, 1] {
            block.arrive(warp, 2, !0);
        }
        block.meet(2, [0, 1].into_iter());
        assert!(block.has(1, 0, 5, before) && block.has(0, 5, 6, before));
        assert!(!block.has(2, 0, 5, before), "it was not there");
        assert!(!block.has(1, 0, 5, block.tick(0)), "after the barrier");
    }

    #[test]
    fn who_only_arrives_learns_nothing() {
        let mut block = Block::new(0, 2);
        let (first, second) = (block.tick(0), block.tick(1));
        block.arrive(0, 1, !0);
        block.arrive(1, 1, !0);
        block.meet(1, [1].into_iter());
        assert!(block.has(1, 0, 0, first));
        assert!(!block.has(0, 0, 32, second) && !block.has(0, 0, 1, first));
    }

    #[test]
    fn some_lanes_meet_alone() {
        let mut block = Block::new(0, 1);
        let first = block.tick(0);
        block.meet_lanes(0, 0b0011, !0);
        let second = block.tick(0);
        block.meet_lanes(0, 0b0110, !0);
        assert!(block.has(0, 1, 0, first) && block.has(0, 2, 0, first), "over a lane between");
        assert!(!block.has(0, 3, 0, first) && !block.has(0, 0, 2, second));
        block.meet_lanes(0, !0, !0);
        assert!(block.has(0, 3, 0, first));
    }

    #[test]
    fn fences_pass_on_what_was_before() {
        let mut block = Block::new(0, 2);
        let before = block.tick(0);
        assert!(block.pass_on(0, 3, false).is_none());
        block.fence(0, 1 << 3);
        let after = block.tick(0);
        let reach = block.pass_on(0, 3, false).unwrap_or_default();
        assert!(reach.has(3, before) && !reach.has(3, after) && !reach.has(4, before));
        assert!(block.pass_on(0, 4, false).is_none());
        // All have made a fence before the barrier: so one of them can pass it on.
        block.fence(0, !0);
        block.arrive(0, 0, !0);
        block.arrive(1, 0, !0);
        block.meet(0, [0, 1].into_iter());
        let reach = block.pass_on(1, 0, false).unwrap_or_default();
        assert!(reach.has(9, before) && !reach.has(32, before));
        let mut all = Reach::default();
        all.join(&block.pass_on(1, 0, true).unwrap_or_default());
        assert!(all.has(32, before));
    }
}
