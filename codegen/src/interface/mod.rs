//! The C interface as data: what `src/capi/` exports, read from its source.
//!
//! Names, types and layouts are the source's. What C types do not say (who owns a handle that comes out, where NULL is
//! accepted, which errors there are) is read from the documentation, whose wording is therefore fixed; see [`docs`].

mod docs;
mod json;
mod recorder;
mod streams;
mod sweep;
mod types;

use docs::Docs;
use std::collections::BTreeMap;
use std::path::Path;
use syn::{Fields, FnArg, Item, ItemFn, ItemStruct, ItemType, Pat, ReturnType, Type};
use types::Layout;

pub(crate) use json::write as json;
pub(crate) use recorder::write as recorder;
pub(crate) use streams::write as streams;
pub(crate) use sweep::write as sweep;

/// Everything that programs see.
#[derive(Default)]
pub(crate) struct Interface {
    handles: Vec<Handle>,
    enums: Vec<Enum>,
    structs: Vec<Struct>,
    callbacks: Vec<Callback>,
    functions: Vec<Function>,
    /// Names of types that stand for others: `cushim_status`.
    aliases: BTreeMap<String, String>,
}

/// A type of handle: `stream`, whose C type is `cushim_stream`.
struct Handle {
    kind: String,
    doc: String,
}

struct Enum {
    name: String,
    doc: String,
    values: Vec<Enumerator>,
}

struct Enumerator {
    name: String,
    value: i64,
    doc: String,
}

struct Struct {
    name: String,
    doc: String,
    layout: Layout,
    fields: Vec<Field>,
}

struct Field {
    name: String,
    c_type: String,
    /// Behind the name: `[64]`.
    count: Option<usize>,
    offset: usize,
    layout: Layout,
    doc: String,
}

struct Callback {
    name: String,
    doc: String,
    parameters: Vec<(String, String)>,
    result: String,
}

struct Function {
    name: String,
    header: &'static str,
    result: String,
    parameters: Vec<Parameter>,
    docs: Docs,
}

struct Parameter {
    name: String,
    c_type: String,
    shape: Shape,
    nullable: bool,
    doc: String,
}

/// What a parameter is to the function.
enum Shape {
    /// A number.
    Value,
    /// A handle of this kind; `any` for every kind.
    Handle(String),
    /// A claim that ends.
    Ended(String),
    /// A pointer that the function passes on, or an address: a native handle, a callback, data for one.
    Passed,
    /// A text that ends with NUL.
    Text,
    /// Something to read; a struct whose first member is `struct_size` if `sized`.
    Read { sized: bool },
    /// A place for one value, or 16 bytes.
    Written,
    /// A place for a handle.
    WrittenHandle { kind: String, claim: bool },
    /// A struct whose `struct_size` the caller sets and which the function fills.
    Filled,
    /// A place for a text, of as many bytes as the next parameter says.
    Buffer,
    /// A place for several structs, or for several borrowed handles of this kind.
    Array(Option<String>),
}

/// Reads the files of `src/capi/` that the headers declare.
pub(crate) fn read(capi: &Path, headers: &[(&'static str, &[&str])]) -> Interface {
    let parsed: Vec<(&'static str, syn::File)> = headers
        .iter()
        .flat_map(|(header, files)| files.iter().map(move |file| (*header, parse(&capi.join(file)))))
        .collect();
    let mut interface = Interface::default();
    for (_, file) in &parsed {
        file.items.iter().for_each(|item| interface.take_type(item));
    }
    for (_, file) in &parsed {
        file.items.iter().for_each(|item| interface.take_struct(item));
    }
    for (header, file) in &parsed {
        file.items.iter().for_each(|item| interface.take_function(header, item));
    }
    interface
}

fn parse(path: &Path) -> syn::File {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

impl Interface {
    fn take_type(&mut self, item: &Item) {
        match item {
            Item::Type(alias) if is_public(&alias.vis) => self.take_alias(alias),
            Item::Enum(item) if is_public(&item.vis) => self.enums.push(Enum {
                name: item.ident.to_string(),
                doc: docs::text(&item.attrs),
                values: item.variants.iter().map(enumerator).collect(),
            }),
            _ => {}
        }
    }

    fn take_alias(&mut self, alias: &ItemType) {
        let (name, doc) = (alias.ident.to_string(), docs::text(&alias.attrs));
        match alias.ty.as_ref() {
            Type::Ptr(pointer) if types::name(&pointer.elem).is_some_and(|to| to == format!("{name}_s")) => {
                let kind = name.strip_prefix("cushim_").expect("a handle has a name of ours").to_owned();
                self.handles.push(Handle { kind, doc });
            }
            ty => match types::function(ty) {
                Some(function) => self.callbacks.push(Callback {
                    parameters: function.inputs.iter().map(callback_parameter).collect(),
                    result: result(&function.output),
                    name,
                    doc,
                }),
                None => _ = self.aliases.insert(name, types::c(ty)),
            },
        }
    }

    fn take_struct(&mut self, item: &Item) {
        let Item::Struct(item) = item else { return };
        let Fields::Named(_) = item.fields else { return };
        if is_public(&item.vis) && docs::has(&item.attrs, "repr") && !item.ident.to_string().ends_with("_s") {
            let item = self.read_struct(item);
            self.structs.push(item);
        }
    }

    fn read_struct(&self, item: &ItemStruct) -> Struct {
        let mut layout = Layout { size: 0, align: 1 };
        let fields = item.fields.iter().map(|field| {
            let (ty, count) = types::array(&field.ty);
            let of_one = self.layout(ty);
            let of_all = Layout { size: of_one.size * count.unwrap_or(1), align: of_one.align };
            let offset = layout.add(of_all);
            Field {
                name: field.ident.as_ref().expect("named").to_string(),
                c_type: types::c(ty),
                count,
                offset,
                layout: of_all,
                doc: docs::text(&field.attrs),
            }
        });
        let fields = fields.collect();
        Struct { name: item.ident.to_string(), doc: docs::text(&item.attrs), layout: layout.padded(), fields }
    }

    fn layout(&self, ty: &Type) -> Layout {
        let name = types::name(ty);
        let ours = name.as_ref().and_then(|name| self.structs.iter().find(|known| known.name == *name));
        let alias = name.as_ref().and_then(|name| self.aliases.get(name));
        match (ours, alias) {
            (Some(known), _) => known.layout,
            (None, Some(alias)) => Layout::of_c(alias),
            (None, None) => Layout::of(ty),
        }
    }

    fn take_function(&mut self, header: &'static str, item: &Item) {
        let Item::Fn(item) = item else { return };
        if !is_public(&item.vis) || item.sig.abi.is_none() {
            return;
        }
        let function = self.read_function(header, item);
        self.functions.push(function);
    }

    fn read_function(&self, header: &'static str, item: &ItemFn) -> Function {
        let name = item.sig.ident.to_string();
        let docs = Docs::of(&name, &item.attrs);
        let inputs: Vec<(String, &Type)> = item.sig.inputs.iter().map(input).collect();
        let parameters = inputs.iter().enumerate().map(|(index, (parameter, ty))| {
            let next = inputs.get(index + 1).map(|(name, _)| name.as_str());
            self.read_parameter(&docs, parameter, ty, next)
        });
        let parameters: Vec<Parameter> = parameters.collect();
        docs.assert_names(parameters.iter().map(|parameter| parameter.name.as_str()));
        Function { header, result: result(&item.sig.output), parameters, docs, name }
    }

    fn read_parameter(&self, docs: &Docs, name: &str, ty: &Type, next: Option<&str>) -> Parameter {
        let doc = docs.parameter(name);
        let shape = self.shape(docs, name, &doc, ty, next);
        let pointer = !matches!(shape, Shape::Value);
        Parameter {
            name: name.to_owned(),
            c_type: types::c(ty),
            nullable: pointer && docs::accepts_null(&doc),
            shape,
            doc,
        }
    }

    fn shape(&self, docs: &Docs, name: &str, doc: &str, ty: &Type, next: Option<&str>) -> Shape {
        if let Some(kind) = self.handle(ty) {
            let ends = ["destroy", "destroy_on", "destroy_scratch"]
                .iter()
                .any(|end| docs.name == format!("cushim_{kind}_{end}"));
            return if ends { Shape::Ended(kind) } else { Shape::Handle(kind) };
        }
        let Type::Ptr(pointer) = ty else {
            let is_pointer =
                types::is_native(ty) || types::name(ty).is_some_and(|name| self.is_callback(&name));
            return if is_pointer { Shape::Passed } else { Shape::Value };
        };
        let to = types::c(&pointer.elem);
        let sized = self.is_sized(&to);
        match pointer.mutability.is_some() {
            false if to == "char" => Shape::Text,
            false if to == "void" && doc.starts_with("A handle of any kind") => {
                Shape::Handle("any".to_owned())
            }
            false => Shape::Read { sized },
            true if to == "void" => Shape::Passed,
            true if to == "char" => Shape::Buffer,
            true if sized => Shape::Filled,
            true if matches!(next, Some("stride" | "capacity")) => Shape::Array(self.handle(&pointer.elem)),
            true => match self.handle(&pointer.elem) {
                Some(kind) => Shape::WrittenHandle { kind, claim: docs::is_claim(&docs.name, name, doc) },
                None => Shape::Written,
            },
        }
    }

    /// The kind of handles of this type.
    fn handle(&self, ty: &Type) -> Option<String> {
        let name = types::name(ty)?;
        let known = self.handles.iter().find(|handle| name.strip_prefix("cushim_") == Some(&handle.kind))?;
        Some(known.kind.clone())
    }

    fn is_callback(&self, name: &str) -> bool {
        self.callbacks.iter().any(|callback| callback.name == name)
    }

    /// Whether the struct of this name says how large it is.
    fn is_sized(&self, name: &str) -> bool {
        let known = self.structs.iter().find(|known| known.name == name);
        known.is_some_and(|known| known.fields[0].name == "struct_size")
    }
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

fn enumerator(variant: &syn::Variant) -> Enumerator {
    let (_, value) = variant.discriminant.as_ref().expect("an enumerator has a number");
    Enumerator {
        name: variant.ident.to_string(),
        value: types::number(value),
        doc: docs::text(&variant.attrs),
    }
}

fn input(argument: &FnArg) -> (String, &Type) {
    let FnArg::Typed(argument) = argument else { panic!("a C function has no self") };
    let Pat::Ident(name) = argument.pat.as_ref() else { panic!("a C parameter has a name") };
    (name.ident.to_string(), &argument.ty)
}

fn callback_parameter(argument: &syn::BareFnArg) -> (String, String) {
    let (name, _) = argument.name.as_ref().expect("a callback's parameters have names");
    (name.to_string(), types::c(&argument.ty))
}

fn result(output: &ReturnType) -> String {
    match output {
        ReturnType::Default => "void".to_owned(),
        ReturnType::Type(_, ty) => types::c(ty),
    }
}
