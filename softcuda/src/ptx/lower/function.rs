//! Bodies: declarations, labels, guards, and each instruction in its turn.

use super::emit::{Constants, NIL, op};
use super::modifiers::Modifiers;
use super::names::{Family, Library, Names, Register, Symbol, width};
use super::table;
use crate::ptx::ast::{Instruction, Routine as Source, Space, Statement, Variable};
use crate::ptx::error::JitError;
use crate::ptx::exec::access;
use crate::ptx::exec::barrier::Barrier;
use crate::ptx::exec::collective::Collective;
use crate::ptx::exec::control;
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::program::{Call, Program, Routine, Slot};
use crate::ptx::exec::warp::CALL_COST;
use crate::ptx::types::Type;
use std::collections::{BTreeSet, HashMap};

/// Bytes of local memory that a thread of a GPU can have.
const MOST_LOCAL: u32 = 512 << 10;

/// Bytes of shared memory that a kernel can declare, with the functions that it reaches.
const MOST_SHARED: u64 = 48 << 10;

/// Registers that one declaration can have.
const MOST_REGISTERS: u32 = 1 << 31;

/// Bytes of parameters that a kernel can have.
const MOST_PARAMS: u64 = 32764;

/// A kernel on its way to a program.
pub(super) struct Lowering<'a, 's> {
    pub(super) library: &'s Library<'a>,
    pub(super) program: Program,
    constants: Constants,
    /// Functions of the module that have a routine.
    routine_of: HashMap<u32, u32>,
    /// Functions to lower yet, with their routines.
    queue: Vec<(u32, u32)>,
    /// Who calls whom: routines.
    calls: BTreeSet<(u32, u32)>,
    indirect: bool,
    shared: HashMap<&'a str, u32>,
    shared_align: u32,
    // The function at hand:
    pub(super) names: Names<'a, 's>,
    routine: u32,
    pub(super) is_kernel: bool,
    local: u32,
    labels: Vec<Option<u32>>,
    /// Instructions whose `extra` is a label yet.
    jumps: Vec<usize>,
    /// Tables whose elements are labels yet.
    tables: Vec<usize>,
    /// Results in registers, with their slots.
    pub(super) result_registers: Vec<(Register, Slot)>,
    /// Whether the instruction at hand has become something that cannot stand under a guard.
    complex: bool,
    /// Where carries are, once an instruction leaves one.
    pub(super) carry: Option<Reg>,
    line: u32,
}

/// Makes a program of the kernel, function number `index` of the library.
pub(in crate::ptx) fn lower_kernel(library: &Library<'_>, index: u32) -> Result<Program, JitError> {
    let mut lowering = Lowering::new(library, index);
    lowering.routine_of.insert(index, 0);
    lowering.program.routines.push(Routine::default());
    lowering.queue.push((index, 0));
    while let Some((function, routine)) = lowering.queue.pop() {
        lowering.function(function, routine)?;
    }
    lowering.finish()
}

fn declared_twice(variable: &Variable<'_>) -> JitError {
    JitError::invalid(variable.line, format!("{} is declared twice", variable.name))
}

/// The refusal of `.global .u32 g<3>;`
pub(in crate::ptx) fn numbered_global(variable: &Variable<'_>) -> JitError {
    let what = format!("{}: numbered names of global variables are not supported", variable.name);
    JitError::uncovered(variable.line, what)
}

impl<'a, 's> Lowering<'a, 's> {
    fn new(library: &'s Library<'a>, index: u32) -> Self {
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
            labels: Vec::new(),
            jumps: Vec::new(),
            tables: Vec::new(),
            result_registers: Vec::new(),
            complex: false,
            carry: None,
            line: 0,
        }
    }

    fn finish(mut self) -> Result<Program, JitError> {
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

    fn function(&mut self, function: u32, routine: u32) -> Result<(), JitError> {
        let library = self.library;
        let source = &library.syntax.functions[function as usize];
        let Some(body) = &source.body else {
            let what = format!("the function {} is declared, but defined nowhere", source.name);
            return Err(JitError::invalid(source.line, what));
        };
        self.names = Names::of(library);
        // Operands that are not there have register 0, which nobody else may have.
        self.names.registers.take(Type::B64, 1);
        self.routine = routine;
        self.is_kernel = routine == 0;
        self.local = 0;
        self.labels.clear();
        self.result_registers.clear();
        self.carry = None;
        self.line = source.line;
        self.program.routines[routine as usize].entry = self.program.ops.len() as u32;
        self.program.texts.push("ret".to_owned());
        self.parameters(source)?;
        self.names.open();
        self.scope(body)?;
        self.names.close();
        let plain = Instruction {
            line: self.line,
            guard: None,
            opcode: "ret",
            modifiers: Vec::new(),
            operands: Vec::new(),
            used: None,
        };
        self.instruction(&plain)?;
        self.resolve()?;
        let too_many = || JitError::invalid(source.line, format!("{} has too many registers", source.name));
        let registers = self.names.registers.size().ok_or_else(too_many)?;
        let done = &mut self.program.routines[routine as usize];
        done.registers = registers;
        done.declared = self.names.registers.declared();
        done.local = self.local;
        Ok(())
    }

    fn parameters(&mut self, source: &'s Source<'a>) -> Result<(), JitError> {
        if source.kernel {
            let mut offset: u32 = 0;
            for param in &source.params {
                if param.size() > MOST_PARAMS || u64::from(offset) > MOST_PARAMS {
                    let what = format!("{} has more than {MOST_PARAMS} bytes of parameters", source.name);
                    return Err(JitError::invalid(param.line, what));
                }
                offset = offset.next_multiple_of(param.alignment());
                let size = param.size() as u32;
                self.names.add(param.name, Symbol::Param(Slot { offset, size }));
                self.note_array(param);
                offset += size;
            }
            self.program.params = offset;
            return Ok(());
        }
        let mut slots = [Vec::new(), Vec::new()];
        for (slots, variables) in slots.iter_mut().zip([&source.results, &source.params]) {
            for variable in variables {
                slots.push(self.formal(variable, std::ptr::eq(variables, &source.results))?);
            }
        }
        let [results, params] = slots;
        let routine = &mut self.program.routines[self.routine as usize];
        (routine.results, routine.params) = (results, params);
        Ok(())
    }

    /// A parameter or result of a function: a slot, and if it is a register, that too.
    fn formal(&mut self, variable: &'s Variable<'a>, is_result: bool) -> Result<Slot, JitError> {
        if variable.space != Space::Reg {
            let slot = self.slot(variable)?;
            self.names.add(variable.name, Symbol::Slot(slot));
            self.note_array(variable);
            return Ok(slot);
        }
        let size = variable.ty.size();
        if size == 0 {
            return Err(JitError::uncovered(variable.line, "a predicate as parameter of a function"));
        }
        if variable.vector > 1 {
            return Err(JitError::uncovered(
                variable.line,
                "a vector of registers as parameter of a function",
            ));
        }
        let register = self.register(variable);
        let slot = self.reserve(size, size);
        self.names.add(variable.name, Symbol::Register(register));
        if is_result {
            self.result_registers.push((register, slot));
        } else {
            self.load_slot(register.reg, variable.ty, slot.offset);
        }
        Ok(slot)
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
    fn reserve(&mut self, size: u32, align: u32) -> Slot {
        let offset = self.local.next_multiple_of(align.max(1));
        self.local = offset + size;
        Slot { offset, size }
    }

    fn slot(&mut self, variable: &Variable<'_>) -> Result<Slot, JitError> {
        match u32::try_from(variable.size()) {
            Ok(size) if size <= MOST_LOCAL && self.local <= MOST_LOCAL => {
                Ok(self.reserve(size, variable.alignment()))
            }
            _ => Err(JitError::invalid(variable.line, format!("{} is too large", variable.name))),
        }
    }

    fn register(&mut self, variable: &Variable<'_>) -> Register {
        let reg = self.names.registers.take(variable.ty, variable.vector);
        Register { reg, ty: variable.ty, vector: variable.vector }
    }

    /// A register of the compiler's own.
    pub(super) fn temporary(&mut self, ty: Type) -> Reg {
        self.names.registers.take(ty, 1)
    }

    pub(super) fn constant(&mut self, value: u64, ty: Type) -> Reg {
        self.constants.get(value, width(ty))
    }

    fn scope(&mut self, statements: &'s [Statement<'a>]) -> Result<(), JitError> {
        for statement in statements {
            if let Statement::Label(name) = statement {
                let number = self.labels.len() as u32;
                self.labels.push(None);
                if !self.names.add(name, Symbol::Label(number)) {
                    return Err(JitError::invalid(self.line, format!("the label {name} stands twice")));
                }
            }
            match statement {
                Statement::BranchTargets(name, targets) => {
                    self.names.add(name, Symbol::Targets(targets.clone()));
                }
                Statement::CallTargets(name) => {
                    self.names.add(name, Symbol::CallTargets);
                }
                Statement::Prototype(name, prototype) => {
                    self.names.add(name, Symbol::Prototype(prototype.clone()));
                }
                _ => {}
            }
        }
        for statement in statements {
            self.statement(statement)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'s Statement<'a>) -> Result<(), JitError> {
        match statement {
            Statement::Label(name) => {
                if let Some(Symbol::Label(number)) = self.names.find(name) {
                    self.labels[number as usize] = Some(self.program.ops.len() as u32);
                }
                Ok(())
            }
            Statement::Variable(variable) => self.variable(variable),
            Statement::Instruction(instruction) => self.instruction(instruction),
            Statement::Scope(inner) => {
                self.names.open();
                self.scope(inner)?;
                self.names.close();
                Ok(())
            }
            Statement::BranchTargets(..) | Statement::CallTargets(_) | Statement::Prototype(..) => Ok(()),
        }
    }

    fn variable(&mut self, variable: &'s Variable<'a>) -> Result<(), JitError> {
        if let Some(count) = variable.family {
            return self.family(variable, count);
        }
        let symbol = match variable.space {
            Space::Reg => Symbol::Register(self.register(variable)),
            Space::Local | Space::Param => Symbol::Slot(self.slot(variable)?),
            Space::Shared => self.shared(variable)?,
            Space::Global | Space::Const => {
                let number = self.library.inner_globals.get(&std::ptr::from_ref(variable));
                Symbol::Global(*number.ok_or_else(|| self.invalid("a variable that stands nowhere"))?)
            }
        };
        if !self.names.add(variable.name, symbol) {
            return Err(declared_twice(variable));
        }
        self.note_array(variable);
        Ok(())
    }

    fn note_array(&mut self, variable: &'s Variable<'a>) {
        if !variable.dimensions.is_empty() {
            self.names.add_array(variable.name, variable.ty.size());
        }
    }

    /// `%r<5>`
    fn family(&mut self, variable: &'s Variable<'a>, count: u32) -> Result<(), JitError> {
        let bytes = variable.size().next_multiple_of(variable.alignment().into());
        let all = Variable {
            ty: Type::B8,
            vector: 1,
            dimensions: vec![bytes.saturating_mul(count.into())],
            align: Some(variable.alignment()),
            ..variable.clone()
        };
        let family = match variable.space {
            Space::Reg if count > MOST_REGISTERS => {
                let what = format!("too many registers {}", variable.name);
                return Err(JitError::invalid(variable.line, what));
            }
            Space::Reg => {
                self.names.registers.declare(variable.ty, u64::from(variable.vector) * u64::from(count));
                Family::Registers { ty: variable.ty, vector: variable.vector, places: HashMap::new() }
            }
            Space::Local | Space::Param => {
                let first = Slot { size: variable.size() as u32, ..self.slot(&all)? };
                Family::Slots(first, bytes as u32)
            }
            Space::Shared => match self.shared(&all)? {
                Symbol::Shared(first) => Family::Shared(first, bytes as u32),
                _ => Family::Shared(0, 0),
            },
            Space::Global | Space::Const => return Err(numbered_global(variable)),
        };
        if self.names.add_family(variable.name, family, count) {
            Ok(())
        } else {
            Err(declared_twice(variable))
        }
    }

    fn shared(&mut self, variable: &Variable<'_>) -> Result<Symbol<'a>, JitError> {
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

    fn instruction(&mut self, instruction: &Instruction<'a>) -> Result<(), JitError> {
        let mut modifiers = Modifiers::of(instruction);
        self.line = instruction.line;
        self.program.texts.push(modifiers.name().to_owned());
        self.complex = false;
        if instruction.opcode == "bra" {
            super::control::branch(self, instruction, &mut modifiers)?;
            return modifiers.finish();
        }
        let start = self.program.ops.len();
        let guard = match instruction.guard {
            Some((name, negated)) => {
                let reg = self.named_predicate(name)?;
                self.emit(op(control::guard, NIL, reg, NIL));
                Some((reg, negated))
            }
            None => None,
        };
        table::lower(self, instruction, &mut modifiers)?;
        modifiers.finish()?;
        if let Some((_, negated)) = guard {
            let count = self.program.ops.len() - start - 1;
            let first = &mut self.program.ops[start];
            if self.complex {
                // The others go round it.
                first.run = control::branch;
                first.imm = i64::from(!negated);
                first.extra = (start + 1 + count) as u32;
            } else {
                first.imm = count as i64;
                first.extra = u32::from(negated);
            }
        }
        Ok(())
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
    fn resolve(&mut self) -> Result<(), JitError> {
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
