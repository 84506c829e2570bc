//! Runs of slots: the handles of what has no object of its own, but a place in a page.
//!
//! A run is taken as a whole when the first handle of its page is issued, and given back as a whole when the page ends. In between each
//! slot has tokens of its own, one after the other as its place is used again; a look-up tells what stood in the place as long as the token
//! was in force, and whoever follows that to the place compares it there, under the lock of whoever has the page.

use super::kind::{Divided, Listed};
use super::object::{Named, Operations};
use super::slots::{RUN, Slot};
use super::sync::table;
use super::{Exhausted, Guard, Token, forked};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// How many places a page has.
pub(crate) const PLACES: usize = RUN;

/// What places are in, whose parts the handles of a run name. What stands in a place is told apart by a number of the page's own.
pub(crate) trait Page: Send + Sync + Sized + 'static {
    /// The marker of the kind, which in turn names this type.
    type Kind: Divided<Page = Self>;

    /// Whether anything in it was ever called something.
    fn has_labels(&self) -> bool;

    /// What this is called.
    fn label(&self, what: u64) -> Option<Arc<str>>;

    fn set_label(&self, what: u64, label: Option<&str>);

    /// A number that no other object of the process has.
    #[cfg(feature = "capi")]
    fn identity(&self, what: u64) -> u64;
}

/// What a look-up found in a place of a page, when the handle was in force.
pub(crate) struct Part<'guard, P> {
    page: &'guard P,
    place: usize,
    what: u64,
}

impl<'guard, P: Page> Part<'guard, P> {
    pub(crate) fn page(&self) -> &'guard P {
        self.page
    }

    pub(crate) fn place(&self) -> usize {
        self.place
    }

    /// What stood there.
    pub(crate) fn what(&self) -> u64 {
        self.what
    }

    /// What a token names that is in force; `None` if it ends by now.
    ///
    /// # Safety
    /// The token was in force in this slot during the call that the guard stands for, and is of the page's kind.
    #[inline]
    pub(super) unsafe fn of(slot: &'static Slot, token: Token) -> Option<Self> {
        let page = slot.object.load(Relaxed).cast_const().cast::<P>();
        let what = slot.link.load(Acquire);
        // If something else stands there by now, the token ended before that was written.
        if slot.word.load(Relaxed) != token.0 {
            return None;
        }
        // SAFETY: slots of this kind are in runs of such a page, which is kept until this thread has left the call.
        Some(Self { page: unsafe { &*page }, place: token.index() % RUN, what })
    }
}

impl<P: Page> Named for Part<'_, P> {
    fn label(&self) -> Option<Arc<str>> {
        self.page.label(self.what)
    }

    fn set_label(&self, label: Option<&str>) {
        self.page.set_label(self.what, label);
    }

    #[cfg(feature = "capi")]
    fn identity(&self) -> u64 {
        self.page.identity(self.what)
    }
}

/// The handles of a page, and the page itself. When this is dropped all of them end, and with them the page, as soon as nobody who has
/// looked one up is inside that call.
pub(crate) struct Run<P: Page> {
    first: u32,
    page: NonNull<P>,
    owned: PhantomData<P>,
}

// SAFETY: it is shared as the page is, and slots are changed through atomics.
unsafe impl<P: Page> Send for Run<P> {}
// SAFETY: as above.
unsafe impl<P: Page> Sync for Run<P> {}

impl<P: Page> Run<P> {
    /// Handles for a page, of which none was issued yet.
    ///
    /// # Errors
    /// [`Exhausted`] when 16,777,216 handles are in use; never after [`Guard::room_for_run`].
    pub(crate) fn of(page: P) -> Result<Self, Exhausted> {
        let first = table().take_run()?;
        let page = NonNull::from(Box::leak(Box::new(page)));
        table().begin_run(first, page.as_ptr());
        Ok(Self { first, page, owned: PhantomData })
    }

    pub(crate) fn page(&self) -> &P {
        // SAFETY: it is there as long as this.
        unsafe { self.page.as_ref() }
    }

    /// Issues the handle of a place, which has none: this stands there. One at a time does that, and ends handles.
    #[inline]
    pub(crate) fn issue(&self, place: usize, what: u64) -> Token {
        table().issue_part(self.index(place), <P::Kind as Listed>::KIND, what)
    }

    /// The handle of a place, which has one.
    #[inline]
    pub(crate) fn token(&self, place: usize) -> Token {
        table().last_token(self.index(place))
    }

    /// What stands in a place is told apart by another number from now on.
    pub(crate) fn change(&self, place: usize, what: u64) {
        table().change_part(self.index(place), what);
    }

    /// Ends the handle of a place. Answers whether the place can have another one.
    pub(crate) fn end(&self, place: usize) -> bool {
        let label = |what| self.page().label(what);
        table().end_part(self.index(place), label)
    }

    #[inline]
    fn index(&self, place: usize) -> u32 {
        debug_assert!(place < PLACES);
        self.first + place as u32
    }

    /// Ends all handles of many pages: others are looked at once for all.
    pub(crate) fn end_all(runs: &mut [Option<Self>]) {
        if forked() {
            // They belong to the parent.
            return runs.iter_mut().for_each(|run| std::mem::forget(run.take()));
        }
        for run in runs.iter().flatten() {
            let page = run.page();
            let has_labels = page.has_labels();
            table().end_tokens(run.first, |what| if has_labels { page.label(what) } else { None });
        }
        // What is left of each belongs to its slots from here on.
        let ended = runs.iter_mut().filter_map(Option::take);
        table().let_go_of_runs(ended.map(|run| ManuallyDrop::new(run).first));
    }
}

impl<P: Page> Drop for Run<P> {
    fn drop(&mut self) {
        Self::end_all(&mut [Some(Self { first: self.first, page: self.page, owned: PhantomData })]);
    }
}

impl Guard {
    /// What the token names in a page, lent for as long as the guard lives.
    #[inline]
    pub(crate) fn find_part<P: Page>(&self, token: Token) -> Option<Part<'_, P>> {
        table().find_part(token)
    }

    /// What is wrong with a token that [`find_part`](Self::find_part) does not find.
    pub(crate) fn part_fault<P: Page>(&self, token: Token) -> super::HandleError {
        table().fault_of(token, <P::Kind as Listed>::KIND)
    }

    /// Sees to it that this thread can take one run.
    ///
    /// # Errors
    /// [`Exhausted`] when 16,777,216 handles are in use.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn room_for_run(&self) -> Result<(), Exhausted> {
        table().stock_run(self.call.record())
    }
}

/// What the table does with the slots of such a page.
pub(super) fn operations<P: Page>() -> &'static Operations {
    &Operations { with_named: with_named::<P>, let_go: let_go::<P>, is_run: true }
}

/// # Safety
/// As for [`Operations::with_named`].
unsafe fn with_named<P: Page>(slot: &'static Slot, token: Token, body: &mut dyn FnMut(&dyn Named)) {
    // SAFETY: as the caller vouches.
    if let Some(part) = unsafe { Part::<P>::of(slot, token) } {
        body(&part);
    }
}

/// # Safety
/// As for [`Operations::let_go`].
unsafe fn let_go<P: Page>(page: *const (), _: bool) {
    // SAFETY: `Run::of` made it of a box, and the run that had it is given back once.
    drop(unsafe { Box::from_raw(page.cast_mut().cast::<P>()) });
}
