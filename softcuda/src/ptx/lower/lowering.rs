//! A kernel on its way to a program: what the files of the opcodes add to it.

use super::emit::{Constants, NIL, op};
use super::names::{Library, Names, Register, Symbol};
use super::registers::width;
use crate::ptx::ast::{Space, Variable};
use crate::ptx::error::JitError;
use crate::ptx::exec::access;
use crate::ptx::exec::barrier::Barrier;
use crate::ptx::exec::collective::Collective;
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::program::{CALL_COST, Call, Program, Routine, Slot};
use crate::ptx::types::Type;
use std::collections::{BTreeSet, HashMap};

/// Bytes of local memory that a thread of a GPU can have.
const MOST_LOCAL: u32 = 512 << 10;

/// Bytes of a parameter or result that a GPU passes in registers.
const MOST_IN_REGISTERS: u32 = 16;

/// Bytes of shared memory that a kernel can declare, with the functions that it reaches.
const MOST_SHARED: u64 = 48 << 10;

/// A kernel on its way to a program.
pub(super) struct Lowering<'a, 's> {
    pub(super) library: &'s Library<'a>,
    pub(super) program: Program,
    pub(super) constants: Constants,
    /// Functions of the module that have a routine.
    pub(super) routine_of: HashMap<u32, u32>,
    /// Functions to lower yet, with their routines.
    pub(super) queue: Vec<(u32, u32)>,
    /// Who calls whom: routines.
    pub(super) calls: BTreeSet<(u32, u32)>,
    pub(super) indirect: bool,
    pub(super) shared: HashMap<&'a str, u32>,
    pub(super) shared_align: u32,
    // The function at hand:
    pub(super) names: Names<'a, 's>,
    pub(super) routine: u32,
    pub(super) is_kernel: bool,
    pub(super) local: u32,
    pub(super) stack: u32,
    pub(super) labels: Vec<Option<u32>>,
    /// Instructions whose `extra` is a label yet.
    pub(super) jumps: Vec<usize>,
    /// Tables whose elements are labels yet.
    pub(super) tables: Vec<usize>,
    /// Results in registers, with their slots.
    pub(super) result_registers: Vec<(Register, Slot)>,
    /// Whether the instruction at hand has become something that cannot stand under a guard.
    pub(super) complex: bool,
    /// Where carries are, once an instruction leaves one.
    pub(super) carry: Option<Reg>,
    pub(super) line: u32,
}

impl<'a, 's> Lowering<'a, 's> {
    pub(super) fn new(library: &'s Library<'a>, index: u32) -> Self {
        let source = &library.syntax.functions[index as usize];
        let program = Program {
            name: source.name.to_owned(),
            ops: Vec::new(),
            texts: Vec::new(),
            constants: Vec::new(),
            routines: Vec::new(),
            calls: Vec::new(),
            collectives: Vec::new(),
            barriers: Vec::new(),
            jumps: Vec::new(),
            shared: 0,
            dynamic_shared: 0,
            params: 0,
            deepest: None,
            addresses: HashMap::new(),
        };
        Self {
            library,
            program,
            constants: Constants::default(),
            routine_of: HashMap::new(),
            queue: Vec::new(),
            calls: BTreeSet::new(),
            indirect: false,
            shared: HashMap::new(),
            shared_align: 16,
            names: Names::of(library),
            routine: 0,
            is_kernel: true,
            local: 0,
            stack: 0,
            labels: Vec::new(),
            jumps: Vec::new(),
            tables: Vec::new(),
            result_registers: Vec::new(),
            complex: false,
            carry: None,
            line: 0,
        }
    }

    pub(super) fn finish(mut self) -> Result<Program, JitError> {
        self.check_shared(self.program.shared.into())?;
        self.program.dynamic_shared = self.program.shared.next_multiple_of(self.shared_align);
        self.program.deepest = if self.indirect { None } else { self.deepest() };
        self.program.constants = self.constants.finish();
        Ok(self.program)
    }

    fn check_shared(&self, bytes: u64) -> Result<(), JitError> {
        if bytes <= MOST_SHARED {
            return Ok(());
        }
        let name = &self.program.name;
        Err(JitError::limit(&format!(
            "Entry function '{name}' uses too much shared data ({bytes:#x} bytes, {MOST_SHARED:#x} max)"
        )))
    }

    /// Local memory that the kernel and what it calls need; `None` if calls go round in circles. Chains of calls may be
    /// longer than this thread's stack is deep, so the way back is a list.
    fn deepest(&self) -> Option<u32> {
        let routines = &self.program.routines;
        let mut known: Vec<Option<u32>> = vec![None; routines.len()];
        let mut under_way = vec![false; routines.len()];
        let mut path = vec![0];
        while let Some(&routine) = path.last() {
            let at = routine as usize;
            let callees = self.calls.range((routine, 0)..=(routine, u32::MAX)).map(|(_, callee)| *callee);
            if known[at].is_none() && !under_way[at] {
                under_way[at] = true;
                for callee in callees.filter(|&callee| known[callee as usize].is_none()) {
                    if under_way[callee as usize] {
                        return None;
                    }
                    path.push(callee);
                }
                continue;
            }
            path.pop();
            if known[at].is_none() {
                let deepest = callees.filter_map(|callee| known[callee as usize]).max();
                let below = deepest.map_or(Some(0), |bytes| bytes.checked_add(CALL_COST))?;
                known[at] = Some(routines[at].local.next_multiple_of(16).checked_add(below)?);
            }
        }
        known[0]
    }

    /// The routine of a function of the module, which is lowered if it has not been.
    pub(super) fn routine_for(&mut self, function: u32) -> u32 {
        let next = self.program.routines.len() as u32;
        let routine = *self.routine_of.entry(function).or_insert(next);
        if routine == next {
            self.program.routines.push(Routine::default());
            self.program.addresses.insert(function, routine);
            self.queue.push((function, routine));
        }
        routine
    }

    pub(super) fn note_call(&mut self, callee: u32) {
        self.calls.insert((self.routine, callee));
    }

    /// An indirect call may reach every function whose address is taken.
    pub(super) fn note_indirect(&mut self) {
        self.indirect = true;
        for function in self.library.taken.clone() {
            self.routine_for(function);
        }
    }

    /// A load from the frame's local memory into a register of the same type.
    pub(super) fn load_slot(&mut self, d: Reg, ty: Type, offset: u32) {
        let run = match ty.size() {
            1 => access::load_slot::<u8>(),
            2 => access::load_slot::<u16>(),
            4 => access::load_slot::<u32>(),
            8 => access::load_slot::<u64>(),
            _ => access::load_slot::<u128>(),
        };
        self.emit(Op { imm: offset.into(), ..op(run, d, NIL, NIL) });
    }

    pub(super) fn store_slot(&mut self, b: Reg, ty: Type, offset: u32) {
        let run = match ty.size() {
            1 => access::store_slot::<u8>(),
            2 => access::store_slot::<u16>(),
            4 => access::store_slot::<u32>(),
            8 => access::store_slot::<u64>(),
            _ => access::store_slot::<u128>(),
        };
        self.emit(Op { imm: offset.into(), ..op(run, NIL, NIL, b) });
    }

    /// Local memory of the frame.
    pub(super) fn reserve(&mut self, size: u32, align: u32) -> Slot {
        let offset = self.local.next_multiple_of(align.max(1));
        self.local = offset + size;
        Slot { offset, size }
    }

    pub(super) fn slot(&mut self, variable: &Variable<'_>) -> Result<Slot, JitError> {
        match u32::try_from(variable.size()) {
            Ok(size) if size <= MOST_LOCAL && self.local <= MOST_LOCAL => {
                if variable.space == Space::Local || size > MOST_IN_REGISTERS {
                    self.stack += size;
                }
                Ok(self.reserve(size, variable.alignment()))
            }
            _ => Err(JitError::invalid(variable.line, format!("{} is too large", variable.name))),
        }
    }

    pub(super) fn register(&mut self, variable: &Variable<'_>) -> Register {
        let reg = self.names.registers.take(variable.ty, variable.vector);
        Register { reg, ty: variable.ty, vector: variable.vector }
    }

    /// A register of the compiler's own.
    pub(super) fn temporary(&mut self, ty: Type) -> Reg {
        self.names.registers.take(ty, 1)
    }

    /// So many of them, one after the other.
    pub(super) fn temporaries(&mut self, ty: Type, count: u32) -> Reg {
        self.names.registers.take(ty, count)
    }

    pub(super) fn constant(&mut self, value: u64, ty: Type) -> Reg {
        self.constants.get(value, width(ty))
    }

    pub(super) fn shared(&mut self, variable: &Variable<'_>) -> Result<Symbol<'a>, JitError> {
        // Only `[]` leaves the size to the launch: an external array that says its size has it.
        if variable.size() == 0 {
            self.shared_align = self.shared_align.max(variable.alignment());
            return Ok(Symbol::DynamicShared);
        }
        let offset = self.program.shared.next_multiple_of(variable.alignment());
        let end = variable.size().saturating_add(offset.into());
        match u32::try_from(end) {
            // What is a little too much may become more, and is refused in the end.
            Ok(end) if end < 1 << 30 => self.program.shared = end,
            _ => self.check_shared(end)?,
        }
        Ok(Symbol::Shared(offset))
    }

    /// A shared variable of the module, which has its place when it is used first.
    pub(super) fn module_shared(&mut self, name: &str) -> Result<Option<Symbol<'a>>, JitError> {
        let library = self.library;
        let Some(&number) = library.shared.get(name) else { return Ok(None) };
        let variable = &library.syntax.variables[number];
        if let Some(offset) = self.shared.get(name) {
            return Ok(Some(Symbol::Shared(*offset)));
        }
        let symbol = self.shared(variable)?;
        if let Symbol::Shared(offset) = symbol {
            self.shared.insert(variable.name, offset);
        }
        Ok(Some(symbol))
    }

    pub(super) fn emit(&mut self, op: Op) {
        let text = self.program.texts.len() as u32 - 1;
        self.program.ops.push(Op { line: self.line, text, ..op });
    }

    /// An instruction that changes who goes where.
    pub(super) fn emit_complex(&mut self, op: Op) {
        self.complex = true;
        self.emit(op);
    }

    pub(super) fn emit_jump(&mut self, run: Handler, a: Reg, imm: i64, label: u32) {
        self.complex = true;
        self.jumps.push(self.program.ops.len());
        self.emit(Op { imm, extra: label, ..op(run, NIL, a, NIL) });
    }

    pub(super) fn add_table(&mut self, labels: Vec<u32>) -> u32 {
        self.tables.push(self.program.jumps.len());
        self.program.jumps.push(labels);
        self.program.jumps.len() as u32 - 1
    }

    pub(super) fn add_call(&mut self, call: Call) -> u32 {
        self.program.calls.push(call);
        self.program.calls.len() as u32 - 1
    }

    pub(super) fn add_collective(&mut self, collective: Collective) -> u32 {
        self.program.collectives.push(collective);
        self.program.collectives.len() as u32 - 1
    }

    pub(super) fn add_barrier(&mut self, barrier: Barrier) -> u32 {
        self.program.barriers.push(barrier);
        self.program.barriers.len() as u32 - 1
    }

    /// Labels become places.
    pub(super) fn resolve(&mut self) -> Result<(), JitError> {
        let place = |labels: &[Option<u32>], label: u32| labels[label as usize];
        let lost = || JitError::invalid(0, "a label that stands nowhere");
        for at in std::mem::take(&mut self.jumps) {
            let op = &mut self.program.ops[at];
            op.extra = place(&self.labels, op.extra).ok_or_else(lost)?;
        }
        for table in std::mem::take(&mut self.tables) {
            for target in &mut self.program.jumps[table] {
                *target = place(&self.labels, *target).ok_or_else(lost)?;
            }
        }
        Ok(())
    }

    pub(super) fn line(&self) -> u32 {
        self.line
    }
}
