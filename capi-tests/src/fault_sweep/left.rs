//! What a program got from the driver and never gave back, by the trace of its calls.

use crate::interface::text;
use serde_json::Value;
use std::collections::HashMap;

/// What the driver makes and what releases it, without the versions of the functions, where the names do not say it.
struct Kind {
    name: &'static str,
    made_by: &'static [&'static str],
    released_by: &'static [&'static str],
}

const fn kind(
    name: &'static str,
    made_by: &'static [&'static str],
    released_by: &'static [&'static str],
) -> Kind {
    Kind { name, made_by, released_by }
}

const KINDS: &[Kind] = &[
    kind("primary context of device", &["cuDevicePrimaryCtxRetain"], &["cuDevicePrimaryCtxRelease"]),
    kind(
        "memory",
        &["cuMemAlloc", "cuMemAllocPitch", "cuMemAllocManaged", "cuMemAllocAsync", "cuMemAllocFromPoolAsync"],
        &["cuMemFree", "cuMemFreeAsync"],
    ),
    kind("host memory", &["cuMemAllocHost", "cuMemHostAlloc"], &["cuMemFreeHost"]),
    kind("UserObject", &["cuUserObjectCreate"], &["cuUserObjectRelease"]),
    kind(
        "GraphExec",
        &["cuGraphInstantiate", "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams"],
        &["cuGraphExecDestroy"],
    ),
    kind("Graph", &["cuGraphCreate", "cuGraphClone", "cuStreamEndCapture"], &["cuGraphDestroy"]),
    kind("registration of", &["cuMemHostRegister"], &["cuMemHostUnregister"]),
    kind("allocation", &["cuMemCreate"], &["cuMemRelease"]),
    kind("addresses", &["cuMemAddressReserve"], &["cuMemAddressFree"]),
    // That is what becomes of a pool whose memory is not back; a program may end before it is.
    kind("MemPool", &["cuMemPoolCreate"], &["cuMemPoolDestroy", "cuMemPoolTrimTo"]),
];

/// What ends with the graph that it was made for.
const OF_A_GRAPH: &str = "GraphConditionalHandle";

/// What lets go of what graphs keep, and of what a capture has kept for its graph.
const ENDS_OF_GRAPHS: &[&str] = &["cuGraphDestroy", "cuGraphExecDestroy", "cuStreamEndCapture"];

/// The errors of captures, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` and those after it: the capture has ended all the same.
const OF_CAPTURES: std::ops::RangeInclusive<i64> = 900..=908;

/// What the function makes: `Stream` for `cuStreamCreateWithPriority`, `Library` for `cuLibraryLoadData`.
fn made_by(function: &str) -> Option<&str> {
    let listed = KINDS.iter().find(|kind| kind.made_by.contains(&function));
    let noun = listed.map(|kind| kind.name).or_else(|| before(function, &["Create", "Load"]));
    // To load a function makes none.
    noun.filter(|noun| ![OF_A_GRAPH, "Func"].contains(noun))
}

/// What the function releases, as [`made_by`] names it.
fn released_by(function: &str) -> Option<&str> {
    let listed = KINDS.iter().find(|kind| kind.released_by.contains(&function));
    listed.map(|kind| kind.name).or_else(|| before(function, &["Destroy", "Unload"]))
}

/// The noun between `cu` and one of the verbs.
fn before<'a>(function: &'a str, verbs: &[&str]) -> Option<&'a str> {
    let rest = function.strip_prefix("cu")?;
    let end = verbs.iter().find_map(|verb| rest.find(verb))?;
    Some(&rest[..end]).filter(|noun| !noun.is_empty())
}

/// Something of the driver's.
struct Thing {
    kind: String,
    handle: String,
    /// With which it ends.
    context: Option<String>,
}

impl Thing {
    /// Whether it may be what nodes of a graph use.
    fn may_be_kept(&self) -> bool {
        !matches!(&*self.kind, "Graph" | "GraphExec" | "UserObject")
    }
}

/// Whether the driver refused to end a graph, an exec or a capture.
fn keeps_on(call: &Value) -> bool {
    let refusal = call["result"].as_i64().filter(|result| *result != 0 && !OF_CAPTURES.contains(result));
    refusal.is_some() && ENDS_OF_GRAPHS.contains(&text(call, "function"))
}

/// `CUDA_ERROR_DEINITIALIZED`.
const DEINITIALIZED: i32 = 4;

/// `CUDA_ERROR_ILLEGAL_ADDRESS`, by which contexts are corrupted here.
const ILLEGAL_ADDRESS: i32 = 700;

/// What happened up to some call.
#[derive(Default)]
struct Story {
    held: Vec<Thing>,
    /// The current contexts of each thread, the last on top.
    current: HashMap<String, Vec<String>>,
    /// By device.
    primary: HashMap<String, String>,
    /// Of each stream.
    contexts: HashMap<String, String>,
    /// Streams of which a body of a conditional node is captured.
    bodies: Vec<String>,
}

/// What was made and never released, nor tried to be, but for the addresses that are `excused`.
///
/// A program that stops in the middle lets go of the rest as it exits, when the driver has ended. Memory is not even tried to be
/// freed then: whether its stream captures, or which stream it takes instead, is asked first. Memory of a context that was
/// corrupted ends with the process. A graph or an exec that the driver refused to destroy goes on keeping what its nodes use, and so
/// does a capture that it refused to end, or that had to be left as it was with its stream and the graph of its node, because it
/// was the invalid one of a body; only the library knows what that is. So does a graph that is excused.
pub(super) fn left(calls: &[Value], excused: &[&str]) -> Vec<String> {
    let mut story = Story::default();
    calls.iter().for_each(|call| story.go_on(call));
    let has_ended = calls.iter().any(|call| call["result"] == DEINITIALIZED);
    let held = story.held.iter().filter(|thing| !excused.contains(&thing.handle.as_str()));
    let is_corrupted = calls.iter().any(|call| call["result"] == ILLEGAL_ADDRESS);
    let held = held.filter(|thing| !((has_ended || is_corrupted) && thing.kind == "memory"));
    let is_lent = |thing: &Thing| thing.kind == "Graph" && excused.contains(&thing.handle.as_str());
    let keeps_on = calls.iter().any(keeps_on) || !story.bodies.is_empty() || story.held.iter().any(is_lent);
    let stays = |thing: &Thing| keeps_on && thing.may_be_kept() || story.bodies.contains(&thing.handle);
    let held = held.filter(|thing| !stays(thing));
    held.map(|thing| format!("{} {}", thing.kind, thing.handle)).collect()
}

impl Story {
    fn go_on(&mut self, call: &Value) {
        // Without the version, and the mark of an ABI of per-thread streams.
        let function = text(call, "function").split('_').next().unwrap_or_default();
        let succeeded = call["result"] == 0;
        // The graph that was captured is the body of a node, or has to stay with a body that is still captured.
        let is_body = function == "cuStreamEndCapture" && !self.bodies.is_empty();
        if succeeded {
            self.follow(call, function);
        }
        if let Some(kind) = made_by(function).filter(|_| succeeded && !is_body) {
            self.make(kind, call);
        }
        // The graph releases it.
        if function == "cuGraphRetainUserObject" && succeeded {
            self.release("UserObject", text(&call["arguments"], "object"));
        }
        // What could not be released was tried to be.
        if let Some(kind) = released_by(function) {
            self.release(kind, &first(call));
        }
    }

    /// What the call does to the thread's current contexts, and to all that is in a context.
    fn follow(&mut self, call: &Value, function: &str) {
        let stack = self.current.entry(call["thread"].to_string()).or_default();
        match function {
            "cuCtxCreate" => stack.push(made(call)),
            "cuCtxPushCurrent" => stack.push(first(call)),
            "cuCtxPopCurrent" => drop(stack.pop()),
            "cuCtxSetCurrent" => {
                stack.pop();
                stack.push(first(call));
            }
            "cuStreamBeginCaptureToGraph" => self.bodies.push(first(call)),
            "cuStreamEndCapture" => self.bodies.retain(|stream| *stream != first(call)),
            "cuDevicePrimaryCtxRetain" => drop(self.primary.insert(device(call), made(call))),
            "cuDevicePrimaryCtxReset" => {
                if let Some(context) = self.primary.get(&device(call)).cloned() {
                    self.end_with(&context);
                }
            }
            _ => {}
        }
    }

    fn make(&mut self, kind: &str, call: &Value) {
        let (handle, context) = match kind {
            "primary context of device" => (device(call), None),
            "Ctx" | "MemPool" | "Library" | "allocation" | "addresses" => (made(call), None),
            "registration of" => (first(call), self.current(call)),
            _ => (made(call), self.context(call)),
        };
        if let ("Stream", Some(context)) = (kind, &context) {
            self.contexts.insert(handle.clone(), context.clone());
        }
        self.held.push(Thing { kind: kind.to_owned(), handle, context });
    }

    fn release(&mut self, kind: &str, handle: &str) {
        let is_it = |thing: &Thing| thing.kind == kind && thing.handle == handle;
        self.held.iter().position(is_it).map(|at| self.held.remove(at));
        if kind == "Ctx" {
            self.end_with(handle);
        }
    }

    fn end_with(&mut self, context: &str) {
        self.held.retain(|thing| thing.context.as_deref() != Some(context));
    }

    /// That of the stream which the call names, else the current one.
    fn context(&self, call: &Value) -> Option<String> {
        let of_stream = call["arguments"]["hStream"].as_str().and_then(|stream| self.contexts.get(stream));
        of_stream.cloned().or_else(|| self.current(call))
    }

    fn current(&self, call: &Value) -> Option<String> {
        self.current.get(&call["thread"].to_string())?.last().cloned()
    }
}

fn made(call: &Value) -> String {
    text(call, "made").to_owned()
}

fn first(call: &Value) -> String {
    let first = call["arguments"].as_object().and_then(|arguments| arguments.values().next());
    first.map_or_else(String::new, |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn device(call: &Value) -> String {
    call["arguments"]["dev"].to_string()
}
