//! What is known of nodes, by their numbers.

use super::ids::NodeId;

/// How many nodes share a part.
const PART: usize = 32;

/// What is known by node. It is made in parts, where something stands: nothing is searched for, nothing moves when it grows, and what
/// is known of few nodes takes little room.
pub(super) struct ByNode<T> {
    parts: Vec<Option<Box<[Option<T>]>>>,
}

impl<T> Default for ByNode<T> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<T> ByNode<T> {
    #[inline]
    pub(super) fn get(&self, id: NodeId) -> Option<&T> {
        self.parts.get(id.0 as usize / PART)?.as_ref()?[id.0 as usize % PART].as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut T> {
        self.parts.get_mut(id.0 as usize / PART)?.as_mut()?[id.0 as usize % PART].as_mut()
    }

    /// Where a node's stands, which is made if it is not there.
    #[inline]
    pub(super) fn place(&mut self, id: NodeId) -> &mut Option<T> {
        let part = id.0 as usize / PART;
        if part >= self.parts.len() {
            self.parts.resize_with(part + 1, || None);
        }
        let part = self.parts[part].get_or_insert_with(|| (0..PART).map(|_| None).collect());
        &mut part[id.0 as usize % PART]
    }

    /// Takes what is known of a node.
    pub(super) fn remove(&mut self, id: NodeId) -> Option<T> {
        self.parts.get_mut(id.0 as usize / PART)?.as_mut()?[id.0 as usize % PART].take()
    }

    /// Forgets what is known of all nodes but these.
    pub(super) fn retain(&mut self, keep: impl Fn(NodeId) -> bool) {
        for (part, all) in self.parts.iter_mut().enumerate() {
            let all = all.iter_mut().flat_map(|all| all.iter_mut().enumerate());
            all.filter(|(at, _)| !keep(number(part, *at))).for_each(|(_, one)| *one = None);
        }
    }

    /// All there is, in the order of the nodes' numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &T)> {
        let parts = self.parts.iter().enumerate().filter_map(|(part, all)| Some((part, all.as_ref()?)));
        parts.flat_map(|(part, all)| {
            all.iter().enumerate().filter_map(move |(at, one)| Some((number(part, at), one.as_ref()?)))
        })
    }

    /// The same, taken out.
    pub(super) fn into_all(self) -> impl Iterator<Item = (NodeId, T)> {
        let parts = self.parts.into_iter().enumerate().filter_map(|(part, all)| Some((part, all?)));
        parts.flat_map(|(part, all)| {
            let all = all.into_iter().enumerate();
            all.filter_map(move |(at, one)| Some((number(part, at), one?)))
        })
    }
}

fn number(part: usize, at: usize) -> NodeId {
    NodeId((part * PART + at) as u32)
}

impl<T> FromIterator<(NodeId, T)> for ByNode<T> {
    fn from_iter<I: IntoIterator<Item = (NodeId, T)>>(all: I) -> Self {
        let mut by_node = Self::default();
        all.into_iter().for_each(|(id, one)| *by_node.place(id) = Some(one));
        by_node
    }
}
