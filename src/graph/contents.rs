//! What nodes do, and what they keep for that, in pages: a record in the place of each node.

use super::ids::{GraphId, NodeId};
use crate::context::Context;
use crate::driver::CallError;
use crate::op::attachment::{Attachment, Prepared, let_go_of};
use crate::op::node::{Holds, NodeType, Parameters};
use std::sync::Arc;

/// How many nodes share a page.
const PLACES: usize = 32;

/// What a node does, and what it keeps for that.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) graph: GraphId,
    /// By this the node is named; greater for what was made later.
    pub(super) number: u32,
    pub(super) parameters: Parameters,
    /// Whether the parameters are what this library gave. Of somebody else's node only the type is known.
    pub(super) is_ours: bool,
    /// Whether the node is the library's own, and nobody is told of it.
    pub(super) is_hidden: bool,
    /// Whether anybody knows what the node does: not in an exec that took over nodes which cannot be told apart.
    pub(super) is_known: bool,
    /// The context in which the node runs; `None` for that of the definition.
    pub(super) context: Option<Context>,
    pub(super) attachment: Option<Attachment>,
}

impl Record {
    /// Of a node for which nothing is kept.
    pub(super) fn new(parameters: Parameters) -> Self {
        Self::keeping(parameters, None, None)
    }

    /// Of a node for which something is kept, in a context of its own.
    #[inline(always)]
    pub(super) fn keeping(
        parameters: Parameters,
        attachment: Option<Attachment>,
        context: Option<Context>,
    ) -> Self {
        Self {
            graph: GraphId::ROOT,
            number: 0,
            parameters,
            is_ours: true,
            is_hidden: false,
            is_known: true,
            context,
            attachment,
        }
    }

    /// The same in another definition, whose nodes run in another context by themselves.
    pub(super) fn moved(mut self, from: &Context, to: &Context) -> Self {
        let context = self.context.unwrap_or_else(|| from.clone());
        self.context = (context != *to).then_some(context);
        self
    }

    /// The same, and nothing is kept for it but by the driver's graph.
    fn keeping_nothing(&self) -> Self {
        let attachment = self.attachment.as_ref().filter(|kept| !kept.is_of_definition()).cloned();
        Self { parameters: self.parameters.clone(), context: self.context.clone(), attachment, ..*self }
    }

    /// What is kept here, and not by the driver's graph.
    #[inline]
    pub(super) fn holds(&self) -> Option<&Holds> {
        self.attachment.as_ref()?.own()
    }

    /// The same, to be changed, beside what the node does.
    pub(super) fn holds_mut(&mut self) -> (&mut Holds, &Parameters) {
        if self.holds().is_none() {
            self.attachment = Some(Attachment::of_definition(Holds::default));
        }
        let holds = self.attachment.as_mut().and_then(Attachment::own_mut);
        (holds.expect("it was just made sure"), &self.parameters)
    }

    /// The same, taken out.
    pub(super) fn take_holds(&mut self) -> Option<Holds> {
        self.attachment.as_mut()?.take_own()
    }

    /// Keeps this, and nothing else, here.
    pub(super) fn keep(&mut self, holds: Holds) {
        self.attachment = (!holds.is_empty()).then(|| Attachment::of_definition(|| holds));
    }

    /// Whether the parameters are known without asking the driver for each.
    pub(super) fn is_told_by_parameters(&self) -> bool {
        self.is_ours && !matches!(self.parameters, Parameters::Plain(_))
    }

    pub(super) fn node_type(&self) -> NodeType {
        self.parameters.node_type()
    }
}

#[repr(transparent)]
struct Page([Option<Record>; PLACES]);

impl Page {
    fn new() -> Arc<Self> {
        Self::of(|_| None)
    }

    /// Made place by place where it stays: where nothing is optimised, the whole of it would take 10 KiB of the caller's stack, which may be small.
    #[inline]
    fn of(mut make: impl FnMut(usize) -> Option<Record>) -> Arc<Self> {
        let mut page = Arc::<Self>::new_uninit();
        let first =
            Arc::get_mut(&mut page).expect("nobody else has it yet").as_mut_ptr().cast::<Option<Record>>();
        for place in 0..PLACES {
            // SAFETY: a page is that many records, one behind the other, and this is one of them.
            unsafe { first.add(place).write(make(place)) };
        }
        // SAFETY: each of its places was written.
        unsafe { page.assume_init() }
    }

    fn forgotten(&self) -> Arc<Self> {
        let mut page = self.keeping_nothing();
        own(&mut page).0.iter_mut().flatten().for_each(|record| record.is_known = false);
        page
    }

    fn keeps(&self) -> bool {
        self.0.iter().flatten().any(|record| record.holds().is_some())
    }

    fn keeping_nothing(&self) -> Arc<Self> {
        Self::of(|place| self.0[place].as_ref().map(Record::keeping_nothing))
    }
}

/// The records of many nodes, page by page, and what is kept for none of them.
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
    pub(super) fn get(&self, id: NodeId) -> Option<&Record> {
        self.pages.get(page_of(id))?.as_ref()?.0[place_of(id)].as_ref()
    }

    /// A record, to be edited.
    #[inline]
    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Record> {
        own(self.pages.get_mut(page_of(id))?.as_mut()?).0[place_of(id)].as_mut()
    }

    /// The records that share a page with this one, to be edited.
    #[inline]
    pub(super) fn edit_page_of(&mut self, id: NodeId) -> Option<EditedPage<'_>> {
        Some(EditedPage(own(self.pages.get_mut(page_of(id))?.as_mut()?)))
    }

    /// Writes the record of a node, made where it stays: it is large.
    #[inline(always)]
    pub(super) fn put(&mut self, id: NodeId, make: impl FnOnce() -> Record) -> &mut Record {
        let page = page_of(id);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let place = &mut own(self.pages[page].get_or_insert_with(Page::new)).0[place_of(id)];
        if place.is_some() {
            *place = None;
            self.count -= 1;
        }
        self.count += 1;
        // SAFETY: nothing stands there that would have to be dropped.
        unsafe { std::ptr::from_mut(place).write(Some(make())) };
        place.as_mut().expect("it was just written")
    }

    /// Takes a record out.
    pub(super) fn remove(&mut self, id: NodeId) -> Option<Record> {
        let record = own(self.pages.get_mut(page_of(id))?.as_mut()?).0[place_of(id)].take();
        self.count -= usize::from(record.is_some());
        record
    }

    /// All records, in the order of their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &Record)> {
        let pages = self.pages.iter().enumerate().filter_map(|(page, all)| Some((page, all.as_ref()?)));
        pages.flat_map(|(page, all)| {
            let records = all.0.iter().enumerate();
            records.filter_map(move |(place, record)| Some((id(page, place), record.as_ref()?)))
        })
    }

    /// What is kept here, and not by the driver's graphs.
    pub(super) fn holds(&self) -> impl Iterator<Item = &Holds> {
        let of_nodes = self.iter().filter_map(|(_, record)| record.holds());
        of_nodes.chain(self.unplaced.iter().filter_map(|(_, kept)| kept.own()))
    }

    /// Whether something is kept here.
    pub(super) fn keeps(&self) -> bool {
        self.holds().any(|holds| !holds.is_empty())
    }

    /// The records of some graphs, and what is kept for these.
    pub(super) fn of_graphs(&self, is_of: impl Fn(GraphId) -> bool) -> Self {
        let mut contents = Self::default();
        for (id, record) in self.iter().filter(|(_, record)| is_of(record.graph)) {
            contents.put(id, || record.clone());
        }
        contents.unplaced.extend(self.unplaced.iter().filter(|(graph, _)| is_of(*graph)).cloned());
        contents
    }

    /// The same nodes, of which nobody knows what they do.
    pub(super) fn forgotten(&self) -> Self {
        let pages = self.pages.iter().map(|page| page.as_ref().map(|page| page.forgotten())).collect();
        Self { pages, count: self.count, unplaced: Vec::new() }
    }

    /// Nodes do from now on what these records say, which are taken out. Answers with what they kept before.
    pub(super) fn take_over(&mut self, other: &mut Self) -> Vec<Holds> {
        let taken: Vec<_> = other.iter().map(|(id, _)| id).collect();
        let mut gone = Vec::new();
        for id in taken {
            gone.extend(self.get_mut(id).and_then(Record::take_holds));
            if let Some(record) = other.remove(id) {
                self.put(id, || record);
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
            gone.extend(
                record.attachment.as_mut().filter(|_| is_of.is_some()).and_then(Attachment::take_own),
            );
        }
        gone
    }

    /// Takes what is kept for nodes of these graphs, and for which.
    pub(super) fn take_attached(&mut self, is_of: impl Fn(GraphId) -> bool) -> Vec<(GraphId, Attachment)> {
        let mut taken = Vec::new();
        for page in self.pages.iter_mut().flatten() {
            let is_attached = |record: &Record| record.attachment.is_some() && is_of(record.graph);
            if !page.0.iter().flatten().any(is_attached) {
                continue;
            }
            for record in own(page).0.iter_mut().flatten().filter(|record| is_attached(record)) {
                taken.extend(record.attachment.take().map(|attachment| (record.graph, attachment)));
            }
        }
        taken.extend(self.unplaced.extract_if(.., |(graph, _)| is_of(*graph)));
        taken
    }

    /// Gives the driver's graphs all that is kept here, by what is prepared on each. If that fails, nothing is given.
    pub(super) fn give<'g>(
        &mut self,
        prepare: impl Fn(GraphId) -> Result<Prepared<'g>, CallError>,
    ) -> Result<(), CallError> {
        let is_kept = |record: &Record| record.attachment.as_ref().is_some_and(Attachment::is_of_definition);
        let kept = self.iter().filter(|(_, record)| is_kept(record));
        let prepared = kept.map(|(id, record)| Ok((id, prepare(record.graph)?)));
        let prepared: Vec<_> = prepared.collect::<Result<_, CallError>>()?;
        let unplaced = self.unplaced.iter_mut().filter(|(_, kept)| kept.is_of_definition());
        let of_graphs = unplaced.map(|(graph, kept)| Ok((kept, prepare(*graph)?)));
        let of_graphs: Vec<_> = of_graphs.collect::<Result<_, CallError>>()?;
        // From here on nothing fails.
        of_graphs.into_iter().for_each(|(kept, prepared)| kept.give(prepared));
        for (id, prepared) in prepared {
            if let Some(kept) = self.get_mut(id).and_then(|record| record.attachment.as_mut()) {
                kept.give(prepared);
            }
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
            if is_shared(page) && page.keeps() {
                *page = page.keeping_nothing();
            }
        }
        self.let_go_of_own();
    }

    /// The same where the pages that others have, too, go on keeping.
    fn let_go_of_own(&mut self) {
        let pages = self.pages.iter_mut().flatten().filter_map(Arc::get_mut);
        let records = pages.flat_map(|page| page.0.iter_mut().flatten());
        let of_nodes = records.filter_map(|record| record.attachment.as_mut());
        let_go_of(of_nodes.chain(self.unplaced.iter_mut().map(|(_, kept)| kept)));
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        // All at once: what goes with a page alone goes one by one.
        self.let_go_of_own();
    }
}

/// Records of one page that are edited: whether others share it is asked once for all.
pub(super) struct EditedPage<'a>(&'a mut Page);

impl EditedPage<'_> {
    /// The record of a node, which is one of this page's.
    #[inline]
    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Record> {
        self.0.0[place_of(id)].as_mut()
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
    *page = Page::of(|place| page.0[place].clone());
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
    use crate::op::node::{For, Hold};

    const LAST: u32 = 3 * PLACES as u32;

    /// Records in every third place, each of which keeps something.
    fn contents() -> (Contents, Vec<Hold>) {
        let mut contents = Contents::default();
        let holds: Vec<Hold> = (0..LAST).map(|number| Arc::new(number) as Hold).collect();
        for number in (0..LAST).step_by(3) {
            contents.put(NodeId(number), || record(number, &holds[number as usize]));
        }
        (contents, holds)
    }

    fn record(number: u32, hold: &Hold) -> Record {
        let mut holds = Holds::default();
        holds.keep(For::Inner, Arc::clone(hold));
        let mut record = Record::new(Parameters::Plain(NodeType::Empty));
        record.number = number;
        record.keep(holds);
        record
    }

    fn numbers(contents: &Contents) -> Vec<u32> {
        contents.iter().map(|(_, record)| record.number).collect()
    }

    /// Each node has one, and a page has 32: what few nodes have stands elsewhere.
    #[test]
    fn a_record_is_small() {
        assert!(size_of::<Option<Record>>() <= 216, "{} bytes", size_of::<Option<Record>>());
    }

    #[test]
    fn records_stand_in_their_places() {
        let (mut contents, _) = contents();
        assert_eq!(numbers(&contents), (0..LAST).step_by(3).collect::<Vec<_>>());
        assert_eq!(contents.count(), PLACES);
        assert!(contents.get(NodeId(1)).is_none() && contents.get(NodeId(LAST)).is_none());
        assert_eq!(contents.remove(NodeId(3)).map(|record| record.number), Some(3));
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
        assert!(copy.iter().all(|(_, record)| record.holds().is_some_and(|holds| !holds.is_empty())));
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
