//! What a handle costs, in nanoseconds: `cargo test --release --lib handle::cost -- --ignored --nocapture`.

use super::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// An object for the measurement.
pub(crate) struct Thing {
    header: Header,
    value: u64,
}

object!(Thing: Measured, header);

fn thing() -> Arc<Thing> {
    Arc::new(Thing { header: Header::new::<Thing>(), value: 1 })
}

/// The least time of one run of `body`, over 20 rounds; the least is what no interruption disturbed.
fn nanoseconds(mut body: impl FnMut()) -> f64 {
    const RUNS: u32 = 200_000;
    let round = |_| {
        let start = Instant::now();
        (0..RUNS).for_each(|_| body());
        start.elapsed()
    };
    (0..20).map(round).min().unwrap_or(Duration::MAX).as_secs_f64() * 1e9 / f64::from(RUNS)
}

#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)]
fn cost() {
    let objects: [Arc<Thing>; 4] = std::array::from_fn(|_| thing());
    let tokens = objects.clone().map(|object| claim(object).unwrap());
    let get =
        |guard: &Guard, token| guard.get::<Thing>(black_box(token)).map_or(0, |thing| black_box(thing.value));
    let unclaimed = thing();
    let lent = borrowed(&unclaimed).unwrap();
    let anchored = borrowed(&objects[0]).unwrap();

    let report = |what: &str, body: &mut dyn FnMut()| println!("{what:<44}{:>7.2} ns", nanoseconds(body));
    let cell = sync::AtomicU64::new(0);
    report("the fence alone", &mut || sync::publish(&cell, black_box(1)));
    report("enter, leave", &mut || drop(black_box(enter())));
    report("enter, 1 look-up, leave", &mut || {
        let guard = enter().unwrap();
        get(&guard, tokens[0]);
    });
    report("enter, 4 look-ups, leave", &mut || {
        let guard = enter().unwrap();
        black_box(tokens.map(|token| get(&guard, token)));
    });
    report("enter, 1 borrowed with a living claim, leave", &mut || {
        let guard = enter().unwrap();
        get(&guard, anchored);
    });
    report("enter, 1 borrowed without one, leave", &mut || {
        let guard = enter().unwrap();
        get(&guard, lent);
    });
    let outer = enter().unwrap();
    report("the same within a call: enter, leave", &mut || drop(black_box(enter())));
    report("within a call: enter, 1 look-up, leave", &mut || {
        let guard = enter().unwrap();
        get(&guard, tokens[0]);
    });
    drop(outer);
    report("an Arc made and dropped", &mut || drop(black_box(thing())));
    report("an Arc made, claimed, destroyed, dropped", &mut || {
        let token = claim(thing()).unwrap();
        drop(enter().unwrap().destroy::<Thing>(black_box(token)));
    });
}
