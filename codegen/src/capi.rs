//! The sources of the C interface: files of `src/capi/` as they are parsed, with the types that C has.

use crate::tags::{Attributes, Comment};
use std::path::Path;
use syn::{FnArg, Item, Pat, Type};

/// A file of `src/capi/` that exports something.
pub(crate) struct Source {
    /// The header that declares what is in it.
    pub(crate) header: String,
    /// What a program does with its functions: "copy memory".
    pub(crate) task: Option<String>,
    pub(crate) file: syn::File,
}

/// The files that name a header, in the order in which the modules are declared.
pub(crate) fn read(capi: &Path) -> Vec<Source> {
    let mut sources = Vec::new();
    read_module(&capi.join("mod.rs"), capi, &mut sources);
    sources
}

/// Reads a module, whose own modules are in `folder`, and those.
fn read_module(path: &Path, folder: &Path, sources: &mut Vec<Source>) {
    let file = parse(path);
    let modules: Vec<String> = file.items.iter().filter_map(declared_module).collect();
    let comment = Comment::of(&file.attrs);
    let said = |tag| comment.tagged(tag).next().map(|tag| tag.text.clone());
    match said("header") {
        Some(header) => sources.push(Source { header, task: said("task"), file }),
        None => assert!(!file.items.iter().any(is_exported), "{}: which @header?", path.display()),
    }
    for module in modules {
        let (file, inner) = (folder.join(format!("{module}.rs")), folder.join(&module));
        let file = if file.exists() { file } else { inner.join("mod.rs") };
        read_module(&file, &inner, sources);
    }
}

fn declared_module(item: &Item) -> Option<String> {
    match item {
        Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
        _ => None,
    }
}

fn is_exported(item: &Item) -> bool {
    let Item::Fn(function) = item else { return false };
    function.sig.abi.is_some() && matches!(function.vis, syn::Visibility::Public(_))
}

/// Parses a file, and gives its functions, structs and callbacks the types that they have in C.
pub(crate) fn parse(path: &Path) -> syn::File {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    file.items.iter_mut().for_each(name_enums);
    file
}

/// Numbers that are enumerators have the enumeration's type in C, where that is the same for the ABI: a C caller sees what
/// to pass. In Rust they stay numbers, since a caller may pass any.
fn name_enums(item: &mut Item) {
    match item {
        Item::Fn(function) => {
            let comment = Comment::of(&function.attrs);
            for argument in &mut function.sig.inputs {
                let FnArg::Typed(argument) = argument else { continue };
                let Pat::Ident(name) = argument.pat.as_ref() else { continue };
                name_enum(&comment, &name.ident.to_string(), &mut argument.ty);
            }
        }
        Item::Struct(item) => {
            for field in &mut item.fields {
                let comment = Comment::of(&field.attrs);
                comment.tagged("field").for_each(|tag| apply(&tag.attributes, &mut field.ty));
            }
        }
        Item::Type(alias) => {
            let comment = Comment::of(&alias.attrs);
            let Some(callback) = function_of(&mut alias.ty) else { return };
            for argument in &mut callback.inputs {
                let Some((name, _)) = &argument.name else { continue };
                name_enum(&comment, &name.to_string(), &mut argument.ty);
            }
        }
        _ => {}
    }
}

fn name_enum(comment: &Comment, parameter: &str, ty: &mut Type) {
    let is_it = |text: &str| text.split(' ').next() == Some(parameter);
    for tag in comment.tagged("param").filter(|tag| is_it(&tag.text)) {
        apply(&tag.attributes, ty);
    }
}

fn apply(attributes: &Attributes, ty: &mut Type) {
    let Some(name) = attributes.value("enum") else { return };
    match ty {
        Type::Ptr(pointer) => apply(attributes, &mut pointer.elem),
        Type::Path(path) if path.path.is_ident("i32") => {
            path.path = syn::parse_str(name).unwrap_or_else(|e| panic!("enum({name}): {e}"));
        }
        _ => panic!("enum({name}) is said of what is no i32"),
    }
}

/// The function in an `Option<unsafe extern "C" fn(...)>`.
fn function_of(ty: &mut Type) -> Option<&mut syn::TypeBareFn> {
    let Type::Path(path) = ty else { return None };
    let arguments = &mut path.path.segments.last_mut()?.arguments;
    let syn::PathArguments::AngleBracketed(arguments) = arguments else { return None };
    match arguments.args.first_mut()? {
        syn::GenericArgument::Type(Type::BareFn(function)) => Some(function),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens as _;

    fn named(text: &str) -> String {
        let mut item: Item = syn::parse_str(text).expect("an item");
        name_enums(&mut item);
        item.to_token_stream().to_string()
    }

    #[test]
    fn enumerators_get_their_type() {
        let function = named(
            "/// @param[in, enum(kind)] a It.\n/// @param[out, enum(kind)] b It.\nfn f(a: i32, b: *mut i32, c: i32) {}",
        );
        assert!(function.contains("f (a : kind , b : * mut kind , c : i32)"), "{function}");
        let item = named("struct S {\n/// @field[enum(kind)] It.\na: i32, b: i32 }");
        assert!(item.contains("a : kind , b : i32"), "{item}");
        let callback = named(
            "/// @param[in, enum(kind)] a It.\ntype T = Option<unsafe extern \"C\" fn(a: i32, b: i32)>;",
        );
        assert!(callback.contains("fn (a : kind , b : i32)"), "{callback}");
    }
}
