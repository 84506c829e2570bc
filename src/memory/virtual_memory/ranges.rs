//! The virtual memory of a resource: ranges of addresses, each with its memory, by where they begin and how long they are.

use super::chunk::{Addresses, Chunk};
use super::mapping::Mapping;
use super::opened::Opened;
use super::plan::Plan;
use super::shared::{Exported, Offered, export_parts, read_parts};
use crate::location::Location;
use crate::object::error::{Error, Status};
use crate::op::{one_awoke, one_sleeps};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// What was handed out.
#[derive(Default)]
pub(in crate::memory) struct Ranges(Mutex<HashMap<(u64, usize), Range>>);

/// Adjacent addresses with memory, which several may have.
struct Range {
    holds: usize,
    content: Content,
}

enum Content {
    Mapped(Vec<Arc<Mapping>>),
    Asleep(Asleep),
}

/// Addresses whose memory was given back.
struct Asleep {
    parts: Arc<[Part]>,
    /// Whether somebody wakes it. It sleeps until that has its contents back.
    is_waking: bool,
    /// What was in the memory, if it was kept.
    contents: Option<Kept>,
}

/// What a range had of memory at once.
struct Part {
    addresses: Arc<Addresses>,
    offset: usize,
    bytes: usize,
    plan: Arc<Plan>,
}

/// Contents of memory that sleeps, on the host.
pub(in crate::memory) type Kept = Vec<u8>;

impl Drop for Asleep {
    fn drop(&mut self) {
        one_awoke();
    }
}

impl Ranges {
    /// New memory of so many bytes, in whole units, at new addresses; answers with the first.
    pub(in crate::memory) fn allocate(&self, plan: &Arc<Plan>, bytes: usize) -> Result<u64, Error> {
        let addresses = Addresses::reserve(plan, bytes, plan.alignment, plan.hint)?;
        let mapping = Mapping::new(&addresses, 0, Chunk::create(plan, bytes)?)?;
        let first = addresses.raw().address();
        self.0.lock().insert((first, bytes), Range { holds: 1, content: Content::Mapped(vec![mapping]) });
        Ok(first)
    }

    /// What other processes need to have the memory of a range, part by part.
    pub(in crate::memory) fn export(&self, range: (u64, usize)) -> Result<Vec<Exported>, Error> {
        // The parts are held while the driver is asked.
        let parts = mapped(&self.0.lock(), range)?.to_vec();
        export_parts(parts.iter().map(|part| &part.chunk))
    }

    /// How many parts a range has.
    pub(in crate::memory) fn part_count(&self, range: (u64, usize)) -> Result<usize, Error> {
        match self.0.lock().get(&range).map(|found| &found.content) {
            Some(Content::Mapped(parts)) => Ok(parts.len()),
            Some(Content::Asleep(asleep)) => Ok(asleep.parts.len()),
            None => Err(unknown(range)),
        }
    }

    /// A range of memory that another process has exported: where it begins, and its size.
    pub(in crate::memory) fn import(
        &self,
        plan: &Arc<Plan>,
        parts: &[(i32, &[u8])],
    ) -> Result<(u64, usize), Error> {
        let offered = read_parts(parts)?;
        let import = |(index, part): (usize, &Offered)| {
            part.import(plan).map_err(|failure| failure.of_item("part", index))
        };
        let chunks: Vec<_> = offered.iter().enumerate().map(import).collect::<Result<_, _>>()?;
        let bytes = chunks.iter().fold(0usize, |sum, chunk| sum.saturating_add(chunk.bytes));
        let addresses = Addresses::reserve(plan, plan.rounded(bytes)?, plan.alignment, plan.hint)?;
        let mapped =
            map_all(&addresses, chunks).map_err(|(index, failure)| failure.of_item("part", index))?;
        let range = (addresses.raw().address(), bytes);
        self.0.lock().insert(range, Range { holds: 1, content: Content::Mapped(mapped) });
        Ok(range)
    }

    /// A range that begins with the memory of another one and has at least `wanted` bytes, in whole units. In place if the driver grants
    /// the next addresses, else elsewhere. What is long enough stays as it is, and is held once more. Where it begins, and its size.
    pub(in crate::memory) fn grow(
        &self,
        home: &Arc<Plan>,
        range: (u64, usize),
        plan: &Arc<Plan>,
        wanted: usize,
    ) -> Result<(u64, usize), Error> {
        let (first, bytes) = range;
        if wanted <= bytes {
            let mut ranges = self.0.lock();
            // What sleeps cannot be used, and grows as little.
            mapped(&ranges, range)?;
            ranges.entry(range).and_modify(|range| range.holds += 1);
            return Ok(range);
        }
        let more = plan.rounded(wanted - bytes)?;
        let parts = mapped(&self.0.lock(), range)?.to_vec();
        let (first, parts) = match in_place(plan, first, bytes, more, &parts)? {
            Some(parts) => (first, parts),
            None => elsewhere(home, plan, bytes, more, &parts)?,
        };
        let grown = (first, bytes + more);
        self.0.lock().insert(grown, Range { holds: 1, content: Content::Mapped(parts) });
        Ok(grown)
    }

    /// Ends a hold on a range; its memory goes with the last one, unless another range has it, too.
    pub(in crate::memory) fn free(&self, range: (u64, usize)) -> Result<(), Error> {
        let mut ranges = self.0.lock();
        let found = ranges.get_mut(&range).ok_or_else(|| unknown(range))?;
        found.holds -= 1;
        if found.holds > 0 {
            return Ok(());
        }
        let gone = ranges.remove(&range);
        drop(ranges);
        let Some(Range { content: Content::Mapped(parts), .. }) = gone else { return Ok(()) };
        let ended = parts.into_iter().filter_map(Arc::into_inner).map(|last| last.unmap());
        ended.fold(Ok(()), Result::and)
    }

    /// Whether a range was handed out.
    pub(in crate::memory) fn has(&self, range: (u64, usize)) -> bool {
        self.0.lock().contains_key(&range)
    }

    /// Whether a range has no memory now.
    pub(in crate::memory) fn is_asleep(&self, range: (u64, usize)) -> bool {
        matches!(self.0.lock().get(&range), Some(Range { content: Content::Asleep(_), .. }))
    }

    /// Refuses to have a range sleep that sleeps, or whose memory others have, too.
    pub(in crate::memory) fn check_may_sleep(&self, range: (u64, usize)) -> Result<(), Error> {
        let ranges = self.0.lock();
        let parts = mapped(&ranges, range)?;
        if parts.iter().any(|part| part.chunk.is_imported) {
            let refusal = "the memory is another process's, which alone can give it back: have it sleep there, and destroy this buffer";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        let is_shared =
            |part: &Arc<Mapping>| Arc::strong_count(part) > 1 || Arc::strong_count(&part.chunk) > 1;
        if ranges[&range].holds > 1 || parts.iter().any(is_shared) {
            let refusal = "the memory is another buffer's, too, which grew from this one or which this one grew from, and would \
                           not be given back: destroy that buffer first, and the graphs and execs that keep it; what launches \
                           keep goes after them (cushim_flush_callbacks)";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        Ok(())
    }

    /// Gives the memory of a range back, and keeps its addresses, and the contents for later if they are given.
    pub(in crate::memory) fn sleep(&self, range: (u64, usize), contents: Option<Kept>) -> Result<(), Error> {
        self.check_may_sleep(range)?;
        let mut ranges = self.0.lock();
        let mapped = mapped(&ranges, range)?.to_vec();
        Mapping::unmap_all(&mapped)?;
        let asleep = Asleep { parts: mapped.iter().map(Part::of).collect(), is_waking: false, contents };
        one_sleeps();
        let found = ranges.get_mut(&range).ok_or_else(|| unknown(range))?;
        let before = std::mem::replace(&mut found.content, Content::Asleep(asleep));
        drop(ranges);
        drop((before, mapped)); // outside of the lock
        Ok(())
    }

    /// Lets a place read and write all of a range, until what this answers with ends.
    pub(in crate::memory) fn open(&self, range: (u64, usize), place: Location) -> Result<Opened, Error> {
        let parts = mapped(&self.0.lock(), range)?.to_vec();
        Opened::new(&parts, place)
    }

    /// Gives a range memory again, and what was in it, if that was kept, by `restore`, for which `place` may write to it. The range sleeps
    /// for everybody else until all is there; if something fails, it sleeps as before and has its contents.
    pub(in crate::memory) fn wake(
        &self,
        range: (u64, usize),
        place: Location,
        restore: impl FnOnce(&Kept) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (parts, contents) = self.begin_waking(range)?;
        let woken = map_again(&parts, contents.as_ref(), place, restore);
        let mut ranges = self.0.lock();
        let found = ranges.get_mut(&range).ok_or_else(|| unknown(range))?;
        let Content::Asleep(asleep) = &mut found.content else { return Err(unknown(range)) };
        asleep.is_waking = false;
        match woken {
            Ok(mapped) => {
                let before = std::mem::replace(&mut found.content, Content::Mapped(mapped));
                drop(ranges);
                drop((before, contents)); // outside of the lock
                Ok(())
            }
            Err(failure) => {
                asleep.contents = contents;
                Err(failure)
            }
        }
    }

    /// What is to have memory again, and its contents. Nobody else wakes it meanwhile.
    fn begin_waking(&self, range: (u64, usize)) -> Result<(Arc<[Part]>, Option<Kept>), Error> {
        let mut ranges = self.0.lock();
        let refuse = |refusal| Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        match &mut ranges.get_mut(&range).ok_or_else(|| unknown(range))?.content {
            Content::Mapped(_) => refuse("it does not sleep; wake what was put to sleep"),
            Content::Asleep(asleep) if asleep.is_waking => {
                refuse("another thread wakes it; wait for that call before it is used")
            }
            Content::Asleep(asleep) => {
                asleep.is_waking = true;
                Ok((Arc::clone(&asleep.parts), asleep.contents.take()))
            }
        }
    }
}

/// New memory for all of these parts, with the contents. If something fails, none has memory when that returns.
fn map_again(
    parts: &[Part],
    contents: Option<&Kept>,
    place: Location,
    restore: impl FnOnce(&Kept) -> Result<(), Error>,
) -> Result<Vec<Arc<Mapping>>, Error> {
    let mapped = parts.iter().map(Part::map).collect::<Result<Vec<_>, _>>()?;
    if let Some(contents) = contents {
        let opened = Opened::new(&mapped, place)?;
        restore(contents)?;
        opened.close()?;
    }
    Ok(mapped)
}

impl Part {
    fn of(mapping: &Arc<Mapping>) -> Self {
        Self {
            addresses: Arc::clone(&mapping.addresses),
            offset: mapping.offset,
            bytes: mapping.bytes(),
            plan: Arc::clone(&mapping.chunk.plan),
        }
    }

    /// New memory, where there was some before.
    fn map(&self) -> Result<Arc<Mapping>, Error> {
        Mapping::new(&self.addresses, self.offset, Chunk::create(&self.plan, self.bytes)?)
    }
}

/// The memory of a range, which must have it.
fn mapped(ranges: &HashMap<(u64, usize), Range>, range: (u64, usize)) -> Result<&[Arc<Mapping>], Error> {
    match ranges.get(&range).map(|found| &found.content) {
        Some(Content::Mapped(parts)) => Ok(parts),
        Some(Content::Asleep(_)) => Err(Error::new(Status::INVALID_ARGUMENT, ASLEEP_ALREADY)),
        None => Err(unknown(range)),
    }
}

const ASLEEP_ALREADY: &str = "it sleeps: it has addresses and no memory; wake it first";

#[cold]
fn unknown((address, bytes): (u64, usize)) -> Error {
    let refusal = format!(
        "no {bytes} bytes of virtual memory at {address:#x} came from here, or they are freed; pass what the allocation gave, with \
         its size"
    );
    Error::new(Status::INVALID_ARGUMENT, refusal)
}

/// The parts, and new memory at the next addresses; `None` if the driver does not grant those.
fn in_place(
    plan: &Arc<Plan>,
    first: u64,
    bytes: usize,
    more: usize,
    parts: &[Arc<Mapping>],
) -> Result<Option<Vec<Arc<Mapping>>>, Error> {
    let next = first + bytes as u64;
    let addresses = match Addresses::reserve(plan, more, 0, next) {
        Ok(addresses) if addresses.raw().address() == next => addresses,
        // Elsewhere there may be room.
        _ => return Ok(None),
    };
    let added = Mapping::new(&addresses, 0, Chunk::create(plan, more)?)?;
    Ok(Some(parts.iter().cloned().chain([added]).collect()))
}

/// The memory of the parts, and new memory behind it, at new addresses. The parts stay where they are, too.
fn elsewhere(
    home: &Plan,
    plan: &Arc<Plan>,
    bytes: usize,
    more: usize,
    parts: &[Arc<Mapping>],
) -> Result<(u64, Vec<Arc<Mapping>>), Error> {
    let chunk = Chunk::create(plan, more)?;
    let addresses = Addresses::reserve(plan, bytes + more, home.alignment, 0)?;
    let chunks = parts.iter().map(|part| Arc::clone(&part.chunk)).chain([chunk]);
    let moved = map_all(&addresses, chunks).map_err(|(_, failure)| failure)?;
    Ok((addresses.raw().address(), moved))
}

/// Maps memory piece behind piece from the first of these addresses on; or says which piece was not mapped, and then none is.
fn map_all(
    addresses: &Arc<Addresses>,
    chunks: impl IntoIterator<Item = Arc<Chunk>>,
) -> Result<Vec<Arc<Mapping>>, (usize, Error)> {
    let mut offset = 0;
    let map = |(index, chunk): (usize, Arc<Chunk>)| {
        let bytes = chunk.bytes;
        let mapped = Mapping::new(addresses, offset, chunk).map_err(|failure| (index, failure));
        offset += bytes;
        mapped
    };
    chunks.into_iter().enumerate().map(map).collect()
}
