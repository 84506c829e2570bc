//! What all calls that take many items have in common, be it that they move, discard or copy.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::op::batch::{BatchOptions, WithoutBatch};
//! use cushim::op::{Copy, CopyAttributes, CopyBatch, SourceAccess};
//! use cushim::{Device, Stream, StreamOptions};
//!
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let stream = Stream::create(&context, &StreamOptions::default())?;
//! let (from, to) = (context.device().allocate(64, Some(&stream))?, context.device().allocate(64, Some(&stream))?);
//! let mut halves = [Copy::new(to.at(0), from.at(0), 32), Copy::new(to.at(32), from.at(32), 32)];
//! let attributes = [CopyAttributes::new(SourceAccess::InStreamOrder)]; // for all of them
//! let options = BatchOptions::default().without_batch(WithoutBatch::Refuse);
//! // SAFETY: both buffers have 64 bytes, and are freed in the order of the stream.
//! unsafe { stream.enqueue(&mut CopyBatch::new(&mut halves, &attributes).with_options(options)) }?;
//! # Ok::<(), cushim::Error>(())
//! ```
//!
//! - **Parameters:** the items, what goes with them (one for all, or one for each), the options.
//! - **Refused before anything is enqueued**, with the [`item`](crate::Failure::item) that is at fault where it is one: no
//!   items; a number of things that go with them that is neither 1 nor that of the items; an item that is not acceptable;
//!   the legacy default stream, and a stream that is being captured. It makes no difference whether the driver has a call
//!   for many.
//! - **One item** goes by the driver's call for one, where it has one. **More** go by its call for many, at most
//!   [`MOST_ITEMS`] at a time.
//! - **A driver without a call for many** gets the items one after the other, or the call is refused, as
//!   [`BatchOptions`] say. Discards are refused always.
//! - **If the driver refuses an item**, the call ends. Where it is known which one that was, the error's `item` says so. In
//!   a loop those before it are enqueued. A call for many does not say what it has enqueued of its items, and often not
//!   which one it refused: the error then has no `item`, and only the items of the calls before it are known to be
//!   enqueued.
//! - **Order:** the items of a batch are not ordered among each other, and a loop does not promise that they are.

use crate::driver::CallError;
use crate::object::error::{Error, Status};
use crate::object::setters::setters;
use crate::stream::{Stream, StreamKind};
use std::ops::Range;

/// Items that are given to the driver in one call; more go in several. Driver 580.159.04 is reported to have crashed with
/// 51,828 copies in one, on an RTX PRO 6000.
pub const MOST_ITEMS: usize = 4096;

/// How a call for many items is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BatchOptions {
    /// What to do on a driver that has no call for many items.
    pub without_batch: WithoutBatch,
}

setters!(BatchOptions { without_batch: WithoutBatch });

impl BatchOptions {
    /// Whether the driver's call for many is used.
    pub(crate) fn choose(self, stream: &Stream, has_batch: Result<(), CallError>) -> Result<bool, Error> {
        match (has_batch, self.without_batch) {
            (Ok(()), _) => Ok(true),
            (Err(_), WithoutBatch::Loop) => Ok(false),
            (Err(error), WithoutBatch::Refuse) => Err(stream.context().failed(error, stream)),
        }
    }
}

/// What to do on a driver that has no call for many items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WithoutBatch {
    /// Enqueue them one after the other.
    #[default]
    Loop,
    /// Enqueue none, with [`Status::UNSUPPORTED`].
    Refuse,
}

/// Something that goes with the items: one for all, or one for each.
#[derive(Clone, Copy)]
pub(crate) struct PerItem<'a, T>(&'a [T]);

impl<'a, T: Copy + PartialEq> PerItem<'a, T> {
    /// Refuses no items, and numbers that do not fit.
    pub(crate) fn new(what: &str, values: &'a [T], items: &str, count: usize) -> Result<Self, Error> {
        check_counts(what, values.len(), items, count).map(|()| Self(values))
    }

    pub(crate) fn values(&self) -> &'a [T] {
        self.0
    }

    /// The one that goes with an item.
    pub(crate) fn of(&self, item: usize) -> T {
        if self.0.len() == 1 { self.0[0] } else { self.0[item] }
    }

    /// What goes with a part of the items, as the driver takes it: each value that differs from the one before it, and the
    /// first item of the part that it goes with.
    pub(crate) fn runs<U>(&self, part: Range<usize>, native: impl Fn(T) -> U) -> (Vec<U>, Vec<usize>) {
        let starts = part.clone().filter(|item| *item == part.start || self.of(*item) != self.of(*item - 1));
        starts.map(|item| (native(self.of(item)), item - part.start)).unzip()
    }
}

/// Refuses no items, and a number of what goes with them that does not fit.
pub(crate) fn check_counts(what: &str, given: usize, items: &str, count: usize) -> Result<(), Error> {
    check_count(items, count)?;
    if given == 1 || given == count {
        return Ok(());
    }
    let refusal = format!("there are {given} {what} for {count} {items}; give one for all, or one for each");
    Err(Error::new(Status::INVALID_ARGUMENT, refusal))
}

/// Refuses a call for nothing.
pub(crate) fn check_count(items: &str, count: usize) -> Result<(), Error> {
    if count > 0 {
        return Ok(());
    }
    Err(Error::new(Status::INVALID_ARGUMENT, format!("there are no {items}; leave the call out")))
}

/// Checks one after the other; the error says which one it is about.
pub(crate) fn check_each<T>(
    items: &[T],
    mut check: impl FnMut(&T) -> Result<(), Error>,
) -> Result<(), Error> {
    for (index, item) in items.iter().enumerate() {
        if let Err(failure) = check(item) {
            let is_only = items.len() == 1;
            return Err(if is_only { failure.at_item(index) } else { failure.of_item("item", index) });
        }
    }
    Ok(())
}

/// Refuses the streams in which the driver takes no batch, before it sees them: there a refusal ends a capture.
pub(crate) fn check_stream(stream: &Stream, what: &str) -> Result<(), Error> {
    if stream.kind() == StreamKind::Legacy {
        let refusal =
            format!("{stream} cannot take {what}: create a stream, or use the per-thread default stream");
        return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(stream));
    }
    refuse_capture(stream, what)
}

/// Refuses a stream that is being captured: the driver would refuse too, and the capture would be lost.
pub(crate) fn refuse_capture(stream: &Stream, what: &str) -> Result<(), Error> {
    if !stream.is_capturing()? {
        return Ok(());
    }
    let refusal =
        format!("{stream} is being captured, and {what} cannot be part of a graph: use another stream");
    Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(stream))
}

/// Enqueues items that have been checked, one after the other.
pub(crate) fn one_by_one(
    count: usize,
    mut enqueue: impl FnMut(usize) -> Result<(), Error>,
) -> Result<(), Error> {
    for item in 0..count {
        enqueue(item).map_err(|failure| refused(failure, item, count))?;
    }
    Ok(())
}

/// Why a call for many items failed.
pub(crate) struct Refusal {
    pub(crate) failure: Error,
    /// The item of the part that the driver names, if it does.
    pub(crate) item: Option<usize>,
}

impl From<Error> for Refusal {
    fn from(failure: Error) -> Self {
        Self { failure, item: None }
    }
}

/// Enqueues items that have been checked, so many in a call as one may have.
pub(crate) fn in_parts(
    count: usize,
    mut enqueue: impl FnMut(Range<usize>) -> Result<(), Refusal>,
) -> Result<(), Error> {
    for start in (0..count).step_by(MOST_ITEMS) {
        let part = start..count.min(start + MOST_ITEMS);
        enqueue(part.clone()).map_err(|refusal| refused_in(refusal, part, count))?;
    }
    Ok(())
}

#[cold]
fn refused(mut failure: Error, item: usize, count: usize) -> Error {
    failure.item = Some(item);
    if count > 1 {
        failure.message.push_str(&match item {
            0 => format!(". This was item 0 of {count}; none is enqueued"),
            _ => format!(". This was item {item} of {count}; those before it are enqueued"),
        });
    }
    failure
}

#[cold]
fn refused_in(refusal: Refusal, part: Range<usize>, count: usize) -> Error {
    let Refusal { mut failure, item } = refusal;
    let Range { start, end } = part;
    failure.item = item.filter(|item| *item < end - start).map(|item| start + item);
    if count == 1 {
        failure.item = Some(0);
        return failure;
    }
    let last = end - 1;
    let what = match failure.item {
        Some(item) => {
            format!(
                ". This was item {item} of {count}; what of items {start} to {last} is enqueued the driver does not say"
            )
        }
        None => {
            format!(
                ". Which of items {start} to {last} that was, and what of them is enqueued, the driver does not say"
            )
        }
    };
    failure.message.push_str(&what);
    if start > 0 {
        failure.message.push_str(&format!("; those before item {start} are enqueued"));
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault() -> Error {
        Error::new(Status(1), "refused")
    }

    #[test]
    fn one_for_all_or_one_for_each() {
        let all = PerItem::new("locations", &[7], "ranges", 3).expect("one for all");
        assert_eq!((all.of(0), all.of(2)), (7, 7));
        assert_eq!(all.runs(1..3, |value| value), (vec![7], vec![0]));
        let each = PerItem::new("locations", &[1, 1, 2, 1], "ranges", 4).expect("one for each");
        assert_eq!(each.runs(0..4, |value| value * 10), (vec![10, 20, 10], vec![0, 2, 3]));
        assert_eq!(each.runs(1..3, |value| value), (vec![1, 2], vec![0, 1]));
        for (values, count, why) in [
            (&[1, 2][..], 3, "2 locations for 3 ranges"),
            (&[], 3, "0 locations for 3 ranges"),
            (&[1, 2], 1, "2 locations for 1 ranges"),
            (&[1], 0, "there are no ranges"),
        ] {
            let Err(error) = PerItem::new("locations", values, "ranges", count) else { panic!("{why}") };
            assert!(error.message.contains(why), "{error}");
        }
    }

    #[test]
    fn a_check_says_which_item_it_is_about() {
        let check = |item: &i32| if *item == 3 { Err(fault()) } else { Ok(()) };
        check_each(&[1, 2], check).expect("none is bad");
        let error = check_each(&[1, 2, 3, 3], check).expect_err("the third is bad");
        assert_eq!((error.item, error.message.as_str()), (Some(2), "item 2: refused"));
        let error = check_each(&[3], check).expect_err("it is bad");
        assert_eq!((error.item, error.message.as_str()), (Some(0), "refused"));
    }

    #[test]
    fn a_loop_ends_at_the_item_that_is_refused() {
        let mut seen = Vec::new();
        let error = one_by_one(4, |item| {
            seen.push(item);
            if item == 2 { Err(fault()) } else { Ok(()) }
        });
        let error = error.expect_err("one is refused");
        assert_eq!((seen, error.item), (vec![0, 1, 2], Some(2)));
        assert!(error.message.ends_with("This was item 2 of 4; those before it are enqueued"), "{error}");
    }

    #[test]
    fn parts_have_a_limit_and_an_error_claims_no_more_than_is_known() {
        let count = 2 * MOST_ITEMS + 1;
        let mut parts = Vec::new();
        in_parts(count, |part| {
            parts.push(part);
            Ok(())
        })
        .expect("none is refused");
        assert_eq!(parts, [0..MOST_ITEMS, MOST_ITEMS..2 * MOST_ITEMS, 2 * MOST_ITEMS..count]);

        let second = |item| {
            move |part: Range<usize>| {
                if part.start == 0 { Ok(()) } else { Err(Refusal { failure: fault(), item }) }
            }
        };
        let error = in_parts(count, second(None)).expect_err("the second part is refused");
        assert_eq!(error.item, None);
        assert!(error.message.contains("Which of items 4096 to 8191 that was"), "{error}");
        assert!(error.message.ends_with("those before item 4096 are enqueued"), "{error}");
        let error = in_parts(count, second(Some(5))).expect_err("an item is refused");
        assert_eq!(error.item, Some(MOST_ITEMS + 5));
        let error = in_parts(count, second(Some(usize::MAX))).expect_err("no item is named");
        assert_eq!(error.item, None);
    }
}
