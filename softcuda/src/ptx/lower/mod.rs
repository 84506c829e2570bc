//! Lowering: from syntax to decoded instructions, one kernel with all that it calls at a time.
//!
//! `function` walks the bodies, `lowering` is the program on its way, `names` knows what names mean, `operand` turns operands into registers, `modifiers` sees
//! to it that no modifier is passed over. The other files are tables: what each opcode's forms do.

mod arithmetic;
mod atomic;
mod bits;
mod bulk;
mod bulk_operands;
mod bulk_reduce;
mod call;
mod carry;
mod collective;
mod compare;
mod control;
mod convert;
mod convert_bytes;
mod emit;
mod function;
mod halves;
mod lowering;
mod matrix;
mod mbarrier;
mod memory;
mod mma;
mod modifiers;
mod names;
mod operand;
mod packed;
mod policy;
mod registers;
mod table;
mod transcendental;
mod transfer;

pub(super) use function::{lower_kernel, numbered_global};
pub(super) use names::Library;
