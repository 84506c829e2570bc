//! Operands to registers.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::names::{Register, Symbol};
use super::registers::{room, width};
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::{binary, compare, logic, ternary, unary};
use crate::ptx::exec::space::{CODE_STEP, CODE_WINDOW};
use crate::ptx::exec::{access, special};
use crate::ptx::types::Type;

/// An address: a register and what is added to it, or something that is known better.
pub(super) enum Place {
    /// A register with its width in bytes.
    Register(Reg, u32, i64),
    /// The frame's local memory.
    Slot(u32, u32),
    /// The kernel's parameters.
    Param(u32, u32),
    /// A shared variable: its address, 32 bits.
    Shared(Reg, i64),
    /// An element of a variable in local memory: its address, 64 bits.
    Local(Reg),
    /// An element of a kernel's parameter: its place among them, 64 bits, and what is added.
    Arguments(Reg, i64),
}

impl<'a> Lowering<'a, '_> {
    pub(super) fn invalid(&self, what: impl AsRef<str>) -> JitError {
        JitError::invalid(self.line(), what)
    }

    pub(super) fn find(&mut self, name: &str) -> Result<Symbol<'a>, JitError> {
        if let Some(symbol) = self.names.find(name) {
            return Ok(symbol);
        }
        if let Some(symbol) = self.module_shared(name)? {
            return Ok(symbol);
        }
        Err(self.invalid(format!("unknown name {name}")))
    }

    /// The declared register, or the component of a vector.
    fn register_named(&mut self, name: &str, part: Option<&str>) -> Result<Option<Register>, JitError> {
        let found = match self.names.find(name) {
            Some(Symbol::Register(register)) => register,
            _ => return Ok(None),
        };
        let index = match part {
            None if found.vector == 1 => return Ok(Some(found)),
            Some("x" | "r") => 0,
            Some("y" | "g") => 1,
            Some("z" | "b") => 2,
            Some("w" | "a") => 3,
            _ => return Err(self.invalid(format!("{name} is a vector"))),
        };
        if index >= found.vector {
            return Err(self.invalid(format!("{name} has no component .{}", part.unwrap_or("x"))));
        }
        let reg = Reg(found.reg.0 + index * room(found.ty));
        Ok(Some(Register { reg, ty: found.ty, vector: 1 }))
    }

    /// A register operand, whatever its type.
    pub(super) fn any_register(&mut self, operand: &Operand<'a>) -> Result<Register, JitError> {
        let Operand::Name(name, part) = operand else {
            return Err(self.invalid("a register is wanted"));
        };
        match self.register_named(name, *part)? {
            Some(register) => Ok(register),
            None if self.names.find(name).is_some() => Err(self.invalid(format!("{name} is not a register"))),
            None if special::named(name, Some("x")).is_some() => {
                Err(self.invalid(format!("{name} is a vector")))
            }
            None => Err(self.invalid(format!("unknown name {name}"))),
        }
    }

    fn check_width(&self, register: Register, ty: Type) -> Result<Reg, JitError> {
        if width(register.ty) == width(ty) && (register.ty == Type::Pred) == (ty == Type::Pred) {
            return Ok(register.reg);
        }
        let [found, wanted] = [register.ty, ty].map(|ty| format!("{ty:?}").to_lowercase());
        Err(self.invalid(format!("a register of type .{found} stands where .{wanted} is wanted")))
    }

    /// Where a result goes; `_` is nowhere.
    pub(super) fn destination(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Reg, JitError> {
        if matches!(operand, Operand::Sink) {
            return Ok(self.temporary(ty));
        }
        let register = self.any_register(operand)?;
        self.check_width(register, ty)
    }

    /// A value of the type.
    pub(super) fn source(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Reg, JitError> {
        match operand {
            Operand::Name(name, part) => {
                if let Some((special, imm)) = special::named(name, *part) {
                    return self.special_register(special, imm, ty);
                }
                let register = self.any_register(operand)?;
                self.check_width(register, ty)
            }
            Operand::Integer(value) => {
                let value = if ty.is_float() && ty != Type::F16 && ty != Type::Bf16 {
                    self.float_constant(*value as i64 as f64, ty)
                } else {
                    *value
                };
                Ok(self.constant(truncated(value, ty), ty))
            }
            // A double gets the bits as they are, like ptxas does it.
            Operand::Single(bits) if ty == Type::F64 || ty.size() == 4 => {
                Ok(self.constant(u64::from(*bits), ty))
            }
            Operand::Double(bits) if ty == Type::F32 => {
                Ok(self.constant(u64::from((f64::from_bits(*bits) as f32).to_bits()), ty))
            }
            Operand::Double(bits) if ty.size() == 8 => Ok(self.constant(*bits, ty)),
            Operand::Single(_) | Operand::Double(_) => {
                let name = format!("{ty:?}").to_lowercase();
                Err(self.invalid(format!("a number with a point cannot be a .{name}")))
            }
            Operand::Not(_) if ty == Type::Pred => self.predicate(operand),
            _ => Err(self.invalid("a value is wanted")),
        }
    }

    fn float_constant(&self, value: f64, ty: Type) -> u64 {
        match ty {
            Type::F64 => value.to_bits(),
            _ => u64::from((value as f32).to_bits()),
        }
    }

    fn special_register(&mut self, special: special::Special, imm: i64, ty: Type) -> Result<Reg, JitError> {
        let run: Handler = match width(ty) {
            2 => special::special16,
            4 => special::special32,
            8 => special::special64,
            _ => return Err(self.invalid("a special register has 16, 32 or 64 bits")),
        };
        let d = self.temporary(ty);
        self.emit(Op { imm, extra: special as u32, ..op(run, d, NIL, NIL) });
        Ok(d)
    }

    /// A value of the type from a register that may be wider.
    pub(super) fn source_narrowed(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Reg, JitError> {
        if let Operand::Name(name, part) = operand
            && let Some(register) = self.register_named(name, *part)?
            && width(register.ty) > width(ty)
        {
            let d = self.temporary(ty);
            let run = resize(width(register.ty), width(ty), false);
            let run = run.ok_or_else(|| self.invalid("a register of this width is not supported here"))?;
            self.emit(op(run, d, register.reg, NIL));
            return Ok(d);
        }
        self.source(operand, ty)
    }

    /// Where a result of the type goes that the register, which may be wider, gets: extended by what `widen` emits.
    pub(super) fn destination_widened(
        &mut self,
        operand: &Operand<'a>,
        ty: Type,
    ) -> Result<(Reg, Option<Op>), JitError> {
        if matches!(operand, Operand::Sink) {
            return Ok((self.temporary(ty), None));
        }
        let register = self.any_register(operand)?;
        let exact = width(register.ty) == width(ty);
        if register.ty == Type::Pred || width(register.ty) < width(ty) {
            return self.check_width(register, ty).map(|reg| (reg, None));
        }
        if exact && (ty.size() != 1 || !ty.is_signed()) {
            return Ok((register.reg, None));
        }
        let from = self.temporary(ty);
        let run = if ty.size() == 1 && ty.is_signed() {
            widen_byte(width(register.ty))
        } else {
            resize(width(ty), width(register.ty), ty.is_signed())
        };
        let run = run.ok_or_else(|| self.invalid("a register of this width is not supported here"))?;
        Ok((from, Some(op(run, register.reg, from, NIL))))
    }

    pub(super) fn named_predicate(&mut self, name: &str) -> Result<Reg, JitError> {
        match self.names.find(name) {
            Some(Symbol::Register(register)) if register.ty == Type::Pred => Ok(register.reg),
            // The only special register that is one.
            None if name == "%is_explicit_cluster" => {
                let number = self.special(special::Special::ExplicitCluster);
                let d = self.temporary(Type::Pred);
                self.emit(op(compare(|a: u32, _: u32| a != 0), d, number, number));
                Ok(d)
            }
            _ => Err(self.invalid(format!("{name} is not a predicate"))),
        }
    }

    /// A predicate, a negated one, or a constant.
    pub(super) fn predicate(&mut self, operand: &Operand<'a>) -> Result<Reg, JitError> {
        match operand {
            Operand::Not(name) => {
                let a = self.named_predicate(name)?;
                let d = self.temporary(Type::Pred);
                self.emit(op(logic(|a, _, _| !a), d, a, NIL));
                Ok(d)
            }
            Operand::Integer(value) => Ok(self.constant(u64::from(*value != 0), Type::Pred)),
            Operand::Name(name, None) => self.named_predicate(name),
            _ => Err(self.invalid("a predicate is wanted")),
        }
    }

    /// The address of a name, for `mov`, or the sum with a number.
    pub(super) fn address_of(&mut self, name: &str, add: i64, ty: Type) -> Result<Reg, JitError> {
        let symbol = self.find(name)?;
        if width(ty) == 4 {
            return match symbol {
                Symbol::Shared(offset) => {
                    Ok(self.constant(u64::from(offset.wrapping_add(add as u32)), Type::B32))
                }
                Symbol::DynamicShared => Ok(self.dynamic_shared(add)),
                Symbol::Param(slot) => {
                    Ok(self.constant(u64::from(slot.offset.wrapping_add(add as u32)), Type::B32))
                }
                _ => {
                    let wide = self.address_of(name, add, Type::B64)?;
                    let d = self.temporary(Type::B32);
                    self.emit(op(unary(|a: u64| a as u32), d, wide, NIL));
                    Ok(d)
                }
            };
        }
        if width(ty) != 8 {
            return Err(self.invalid(format!("the address of {name} has 32 or 64 bits")));
        }
        match symbol {
            Symbol::Global(number) => {
                let d = self.temporary(Type::B64);
                self.emit(Op { imm: add, extra: number, ..op(access::symbol_address, d, NIL, NIL) });
                Ok(d)
            }
            Symbol::Shared(offset) => {
                Ok(self.constant(u64::from(offset).wrapping_add(add as u64), Type::B64))
            }
            Symbol::DynamicShared => {
                let from = self.dynamic_shared(add);
                let d = self.temporary(Type::B64);
                self.emit(op(unary(|a: u32| u64::from(a)), d, from, NIL));
                Ok(d)
            }
            Symbol::Slot(slot) => {
                let d = self.temporary(Type::B64);
                let imm = i64::from(slot.offset).wrapping_add(add);
                self.emit(Op { imm, ..op(access::slot_address, d, NIL, NIL) });
                Ok(d)
            }
            Symbol::Param(slot) => {
                Ok(self.constant(u64::from(slot.offset).wrapping_add(add as u64), Type::B64))
            }
            Symbol::Function(number) => {
                let defined = self.library.syntax.functions[number as usize].body.is_some();
                if !defined {
                    return Err(self.invalid(format!("the function {name} has no address here")));
                }
                self.routine_for(number);
                Ok(self.constant(CODE_WINDOW + u64::from(number) * CODE_STEP, Type::B64))
            }
            _ => Err(self.invalid(format!("{name} has no address"))),
        }
    }

    fn dynamic_shared(&mut self, add: i64) -> Reg {
        let d = self.temporary(Type::B32);
        self.emit(Op { imm: add, ..op(access::dynamic_shared_address, d, NIL, NIL) });
        d
    }

    /// An operand in brackets.
    pub(super) fn address(&mut self, operand: &Operand<'a>) -> Result<Place, JitError> {
        let Operand::Address(base, offset) = operand else {
            return Err(self.invalid("an address in brackets is wanted"));
        };
        let Some(name) = base else {
            let reg = self.constant(0, Type::B64);
            return Ok(Place::Register(reg, 8, *offset));
        };
        if let Some(register) = self.register_named(name, None)? {
            return match width(register.ty) {
                width @ (4 | 8) => Ok(Place::Register(register.reg, width, *offset)),
                _ => Err(self.invalid(format!("{name} is too narrow for an address"))),
            };
        }
        if i32::try_from(*offset).is_err() {
            return Err(self.invalid(format!("{name} ends before")));
        }
        Ok(match self.find(name)? {
            Symbol::Slot(slot) => {
                Place::Slot(slot.offset.wrapping_add(*offset as u32), slot.offset + slot.size)
            }
            Symbol::Param(slot) => {
                Place::Param(slot.offset.wrapping_add(*offset as u32), self.program.params)
            }
            Symbol::Shared(at) => {
                Place::Shared(self.constant(0, Type::B32), i64::from(at).wrapping_add(*offset))
            }
            Symbol::DynamicShared => Place::Shared(self.dynamic_shared(0), *offset),
            _ => Place::Register(self.address_of(name, 0, Type::B64)?, 8, *offset),
        })
    }

    /// An operand in brackets, or an element of an array.
    pub(super) fn place(&mut self, operand: &Operand<'a>) -> Result<Place, JitError> {
        let Operand::Element { array, index, add } = operand else { return self.address(operand) };
        let Some(index) = index else {
            let offset = self.element_offset(array, *add)?;
            return self.address(&Operand::Address(Some(array), offset));
        };
        let offset = self.index_offset(array, index, *add)?;
        match self.find(array)? {
            Symbol::Shared(at) => Ok(Place::Shared(offset, at.into())),
            Symbol::DynamicShared => {
                let first = self.dynamic_shared(0);
                let sum = self.temporary(Type::B32);
                self.emit(op(binary(|a: u32, b: u32| a.wrapping_add(b)), sum, first, offset));
                Ok(Place::Shared(sum, 0))
            }
            Symbol::Param(slot) => {
                let wide = self.temporary(Type::B64);
                self.emit(op(unary(|a: u32| u64::from(a)), wide, offset, NIL));
                Ok(Place::Arguments(wide, slot.offset.into()))
            }
            symbol => {
                let sum = self.element_address(array, offset, Type::B64)?;
                let is_local = matches!(symbol, Symbol::Slot(_));
                Ok(if is_local { Place::Local(sum) } else { Place::Register(sum, 8, 0) })
            }
        }
    }

    /// Where `array[at]` is from the array's begin, in bytes.
    fn element_offset(&self, array: &str, at: i64) -> Result<i64, JitError> {
        match self.names.element(array) {
            Some(size) => Ok(at.wrapping_mul(size.into())),
            None => Err(self.invalid(format!("{array} is no array, and has no elements"))),
        }
    }

    /// The same with a register, in 32 bits without a sign, which is how ptxas counts, whatever the register has.
    fn index_offset(&mut self, array: &str, index: &'a str, add: i64) -> Result<Reg, JitError> {
        let size = self.element_offset(array, 1)?;
        let index = self.any_register(&Operand::Name(index, None))?;
        let narrow = self.temporary(Type::B32);
        let run = if index.ty.is_float() { None } else { resize(width(index.ty), 4, index.ty.is_signed()) };
        let run = run.ok_or_else(|| self.invalid("an index is an integer of 16, 32 or 64 bits"))?;
        self.emit(op(run, narrow, index.reg, NIL));
        let (add, size) =
            (self.constant(u64::from(add as u32), Type::B32), self.constant(size as u64, Type::B32));
        let d = self.temporary(Type::B32);
        let run = ternary(|index: u32, add: u32, size: u32| index.wrapping_add(add).wrapping_mul(size));
        self.emit(Op { c: size, ..op(run, d, narrow, add) });
        Ok(d)
    }

    fn element_address(&mut self, array: &str, offset: Reg, ty: Type) -> Result<Reg, JitError> {
        let first = self.address_of(array, 0, ty)?;
        let sum = self.temporary(ty);
        let run: Handler = match width(ty) {
            4 => binary(|a: u32, b: u32| a.wrapping_add(b)),
            _ => binary(|a: u64, b: u32| a.wrapping_add(b.into())),
        };
        self.emit(op(run, sum, first, offset));
        Ok(sum)
    }

    /// The address that an operand without brackets stands for; `None` if it is a value.
    pub(super) fn address_value(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Option<Reg>, JitError> {
        let (name, add) = match operand {
            Operand::Sum(name, add) => (*name, *add),
            Operand::Name(name, None) if self.is_address(name) => (*name, 0),
            Operand::Element { array, index: None, add } => (*array, self.element_offset(array, *add)?),
            Operand::Element { array, index: Some(index), add } => {
                let offset = self.index_offset(array, index, *add)?;
                return self.element_address(array, offset, ty).map(Some);
            }
            _ => return Ok(None),
        };
        self.address_of(name, add, ty).map(Some)
    }

    /// Whether a name is neither a register nor special.
    fn is_address(&mut self, name: &str) -> bool {
        let is_special = [None, Some("x")].iter().any(|part| special::named(name, *part).is_some());
        !is_special && !matches!(self.names.find(name), Some(Symbol::Register(_)))
    }

    /// The components of a vector in registers; `None` if the operand is something else.
    pub(super) fn components(&mut self, operand: &Operand<'a>) -> Option<Vec<Operand<'a>>> {
        let Operand::Name(name, None) = operand else { return None };
        match self.names.find(name) {
            Some(Symbol::Register(register)) if register.vector > 1 => {
                Some(named_components(name, register.vector as usize))
            }
            _ => None,
        }
    }

    /// The operands, of which there must be so many.
    pub(super) fn operands<'i, const N: usize>(
        &self,
        instruction: &'i Instruction<'a>,
    ) -> Result<&'i [Operand<'a>; N], JitError> {
        let found = instruction.operands.len();
        instruction
            .operands
            .as_slice()
            .try_into()
            .map_err(|_| self.invalid(format!("{} has {N} operands, not {found}", instruction.opcode)))
    }
}

/// The first components of a vector.
pub(super) fn named_components<'a>(vector: &'a str, count: usize) -> Vec<Operand<'a>> {
    ["x", "y", "z", "w"][..count].iter().map(|part| Operand::Name(vector, Some(part))).collect()
}

fn truncated(value: u64, ty: Type) -> u64 {
    match ty.size() {
        0 => u64::from(value != 0),
        1 if ty.is_signed() => u64::from(value as u8 as i8 as i16 as u16),
        1 => value & 0xff,
        2 => value & 0xffff,
        4 => value & 0xffff_ffff,
        _ => value,
    }
}

/// From registers of one width to another's, in bytes.
pub(super) fn resize(from: u32, to: u32, signed: bool) -> Option<Handler> {
    Some(match (from, to, signed) {
        (2, 4, false) => unary(|a: u16| u32::from(a)),
        (2, 8, false) => unary(|a: u16| u64::from(a)),
        (4, 8, false) => unary(|a: u32| u64::from(a)),
        (2, 4, true) => unary(|a: i16| i32::from(a)),
        (2, 8, true) => unary(|a: i16| i64::from(a)),
        (4, 8, true) => unary(|a: i32| i64::from(a)),
        (4, 2, _) => unary(|a: u32| a as u16),
        (8, 2, _) => unary(|a: u64| a as u16),
        (8, 4, _) => unary(|a: u64| a as u32),
        (2, 2, _) => unary(|a: u16| a),
        (4, 4, _) => unary(|a: u32| a),
        (8, 8, _) => unary(|a: u64| a),
        (16, 16, _) => unary(|a: u128| a),
        _ => return None,
    })
}

/// A signed byte, held in 16 bits without its sign, in the register's width.
fn widen_byte(to: u32) -> Option<Handler> {
    Some(match to {
        2 => unary(|a: u16| i16::from(a as i8)),
        4 => unary(|a: u16| i32::from(a as i8)),
        8 => unary(|a: u16| i64::from(a as i8)),
        _ => return None,
    })
}

impl Lowering<'_, '_> {
    /// A special register's value in 32 bits.
    pub(super) fn special(&mut self, special: special::Special) -> Reg {
        let d = self.temporary(Type::B32);
        self.emit(Op { extra: special as u32, ..op(special::special32, d, NIL, NIL) });
        d
    }
}
