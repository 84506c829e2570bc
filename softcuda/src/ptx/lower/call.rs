//! Calls.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use super::names::Symbol;
use super::registers::width;
use crate::ptx::ast::{Instruction, Operand, Variable};
use crate::ptx::error::JitError;
use crate::ptx::exec::control;
use crate::ptx::exec::core::Op;
use crate::ptx::exec::external::External;
use crate::ptx::exec::program::{Call, Place, Target};
use crate::ptx::types::Type;

/// `call (results), function, (params), prototype;` of which only the function must be there.
pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    m.take("uni");
    let mut rest = i.operands.as_slice();
    let list = |rest: &mut &[Operand<'a>]| match *rest {
        [Operand::List(list), tail @ ..] => {
            let list = list.clone();
            *rest = tail;
            list
        }
        _ => Vec::new(),
    };
    let results = list(&mut rest);
    let [Operand::Name(name, None), tail @ ..] = rest else {
        return Err(m.invalid("a function is wanted"));
    };
    rest = tail;
    let params = list(&mut rest);
    let library = l.library;
    let (target, formals) = match l.find(name)? {
        Symbol::Function(number) => {
            let source = &library.syntax.functions[number as usize];
            if source.kernel {
                return Err(m.uncovered("a kernel cannot be called here"));
            }
            let formals = [sizes(&source.results), sizes(&source.params)];
            match source.body {
                Some(_) => {
                    let routine = l.routine_for(number);
                    l.note_call(routine);
                    (Target::Direct(routine), formals)
                }
                None => (Target::External(external(name, &formals, m)?), formals),
            }
        }
        Symbol::Register(register) if width(register.ty) == 8 => {
            let prototype = match rest {
                [Operand::Name(name, None)] => l.names.find(name),
                _ => None,
            };
            let formals = match prototype {
                Some(Symbol::Prototype(prototype)) => [sizes(&prototype.results), sizes(&prototype.params)],
                Some(Symbol::CallTargets) => [l.actual_sizes(&results)?, l.actual_sizes(&params)?],
                _ => return Err(m.invalid("an indirect call has a prototype")),
            };
            l.note_indirect();
            (Target::Indirect(register.reg), formals)
        }
        _ => return Err(m.invalid(&format!("{name} is no function"))),
    };
    let [result_sizes, param_sizes] = formals;
    let call = Call {
        target,
        params: l.places(&params, &param_sizes, false, m)?,
        results: l.places(&results, &result_sizes, true, m)?,
    };
    let extra = l.add_call(call);
    l.emit_complex(Op { extra, ..op(control::call, NIL, NIL, NIL) });
    Ok(())
}

fn sizes(variables: &[Variable<'_>]) -> Vec<u32> {
    variables.iter().map(|variable| variable.size() as u32).collect()
}

fn external(name: &str, formals: &[Vec<u32>; 2], m: &Modifiers<'_>) -> Result<External, JitError> {
    let Some((external, result, params)) = External::named(name) else {
        // As the real compiler says it: it links the text before it knows of lines.
        return Err(JitError::invalid(0, format!("Unresolved extern function '{name}'")));
    };
    // Some compilers declare a result where there is none, and that is never read; others leave out one that they do not want.
    let fits = formals[0].is_empty() || result == 0 || formals[0] == [result];
    if !fits || formals[1] != params {
        return Err(m.invalid(&format!("the function {name} is declared in a way that is not the driver's")));
    }
    Ok(external)
}

impl<'a> Lowering<'a, '_> {
    fn actual_sizes(&mut self, operands: &[Operand<'a>]) -> Result<Vec<u32>, JitError> {
        let mut all = Vec::new();
        for operand in operands {
            all.push(match operand {
                Operand::Name(name, None) => match self.find(name)? {
                    Symbol::Slot(slot) => slot.size,
                    Symbol::Register(register) => register.ty.size(),
                    _ => return Err(self.invalid(format!("{name} cannot be passed"))),
                },
                _ => 4,
            });
        }
        Ok(all)
    }

    /// Where the caller keeps what it passes or gets.
    fn places(
        &mut self,
        operands: &[Operand<'a>],
        sizes: &[u32],
        are_results: bool,
        m: &Modifiers<'a>,
    ) -> Result<Vec<Place>, JitError> {
        if operands.len() != sizes.len() {
            return Err(m.invalid(&format!("{} values are passed for {}", operands.len(), sizes.len())));
        }
        let mut all = Vec::new();
        for (operand, &size) in operands.iter().zip(sizes) {
            let slot = match operand {
                Operand::Name(name, None) => match self.find(name)? {
                    Symbol::Slot(slot) => Some(slot),
                    _ => None,
                },
                _ => None,
            };
            all.push(match slot {
                Some(slot) if slot.size == size => Place::Slot(slot),
                Some(_) => return Err(m.invalid("a parameter has another size than the function's")),
                None => {
                    let ty = match size {
                        1 => Type::B8,
                        2 => Type::B16,
                        4 => Type::B32,
                        8 => Type::B64,
                        _ => return Err(m.invalid("a parameter of this size is no register")),
                    };
                    let reg =
                        if are_results { self.destination(operand, ty)? } else { self.source(operand, ty)? };
                    Place::Register(reg, size)
                }
            });
        }
        Ok(all)
    }
}
