//! User objects whose graphs are updated: which of them an exec holds then.

use super::held::Object;
use super::scene::Scene;
use super::work::Work;
use super::{Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given, yes};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CUgraph, CUgraphExec, CUgraphNode};
use std::time::{Duration, Instant};

pub(super) const SECTION: Section =
    Section { name: "graph_updated_objects", parts: super::parts(APART), devices: 1, run };

const GROUPS: &[Group] = &[|t, s| ask(t, s, WHOLE), |t, s| ask(t, s, CHILDREN)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, APART)
}

/// Two graphs that hold an object each, and an exec of the first.
struct Trade {
    old: CUgraph,
    new: CUgraph,
    exec: CUgraphExec,
    old_object: Object,
    new_object: Object,
}

fn trade(s: &Scene, old: &[Work], new: &[Work]) -> Given<Trade> {
    let (old, new) = (s.graph_of(old)?, s.graph_of(new)?);
    let (old_object, new_object) = (Object::held(s, old)?, Object::held(s, new)?);
    Ok(Trade { old, new, exec: s.exec(old)?, old_object, new_object })
}

fn same(s: &Scene) -> Given<Trade> {
    trade(s, &[s.store(0, 1)], &[s.store(0, 2)])
}

impl Trade {
    /// How often each object's destructor was called.
    fn fired(&self) -> Answer {
        Answer::all([self.old_object.fired(), self.new_object.fired()])
    }
}

fn update(s: &Scene, exec: CUgraphExec, to: CUgraph) -> Answer {
    s.update(exec, to, &[])
}

fn drop_exec(s: &Scene, exec: CUgraphExec) -> Given {
    given!(s.cu, cuGraphExecDestroy_10000(exec))
}

const WHOLE: &[Question] = &[
    ("updated: old, new object fired", |s| {
        let trade = same(s)?;
        Ok(Answer::all([update(s, trade.exec, trade.new), trade.fired()]))
    }),
    ("updated, old graph destroyed: old, new", |s| {
        let trade = same(s)?;
        update(s, trade.exec, trade.new);
        s.destroy(trade.old)?;
        Ok(trade.fired())
    }),
    ("updated, new graph destroyed: old, new", |s| {
        let trade = same(s)?;
        update(s, trade.exec, trade.new);
        s.destroy(trade.new)?;
        Ok(trade.fired())
    }),
    ("updated, both destroyed, exec destroyed: old, new; old, new", |s| {
        let trade = same(s)?;
        update(s, trade.exec, trade.new);
        s.destroy(trade.old)?;
        s.destroy(trade.new)?;
        let before = trade.fired();
        drop_exec(s, trade.exec)?;
        Ok(Answer::all([before, trade.fired()]))
    }),
    ("old graph destroyed, updated: old, new", |s| {
        let trade = same(s)?;
        s.destroy(trade.old)?;
        Ok(Answer::all([update(s, trade.exec, trade.new), trade.fired()]))
    }),
    ("updated from a graph without: old graph destroyed; exec", |s| {
        let (old, new) = (s.graph_of(&[s.store(0, 1)])?, s.graph_of(&[s.store(0, 2)])?);
        let (object, exec) = (Object::held(s, old)?, s.exec(old)?);
        update(s, exec, new);
        let first = object.fired();
        s.destroy(old)?;
        let second = object.fired();
        drop_exec(s, exec)?;
        Ok(Answer::all([first, second, object.fired()]))
    }),
    ("refused for its topology, graphs destroyed; exec destroyed", |s| {
        let trade = trade(s, &[s.store(0, 1)], &[s.store(0, 2), Work::Empty])?;
        let answer = update(s, trade.exec, trade.new);
        s.destroy(trade.old)?;
        s.destroy(trade.new)?;
        let before = trade.fired();
        drop_exec(s, trade.exec)?;
        Ok(Answer::all([answer, before, trade.fired()]))
    }),
    ("refused for its type, graphs destroyed; exec destroyed", |s| {
        let trade = trade(s, &[s.copy()], &[s.fill(1)])?;
        let answer = update(s, trade.exec, trade.new);
        s.destroy(trade.old)?;
        s.destroy(trade.new)?;
        let before = trade.fired();
        drop_exec(s, trade.exec)?;
        Ok(Answer::all([answer, before, trade.fired()]))
    }),
    ("its own graph retains another, updated; graph; exec destroyed", |s| {
        let graph = s.graph_of(&[s.store(0, 1)])?;
        let (first, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        let second = Object::held(s, graph)?;
        let answer = update(s, exec, graph);
        s.destroy(graph)?;
        let before = Answer::all([first.fired(), second.fired()]);
        drop_exec(s, exec)?;
        Ok(Answer::all([answer, before, first.fired(), second.fired()]))
    }),
    ("its own graph releases it, updated: fired", |s| {
        let graph = s.graph_of(&[s.store(0, 1)])?;
        let (object, exec) = (Object::held(s, graph)?, s.exec(graph)?);
        object.release_from(graph, 1).given("release")?;
        let before = object.fired();
        Ok(Answer::all([before, update(s, exec, graph), object.fired()]))
    }),
    ("updated there and back, graphs; exec destroyed: old, new", |s| {
        let trade = same(s)?;
        update(s, trade.exec, trade.new);
        let answer = update(s, trade.exec, trade.old);
        s.destroy(trade.old)?;
        s.destroy(trade.new)?;
        let before = trade.fired();
        drop_exec(s, trade.exec)?;
        Ok(Answer::all([answer, before, trade.fired()]))
    }),
    ("both graphs hold the same object: graphs; exec destroyed", |s| {
        let (old, new) = (s.graph_of(&[s.store(0, 1)])?, s.graph_of(&[s.store(0, 2)])?);
        let object = Object::new(s, 2)?;
        object.retain(old, 1, 1).given("retain")?;
        object.retain(new, 1, 1).given("retain")?;
        let exec = s.exec(old)?;
        update(s, exec, new);
        s.destroy(old)?;
        s.destroy(new)?;
        let before = object.fired();
        drop_exec(s, exec)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("the node set in the exec, graph; exec destroyed", |s| {
        let graph = s.graph()?;
        let node = s.node(graph, &[], s.fill(1))?;
        let (object, exec, other) = (Object::held(s, graph)?, s.exec(graph)?, s.filling(2));
        given!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, &raw const other, s.context))?;
        s.destroy(graph)?;
        let before = object.fired();
        drop_exec(s, exec)?;
        Ok(Answer::all([before, object.fired()]))
    }),
];

/// A graph with a child graph, another source for that, and an object of each source.
struct Family {
    parent: CUgraph,
    node: CUgraphNode,
    sources: [CUgraph; 2],
    objects: [Object; 2],
}

fn family(s: &Scene) -> Given<Family> {
    let sources = [s.graph_of(&[s.store(0, 1)])?, s.graph_of(&[s.store(0, 2)])?];
    let objects = [Object::held(s, sources[0])?, Object::held(s, sources[1])?];
    let parent = s.graph()?;
    Ok(Family { parent, node: s.node(parent, &[], Work::Child(sources[0]))?, sources, objects })
}

impl Family {
    fn fired(&self) -> Answer {
        Answer::all([self.objects[0].fired(), self.objects[1].fired()])
    }

    fn destroy_sources(&self, s: &Scene) -> Given {
        s.destroy(self.sources[0])?;
        s.destroy(self.sources[1])
    }
}

const CHILDREN: &[Question] = &[
    ("child set in the exec: sources; parent; exec destroyed", |s| {
        let family = family(s)?;
        let exec = s.exec(family.parent)?;
        let answer =
            call!(s.cu, cuGraphExecChildGraphNodeSetParams_11010(exec, family.node, family.sources[1]));
        family.destroy_sources(s)?;
        let first = family.fired();
        s.destroy(family.parent)?;
        let second = family.fired();
        drop_exec(s, exec)?;
        Ok(Answer::all([answer, first, second, family.fired()]))
    }),
    ("child set in the definition: sources; parent destroyed", |s| {
        let family = family(s)?;
        let answer = s.generic(Work::Child(family.sources[1]), |params| {
            call!(s.cu, cuGraphNodeSetParams_12020(family.node, params))
        });
        family.destroy_sources(s)?;
        let before = family.fired();
        s.destroy(family.parent)?;
        Ok(Answer::all([answer, before, family.fired()]))
    }),
    ("child set in the exec by the generic call: the same", |s| {
        let family = family(s)?;
        let exec = s.exec(family.parent)?;
        let answer = s.generic(Work::Child(family.sources[1]), |params| {
            call!(s.cu, cuGraphExecNodeSetParams_12020(exec, family.node, params))
        });
        family.destroy_sources(s)?;
        s.destroy(family.parent)?;
        let before = family.fired();
        drop_exec(s, exec)?;
        Ok(Answer::all([answer, before, family.fired()]))
    }),
    ("updated from a graph with the other child: the same", |s| {
        let family = family(s)?;
        let exec = s.exec(family.parent)?;
        let other = s.graph_of(&[Work::Child(family.sources[1])])?;
        let answer = update(s, exec, other);
        family.destroy_sources(s)?;
        s.destroy(family.parent)?;
        let first = family.fired();
        s.destroy(other)?;
        let second = family.fired();
        drop_exec(s, exec)?;
        Ok(Answer::all([answer, first, second, family.fired()]))
    }),
];

/// An update might wait for the launch before it.
const APART: &[Question] = &[
    ("updated in flight: at once, old object fired; done; exec gone", |s| {
        let trade = same(s)?;
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(trade.exec);
        let _ = call!(s.cu, cuGraphDestroy_10000(trade.old));
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            gate.open();
        });
        let start = Instant::now();
        let updated = update(s, trade.exec, trade.new);
        let at_once = yes(start.elapsed() < Duration::from_millis(250));
        let in_flight = trade.old_object.fired();
        let _ = opener.join();
        let done = s.synchronise();
        let after = trade.fired();
        drop_exec(s, trade.exec)?;
        let answers = [launched, updated, at_once.into(), in_flight, done, after, trade.fired()];
        Ok(Answer::all(answers))
    }),
    ("updated in flight with the old graph alive: the same", |s| {
        let trade = same(s)?;
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(trade.exec);
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            gate.open();
        });
        let updated = update(s, trade.exec, trade.new);
        let _ = opener.join();
        let done = s.synchronise();
        let after = trade.fired();
        s.destroy(trade.old)?;
        Ok(Answer::all([launched, updated, done, after, trade.fired()]))
    }),
];
