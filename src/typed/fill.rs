//! Values that memory is filled with.

use super::element::DeviceCopy;
use crate::op::Value;

/// An element that a memset can write: a number of 1, 2 or 4 bytes.
pub trait Fill: DeviceCopy + sealed::Sealed {
    /// It, as a memset has it.
    #[doc(hidden)]
    fn value(self) -> Value;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! fill {
    ($($number:ty as $unsigned:ident in $value:ident),*) => {$(
        impl sealed::Sealed for $number {}

        impl Fill for $number {
            fn value(self) -> Value {
                Value::$value($unsigned::from_ne_bytes(self.to_ne_bytes()))
            }
        }
    )*};
}

fill!(i8 as u8 in U8, u8 as u8 in U8, i16 as u16 in U16, u16 as u16 in U16);
fill!(i32 as u32 in U32, u32 as u32 in U32, f32 as u32 in U32);
