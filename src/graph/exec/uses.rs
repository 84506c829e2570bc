//! Which nodes of an instance use an object, or have a parameter.

use crate::graph::by_address::ByAddress;
use crate::graph::contents::share_page;
use crate::graph::ids::NodeId;
use crate::op::node::{Parameters, key};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The nodes by what they use. Made when it is first asked for, and again after a node was set, or removed from the
/// definition.
#[derive(Default)]
pub(super) struct Uses {
    objects: ByAddress<Users>,
    names: HashMap<Arc<str>, Users>,
    /// How many nodes the definition had removed by then.
    removals: u64,
    /// The nodes of the instance that are among these.
    pub(super) removed: Vec<NodeId>,
}

/// Who uses the same, in the order of the nodes' numbers, and what is known of all of them.
pub(super) struct Users {
    all: Vec<User>,
    nodes: usize,
    /// Whether the driver exchanges what they use.
    can_rebind: bool,
    /// The bytes of the argument, if it has as many in each.
    size: Option<u32>,
}

/// A node, and what of it: the argument that is a parameter. A node that has several is listed for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct User {
    pub(super) node: NodeId,
    pub(super) part: u32,
}

impl Uses {
    /// Of a definition that has removed so many nodes.
    pub(super) fn after(removals: u64) -> Self {
        Self { removals, ..Self::default() }
    }

    /// Whether the definition has removed so many nodes.
    pub(super) fn are_after(&self, removals: u64) -> bool {
        self.removals == removals
    }

    pub(super) fn add(&mut self, node: NodeId, parameters: &Parameters) {
        let can_rebind = parameters.can_rebind();
        parameters.each_object(|object| {
            let users = self.objects.entry(key(object)).or_insert_with(|| Users::new(0));
            // A node is listed once, however often it uses the same object.
            if users.all.last().is_none_or(|last| last.node != node) {
                users.add(User { node, part: 0 });
            }
            users.can_rebind &= can_rebind;
        });
        if let Parameters::Kernel(kernel) = parameters {
            for (part, name) in kernel.arguments().names() {
                let size = kernel.arguments().size(*part);
                let users = self.names.entry(Arc::clone(name)).or_insert_with(|| Users::new(size));
                users.add(User { node, part: *part });
                users.size = users.size.filter(|known| *known == size);
            }
        }
    }

    /// Those that use an object, taken out: put them back.
    pub(super) fn take_object(&mut self, key: usize) -> Option<Users> {
        self.objects.remove(&key)
    }

    /// These use an object.
    pub(super) fn put_object(&mut self, key: usize, users: Users) {
        match self.objects.entry(key) {
            Entry::Vacant(place) => drop(place.insert(users)),
            Entry::Occupied(place) => place.into_mut().merge(users),
        }
    }

    /// Those that have a parameter, taken out: put them back.
    pub(super) fn take_name(&mut self, name: &str) -> Option<(Arc<str>, Users)> {
        self.names.remove_entry(name)
    }

    /// The names of all parameters, in quotes and in order.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names.keys().map(|name| format!("\"{name}\"")).collect();
        names.sort_unstable();
        names
    }

    /// These have a parameter.
    pub(super) fn put_name(&mut self, name: Arc<str>, users: Users) {
        self.names.insert(name, users);
    }
}

/// Of several users those of each node.
#[inline]
pub(super) fn by_node(users: &[User]) -> impl Iterator<Item = &[User]> {
    users.chunk_by(|one, other| one.node == other.node)
}

impl Users {
    fn new(size: u32) -> Self {
        Self { all: Vec::new(), nodes: 0, can_rebind: true, size: Some(size) }
    }

    fn add(&mut self, user: User) {
        self.nodes += usize::from(self.all.last().is_none_or(|last| last.node != user.node));
        self.all.push(user);
    }

    /// Others use the same from now on, and some may have used it before.
    fn merge(&mut self, other: Self) {
        self.all.extend(other.all);
        self.all.sort_unstable();
        self.all.dedup();
        self.nodes = self.each_node().count();
        self.can_rebind &= other.can_rebind;
    }

    pub(super) fn all(&self) -> &[User] {
        &self.all
    }

    /// The users of each node.
    #[inline]
    pub(super) fn each_node(&self) -> impl Iterator<Item = &[User]> {
        by_node(&self.all)
    }

    /// Those whose records share a page.
    #[inline]
    pub(super) fn each_page(&self) -> impl Iterator<Item = &[User]> {
        self.all.chunk_by(|one, other| share_page(one.node, other.node))
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes
    }

    /// Whether the driver exchanges what they use in all of them.
    pub(super) fn all_can_rebind(&self) -> bool {
        self.can_rebind
    }

    /// Whether the argument is known to have so many bytes in each.
    pub(super) fn all_take(&self, bytes: usize) -> bool {
        self.size.is_some_and(|size| size as usize == bytes)
    }
}
