//! What nodes do, and what is kept for that, page by page.

use super::ids::{GraphId, NodeId, PLACES};
use super::page::Page;
use super::record::{Loose, Record};
use crate::context::Context;
use crate::driver::CallError;
use crate::op::attachment::{Attachment, Prepared, let_go_of};
use crate::op::node::{For, Hold, Holds};
use std::sync::Arc;

/// The records of many nodes, and what is kept for none of them.
///
/// A copy shares the pages. A page that only its holder has is edited in place; one that others have, too, is copied first. So nobody has
/// to be told of an edit, and what a page keeps goes with the last one that has it.
#[derive(Clone, Default)]
pub(super) struct Contents {
    pages: Vec<Option<Arc<Page>>>,
    /// How many records there are.
    count: usize,
    /// What graphs keep for nodes that nobody could tell when they were captured.
    pub(super) unplaced: Vec<(GraphId, Attachment)>,
}

impl Contents {
    /// How many records there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn page(&self, id: NodeId) -> Option<&Page> {
        self.pages.get(page_of(id))?.as_deref()
    }

    #[inline]
    fn page_mut(&mut self, id: NodeId) -> Option<&mut Page> {
        self.pages.get_mut(page_of(id))?.as_mut().map(own)
    }

    #[inline]
    pub(super) fn get(&self, id: NodeId) -> Option<&Record> {
        self.page(id)?.get(place_of(id))
    }

    /// A record, to be edited.
    #[inline]
    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Record> {
        self.page_mut(id)?.get_mut(place_of(id))
    }

    /// The same, and the context in which its node runs.
    #[inline]
    pub(super) fn edit(&mut self, id: NodeId) -> Option<(&mut Record, Option<&Context>)> {
        self.page_mut(id)?.edit(place_of(id))
    }

    /// The records that share a page with this one, to be edited.
    #[inline]
    pub(super) fn edit_page_of(&mut self, id: NodeId) -> Option<EditedPage<'_>> {
        self.page_mut(id).map(EditedPage)
    }

    /// Writes the record of a node, made where it stays: it is large.
    #[inline(always)]
    pub(super) fn put(&mut self, id: NodeId, make: impl FnOnce() -> Record) -> &mut Record {
        let page = page_of(id);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = own(self.pages[page].get_or_insert_with(Page::new));
        if page.put(place_of(id), make).is_none() {
            self.count += 1;
        }
        page.get_mut(place_of(id)).expect("it was just written")
    }

    /// Writes a record, with what else is known of its node.
    pub(super) fn put_loose(&mut self, id: NodeId, loose: Loose) {
        self.put(id, || loose.record);
        self.set_context(id, loose.context);
        self.attach(id, loose.attachment);
    }

    /// Takes a record out.
    pub(super) fn remove(&mut self, id: NodeId) -> Option<Loose> {
        let removed = self.page_mut(id)?.remove(place_of(id))?;
        self.count -= 1;
        Some(removed)
    }

    /// A copy of a record, to be put elsewhere.
    pub(super) fn loose(&self, id: NodeId) -> Option<Loose> {
        let (page, place) = (self.page(id)?, place_of(id));
        let record = page.get(place)?.clone();
        Some(Loose { record, context: page.context(place).cloned(), attachment: page.attachment(place) })
    }

    /// The context in which a node runs; `None` for that of the definition.
    #[inline]
    pub(super) fn context(&self, id: NodeId) -> Option<&Context> {
        self.page(id)?.context(place_of(id))
    }

    /// A node runs in this context from now on, or in that of the definition.
    pub(super) fn set_context(&mut self, id: NodeId, context: Option<Context>) {
        if context.as_ref() == self.context(id) {
            return;
        }
        if let Some(page) = self.page_mut(id) {
            page.set_context(place_of(id), context);
        }
    }

    /// Has this kept for a node, for which nothing is.
    #[inline]
    pub(super) fn attach(&mut self, id: NodeId, attachment: Option<Attachment>) {
        if let Some(attachment) = attachment
            && let Some(page) = self.page_mut(id)
        {
            page.attach(place_of(id), attachment);
        }
    }

    /// What is kept for a node, taken out.
    pub(super) fn detach(&mut self, id: NodeId) -> Option<Attachment> {
        self.page_mut(id)?.detach(place_of(id))
    }

    /// Has this kept for a node; answers with what was kept before.
    pub(super) fn reattach(&mut self, id: NodeId, attachment: Option<Attachment>) -> Option<Attachment> {
        let before = self.detach(id);
        self.attach(id, attachment);
        before
    }

    /// What is kept for a node, by whomever.
    pub(super) fn holds_of(&self, id: NodeId) -> Holds {
        self.page(id).map(|page| page.holds(place_of(id))).unwrap_or_default()
    }

    /// What is kept for a node here, taken out.
    pub(super) fn take_holds(&mut self, id: NodeId) -> Option<Holds> {
        self.page_mut(id)?.take_holds(place_of(id))
    }

    /// Whether an owner is kept here that came with a value among the arguments of a kernel.
    #[inline]
    pub(super) fn keeps_for_value(&self, id: NodeId) -> bool {
        self.page(id).is_some_and(|page| page.keeps_for_value(place_of(id)))
    }

    /// Has this kept here for a node, too.
    pub(super) fn keep(&mut self, id: NodeId, holds: Holds) {
        if let Some(page) = self.page_mut(id) {
            page.keep(place_of(id), holds);
        }
    }

    fn all_pages(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().flatten().map(Arc::as_ref)
    }

    /// All records, in the order of their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &Record)> {
        let pages = self.pages.iter().enumerate().filter_map(|(page, all)| Some((page, all.as_ref()?)));
        pages.flat_map(|(page, all)| all.iter().map(move |(place, record)| (id(page, place), record)))
    }

    /// What is kept here, and not by the driver's graphs.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Hold> {
        let unplaced = self.unplaced.iter().filter_map(|(_, kept)| kept.own());
        self.all_pages().flat_map(Page::objects).chain(unplaced.flat_map(Holds::objects))
    }

    /// Whether something is kept here.
    pub(super) fn keeps(&self) -> bool {
        self.objects().next().is_some()
    }

    /// What the driver's graphs keep for nodes.
    pub(super) fn given(&self) -> impl Iterator<Item = &Attachment> {
        self.all_pages().flat_map(Page::all_given)
    }

    /// The records of some graphs, and what is kept for these.
    pub(super) fn of_graphs(&self, is_of: impl Fn(GraphId) -> bool) -> Self {
        let mut contents = Self::default();
        for (id, _) in self.iter().filter(|(_, record)| is_of(record.graph)) {
            if let Some(loose) = self.loose(id) {
                contents.put_loose(id, loose);
            }
        }
        contents.unplaced.extend(self.unplaced.iter().filter(|(graph, _)| is_of(*graph)).cloned());
        contents
    }

    /// The same nodes, of which nobody knows what they do.
    pub(super) fn forgotten(&self) -> Self {
        let pages = self.pages.iter().map(|page| page.as_ref().map(|page| page.bare(|_| false))).collect();
        Self { pages, count: self.count, unplaced: Vec::new() }
    }

    /// Nodes do from now on what these records say, which are taken out. Answers with what they kept before.
    pub(super) fn take_over(&mut self, other: &mut Self) -> Vec<Holds> {
        let taken: Vec<_> = other.iter().map(|(id, _)| id).collect();
        let mut gone = Vec::new();
        for id in taken {
            gone.extend(self.take_holds(id));
            if let Some(loose) = other.remove(id) {
                self.put_loose(id, loose);
            }
        }
        gone
    }

    /// Nobody knows any more what the nodes of these graphs do. Answers with what they kept; where nobody can tell whether a graph is one of
    /// these, its nodes keep that.
    pub(super) fn forget(&mut self, is_of: impl Fn(GraphId) -> Option<bool>) -> Vec<Holds> {
        let mut gone = Vec::new();
        let all: Vec<_> = self.iter().map(|(id, record)| (id, is_of(record.graph))).collect();
        for (id, is_of) in all.into_iter().filter(|(_, is_of)| *is_of != Some(false)) {
            let Some(record) = self.get_mut(id) else { continue };
            record.is_known = false;
            if is_of.is_some() {
                gone.extend(self.take_holds(id));
            }
        }
        gone
    }

    /// Takes what is kept for nodes of these graphs, and for which.
    pub(super) fn take_attached(&mut self, is_of: impl Fn(GraphId) -> bool) -> Vec<(GraphId, Attachment)> {
        let mut taken = Vec::new();
        for page in self.pages.iter_mut().flatten().filter(|page| page.is_attached()) {
            let of_graphs = page.iter().filter(|(_, record)| is_of(record.graph));
            let of_graphs: Vec<_> = of_graphs.map(|(place, record)| (place, record.graph)).collect();
            if of_graphs.is_empty() {
                continue;
            }
            let page = own(page);
            let attached = |(place, graph)| page.detach(place).map(|attachment| (graph, attachment));
            taken.extend(of_graphs.into_iter().filter_map(attached));
        }
        taken.extend(self.unplaced.extract_if(.., |(graph, _)| is_of(*graph)));
        taken
    }

    /// Gives the driver's graphs all that is kept here, by what is prepared on each. If that fails, nothing is given.
    pub(super) fn give<'g>(
        &mut self,
        prepare: impl Fn(GraphId) -> Result<Prepared<'g>, CallError>,
    ) -> Result<(), CallError> {
        let keeps = |id: NodeId| self.page(id).is_some_and(|page| page.keeps(place_of(id)));
        let kept = self.iter().filter(|(id, _)| keeps(*id));
        let prepared = kept.map(|(id, record)| Ok((id, prepare(record.graph)?)));
        let prepared: Vec<_> = prepared.collect::<Result<_, CallError>>()?;
        let unplaced = self.unplaced.iter_mut().filter(|(_, kept)| kept.is_of_definition());
        let of_graphs = unplaced.map(|(graph, kept)| Ok((kept, prepare(*graph)?)));
        let of_graphs: Vec<_> = of_graphs.collect::<Result<_, CallError>>()?;
        // From here on nothing fails.
        of_graphs.into_iter().for_each(|(kept, prepared)| kept.give(prepared));
        for (id, prepared) in prepared {
            let given = self.take_holds(id).map(|holds| prepared.commit(holds));
            self.attach(id, given);
        }
        Ok(())
    }

    /// Forgets what is kept, also by the driver's graphs.
    pub(super) fn keep_nothing(&mut self) {
        drop(self.take_attached(|_| true));
    }

    /// Lets go of what is kept here; of what the driver's graphs keep they let go themselves.
    pub(super) fn let_go(&mut self) {
        for page in self.pages.iter_mut().flatten() {
            if is_shared(page) && page.objects().next().is_some() {
                *page = page.bare(|record| record.is_known);
            }
        }
        // The pages that others have, too, go on keeping.
        let pages = self.pages.iter_mut().flatten().filter_map(Arc::get_mut);
        let_go_of(pages.flat_map(Page::take_objects).chain(taken(&mut self.unplaced)));
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        // All at once: what goes with a page alone goes page by page.
        let pages = self.pages.iter_mut().flatten().filter_map(Arc::get_mut);
        let_go_of(pages.flat_map(Page::end).chain(taken(&mut self.unplaced)));
    }
}

/// What graphs keep here as a whole, taken out.
fn taken(unplaced: &mut [(GraphId, Attachment)]) -> impl Iterator<Item = Hold> {
    unplaced.iter_mut().filter_map(|(_, kept)| kept.take_own()).flat_map(Holds::into_objects)
}

/// Records of one page that are edited: whether others share it is asked once for all.
pub(super) struct EditedPage<'a>(&'a mut Page);

impl EditedPage<'_> {
    /// The record of a node, which is one of this page's, and the context in which it runs.
    #[inline]
    pub(super) fn edit(&mut self, id: NodeId) -> Option<(&mut Record, Option<&Context>)> {
        self.0.edit(place_of(id))
    }

    /// Keeps one object in place of all that was kept for this. What no node of the page needs any more is given to `gone`.
    #[inline]
    pub(super) fn exchange(&mut self, id: NodeId, whose: For, to: &Hold, gone: impl FnMut(Hold)) {
        self.0.exchange(place_of(id), whose, to, gone);
    }
}

/// Whether the records of two nodes stand in one page.
#[inline]
pub(super) fn share_page(one: NodeId, other: NodeId) -> bool {
    page_of(one) == page_of(other)
}

/// A page that only its holder has: a copy, if others have it, too.
#[inline(always)]
fn own(page: &mut Arc<Page>) -> &mut Page {
    if is_shared(page) {
        copy(page);
    }
    // SAFETY: nobody else has the page, nor can get it but from this holder, who is borrowed meanwhile; no weak ones are ever made.
    unsafe { &mut *Arc::as_ptr(page).cast_mut() }
}

/// Whether others have it, too; if not, what those read of it who let go of it is behind us.
#[inline]
fn is_shared(page: &mut Arc<Page>) -> bool {
    Arc::get_mut(page).is_none()
}

#[cold]
fn copy(page: &mut Arc<Page>) {
    *page = page.copy();
}

fn page_of(id: NodeId) -> usize {
    id.0 as usize / PLACES
}

fn place_of(id: NodeId) -> usize {
    id.0 as usize % PLACES
}

fn id(page: usize, place: usize) -> NodeId {
    NodeId((page * PLACES + place) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::node::{NodeType, Parameters};

    const LAST: u32 = 3 * PLACES as u32;

    /// Records in every third place, each of which keeps something.
    fn contents() -> (Contents, Vec<Hold>) {
        let mut contents = Contents::default();
        let holds: Vec<Hold> = (0..LAST).map(|number| Arc::new(number) as Hold).collect();
        for number in (0..LAST).step_by(3) {
            contents.put_loose(NodeId(number), loose(number, &holds[number as usize]));
        }
        (contents, holds)
    }

    fn loose(number: u32, hold: &Hold) -> Loose {
        let holds = Holds::of_inner(Arc::clone(hold));
        let record = Record { number, ..Record::new(Parameters::Plain(NodeType::Empty)) };
        Loose { record, context: None, attachment: Some(Attachment::of_definition(|| holds)) }
    }

    fn numbers(contents: &Contents) -> Vec<u32> {
        contents.iter().map(|(_, record)| record.number).collect()
    }

    /// Each node has one, and a page has 32: what few nodes have stands elsewhere.
    #[test]
    fn a_record_is_small() {
        assert!(size_of::<Option<Record>>() <= 136, "{} bytes", size_of::<Option<Record>>());
    }

    #[test]
    fn records_stand_in_their_places() {
        let (mut contents, _) = contents();
        assert_eq!(numbers(&contents), (0..LAST).step_by(3).collect::<Vec<_>>());
        assert_eq!(contents.count(), PLACES);
        assert!(contents.get(NodeId(1)).is_none() && contents.get(NodeId(LAST)).is_none());
        assert_eq!(contents.remove(NodeId(3)).map(|loose| loose.record.number), Some(3));
        assert!(contents.remove(NodeId(3)).is_none());
        assert_eq!(contents.count(), PLACES - 1);
    }

    #[test]
    fn a_copy_shares_pages_until_one_is_edited() {
        let (mut contents, holds) = contents();
        let copy = contents.clone();
        let is_same = |page: usize, one: &Contents| {
            Arc::ptr_eq(one.pages[page].as_ref().unwrap(), copy.pages[page].as_ref().unwrap())
        };
        assert!((0..3).all(|page| is_same(page, &contents)));
        contents.get_mut(NodeId(33)).unwrap().number = 7;
        assert!(is_same(0, &contents) && !is_same(1, &contents) && is_same(2, &contents));
        assert_eq!(copy.get(NodeId(33)).unwrap().number, 33);
        // Each of the two pages holds what it names.
        assert_eq!([0, 33].map(|at: usize| Arc::strong_count(&holds[at])), [2, 3]);
        // Nobody else has the page now: it stays where it is.
        let page = Arc::as_ptr(contents.pages[1].as_ref().unwrap());
        contents.get_mut(NodeId(36)).unwrap().number = 8;
        assert_eq!(page, Arc::as_ptr(contents.pages[1].as_ref().unwrap()));
    }

    #[test]
    fn who_lets_go_takes_nothing_from_others() {
        let (mut contents, _) = contents();
        let copy = contents.clone();
        contents.let_go();
        assert!(!contents.keeps() && copy.keeps());
        assert_eq!(numbers(&contents), numbers(&copy));
        assert!(copy.iter().all(|(id, _)| !copy.holds_of(id).is_empty()));
    }

    #[test]
    fn what_nobody_knows_any_more_is_still_there() {
        let (contents, _) = contents();
        let forgotten = contents.forgotten();
        assert_eq!(numbers(&forgotten), numbers(&contents));
        assert!(!forgotten.keeps() && forgotten.iter().all(|(_, record)| !record.is_known));
        assert!(contents.keeps() && contents.iter().all(|(_, record)| record.is_known));
    }

    #[test]
    fn threads_that_share_pages_edit_their_own() {
        let (contents, _) = contents();
        let copies: Vec<_> = (0..4).map(|_| contents.clone()).collect();
        drop(contents);
        std::thread::scope(|scope| {
            for (thread, mut copy) in (100..).zip(copies) {
                scope.spawn(move || {
                    for number in (0..LAST).step_by(3) {
                        copy.get_mut(NodeId(number)).unwrap().number += thread;
                    }
                    let expected: Vec<_> = (0..LAST).step_by(3).map(|number| number + thread).collect();
                    assert_eq!(numbers(&copy), expected);
                });
            }
        });
    }
}
