//! Something of each page of memory that was used.

use std::collections::HashMap;

/// Pages that are found at once.
const NEAR: usize = 64;

/// By the numbers of pages.
pub(in crate::ptx::exec) struct Pages<T> {
    all: Vec<(u64, T)>,
    index: HashMap<u64, u32>,
    near: [(u64, u32); NEAR],
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { all: Vec::new(), index: HashMap::new(), near: [(u64::MAX, 0); NEAR] }
    }
}

impl<T> Pages<T> {
    /// A page's, made if there is none.
    pub(in crate::ptx::exec) fn get(&mut self, number: u64, make: impl FnOnce() -> T) -> &mut T {
        let near = &mut self.near[number as usize % NEAR];
        if near.0 != number {
            let all = &mut self.all;
            let at = *self.index.entry(number).or_insert_with(|| {
                all.push((number, make()));
                all.len() as u32 - 1
            });
            *near = (number, at);
        }
        &mut self.all[near.1 as usize].1
    }

    pub(in crate::ptx::exec) fn into_all(self) -> Vec<(u64, T)> {
        self.all
    }
}
