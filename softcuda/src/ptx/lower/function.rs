//! Bodies: declarations, labels, guards, and each instruction in its turn.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use super::names::{Family, Library, Names, Symbol};
use super::table;
use crate::ptx::ast::{Instruction, Routine as Source, Space, Statement, Variable};
use crate::ptx::error::JitError;
use crate::ptx::exec::control;
use crate::ptx::exec::program::{Program, Routine, Slot};
use crate::ptx::types::Type;
use std::collections::HashMap;

/// Registers that one declaration can have.
const MOST_REGISTERS: u32 = 1 << 31;

/// Bytes of parameters that a kernel can have.
const MOST_PARAMS: u64 = 32764;

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
        self.stack = 0;
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
        done.stack = self.stack;
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
}
