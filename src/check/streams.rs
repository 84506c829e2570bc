//! What comes before what, of streams, events and the host.
//!
//! Each stream has a clock: how much of each other one comes before what it does next. The host has one for all threads: what one has
//! waited for comes before all that is enqueued from then on, by whomever, since threads may order themselves as nobody here sees.

use super::deed::{Deed, LookedUp};
use super::memory::{Memory, Past};
use super::sentence::{Party, Reported, of_streams, tell};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// By what a stream is known. Another one may have the same after it was destroyed: then it is taken to go on in the order of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StreamKey {
    /// The context of a default stream, which has the same handle in all.
    pub(crate) context: usize,
    pub(crate) native: usize,
    /// The thread of a per-thread default stream.
    pub(crate) thread: u64,
}

/// How a stream hangs together with the legacy default stream of its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Legacy,
    Blocking,
    NonBlocking,
}

/// A stream that does something.
#[derive(Debug)]
pub(crate) struct Who {
    pub(crate) key: StreamKey,
    pub(crate) sort: Sort,
    /// The context whose default stream it waits for.
    pub(crate) context: usize,
    /// Whether others can enqueue there.
    pub(crate) is_shared: bool,
    pub(crate) name: String,
}

/// How much of each stream, by its number.
#[derive(Debug, Clone, Default)]
struct Clock(Vec<u64>);

impl Clock {
    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    fn of(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    /// One more of this stream; answers how many there are by then.
    fn tick(&mut self, stream: usize) -> u64 {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] += 1;
        self.0[stream]
    }
}

#[derive(Debug)]
struct Known {
    clock: Clock,
    sort: Sort,
    context: usize,
    name: Arc<str>,
    is_shared: bool,
    /// Whether it may wait for anything before each thing that it does.
    may_wait: bool,
}

/// Something that a stream did.
#[derive(Debug)]
struct Done {
    stream: usize,
    tick: u64,
    party: Party,
}

#[derive(Debug, Default)]
struct Streams {
    numbers: HashMap<StreamKey, usize>,
    all: Vec<Known>,
    events: HashMap<usize, Clock>,
    execs: HashMap<usize, Clock>,
    host: Clock,
    memory: Memory<Done>,
    reported: Reported,
}

static STREAMS: Mutex<Option<Streams>> = Mutex::new(None);

fn with_streams<T>(body: impl FnOnce(&mut Streams) -> T) -> T {
    body(STREAMS.lock().get_or_insert_default())
}

/// A stream does something, which is enqueued by now.
pub(crate) fn did(who: Who, what: LookedUp) {
    tell(with_streams(|streams| streams.did(who, None, what)));
}

/// The same for a launch of an exec, which comes after the launches of it before, in whatever streams.
pub(crate) fn launched(who: Who, exec: usize, what: LookedUp) {
    tell(with_streams(|streams| streams.did(who, Some(exec), what)));
}

/// The host has waited for what the stream has by now.
pub(crate) fn waited_for_stream(key: StreamKey) {
    with_streams(|streams| {
        if let Some(number) = streams.numbers.get(&key) {
            streams.host.join(&streams.all[*number].clock);
        }
    });
}

/// The host has waited for what an event recorded last; one that others have may stand for anything.
pub(crate) fn waited_for_event(native: usize, is_shared: bool) {
    with_streams(|streams| match streams.events.get(&native).filter(|_| !is_shared) {
        Some(clock) => streams.host.join(clock),
        None if is_shared => streams.host = streams.everything(),
        None => {}
    });
}

/// The host has waited for everything.
pub(crate) fn waited_for_all() {
    with_streams(|streams| streams.host = streams.everything());
}

/// Others have the stream from now on.
pub(crate) fn is_shared(key: StreamKey) {
    with_streams(|streams| {
        if let Some(number) = streams.numbers.get(&key) {
            streams.all[*number].is_shared = true;
        }
    });
}

impl Streams {
    fn everything(&self) -> Clock {
        self.all.iter().fold(self.host.clone(), |mut all, stream| {
            all.join(&stream.clock);
            all
        })
    }

    /// The number of a stream, as it is now.
    fn number(&mut self, who: &Who) -> usize {
        let number = *self.numbers.entry(who.key).or_insert_with(|| {
            self.all.push(Known {
                clock: Clock::default(),
                sort: who.sort,
                context: who.context,
                name: Arc::from(""),
                is_shared: false,
                may_wait: false,
            });
            self.all.len() - 1
        });
        let known = &mut self.all[number];
        (known.sort, known.context) = (who.sort, who.context);
        known.is_shared |= who.is_shared;
        if *known.name != *who.name {
            known.name = Arc::from(who.name.as_str());
        }
        number
    }

    /// What comes before all that the stream does now.
    fn before(&self, number: usize) -> Clock {
        let known = &self.all[number];
        if known.may_wait || known.is_shared {
            return self.everything();
        }
        let mut clock = self.host.clone();
        clock.join(&known.clock);
        let waits_for = |other: &&Known| match (known.sort, other.sort) {
            (Sort::Legacy, Sort::Blocking) | (Sort::Blocking, Sort::Legacy) => other.context == known.context,
            _ => false,
        };
        self.all.iter().filter(waits_for).for_each(|other| clock.join(&other.clock));
        clock
    }

    fn did(&mut self, who: Who, exec: Option<usize>, what: LookedUp) -> Vec<String> {
        let number = self.number(&who);
        let mut clock = self.before(number);
        if let Some(launches) = exec.and_then(|exec| self.execs.get(&exec)) {
            clock.join(launches);
        }
        for deed in &what.others {
            match deed {
                Deed::Waits(event) => {
                    if let Some(recorded) = self.events.get(event) {
                        clock.join(recorded);
                    }
                }
                Deed::WaitsForOthers => clock = self.everything(),
                _ => {}
            }
        }
        let tick = clock.tick(number);
        self.all[number].clock = clock.clone();
        if let Some(exec) = exec {
            self.execs.insert(exec, clock.clone());
        }
        let reports = self.touch(number, tick, &clock, &what);
        for deed in &what.others {
            match deed {
                Deed::Records(event) => drop(self.events.insert(*event, clock.clone())),
                Deed::IsSeen => self.host.join(&clock),
                Deed::MayWait => self.all[number].may_wait = true,
                _ => {}
            }
        }
        reports
    }

    fn touch(&mut self, number: usize, tick: u64, clock: &Clock, what: &LookedUp) -> Vec<String> {
        let Self { all, memory, reported, .. } = self;
        let mut reports = Vec::new();
        if all[number].is_shared {
            return reports;
        }
        let called: Arc<str> = Arc::from(what.what.as_str());
        for (touch, found) in &what.touches {
            let party = Party {
                what: Arc::clone(&called),
                at: Some(Arc::clone(&all[number].name)),
                usage: touch.usage,
                access: touch.access,
                memory: touch.name.as_deref().map(Arc::from),
            };
            let is_before = |old: &Done| clock.of(old.stream) >= old.tick || all[old.stream].is_shared;
            let conflict = |old: &Past<Done>, range: Range<u64>| {
                if reported.is_new(&old.place.party, &party) {
                    reports.push(of_streams(&old.place.party, &party, &range));
                }
            };
            let done = Done { stream: number, tick, party: party.clone() };
            memory.touch(found, touch.access, done, is_before, conflict);
        }
        reports
    }
}
