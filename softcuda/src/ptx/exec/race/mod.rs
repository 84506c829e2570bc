//! Races inside of a launch: two threads use the same bytes, at least one of them changes these, and nothing orders the two.
//!
//! `order` knows what barriers and fences say in a block, `signals` what atomic operations do, `cells` who has used which bytes, `copies`
//! what asynchronous copies may still write. A launch that is
//! looked at in this way runs on one thread of the host: so it does the same each time. `hooks` is what the interpreter tells of.

mod cells;
mod copies;
pub(in crate::ptx) mod found;
mod hooks;
mod order;
pub(super) mod pages;
mod signals;
mod stamps;

use super::core::LANES;
use super::seen::{PAGE, Use};
use cells::{Cells, FAR, Judge, Slot};
use copies::{AsyncCopy, Copies};
use found::{Apart, By, Bytes, Clash, Found, Split};
use order::Block;
use signals::Signals;
use stamps::{Stamp, Stamps};
use std::collections::HashMap;

/// The grid of a launch.
#[derive(Clone, Copy, Debug)]
struct Shape {
    grid: [u32; 3],
    cluster: [u32; 3],
}

/// What a launch has done, as far as it can still conflict with something.
pub(super) struct Races {
    shape: Shape,
    stamps: Stamps,
    cells: Cells,
    /// Blocks that are under way, by their numbers, but for the one that runs.
    blocks: HashMap<u32, Block>,
    block: Block,
    signals: Signals,
    copies: Copies,
    pub(super) found: Found,
}

/// Lanes that use memory.
struct Touch {
    /// Where its cells are.
    key: u64,
    bytes: Bytes,
    size: usize,
    /// What each lane uses.
    step: usize,
    how: Use,
    op: u32,
    warp: u32,
    /// The first one.
    lane: u32,
    /// Whether it writes only if what is there is what was expected.
    compares: bool,
    /// What is there, and what the lanes store: how far the values are from each other.
    values: Option<(*const u8, *const u8, usize)>,
}

impl Touch {
    /// Whether a lane stores what is there already.
    fn is_same(&self, lane: u32) -> bool {
        let Some((old, new, step)) = self.values else { return false };
        let number = (lane - self.lane) as usize;
        // SAFETY: the bytes that the lanes are about to write, and the registers that they write.
        let (old, new) = unsafe {
            (
                std::slice::from_raw_parts(old.add(number * self.step), self.step),
                std::slice::from_raw_parts(new.add(lane as usize * step), self.step),
            )
        };
        old == new
    }
}

impl Shape {
    fn index(self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.grid;
        [number % x, number / x % y, number / x / y]
    }

    fn number(self, index: [u32; 3]) -> u32 {
        let [x, y, _] = self.grid;
        index[0].wrapping_add(x.wrapping_mul(index[1].wrapping_add(y.wrapping_mul(index[2]))))
    }

    /// The first block of the cluster that one is in.
    fn cluster(self, number: u32) -> [u32; 3] {
        let index = self.index(number);
        std::array::from_fn(|axis| index[axis] - index[axis] % self.cluster[axis])
    }
}

/// What the stamps of accesses say.
struct Order<'o> {
    shape: Shape,
    stamps: &'o Stamps,
    block: &'o Block,
    signals: &'o Signals,
    warp: u32,
    /// It is about shared memory: blocks that had it before are of no interest.
    is_shared: bool,
}

impl Order<'_> {
    fn apart(&self, one: &Stamp, other: &Stamp) -> Apart {
        if one.block == other.block {
            return if one.warp == other.warp { Apart::Warp } else { Apart::Block };
        }
        let is_one_cluster =
            self.shape.cluster != [1; 3] && self.shape.cluster(one.block) == self.shape.cluster(other.block);
        if is_one_cluster { Apart::Cluster } else { Apart::Grid }
    }
}

impl Judge for Order<'_> {
    fn is_before(&self, earlier: Slot, later: Slot) -> bool {
        let stamp = self.stamps.get(earlier);
        let thread = stamp.warp * LANES as u32 + stamps::lane(earlier);
        if stamp.block == self.block.number {
            if self.block.has(self.warp, stamps::lane(later), thread, stamp.tick) {
                return true;
            }
        } else if self.is_shared && self.apart(stamp, self.stamps.get(later)) == Apart::Grid {
            return true;
        }
        let learnt = self.block.learnt(self.warp);
        !learnt.is_empty() && self.signals.have(learnt, stamp.block, thread, stamp.tick)
    }

    fn is_one_thread(&self, one: Slot, other: Slot) -> bool {
        let apart = self.apart(self.stamps.get(one), self.stamps.get(other));
        apart == Apart::Warp && stamps::lane(one) == stamps::lane(other)
    }

    fn distance(&self, one: Slot, other: Slot) -> u32 {
        match self.apart(self.stamps.get(one), self.stamps.get(other)) {
            Apart::Warp => 0,
            Apart::Block => 1,
            Apart::Cluster => 2,
            Apart::Grid | Apart::Copy => FAR,
        }
    }
}

impl Races {
    pub(super) fn new(grid: [u32; 3], cluster: [u32; 3]) -> Self {
        Self {
            shape: Shape { grid, cluster },
            stamps: Stamps::default(),
            cells: Cells::default(),
            blocks: HashMap::new(),
            block: Block::new(u32::MAX, 0),
            signals: Signals::default(),
            copies: Copies::default(),
            found: Found::default(),
        }
    }

    /// A block has its turn.
    fn enter(&mut self, index: [u32; 3], warps: usize) {
        let number = self.shape.number(index);
        if self.block.number != number {
            let block = self.blocks.remove(&number).unwrap_or_else(|| Block::new(number, warps));
            let other = std::mem::replace(&mut self.block, block);
            self.blocks.insert(other.number, other);
        }
    }

    /// The block that runs is done.
    fn leave(&mut self) {
        // Others of a cluster may have heard of a third block there.
        if self.shape.cluster == [1; 3] {
            self.signals.forget(&self.block.told);
        }
        self.copies.leave(self.block.number);
        self.block = Block::new(u32::MAX, 0);
    }

    fn thread(&self, op: u32, warp: u32, lane: u32) -> By {
        By { op, thread: warp * LANES as u32 + lane, block: self.shape.index(self.block.number) }
    }

    /// Lanes use memory that others can use, too.
    fn touch(&mut self, touch: &Touch) {
        // What a place of memory has passed on must not be forgotten, or there would be races that are none.
        if self.signals.is_full() {
            return;
        }
        if self.cells.is_full() || self.stamps.is_full() {
            (self.cells, self.stamps, self.found.was_full) = (Cells::default(), Stamps::default(), true);
        }
        let Self { shape, stamps, cells, block, signals, found, .. } = self;
        let &Touch { key, size, step, how, op, warp, lane, .. } = touch;
        let lanes = (!0u32 >> (32 - (size / step).clamp(1, 32))) << lane;
        block.is_busy(warp, lanes);
        let first = stamps.add(Stamp { block: block.number, tick: block.tick(warp), op, warp }, lane);
        let is_shared = matches!(touch.bytes, Bytes::Shared(..));
        let order = Order { shape: *shape, stamps, block, signals, warp, is_shared };
        let (mut at, end) = (key, key + size as u64);
        while at < end {
            let (page, from) = (at / PAGE as u64, (at % PAGE as u64) as usize);
            let stop = end.min((page + 1) * PAGE as u64);
            let slot = first + ((at - key) as usize / step) as Slot;
            let mut clash = |byte: usize, old: Slot, new: Slot, its: Use| {
                let offset = page * PAGE as u64 + byte as u64 - key;
                let bytes = match touch.bytes {
                    Bytes::Global(address) => Bytes::Global(address + offset),
                    Bytes::Shared(start, block) => Bytes::Shared(start + offset, block),
                };
                // The order of two stores of the same makes no difference.
                let is_same = its == Use::Write && how == Use::Write && touch.is_same(stamps::lane(new));
                // Who has been told there how far others are knows of their atomic operations there.
                let was_told = its == Use::Update && signals.is_told(order.block.learnt(warp), key + offset);
                if is_same || was_told {
                    return;
                }
                let (one, other) = (order.stamps.get(old), order.stamps.get(new));
                if order.is_one_thread(old, new) {
                    if touch.compares {
                        found.checks(one.op, op);
                    }
                    return;
                }
                let by = |stamp: &Stamp, slot: Slot| By {
                    op: stamp.op,
                    thread: stamp.warp * LANES as u32 + stamps::lane(slot),
                    block: shape.index(stamp.block),
                };
                let sides = [(by(one, old), its), (by(other, new), how)];
                found.add(Clash { sides, bytes, size: step, apart: order.apart(one, other) });
            };
            let range = (from, from + (stop - at) as usize);
            cells.touch(page, range, (slot, step), how, &order, &mut clash);
            at = stop;
        }
    }

    /// Lanes use memory that copies may still write.
    fn clash_with_copies(&mut self, touch: &Touch) {
        for copy in self.copies.over(touch.key, touch.size) {
            let Some((from, to)) = copy.overlap(touch.key, touch.size) else { continue };
            let lane = touch.lane + ((from - touch.key) as usize / touch.step) as u32;
            let copies = By { op: copy.op, thread: copy.thread, block: self.shape.index(copy.block) };
            let uses = By {
                op: touch.op,
                thread: touch.warp * LANES as u32 + lane,
                block: self.shape.index(self.block.number),
            };
            let bytes = match copy.bytes {
                Bytes::Shared(start, block) => Bytes::Shared(start + (from - copy.key), block),
                Bytes::Global(start) => Bytes::Global(start + (from - copy.key)),
            };
            let sides = [(copies, Use::Write), (uses, touch.how)];
            let size = touch.step.min((to - from) as usize);
            self.found.add(Clash { sides, bytes, size, apart: Apart::Copy });
        }
    }

    /// A thread has waited for a copy: it has written by now, and not when it began.
    fn has_copied(&mut self, copy: &AsyncCopy) {
        let (warp, lane) = (copy.thread / LANES as u32, copy.thread % LANES as u32);
        self.touch(&Touch {
            key: copy.key,
            bytes: copy.bytes,
            size: copy.size,
            step: copy.size,
            how: Use::Write,
            op: copy.op,
            warp,
            lane,
            compares: false,
            values: None,
        });
    }

    /// A lane learns what was passed on at an address.
    fn listen(&mut self, key: u64, warp: u32) {
        self.signals.take(key, self.block.known(warp));
    }

    /// It passes on what it knows.
    fn tell(&mut self, key: u64, warp: u32, lane: u32, releases: bool) {
        if let Some(reach) = self.block.pass_on(warp, lane, releases) {
            if key & hooks::SHARED != 0 && !self.block.told.contains(&key) {
                self.block.told.push(key);
            }
            self.signals.send(key, self.block.number, &reach, self.block.learnt(warp));
            self.found.was_full |= self.signals.is_full();
        }
    }

    /// Where the warps of a cluster tell each other that they have come: one place for two phases each.
    fn cluster_key(&self, phase: u64) -> u64 {
        let first = self.shape.number(self.shape.cluster(self.block.number));
        (1 << 63) | (u64::from(first) << 1) | (phase % 2)
    }

    /// Threads of a warp, or of two, are not together at a barrier.
    fn split(&mut self, waits: By, other: By, has_ended: bool) {
        let (warp, its) = (waits.thread as usize / LANES, other.thread as usize / LANES);
        let apart = if warp == its { Apart::Warp } else { Apart::Block };
        self.found.add_split(Split { waits, other, has_ended, apart });
    }
}
