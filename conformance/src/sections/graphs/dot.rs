//! Pictures of graphs: what their text has in it, of what does not differ from run to run.

use super::scene::Scene;
use super::work::{EVERY, Work};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, yes};
use crate::transcript::Lines;
use cushim::driver::sys::CUgraph;
use std::ffi::CString;
use std::path::PathBuf;
use std::ptr::null;

pub(super) const SECTION: Section = Section { name: "graph_dot", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[flags, types, |t, s| ask(t, s, PATHS)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// A file that no other process uses, nor another question.
fn file() -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::env::temp_dir().join(format!("conformance-{}-{number}.dot", std::process::id()))
}

/// The answer, and the text if there is one.
fn print(s: &Scene, graph: CUgraph, flags: u32) -> (Answer, String) {
    let path = file();
    let Ok(name) = CString::new(path.to_string_lossy().as_bytes()) else {
        return ("cannot ask: a 0 in a path".into(), String::new());
    };
    let answer = call!(s.cu, cuGraphDebugDotPrint_11030(graph, name.as_ptr(), flags));
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    (answer, text)
}

/// What a text is like: whether it is a graph, arrows, longer than another.
fn like(text: &str) -> String {
    let arrows = text.matches("->").count();
    format!(
        "digraph {}, arrows {arrows}, ends {}",
        yes(text.contains("digraph")),
        yes(text.trim_end().ends_with('}'))
    )
}

/// A kernel, a memset, a copy.
fn three(s: &Scene) -> Given<CUgraph> {
    s.graph_of(&[s.store(0, 1), s.fill(1), s.copy()])
}

fn flags(t: &mut Lines, s: &Scene) {
    let single = (0..16).map(|bit| 1 << bit);
    for flags in [0, u32::MAX, 1 << 16, 1 << 20, 1 << 31].into_iter().chain(single) {
        t.line(&format!("flags {flags:#x}"), || -> Asked {
            let (answer, text) = print(s, three(s)?, flags);
            Ok(Answer::all([answer, like(&text).into()]))
        });
    }
    t.line("more is said with flag 1", || -> Asked {
        let graph = three(s)?;
        let (answer, short) = print(s, graph, 0);
        Ok(answer.then(|| yes(print(s, graph, 1).1.len() > short.len())))
    });
    t.line("the kernel's name is there without flags; with flag 1", || -> Asked {
        let graph = three(s)?;
        let (answer, short) = print(s, graph, 0);
        let (_, long) = print(s, graph, 1);
        Ok(answer.then(|| format!("{}; {}", yes(short.contains("store")), yes(long.contains("store")))))
    });
    t.line("the same graph twice: the same text", || -> Asked {
        let graph = three(s)?;
        let (answer, first) = print(s, graph, 1);
        Ok(answer.then(|| yes(print(s, graph, 1).1 == first)))
    });
}

/// Words for the types.
const WORDS: &[&str] = &[
    "EMPTY",
    "KERNEL",
    "MEMCPY",
    "MEMSET",
    "HOST",
    "SUBGRAPH",
    "CHILD",
    "EVENT_RECORD",
    "EVENT_WAIT",
    "WAIT_EVENT",
    "BATCH_MEM_OP",
    "MEM_ALLOC",
    "MEM_FREE",
    "CONDITIONAL",
    "IF",
    "subgraph",
];

fn types(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("{name}: answer, its words"), || -> Asked {
            let graph = s.graph()?;
            s.node(graph, &[], work(s, graph)?)?;
            let (answer, text) = print(s, graph, 1);
            let words: Vec<&str> = WORDS.iter().copied().filter(|word| text.contains(word)).collect();
            Ok(Answer::all([answer, words.join(" ").into()]))
        });
    }
    t.line("no nodes", || -> Asked {
        let (answer, text) = print(s, s.graph()?, 0);
        Ok(Answer::all([answer, like(&text).into()]))
    });
    t.line("four nodes, three edges, a child", || -> Asked {
        let child = s.graph_of(&[s.store(0, 1), s.fill(1)])?;
        let (answer, text) = print(s, s.graph_of(&[s.copy(), Work::Child(child), Work::Empty])?, 0);
        Ok(Answer::all([answer, like(&text).into()]))
    });
}

const PATHS: &[Question] = &[
    ("debug dot bad dir", |s| {
        let path = c"/nonexistent/folder/graph.dot";
        Ok(call!(s.cu, cuGraphDebugDotPrint_11030(three(s)?, path.as_ptr(), 0)))
    }),
    ("path that is a folder", |s| {
        Ok(call!(s.cu, cuGraphDebugDotPrint_11030(three(s)?, c"/tmp".as_ptr(), 0)))
    }),
    ("path of no letters", |s| Ok(call!(s.cu, cuGraphDebugDotPrint_11030(three(s)?, c"".as_ptr(), 0)))),
    ("path NULL", |s| Ok(call!(s.cu, cuGraphDebugDotPrint_11030(three(s)?, null(), 0)))),
    ("graph NULL", |s| Ok(print(s, std::ptr::null_mut(), 0).0)),
    ("a body", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 1)?;
        let conditional = s.conditional(condition, cushim::driver::sys::CU_GRAPH_COND_TYPE_IF, 1);
        let body = s.branch(graph, &[], conditional)?.1[0];
        s.node(body, &[], s.store(0, 1))?;
        let (answer, text) = print(s, body, 0);
        Ok(Answer::all([answer, like(&text).into()]))
    }),
    ("an inner graph", |s| {
        let outer = s.graph_of(&[Work::Child(three(s)?)])?;
        let (answer, text) = print(s, s.inner(s.first(outer)?)?, 0);
        Ok(Answer::all([answer, like(&text).into()]))
    }),
    ("a file that was there is replaced", |s| {
        let path = file();
        if std::fs::write(&path, "before ".repeat(10_000)).is_err() {
            return Ok("cannot ask: no temporary file".into());
        }
        let Ok(name) = CString::new(path.to_string_lossy().as_bytes()) else {
            return Ok("cannot ask: a 0 in a path".into());
        };
        let answer = call!(s.cu, cuGraphDebugDotPrint_11030(three(s)?, name.as_ptr(), 0));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        Ok(answer.then(|| yes(!text.contains("before"))))
    }),
];
