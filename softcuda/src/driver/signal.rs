//! What modules further up want to be told of. They listen from their first use on.

use parking_lot::RwLock;
use std::sync::Once;

/// Something that happens.
pub(crate) struct Signal<T: 'static>(RwLock<Vec<fn(&T)>>);

impl<T> Signal<T> {
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// Tells those who listen that it has happened to `what`; who came last, and may use what the others have, is told first.
    pub(crate) fn send(&self, what: &T) {
        // One who is told may begin to listen.
        let listeners = self.0.read().clone();
        listeners.iter().rev().for_each(|hear| hear(what));
    }
}

/// One who listens.
pub(crate) struct Listener<T: 'static> {
    signal: &'static Signal<T>,
    hear: fn(&T),
    begun: Once,
}

impl<T> Listener<T> {
    pub(crate) const fn new(signal: &'static Signal<T>, hear: fn(&T)) -> Self {
        Self { signal, hear, begun: Once::new() }
    }

    /// Listens from now on.
    pub(crate) fn begin(&self) {
        self.begun.call_once(|| self.signal.0.write().push(self.hear));
    }
}

#[cfg(test)]
mod tests {
    use super::{Listener, Signal};
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn who_came_last_is_told_first_and_each_once() {
        static SIGNAL: Signal<AtomicU32> = Signal::new();
        static FIRST: Listener<AtomicU32> = Listener::new(&SIGNAL, |log| digit(log, 1));
        static SECOND: Listener<AtomicU32> = Listener::new(&SIGNAL, |log| digit(log, 2));
        fn digit(log: &AtomicU32, digit: u32) {
            log.store(log.load(Ordering::Relaxed) * 10 + digit, Ordering::Relaxed);
        }
        let log = AtomicU32::new(0);
        SIGNAL.send(&log);
        [&FIRST, &SECOND, &FIRST].into_iter().for_each(Listener::begin);
        SIGNAL.send(&log);
        assert_eq!(log.into_inner(), 21);
    }
}
