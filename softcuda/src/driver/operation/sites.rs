//! Where in a kernel memory was used, for a report.

use crate::check::access::{Kind, Site, Sites, Touched};
use crate::check::bits::Bits;
use crate::ptx::{By, Function, Marks, Spot, Use};
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
        let kind = kind(how);
        let spots = function.spots(&marks);
        let reads = !matches!(how, Use::Write | Use::Atomic);
        let bits = Bits::map(&marks.bits);
        Touched { page, kind, bits, reads, sites: Arc::new(Self { marks, spots, block }) }
    }
}

impl Sites for KernelSites {
    fn site(&self, byte: usize) -> Site {
        let (op, thread, block) = self.marks.place(byte);
        let spot = self.spots.iter().find(|spot| spot.op == op);
        site(spot, By { op, thread, block }, self.block)
    }
}

pub(super) fn kind(how: Use) -> Kind {
    match how {
        Use::Read => Kind::Read,
        Use::Write => Kind::Write,
        Use::Atomic | Use::Update => Kind::Atomic,
        Use::AtomicRead => Kind::AtomicRead,
    }
}

/// A thread at an instruction, where blocks are as large as that.
pub(super) fn site(spot: Option<&Spot>, by: By, [nx, ny, _]: [u32; 3]) -> Site {
    Site {
        line: spot.map_or(0, |spot| spot.line),
        source: spot.and_then(|spot| spot.source.clone()),
        instruction: spot.map_or(String::new(), |spot| spot.instruction.clone()),
        block: by.block,
        thread: [by.thread % nx, by.thread / nx % ny, by.thread / nx / ny],
    }
}
