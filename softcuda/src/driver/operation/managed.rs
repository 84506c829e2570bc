//! What is done with managed memory in the order of work: it is moved, given up, attached.

use super::Action;
use crate::abi::Answer;
use crate::check::Used;
use crate::check::access::{Kind, Touch};
use crate::driver::context::Activation;
use crate::driver::memory::attachment::Visibility;
use crate::driver::memory::location::Location;
use crate::driver::memory::managed::Part;
use crate::driver::memory::pages::SIZE;
use crate::executor::{Turn, WorkKind};
use std::sync::Arc;

/// Moves it to where it will be used.
#[derive(Clone)]
pub(crate) struct Prefetch {
    pub(crate) part: Part,
    pub(crate) to: Location,
}

impl Prefetch {
    /// What attributes tell from the call on, whether the pages have moved or not.
    pub(crate) fn note(&self) -> Answer {
        let to = Some(self.to);
        self.part.pages()?.change(self.part.touched(), |page| page.prefetched = to);
        Ok(())
    }
}

impl Action for Prefetch {
    fn name(&self) -> &'static str {
        "a prefetch"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Device
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        if let Ok(pages) = self.part.pages() {
            pages.bring(self.part.touched(), self.to);
        }
    }
}

/// Gives its content up.
#[derive(Clone)]
pub(crate) struct Discard {
    pub(crate) part: Part,
}

impl Action for Discard {
    fn name(&self) -> &'static str {
        "a discard"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Device
    }

    fn uses(&self, used: &mut Used) {
        let (allocation, whole) = (&self.part.allocation, self.part.whole());
        let start = allocation.address + whole.start * SIZE;
        let end = (allocation.address + allocation.size).min(allocation.address + whole.end * SIZE);
        used.ranges.push(Touch::new(start, end.saturating_sub(start), Kind::Write));
        used.memory.push(allocation.checked());
    }

    /// Pages of which the range has all bytes lose them. Zeros are what is found there then: nobody may count on that, or
    /// on what was there before.
    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        let whole = self.part.whole();
        let Ok(pages) = self.part.pages() else { return };
        if whole.is_empty() {
            return;
        }
        let allocation = &self.part.allocation;
        let (start, end) = (whole.start * SIZE, (whole.end * SIZE).min(allocation.size));
        if let Ok(bytes) = allocation.locate(allocation.address + start, end - start) {
            // SAFETY: inside the allocation, which the range holds; who else uses it meanwhile breaks the API's rules.
            unsafe { bytes.write_bytes(0, end - start) };
        }
        pages.discard(whole);
    }
}

/// Changes who may use all of an allocation.
#[derive(Clone)]
pub(crate) struct Attach {
    pub(crate) part: Part,
    pub(crate) visibility: Visibility,
}

impl Action for Attach {
    fn name(&self) -> &'static str {
        "an attachment"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Instant
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        if let Ok(pages) = self.part.pages() {
            pages.attachment.set(self.visibility);
        }
    }
}
