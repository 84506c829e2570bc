//! Things that go at the same time, while others may join them.

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use parking_lot::{Mutex, MutexGuard};

/// What goes together; nothing once it went.
pub(crate) struct Together<T>(Mutex<Option<T>>);

impl<T> Together<T> {
    pub(crate) fn of(first: T) -> Self {
        Self(Mutex::new(Some(first)))
    }

    #[cfg(not(loom))]
    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock()
    }

    #[cfg(loom)]
    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().expect("nobody panics with it")
    }

    /// It goes: whoever calls this first has all of it.
    pub(crate) fn take(&self) -> Option<T> {
        self.lock().take()
    }

    /// Whether it went.
    pub(crate) fn is_gone(&self) -> bool {
        self.lock().is_none()
    }

    /// Has more go with it; gives that back if all went before.
    pub(crate) fn add(&self, more: T, append: impl FnOnce(&mut T, T)) -> Option<T> {
        match &mut *self.lock() {
            Some(all) => append(all, more),
            None => return Some(more),
        }
        None
    }
}

/// Loom models of retirement: what a launch uses goes when that is done, and not before, while the launching thread has more go with it.
#[cfg(all(test, loom))]
mod models {
    use super::Together;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use loom::thread;
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    /// What launches use: the driver reads it, and who lets go of it writes it. Loom reports what is not ordered.
    struct Used {
        memory: UnsafeCell<()>,
        drops: AtomicUsize,
    }

    // SAFETY: that is what the models prove.
    unsafe impl Sync for Used {}

    impl Used {
        fn new() -> Arc<Self> {
            Arc::new(Self { memory: UnsafeCell::new(()), drops: AtomicUsize::new(0) })
        }

        fn goes(&self) {
            self.memory.with_mut(|_| ());
            assert_eq!(self.drops.fetch_add(1, Relaxed), 0, "it goes once");
        }
    }

    type Leaving = Together<Vec<Arc<Used>>>;

    fn append(all: &mut Vec<Arc<Used>>, more: Vec<Arc<Used>>) {
        all.extend(more);
    }

    fn let_go(retired: &Leaving) {
        retired.take().into_iter().flatten().for_each(|used| used.goes());
    }

    /// A stream, in which launches are done one after the other: how many are.
    type Stream = Arc<AtomicUsize>;

    /// The driver does this launch, which uses those.
    fn run(stream: &Stream, launch: usize, used: &[Arc<Used>]) {
        used.iter().for_each(|used| used.memory.with(|_| ()));
        stream.store(launch, Release);
    }

    /// The worker asks the event that tells of a launch.
    fn ask(stream: &Stream, event: usize, retired: &Leaving) -> bool {
        let is_done = stream.load(Acquire) >= event;
        if is_done {
            let_go(retired);
        }
        is_done
    }

    #[test]
    fn what_joins_goes_once_with_the_launch_or_after_it() {
        loom::model(|| {
            let (first, second, stream) = (Used::new(), Used::new(), Stream::default());
            let retired = Arc::new(Leaving::of(vec![Arc::clone(&first)]));
            let driver = {
                let (stream, used) = (Arc::clone(&stream), [Arc::clone(&first), Arc::clone(&second)]);
                thread::spawn(move || run(&stream, 1, &used))
            };
            let worker = {
                let (stream, retired) = (Arc::clone(&stream), Arc::clone(&retired));
                thread::spawn(move || ask(&stream, 1, &retired))
            };
            // The second was used by the same launch, and is retired later. If the first went, the launch is done.
            let left = retired.add(vec![Arc::clone(&second)], append);
            left.into_iter().flatten().for_each(|used| used.goes());
            driver.join().unwrap();
            if !worker.join().unwrap() {
                assert!(ask(&stream, 1, &retired), "the launch is done");
            }
            assert!(retired.is_gone());
            assert_eq!((first.drops.load(Relaxed), second.drops.load(Relaxed)), (1, 1));
        });
    }

    #[test]
    fn what_a_later_launch_uses_waits_for_an_event_of_its_own() {
        loom::model(|| {
            let (first, second, stream) = (Used::new(), Used::new(), Stream::default());
            let driver = {
                let (stream, both) = (Arc::clone(&stream), [Arc::clone(&first), Arc::clone(&second)]);
                thread::spawn(move || {
                    run(&stream, 1, &both);
                    run(&stream, 2, &both[1..]);
                })
            };
            // Each retirement has the event that was recorded after its launch, and nobody records that again.
            let retired = [1, 2].map(|event| (event, Arc::new(Leaving::of(Vec::new()))));
            assert!(retired[0].1.add(vec![Arc::clone(&first)], append).is_none());
            assert!(retired[1].1.add(vec![Arc::clone(&second)], append).is_none());
            let worker = {
                let (stream, retired) = (Arc::clone(&stream), retired.clone());
                thread::spawn(move || {
                    retired.iter().for_each(|(event, retired)| _ = ask(&stream, *event, retired))
                })
            };
            driver.join().unwrap();
            worker.join().unwrap();
            retired.iter().for_each(|(event, retired)| assert!(ask(&stream, *event, retired)));
            assert_eq!((first.drops.load(Relaxed), second.drops.load(Relaxed)), (1, 1));
        });
    }
}
