//! Handles: checked 64-bit tokens for objects, safe to misuse from any thread.
//!
//! A C handle is a pointer whose value is a [`Token`]; it is never dereferenced. An object, an `Arc<T>` with
//! `T: Object`, is named by *claims*, each a token of its own that keeps the object alive until [`Guard::destroy`] ends
//! it, and by one *borrowed* token, which keeps nothing alive and which nobody destroys.
//!
//! A call into the library starts with [`enter`]. Until the [`Guard`] is dropped, what [`Guard::get`] lent stays alive,
//! although other threads may destroy the handle meanwhile: a destroy ends the claim at once, and lets go of the object
//! there and then unless another thread is inside a call that began before; in that case the thread that leaves last
//! lets go of it. So a call that blocks for long clones the `Arc` and drops its guard first.
//!
//! | file | concept |
//! |---|---|
//! | `kind` | the kinds of handles, and which type stands behind each |
//! | `token` | what the 64 bits mean |
//! | `object` | what an object brings: its header with label and tokens; what a look-up lends |
//! | `threads` | which threads are inside a call |
//! | `slots` | where slots live, and which are free |
//! | `table` | issue, look up, destroy, let go |
//! | `error` | what is wrong with a handle, as data and as a sentence |
//! | `fork` | the child of a fork is told so |

mod error;
mod fork;
pub(crate) mod kind;
mod object;
mod slots;
mod sync;
mod table;
mod threads;
mod token;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, not(loom)))]
pub(crate) use error::Fault;
pub(crate) use error::{Exhausted, Forked, HandleError};
pub(crate) use fork::{forked, watch as watch_forks};
pub(crate) use kind::Kind;
pub(crate) use object::{Header, Object, Ref, object};
pub(crate) use threads::{Hold, hold_releases, owes_releases};
pub(crate) use token::Token;

use std::marker::PhantomData;
use std::sync::Arc;
use sync::table;

/// Begins a call into the library; within another call of the same thread it costs next to nothing.
///
/// # Errors
/// [`Forked`] in the child of a fork, before any lock.
#[inline]
pub(crate) fn enter() -> Result<Guard, Forked> {
    Ok(Guard { call: threads::enter()?, _this_thread: PhantomData })
}

/// Makes a claim on the object: a new token, which keeps it alive until it is destroyed.
///
/// # Errors
/// [`Exhausted`] when 16,777,216 handles are in use.
pub(crate) fn claim<T: Object>(object: Arc<T>) -> Result<Token, Exhausted> {
    table().claim(object)
}

/// The object's borrowed token: the same each time, refused by destroy, dead when the object dies.
///
/// Looking it up costs as much as a claim while the claim made last is alive, two counts of the `Arc` more otherwise.
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

/// How many objects of each kind are alive, with or without handles; kinds with none are left out.
#[cfg(all(test, not(loom)))]
pub(crate) fn live_objects() -> Vec<(Kind, usize)> {
    table().live_objects()
}

/// All claims that were not destroyed. Other threads may end them at any time.
#[cfg(all(test, not(loom)))]
pub(crate) fn claims() -> Vec<Token> {
    table().claims()
}

/// The calling thread is inside a call: what it looks up stays alive until this is dropped.
#[must_use = "what is looked up lives as long as the guard"]
pub(crate) struct Guard {
    call: threads::Call,
    /// Dropping it on another thread would end the wrong call.
    _this_thread: PhantomData<*const ()>,
}

impl Guard {
    /// The object that the token names, lent for as long as the guard lives.
    ///
    /// # Errors
    /// A token that is NULL, made up, foreign, of another kind, or of a claim or an object that is gone.
    #[inline]
    pub(crate) fn get<T: Object>(&self, token: Token) -> Result<Ref<'_, T>, HandleError> {
        table().get(token)
    }

    /// Ends the claim. The exclusive borrow says that this call uses nothing any more that it looked up.
    ///
    /// # Errors
    /// As [`get`](Self::get); a claim that was destroyed before is [`Fault::AlreadyDestroyed`], a borrowed token
    /// [`Fault::Borrowed`]. Nothing is destroyed then.
    pub(crate) fn destroy<T: Object>(&mut self, token: Token) -> Result<Released<T>, HandleError> {
        table().destroy(token, self.call)
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

/// What became of a destroyed claim's hold on its object.
#[must_use = "dropping `Now` may release the object; `Later` is to be counted"]
pub(crate) enum Released<T> {
    /// The hold itself. If it is the last one, dropping it releases the object, here and on this thread. Dropping the
    /// guard may release other objects, for which this destroy does not answer.
    Now(#[cfg_attr(any(not(test), loom), allow(dead_code))] Arc<T>),
    /// Another thread (or an outer call of this one) may be using the object; the last of them to leave lets go of it.
    Later,
}
