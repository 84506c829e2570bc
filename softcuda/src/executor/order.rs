//! The order of work: a graph of the tasks that are not finished.
//!
//! A task follows the one before it in its queue, those that the queue's coupling demands (`predecessors`), and those that
//! it is given. When the last of them is finished, it can run.

use super::numbers::Numbered;
use super::queue::{Group, Queue};
use super::task::Task;
use super::work::{Bundle, Earlier, Nothing, Work};
use crate::check::{self, Stamp};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Work that has had more bundles of its own takes long, as a loop without an end does: what comes next need not wait for it.
const MANY_ROUNDS: u32 = 4096;

/// Of more queues than that, those are looked for whose last task nobody needs to know.
const MANY_TAILS: usize = 64;

#[derive(Default)]
pub(super) struct Order {
    added: u64,
    /// Every task that is not finished, by number.
    pending: Numbered<Node>,
    /// The last task of each queue that has unfinished ones: by group, then by queue.
    tails: Numbered<BTreeMap<u64, Arc<Task>>>,
    /// What all later work of a group comes after, by group.
    barriers: Numbered<Vec<Arc<Task>>>,
}

/// The tasks that a bundle has become.
pub(crate) struct Bundled {
    pub(crate) pieces: Vec<Arc<Task>>,
    /// Finished when all of them are.
    pub(crate) end: Arc<Task>,
}

/// An unfinished task.
pub(super) struct Node {
    pub(super) task: Arc<Task>,
    /// Unfinished tasks that it was put behind, some of them finished since.
    before: Vec<u64>,
    /// How many of them are unfinished.
    unmet: usize,
    /// Tasks that must follow it.
    after: Vec<u64>,
    /// Whether it is to run as soon as it can.
    pub(super) wanted: bool,
    /// How often it has had a bundle of its own.
    rounds: u32,
    pub(super) started: bool,
    /// Whether it has started, and waits to be drawn again.
    pub(super) paused: bool,
}

impl Node {
    pub(super) fn can_run(&self) -> bool {
        self.unmet == 0 && !self.started
    }
}

/// Whether a task that is its queue's last is of no interest, where somebody checks: the queue gets none any more, and the host has
/// waited for it.
fn is_forgettable(tail: &Task) -> bool {
    tail.is_finished()
        && tail.queue.is_closed()
        && tail.stamp().is_none_or(|stamp| check::has_host_waited(stamp))
}

impl Order {
    /// Puts work into a queue, behind what its order demands and behind `after`.
    pub(super) fn add(
        &mut self,
        queue: &Arc<Queue>,
        mut work: Box<dyn Work>,
        after: &[Arc<Task>],
    ) -> &mut Node {
        let predecessors = self.predecessors(queue);
        let earlier = || predecessors.iter().chain(after).chain(self.barriers_of(queue));
        let before = earlier().map(|task| task.number).collect();
        let stamp = check::follows().then(|| {
            let stamp = check::stamp(queue.id(), earlier().filter_map(|task| task.stamp()), &work.awaits());
            work.placed(&stamp, None);
            stamp
        });
        let number = self.next_number();
        let task = Task::new(number, number, queue, None, work, stamp);
        let tails = self.tails.entry(queue.group().id()).or_default();
        if tails.len() > MANY_TAILS {
            tails.retain(|_, tail| !is_forgettable(tail));
        }
        tails.insert(queue.id(), Arc::clone(&task));
        self.insert(task, before)
    }

    fn next_number(&mut self) -> u64 {
        self.added += 1;
        self.added
    }

    /// Puts a task behind others, as far as they are not finished.
    fn insert(&mut self, task: Arc<Task>, mut before: Vec<u64>) -> &mut Node {
        let number = task.number;
        before.sort_unstable();
        before.dedup();
        before.retain(|earlier| match self.pending.get_mut(earlier) {
            Some(node) => {
                node.after.push(number);
                true
            }
            None => false,
        });
        let unmet = before.len();
        let node = Node {
            task,
            before,
            unmet,
            after: Vec::new(),
            wanted: false,
            rounds: 0,
            started: false,
            paused: false,
        };
        self.pending.entry(number).or_insert(node)
    }

    /// Puts a bundle into a queue, between a task that all of its pieces follow and one that follows all of them; answers
    /// the number of the former. Other queues have the latter behind what they were given, too.
    pub(super) fn add_bundle(
        &mut self,
        queue: &Arc<Queue>,
        bundle: Bundle,
        after: &[Arc<Task>],
        end: Box<dyn Work>,
        others: &[Arc<Queue>],
        wanted: bool,
    ) -> (u64, Bundled) {
        let first = self.add(queue, Box::new(Nothing), after);
        first.wanted = wanted;
        let begin = Arc::clone(&first.task);
        let sequence = Arc::clone(&bundle.sequence);
        let pieces = self.add_pieces(bundle, Some(&begin), None, None, wanted);
        let last: Vec<_> = sequence.last().map(|piece| Arc::clone(&pieces[piece])).collect();
        let last = self.add(queue, end, &last);
        last.wanted = wanted;
        let end = Arc::clone(&last.task);
        for other in others {
            self.add(other, Box::new(Nothing), std::slice::from_ref(&end)).wanted = wanted;
        }
        (begin.number, Bundled { pieces, end })
    }

    /// Adds the pieces of a bundle, of which those that follow no other follow `begin`; as parts of the work of `origin`, if it is some,
    /// and if somebody checks, of work that has this place in the order.
    fn add_pieces(
        &mut self,
        bundle: Bundle,
        begin: Option<&Arc<Task>>,
        origin: Option<u64>,
        part: Option<&Arc<Stamp>>,
        wanted: bool,
    ) -> Vec<Arc<Task>> {
        let mut tasks: Vec<Arc<Task>> = Vec::with_capacity(bundle.pieces.len());
        let mut others = bundle.after.into_iter().peekable();
        for (number, piece) in bundle.pieces.into_iter().enumerate() {
            let earlier = bundle.sequence.before(number);
            let place = |task: &Arc<Task>| (task.number, task.stamp().cloned());
            let mut before: Vec<_> = earlier.iter().map(|piece| place(&tasks[*piece as usize])).collect();
            if before.is_empty() {
                before.extend(begin.map(place));
            }
            while let Some((_, other)) = others.next_if(|(piece, _)| *piece as usize == number) {
                before.push(match other {
                    Earlier::Piece(piece) => place(&tasks[piece as usize]),
                    Earlier::Task(number, stamp) => (number, stamp),
                });
            }
            let mut work = piece.work;
            let stamp = check::follows().then(|| {
                let stamp = match part {
                    Some(part) => Arc::clone(part),
                    None => check::stamp_aside(
                        before.iter().filter_map(|(_, stamp)| stamp.as_ref()),
                        &work.awaits(),
                    ),
                };
                work.placed(&stamp, Some(number as u32));
                stamp
            });
            let own = self.next_number();
            let task = Task::new(own, origin.unwrap_or(own), &piece.queue, piece.priority, work, stamp);
            self.insert(Arc::clone(&task), before.iter().map(|(number, _)| *number).collect()).wanted =
                wanted;
            tasks.push(task);
        }
        tasks
    }

    /// A task is to have the rest of its work done after a bundle; answers those that can run now.
    pub(super) fn put_behind(&mut self, task: &Task, bundle: Bundle) -> Vec<u64> {
        let (wanted, is_long) = self.pending.get_mut(&task.number).map_or((false, false), |node| {
            node.rounds = node.rounds.saturating_add(1);
            (node.wanted, node.rounds > MANY_ROUNDS)
        });
        let sequence = Arc::clone(&bundle.sequence);
        if is_long {
            task.set_long();
        }
        let origin = if is_long { None } else { Some(task.origin()) };
        let pieces = self.add_pieces(bundle, None, origin, task.stamp(), wanted);
        let last: Vec<u64> = sequence.last().map(|piece| pieces[piece].number).collect();
        for piece in &last {
            self.pending.entry(*piece).and_modify(|node| node.after.push(task.number));
        }
        if let Some(node) = self.pending.get_mut(&task.number) {
            node.unmet = last.len();
            node.before = last;
            node.started = false;
        }
        let mut can_run: Vec<u64> = pieces.iter().map(|piece| piece.number).chain([task.number]).collect();
        can_run.retain(|number| self.pending.get(number).is_some_and(Node::can_run));
        can_run
    }

    /// Lets everything that is put into queues of a group from now on come after a task.
    pub(super) fn hold_up(&mut self, group: &Group, until: &Arc<Task>) {
        let is_ahead = |stamp: &Arc<Stamp>| !check::has_host_waited(stamp);
        let is_needed = |task: &Arc<Task>| !task.is_finished() || task.stamp().is_some_and(is_ahead);
        self.barriers.values_mut().for_each(|tasks| tasks.retain(is_needed));
        self.barriers.retain(|_, tasks| !tasks.is_empty());
        self.barriers.entry(group.id()).or_default().push(Arc::clone(until));
    }

    fn barriers_of(&self, queue: &Queue) -> &[Arc<Task>] {
        if self.barriers.is_empty() {
            return &[];
        }
        self.barriers.get(&queue.group().id()).map_or(&[], Vec::as_slice)
    }

    /// A task is finished; answers those that can run now.
    pub(super) fn finish(&mut self, task: &Task) -> Vec<u64> {
        task.set_finished();
        self.remove_tail(task);
        let Some(mut node) = self.pending.remove(&task.number) else { return Vec::new() };
        node.after.retain(|number| match self.pending.get_mut(number) {
            Some(next) => {
                next.unmet -= 1;
                next.unmet == 0
            }
            None => false,
        });
        node.after
    }

    /// Forgets that a finished task was its queue's last.
    fn remove_tail(&mut self, task: &Task) {
        let (group, queue) = (task.queue.group().id(), task.queue.id());
        if check::follows() {
            return; // what comes next follows it, however soon it has run
        }
        let Some(tails) = self.tails.get_mut(&group) else { return };
        if tails.get(&queue).is_some_and(|tail| tail.number == task.number) {
            tails.remove(&queue);
        }
        if tails.is_empty() {
            self.tails.remove(&group);
        }
    }

    pub(super) fn node(&mut self, number: u64) -> Option<&mut Node> {
        self.pending.get_mut(&number)
    }

    /// Whether a task is under way: it was started, and is neither finished nor behind a bundle of its own.
    pub(super) fn is_under_way(&self, number: u64) -> bool {
        self.pending.get(&number).is_some_and(|node| node.started)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Marks tasks, and all that they must follow, as wanted; answers those that can run now.
    pub(super) fn want(&mut self, mut numbers: Vec<u64>) -> Vec<u64> {
        let mut can_run = Vec::new();
        while let Some(number) = numbers.pop() {
            let Some(node) = self.pending.get_mut(&number).filter(|node| !node.wanted) else { continue };
            node.wanted = true;
            numbers.extend(&node.before);
            if node.can_run() {
                can_run.push(number);
            }
        }
        can_run
    }

    /// All unfinished tasks, of one group or of every one.
    pub(super) fn tasks(&self, group: Option<&Group>) -> Vec<Arc<Task>> {
        let all = self.pending.values().map(|node| &node.task);
        all.filter(|task| group.is_none_or(|group| task.queue.group().id() == group.id())).cloned().collect()
    }

    /// The last task of every queue of a group.
    pub(super) fn tails(&self, group: &Group) -> Vec<Arc<Task>> {
        self.tails.get(&group.id()).map_or(Vec::new(), |tails| tails.values().cloned().collect())
    }

    /// The last tasks of those queues in the same group that satisfy the condition.
    fn tails_where(&self, queue: &Queue, condition: impl Fn(&Queue) -> bool) -> Vec<Arc<Task>> {
        let Some(tails) = self.tails.get(&queue.group().id()) else { return Vec::new() };
        tails.values().filter(|tail| condition(&tail.queue)).cloned().collect()
    }

    /// What the next task of a queue must follow.
    pub(super) fn predecessors(&self, queue: &Queue) -> Vec<Arc<Task>> {
        self.tails_where(queue, |other| queue.follows(other))
    }

    /// What must be finished for a queue to be done.
    pub(super) fn last_of(&self, queue: &Queue) -> Vec<Arc<Task>> {
        self.tails_where(queue, |other| queue.stands_for(other))
    }

    /// Whether one of the tasks is the one of this number, which is not finished, or must follow it.
    pub(super) fn any_follows(&self, first: u64, tasks: &[Arc<Task>]) -> bool {
        let mut numbers: Vec<u64> = tasks.iter().map(|task| task.number).collect();
        let mut seen = HashSet::new();
        while let Some(number) = numbers.pop() {
            if number == first {
                return true;
            }
            // What comes after it has a larger number, except for what waits for a bundle of its own.
            if number > first && seen.insert(number) {
                numbers.extend(self.pending.get(&number).iter().flat_map(|node| &node.before));
            }
        }
        false
    }
}
