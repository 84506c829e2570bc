//! How softcuda's trace shows the arguments of a function: code that tells them, by the catalogue's types and names.

use crate::catalogue::{Abi, Catalogue, Param};
use crate::ctype;

/// The closure `|a: &mut Arguments| { ... }` for the exports of an ABI, whose pointers are wrapped.
pub(crate) fn describe(catalogue: &Catalogue, abi: &Abi) -> String {
    if abi.params.is_empty() {
        return "|_| {}".to_owned();
    }
    let told: Vec<String> =
        abi.params.iter().enumerate().map(|(place, param)| tell(catalogue, abi, param, place)).collect();
    format!("|a: &mut Arguments| {{ {} }}", told.join(" "))
}

fn tell(catalogue: &Catalogue, abi: &Abi, param: &Param, place: usize) -> String {
    let (name, value) = (&param.name, ctype::rust_name(&param.name));
    let rust = ctype::rust(&param.ty);
    let wrapped = rust.starts_with('*') && !rust.ends_with(" c_void") || rust.matches('*').count() > 1;
    let address = if wrapped { format!("{value}.address()") } else { format!("{value} as usize") };
    match kind(catalogue, &param.ty) {
        Kind::Text => format!("a.text({name:?}, {value});"),
        Kind::Pointer if is_about(abi, place) && is_made(catalogue, param) => {
            format!("a.made({name:?}, {address});")
        }
        Kind::Pointer | Kind::Handle => format!("a.address({name:?}, {address});"),
        Kind::Callback => format!("a.address({name:?}, {value}.map_or(0, |f| f as usize));"),
        Kind::Enum => format!("a.value({name:?}, {value}.0);"),
        Kind::Number => format!("a.value({name:?}, {value});"),
        Kind::Struct => format!("a.value({name:?}, \"null\");"),
    }
}

/// What a parameter is, for somebody who reads a trace.
enum Kind {
    Text,
    Pointer,
    /// A handle, or the address of memory on a device.
    Handle,
    Callback,
    Enum,
    Number,
    Struct,
}

fn kind(catalogue: &Catalogue, ty: &str) -> Kind {
    let rust = ctype::rust(ty);
    if rust == "*const c_char" {
        return Kind::Text;
    }
    if rust.starts_with('*') {
        return Kind::Pointer;
    }
    if is_handle(catalogue, ty) || ty.starts_with("CUdeviceptr") {
        return Kind::Handle;
    }
    if catalogue.callbacks.iter().any(|callback| callback.name == ty) {
        return Kind::Callback;
    }
    if catalogue.enums.iter().any(|e| e.name == rust) {
        return Kind::Enum;
    }
    if matches!(&*rust, "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "usize" | "f32") {
        return Kind::Number;
    }
    match catalogue.aliases.iter().find(|alias| alias.name == rust) {
        Some(alias) => kind(catalogue, &alias.target),
        None => Kind::Struct,
    }
}

/// Whether what a function is about stands at this place: the first, but for the graph that the end of a capture gives, and a linker, which comes last.
fn is_about(abi: &Abi, place: usize) -> bool {
    let of_it = match &*abi.base {
        "cuStreamEndCapture" => 1,
        "cuLinkCreate" => 3,
        _ => 0,
    };
    place == of_it
}

/// Whether the parameter is where a function writes the handle or the address that it is about: one, not several.
fn is_made(catalogue: &Catalogue, param: &Param) -> bool {
    let several = param.name.ends_with('s') || param.ty.starts_with("const ");
    let Some(target) = param.ty.strip_suffix('*').map(str::trim) else { return false };
    let is_address = target == "void *" || target.starts_with("CUdeviceptr") && target != "CUdeviceptr_v1";
    !several && (is_address || is_handle(catalogue, target))
}

/// The handles of virtual memory are numbers by their type.
fn is_handle(catalogue: &Catalogue, ty: &str) -> bool {
    catalogue.handles.iter().any(|handle| handle.name == ty) || ty.starts_with("CUmemGenericAllocationHandle")
}
