//! The same is exchanged in many nodes of an instance, or in none: what makes up a loop over a thousand nodes stands here.

use super::set::Setting;
use super::uses::{User, Users, Uses, by_node};
use super::{CURE, Exec, State};
use crate::graph::contents::{Contents, EditedPage};
use crate::graph::definition;
use crate::graph::ids::NodeId;
use crate::graph::record::Record;
use crate::object::error::Error;
use crate::op::node::{For, Hold, Holds, Parameters, Rebinding, kept_for};

/// What is exchanged.
pub(super) trait Exchange {
    /// By these it is undone.
    type Part;

    /// Exchanges it in one user, and appends what undoes that.
    fn put(&self, parameters: &mut Parameters, part: u32, undo: &mut Vec<Self::Part>);

    /// Undoes that, by what was appended for these users.
    fn put_back(&self, parameters: &mut Parameters, users: &[User], undo: &[Self::Part]);

    /// The driver took it: has the node keep what it uses now. What goes beside what was exchanged is given to `gone`.
    #[inline(always)]
    fn keep(&self, _page: &mut EditedPage<'_>, _id: NodeId, _parts: &[Self::Part], _gone: &mut Holds) {}

    /// Undoes that, but for what went to `gone`.
    fn keep_again(&self, _page: &mut EditedPage<'_>, _id: NodeId, _parts: &[Self::Part]) {}

    /// Whether nodes keep something by this.
    fn keeps(&self) -> bool {
        false
    }
}

/// What undoes the exchanges that were made: all in one list, and where those of each node end.
struct Done<T> {
    undo: Vec<T>,
    ends: Vec<u32>,
    /// What went beside what was exchanged.
    gone: Holds,
}

impl<T> Done<T> {
    /// For so many users.
    fn new(count: usize) -> Self {
        Self { undo: Vec::with_capacity(count), ends: Vec::with_capacity(count), gone: Holds::default() }
    }

    /// For each node what undoes its exchange.
    fn each(&self) -> impl DoubleEndedIterator<Item = &[T]> + ExactSizeIterator {
        (0..self.ends.len()).map(|at| {
            let start = if at == 0 { 0 } else { self.ends[at - 1] };
            &self.undo[start as usize..self.ends[at] as usize]
        })
    }
}

impl Exec {
    /// Exchanges the same in all of these nodes, or in none. Answers with what goes beside what was exchanged.
    ///
    /// # Safety
    /// As for [`rebind`](Self::rebind).
    pub(super) unsafe fn change_all<E: Exchange>(
        &self,
        state: &mut State,
        tree: &definition::State,
        users: &Users,
        exchange: &E,
    ) -> Result<Holds, Error> {
        state.held.check(self)?;
        let State { raw: Some(raw), contents, broken, keeps, .. } = &mut *state else {
            return Err(self.gone());
        };
        *keeps |= exchange.keeps();
        let mut setting = Setting::of(raw);
        let mut done = Done::new(users.all().len());
        for of_page in users.each_page() {
            // SAFETY: the caller vouches for what is exchanged.
            let changed =
                unsafe { self.change_page(&mut setting, contents, tree, of_page, exchange, &mut done) };
            let Err((mut failure, id)) = changed else { continue };
            let name = tree.name_of(id);
            failure.message.push_str(&format!(". It was about {name}; "));
            match self.undo(&mut setting, contents, tree, users, exchange, &done) {
                None => failure.message.push_str("all other nodes are as they were"),
                Some(why) => {
                    failure
                        .message
                        .push_str(&format!("{why}, so that it cannot be launched any more: {CURE}"));
                    *broken = Some(why);
                }
            }
            // It was kept beside what is there again; for which node is not told, and this one keeps it as well as any.
            contents.keep(id, done.gone);
            return Err(failure);
        }
        drop(setting);
        self.watch(state, tree, users.each_node().map(|of_node| of_node[0].node));
        Ok(done.gone)
    }

    /// Changes nodes whose records share a page. A failure comes with the node that it is about, which is as it was.
    ///
    /// # Safety
    /// As for [`rebind`](Self::rebind).
    #[inline(always)]
    unsafe fn change_page<E: Exchange>(
        &self,
        setting: &mut Setting<'_>,
        contents: &mut Contents,
        tree: &definition::State,
        of_page: &[User],
        exchange: &E,
        done: &mut Done<E::Part>,
    ) -> Result<(), (Error, NodeId)> {
        let Some(mut page) = contents.edit_page_of(of_page[0].node) else {
            return Err((self.gone(), of_page[0].node));
        };
        for of_node in by_node(of_page) {
            let (id, start) = (of_node[0].node, done.undo.len());
            let Some((Record { parameters, .. }, context)) = page.edit(id) else {
                return Err((self.gone(), id));
            };
            let at = context.unwrap_or(self.0.tree.context());
            of_node.iter().for_each(|user| exchange.put(parameters, user.part, &mut done.undo));
            // SAFETY: the caller vouches for what is exchanged; the node is there, which the lock keeps.
            if let Err(error) = unsafe { setting.set(tree.node(id).native, parameters, at) } {
                exchange.put_back(parameters, of_node, &done.undo[start..]);
                return Err((self.failed(error), id));
            }
            exchange.keep(&mut page, id, &done.undo[start..], &mut done.gone);
            done.ends.push(done.undo.len() as u32);
        }
        Ok(())
    }

    /// Gives nodes what they had. Answers with why nothing is launched any more, if the driver refuses even that.
    #[cold]
    fn undo<E: Exchange>(
        &self,
        setting: &mut Setting<'_>,
        contents: &mut Contents,
        tree: &definition::State,
        users: &Users,
        exchange: &E,
        done: &Done<E::Part>,
    ) -> Option<String> {
        let mut broken = None;
        let each: Vec<_> = users.each_node().zip(done.each()).collect();
        for (of_node, undo) in each.into_iter().rev() {
            let id = of_node[0].node;
            let Some(mut page) = contents.edit_page_of(id) else { continue };
            exchange.keep_again(&mut page, id, undo);
            let Some((Record { parameters, .. }, context)) = page.edit(id) else { continue };
            let at = context.unwrap_or(self.0.tree.context());
            exchange.put_back(parameters, of_node, undo);
            // SAFETY: the node had these parameters before.
            if unsafe { setting.set(tree.node(id).native, parameters, at) }.is_err() {
                let name = tree.name_of(id);
                broken = Some(format!(
                    "a change of many nodes failed half-way, and {name} could not be changed back"
                ));
            }
        }
        broken
    }
}

/// One object takes the place of another.
pub(super) struct Object<'a>(pub(super) &'a Rebinding<'a>);

impl Exchange for Object<'_> {
    /// The number of an argument, or of an end.
    type Part = u32;

    #[inline(always)]
    fn put(&self, parameters: &mut Parameters, _part: u32, undo: &mut Vec<u32>) {
        parameters.rebind(self.0, undo);
    }

    fn put_back(&self, parameters: &mut Parameters, _users: &[User], undo: &[u32]) {
        parameters.unbind(self.0, undo);
    }

    #[inline(always)]
    fn keep(&self, page: &mut EditedPage<'_>, id: NodeId, places: &[u32], gone: &mut Holds) {
        exchange(page, id, places, self.0.new_hold(), |old| {
            if !self.0.is_old_hold(&old) {
                gone.keep(For::Inner, old);
            }
        });
    }

    fn keep_again(&self, page: &mut EditedPage<'_>, id: NodeId, places: &[u32]) {
        exchange(page, id, places, &self.0.old_hold(), drop);
    }

    fn keeps(&self) -> bool {
        true
    }
}

/// Has a node keep an object for these places: arguments of a kernel, or ends.
#[inline]
fn exchange(page: &mut EditedPage<'_>, id: NodeId, places: &[u32], to: &Hold, mut gone: impl FnMut(Hold)) {
    for place in places {
        let Some((record, _)) = page.edit(id) else { return };
        let whose = kept_for(&record.parameters, *place);
        page.exchange(id, whose, to, &mut gone);
    }
}

/// An argument gets another value.
pub(super) struct Value<'a>(pub(super) &'a [u8]);

impl Exchange for Value<'_> {
    /// A byte of the value before.
    type Part = u8;

    #[inline(always)]
    fn put(&self, parameters: &mut Parameters, part: u32, undo: &mut Vec<u8>) {
        if let Parameters::Kernel(kernel) = parameters {
            kernel.set_value(part, self.0, undo);
        }
    }

    fn put_back(&self, parameters: &mut Parameters, users: &[User], undo: &[u8]) {
        let Parameters::Kernel(kernel) = parameters else { return };
        for (user, before) in users.iter().zip(undo.chunks(self.0.len().max(1))) {
            kernel.set_value(user.part, before, &mut Vec::new());
        }
    }
}

impl Exec {
    /// Which nodes use what, unless the definition has none of them any more.
    pub(super) fn find_uses<'a>(
        &self,
        state: &'a mut State,
        tree: &definition::State,
    ) -> Result<&'a mut Uses, Error> {
        if tree.root().is_none() {
            let what = if tree.is_lost() { "lost in a recapture" } else { "moved into another one" };
            return Err(self.refused(format!(
                "{self} was instantiated from a graph that was {what} since, so that nothing changes its nodes any more"
            )));
        }
        let known = state.uses.take().filter(|uses| uses.are_after(tree.removals));
        let uses = known.map_or_else(|| self.uses_now(state, tree), Ok)?;
        Ok(state.uses.insert(uses))
    }

    fn uses_now(&self, state: &State, tree: &definition::State) -> Result<Uses, Error> {
        let mut uses = Uses::after(tree.removals);
        for (id, record) in state.contents.iter() {
            if tree.find_number(id, record.number).is_none() {
                uses.removed.push(id);
            } else if record.is_told_by_parameters() {
                self.now_of(id, record, tree, |parameters| uses.add(id, parameters))?;
            }
        }
        Ok(uses)
    }
}
