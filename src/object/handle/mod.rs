//! Handles: checked 64-bit tokens for objects, safe to misuse from any thread.
//!
//! A C handle is a pointer whose value is a [`Token`]; it is never dereferenced. An object, an `Arc<T>` with
//! `T: Object`, is named by *owning tokens*, each of which keeps the object alive until [`Guard::destroy`] ends it, and
//! by one *borrowed* token, which keeps nothing alive and which nobody destroys.
//!
//! A call into the library starts with [`enter`]. Until the [`Guard`] is dropped, what [`Guard::get`] lent stays alive,
//! although other threads may destroy the handle meanwhile: a destroy ends the owning token at once, and lets go of the object
//! there and then unless another thread is inside a call that began before; in that case the thread that leaves last
//! lets go of it. So a call that blocks for long clones the `Arc` and drops its guard first.
//!
//! | file | concept |
//! |---|---|
//! | `kind` | the kinds of handles, and which type stands behind each |
//! | `token` | what the 64 bits mean |
//! | `object` | what an object brings: its header with label and tokens; what a look-up lends |
//! | `shared` | what shares an object: handles of the Rust interface |
//! | `threads` | which threads are inside a call |
//! | `record` | one thread: the call that it is inside, and what others left it to do |
//! | `records` | where records of threads live, and which are taken |
//! | `slots` | where slots live, and which are free |
//! | `runs` | runs of slots, whose handles name places of a page |
//! | `table` | issue, look up, destroy, let go |
//! | `labels` | the labels of the handles that were destroyed last |
//! | `error` | what is wrong with a handle, as data and as a sentence |
//! | `fork` | the child of a fork is told so |

mod error;
mod fork;
pub(crate) mod kind;
mod labels;
mod object;
mod record;
mod records;
mod runs;
mod shared;
mod slots;
mod sync;
mod table;
mod threads;
mod token;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod run_tests;
#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, not(loom)))]
pub(crate) use error::Fault;
pub(crate) use error::{Exhausted, Forked, HandleError};
pub(crate) use fork::{forked, watch as watch_forks};
pub(crate) use kind::Kind;
#[cfg(feature = "capi")]
pub(crate) use object::new_identity;
pub(crate) use object::{Header, Named, Object, Owned, Ref, object};
pub(crate) use runs::{PLACES, Page, Part, Run};
pub(crate) use shared::{Shared, Weakly, shared};
#[cfg(feature = "capi")]
pub(crate) use threads::Refused;
#[cfg(framed)]
pub(crate) use threads::leave_for_good;
pub(crate) use threads::{Hold, hold_releases, holds_releases, owes_releases};
pub(crate) use token::{DefaultStream, Token};

use super::spare;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::table;

/// Begins a call into the library; within another call of the same thread it costs next to nothing.
///
/// # Errors
/// [`Forked`] in the child of a fork, before any lock.
#[inline]
pub(crate) fn enter() -> Result<Guard, Forked> {
    Ok(Guard { call: threads::enter()?, _this_thread: PhantomData })
}

/// The same, refused while the thread [holds releases back](hold_releases).
///
/// # Errors
/// As for [`enter`]; that the thread holds releases back.
#[cfg(feature = "capi")]
#[inline]
pub(crate) fn enter_unless_holding() -> Result<Guard, Refused> {
    Ok(Guard { call: threads::enter_unless_holding()?, _this_thread: PhantomData })
}

/// Reserves an owning token, so that nothing can fail any more when there is an object for it.
///
/// # Errors
/// [`Exhausted`] when 16,777,216 handles are in use.
pub(crate) fn reserve<T: Object>() -> Result<Reserved<T>, Exhausted> {
    Ok(Reserved { token: table().reserve::<T>()?, _object: PhantomData })
}

/// Sees to it that this thread can issue so many tokens, none of which comes from elsewhere meanwhile.
///
/// # Errors
/// [`Exhausted`] when 16,777,216 handles are in use.
#[cfg(feature = "capi")]
pub(crate) fn room(count: usize) -> Result<(), Exhausted> {
    if count == 0 { Ok(()) } else { table().stock(count) }
}

/// Refuses what would keep something for later, and has no token, while the process has no memory: what is put aside for such a time
/// is for the calls under way.
///
/// # Errors
/// [`Exhausted`].
#[inline]
pub(crate) fn check_memory() -> Result<(), Exhausted> {
    if spare::is_short() { Err(Exhausted::Memory) } else { Ok(()) }
}

/// An owning token of an object that does not exist yet. Dropping it gives the token back.
#[must_use = "what was reserved is given back otherwise"]
pub(crate) struct Reserved<T: Object> {
    token: Token,
    _object: PhantomData<fn(T)>,
}

impl<T: Object> Reserved<T> {
    /// Makes it a token of the object, which keeps that alive until it is destroyed.
    pub(crate) fn of(self, object: Arc<T>) -> Token {
        let token = self.token;
        std::mem::forget(self);
        table().owning(token, object);
        token
    }
}

impl<T: Object> Drop for Reserved<T> {
    fn drop(&mut self) {
        table().give_back(self.token);
    }
}

/// Makes an owning token of the object, which keeps it alive until it is destroyed.
///
/// # Errors
/// As for [`reserve`].
#[cfg(test)]
pub(crate) fn owning<T: Object>(object: Arc<T>) -> Result<Token, Exhausted> {
    Ok(reserve()?.of(object))
}

/// The object's borrowed token: the same each time, refused by destroy, dead when the object dies.
///
/// Looking it up costs as much as for an owning token while the owning token made last is alive, two counts of the `Arc`
/// more otherwise.
///
/// # Errors
/// [`Exhausted`] when 16,777,216 handles are in use.
pub(crate) fn borrowed<T: Object>(object: &Arc<T>) -> Result<Token, Exhausted> {
    table().borrowed(object)
}

/// Lets go of objects whose release was deferred and that no thread can be using any more; returns how many still wait.
///
/// Threads that leave a call do this by themselves; a worker thread may do it for a program that has gone idle. Does
/// nothing in the child of a fork.
pub(crate) fn collect() -> usize {
    if forked() { 0 } else { table().collect() }
}

/// Waits until the calls are over that other threads are inside now, but no longer than this: calls that begin later see what was written
/// before. Must follow a sequentially consistent read-modify-write.
pub(crate) fn let_others_leave(patience: Duration) {
    sync::barrier();
    let mut others = threads::with(|own| table().records.inside(Some(own), 0));
    let until = Instant::now() + patience;
    while !others.is_empty() && Instant::now() < until {
        std::thread::yield_now();
        others.retain(record::Call::goes_on);
    }
}

/// How many objects of each kind are alive, with or without handles; kinds with none are left out.
#[cfg(all(test, not(loom)))]
pub(crate) fn live_objects() -> Vec<(Kind, usize)> {
    table().live_objects()
}

/// All owning tokens that were not destroyed. Other threads may end them at any time.
#[cfg(all(test, not(loom)))]
pub(crate) fn owning_tokens() -> Vec<Token> {
    table().owning_tokens()
}

/// The calling thread is inside a call: what it looks up stays alive until this is dropped.
#[must_use = "what is looked up lives as long as the guard"]
pub(crate) struct Guard {
    call: record::Call,
    /// Dropping it on another thread would end the wrong call.
    _this_thread: PhantomData<*const ()>,
}

impl Guard {
    /// The object that the token names, lent for as long as the guard lives.
    ///
    /// # Errors
    /// A token that is NULL, made up, foreign, of another kind, or dead.
    #[inline]
    pub(crate) fn get<T: Object>(&self, token: Token) -> Result<Ref<'_, T::Shared>, HandleError> {
        table().get::<T>(token)
    }

    /// As [`get`](Self::get); `None` where that has an error, which [`fault`](Self::fault) tells.
    #[inline]
    pub(crate) fn find<T: Object>(&self, token: Token) -> Option<Ref<'_, T::Shared>> {
        table().find::<T>(token)
    }

    /// What is wrong with a token that [`find`](Self::find) does not find.
    pub(crate) fn fault<T: Object>(&self, token: Token) -> HandleError {
        table().fault::<T>(token)
    }

    /// By what the object is named that the token stands for, of whatever kind; lent to `body`, which is called at most once.
    ///
    /// # Errors
    /// The token is NULL, made up, foreign or gone.
    pub(crate) fn with_named(
        &self,
        token: Token,
        body: &mut dyn FnMut(&dyn Named),
    ) -> Result<(), HandleError> {
        table().with_named(token, body)
    }

    /// Ends the owning token. The exclusive borrow says that this call uses nothing any more that it looked up.
    ///
    /// # Errors
    /// As [`get`](Self::get); an owning token that was destroyed before is [`Fault::AlreadyDestroyed`], a borrowed token
    /// [`Fault::Borrowed`]. Nothing is destroyed then.
    pub(crate) fn destroy<T: Object>(&mut self, token: Token) -> Result<Released<T>, HandleError> {
        table().destroy(token, &mut self.call)
    }

    /// As [`reserve`].
    ///
    /// # Errors
    /// As for [`reserve`].
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn reserve<T: Object>(&self) -> Result<Reserved<T>, Exhausted> {
        Ok(Reserved { token: table().reserve_of::<T>(self.call.record())?, _object: PhantomData })
    }

    /// Whether both tokens name the same object.
    ///
    /// # Errors
    /// Either token is NULL, made up, foreign or gone.
    pub(crate) fn same(&self, a: Token, b: Token) -> Result<bool, HandleError> {
        table().same(a, b)
    }

    /// One line on any value: `stream "copy"`, `destroyed event`, `not a handle (0x10)`.
    pub(crate) fn describe(&self, token: Token) -> String {
        table().describe(token)
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        self.call.leave();
    }
}

/// What became of a destroyed owning token's hold on its object.
#[must_use = "dropping `Now` may release the object; `Later` is to be counted"]
pub(crate) enum Released<T: Object> {
    /// The hold itself. If it is the last one, dropping it releases the object, here and on this thread. Dropping the
    /// guard may release other objects, for which this destroy does not answer.
    Now(#[cfg_attr(not(feature = "capi"), allow(dead_code))] Owned<T>),
    /// Another thread (or an outer call of this one) may be using the object; the last of them to leave lets go of it.
    Later,
}
