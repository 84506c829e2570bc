//! The errors of a function: those that follow from what it is, by rules that the header states once, and those that its
//! documentation names.

use super::docs::{Callback, Reach};
use super::{Function, Interface, Parameter, Shape};

/// All statuses of cushim's that the function returns, and those of the driver's that its documentation names.
pub(super) fn of(interface: &Interface, function: &Function) -> Vec<String> {
    let is_due = |rule: Rule| function.result == "cushim_status" && rule(interface, function);
    let derived = RULES.iter().filter(|(_, rule)| is_due(*rule)).map(|(error, _)| (*error).to_owned());
    let mut all: Vec<String> = derived.collect();
    let named = function.docs.named_errors();
    let others: Vec<String> = named.into_iter().filter(|error| !all.contains(error)).collect();
    all.extend(others);
    all
}

/// Whether other statuses of the driver's may come back.
pub(super) fn has_those_of_the_driver(function: &Function) -> bool {
    function.docs.driver.is_some()
}

type Rule = fn(&Interface, &Function) -> bool;

const RULES: &[(&str, Rule)] = &[
    ("CUSHIM_ERROR_INVALID_HANDLE", takes_a_handle),
    ("CUSHIM_ERROR_STREAM_REQUIRED", requires_a_stream),
    ("CUSHIM_ERROR_ALREADY_DESTROYED", ends_a_handle),
    ("CUSHIM_ERROR_INVALID_ARGUMENT", checks_an_argument),
    ("CUSHIM_ERROR_UNSUPPORTED", needs_a_driver),
    ("CUSHIM_ERROR_IN_CALLBACK", is_refused_in_callbacks),
    ("CUSHIM_ERROR_FORKED", is_refused_after_a_fork),
];

fn takes_a_handle(_: &Interface, function: &Function) -> bool {
    let is_checked = |parameter: &Parameter| match &parameter.shape {
        Shape::Handle(kind) => kind != "any" || !parameter.is_nullable(),
        Shape::Ended(_) => true,
        _ => false,
    };
    function.parameters.iter().any(is_checked)
}

fn requires_a_stream(_: &Interface, function: &Function) -> bool {
    let is_required = |parameter: &Parameter| {
        matches!(&parameter.shape, Shape::Handle(kind) if kind == "stream") && !parameter.is_nullable()
    };
    function.parameters.iter().any(is_required)
}

fn ends_a_handle(_: &Interface, function: &Function) -> bool {
    function.parameters.iter().any(|parameter| matches!(parameter.shape, Shape::Ended(_)))
}

/// A pointer that is followed, and so must be aligned and not lead to a text without end; one that must not be NULL; or an enumerator.
fn checks_an_argument(interface: &Interface, function: &Function) -> bool {
    let is_checked = |parameter: &Parameter| match parameter.shape {
        Shape::Handle(_) | Shape::Ended(_) => false,
        Shape::Value => {
            let name = parameter.attributes.value("enum");
            name.is_some_and(|name| {
                interface.enums.iter().any(|known| known.name == name && !known.is_driver)
            })
        }
        Shape::Passed => !parameter.may_be_null(),
        _ => true,
    };
    function.parameters.iter().any(is_checked)
}

/// The driver "none" has no function to call, and an older driver not this one, unless there is no object to call it on there either.
fn needs_a_driver(interface: &Interface, function: &Function) -> bool {
    let needed = match &function.docs.driver {
        None | Some(Reach::None) => return false,
        Some(reach) => reach.version(),
    };
    let has_been_before = |kind: &str| {
        interface.handles.iter().any(|handle| handle.kind == kind && handle.driver.version() < needed)
    };
    function.parameters.iter().all(|parameter| match &parameter.shape {
        Shape::Handle(kind) if !parameter.is_nullable() => has_been_before(kind),
        Shape::Ended(kind) => has_been_before(kind),
        _ => true,
    })
}

fn is_refused_in_callbacks(_: &Interface, function: &Function) -> bool {
    match function.docs.callback {
        Some(callback) => callback == Callback::Refused,
        None => function.docs.driver.is_some(),
    }
}

fn is_refused_after_a_fork(_: &Interface, function: &Function) -> bool {
    !function.docs.fork_allowed
}
