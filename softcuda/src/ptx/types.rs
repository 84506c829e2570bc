//! The fundamental types.

/// A type as it stands in declarations and after an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

use Type::{
    B8, B16, B32, B64, B128, Bf16, Bf16x2, F16, F16x2, F32, F64, Pred, S8, S16, S32, S64, U8, U16, U32, U64,
};

impl Type {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Pred,
            "b8" => B8,
            "b16" => B16,
            "b32" => B32,
            "b64" => B64,
            "b128" => B128,
            "u8" => U8,
            "u16" => U16,
            "u32" => U32,
            "u64" => U64,
            "s8" => S8,
            "s16" => S16,
            "s32" => S32,
            "s64" => S64,
            "f16" => F16,
            "f16x2" => F16x2,
            "bf16" => Bf16,
            "bf16x2" => Bf16x2,
            "f32" => F32,
            "f64" => F64,
            _ => return None,
        })
    }

    /// Bytes; predicates have none that memory could hold.
    pub(super) fn size(self) -> u32 {
        match self {
            Pred => 0,
            B8 | U8 | S8 => 1,
            B16 | U16 | S16 | F16 | Bf16 => 2,
            B32 | U32 | S32 | F32 | F16x2 | Bf16x2 => 4,
            B64 | U64 | S64 | F64 => 8,
            B128 => 16,
        }
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, S8 | S16 | S32 | S64)
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64)
    }

    /// The untyped bits of the same size.
    pub(super) fn bits(self) -> Self {
        match self.size() {
            0 => Pred,
            1 => B8,
            2 => B16,
            4 => B32,
            8 => B64,
            _ => B128,
        }
    }
}
