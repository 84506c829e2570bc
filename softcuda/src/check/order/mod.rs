//! Which piece of work comes before which: what the program's calls say, and never what happened to run first.
//!
//! Clocks advance when work is submitted. A piece comes after what its queue was given before, after what the queue's coupling and events
//! demand, and after all that the host had waited for by then. The host is one: a thread that has waited may have told any other.

use super::clock::{Clock, Epoch, Stamp};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Whether one piece comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    Before,
    /// Neither the calls nor a value that was waited for say so.
    Unordered,
    /// A value was waited for that nothing here has written: the host did, or a kernel, or another process.
    Unknown,
}

/// A value that nobody here writes: what waits for it comes after something unknown.
pub(crate) const UNKNOWN: u64 = u64::MAX;

struct Chain {
    /// The number of its last piece.
    last: u32,
    /// The queue whose chain it is.
    queue: Option<u64>,
}

/// The order so far.
#[derive(Default)]
pub(super) struct Order {
    chains: Vec<Chain>,
    /// Which chain is a queue's.
    of_queue: HashMap<u64, u32>,
    host: Arc<Clock>,
    /// By address, and then by chain: what comes before the writes of a value.
    written: HashMap<u64, BTreeMap<u32, Clock>>,
}

impl Order {
    /// A piece of a queue, behind others, which those of the queue before it are among.
    pub(super) fn in_queue<'s>(
        &mut self,
        queue: u64,
        after: impl Iterator<Item = &'s Arc<Stamp>>,
        awaits: &[u64],
    ) -> Stamp {
        let clock = self.before(after, awaits);
        let chain = match self.of_queue.get(&queue) {
            Some(chain) => *chain,
            None => {
                let chain = self.free_chain(&clock, None);
                self.chains[chain as usize].queue = Some(queue);
                self.of_queue.insert(queue, chain);
                chain
            }
        };
        self.stamp(chain, clock)
    }

    /// A piece of a graph, behind others.
    pub(super) fn aside<'s>(&mut self, after: impl Iterator<Item = &'s Arc<Stamp>>, awaits: &[u64]) -> Stamp {
        let mut first = None;
        let after = after.inspect(|stamp| first = first.or(Some(stamp.epoch.chain)));
        let clock = self.before(after, awaits);
        let chain = self.free_chain(&clock, first);
        self.stamp(chain, clock)
    }

    /// What the host does itself: after all that it has waited for, and before all that is submitted from now on.
    pub(super) fn of_host(&mut self) -> Stamp {
        let stamp = self.aside(std::iter::empty(), &[]);
        self.host_waited(&stamp);
        stamp
    }

    fn before<'s>(&self, after: impl Iterator<Item = &'s Arc<Stamp>>, awaits: &[u64]) -> Clock {
        let mut clock = Clock::clone(&self.host);
        // Of what the host has waited for, it knows more than the piece did.
        after.filter(|stamp| !self.host.has(stamp.epoch)).for_each(|stamp| clock.join(&stamp.clock));
        awaits.iter().for_each(|address| clock.wait_for(*address));
        clock
    }

    fn stamp(&mut self, chain: u32, mut clock: Clock) -> Stamp {
        let last = &mut self.chains[chain as usize].last;
        *last += 1;
        let epoch = Epoch { chain, count: *last };
        clock.reach(epoch);
        Stamp::new(epoch, clock, Arc::clone(&self.host))
    }

    /// A chain of nobody's that ends before a place, best the wanted one.
    fn free_chain(&mut self, clock: &Clock, wanted: Option<u32>) -> u32 {
        let fits = |number: &u32| {
            let chain = &self.chains[*number as usize];
            chain.queue.is_none() && clock.count(*number) >= chain.last
        };
        let found = wanted.filter(fits).or_else(|| (0..self.chains.len() as u32).find(fits));
        found.unwrap_or_else(|| {
            self.chains.push(Chain { last: 0, queue: None });
            self.chains.len() as u32 - 1
        })
    }

    /// A queue gets nothing any more.
    pub(super) fn close(&mut self, queue: u64) {
        if let Some(chain) = self.of_queue.remove(&queue) {
            self.chains[chain as usize].queue = None;
        }
    }

    /// The host has waited for a piece: all that is submitted from now on comes after it.
    pub(super) fn host_waited(&mut self, stamp: &Stamp) {
        if !self.host.has(stamp.epoch) {
            let known = self.settled(&stamp.clock);
            Arc::make_mut(&mut self.host).join(&known);
        }
    }

    /// What comes before a piece that is done: the values that it has waited for are written. If nobody here has done that, whoever did may
    /// have come after anything that was submitted until now, and after nothing that will be.
    fn settled(&self, clock: &Clock) -> Clock {
        let (mut all, mut seen, mut ahead) = (Clock::default(), Vec::new(), clock.values().to_vec());
        all.join_known(clock);
        while let Some(address) = ahead.pop() {
            if seen.contains(&address) {
                continue;
            }
            seen.push(address);
            let Some(written) = self.written.get(&address) else {
                all.doubt(&self.chains.iter().map(|chain| chain.last).collect::<Vec<_>>());
                continue;
            };
            for clock in written.values() {
                all.join_known(clock);
                ahead.extend(clock.values());
            }
        }
        all
    }

    pub(super) fn has_host_waited(&self, stamp: &Stamp) -> bool {
        self.host.has(stamp.epoch)
    }

    /// A piece writes a value that others may wait for.
    pub(super) fn writes(&mut self, address: u64, stamp: &Stamp) {
        let written = self.written.entry(address).or_default();
        written.entry(stamp.epoch.chain).or_default().join(&stamp.clock);
    }

    /// Whether the first of two pieces comes before the second.
    pub(super) fn relation(&self, first: Epoch, second: &Stamp) -> Relation {
        if second.clock.has(first) {
            return Relation::Before;
        }
        let (mut seen, mut ahead) = (Vec::new(), second.clock.values().to_vec());
        let mut is_known = !second.clock.doubts(first);
        while let Some(address) = ahead.pop() {
            if seen.contains(&address) {
                continue;
            }
            seen.push(address);
            let Some(written) = self.written.get(&address) else {
                is_known = false;
                continue;
            };
            for clock in written.values() {
                if clock.has(first) {
                    return Relation::Before;
                }
                is_known &= !clock.doubts(first);
                ahead.extend(clock.values());
            }
        }
        if is_known { Relation::Unordered } else { Relation::Unknown }
    }
}

#[cfg(test)]
mod tests;
