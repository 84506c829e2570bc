//! Where in a kernel memory was used, for a report.

use crate::check::access::{Kind, Site, Sites, Touched};
use crate::check::bits::Bits;
use crate::ptx::{Function, Marks, Spot, Use};
use std::sync::Arc;

/// What a kernel does to a page.
pub(super) struct KernelSites {
    marks: Box<Marks>,
    /// The instructions that the marks name.
    spots: Vec<Spot>,
    block: [u32; 3],
}

impl KernelSites {
    pub(super) fn touched(
        page: u64,
        how: Use,
        marks: Box<Marks>,
        function: &Function,
        block: [u32; 3],
    ) -> Touched {
        let kind = match how {
            Use::Read => Kind::Read,
            Use::Write => Kind::Write,
            Use::Atomic | Use::Update => Kind::Atomic,
            Use::AtomicRead => Kind::AtomicRead,
        };
        let spots = function.spots(&marks);
        let reads = !matches!(how, Use::Write | Use::Atomic);
        let bits = Bits::map(&marks.bits);
        Touched { page, kind, bits, reads, sites: Arc::new(Self { marks, spots, block }) }
    }
}

impl Sites for KernelSites {
    fn site(&self, byte: usize) -> Site {
        let (op, thread, block) = self.marks.place(byte);
        let [nx, ny, _] = self.block;
        let spot = self.spots.iter().find(|spot| spot.op == op);
        Site {
            line: spot.map_or(0, |spot| spot.line),
            source: spot.and_then(|spot| spot.source.clone()),
            instruction: spot.map_or(String::new(), |spot| spot.instruction.clone()),
            block,
            thread: [thread % nx, thread / nx % ny, thread / nx / ny],
        }
    }
}
