//! The work of an exec, as bundles.

use super::layout::{Content, Layout};
use crate::driver::condition::Condition;
use crate::driver::graph::definition::conditional::Choice;
use crate::driver::graph::leaf::Leaf;
use crate::executor::Sequence;
use std::collections::HashMap;
use std::sync::Arc;

/// What is to be done, in which order.
#[derive(Default)]
pub(super) struct Plan {
    /// The first is the graph itself.
    pub(super) parts: Vec<Part>,
    /// Which step is a node's, by the node's handle.
    pub(super) steps: HashMap<usize, u32>,
    /// What conditional nodes stand for, and which of these is a node's.
    pub(super) branches: Vec<Branch>,
    pub(super) branch_of: HashMap<usize, u32>,
}

/// What a conditional node stands for.
pub(super) struct Branch {
    pub(super) choice: Choice,
    /// Its bodies, by their numbers among the parts.
    pub(super) parts: Box<[usize]>,
}

/// What the nodes of a plan do; it can be exchanged.
#[derive(Clone, Default)]
pub(super) struct Actions {
    pub(super) steps: Vec<Step>,
    /// What the branches look at.
    pub(super) conditions: Vec<Arc<Condition>>,
}

/// What a piece of a bundle does.
#[derive(Clone, Copy)]
pub(super) enum Item {
    /// It only marks a place in the order.
    Mark,
    /// The beginning of a launch.
    Begin,
    Step(u32),
    Branch(u32),
}

/// Work that becomes one bundle.
#[derive(Default)]
pub(super) struct Part {
    pub(super) sequence: Arc<Sequence>,
    pub(super) pieces: Vec<Item>,
}

/// What a node does.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) leaf: Arc<Leaf>,
    /// Whether it is done, or left out.
    pub(super) enabled: bool,
}

/// A plan that is being made.
#[derive(Default)]
struct Draft {
    plan: Plan,
    actions: Actions,
}

/// A part that is being made.
#[derive(Default)]
struct PartDraft {
    sequence: Sequence,
    pieces: Vec<Item>,
}

/// A graph has nodes that follow themselves. This is one of them.
pub(super) struct Cycle(pub(super) usize);

/// The plan for a definition, and what its nodes do.
pub(super) fn plan(layout: &Layout) -> Result<(Plan, Actions), Cycle> {
    let mut draft = Draft::default();
    draft.add_part(layout, true)?;
    Ok((draft.plan, draft.actions))
}

impl PartDraft {
    fn add(&mut self, item: Item, before: impl IntoIterator<Item = u32>) -> u32 {
        self.pieces.push(item);
        self.sequence.add(before)
    }
}

impl Draft {
    /// Adds a graph that is a bundle of its own.
    fn add_part(&mut self, layout: &Layout, whole: bool) -> Result<usize, Cycle> {
        let number = self.plan.parts.len();
        self.plan.parts.push(Part::default());
        let mut part = PartDraft::default();
        // Nothing else is there to be done at the beginning.
        let begin = (whole && layout.has_conditional()).then(|| part.add(Item::Begin, []));
        self.add_graph(layout, &mut part, begin)?;
        let PartDraft { sequence, pieces } = part;
        self.plan.parts[number] = Part { sequence: Arc::new(sequence), pieces };
        Ok(number)
    }

    /// Adds the nodes of a graph to a part, behind a piece of it; answers the pieces that no other follows.
    fn add_graph(
        &mut self,
        layout: &Layout,
        part: &mut PartDraft,
        begin: Option<u32>,
    ) -> Result<Vec<u32>, Cycle> {
        let mut ends = vec![0; layout.nodes.len()];
        let mut last = vec![true; layout.nodes.len()];
        for place in layout.order().map_err(Cycle)? {
            let node = &layout.nodes[place as usize];
            let begin = begin.filter(|_| node.before.is_empty());
            let before: Vec<u32> =
                node.before.iter().map(|(earlier, _)| ends[*earlier as usize]).chain(begin).collect();
            node.before.iter().for_each(|(earlier, _)| last[*earlier as usize] = false);
            ends[place as usize] = match &node.content {
                Content::Leaf(leaf) => part.add(self.step(node.node, leaf), before),
                Content::Child(inner) => self.add_child(inner, part, before)?,
                Content::Conditional { condition, choice, bodies } => {
                    let item = self.branch(node.node, condition, *choice, bodies)?;
                    part.add(item, before)
                }
            };
        }
        Ok(ends.into_iter().zip(last).filter(|(_, last)| *last).map(|(end, _)| end).collect())
    }

    /// Adds a graph between two marks; answers the second.
    fn add_child(&mut self, inner: &Layout, part: &mut PartDraft, before: Vec<u32>) -> Result<u32, Cycle> {
        let begin = part.add(Item::Mark, before);
        let last = self.add_graph(inner, part, Some(begin))?;
        Ok(part.add(Item::Mark, if last.is_empty() { vec![begin] } else { last }))
    }

    fn step(&mut self, node: usize, leaf: &Arc<Leaf>) -> Item {
        let number = self.actions.steps.len() as u32;
        self.actions.steps.push(Step { leaf: Arc::clone(leaf), enabled: true });
        self.plan.steps.insert(node, number);
        Item::Step(number)
    }

    fn branch(
        &mut self,
        node: usize,
        condition: &Arc<Condition>,
        choice: Choice,
        bodies: &[Layout],
    ) -> Result<Item, Cycle> {
        let parts = bodies.iter().map(|body| self.add_part(body, false)).collect::<Result<_, _>>()?;
        let number = self.plan.branches.len() as u32;
        self.plan.branches.push(Branch { choice, parts });
        self.plan.branch_of.insert(node, number);
        self.actions.conditions.push(Arc::clone(condition));
        Ok(Item::Branch(number))
    }
}
