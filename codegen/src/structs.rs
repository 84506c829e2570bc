//! Rebuilds nested structs and unions from the flattened members of the catalogue.
//!
//! Members that start at the same offset share their bytes: they are a union. Where they share a struct with others the
//! union is anonymous.

use crate::catalogue::{Catalogue, Field, Struct};

/// A member, with what it contains where it is a nested struct or union.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) ty: String,
    /// Number of elements where the member is an array.
    pub(crate) count: Option<u64>,
    pub(crate) inner: Option<Body>,
}

/// The members of a struct or union.
pub(crate) enum Body {
    Struct(Vec<Part>),
    Union(Vec<Member>),
}

/// A piece of a struct: one member, or several that share their bytes.
pub(crate) enum Part {
    One(Member),
    Shared { offset: u64, members: Vec<Member> },
}

/// The members of `item`, nested as in C.
pub(crate) fn body(catalogue: &Catalogue, item: &Struct) -> Body {
    nest(catalogue, &item.fields)
}

/// The structs, each after those that it contains or points to.
pub(crate) fn in_order(catalogue: &Catalogue) -> Vec<&Struct> {
    let mut done: Vec<&Struct> = Vec::new();
    for item in &catalogue.structs {
        place(catalogue, item, &mut done);
    }
    done
}

fn place<'a>(catalogue: &'a Catalogue, item: &'a Struct, done: &mut Vec<&'a Struct>) {
    if done.iter().any(|d| d.name == item.name) {
        return;
    }
    for field in &item.fields {
        let name = field.ty.trim_start_matches("const ").trim_end_matches(['*', ' ']);
        if let Some(needed) = struct_named(catalogue, name).filter(|needed| needed.name != item.name) {
            place(catalogue, needed, done);
        }
    }
    done.push(item);
}

/// The struct that a name stands for, directly or through aliases.
fn struct_named<'a>(catalogue: &'a Catalogue, name: &str) -> Option<&'a Struct> {
    match catalogue.aliases.iter().find(|a| a.name == name) {
        Some(alias) => struct_named(catalogue, &alias.target),
        None => catalogue.structs.iter().find(|s| s.name == name),
    }
}

fn nest(catalogue: &Catalogue, fields: &[Field]) -> Body {
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = fields;
    while let Some((first, _)) = rest.split_first() {
        let run =
            rest.iter().take_while(|f| f.offset == first.offset || is_inside(rest, f, first.offset)).count();
        let members = members(catalogue, &rest[..run]);
        parts.push(match <[Member; 1]>::try_from(members) {
            Ok([member]) => Part::One(member),
            Err(members) => Part::Shared { offset: first.offset, members },
        });
        rest = &rest[run..];
    }
    match <[Part; 1]>::try_from(parts) {
        Ok([Part::Shared { members, .. }]) => Body::Union(members),
        Ok([part]) => Body::Struct(vec![part]),
        Err(parts) => Body::Struct(parts),
    }
}

/// Whether `field` is nested in a member that starts at `offset`.
fn is_inside(fields: &[Field], field: &Field, offset: u64) -> bool {
    field
        .path
        .split_once('.')
        .is_some_and(|(outer, _)| fields.iter().any(|f| f.path == outer && f.offset == offset))
}

fn members(catalogue: &Catalogue, fields: &[Field]) -> Vec<Member> {
    fields
        .iter()
        .filter(|f| !f.path.contains('.'))
        .map(|outer| {
            let prefix = format!("{}.", outer.path);
            let inner: Vec<Field> = fields
                .iter()
                .filter_map(|f| {
                    f.path.strip_prefix(&prefix).map(|path| Field { path: path.to_owned(), ..f.clone() })
                })
                .collect();
            let element = if inner.is_empty() { size_of(catalogue, &outer.ty) } else { outer.size };
            // One element of a struct that has grown since.
            let grown = outer.size < element && struct_named(catalogue, &outer.ty).is_some();
            let element = if grown { outer.size } else { element };
            assert!(
                element > 0 && outer.size % element == 0,
                "{}: {} bytes of {}",
                outer.path,
                outer.size,
                outer.ty
            );
            Member {
                name: outer.path.clone(),
                ty: outer.ty.clone(),
                count: (outer.size != element).then_some(outer.size / element),
                inner: (!inner.is_empty()).then(|| nest(catalogue, &inner)),
            }
        })
        .collect()
}

/// Bytes of one value of the C type, on a 64-bit machine.
fn size_of(catalogue: &Catalogue, ty: &str) -> u64 {
    if ty.contains('*') {
        return 8;
    }
    match ty {
        "char" | "unsigned char" => return 1,
        "unsigned short" => return 2,
        "int" | "unsigned int" | "float" | "cuuint32_t" => return 4,
        "long long" | "unsigned long long" | "size_t" | "cuuint64_t" => return 8,
        _ => {}
    }
    if let Some(alias) = catalogue.aliases.iter().find(|a| a.name == ty) {
        return size_of(catalogue, &alias.target);
    }
    if let Some(item) = catalogue.structs.iter().find(|s| s.name == ty) {
        return item.size;
    }
    if catalogue.enums.iter().any(|e| e.name == ty) {
        return 4;
    }
    let pointer =
        catalogue.handles.iter().any(|h| h.name == ty) || catalogue.callbacks.iter().any(|c| c.name == ty);
    assert!(pointer, "the catalogue does not declare {ty}");
    8
}
