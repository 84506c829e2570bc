//! The index by task at the head of `cushim.h`.

use super::Interface;
use std::fmt::Write as _;

/// As wide as the comments of the headers.
const WIDTH: usize = 118;

/// A comment with every function, under what a program does with it.
pub(crate) fn write(interface: &Interface) -> String {
    let mut tasks: Vec<(&str, Vec<&str>)> = Vec::new();
    for function in interface.functions.iter().filter(|function| !is_of_every_kind(interface, &function.name))
    {
        match tasks.iter_mut().find(|(task, _)| *task == function.task) {
            Some((_, names)) => names.push(&function.name),
            None => tasks.push((&function.task, vec![&function.name])),
        }
    }
    let mut out = HEAD.to_owned();
    for (task, names) in tasks {
        write!(out, " *\n * To {task}:\n").unwrap();
        write_names(&names, &mut out);
    }
    out.push_str(" */\n");
    out
}

const HEAD: &str = "\
/*
 * Index by task. Every kind of handle has a cushim_KIND_destroy and a cushim_KIND_ref as well, but for nodes
 * and conditions, whose handles are always borrowed.
";

fn is_of_every_kind(interface: &Interface, name: &str) -> bool {
    let is_one = |kind: &str, verb: &str| name == format!("cushim_{kind}_{verb}");
    interface.handles.iter().any(|handle| is_one(&handle.kind, "destroy") || is_one(&handle.kind, "ref"))
}

/// The names with commas, a line as long as it may be.
fn write_names(names: &[&str], out: &mut String) {
    let mut line = String::from(" *  ");
    for (index, name) in names.iter().enumerate() {
        let comma = if index + 1 < names.len() { "," } else { "" };
        if line.len() + name.len() + 2 > WIDTH {
            writeln!(out, "{line}").unwrap();
            line = String::from(" *  ");
        }
        write!(line, " {name}{comma}").unwrap();
    }
    writeln!(out, "{line}").unwrap();
}
