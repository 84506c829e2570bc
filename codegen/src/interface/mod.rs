//! The C interface as data: what `src/capi/` exports, read from its source.
//!
//! Names, types and layouts are the source's. What C types do not say (who owns a handle that comes out, where NULL is
//! accepted, which errors there are) is said by the tags of the documentation; see [`docs`].

mod cdef;
mod docs;
mod errors;
mod index;
mod json;
mod kinds;
mod recorder;
mod streams;
mod sweep;
mod types;

use crate::capi::Source;
use crate::catalogue::Catalogue;
use crate::tags::{Attributes, Comment};
use docs::{Docs, ParameterDocs, Reach};
use std::collections::{BTreeMap, BTreeSet};
use syn::ext::IdentExt as _;
use syn::{Attribute, Fields, FnArg, Item, ItemFn, ItemStruct, ItemType, Pat, ReturnType, Type};
use types::Layout;

pub(crate) use cdef::write as cdef;
pub(crate) use index::write as index;
pub(crate) use json::write as json;
pub(crate) use kinds::write as kinds;
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
    /// Names of types that stand for others: `cushim_status`, and the driver's own.
    aliases: BTreeMap<String, String>,
}

/// A type of handle: `stream`, whose C type is `cushim_stream`.
struct Handle {
    kind: String,
    /// Which driver has such objects.
    driver: Reach,
    doc: String,
}

struct Enum {
    name: String,
    /// Whether it is one of the driver's.
    is_driver: bool,
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
    attributes: Attributes,
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
    header: String,
    /// What a program does with it.
    task: String,
    result: String,
    parameters: Vec<Parameter>,
    docs: Docs,
}

struct Parameter {
    name: String,
    c_type: String,
    shape: Shape,
    attributes: Attributes,
    doc: String,
}

impl Parameter {
    /// Whether NULL is accepted, whatever the other arguments are.
    fn is_nullable(&self) -> bool {
        self.attributes.has("nullable")
    }

    /// Whether NULL is accepted, if perhaps only where a size is 0.
    fn may_be_null(&self) -> bool {
        self.is_nullable() || self.attributes.has("nullable_if_zero")
    }
}

/// What a parameter is to the function.
enum Shape {
    /// A number.
    Value,
    /// A handle of this kind; `any` for every kind.
    Handle(String),
    /// An owning handle that the call ends.
    Ended(String),
    /// A pointer that the function passes on, or an address: a native handle, a callback, data for one.
    Passed,
    /// A text that ends with NUL.
    Text,
    /// Something to read: a struct whose first member is `struct_size` if `sized`, or handles of a kind.
    Read { sized: bool, kind: Option<String> },
    /// A place for one value, or 16 bytes.
    Written,
    /// A place for a handle, which the caller destroys if it is `owned`.
    WrittenHandle { kind: String, owned: bool },
    /// A struct whose `struct_size` the caller sets and which the function fills.
    Filled,
    /// A place for a text, of as many bytes as another parameter says.
    Buffer,
    /// A place for several structs, or for several borrowed handles of this kind.
    Array(Option<String>),
}

/// Reads what the headers declare.
pub(crate) fn read(catalogue: &Catalogue, sources: &[Source]) -> Interface {
    let mut interface = Interface { aliases: of_driver(catalogue), ..Interface::default() };
    let items = || sources.iter().flat_map(|source| source.file.items.iter().map(move |item| (source, item)));
    items().for_each(|(_, item)| interface.take_type(item));
    interface.take_structs(items().filter_map(|(_, item)| public_struct(item)).collect());
    items().for_each(|(source, item)| interface.take_function(source, item));
    interface.add_enums_of_driver(catalogue);
    interface
}

/// What the driver's types are for a program that knows none of them: a handle is a pointer, an enumeration a number.
fn of_driver(catalogue: &Catalogue) -> BTreeMap<String, String> {
    let handles = catalogue.handles.iter().map(|handle| (handle.name.clone(), "void *".to_owned()));
    let enums = catalogue.enums.iter().map(|item| (item.name.clone(), "int32_t".to_owned()));
    let others = catalogue.aliases.iter().map(|alias| (alias.name.clone(), alias.target.clone()));
    others.chain(handles).chain(enums).collect()
}

/// The documentation of anything but a function, a line per paragraph.
fn text(attributes: &[Attribute]) -> String {
    Comment::of(attributes).prose
}

impl Interface {
    fn take_type(&mut self, item: &Item) {
        match item {
            Item::Type(alias) if is_public(&alias.vis) => self.take_alias(alias),
            Item::Enum(item) if is_public(&item.vis) => self.enums.push(Enum {
                name: item.ident.to_string(),
                is_driver: false,
                doc: text(&item.attrs),
                values: item.variants.iter().map(enumerator).collect(),
            }),
            _ => {}
        }
    }

    fn take_alias(&mut self, alias: &ItemType) {
        let (name, doc) = (alias.ident.to_string(), text(&alias.attrs));
        match alias.ty.as_ref() {
            Type::Ptr(pointer) if types::name(&pointer.elem).is_some_and(|to| to == format!("{name}_s")) => {
                let kind = name.strip_prefix("cushim_").expect("a handle has a name of ours").to_owned();
                let driver = Docs::of(&name, &alias.attrs).driver.unwrap_or(Reach::None);
                self.handles.push(Handle { kind, driver, doc });
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

    /// Reads structs, each after those that it has as members.
    fn take_structs(&mut self, mut left: Vec<&ItemStruct>) {
        while !left.is_empty() {
            let names: Vec<String> = left.iter().map(|item| item.ident.to_string()).collect();
            let is_left = |field: &syn::Field| {
                types::name(types::array(&field.ty).0).is_some_and(|name| names.contains(&name))
            };
            let (rest, ready): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|item| item.fields.iter().any(is_left));
            assert!(!ready.is_empty(), "structs that have each other as members");
            for item in ready {
                let item = self.read_struct(item);
                self.structs.push(item);
            }
            left = rest;
        }
    }

    fn read_struct(&self, item: &ItemStruct) -> Struct {
        let mut layout = Layout { size: 0, align: 1 };
        let fields = item.fields.iter().map(|field| {
            let (ty, count) = types::array(&field.ty);
            let of_one = self.layout(ty);
            let of_all = Layout { size: of_one.size * count.unwrap_or(1), align: of_one.align };
            let offset = layout.add(of_all);
            let (attributes, doc) = field_docs(field);
            Field {
                name: field.ident.as_ref().expect("named").unraw().to_string(),
                c_type: types::c(ty),
                count,
                offset,
                layout: of_all,
                attributes,
                doc,
            }
        });
        let fields: Vec<Field> = fields.collect();
        fields.iter().for_each(|field| field.assert_sizes_are_named(&fields));
        Struct { name: item.ident.to_string(), doc: text(&item.attrs), layout: layout.padded(), fields }
    }

    fn layout(&self, ty: &Type) -> Layout {
        if matches!(ty, Type::Ptr(_)) || types::function(ty).is_some() {
            return Layout::POINTER;
        }
        let name = types::c(ty);
        let ours = self.structs.iter().find(|known| known.name == name);
        match ours {
            Some(known) => known.layout,
            None if self.handle(ty).is_some() || self.is_callback(&name) => Layout::POINTER,
            None => Layout::of_c(&self.plain(&name)),
        }
    }

    /// The plain type that a name stands for.
    fn plain(&self, name: &str) -> String {
        match self.aliases.get(name) {
            Some(to) => self.plain(to),
            None if self.enums.iter().any(|known| known.name == name) => "int32_t".to_owned(),
            None => name.to_owned(),
        }
    }

    fn take_function(&mut self, source: &Source, item: &Item) {
        let Item::Fn(item) = item else { return };
        if !is_public(&item.vis) || item.sig.abi.is_none() {
            return;
        }
        let function = self.read_function(source, item);
        self.functions.push(function);
    }

    fn read_function(&self, source: &Source, item: &ItemFn) -> Function {
        let name = item.sig.ident.to_string();
        let docs = Docs::of(&name, &item.attrs);
        let inputs: Vec<(String, &Type)> = item.sig.inputs.iter().map(input).collect();
        let parameters = inputs.iter().map(|(parameter, ty)| self.read_parameter(&docs, parameter, ty));
        let parameters: Vec<Parameter> = parameters.collect();
        docs.assert_names(parameters.iter().map(|parameter| parameter.name.as_str()));
        let task = docs.task.clone().or_else(|| source.task.clone());
        let task = task.unwrap_or_else(|| panic!("{name}: which @task?"));
        let (header, result) = (source.header.clone(), result(&item.sig.output));
        let function = Function { header, task, result, parameters, docs, name };
        function.assert_sizes_are_named();
        function.assert_stream_follows();
        function.assert_object_leads();
        function
    }

    fn read_parameter(&self, docs: &Docs, name: &str, ty: &Type) -> Parameter {
        let of = docs.parameter(name);
        Parameter {
            name: name.to_owned(),
            c_type: types::c(ty),
            shape: self.shape(&format!("{}, {name}", docs.name), of, ty),
            attributes: of.attributes.clone(),
            doc: of.text.clone(),
        }
    }

    /// What the parameter is by its tag and its type, which have to fit.
    fn shape(&self, place: &str, docs: &ParameterDocs, ty: &Type) -> Shape {
        let is = |attribute: &str| docs.attributes.has(attribute);
        let direction = ["in", "out", "inout"].into_iter().filter(|direction| is(direction));
        let [direction] = direction.collect::<Vec<&str>>()[..] else { panic!("{place}: in, out or inout") };
        if direction == "in" {
            return self.shape_in(place, docs, ty);
        }
        let Type::Ptr(pointer) = ty else { panic!("{place}: what comes out has a place") };
        assert!(pointer.mutability.is_some(), "{place}: the place of what comes out is constant");
        let (to, kind) = (types::c(&pointer.elem), self.handle(&pointer.elem));
        assert!(kind.is_none() || is("owned") != is("borrowed"), "{place}: owned or borrowed");
        assert_eq!(direction == "inout", self.is_sized(&to), "{place}: inout is what a struct that grows is");
        match kind {
            _ if direction == "inout" => Shape::Filled,
            kind if is("array") => Shape::Array(kind),
            Some(kind) => Shape::WrittenHandle { kind, owned: is("owned") },
            None if to == "char" || to == "void" => Shape::Buffer,
            None => Shape::Written,
        }
    }

    fn shape_in(&self, place: &str, docs: &ParameterDocs, ty: &Type) -> Shape {
        let is = |attribute: &str| docs.attributes.has(attribute);
        if let Some(kind) = self.handle(ty) {
            return if is("ended") { Shape::Ended(kind) } else { Shape::Handle(kind) };
        }
        let is_callback = types::name(ty).is_some_and(|name| self.is_callback(&name));
        let Type::Ptr(pointer) = ty else {
            let is_pointer = is_callback || self.plain(&types::c(ty)).ends_with('*');
            return if is_pointer { Shape::Passed } else { Shape::Value };
        };
        let to = types::c(&pointer.elem);
        match pointer.mutability.is_some() {
            true if to == "void" => Shape::Passed,
            true => panic!("{place}: a pointer that is read is constant"),
            false if to == "char" => Shape::Text,
            false if to == "void" && is("any") => Shape::Handle("any".to_owned()),
            false => Shape::Read { sized: self.is_sized(&to), kind: self.handle(&pointer.elem) },
        }
    }

    /// Those of the driver's enumerations that parameters or members are of.
    fn add_enums_of_driver(&mut self, catalogue: &Catalogue) {
        let parameters = self.functions.iter().flat_map(|function| &function.parameters);
        let fields = self.structs.iter().flat_map(|item| &item.fields);
        let attributes = parameters.map(|item| &item.attributes).chain(fields.map(|item| &item.attributes));
        let named: BTreeSet<String> = attributes
            .flat_map(Attributes::enumerations)
            .filter(|name| !self.enums.iter().any(|known| known.name == *name))
            .map(str::to_owned)
            .collect();
        for name in named {
            let of_driver = catalogue.enums.iter().find(|known| known.name == name);
            let of_driver = of_driver.unwrap_or_else(|| panic!("there is no enumeration {name}"));
            let values = of_driver.values.iter().map(|(name, value)| Enumerator {
                name: name.clone(),
                value: i64::from(*value as i32),
                doc: String::new(),
            });
            self.enums.push(Enum { values: values.collect(), is_driver: true, doc: String::new(), name });
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

impl Field {
    /// What an attribute refers to is another member.
    fn assert_sizes_are_named(&self, all: &[Self]) {
        for size in ["bytes", "array"].into_iter().filter_map(|attribute| self.attributes.value(attribute)) {
            assert!(all.iter().any(|other| other.name == size), "{}: there is no {size}", self.name);
        }
    }
}

impl Function {
    /// A stream stands directly after the object.
    fn assert_stream_follows(&self) {
        let is_stream =
            |parameter: &Parameter| matches!(&parameter.shape, Shape::Handle(kind) if kind == "stream");
        let late = self.parameters.iter().skip(2).find(|parameter| is_stream(parameter));
        assert!(late.is_none(), "{}: the stream stands directly after the object", self.name);
    }

    /// An object is the first of the results: what else a call tells stands behind it.
    fn assert_object_leads(&self) {
        use Shape::{Array, Buffer, Filled, Written, WrittenHandle};
        let is_result =
            |shape: &&Shape| matches!(shape, Written | WrittenHandle { .. } | Filled | Buffer | Array(_));
        let results: Vec<_> =
            self.parameters.iter().map(|parameter| &parameter.shape).filter(is_result).collect();
        let is_object = |shape: &Shape| matches!(shape, WrittenHandle { .. });
        let late = results.iter().skip_while(|shape| is_object(shape)).any(|shape| is_object(shape));
        assert!(!late, "{}: the object is the first of the results", self.name);
    }

    /// What an attribute refers to is a parameter, or a number.
    fn assert_sizes_are_named(&self) {
        for parameter in &self.parameters {
            for attribute in ["nullable_if_zero", "bytes", "array"] {
                let Some(size) = parameter.attributes.value(attribute) else { continue };
                let is_known =
                    size.parse::<usize>().is_ok() || self.parameters.iter().any(|other| other.name == size);
                assert!(is_known, "{}, {}: there is no {size}", self.name, parameter.name);
            }
        }
    }
}

/// What a tag may say of a member.
const FIELD_ATTRIBUTES: &[&str] =
    &["enum()", "flags()", "names()", "example()", "nullable", "taken", "borrowed", "array()", "bytes()"];

/// The attributes of a member, and its documentation.
fn field_docs(field: &syn::Field) -> (Attributes, String) {
    let comment = Comment::of(&field.attrs);
    let Some(tag) = comment.tagged("field").next() else {
        return (Attributes::default(), comment.prose);
    };
    tag.attributes.assert_known(FIELD_ATTRIBUTES, &tag.text);
    (tag.attributes.clone(), tag.text.clone())
}

/// A struct with a body that C sees.
fn public_struct(item: &Item) -> Option<&ItemStruct> {
    let Item::Struct(item) = item else { return None };
    let has_layout = item.attrs.iter().any(|attribute| attribute.path().is_ident("repr"));
    let has_members = matches!(item.fields, Fields::Named(_));
    (is_public(&item.vis) && has_layout && has_members && !item.ident.to_string().ends_with("_s"))
        .then_some(item)
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

fn enumerator(variant: &syn::Variant) -> Enumerator {
    let (_, value) = variant.discriminant.as_ref().expect("an enumerator has a number");
    Enumerator { name: variant.ident.to_string(), value: types::number(value), doc: text(&variant.attrs) }
}

fn input(argument: &FnArg) -> (String, &Type) {
    let FnArg::Typed(argument) = argument else { panic!("a C function has no self") };
    let Pat::Ident(name) = argument.pat.as_ref() else { panic!("a C parameter has a name") };
    (name.ident.unraw().to_string(), &argument.ty)
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
