//! Loads, stores, copies.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use super::operand::{Place, resize};
use super::registers::width;
use super::transfer::join;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::access::{argument, check_alignment, load, store};
use crate::ptx::exec::control::fence;
use crate::ptx::exec::copy::{ALL, commit_copies, copy_async, wait_for_copies};
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::{binary, unary};
use crate::ptx::exec::space::{Generic, Global, Local, Param, Shared};
use crate::ptx::types::Type;

/// Where an instruction's addresses lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Param,
}

/// Hints and orderings that mean nothing to a machine that does one thing after the other.
const HINTS: [&str; 31] = [
    "weak",
    "relaxed",
    "mmio",
    "volatile",
    "cta",
    "cluster",
    "gpu",
    "sys",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "nc",
    "unified",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::evict_normal",
    "L2::evict_first",
    "L2::evict_last",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "level::eviction_priority",
    "evict_normal",
    "evict_last",
];

pub(super) fn space(m: &mut Modifiers<'_>) -> Space {
    let names = [
        "global",
        "const",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
        "param::func",
    ];
    match m.one_of(&names) {
        None => Space::Generic,
        Some("global" | "const") => Space::Global,
        Some("local") => Space::Local,
        Some("param" | "param::entry" | "param::func") => Space::Param,
        Some(_) => Space::Shared,
    }
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    match i.opcode {
        "st" if i.modifiers.contains(&"const") => Err(m.invalid("constant memory cannot be written")),
        "ld" | "ldu" | "st" => access(l, i, m),
        "cp" => copy(l, i, m),
        _ => {
            // Hints to caches.
            let known =
                ["global", "local", "L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap", "param"];
            m.skip(&known);
            if i.opcode == "discard" {
                return Err(m.uncovered("this instruction is not supported"));
            }
            Ok(())
        }
    }
}

fn access<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let is_store = i.opcode == "st";
    let (acquire, release) = (m.take("acquire"), m.take("release"));
    m.skip(&HINTS);
    let policy = m.take("L2::cache_hint");
    let space = space(m);
    let count = match m.one_of(&["v2", "v4", "v8"]) {
        None => 1,
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
    };
    let ty = m.ty()?;
    if ty == Type::Pred || matches!(ty, Type::F16x2 | Type::Bf16x2) {
        return Err(m.bad_type(ty));
    }
    if i.operands.len() != 2 + usize::from(policy) {
        return Err(m.invalid("an address and a value are wanted"));
    }
    let (address, value) =
        if is_store { (&i.operands[0], &i.operands[1]) } else { (&i.operands[1], &i.operands[0]) };
    let components = l.components(value);
    let parts = match (value, &components) {
        (Operand::Vector(parts), _) | (_, Some(parts)) => parts.as_slice(),
        (single, None) => std::slice::from_ref(single),
    };
    if parts.len() != count {
        return Err(m.invalid(&format!("{count} values are wanted")));
    }
    let place = l.place(address)?;
    let place = l.place_in(place, space, m)?;
    if release {
        l.emit(op(fence, NIL, NIL, NIL));
    }
    let used = |at: usize| used_bytes(i, at, ty);
    let in_parts = count > 1 || (0..count).any(|at| used(at) != every_byte(ty));
    let place = if in_parts { l.checked(place, space, ty.size() * count as u32, !is_store) } else { place };
    for (at, part) in parts.iter().enumerate() {
        let offset = at as i64 * i64::from(ty.size());
        if is_store {
            let b = l.source_narrowed(part, ty)?;
            l.store_at(&place, space, offset, ty, b, m)?;
        } else {
            if matches!(part, Operand::Sink) && count > 1 {
                continue;
            }
            let (d, widen) = l.destination_widened(part, ty)?;
            if used(at) == every_byte(ty) {
                l.load_from(&place, space, offset, ty, d, m)?;
            } else {
                l.load_bytes(&place, space, (offset, used(at)), ty, d, m)?;
            }
            if let Some(widen) = widen {
                l.emit(widen);
            }
        }
    }
    if acquire {
        l.emit(op(fence, NIL, NIL, NIL));
    }
    Ok(())
}

fn every_byte(ty: Type) -> u64 {
    (1 << ty.size()) - 1
}

/// Which bytes of a part are used, one bit each.
fn used_bytes(i: &Instruction<'_>, part: usize, ty: Type) -> u64 {
    let mask = match i.used {
        Some(mask) if i.opcode != "st" => mask.checked_shr(part as u32 * ty.size()).unwrap_or(0),
        _ => u64::MAX,
    };
    mask & every_byte(ty)
}

impl<'a> Lowering<'a, '_> {
    /// The place with an address register as wide as the space's handlers want it.
    pub(super) fn place_in(
        &mut self,
        place: Place,
        space: Space,
        m: &Modifiers<'a>,
    ) -> Result<Place, JitError> {
        Ok(match (place, space) {
            (Place::Shared(reg, imm), Space::Shared) => Place::Register(reg, 4, imm),
            (Place::Slot(at, end), Space::Local | Space::Param) => Place::Slot(at, end),
            (Place::Param(at, end), Space::Param) => Place::Param(at, end),
            (Place::Local(reg), Space::Local | Space::Param) => Place::Local(reg),
            (Place::Arguments(reg, imm), Space::Param) => Place::Arguments(reg, imm),
            (Place::Register(reg, 8, imm), Space::Shared) => {
                let narrow = self.temporary(Type::B32);
                self.emit(op(unary(|a: u64| a as u32), narrow, reg, NIL));
                Place::Register(narrow, 4, imm)
            }
            (Place::Register(reg, 4, imm), Space::Global | Space::Local | Space::Param | Space::Generic) => {
                let wide = self.temporary(Type::B64);
                self.emit(op(unary(|a: u32| u64::from(a)), wide, reg, NIL));
                Place::Register(wide, 8, imm)
            }
            (Place::Register(reg, width, imm), _) => Place::Register(reg, width, imm),
            _ => return Err(m.invalid("the variable is not of this state space")),
        })
    }

    /// The address in brackets with what is added to it, in a register as wide as the space's addresses are.
    pub(super) fn whole_address(
        &mut self,
        operand: &Operand<'a>,
        space: Space,
        m: &Modifiers<'a>,
    ) -> Result<Reg, JitError> {
        let place = self.address(operand)?;
        let Place::Register(reg, width, imm) = self.place_in(place, space, m)? else {
            return Err(m.invalid("the variable is not of this state space"));
        };
        if imm == 0 {
            return Ok(reg);
        }
        let (ty, run): (Type, Handler) = match width {
            4 => (Type::B32, binary(|a: u32, b: u32| a.wrapping_add(b))),
            _ => (Type::B64, binary(|a: u64, b: u64| a.wrapping_add(b))),
        };
        let add = self.constant(if width == 4 { u64::from(imm as u32) } else { imm as u64 }, ty);
        let sum = self.temporary(ty);
        self.emit(op(run, sum, reg, add));
        Ok(sum)
    }

    /// Before the parts of a vector are accessed one by one: its alignment is checked, and the address is copied if a part
    /// could replace it.
    fn checked(&mut self, place: Place, space: Space, size: u32, copied: bool) -> Place {
        let (reg, width, imm) = match place {
            Place::Register(reg, width, imm) => (reg, width, imm),
            // Their registers are the compiler's own, which no part replaces.
            Place::Local(reg) => (reg, 8, 0),
            Place::Arguments(reg, imm) => (reg, 8, imm),
            _ => return place,
        };
        let run = if width == 4 { check_alignment::<u32>() } else { check_alignment::<u64>() };
        self.emit(Op { imm, extra: size, ..op(run, NIL, reg, NIL) });
        if !copied || reg.is_constant() || !matches!(place, Place::Register(..)) {
            return place;
        }
        let ty = if space == Space::Shared { Type::B32 } else { Type::B64 };
        let copy = self.temporary(ty);
        let run: Handler = if width == 4 { unary(|a: u32| a) } else { unary(|a: u64| a) };
        self.emit(op(run, copy, reg, NIL));
        Place::Register(copy, width, imm)
    }

    pub(super) fn load_from(
        &mut self,
        place: &Place,
        space: Space,
        offset: i64,
        ty: Type,
        d: Reg,
        m: &Modifiers<'a>,
    ) -> Result<(), JitError> {
        match *place {
            Place::Register(a, _, imm) => {
                let run = self.loader(space, ty).ok_or_else(|| m.bad_type(ty))?;
                self.emit(Op { imm: imm.wrapping_add(offset), ..op(run, d, a, NIL) });
            }
            Place::Local(a) => {
                let run = self.loader(Space::Local, ty).ok_or_else(|| m.bad_type(ty))?;
                self.emit(Op { imm: offset, ..op(run, d, a, NIL) });
            }
            Place::Arguments(a, imm) => {
                let run = self.loader(Space::Param, ty).ok_or_else(|| m.bad_type(ty))?;
                self.emit(Op { imm: imm.wrapping_add(offset), ..op(run, d, a, NIL) });
            }
            Place::Slot(at, end) => {
                let at = inside(at, end, offset, ty).ok_or_else(|| m.invalid("the variable ends before"))?;
                self.load_slot(d, ty, at);
            }
            Place::Param(at, end) => {
                let at = inside(at, end, offset, ty).ok_or_else(|| m.invalid("the parameters end before"))?;
                let run = match ty.size() {
                    1 => argument::<u8>(),
                    2 => argument::<u16>(),
                    4 => argument::<u32>(),
                    8 => argument::<u64>(),
                    _ => argument::<u128>(),
                };
                self.emit(Op { imm: at.into(), ..op(run, d, NIL, NIL) });
            }
            Place::Shared(..) => return Err(m.invalid("the variable is not of this state space")),
        }
        Ok(())
    }

    /// A load of only some bytes, each by itself, since the others may not exist; they are zero.
    fn load_bytes(
        &mut self,
        place: &Place,
        space: Space,
        (offset, used): (i64, u64),
        ty: Type,
        d: Reg,
        m: &Modifiers<'a>,
    ) -> Result<(), JitError> {
        let copy = resize(width(ty), width(ty), false).ok_or_else(|| m.bad_type(ty))?;
        let (zero, byte) = (self.constant(0, ty), self.temporary(Type::B8));
        self.emit(op(copy, d, zero, NIL));
        for at in (0..ty.size()).filter(|at| used >> at & 1 != 0) {
            self.load_from(place, space, offset + i64::from(at), Type::B8, byte, m)?;
            let c = self.constant(u64::from(8 * at), Type::U32);
            self.emit(Op { c, ..op(join(ty, Type::B8), d, d, byte) });
        }
        Ok(())
    }

    pub(super) fn store_at(
        &mut self,
        place: &Place,
        space: Space,
        offset: i64,
        ty: Type,
        b: Reg,
        m: &Modifiers<'a>,
    ) -> Result<(), JitError> {
        match *place {
            Place::Register(a, _, imm) => {
                let run = self.storer(space, ty).ok_or_else(|| m.bad_type(ty))?;
                self.emit(Op { imm: imm.wrapping_add(offset), ..op(run, NIL, a, b) });
            }
            Place::Local(a) => {
                let run = self.storer(Space::Local, ty).ok_or_else(|| m.bad_type(ty))?;
                self.emit(Op { imm: offset, ..op(run, NIL, a, b) });
            }
            Place::Slot(at, end) => {
                let at = inside(at, end, offset, ty).ok_or_else(|| m.invalid("the variable ends before"))?;
                self.store_slot(b, ty, at);
            }
            _ => return Err(m.invalid("the variable cannot be written")),
        }
        Ok(())
    }

    fn loader(&self, space: Space, ty: Type) -> Option<Handler> {
        macro_rules! sized {
            ($space:ty, $address:ty) => {
                match ty.size() {
                    1 => load::<$space, $address, u8>(),
                    2 => load::<$space, $address, u16>(),
                    4 => load::<$space, $address, u32>(),
                    8 => load::<$space, $address, u64>(),
                    16 => load::<$space, $address, u128>(),
                    _ => return None,
                }
            };
        }
        Some(match space {
            Space::Generic => sized!(Generic, u64),
            Space::Global => sized!(Global, u64),
            Space::Shared => sized!(Shared, u32),
            Space::Param if self.is_kernel => sized!(Param, u64),
            Space::Param | Space::Local => sized!(Local, u64),
        })
    }

    fn storer(&self, space: Space, ty: Type) -> Option<Handler> {
        macro_rules! sized {
            ($space:ty, $address:ty) => {
                match ty.size() {
                    1 => store::<$space, $address, u8>(),
                    2 => store::<$space, $address, u16>(),
                    4 => store::<$space, $address, u32>(),
                    8 => store::<$space, $address, u64>(),
                    16 => store::<$space, $address, u128>(),
                    _ => return None,
                }
            };
        }
        Some(match space {
            Space::Generic => sized!(Generic, u64),
            Space::Global => sized!(Global, u64),
            Space::Shared => sized!(Shared, u32),
            Space::Param if self.is_kernel => return None,
            Space::Param | Space::Local => sized!(Local, u64),
        })
    }
}

/// The offset of a part, if it lies before the end.
fn inside(at: u32, end: u32, offset: i64, ty: Type) -> Option<u32> {
    let at = u32::try_from(i64::from(at).wrapping_add(offset)).ok()?;
    (at.checked_add(ty.size())? <= end).then_some(at)
}

/// `cp.async`
fn copy<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    if !m.take("async") {
        return Err(m.uncovered("only the forms of cp.async are supported"));
    }
    match m.one_of(&["commit_group", "wait_group", "wait_all"]) {
        Some("wait_group") => {
            let [Operand::Integer(groups)] = *l.operands(i)? else {
                return Err(m.invalid("the number of groups is an immediate"));
            };
            let extra = u32::try_from(groups).unwrap_or(ALL - 1).min(ALL - 1);
            l.emit(Op { extra, ..op(wait_for_copies, NIL, NIL, NIL) });
            return Ok(());
        }
        Some("wait_all") => {
            let [] = l.operands(i)?;
            l.emit(Op { extra: ALL, ..op(wait_for_copies, NIL, NIL, NIL) });
            return Ok(());
        }
        Some(_) => {
            let [] = l.operands(i)?;
            l.emit(op(commit_copies, NIL, NIL, NIL));
            return Ok(());
        }
        None => {}
    }
    let cache = m.one_of(&["ca", "cg"]).ok_or_else(|| m.uncovered("this form is not supported"))?;
    let target = m.one_of(&["shared", "shared::cta"]);
    if target.is_none() || !m.take("global") {
        return Err(m.uncovered("only copies from global to shared memory are supported"));
    }
    m.skip(&["L2::64B", "L2::128B", "L2::256B"]);
    let policy = usize::from(m.take("L2::cache_hint"));
    let operands = &i.operands[..i.operands.len().saturating_sub(policy)];
    if operands.len() < 3 || operands.len() > 4 {
        return Err(m.uncovered("these operands are not supported"));
    }
    let Operand::Integer(size) = operands[2] else { return Err(m.invalid("the size is an immediate")) };
    if !(matches!((cache, size), ("ca", 4 | 8) | (_, 16))) {
        return Err(m.invalid("this size cannot be copied"));
    }
    let a = l.whole_address(&operands[0], Space::Shared, m)?;
    let from = l.address(&operands[1])?;
    let (b, imm) = match l.place_in(from, Space::Global, m)? {
        Place::Register(reg, _, imm) => (reg, imm),
        _ => return Err(m.invalid("the variable is not of this state space")),
    };
    let c = match operands.get(3) {
        None => l.constant(size, Type::B32),
        Some(operand) => match l.any_register(operand) {
            Ok(register) if width(register.ty) == 0 => {
                // A predicate: nothing is read where it is true.
                let p = l.predicate(operand)?;
                let (none, all) = (l.constant(0, Type::B32), l.constant(size, Type::B32));
                let d = l.temporary(Type::B32);
                l.emit(Op { c: p, ..op(crate::ptx::exec::map::select::<u32>(), d, none, all) });
                d
            }
            _ => l.source(operand, Type::B32)?,
        },
    };
    l.emit(Op { imm, c, extra: size as u32, ..op(copy_async, NIL, a, b) });
    Ok(())
}
