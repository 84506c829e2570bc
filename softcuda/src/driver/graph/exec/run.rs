//! A launch: an exec's work on its way to the executor. The bodies of conditional nodes follow when it is known which run.

use super::plan::{Actions, Item, Plan, Step};
use crate::abi::sys::CUresult;
use crate::check::{self, Part, Stamp};
use crate::driver::condition;
use crate::driver::context::Activation;
use crate::driver::event::Event;
use crate::driver::graph::definition::conditional::Choice;
use crate::driver::graph::leaf::Leaf;
use crate::driver::operation;
use crate::executor::{self, Bundle, Earlier, Outcome, Piece, Queue, Turn, Work, WorkKind};
use std::collections::HashMap;
use std::sync::Arc;

/// Contexts, and the queue by which each of them knows its work.
pub(super) type Queues = Vec<(Arc<Activation>, Arc<Queue>)>;

/// What a launch does, and for whom.
pub(super) struct Run {
    pub(super) plan: Arc<Plan>,
    pub(super) actions: Arc<Actions>,
    /// The first is that of the stream that it is launched in.
    pub(super) queues: Queues,
    /// Whether kernels have the priorities of their nodes instead of their stream's.
    pub(super) own_priorities: bool,
    /// The exec's number.
    pub(super) exec: u32,
}

/// A bundle, and the events that its pieces record.
pub(super) struct Prepared {
    pub(super) bundle: Bundle,
    pub(super) records: Vec<(u32, Arc<Event>)>,
}

impl Run {
    /// The queues for an exec's work in a stream's context: those there are, and new ones for contexts that have none.
    pub(super) fn queues(
        steps: &[Step],
        context: &Arc<Activation>,
        queue: &Arc<Queue>,
        known: &mut Queues,
    ) -> Result<Queues, CUresult> {
        let mut queues = vec![(Arc::clone(context), Arc::clone(queue))];
        let mut last = context.id();
        for other in steps.iter().filter_map(|step| step.leaf.context()) {
            if other.id() == last || queues.iter().any(|(known, _)| known.id() == other.id()) {
                continue;
            }
            last = other.id();
            other.health()?;
            let own = known.iter().find(|(known, _)| known.id() == last).cloned();
            queues.push(own.unwrap_or_else(|| {
                let new = (Arc::clone(other), Queue::aside(other.queues()));
                known.push(new.clone());
                new
            }));
        }
        Ok(queues)
    }

    fn queue(&self, context: Option<&Arc<Activation>>) -> &(Arc<Activation>, Arc<Queue>) {
        let own = context.and_then(|context| self.queues.iter().find(|(one, _)| one.id() == context.id()));
        own.unwrap_or(&self.queues[0])
    }

    /// The bundle of a part, by its number.
    pub(super) fn prepare(self: &Arc<Self>, part: usize) -> Prepared {
        let part = &self.plan.parts[part];
        let mut prepared =
            Preparation { run: self, recorded: HashMap::new(), records: Vec::new(), after: Vec::new() };
        let pieces = (0..).zip(&part.pieces).map(|(number, item)| prepared.piece(number, *item)).collect();
        let Preparation { records, after, .. } = prepared;
        Prepared { bundle: Bundle { sequence: Arc::clone(&part.sequence), pieces, after }, records }
    }
}

/// A bundle that is being made.
struct Preparation<'r> {
    run: &'r Arc<Run>,
    /// Which piece records an event last, by the event's handle.
    recorded: HashMap<usize, u32>,
    records: Vec<(u32, Arc<Event>)>,
    after: Vec<(u32, Earlier)>,
}

impl Preparation<'_> {
    fn piece(&mut self, number: u32, item: Item) -> Piece {
        let run = self.run;
        match item {
            Item::Mark => self.piece_of(None, executor::nothing()),
            Item::Begin => self.piece_of(None, Box::new(Defaults(Arc::clone(run)))),
            Item::Branch(branch) => {
                let context = &run.actions.conditions[branch as usize].context;
                self.piece_of(
                    Some(context),
                    Box::new(Decision { run: Arc::clone(run), branch, taken: false, checked: None }),
                )
            }
            Item::Step(step) => self.step(number, &run.actions.steps[step as usize]),
        }
    }

    fn piece_of(&self, context: Option<&Arc<Activation>>, work: Box<dyn Work>) -> Piece {
        Piece { work, queue: Arc::clone(&self.run.queue(context).1), priority: None }
    }

    fn step(&mut self, number: u32, step: &Step) -> Piece {
        let leaf = &*step.leaf;
        match leaf {
            _ if !step.enabled => {}
            Leaf::Record(record) => self.record(number, &record.event),
            Leaf::Wait(wait) => self.wait(number, &wait.event),
            _ => {}
        }
        let (context, queue) = self.run.queue(leaf.context());
        let work = match leaf.operation() {
            Some(operation) if step.enabled => operation::work(operation, context, queue),
            _ => executor::nothing(),
        };
        // Kernels can set conditions of their exec.
        let work = match leaf {
            Leaf::Kernel(_) if !self.run.actions.conditions.is_empty() => {
                Box::new(Within { exec: self.run.exec, work })
            }
            _ => work,
        };
        let priority = match leaf {
            Leaf::Kernel(kernel) if self.run.own_priorities => Some(kernel.attributes.priority()),
            _ => None,
        };
        Piece { priority, ..self.piece_of(leaf.context(), work) }
    }

    fn record(&mut self, number: u32, event: &Arc<Event>) {
        self.recorded.insert(event.handle() as usize, number);
        self.records.push((number, Arc::clone(event)));
    }

    /// The record that is waited for is the last one: in this bundle, or before the launch.
    fn wait(&mut self, number: u32, event: &Event) {
        let here = self.recorded.get(&(event.handle() as usize)).copied().map(Earlier::Piece);
        if let Some(earlier) = here.or_else(|| event.recorded().map(|record| record.as_earlier())) {
            self.after.push((number, earlier));
        }
    }
}

/// A conditional node whose turn comes.
pub(super) struct Decision {
    pub(super) run: Arc<Run>,
    pub(super) branch: u32,
    /// Whether a body has run.
    pub(super) taken: bool,
    /// What bodies do, where somebody checks.
    pub(super) checked: Option<Arc<Part>>,
}

/// A kernel of an exec.
struct Within {
    exec: u32,
    work: Box<dyn Work>,
}

impl Work for Within {
    fn kind(&self) -> WorkKind {
        self.work.kind()
    }

    fn awaits(&self) -> Vec<u64> {
        self.work.awaits()
    }

    fn placed(&mut self, stamp: &Arc<Stamp>, piece: Option<u32>) {
        self.work.placed(stamp, piece);
    }

    fn run(self: Box<Self>, turn: &Turn<'_>) -> Outcome {
        condition::within(self.exec, || self.work.run(turn))
    }
}

/// The beginning of a launch: conditions get the values that they are to have then.
pub(super) struct Defaults(pub(super) Arc<Run>);

impl Work for Decision {
    /// Not instant: a loop may be endless, and somebody's call would never return.
    fn kind(&self) -> WorkKind {
        WorkKind::Device
    }

    /// One inside of another's body is a part of that.
    fn placed(&mut self, stamp: &Arc<Stamp>, _piece: Option<u32>) {
        self.checked = check::note_part(stamp);
    }

    fn run(self: Box<Self>, _turn: &Turn<'_>) -> Outcome {
        match self.part() {
            Some(part) => {
                let Prepared { bundle, .. } = self.run.prepare(part);
                Outcome::After(bundle, Box::new(Self { taken: true, ..*self }))
            }
            None => {
                self.checked.iter().for_each(|part| check::part_has_run(part));
                Outcome::Finished
            }
        }
    }
}

impl Decision {
    /// The part that is to run now. In a context that is lost nothing does, so that loops end.
    fn part(&self) -> Option<usize> {
        let branch = &self.run.plan.branches[self.branch as usize];
        let condition = &self.run.actions.conditions[self.branch as usize];
        let context = &condition.context;
        let goes_on = !context.has_ended() && context.fault().is_ok();
        if !goes_on || self.taken && branch.choice != Choice::While {
            return None;
        }
        branch.choice.body(condition.value()).and_then(|body| branch.parts.get(body).copied())
    }
}

impl Work for Defaults {
    fn kind(&self) -> WorkKind {
        WorkKind::Instant
    }

    fn run(self: Box<Self>, _turn: &Turn<'_>) -> Outcome {
        self.0.actions.conditions.iter().for_each(|condition| condition.begin(self.0.exec));
        Outcome::Finished
    }
}
