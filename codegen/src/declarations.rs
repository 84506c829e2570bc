//! Declarations in C of what parsed files export, by way of cbindgen.

use crate::{c90, tags};
use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, Language, Style};
use quote::ToTokens as _;
use syn::{Attribute, Item};

/// Declares in C what the files export.
pub(crate) fn write<'a>(files: impl IntoIterator<Item = &'a syn::File>) -> String {
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let mut config = configuration();
    let mut builder = Builder::new();
    for (index, file) in files.into_iter().enumerate() {
        // Types that no function names: what a pointer of no type means.
        config.export.include.extend(file.items.iter().filter_map(type_name));
        let path = folder.path().join(format!("source_{index}.rs"));
        std::fs::write(&path, for_c(file).to_token_stream().to_string()).expect("the folder can be written");
        builder = builder.with_src(path);
    }
    let mut text = Vec::new();
    builder.with_config(config).generate().expect("cbindgen reads the files").write(&mut text);
    c90::of(&String::from_utf8(text).expect("cbindgen writes UTF-8"))
}

fn configuration() -> Config {
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        cpp_compat: true,
        documentation_style: DocumentationStyle::C99,
        line_length: 118,
        tab_width: 2,
        no_includes: true,
        usize_is_size_t: true,
        enumeration: EnumConfig { enum_class: false, ..EnumConfig::default() },
        ..Config::default()
    };
    config.export.rename.insert("Table".to_owned(), "cushim_driver_table".to_owned());
    config
}

/// The name of a type with a body that C sees. What stands behind a handle has none in C either.
fn type_name(item: &Item) -> Option<String> {
    let (name, visibility) = match item {
        Item::Enum(item) => (&item.ident, &item.vis),
        Item::Struct(item) => (&item.ident, &item.vis),
        _ => return None,
    };
    let name = name.to_string();
    (matches!(visibility, syn::Visibility::Public(_)) && !name.ends_with("_s")).then_some(name)
}

/// The file with the comments that C gets: without what only concerns Rust, or tests.
fn for_c(file: &syn::File) -> syn::File {
    let mut file = file.clone();
    for item in &mut file.items {
        match item {
            Item::Fn(item) => document(&mut item.attrs),
            Item::Type(item) => document(&mut item.attrs),
            Item::Struct(item) => {
                document(&mut item.attrs);
                item.fields.iter_mut().for_each(|field| document(&mut field.attrs));
            }
            _ => {}
        }
    }
    file
}

fn document(attributes: &mut Vec<Attribute>) {
    let comment = tags::shown(&tags::lines(attributes));
    attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    for line in comment {
        let line = if line.is_empty() { line } else { format!(" {line}") };
        attributes.push(syn::parse_quote!(#[doc = #line]));
    }
}
