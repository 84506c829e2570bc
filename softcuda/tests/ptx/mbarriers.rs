//! `mbarrier`, and bulk copies that barriers and groups wait for.

use crate::device::{self, Arg, Device, load};
use softcuda::ptx::{Fault, FaultKind, Launch};

/// One thread runs the steps; the predicate `%p`, the state `%s` and the barrier at `%m` are written down after each.
fn kernel(steps: &[&str]) -> String {
    let mut text = String::from(
        ".version 8.7\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data) {
    .reg .b64 %o, %d, %s, %w, %a, %l; .reg .b32 %m, %b, %n, %r, %i; .reg .b16 %k; .reg .pred %p, %q;
    .shared .align 16 .b8 area[4096]; .shared .align 8 .b64 bar[4];
    ld.param.u64 %o, [out]; ld.param.u64 %d, [data]; mov.u32 %m, bar; mov.u32 %b, area; mov.b64 %s, 0;
    cvt.u64.u32 %a, %m; cvta.shared.u64 %a, %a; setp.ne.u32 %p, %m, %m;\n",
    );
    for (at, step) in steps.iter().enumerate() {
        let place = at * 24;
        text += &format!(
            "{step}\nld.shared.b64 %w, [%m]; st.global.u64 [%o+{place}], %w; st.global.u64 [%o+{}], %s;
    selp.u64 %w, 1, 0, %p; st.global.u64 [%o+{}], %w;\n",
            place + 8,
            place + 16
        );
    }
    text + "ret; }"
}

fn run(steps: &[&str]) -> Result<Vec<[u64; 3]>, Fault> {
    let device = Device::default();
    let out = device.zeroed(24 * steps.len());
    let data = device.upload(&(0..512u64).map(|at| at * 0x0101 + 7).collect::<Vec<_>>());
    let loaded = load(&device, &kernel(steps));
    loaded.run(&device, "k", 1, 1, &[Arg::U64(out), Arg::U64(data)])?;
    Ok(device.read::<u64>(out, 3 * steps.len()).chunks(3).map(|three| three.try_into().unwrap()).collect())
}

/// What the words say: whether the number of phases is odd, how many arrivals are missing, how many each phase waits for.
fn words(steps: &[&str]) -> Vec<(bool, u32, u32)> {
    let all = run(steps).unwrap_or_else(|fault| panic!("{fault}"));
    let missing = |word: u64, shift: u32| ((1 << 20) - (word >> shift & 0xf_ffff) as u32) & 0xf_ffff;
    all.into_iter().map(|[word, ..]| (word >> 63 != 0, missing(word, 43), missing(word, 1))).collect()
}

fn answers(steps: &[&str]) -> Vec<bool> {
    let all = run(steps).unwrap_or_else(|fault| panic!("{fault}"));
    all.into_iter().map(|[.., answer]| answer != 0).collect()
}

#[test]
fn bits_of_a_new_barrier() {
    for (count, word) in
        [(1u64, 0x7fff_f800_001f_fffe_u64), (7, 0x7fff_c800_001f_fff2), (1000, 0x7fe0_c000_001f_f830)]
    {
        for place in [".shared", ".shared::cta"] {
            let step = format!("mbarrier.init{place}.b64 [%m], {count};");
            assert_eq!(run(&[&step]).unwrap()[0][0], word, "{count}");
        }
        let generic = format!("mbarrier.init.b64 [%a], {count};");
        assert_eq!(run(&[&generic]).unwrap()[0][0], word, "{count}");
    }
}

#[test]
fn phases_end_when_all_have_arrived() {
    let (init, arrive) = ("mbarrier.init.shared.b64 [%m], 4;", "mbarrier.arrive.shared.b64 %s, [%m];");
    assert_eq!(
        words(&[
            init,
            arrive,
            "mbarrier.arrive.release.cta.shared::cta.b64 %s, [%m], 2;",
            "mbarrier.arrive.relaxed.cluster.b64 _, [%a];",
            "mov.b32 %n, 3; mbarrier.arrive.noComplete.shared.b64 %s, [%m], %n;",
            "mbarrier.arrive.shared::cluster.b64 _, [%m];",
            "mbarrier.arrive_drop.shared.b64 %s, [%m];",
            "mbarrier.arrive_drop.noComplete.shared.b64 %s, [%m], 2;",
            "mbarrier.arrive.b64 %s, [%a];",
            arrive,
            "mbarrier.inval.shared.b64 [%m]; mbarrier.init.shared.b64 [%m], 4;",
        ]),
        [
            (false, 4, 4),
            (false, 3, 4),
            (false, 1, 4),
            (true, 4, 4),
            (true, 1, 4),
            (false, 4, 4),
            (false, 3, 3),
            (false, 1, 1),
            (true, 1, 1),
            (false, 1, 1),
            (false, 4, 4)
        ]
    );
    // A state is what was there before, which `pending_count` reads.
    let count = "mbarrier.pending_count.b64 %r, %s; cvt.u64.u32 %s, %r;";
    let [first, second] =
        [arrive, "mbarrier.arrive.shared.b64 %s, [%m], 3;"].map(|step| format!("{step} {count}"));
    let states: Vec<u64> =
        run(&[init, &first, &second]).unwrap().into_iter().map(|[_, state, _]| state).collect();
    assert_eq!(states[1..], [4, 3]);
}

#[test]
fn who_waits_sees_the_phase_end() {
    let steps = [
        "mbarrier.init.shared.b64 [%m], 2;",
        "mbarrier.test_wait.parity.shared.b64 %p, [%m], 1;",
        "mbarrier.test_wait.parity.shared.b64 %p, [%m], 0;",
        "mbarrier.arrive.shared.b64 %s, [%m]; mbarrier.test_wait.shared.b64 %p, [%m], %s;",
        "mbarrier.try_wait.shared.b64 %p, [%m], %s, 100;",
        "mbarrier.arrive.shared.b64 _, [%m]; mbarrier.test_wait.shared.b64 %p, [%m], %s;",
        "mbarrier.test_wait.parity.acquire.cta.b64 %p, [%a], 0;",
        "mov.b32 %r, 1; mbarrier.try_wait.parity.relaxed.cluster.shared.b64 %p, [%m], %r;",
    ];
    assert_eq!(answers(&steps), [false, true, false, false, false, true, true, false]);
    let guarded = [
        "mbarrier.init.shared.b64 [%m], 1; setp.eq.u32 %q, %m, %m;",
        "@!%q mbarrier.try_wait.parity.shared.b64 %p, [%m], 1;",
        "@%q mbarrier.try_wait.parity.shared.b64 %p, [%m], 1;",
        "@%q mbarrier.try_wait.parity.shared.b64 %p, [%m], 0;",
    ];
    assert_eq!(answers(&guarded), [false, false, true, false]);
}

#[test]
fn phases_wait_for_bytes_too() {
    let steps = [
        "mbarrier.init.shared.b64 [%m], 2;",
        "mbarrier.expect_tx.relaxed.cta.shared.b64 [%m], 16;",
        "mbarrier.arrive.expect_tx.release.cta.shared.b64 %s, [%m], 1048559;",
        "mbarrier.arrive.shared.b64 %s, [%m];",
        "mov.b32 %n, 1048574; mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%m], %n;",
        "mbarrier.complete_tx.shared.b64 [%m], 1;",
        // What comes before it is expected.
        "mbarrier.complete_tx.relaxed.cta.b64 [%a], 48;",
        "mbarrier.arrive_drop.expect_tx.shared::cluster.b64 _, [%m], 48;",
        "mbarrier.arrive.expect_tx.b64 %s, [%a], 0;",
    ];
    let bytes = |word: u64| -(((word >> 21) as i32) << 11 >> 11);
    let all = run(&steps).unwrap();
    let found: Vec<_> = all.iter().map(|[word, ..]| (word >> 63 != 0, bytes(*word))).collect();
    let (even, odd) = (false, true);
    assert_eq!(
        found,
        [
            (even, 0),
            (even, 16),
            (even, 1_048_575),
            (even, 1_048_575),
            (even, 1),
            (odd, 0),
            (odd, -48),
            (odd, 0),
            (even, 0)
        ]
    );
}

/// A producer copies in pieces that a consumer waits for, and the other way round.
#[test]
fn warps_meet_at_barriers() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out) {
    .reg .b64 %d, %o, %v, %sum, %s; .reg .b32 %t, %i, %full, %empty, %b, %parity, %at; .reg .pred %p, %is_last;
    .shared .align 16 .b8 area[1024]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
    ld.param.u64 %d, [data]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %full, full; mov.u32 %empty, empty; mov.u32 %b, area;
    setp.ne.u32 %p, %t, 0; @%p bra ready;
    mbarrier.init.shared.b64 [%full], 1; mbarrier.init.shared.b64 [%empty], 96; fence.mbarrier_init.release.cluster; fence.proxy.async;
ready:
    bar.sync 0; mov.u32 %i, 0; mov.u64 %sum, 0;
    setp.lt.u32 %p, %t, 32; @!%p bra consume;
    setp.ne.u32 %p, %t, 0; @%p bra done;
produce:
    and.b32 %parity, %i, 1; xor.b32 %parity, %parity, 1;
wait_empty:
    mbarrier.try_wait.parity.shared.b64 %p, [%empty], %parity; @!%p bra wait_empty;
    mbarrier.arrive.expect_tx.shared.b64 %s, [%full], 1024;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%b], [%d], 512, [%full];
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [area+512], [%d+512], 512, [full];
    add.u64 %d, %d, 1024; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra produce;
    bra done;
consume:
    and.b32 %parity, %i, 1;
wait_full:
    mbarrier.try_wait.parity.shared.b64 %p, [%full], %parity; @!%p bra wait_full;
    sub.u32 %at, %t, 32; mad.lo.u32 %at, %at, 8, %b; ld.shared.u64 %v, [%at]; add.u64 %sum, %sum, %v;
    mbarrier.arrive.shared.b64 %s, [%empty];
    add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra consume;
done:
    mad.wide.u32 %o, %t, 8, %o; st.global.u64 [%o], %sum;
    ret; }";
    let device = Device::default();
    let values: Vec<u64> = (0..512).map(|at| at * at + 1).collect();
    let (data, out) = (device.upload(&values), device.zeroed(128 * 8));
    load(&device, text)
        .run(&device, "k", 1, 128, &[Arg::U64(data), Arg::U64(out)])
        .unwrap_or_else(|fault| panic!("{fault}"));
    let sum = |thread: usize| (0..4).map(|round| values[round * 128 + thread]).sum::<u64>();
    let expected: Vec<u64> = (0..128).map(|at: usize| at.checked_sub(32).map_or(0, sum)).collect();
    assert_eq!(device.read::<u64>(out, 128), expected);
}

/// Bytes go to every block of a cluster whose bit is set, on to a neighbour, and back to global memory.
#[test]
fn clusters_copy() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out) .reqnctapercluster 4 {
    .reg .b64 %d, %o, %s; .reg .b32 %r, %bar, %b, %next, %to, %at; .reg .b16 %k; .reg .pred %p;
    .shared .align 16 .b8 area[128]; .shared .align 8 .b64 bar;
    ld.param.u64 %d, [data]; ld.param.u64 %o, [out]; mov.u32 %r, %cluster_ctarank; mov.u32 %bar, bar; mov.u32 %b, area;
    mbarrier.init.shared.b64 [%bar], 1;
    barrier.cluster.arrive; barrier.cluster.wait;
    mbarrier.arrive.expect_tx.shared.b64 %s, [%bar], 64;
    setp.ne.u32 %p, %r, 1; mov.b16 %k, 15;
    @!%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%b], [%d], 64, [%bar], %k, %s;
first:
    mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0; @!%p bra first;
    mbarrier.arrive.expect_tx.shared.b64 %s, [%bar], 16;
    barrier.cluster.arrive; barrier.cluster.wait;
    add.u32 %next, %r, 1; and.b32 %next, %next, 3;
    st.shared.u32 [%b], %r; fence.proxy.async;
    mapa.shared::cluster.u32 %to, %b, %next; mapa.shared::cluster.u32 %at, %bar, %next;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%to+64], [%b], 16, [%at];
second:
    mbarrier.try_wait.parity.shared.b64 %p, [%bar], 1; @!%p bra second;
    mad.wide.u32 %o, %r, 80, %o;
    cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%o], [%b], 80, %s;
    cp.async.bulk.prefetch.L2.global [%d], 64;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;
    barrier.cluster.arrive; barrier.cluster.wait;
    ret; }";
    let device = Device::default();
    let values: Vec<u32> = (0..16).map(|at| at + 100).collect();
    let (data, out) = (device.upload(&values), device.zeroed(4 * 80));
    load(&device, text)
        .run_with(&device, "k", &[Arg::U64(data), Arg::U64(out)], |launch: &mut Launch<'_>| {
            launch.grid = [4, 1, 1];
            launch.block = [1, 1, 1];
            launch.cluster = Some([4, 1, 1]);
        })
        .unwrap_or_else(|fault| panic!("{fault}"));
    let expected: Vec<u32> = (0..4u32)
        .flat_map(|rank| {
            let (mut own, mut other) = (values.clone(), values[..4].to_vec());
            (own[0], other[0]) = (rank, (rank + 3) % 4);
            own.extend(other);
            own
        })
        .collect();
    assert_eq!(device.read::<u32>(out, 80), expected);
}

#[test]
fn copies_that_others_do_count() {
    let steps = [
        "mbarrier.init.shared.b64 [%m], 2;",
        "cp.async.cg.shared.global [%b], [%d], 16; cp.async.mbarrier.arrive.shared.b64 [%m];",
        "cp.async.mbarrier.arrive.noinc.b64 [%a];",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];",
    ];
    assert_eq!(words(&steps), [(false, 2, 2), (false, 2, 2), (false, 1, 2), (true, 2, 2)]);
}

#[test]
fn what_has_no_meaning() {
    let init = "mbarrier.init.shared.b64 [%m], 1;";
    let bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    for (step, kind, sentence) in [
        (
            "mbarrier.arrive.shared.b64 %s, [%m], 2;",
            FaultKind::Mbarrier,
            "2 arrive at an mbarrier that waits for 1",
        ),
        (
            "add.u32 %m, %m, 4; mbarrier.arrive.shared.b64 %s, [%m];",
            FaultKind::MisalignedAddress,
            "mbarrier.arrive.shared.b64",
        ),
        (
            "mov.u32 %m, 65536; mbarrier.test_wait.parity.shared.b64 %p, [%m], 0;",
            FaultKind::IllegalAddress,
            "mbarrier.test_wait",
        ),
        (&format!("{bulk} [%b], [%d+8], 16, [%m];"), FaultKind::MisalignedAddress, "cp.async.bulk"),
        (&format!("{bulk} [%b+8], [%d], 16, [%m];"), FaultKind::MisalignedAddress, "cp.async.bulk"),
        (&format!("{bulk} [%b], [%d+8192], 16, [%m];"), FaultKind::IllegalAddress, "cp.async.bulk"),
        (
            &format!("mov.u32 %n, 24; {bulk} [%b], [%d], %n, [%m];"),
            FaultKind::IllegalInstruction,
            "a multiple of 16 bytes, not 24",
        ),
        (
            &format!("mov.b16 %k, 2; {bulk}.multicast::cluster [%b], [%d], 16, [%m], %k;"),
            FaultKind::NoCluster,
            "cp.async.bulk",
        ),
    ] {
        let fault = run(&[init, step]).expect_err(step);
        assert_eq!(fault.kind, kind, "{step}: {fault}");
        assert!(fault.to_string().contains(sentence), "{step}: {fault}");
    }
}

#[test]
fn what_is_no_form() {
    let bulk = "cp.async.bulk";
    for (line, sentence) in [
        ("mbarrier.init.shared::cluster.b64 [%m], 1;", "`.shared::cluster` is not supported here"),
        ("mbarrier.init.global.b64 [%d], 1;", "`.global` is not supported here"),
        ("mbarrier.init.shared.b32 [%m], 1;", "the type .b32 is not supported here"),
        ("mbarrier.init.shared.b64 [%m];", "mbarrier has 2 operands, not 1"),
        ("mbarrier.arrive.shared::cluster.b64 %s, [%m];", "`_` is wanted"),
        (
            "mbarrier.arrive.noComplete.shared::cluster.b64 _, [%m], 1;",
            "`.shared::cluster` is not supported here",
        ),
        ("mbarrier.arrive.noComplete.shared.b64 %s, [%m];", "a state, an address and a number are wanted"),
        ("mbarrier.arrive.expect_tx.noComplete.shared.b64 %s, [%m], 1;", "not both"),
        ("mbarrier.arrive.expect_tx.shared.b64 %s, [%m];", "a state, an address and a number are wanted"),
        ("mbarrier.arrive.release.shared.b64 %s, [%m];", "an order and a scope are given together"),
        ("mbarrier.arrive.acquire.cta.shared.b64 %s, [%m];", "an order and a scope are given together"),
        ("mbarrier.arrive.release.gpu.shared.b64 %s, [%m];", "an order and a scope are given together"),
        ("mbarrier.arrive.shared.b64 %s, [%m], 0;", "1 or more threads arrive, not 0"),
        ("mbarrier.expect_tx.cta.shared.b64 [%m], 1;", "an order and a scope are given together"),
        ("mbarrier.test_wait.shared.b64 %p, [%m], %s, 20;", "a predicate, an address and a phase are wanted"),
        ("mbarrier.test_wait.shared.b64 _, [%m], %s;", "a predicate is wanted"),
        ("mbarrier.test_wait.shared::cluster.b64 %p, [%m], %s;", "`.shared::cluster` is not supported here"),
        ("mbarrier.test_wait.parity.shared.b64 %p, [%m], 2;", "a parity is 0 or 1"),
        ("mbarrier.pending_count.shared.b64 %r, %s;", "`.shared` is not supported here"),
        ("mbarrier.sleep.shared.b64 [%m];", "this form is not supported"),
        ("cp.async.mbarrier.shared.b64 [%m];", "it has .async.mbarrier.arrive"),
        ("cp.async.mbarrier.arrive.shared::cluster.b64 [%m];", "`.shared::cluster` is not supported here"),
        (
            &format!("{bulk}.shared::cluster.global.mbarrier::complete_tx::bytes [%b], [%d], 24, [%m];"),
            "a multiple of 16 bytes, not 24",
        ),
        (
            &format!("{bulk}.shared::cta.shared::cta.mbarrier::complete_tx::bytes [%b], [%b], 16, [%m];"),
            "no bulk copy leads from .shared::cta to .shared::cta",
        ),
        (
            &format!("{bulk}.global.shared::cluster.bulk_group [%d], [%b], 16;"),
            "no bulk copy leads from .shared::cluster to .global",
        ),
        (
            &format!("{bulk}.global.shared::cta.mbarrier::complete_tx::bytes [%d], [%b], 16, [%m];"),
            "is over as .bulk_group says",
        ),
        (
            &format!("{bulk}.shared::cluster.global.bulk_group [%b], [%d], 16;"),
            "is over as .mbarrier::complete_tx::bytes says",
        ),
        (
            &format!("{bulk}.global.shared::cta.bulk_group.cp_mask [%d], [%b], 16, %k;"),
            "are not of this compute capability",
        ),
        (
            &format!("{bulk}.shared.global.mbarrier::complete_tx::bytes [%b], [%d], 16, [%m];"),
            "two state spaces are wanted",
        ),
        (
            &format!(
                "{bulk}.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [%b], [%d], 16, [%m], %k;"
            ),
            "goes to several blocks",
        ),
        (
            &format!(
                "{bulk}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.L2::cache_hint [%b], [%b], 16, [%m], %s;"
            ),
            "has no .L2::cache_hint",
        ),
        (
            &format!("{bulk}.shared::cluster.global.mbarrier::complete_tx::bytes [%b], [%d], 16;"),
            "these are not its operands",
        ),
        (&format!("{bulk}.tensor.1d.global.shared::cta.bulk_group [%d, {{%r}}], [%b];"), "is not supported"),
        (&format!("{bulk}.wait_group %n;"), "the number of groups is an immediate"),
        (&format!("{bulk}.commit_group 1;"), "cp has 0 operands, not 1"),
        (&format!("{bulk}.prefetch.global [%d], 16;"), "it has .L2.global"),
    ] {
        let log = device::compile(&kernel(&[line])).err().unwrap_or_else(|| panic!("{line} is accepted")).log;
        assert!(log.contains(sentence), "{line}: {log}");
    }
}
