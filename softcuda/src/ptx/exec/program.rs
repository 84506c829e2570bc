//! A kernel, lowered: flat arrays, all that the interpreter reads.

use super::core::{Op, Reg};
use std::collections::HashMap;

/// What each call costs of the stack, and of local memory, beside the function's own, so that no recursion is endless.
pub(in crate::ptx) const CALL_COST: u32 = 16;

/// Sixty-four bytes of registers or constants.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(in crate::ptx) struct Line(pub(in crate::ptx) [u8; 64]);

/// A kernel with every function that it reaches.
pub(in crate::ptx) struct Program {
    pub(in crate::ptx) name: String,
    pub(in crate::ptx) ops: Vec<Op>,
    /// The text of each instruction, for reports.
    pub(in crate::ptx) texts: Vec<String>,
    /// Each constant 32 times, as a register holds it.
    pub(in crate::ptx) constants: Vec<Line>,
    /// Element 0 is the kernel.
    pub(in crate::ptx) routines: Vec<Routine>,
    pub(in crate::ptx) calls: Vec<Call>,
    pub(in crate::ptx) collectives: Vec<super::collective::Collective>,
    pub(in crate::ptx) barriers: Vec<super::barrier::Barrier>,
    /// Where `brx.idx` goes.
    pub(in crate::ptx) jumps: Vec<Vec<u32>>,
    /// Shared memory in bytes that the kernel declares.
    pub(in crate::ptx) shared: u32,
    /// Where the shared memory begins whose size the launch says.
    pub(in crate::ptx) dynamic_shared: u32,
    /// Bytes of parameters.
    pub(in crate::ptx) params: u32,
    /// Local memory in bytes per thread that all calls together can need; `None` if they recurse or are indirect.
    pub(in crate::ptx) deepest: Option<u32>,
    /// Which routine a function address means, by the module's number of the function.
    pub(in crate::ptx) addresses: HashMap<u32, u32>,
}

impl Program {
    /// The text of an instruction; empty if there is none of that index.
    pub(in crate::ptx) fn text(&self, op: u32) -> &str {
        self.ops.get(op as usize).map_or("", |op| &self.texts[op.text as usize])
    }

    /// Bytes of local memory that a thread needs if its calls may take so many of the stack. Those of functions that call themselves take
    /// more than that here, up to a limit.
    pub(in crate::ptx) fn local_memory(&self, stack: u32) -> u32 {
        const MOST_MORE: u32 = 16 << 10;
        self.deepest.unwrap_or_else(|| {
            let times = self.routines.iter().skip(1).map(Routine::memory_of_stack).max().unwrap_or(1);
            let more = stack.saturating_mul(times - 1).min(MOST_MORE);
            self.routines[0].local.next_multiple_of(16).saturating_add(stack).saturating_add(more)
        })
    }
}

/// What a frame of a function needs.
#[derive(Clone, Default)]
pub(in crate::ptx) struct Routine {
    pub(in crate::ptx) entry: u32,
    /// Bytes of registers, in whole lines.
    pub(in crate::ptx) registers: u32,
    /// Registers of 32 bits a thread, as the text declares them; only those that it names are among `registers`.
    pub(in crate::ptx) declared: u32,
    /// Bytes of local memory per thread, parameters and results included.
    pub(in crate::ptx) local: u32,
    /// What of it a GPU keeps on a thread's stack, too: parameters and results are in registers there, unless they are large.
    pub(in crate::ptx) stack: u32,
    /// The places of parameters and results in local memory.
    pub(in crate::ptx) params: Vec<Slot>,
    pub(in crate::ptx) results: Vec<Slot>,
}

impl Routine {
    /// What a call of it takes of the stack.
    pub(in crate::ptx) fn cost(&self) -> u32 {
        self.stack.next_multiple_of(16) + CALL_COST
    }

    /// How many bytes of local memory go with each of the stack, rounded up.
    fn memory_of_stack(&self) -> u32 {
        (self.local.next_multiple_of(16) + CALL_COST).div_ceil(self.cost())
    }
}

/// Bytes of a frame's local memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct Slot {
    pub(in crate::ptx) offset: u32,
    pub(in crate::ptx) size: u32,
}

/// Where a caller keeps a parameter or result.
#[derive(Clone, Copy)]
pub(in crate::ptx) enum Place {
    Slot(Slot),
    /// A register of so many bytes.
    Register(Reg, u32),
}

/// A call.
pub(in crate::ptx) struct Call {
    pub(in crate::ptx) target: Target,
    pub(in crate::ptx) params: Vec<Place>,
    pub(in crate::ptx) results: Vec<Place>,
}

/// Who is called.
pub(in crate::ptx) enum Target {
    /// An index of `routines`.
    Direct(u32),
    /// A register with an address.
    Indirect(Reg),
    External(super::external::External),
}
