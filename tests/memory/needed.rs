//! Which calls are made with a current context and which without: those that need one, as driver 580 has shown, never go
//! without it, and none is made current for calls that need none.

use crate::current::everything;
use crate::{alone, context, driver, stream};
use cushim::driver::sys;
use cushim::{Context, Device, Event, EventOptions, Stream};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// Calls that tell more where a context is current, though they do not fail where none is.
const BETTER_WITH_ONE: &[&str] = &["cuPointerGetAttributes"];

/// Calls that need one where there are several devices: without, the driver crashes on memory of another device's pool
/// (section `two_devices` of the answers).
const NEEDED_BETWEEN_DEVICES: &[&str] =
    &["cuMemcpyAsync", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemcpy3DAsync"];

/// Calls of contexts, streams and events, on this thread.
fn orchestration(context: &Context) {
    let created = stream(context);
    let mut timed = EventOptions::default();
    timed.timing = true;
    for stream in [created, Stream::legacy(context), Stream::per_thread(context)] {
        let (start, end) = (Event::create(context, &timed).unwrap(), Event::create(context, &timed).unwrap());
        start.record(&stream).unwrap();
        stream.launch_host_function(|| ()).unwrap();
        stream.wait_event(&start).unwrap();
        end.record(&stream).unwrap();
        end.synchronize().unwrap();
        assert!(end.query().unwrap() && end.synchronize_within(Duration::from_secs(9)).unwrap());
        end.elapsed_since(&start).unwrap();
        stream.wait_stream(&Stream::per_thread(context)).unwrap();
        stream.query().unwrap();
        stream.synchronize().unwrap();
        assert!(stream.synchronize_within(Duration::from_secs(9)).unwrap());
        stream.is_non_blocking().unwrap();
        stream.priority().unwrap();
        stream.id().unwrap();
    }
    context.flags().unwrap();
    context.id().unwrap();
    context.stream_priorities().unwrap();
    let limit = context.limit(sys::CUlimit(0)).unwrap();
    context.set_limit(sys::CUlimit(0), limit).unwrap();
    context.synchronize().unwrap();
    context.pointer_attributes(4096).unwrap();
}

/// What a call does with no current context, from the answers of driver 580.
struct Needs {
    /// By situation: a function's name, perhaps with the stream.
    answers: HashMap<String, String>,
    /// The name that programs know a function by, of the one that is exported.
    bases: HashMap<String, String>,
}

#[derive(PartialEq, Debug)]
enum Need {
    Context,
    None,
    /// Nobody has asked.
    Unknown,
}

impl Needs {
    fn read() -> Self {
        let mut answers = HashMap::new();
        let mut section = String::new();
        for line in include_str!("../../conformance/expect/580.txt").lines() {
            if line.starts_with('[') {
                line.clone_into(&mut section);
            } else if section == "[needctx]" || (section == "[noctx]" && line.starts_with("  cuCtx")) {
                let (situation, answer) = line.trim_start().split_once("  ").expect("two columns");
                let situation = situation.trim_start_matches("no current context: ");
                answers.insert(situation.to_owned(), answer.trim().to_owned());
            }
        }
        let columns = include_str!("../../catalogue/abis.csv")
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect::<Vec<_>>());
        let bases = columns.map(|column| (column[2].to_owned(), column[0].to_owned())).collect();
        Self { answers, bases }
    }

    fn of(&self, call: &serde_json::Value) -> Need {
        let name = self.base(call);
        if NEEDED_BETWEEN_DEVICES.contains(&name) {
            return Need::Context;
        }
        let stream = ["hStream", "stream"].iter().find_map(|name| call["arguments"][name].as_str());
        let is_default = stream.is_some_and(|stream| matches!(stream, "0x0" | "0x1" | "0x2"));
        let situations = match is_default {
            true => vec![format!("{name} on legacy"), format!("{name} of legacy")],
            false => vec![name.to_owned()],
        };
        match situations.iter().find_map(|situation| self.answers.get(situation)).map(String::as_str) {
            Some("CUDA_ERROR_INVALID_CONTEXT") => Need::Context,
            Some("CUDA_SUCCESS") if !BETTER_WITH_ONE.contains(&name) => Need::None,
            _ => Need::Unknown,
        }
    }

    fn base<'a>(&'a self, call: &'a serde_json::Value) -> &'a str {
        let exported = call["function"].as_str().expect("a call has a name");
        self.bases.get(exported).map_or(exported, String::as_str)
    }
}

/// The complaints about the calls of one thread, in their order, and the calls that were seen to need a context.
fn judge(calls: &[serde_json::Value], needs: &Needs) -> (Vec<String>, BTreeSet<String>) {
    let (mut complaints, mut seen) = (Vec::new(), BTreeSet::new());
    let mut current = "0x0".to_owned();
    // What has been called since a context was made current, if one was.
    let mut inside: Option<Vec<String>> = None;
    for call in calls {
        let name = needs.base(call);
        if name == "cuCtxSetCurrent" {
            call["arguments"]["ctx"].as_str().expect("a context").clone_into(&mut current);
            match (current.as_str(), inside.take()) {
                ("0x0", Some(calls)) => {
                    complaints.push(format!("a context was made current for nothing: {calls:?}"));
                }
                ("0x0", None) => {}
                _ => inside = Some(Vec::new()),
            }
            continue;
        }
        match name {
            "cuCtxCreate" => "the new one".clone_into(&mut current),
            "cuCtxPopCurrent" => {
                "0x0".clone_into(&mut current);
                continue;
            }
            _ => {}
        }
        let need = needs.of(call);
        if need == Need::Context {
            seen.insert(name.to_owned());
            if current == "0x0" {
                complaints.push(format!("{name} was called with no current context: {call}"));
            }
        }
        match (&mut inside, need) {
            (Some(calls), Need::None) => calls.push(name.to_owned()),
            (_, Need::None) => {}
            _ if name == "cuCtxGetCurrent" => {}
            _ => inside = None,
        }
    }
    (complaints, seen)
}

#[test]
fn a_context_is_current_where_it_is_needed_and_nowhere_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trace = folder.path().join("trace.json");
    let variable = trace.to_str().expect("a path in UTF-8");
    alone(
        "needed::a_context_is_current_where_it_is_needed_and_nowhere_else",
        &[("SOFTCUDA_TRACE", variable), ("SOFTCUDA_VERSION", "13.0"), ("CUSHIM_DRIVER", "software")],
        || {
            let contexts = [context(), Context::create(&Device::get(&driver(), 0).unwrap(), 0).unwrap()];
            assert!(Context::current(&driver()).unwrap().is_none());
            for context in &contexts {
                orchestration(context);
                everything(context);
            }
        },
    );
    if std::env::var_os("SOFTCUDA_TRACE").is_some() {
        return; // the child has done its part
    }
    let text = std::fs::read_to_string(&trace).expect("the child has written its trace");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let all: Vec<serde_json::Value> = lines.collect();
    // The test's own thread is the one that makes events; others are the driver's and the shim's.
    let maker = all.iter().find(|call| call["function"] == "cuEventCreate").expect("an event was made");
    let calls: Vec<_> = all.iter().filter(|call| call["thread"] == maker["thread"]).cloned().collect();
    let (complaints, seen) = judge(&calls, &Needs::read());
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(seen.contains("cuStreamQuery") && seen.contains("cuMemAlloc") && seen.len() > 15, "{seen:?}");
}

#[test]
fn both_mistakes_are_seen() {
    let call = |name: &str, arguments: serde_json::Value| serde_json::json!({ "function": name, "arguments": arguments });
    let context = |handle: &str| call("cuCtxSetCurrent", serde_json::json!({ "ctx": handle }));
    let needs = Needs::read();
    let query = |stream: &str| call("cuStreamQuery", serde_json::json!({ "hStream": stream }));
    let complaints = |calls: &[serde_json::Value]| judge(calls, &needs).0.len();
    assert_eq!(complaints(&[query("0x1")]), 1, "the legacy stream is the current context's");
    assert_eq!(complaints(&[query("0x5000")]), 0);
    assert_eq!(complaints(&[context("0x70"), query("0x1"), context("0x0")]), 0);
    assert_eq!(complaints(&[context("0x70"), query("0x5000"), context("0x0")]), 1);
}
