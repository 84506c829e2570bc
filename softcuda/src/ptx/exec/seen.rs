//! Which bytes of global memory a launch uses, and where: for those who want to know that of a launch (`Launch::watch`).
//!
//! Nothing of it is in the way of others: a thread that watches remembers no region, so that each access asks for its region anew, and is
//! noted there.

use super::core::{Core, LANES};
use super::fault::FaultKind;
use super::host::Region;
use super::program::Program;
use super::race::Races;
use super::race::found::Found;
use super::race::pages::Pages;
use parking_lot::Mutex;

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;
const WORDS: usize = PAGE / 64;
/// Bytes whose first user is known.
const GRAIN: usize = 16;

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
pub struct Watch {
    seen: Mutex<Vec<Seen>>,
    /// Whether races inside of the launch are looked for.
    pub(in crate::ptx) races: bool,
}

/// What an instruction does with memory.
#[derive(Clone, Copy)]
pub(super) struct What {
    pub(super) how: Use,
    /// Whether it is a store, of registers.
    pub(super) is_store: bool,
    /// Whether it writes only if what is there is what was expected.
    pub(super) compares: bool,
    /// Whether an atomic write passes on what was before.
    pub(super) releases: bool,
}

#[derive(Default)]
struct Page {
    marks: [Option<Box<Marks>>; USES.len()],
}

/// What one thread of the host has noted.
#[derive(Default)]
pub(super) struct Seen {
    pages: Pages<Page>,
    /// Races inside of the launch, if somebody looks for them.
    pub(super) races: Option<Box<Races>>,
    /// The lanes of a warp that have read the same bytes, one after the other.
    again: Option<Again>,
    /// Regions that were asked for, and whether their use is noted.
    regions: Vec<(Region, bool)>,
    instructions: Instructions,
}

/// What instructions do, by their indices, as far as they were met: their text says it.
#[derive(Default)]
pub(super) struct Instructions(Vec<Option<What>>);

/// Two lanes and more that have read the same.
#[derive(Clone, Copy)]
struct Again {
    address: u64,
    size: usize,
    op: u32,
    warp: u32,
    lanes: u32,
    place: *mut u8,
}

// SAFETY: regions and places are addresses, which the host keeps until the launch returns; only the launch follows them.
unsafe impl Send for Seen {}

impl Watch {
    /// Takes note of global memory, and looks for races inside of the launch if these are wanted.
    pub fn new(races: bool) -> Self {
        Self { seen: Mutex::default(), races }
    }

    pub(super) fn add(&self, seen: Seen) {
        self.seen.lock().push(seen);
    }

    /// The races inside of the launch.
    pub fn races(&self) -> Vec<Found> {
        let mut all = self.seen.lock();
        all.iter_mut().filter_map(|seen| seen.races.take()).map(|races| races.found.tell()).collect()
    }

    /// Shows the pages that were used, and how.
    pub fn each(self, mut look: impl FnMut(u64, Use, Box<Marks>)) {
        for (number, page) in self.seen.into_inner().into_iter().flat_map(|seen| seen.pages.into_all()) {
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
        "wmma" | "mma" if text.contains(".store") => Use::Write,
        "stmatrix" => Use::Write,
        _ => Use::Read,
    }
}

impl Use {
    /// Whether memory is written.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::AtomicRead)
    }
}

impl Instructions {
    pub(super) fn what(&mut self, op: u32, program: &Program) -> What {
        if self.0.is_empty() {
            self.0.resize(program.ops.len() + 1, None);
        }
        let at = (op as usize).min(program.ops.len());
        *self.0[at].get_or_insert_with(|| What::of(program.text(op)))
    }
}

impl What {
    fn of(text: &str) -> Self {
        let how = use_of(text);
        let releases = text.split('.').any(|part| matches!(part, "release" | "acq_rel"));
        Self {
            how,
            is_store: matches!(text.split('.').next(), Some("st" | "stmatrix" | "wmma")) && is_write(how),
            compares: text.contains(".cas"),
            releases,
        }
    }
}

fn is_write(how: Use) -> bool {
    matches!(how, Use::Write | Use::Atomic)
}

impl Seen {
    pub(super) fn new(races: Option<Races>) -> Self {
        Self { races: races.map(Box::new), ..Self::default() }
    }

    pub(super) fn what(&mut self, op: u32, program: &Program) -> What {
        self.instructions.what(op, program)
    }

    /// Another warp has its turn, or something was ordered: what lanes have read may be read anew.
    pub(super) fn turn(&mut self) {
        self.again = None;
    }

    /// Where bytes are that two lanes before this one have just read at the same instruction.
    fn read_again(&self, address: u64, size: usize, op: u32, warp: u32) -> Option<*mut u8> {
        let again = self.again.filter(|again| again.lanes > 1)?;
        let is_same = (again.address, again.size, again.op, again.warp) == (address, size, op, warp);
        is_same.then_some(again.place)
    }

    fn note_read(&mut self, address: u64, size: usize, op: u32, warp: u32, place: *mut u8) {
        let lanes = match self.again {
            Some(again) if (again.address, again.size, again.op, again.warp) == (address, size, op, warp) => {
                again.lanes + 1
            }
            _ => 1,
        };
        self.again = Some(Again { address, size, op, warp, lanes, place });
    }

    fn note(&mut self, address: u64, (size, step): (usize, usize), how: Use, place: Place) {
        let (mut at, end) = (address, address.saturating_add(size as u64));
        while at < end {
            let number = at / PAGE as u64;
            let stop = end.min((number + 1) * PAGE as u64);
            let thread = place.thread + ((at - address) as usize / step) as u32;
            let page = self.pages.get(number, Page::default);
            let marks = page.marks[how as usize].get_or_insert_with(Marks::new);
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
        let op = self.pc.saturating_sub(1);
        if let Some(place) = seen.read_again(address, size, op, self.warp) {
            return Ok(place);
        }
        let holds = |region: &Region| region.holds(address, size);
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
        let how = self.doing.unwrap_or(seen.what(op, self.program).how);
        let step = size / self.run;
        if is_noted {
            let thread = self.warp * LANES as u32 + lane as u32;
            seen.note(address, (size, step), how, Place { op, thread, block: self.block.index });
        }
        if region.bytes.is_null() || region.read_only && how.writes() {
            return Err(FaultKind::IllegalAddress);
        }
        let place = region.bytes.wrapping_add(address.wrapping_sub(region.start) as usize);
        self.look_at_global(seen, (lane, address, size, step), place, is_noted);
        match how {
            Use::Read => seen.note_read(address, size, op, self.warp, place),
            _ => seen.turn(),
        }
        Ok(place)
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
            ("ldu.global.u32", Use::Read),
        ] {
            assert_eq!(use_of(text), how, "{text}");
        }
    }

    #[test]
    fn a_warp_s_bytes_over_the_end_of_a_page() {
        let mut seen = Seen::default();
        seen.note(4096 * 3 - 64, (128, 4), Use::Write, Place { op: 7, thread: 32, block: [1, 0, 0] });
        seen.note(4096 * 3 - 64, (4, 4), Use::Write, Place { op: 9, thread: 0, block: [2, 0, 0] });
        let watch = Watch::new(false);
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
