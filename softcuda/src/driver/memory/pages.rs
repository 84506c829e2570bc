//! What is known about the pages of an allocation. Neighbours about which the same is known share an entry.

use super::attachment::{Attachment, Visibility};
use super::location::Location;
use crate::driver::device::Device;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Bytes of a page.
pub(crate) const SIZE: usize = 4096;

/// Where the bytes of a page are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Residence {
    /// Nobody has put anything there, or it was discarded.
    Nowhere,
    Host,
    Device(Device),
}

/// What is known about a page.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Option<Location>,
    /// Ordinals; the host is -1.
    pub(crate) accessed_by: BTreeSet<i32>,
    pub(crate) prefetched: Option<Location>,
    pub(crate) residence: Residence,
}

/// The pages of an allocation.
pub(crate) struct Pages {
    /// By the first page; each entry holds up to the next one, the last one up to the end.
    entries: Mutex<BTreeMap<usize, Page>>,
    /// Whose work may use them.
    pub(crate) attachment: Attachment,
}

impl Page {
    fn new() -> Self {
        Self {
            read_mostly: false,
            preferred: None,
            accessed_by: BTreeSet::new(),
            prefetched: None,
            residence: Residence::Nowhere,
        }
    }

    /// The device reads or writes it: it moves there, unless it was advised to stay where it is.
    fn arrive(&mut self, device: Device, writes: bool) {
        let preferred = self.preferred.map(residence);
        let here = Residence::Device(device);
        self.residence = match self.residence {
            Residence::Nowhere => preferred.unwrap_or(here),
            stays if Some(stays) == preferred || self.accessed_by.contains(&device.handle()) => stays,
            stays if self.read_mostly && !writes => stays,
            _ => here,
        };
    }
}

/// The pages of which some bytes of an allocation are.
pub(crate) fn touched(offset: usize, size: usize) -> Range<usize> {
    offset / SIZE..(offset + size).div_ceil(SIZE)
}

/// The bytes of an allocation that are on the same page as this one.
pub(crate) fn page_of(offset: usize, size: usize) -> Range<usize> {
    let start = offset / SIZE * SIZE;
    start..(start + SIZE).min(size)
}

/// What a place means for a page.
fn residence(location: Location) -> Residence {
    location.device().map_or(Residence::Host, Residence::Device)
}

impl Pages {
    pub(crate) fn new(visibility: Visibility, preferred: Option<Location>) -> Self {
        let page = Page { preferred, ..Page::new() };
        let entries = Mutex::new(BTreeMap::from([(0, page)]));
        Self { entries, attachment: Attachment::new(visibility) }
    }

    /// Changes what is known about a range of pages, which is not empty.
    pub(crate) fn change(&self, range: Range<usize>, change: impl Fn(&mut Page)) {
        let mut entries = self.entries.lock();
        split(&mut entries, range.start);
        split(&mut entries, range.end);
        entries.range_mut(range.clone()).for_each(|(_, page)| change(page));
        join(&mut entries, &range);
    }

    /// What all pages of a range, which is not empty, have in common; `None` where they differ.
    pub(crate) fn common<T: PartialEq>(&self, range: Range<usize>, what: impl Fn(&Page) -> T) -> Option<T> {
        self.fold(range, |page| Some(what(page)), |a, b| a.filter(|a| b.as_ref() == Some(a)))
    }

    /// The ordinals by which all pages of a range, which is not empty, are accessed.
    pub(crate) fn accessed_by(&self, range: Range<usize>) -> BTreeSet<i32> {
        self.fold(range, |page| page.accessed_by.clone(), |a, b| &a & &b)
    }

    fn fold<T>(&self, range: Range<usize>, what: impl Fn(&Page) -> T, both: impl Fn(T, T) -> T) -> T {
        let entries = self.entries.lock();
        let first = entries.range(..=range.start).next_back().map(|(_, page)| what(page));
        let rest = entries.range(range.start + 1..range.end.max(range.start + 1)).map(|(_, page)| what(page));
        first.into_iter().chain(rest).reduce(both).expect("there is an entry for page 0")
    }

    /// A device's work uses a range of pages.
    pub(crate) fn arrive(&self, range: Range<usize>, device: Device, writes: bool) {
        self.change(range, |page| page.arrive(device, writes));
    }

    /// They are moved.
    pub(crate) fn bring(&self, range: Range<usize>, to: Location) {
        self.change(range, |page| page.residence = residence(to));
    }

    /// Their content is given up.
    pub(crate) fn discard(&self, range: Range<usize>) {
        self.change(range, |page| page.residence = Residence::Nowhere);
    }

    /// Where a page is.
    pub(crate) fn residence(&self, page: usize) -> Residence {
        self.fold(page..page + 1, |page| page.residence, |a, _| a)
    }
}

/// Lets an entry begin at a page.
fn split(entries: &mut BTreeMap<usize, Page>, at: usize) {
    if let Some((&start, page)) = entries.range(..=at).next_back()
        && start != at
    {
        let page = page.clone();
        entries.insert(at, page);
    }
}

/// Takes away entries in a range and at its end that say what the one before them says.
fn join(entries: &mut BTreeMap<usize, Page>, range: &Range<usize>) {
    let starts: Vec<usize> = entries.range(range.start..=range.end).map(|(start, _)| *start).collect();
    for start in starts {
        let before = entries.range(..start).next_back().map(|(_, page)| page);
        if before.is_some() && before == entries.get(&start) {
            entries.remove(&start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pages, Visibility};

    fn entries(pages: &Pages) -> Vec<(usize, bool)> {
        pages.entries.lock().iter().map(|(start, page)| (*start, page.read_mostly)).collect()
    }

    #[test]
    fn entries_are_split_and_joined() {
        let pages = Pages::new(Visibility::Everywhere, None);
        pages.change(2..4, |page| page.read_mostly = true);
        assert_eq!(entries(&pages), [(0, false), (2, true), (4, false)]);
        pages.change(4..6, |page| page.read_mostly = true);
        assert_eq!(entries(&pages), [(0, false), (2, true), (6, false)]);
        pages.change(3..5, |page| page.read_mostly = false);
        assert_eq!(entries(&pages), [(0, false), (2, true), (3, false), (5, true), (6, false)]);
        pages.change(0..6, |page| page.read_mostly = false);
        assert_eq!(entries(&pages), [(0, false)]);
    }

    #[test]
    fn what_pages_have_in_common() {
        let pages = Pages::new(Visibility::Everywhere, None);
        pages.change(1..3, |page| page.read_mostly = true);
        assert_eq!(pages.common(0..1, |page| page.read_mostly), Some(false));
        assert_eq!(pages.common(1..3, |page| page.read_mostly), Some(true));
        assert_eq!(pages.common(2..4, |page| page.read_mostly), None);
        assert_eq!(pages.common(0..9, |page| page.preferred.is_none()), Some(true));
        pages.change(0..2, |page| {
            page.accessed_by.insert(0);
        });
        assert!(pages.accessed_by(0..2).contains(&0));
        assert!(pages.accessed_by(1..3).is_empty());
    }
}
