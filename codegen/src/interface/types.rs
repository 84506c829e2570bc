//! Types: what they are called in C, and how large they are on the 64-bit platforms that there are.

use syn::{Expr, ExprLit, ExprUnary, GenericArgument, Lit, PathArguments, Type, TypeBareFn, UnOp};

/// Size and alignment in bytes.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) size: usize,
    pub(super) align: usize,
}

impl Layout {
    pub(super) const POINTER: Self = Self { size: 8, align: 8 };

    pub(super) fn of_c(name: &str) -> Self {
        let size = match name {
            "char" | "uint8_t" => 1,
            "int32_t" | "uint32_t" | "int" | "float" => 4,
            "int64_t" | "uint64_t" | "size_t" | "double" => 8,
            name if name.ends_with('*') => return Self::POINTER,
            name => panic!("the size of {name} is not known"),
        };
        Self { size, align: size }
    }

    /// Adds a member at the end and answers where it lies.
    pub(super) fn add(&mut self, member: Self) -> usize {
        let offset = self.size.next_multiple_of(member.align);
        self.size = offset + member.size;
        self.align = self.align.max(member.align);
        offset
    }

    /// With what fills it up to the next one in an array.
    pub(super) fn padded(self) -> Self {
        Self { size: self.size.next_multiple_of(self.align), ..self }
    }
}

/// The last part of the type's path.
pub(super) fn name(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    Some(path.path.segments.last()?.ident.to_string())
}

/// The function type in an `Option<extern "C" fn ...>`.
pub(super) fn function(ty: &Type) -> Option<&TypeBareFn> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(Type::BareFn(function)) => Some(function),
        _ => None,
    }
}

/// The element and the number of elements of an array; the type itself if it is none.
pub(super) fn array(ty: &Type) -> (&Type, Option<usize>) {
    match ty {
        Type::Array(array) => (&array.elem, Some(number(&array.len) as usize)),
        ty => (ty, None),
    }
}

/// The type as the header spells it.
pub(super) fn c(ty: &Type) -> String {
    if let Type::Ptr(pointer) = ty {
        return c_pointer(&c(&pointer.elem), pointer.mutability.is_some());
    }
    let name = name(ty).unwrap_or_else(|| panic!("a type of the interface has a name"));
    let c = match name.as_str() {
        "i32" => "int32_t",
        "u32" => "uint32_t",
        "i64" => "int64_t",
        "u64" => "uint64_t",
        "u8" => "uint8_t",
        "usize" => "size_t",
        "f32" => "float",
        "f64" => "double",
        "c_char" => "char",
        "c_int" => "int",
        "c_void" => "void",
        "Table" => "cushim_driver_table",
        other => other,
    };
    c.to_owned()
}

fn c_pointer(to: &str, mutable: bool) -> String {
    let space = if to.ends_with('*') { "" } else { " " };
    match mutable {
        true => format!("{to}{space}*"),
        false if to.ends_with('*') => format!("{to}const *"),
        false => format!("const {to} *"),
    }
}

/// The value of a number, which may have a sign.
pub(super) fn number(expression: &Expr) -> i64 {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().expect("a number"),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => -number(expr),
        _ => panic!("a number of the interface is written out"),
    }
}
