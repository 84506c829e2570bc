//! `ldmatrix`, `stmatrix`, `movmatrix`: matrices of eight rows of eight 16-bit elements, spread over the lanes of a warp.
//!
//! Lane `n` has the elements `2 * (n % 4)` and the one after it of row `n / 4`. Each becomes shuffles of what the lanes know
//! (addresses of rows, or elements) and ordinary accesses, before and after which the lanes wait for each other.

use super::collective;
use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::memory::Space;
use super::modifiers::Modifiers;
use super::operand::Place;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::access::check_alignment;
use crate::ptx::exec::collective::{Collective, Kind};
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::{binary, ternary};
use crate::ptx::exec::special::Special;
use crate::ptx::types::Type;
use Type::{B16, B32, B64};

/// Bytes of a row.
const ROW: u32 = 16;

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if !m.take("sync") || !m.take("aligned") {
        return Err(m.invalid("it has .sync.aligned"));
    }
    if !m.take("m8n8") {
        return Err(m.uncovered("only the shape .m8n8 is supported"));
    }
    let transposed = m.take("trans");
    if i.opcode == "movmatrix" {
        return transpose(l, i, m, transposed);
    }
    let count = match m.one_of(&["x1", "x2", "x4"]) {
        Some("x1") => 1,
        Some("x2") => 2,
        Some(_) => 4,
        None => return Err(m.invalid("a number of matrices is wanted")),
    };
    let space = if m.one_of(&["shared", "shared::cta"]).is_some() { Space::Shared } else { Space::Generic };
    check_type(m)?;
    let [first, second] = l.operands(i)?;
    let (registers, address) = if i.opcode == "ldmatrix" { (first, second) } else { (second, first) };
    let components = l.components(registers);
    let registers = match (registers, &components) {
        (Operand::Vector(parts), _) | (_, Some(parts)) if parts.len() == count => parts,
        _ => return Err(m.invalid(&format!("{count} registers in braces are wanted"))),
    };
    let address = l.whole_address(address, space, m)?;
    let matrices = Matrices { space, transposed, address };
    if i.opcode == "ldmatrix" { matrices.load(l, m, registers) } else { matrices.store(l, m, registers) }
}

fn check_type(m: &mut Modifiers<'_>) -> Result<(), JitError> {
    match m.ty()? {
        B16 => Ok(()),
        ty => Err(m.bad_type(ty)),
    }
}

/// `value` of the lane whose number `lane` has, for all lanes.
fn shuffle(l: &mut Lowering<'_, '_>, value: Reg, ty: Type, lane: Reg) -> Reg {
    let d = l.temporary(ty);
    let (clamp, members) = (l.constant(31, B32), l.constant(u64::from(u32::MAX), B32));
    let shuffle = Collective {
        kind: Kind::ShuffleIndex,
        result: Some((d, ty.size())),
        value: Some((value, ty.size())),
        lane: Some(lane),
        clamp: Some(clamp),
        members: Some(members),
        ..collective::PLAIN
    };
    collective::emit(l, shuffle);
    d
}

/// No lane goes on before all have read or written.
pub(super) fn wait(l: &mut Lowering<'_, '_>) {
    let members = l.constant(u64::from(u32::MAX), B32);
    collective::emit(l, Collective { members: Some(members), ..collective::PLAIN });
}

/// A value made of the lane's number, a constant and another one.
fn of_lane(l: &mut Lowering<'_, '_>, run: Handler, b: u32, c: u32) -> Reg {
    let (lane, d) = (l.special(Special::Lane), l.temporary(B32));
    let (b, c) = (l.constant(b.into(), B32), l.constant(c.into(), B32));
    l.emit(Op { c, ..op(run, d, lane, b) });
    d
}

struct Matrices {
    space: Space,
    transposed: bool,
    /// Of lane `8 * n + row`: where that row of matrix `n` is.
    address: Reg,
}

impl Matrices {
    fn load<'a>(
        &self,
        l: &mut Lowering<'a, '_>,
        m: &Modifiers<'a>,
        registers: &[Operand<'a>],
    ) -> Result<(), JitError> {
        let mut loaded = Vec::new();
        for number in 0..registers.len() as u32 {
            let d = l.temporary(B32);
            if self.transposed {
                let [low, high] = [l.temporary(B16), l.temporary(B16)];
                for (element, d) in [low, high].into_iter().enumerate() {
                    let at = self.element(l, number, element as u32);
                    l.load_from(&at, self.space, 0, B16, d, m)?;
                }
                l.emit(op(
                    binary(|low: u16, high: u16| u32::from(low) | u32::from(high) << 16),
                    d,
                    low,
                    high,
                ));
            } else {
                let at = self.pair(l, number);
                l.load_from(&at, self.space, 0, B32, d, m)?;
            }
            loaded.push(d);
        }
        wait(l);
        for (operand, from) in registers.iter().zip(loaded) {
            let d = l.destination(operand, B32)?;
            l.emit(op(binary(|a: u32, _: u32| a), d, from, from));
        }
        Ok(())
    }

    fn store<'a>(
        &self,
        l: &mut Lowering<'a, '_>,
        m: &Modifiers<'a>,
        registers: &[Operand<'a>],
    ) -> Result<(), JitError> {
        for (number, operand) in (0..).zip(registers) {
            let value = l.source(operand, B32)?;
            if self.transposed {
                for element in 0..2 {
                    let (half, shift) = (l.temporary(B16), l.constant(u64::from(16 * element), B32));
                    l.emit(op(binary(|value: u32, by: u32| (value >> by) as u16), half, value, shift));
                    let at = self.element(l, number, element);
                    l.store_at(&at, self.space, 0, B16, half, m)?;
                }
            } else {
                let at = self.pair(l, number);
                l.store_at(&at, self.space, 0, B32, value, m)?;
            }
        }
        wait(l);
        Ok(())
    }

    /// Where the lane's two elements are.
    fn pair(&self, l: &mut Lowering<'_, '_>, number: u32) -> Place {
        let lane = of_lane(l, ternary(|lane: u32, first: u32, _: u32| first + lane / 4), 8 * number, 0);
        let offset = of_lane(l, ternary(|lane: u32, bytes: u32, _: u32| lane % 4 * bytes), 4, 0);
        self.in_row(l, lane, offset)
    }

    /// Where one of the lane's two elements is, if rows are columns.
    fn element(&self, l: &mut Lowering<'_, '_>, number: u32, element: u32) -> Place {
        let row = ternary(|lane: u32, first: u32, element: u32| first + 2 * (lane % 4) + element);
        let lane = of_lane(l, row, 8 * number, element);
        let offset = of_lane(l, ternary(|lane: u32, bytes: u32, _: u32| lane / 4 * bytes), 2, 0);
        self.in_row(l, lane, offset)
    }

    /// So many bytes behind the address that a lane gives.
    fn in_row(&self, l: &mut Lowering<'_, '_>, lane: Reg, offset: Reg) -> Place {
        let (ty, width) = if self.space == Space::Shared { (B32, 4) } else { (B64, 8) };
        let row = shuffle(l, self.address, ty, lane);
        let check = if width == 4 { check_alignment::<u32>() } else { check_alignment::<u64>() };
        l.emit(Op { extra: ROW, ..op(check, NIL, row, NIL) });
        let sum = l.temporary(ty);
        let run: Handler = match width {
            4 => binary(|a: u32, b: u32| a.wrapping_add(b)),
            _ => binary(|a: u64, b: u32| a.wrapping_add(b.into())),
        };
        l.emit(op(run, sum, row, offset));
        Place::Register(sum, width, 0)
    }
}

/// `movmatrix`: each lane's two elements are of two other lanes.
fn transpose<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    transposed: bool,
) -> Result<(), JitError> {
    check_type(m)?;
    if !transposed {
        return Err(m.invalid("it has .trans"));
    }
    let [d, a] = l.operands(i)?;
    let a = l.source(a, B32)?;
    let d = l.destination(d, B32)?;
    let shift = of_lane(l, ternary(|lane: u32, bits: u32, _: u32| lane / 4 % 2 * bits), 16, 0);
    let [low, high] = [0, 1].map(|element| {
        let owner = ternary(|lane: u32, _: u32, element: u32| (2 * (lane % 4) + element) * 4 + lane / 8);
        let owner = of_lane(l, owner, 0, element);
        let (both, half) = (shuffle(l, a, B32, owner), l.temporary(B32));
        l.emit(op(binary(|both: u32, by: u32| both >> by & 0xffff), half, both, shift));
        half
    });
    l.emit(op(binary(|low: u32, high: u32| low | high << 16), d, low, high));
    Ok(())
}
