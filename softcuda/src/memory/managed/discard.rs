//! The content of managed memory is given up.

use super::Part;
use super::pages::SIZE;
use crate::executor::{Duty, Work};

/// A discard that has been checked.
pub(crate) struct Discard(Part);

impl Discard {
    pub(crate) fn new(part: Part) -> Self {
        Self(part)
    }
}

impl Work for Discard {
    fn name(&self) -> &'static str {
        "a discard"
    }

    fn duty(&self) -> Duty {
        Duty::Device
    }

    /// Pages of which the range has all bytes lose them. Zeros are what is found there then: nobody may count on that, or
    /// on what was there before.
    fn run(&self) {
        let whole = self.0.whole();
        let Ok(pages) = self.0.pages() else { return };
        if whole.is_empty() {
            return;
        }
        let allocation = &self.0.allocation;
        let (start, end) = (whole.start * SIZE, (whole.end * SIZE).min(allocation.size));
        if let Ok(bytes) = allocation.locate(allocation.address + start, end - start) {
            // SAFETY: inside the allocation, which the range holds; who else uses it meanwhile breaks the API's rules.
            unsafe { bytes.write_bytes(0, end - start) };
        }
        pages.discard(whole);
    }
}
