//! Loads and stores.

use super::core::{Core, FULL, Handler, LANES, Lane, Op, Reg, Step};
use super::fault::FaultKind;
use super::space::Space;

/// Registers that hold addresses.
pub(in crate::ptx) trait Address: Lane {
    fn plus(self, offset: i64) -> u64;
}

impl Address for u64 {
    #[inline(always)]
    fn plus(self, offset: i64) -> u64 {
        self.wrapping_add(offset as u64)
    }
}

impl Address for u32 {
    #[inline(always)]
    fn plus(self, offset: i64) -> u64 {
        u64::from(self.wrapping_add(offset as u32))
    }
}

/// What memory holds, and the register that it goes to.
pub(in crate::ptx) trait Cell: Lane {
    type Register: Lane;
    fn widen(self) -> Self::Register;
    fn narrow(register: Self::Register) -> Self;
}

macro_rules! cells { ($($cell:ty => $register:ty),*) => { $(
    impl Cell for $cell {
        type Register = $register;
        #[inline(always)]
        fn widen(self) -> $register { self.into() }
        #[inline(always)]
        fn narrow(register: $register) -> Self { register as Self }
    }
)* } }
cells!(u8 => u16, u16 => u16, u32 => u32, u64 => u64, u128 => u128);

impl Core<'_> {
    /// Where 32 lanes' cells are, if they lie one after the other.
    #[inline(always)]
    fn run_of_cells<S: Space, A: Address, M: Cell>(
        &mut self,
        addresses: &[A; LANES],
        offset: i64,
    ) -> Option<*mut M> {
        if self.mask != FULL || !S::LINEAR {
            return None;
        }
        let first = addresses[0].plus(offset);
        let mut apart = 0;
        for (lane, address) in addresses.iter().enumerate() {
            apart |= address.plus(offset) ^ first.wrapping_add((lane * size_of::<M>()) as u64);
        }
        if apart != 0 || !first.is_multiple_of(size_of::<M>() as u64) {
            return None;
        }
        S::locate(self, 0, first, LANES * size_of::<M>()).ok().map(<*mut u8>::cast)
    }

    /// Where one lane's cell is.
    #[inline(always)]
    fn cell<S: Space, M: Cell>(&mut self, lane: usize, address: u64) -> Result<*mut M, FaultKind> {
        if !address.is_multiple_of(size_of::<M>() as u64) {
            return Err(FaultKind::MisalignedAddress);
        }
        S::locate(self, lane, address, size_of::<M>()).map(<*mut u8>::cast)
    }

    /// Looks up lanes whose cells lie one after the other as one, for a launch that is watched; gives those that follow one, and where
    /// their cells are.
    fn watched_run<S: Space, A: Address, M: Cell>(
        &mut self,
        lane: usize,
        addresses: &[A; LANES],
        offset: i64,
    ) -> Result<(usize, *mut M), FaultKind> {
        let first = addresses[lane].plus(offset);
        let follows = |next: &usize| {
            let end = first.wrapping_add(((next - lane + 1) * size_of::<M>()) as u64);
            self.mask >> next & 1 != 0
                && addresses[*next].plus(offset) == end - size_of::<M>() as u64
                && end <= S::LINEAR_BELOW
        };
        let count = 1 + (lane + 1..LANES).take_while(follows).count();
        if count > 1 && first.is_multiple_of(size_of::<M>() as u64) {
            self.run = count;
            let found = S::locate(self, lane, first, count * size_of::<M>());
            self.run = 1;
            if let Ok(place) = found {
                return Ok((count, place.cast()));
            }
        }
        self.cell::<S, M>(lane, first).map(|cell| (1, cell))
    }

    /// Has `touch` touch the cells of all lanes, of those that follow one another at once: the first lane, how many, and where their cells are.
    #[cold]
    fn each_watched_run<S: Space, A: Address, M: Cell>(
        &mut self,
        op: &Op,
        touch: impl Fn(usize, usize, *mut M),
    ) -> Step {
        let addresses = self.get::<A>(op.a);
        let mut lane = 0;
        while lane < LANES {
            if self.mask >> lane & 1 == 0 {
                lane += 1;
                continue;
            }
            match self.watched_run::<S, A, M>(lane, &addresses, op.imm) {
                Ok((count, cells)) => {
                    touch(lane, count, cells);
                    lane += count;
                }
                Err(kind) => return self.fail(kind, lane, Some(addresses[lane].plus(op.imm))),
            }
        }
        Step::Next
    }

    fn load_watched<S: Space, A: Address, M: Cell>(&mut self, op: &Op) -> Step {
        let held = self.place::<M::Register>(op.d);
        self.each_watched_run::<S, A, M>(op, |lane, count, cells| {
            for at in 0..count {
                // SAFETY: as in `load`, of as many cells.
                unsafe { held.add(lane + at).write(cells.add(at).read_unaligned().widen()) };
            }
        })
    }

    fn store_watched<S: Space, A: Address, M: Cell>(&mut self, op: &Op) -> Step {
        let values = self.get::<M::Register>(op.b);
        self.each_watched_run::<S, A, M>(op, |lane, count, cells| {
            for at in 0..count {
                // SAFETY: as in `store`, of as many cells.
                unsafe { cells.add(at).write_unaligned(M::narrow(values[lane + at])) };
            }
        })
    }

    fn load<S: Space, A: Address, M: Cell>(&mut self, op: &Op) -> Step {
        if self.seen.is_some() {
            return self.load_watched::<S, A, M>(op);
        }
        let addresses = self.get::<A>(op.a);
        if let Some(cells) = self.run_of_cells::<S, A, M>(&addresses, op.imm) {
            // SAFETY: `locate` gave as many bytes; kernels that race with themselves get some value.
            let cells = unsafe { cells.cast::<[M; LANES]>().read_unaligned() };
            self.put(op.d, &cells.map(M::widen));
            return Step::Next;
        }
        let held = self.place::<M::Register>(op.d);
        for lane in self.active() {
            let address = addresses[lane].plus(op.imm);
            match self.cell::<S, M>(lane, address) {
                // SAFETY: `locate` gave the cell's bytes; the register is the frame's and M's.
                Ok(cell) => unsafe { held.add(lane).write(cell.read_unaligned().widen()) },
                Err(kind) => return self.fail(kind, lane, Some(address)),
            }
        }
        Step::Next
    }

    fn store<S: Space, A: Address, M: Cell>(&mut self, op: &Op) -> Step {
        if self.seen.is_some() {
            return self.store_watched::<S, A, M>(op);
        }
        let addresses = self.get::<A>(op.a);
        let values = self.get::<M::Register>(op.b);
        if let Some(cells) = self.run_of_cells::<S, A, M>(&addresses, op.imm) {
            // SAFETY: as in `load`.
            unsafe { cells.cast::<[M; LANES]>().write_unaligned(values.map(M::narrow)) };
            return Step::Next;
        }
        for lane in self.active() {
            let address = addresses[lane].plus(op.imm);
            match self.cell::<S, M>(lane, address) {
                // SAFETY: as in `load`.
                Ok(cell) => unsafe { cell.write_unaligned(M::narrow(values[lane])) },
                Err(kind) => return self.fail(kind, lane, Some(address)),
            }
        }
        Step::Next
    }
}

/// `d = [a + imm]`
pub(in crate::ptx) fn load<S: Space, A: Address, M: Cell>() -> Handler {
    |core, op| core.load::<S, A, M>(op)
}

/// `[a + imm] = b`
pub(in crate::ptx) fn store<S: Space, A: Address, M: Cell>() -> Handler {
    |core, op| core.store::<S, A, M>(op)
}

/// `d =` the kernel's parameter at `imm`, the same for all lanes; lowering has checked that it is one.
pub(in crate::ptx) fn argument<M: Cell>() -> Handler {
    |core, op| {
        let args = core.job.args;
        let mut bytes = M::default();
        let source = &args[op.imm as usize..op.imm as usize + size_of::<M>()];
        // SAFETY: as many bytes, of which every pattern is a value.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), (&raw mut bytes).cast(), source.len()) };
        core.put(op.d, &[bytes.widen(); LANES]);
        Step::Next
    }
}

impl Core<'_> {
    /// A lane's own memory at an offset of the frame; lowering has checked that it is the frame's.
    #[inline(always)]
    fn slot(&self, lane: usize, offset: u32) -> *mut u8 {
        self.local.wrapping_add(lane * self.local_stride + (self.local_frame + offset) as usize)
    }
}

/// `d =` the variable of the frame at `imm`
pub(in crate::ptx) fn load_slot<M: Cell>() -> Handler {
    |core, op| {
        let mut values = [M::Register::default(); LANES];
        for lane in core.active() {
            // SAFETY: the warp's local memory reaches over every frame.
            values[lane] = unsafe { core.slot(lane, op.imm as u32).cast::<M>().read_unaligned() }.widen();
        }
        core.put(op.d, &values);
        Step::Next
    }
}

/// The variable of the frame at `imm` is set to `b`.
pub(in crate::ptx) fn store_slot<M: Cell>() -> Handler {
    |core, op| {
        let values = core.get::<M::Register>(op.b);
        for lane in core.active() {
            // SAFETY: as in `load_slot`.
            unsafe { core.slot(lane, op.imm as u32).cast::<M>().write_unaligned(M::narrow(values[lane])) };
        }
        Step::Next
    }
}

/// `d =` the local address of the frame's variable at `imm`
pub(in crate::ptx) fn slot_address(core: &mut Core<'_>, op: &Op) -> Step {
    let address = u64::from(core.local_frame) + op.imm as u64;
    core.put(op.d, &[address; LANES]);
    Step::Next
}

/// `d =` the address of the module's variable number `extra`, plus `imm`
pub(in crate::ptx) fn symbol_address(core: &mut Core<'_>, op: &Op) -> Step {
    let address = core.job.globals[op.extra as usize].wrapping_add(op.imm as u64);
    core.put(op.d, &[address; LANES]);
    Step::Next
}

/// Refuses an address that is no multiple of `extra`, as the parts of a vector are loaded one by one.
pub(in crate::ptx) fn check_alignment<A: Address>() -> Handler {
    |core, op| {
        let addresses = core.get::<A>(op.a);
        for lane in core.active() {
            let address = addresses[lane].plus(op.imm);
            if address % u64::from(op.extra) != 0 {
                return core.fail(FaultKind::MisalignedAddress, lane, Some(address));
            }
        }
        Step::Next
    }
}

impl Core<'_> {
    /// One lane's bytes at a generic address, for what reads more than a register.
    pub(in crate::ptx) fn generic_bytes(
        &mut self,
        lane: usize,
        address: u64,
        size: usize,
    ) -> Result<*mut u8, FaultKind> {
        super::space::Generic::locate(self, lane, address, size)
    }

    /// One byte at a generic address.
    pub(in crate::ptx) fn generic_byte(&mut self, lane: usize, address: u64) -> Result<u8, FaultKind> {
        // SAFETY: `locate` gave one byte.
        self.generic_bytes(lane, address, 1).map(|byte| unsafe { byte.read() })
    }

    /// The text that ends with a zero byte.
    pub(in crate::ptx) fn generic_text(
        &mut self,
        lane: usize,
        address: u64,
    ) -> Result<Vec<u8>, (u64, FaultKind)> {
        let mut text = Vec::new();
        for at in address.. {
            match self.generic_byte(lane, at).map_err(|kind| (at, kind))? {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }

    /// Copies between a frame's slot and a register or another slot, for calls; `from` and `to` are offsets in each
    /// lane's local memory.
    pub(in crate::ptx) fn copy_local(&mut self, from: u32, to: u32, size: u32) {
        for lane in self.active() {
            let base = self.local.wrapping_add(lane * self.local_stride);
            // SAFETY: the warp's local memory reaches over both frames.
            unsafe { std::ptr::copy(base.add(from as usize), base.add(to as usize), size as usize) };
        }
    }

    pub(in crate::ptx) fn register_to_local(&mut self, reg: Reg, to: u32, size: u32) {
        let step = if size == 1 { 2 } else { size };
        let source = self.place::<u8>(reg);
        for lane in self.active() {
            let place = self.local.wrapping_add(lane * self.local_stride + to as usize);
            // SAFETY: a register of `size` bytes a lane (bytes are held in two), and the warp's local memory.
            unsafe {
                std::ptr::copy_nonoverlapping(source.add(lane * step as usize), place, size as usize);
            }
        }
    }

    pub(in crate::ptx) fn local_to_register(&mut self, from: u32, reg: Reg, size: u32) {
        let step = if size == 1 { 2 } else { size };
        let target = self.place::<u8>(reg);
        for lane in self.active() {
            let place = self.local.wrapping_add(lane * self.local_stride + from as usize);
            // SAFETY: as in `register_to_local`.
            unsafe {
                std::ptr::copy_nonoverlapping(place, target.add(lane * step as usize), size as usize);
            }
        }
    }
}

/// `d =` the shared address, in 32 bits, of the memory whose size the launch says, plus `imm`
pub(in crate::ptx) fn dynamic_shared_address(core: &mut Core<'_>, op: &Op) -> Step {
    let address = core.program.dynamic_shared.wrapping_add(op.imm as u32);
    core.put(op.d, &[address; LANES]);
    Step::Next
}
