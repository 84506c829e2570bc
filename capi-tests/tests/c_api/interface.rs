//! `cushim.json` says what the headers say, and describes every function that they declare.

use capi_tests::build::Build;
use capi_tests::interface::{self, list, text};
use capi_tests::libraries::kept_library;
use capi_tests::matrix::{ONE_VERSION, standards};
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{header, repository, run, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn it_compiles_everywhere() {
    let sources = ["headers/objects", "objects/helpers"];
    let all = sources.iter().flat_map(|source| standards().into_iter().map(move |how| (source, how)));
    let builds =
        all.map(|(source, (compiler, standard))| Build::new(source).compiler(compiler).standard(standard));
    for_each(builds, Build::check);
}

#[test]
fn it_runs_without_a_driver() {
    let program = Build::new("headers/objects").option("-fno-strict-aliasing").program();
    let program = program.expect("it compiles");
    // The familiar names go to a driver, of which "none" has none.
    let failure = run::Run::new(program, run::Driver::None).output().expect_err("cuInit is absent");
    assert!(failure.contains("exit status: 1"), "{failure}");
}

/// A binding for Python that knows nothing else: `python/binding.py`.
#[test]
fn a_binding_made_of_it_launches_a_kernel() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|answer| answer.status.success()) {
        return skip(format_args!("no python3"));
    }
    let (library, interface) = (kept_library(), repository("include/cushim.json"));
    let ptx = repository("kernels/ptx/nvrtc-12.2-compute_70/saxpy.ptx");
    for_each(["12.4", ONE_VERSION], |version| {
        let run = Run::new("python3", Driver::Shell(version)).arg(repository("capi-tests/python/binding.py"));
        let said = run.arg(&library).arg(&interface).arg(&ptx).output()?;
        if said == "0 of 1000 numbers are wrong\n" { Ok(()) } else { Err(said) }
    });
}

#[test]
fn it_has_every_function() {
    let interface = interface::read();
    let described: BTreeSet<String> =
        list(&interface, "functions").iter().map(|function| text(function, "name").to_owned()).collect();
    assert_eq!(described, header::functions(&(header::text() + &header::objects())));
}

/// What a binding, and the tests that are generated, count on.
#[test]
fn every_function_is_described() {
    let interface = interface::read();
    for function in list(&interface, "functions") {
        assert!(describes(&interface, function), "{function:#}");
    }
}

/// A binding that reads nothing but this file, or `cushim.cdef.h`, has the driver's constants that a member or a parameter wants.
#[test]
fn it_has_the_constants_of_the_driver_that_it_speaks_of() {
    let interface = interface::read();
    let values = list(&interface, "enums").iter().flat_map(|item| list(item, "values"));
    let known: Vec<&str> = values.map(|value| text(value, "name")).collect();
    let described =
        [("structs", "fields"), ("functions", "parameters")].into_iter().flat_map(|(all, parts)| {
            list(&interface, all)
                .iter()
                .flat_map(move |item| list(item, parts).iter().map(move |part| (item, part)))
        });
    let absent: Vec<String> = described
        .flat_map(|(item, part)| text(part, "doc").split('`').map(move |word| (item, part, word)))
        .filter(|(.., word)| {
            word.starts_with("CU_")
                && word.chars().all(|c| c.is_ascii_uppercase() || "_*0123456789".contains(c))
        })
        // An attribute of pointers, which the member answers.
        .filter(|(.., word)| *word != "CU_POINTER_ATTRIBUTE_SYNC_MEMOPS")
        .filter(|(.., word)| match word.strip_suffix('*') {
            Some(beginning) => !known.iter().any(|name| name.starts_with(beginning)),
            None => !known.contains(word),
        })
        .map(|(item, part, word)| format!("{}, {}: {word}", text(item, "name"), text(part, "name")))
        .collect();
    assert!(absent.is_empty(), "{absent:#?}");
}

/// The page names each member, and no other: programs that read the file count on both.
#[test]
fn every_member_is_on_its_page() {
    let page = std::fs::read_to_string(repository("docs/interface.md")).expect("the page is there");
    let (members, _) = page.split_once("## Tags").expect("the page has tags");
    let named: BTreeSet<&str> = members
        .split("| member |")
        .skip(1)
        .flat_map(|table| table.lines().skip(2).map_while(|row| row.strip_prefix("| `")))
        .filter_map(|row| row.split_once('`'))
        .map(|(member, _)| member)
        .collect();
    let interface = interface::read();
    let functions = list(&interface, "functions");
    let parameters = functions.iter().flat_map(|function| list(function, "parameters"));
    let keys = |item: &Value| item.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let members_of_structs = list(&interface, "structs").iter().flat_map(|item| list(item, "fields"));
    let all = [&interface].into_iter().chain(functions).chain(parameters).chain(members_of_structs);
    let there: BTreeSet<String> = all.flat_map(keys).collect();
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    let unnamed: Vec<_> =
        there.difference(&named).filter(|name| !members.contains(&format!("`{name}`"))).collect();
    let absent: Vec<_> = named.difference(&there).collect();
    assert!(
        unnamed.is_empty() && absent.is_empty(),
        "not on the page: {unnamed:?}; not in the file: {absent:?}"
    );
}

/// What would disturb a capture is refused, and says so: `graphs/recording` and `graphs/builders` see it.
#[test]
fn what_a_capture_refuses_is_listed() {
    let interface = interface::read();
    let refused = |name: &str| {
        let asks = ["query", "synchronize", "synchronize_within"].map(|what| format!("_{what}"));
        let of_work = ["cushim_stream", "cushim_event"]
            .iter()
            .any(|kind| name.strip_prefix(kind).is_some_and(|rest| asks.iter().any(|what| what == rest)));
        of_work
            || matches!(name, "cushim_context_synchronize" | "cushim_event_elapsed" | "cushim_exec_upload")
    };
    let all: Vec<_> =
        list(&interface, "functions").iter().filter(|function| refused(text(function, "name"))).collect();
    assert_eq!(all.len(), 9);
    for function in all {
        let lists = list(function, "errors").iter().any(|error| error == "CUSHIM_ERROR_INVALID_ARGUMENT");
        assert!(lists && text(function, "doc").len() > 10, "{function:#}");
        let words = function.to_string();
        assert!(words.contains("captur"), "{words}");
    }
}

fn describes(interface: &Value, function: &Value) -> bool {
    let statuses: Vec<&Value> =
        list(interface, "enums").iter().flat_map(|item| list(item, "values")).collect();
    let known = |error: &Value| {
        let name = error.as_str().unwrap_or_default();
        name.starts_with("CUDA_ERROR_") || statuses.iter().any(|status| text(status, "name") == name)
    };
    let is_status = text(&function["returns"], "type") == "cushim_status";
    let has = |name: &str| list(function, "errors").iter().any(|error| error == name);
    let parameters = list(function, "parameters");
    let takes_handle =
        parameters.iter().any(|p| matches!(text(p, "role"), "handle" | "ended") && p["nullable"] == false);
    list(function, "errors").iter().all(known)
        && !text(function, "doc").is_empty()
        && !text(function, "threads").is_empty()
        && parameters.iter().all(|parameter| !text(parameter, "doc").is_empty())
        && (!is_status || !list(function, "errors").is_empty())
        && (!is_status || !takes_handle || has("CUSHIM_ERROR_INVALID_HANDLE"))
}
