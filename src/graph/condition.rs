//! Conditions: values that kernels set, and by which conditional nodes decide.

use super::definition::{ConditionObject, ConditionState, Definition, State, Tree};
use super::ids::{ConditionId, GraphId, NodeId};
use super::kind::GraphKind;
use super::node_name::NodeName;
use super::{Graph, relations, restriction};
use crate::object::error::{Error, Status, Subject};
use crate::object::handle::{Header, object};
use crate::object::setters::setters;
use crate::op::node::NodeType;
use crate::op::{Argument, ConditionArgument, ConditionOperand};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

impl ConditionState {
    /// Its graph was removed.
    pub(super) fn end(&self) {
        let _ = self.object.ended.set(());
    }

    pub(super) fn is_ended(&self) -> bool {
        self.object.is_ended()
    }
}

object!(ConditionObject: Condition, header);

impl ConditionObject {
    fn definition(&self) -> Result<Arc<Definition>, Error> {
        self.definition.upgrade().filter(|_| !self.is_ended()).ok_or_else(|| self.refusal())
    }

    /// Refuses a condition whose graph is gone.
    pub(crate) fn check_there(&self) -> Result<(), Error> {
        if self.is_ended() { Err(self.refusal()) } else { Ok(()) }
    }

    /// Asked under the lock of the definition.
    fn is_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    #[cold]
    fn refusal(&self) -> Error {
        let why = format!("the graph of {self} was destroyed, or moved into another one");
        Error::new(Status::INVALID_HANDLE, why).about(self)
    }

    /// The same condition, in the definition into which its graph was moved.
    pub(super) fn moved(&self, definition: &Weak<Definition>, id: ConditionId) -> Arc<Self> {
        let moved = Self::new(Weak::clone(definition), id);
        moved.header.set_label(self.header.label().as_deref());
        if let Some(native) = self.native.get() {
            let _ = moved.native.set(*native);
        }
        moved
    }

    fn new(definition: Weak<Definition>, id: ConditionId) -> Arc<Self> {
        Arc::new(Self {
            header: Header::new::<Self>(),
            definition,
            id,
            ended: OnceLock::new(),
            native: OnceLock::new(),
        })
    }
}

impl fmt::Display for ConditionObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.header.label() {
            Some(label) => write!(f, "condition \"{label}\""),
            None => write!(f, "condition {}", self.id.0),
        }
    }
}

/// What a condition is at the start of each launch, or of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ConditionOptions {
    /// Its value at the start.
    pub initial: u32,
    /// Whether each launch starts with that value again, and not with what the one before left.
    pub reset: bool,
}

setters!(ConditionOptions { initial: u32, reset: bool });

/// A value by which a conditional node decides what it runs. Kernels of the graph set it.
///
/// One conditional node looks at a condition, and any number of kernels may set it: each gets it as an argument.
#[derive(Clone)]
pub struct Condition {
    definition: Arc<Definition>,
    object: Arc<ConditionObject>,
}

/// Two are equal if they are the same condition.
impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }
}

impl Eq for Condition {}

impl std::hash::Hash for Condition {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.object.hash(state);
    }
}

const ASSIGN_DEFAULT: u32 = 1; // CU_GRAPH_COND_ASSIGN_DEFAULT

impl Graph {
    /// Creates a condition of the graph; driver 12.3. In the driver it exists from its first use on.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 12.3; [`Status::INVALID_HANDLE`] if the graph was removed.
    pub fn create_condition(&self, options: &ConditionOptions) -> Result<Condition, Error> {
        restriction::check_version(&self.definition.tree, NodeType::Conditional)?;
        let mut state = self.lock()?;
        let id = ConditionId(state.conditions.len() as u32);
        let object = ConditionObject::new(Arc::downgrade(&self.definition), id);
        let graph = home(&state, self.object.id);
        state.conditions.push(ConditionState {
            graph,
            initial: options.initial,
            flags: if options.reset { ASSIGN_DEFAULT } else { 0 },
            native: None,
            node: None,
            object: Arc::clone(&object),
        });
        drop(state);
        Ok(Condition { definition: Arc::clone(&self.definition), object })
    }
}

/// The graph in which a condition for this one is created: bodies may look at the conditions of what is around them, and those
/// outlive them.
fn home(state: &State, mut graph: GraphId) -> GraphId {
    while let (GraphKind::Body(_), Some(parent)) = (state.graph(graph).object.kind, state.graph(graph).parent)
    {
        graph = state.node(parent).graph;
    }
    graph
}

impl Condition {
    /// The condition that a handle names.
    pub(crate) fn of(object: &Arc<ConditionObject>) -> Result<Self, Error> {
        Ok(Self { definition: object.definition()?, object: Arc::clone(object) })
    }

    /// What handles of it name.
    pub(crate) fn object(&self) -> &Arc<ConditionObject> {
        &self.object
    }

    /// The number by which kernels set it, a `CUgraphConditionalHandle`. The condition exists in the driver from now on.
    ///
    /// # Errors
    /// The driver's.
    pub fn native(&self) -> Result<u64, Error> {
        // A change of a node asks under the lock of the definition, when the number is known.
        if let Some(native) = self.object.native.get() {
            return Ok(*native);
        }
        let tree = &self.definition.tree;
        let mut state = tree.lock();
        if self.object.is_ended() {
            return Err(self.object.refusal());
        }
        native(tree, &mut state, self.object.id)
    }

    /// Names the condition in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.object.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.object.header.label()
    }

    pub(super) fn is_in(&self, tree: &Tree) -> bool {
        std::ptr::eq(self.definition.tree.as_ref(), tree)
    }
}

/// The driver's number of a condition, which is created now if it was not.
pub(super) fn native(tree: &Tree, state: &mut State, id: ConditionId) -> Result<u64, Error> {
    let condition = &state.conditions[id.0 as usize];
    if let Some(native) = condition.native {
        return Ok(native);
    }
    let (graph, context) = (&state.graph(condition.graph).native, tree.context());
    let _related = relations::kept(state);
    let native = graph
        .create_condition(context.native(), condition.initial, condition.flags)
        .map_err(|error| tree.failed(error, condition.object.as_ref()))?;
    let condition = &mut state.conditions[id.0 as usize];
    condition.native = Some(native);
    let _ = condition.object.native.set(native);
    Ok(native)
}

/// The condition with the driver's number that a node of somebody else's looks at: known, or listed now.
pub(super) fn adopt(tree: &Tree, state: &mut State, node: NodeId, native: u64) -> ConditionId {
    let known = state.conditions.iter().position(|condition| condition.native == Some(native));
    let index = known.unwrap_or_else(|| {
        let id = ConditionId(state.conditions.len() as u32);
        let object = ConditionObject::new(Weak::clone(tree.known_definition()), id);
        let _ = object.native.set(native);
        let (graph, native) = (home(state, state.node(node).graph), Some(native));
        // What it begins with the driver tells nobody, and nobody asks.
        state.conditions.push(ConditionState { graph, initial: 0, flags: 0, native, node: None, object });
        id.0 as usize
    });
    state.conditions[index].node = Some(node);
    ConditionId(index as u32)
}

impl From<&Condition> for Argument<'_> {
    fn from(condition: &Condition) -> Self {
        Self::Condition(ConditionArgument(Arc::new(condition.clone())))
    }
}

impl ConditionOperand for Condition {
    fn native(&self) -> Result<u64, Error> {
        self.native()
    }

    fn known(&self) -> Option<u64> {
        self.object.native.get().copied()
    }

    fn check_there(&self) -> Result<(), Error> {
        self.object.check_there()
    }

    fn is_of(&self, definition: *const ()) -> bool {
        std::ptr::eq(Arc::as_ptr(&self.definition.tree).cast(), definition)
    }
}

impl Subject for Condition {
    fn label(&self) -> Option<Arc<str>> {
        self.label()
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({self})")
    }
}

/// Refuses a change that names conditions of other graphs than its node's.
#[cold]
pub(super) fn check_change(
    tree: &Tree,
    node: NodeName<'_>,
    conditions: &[(usize, &dyn ConditionOperand)],
) -> Result<(), Error> {
    let graph = {
        let state = tree.lock();
        state.node(node.check_there(&state)?).graph
    };
    check_own(tree, graph, conditions)
}

/// Sees to it that each has its number.
pub(super) fn number_all(conditions: &[(usize, &dyn ConditionOperand)]) -> Result<(), Error> {
    conditions.iter().try_for_each(|(_, condition)| condition.native().map(drop))
}

/// Refuses conditions that are gone by now, under the lock of the definition.
#[cold]
pub(super) fn check_there(conditions: &[(usize, &dyn ConditionOperand)]) -> Result<(), Error> {
    let check = |(index, condition): &(usize, &dyn ConditionOperand)| {
        condition.check_there().map_err(|mut failure| {
            failure.item = Some(*index);
            failure
        })
    };
    conditions.iter().try_for_each(check)
}

/// Refuses conditions of other graphs than the one that their kernel is to be a node of.
pub(super) fn check_own(
    tree: &Tree,
    graph: GraphId,
    conditions: &[(usize, &dyn ConditionOperand)],
) -> Result<(), Error> {
    let foreign = conditions.iter().find(|(_, condition)| !condition.is_of(std::ptr::from_ref(tree).cast()));
    let Some((index, condition)) = foreign else { return Ok(()) };
    // A graph that was lost meanwhile is refused as such, by who looks at it next.
    let Some(graph) = tree.lock().graph_object(graph) else { return Ok(()) };
    let refusal = format!("argument {index}: {condition} belongs to another graph than {graph}");
    let mut error = Error::new(Status::INVALID_ARGUMENT, refusal).about(*condition);
    error.item = Some(*index);
    Err(error)
}
