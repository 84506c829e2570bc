//! Which bytes of global memory a launch uses, and where: for those who want to know that of a launch (`Launch::watch`).
//!
//! Nothing of it is in the way of others: a thread that watches remembers no region, so that each access asks for its region anew, and is
//! noted there.

use super::core::{Core, LANES};
use super::fault::FaultKind;
use super::host::Region;
use super::program::Program;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Bytes of a page.
const PAGE: usize = 4096;
const WORDS: usize = PAGE / 64;
/// Bytes whose first user is known.
const GRAIN: usize = 16;
/// A single access is of so many bytes at most; more are those of a warp, one after the other.
const LARGEST: usize = 16;

/// How memory is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Plain loads.
    Read,
    /// Plain stores.
    Write,
    /// Atomic operations that compute with what is there.
    Update,
    /// Stores that are volatile, relaxed, or order others; atomic exchanges.
    Atomic,
    /// Such loads.
    AtomicRead,
}

const USES: [Use; 5] = [Use::Read, Use::Write, Use::Update, Use::Atomic, Use::AtomicRead];

/// Where a kernel was when it used memory: an index of its instructions, and a thread.
#[derive(Clone, Copy, Default)]
struct Place {
    op: u32,
    thread: u32,
    block: [u32; 3],
}

/// Bytes of a page that are used in one way.
pub struct Marks {
    /// A bit for each byte.
    pub bits: [u64; WORDS],
    places: [Place; PAGE / GRAIN],
}

/// An instruction.
pub struct Spot {
    /// Its index in the program.
    pub op: u32,
    /// The line of the PTX text.
    pub line: u32,
    /// The file and line that it comes from, if `.loc` says.
    pub source: Option<String>,
    /// Without operands.
    pub instruction: String,
}

/// Takes what the threads of a launch have noted.
#[derive(Default)]
pub struct Watch(Mutex<Vec<Seen>>);

#[derive(Default)]
struct Page {
    marks: [Option<Box<Marks>>; USES.len()],
}

/// What one thread of the host has noted.
#[derive(Default)]
pub(super) struct Seen {
    pages: Vec<(u64, Page)>,
    index: HashMap<u64, u32>,
    /// The page used last.
    last: Option<(u64, u32)>,
    /// Regions that were asked for, and whether their use is noted.
    regions: Vec<(Region, bool)>,
    /// By the indices of instructions, as far as they were met: what these do, which their text says.
    uses: Vec<Option<Use>>,
}

// SAFETY: regions are addresses, which the host keeps until the launch returns; only the launch follows them.
unsafe impl Send for Seen {}

impl Watch {
    pub(super) fn add(&self, seen: Seen) {
        self.0.lock().push(seen);
    }

    /// Shows the pages that were used, and how.
    pub fn each(self, mut look: impl FnMut(u64, Use, Box<Marks>)) {
        for (number, page) in self.0.into_inner().into_iter().flat_map(|seen| seen.pages) {
            for (how, marks) in USES.into_iter().zip(page.marks) {
                if let Some(marks) = marks {
                    look(number, how, marks);
                }
            }
        }
    }
}

impl Marks {
    fn new() -> Box<Self> {
        Box::new(Self { bits: [0; WORDS], places: [Place::default(); PAGE / GRAIN] })
    }

    /// The indices of the instructions that are named.
    pub(in crate::ptx) fn ops(&self) -> impl Iterator<Item = u32> {
        self.places.iter().map(|place| place.op)
    }

    /// Who used the bytes around one first, as far as this thread of the host knows: the instruction's index, the thread, the block.
    pub fn place(&self, byte: usize) -> (u32, u32, [u32; 3]) {
        let Place { op, thread, block } = self.places[byte / GRAIN % self.places.len()];
        (op, thread, block)
    }

    /// Marks the bytes from one to before another; a thread has `step` of them.
    fn mark(&mut self, from: usize, to: usize, place: Place, step: usize) {
        let mut at = from;
        while at < to {
            let end = (at / GRAIN + 1) * GRAIN;
            let stop = end.min(to);
            let mask = (!0u64 >> (64 - (stop - at))) << (at % 64);
            let word = &mut self.bits[at / 64];
            if *word & mask != mask {
                if *word >> (at / GRAIN * GRAIN % 64) & 0xffff == 0 {
                    let thread = place.thread + ((at - from) / step) as u32;
                    self.places[at / GRAIN] = Place { thread, ..place };
                }
                *word |= mask;
            }
            at = stop;
        }
    }
}

/// What an instruction does with global memory, from its text.
fn use_of(text: &str) -> Use {
    let strong = ["volatile", "relaxed", "acquire", "release", "mmio"];
    let is_strong = || text.split('.').any(|part| strong.contains(&part));
    match text.split('.').next().unwrap_or_default() {
        "atom" if text.contains(".exch") => Use::Atomic,
        "atom" | "red" => Use::Update,
        "ld" if is_strong() => Use::AtomicRead,
        "st" if is_strong() => Use::Atomic,
        "st" => Use::Write,
        "cp" if text.contains(".bulk.global.") => Use::Write,
        "wmma" | "mma" if text.contains(".store") => Use::Write,
        _ => Use::Read,
    }
}

impl Seen {
    fn use_of(&mut self, op: u32, program: &Program) -> Use {
        if self.uses.is_empty() {
            self.uses.resize(program.ops.len() + 1, None);
        }
        let at = (op as usize).min(program.ops.len());
        *self.uses[at].get_or_insert_with(|| {
            let text = program.ops.get(at).and_then(|op| program.texts.get(op.text as usize));
            text.map_or(Use::Read, |text| use_of(text))
        })
    }

    fn page(&mut self, number: u64) -> &mut Page {
        let at = match self.last {
            Some((last, at)) if last == number => at,
            _ => {
                let pages = &mut self.pages;
                *self.index.entry(number).or_insert_with(|| {
                    pages.push((number, Page::default()));
                    pages.len() as u32 - 1
                })
            }
        };
        self.last = Some((number, at));
        &mut self.pages[at as usize].1
    }

    fn note(&mut self, address: u64, size: usize, how: Use, place: Place) {
        let step = if size > LARGEST { size / LANES } else { size };
        let (mut at, end) = (address, address.saturating_add(size as u64));
        while at < end {
            let number = at / PAGE as u64;
            let stop = end.min((number + 1) * PAGE as u64);
            let thread = place.thread + ((at - address) as usize / step) as u32;
            let marks = self.page(number).marks[how as usize].get_or_insert_with(Marks::new);
            let from = (at % PAGE as u64) as usize;
            marks.mark(from, from + (stop - at) as usize, Place { thread, ..place }, step);
            at = stop;
        }
    }
}

impl Core<'_> {
    /// Global memory, of which a launch that watches takes note.
    pub(super) fn global_watched(
        &mut self,
        lane: usize,
        address: u64,
        size: usize,
        mut seen: Box<Seen>,
    ) -> Result<*mut u8, FaultKind> {
        let answer = self.find_and_note(lane, address, size, &mut seen);
        self.seen = Some(seen);
        answer
    }

    fn find_and_note(
        &mut self,
        lane: usize,
        address: u64,
        size: usize,
        seen: &mut Seen,
    ) -> Result<*mut u8, FaultKind> {
        let holds = |region: &Region| {
            let offset = address.wrapping_sub(region.start);
            offset < region.size && region.size - offset >= size as u64
        };
        let known = seen.regions.iter().position(|(region, _)| holds(region));
        let (region, is_noted) = match known {
            Some(at) => {
                seen.regions.swap(0, at);
                seen.regions[0]
            }
            None => {
                let host = self.job.host;
                match host.region(address).filter(holds) {
                    Some(region) => {
                        seen.regions.insert(0, (region, host.is_watched(address)));
                        seen.regions.truncate(16);
                        seen.regions[0]
                    }
                    // There may have been memory before.
                    None => (Region::NONE, true),
                }
            }
        };
        if is_noted {
            let op = self.pc.saturating_sub(1);
            let how = seen.use_of(op, self.program);
            let thread = self.warp * LANES as u32 + lane as u32;
            seen.note(address, size, how, Place { op, thread, block: self.block.index });
        }
        if region.bytes.is_null() {
            return Err(FaultKind::IllegalAddress);
        }
        Ok(region.bytes.wrapping_add(address.wrapping_sub(region.start) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Seen, Use, Watch, use_of};

    #[test]
    fn uses() {
        for (text, how) in [
            ("ld.global.f32", Use::Read),
            ("st.global.v4.f32", Use::Write),
            ("st.volatile.global.u32", Use::Atomic),
            ("ld.acquire.gpu.global.u32", Use::AtomicRead),
            ("atom.global.add.u32", Use::Update),
            ("atom.global.exch.b32", Use::Atomic),
            ("red.global.add.f32", Use::Update),
            ("cp.async.ca.shared.global", Use::Read),
            ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", Use::Read),
            ("cp.async.bulk.global.shared::cta.bulk_group", Use::Write),
            ("ldu.global.u32", Use::Read),
        ] {
            assert_eq!(use_of(text), how, "{text}");
        }
    }

    #[test]
    fn a_warp_s_bytes_over_the_end_of_a_page() {
        let mut seen = Seen::default();
        seen.note(4096 * 3 - 64, 128, Use::Write, Place { op: 7, thread: 32, block: [1, 0, 0] });
        seen.note(4096 * 3 - 64, 4, Use::Write, Place { op: 9, thread: 0, block: [2, 0, 0] });
        let watch = Watch::default();
        watch.add(seen);
        let mut found = Vec::new();
        watch.each(|page, how, marks| {
            found.push((page, how, marks.bits[0], marks.bits[63], marks.place(4032), marks.place(16)))
        });
        assert_eq!(found[0], (2, Use::Write, 0, u64::MAX, (7, 32, [1, 0, 0]), (0, 0, [0; 3])));
        assert_eq!((found[1].0, found[1].2, found[1].5), (3, u64::MAX, (7, 52, [1, 0, 0])));
        assert_eq!(found.len(), 2);
    }
}
