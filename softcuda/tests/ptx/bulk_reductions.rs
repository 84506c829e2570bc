//! `cp.reduce.async.bulk`: every operation on every type of elements, in global memory and in a neighbour's shared memory.

use crate::device::{self, Arg, Device, load};
use softcuda::ptx::{Fault, FaultKind, Launch};

/// Sixteen bytes of `data` are the source, in shared memory; those behind them are reduced: by the first block, in place, or, if `in_cluster`, in
/// the shared memory of the second one, which brings them back.
fn kernel(operation: &str, in_cluster: bool) -> String {
    let reduces = if in_cluster {
        format!(
            "mapa.shared::cluster.u32 %to, %b, 1; mapa.shared::cluster.u32 %there, %bar, 1;
    @%p cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation} [%to+16], [%b], 16, [%there];
    @%p bra over; mbarrier.arrive.expect_tx.shared.b64 %s, [%bar], 16;
again: mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0; @!%q bra again;
    ld.shared.v4.b32 {{%v0, %v1, %v2, %v3}}, [%b+16]; st.global.v4.b32 [%d+16], {{%v0, %v1, %v2, %v3}}; over:"
        )
    } else {
        format!(
            "@%p cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.{operation} [%d+16], [%b], 16, %s;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        )
    };
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 data) .reqnctapercluster 2 {{
    .reg .b64 %d, %s; .reg .b32 %b, %bar, %to, %there, %rank, %v<4>; .reg .pred %p, %q;
    .shared .align 16 .b8 area[32]; .shared .align 8 .b64 bar;
    ld.param.u64 %d, [data]; mov.u32 %b, area; mov.u32 %bar, bar; mov.u32 %rank, %cluster_ctarank; setp.eq.u32 %p, %rank, 0;
    ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%d]; st.shared.v4.b32 [%b], {{%v0, %v1, %v2, %v3}};
    ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%d+16]; st.shared.v4.b32 [%b+16], {{%v0, %v1, %v2, %v3}};
    mbarrier.init.shared.b64 [%bar], 1; fence.proxy.async; mov.b64 %s, 0;
    barrier.cluster.arrive; barrier.cluster.wait;
    {reduces}
    barrier.cluster.arrive; barrier.cluster.wait;
    ret; }}"
    )
}

fn run(text: &str, source: [u64; 2], before: [u64; 2]) -> Result<[u64; 2], Fault> {
    run_in(Some([2, 1, 1]), text, source, before)
}

fn run_in(
    cluster: Option<[u32; 3]>,
    text: &str,
    source: [u64; 2],
    before: [u64; 2],
) -> Result<[u64; 2], Fault> {
    let device = Device::default();
    let data = device.upload(&[source, before].concat());
    load(&device, text).run_with(&device, "k", &[Arg::U64(data)], |launch: &mut Launch<'_>| {
        launch.grid = cluster.unwrap_or([1; 3]);
        launch.block = [1, 1, 1];
        launch.cluster = cluster;
    })?;
    Ok(device.read::<u64>(data + 16, 2).try_into().expect("two words"))
}

fn words(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// An element of a pair, of each operand and of the result.
type Elements = (&'static str, bool, [u64; 2], [u64; 2], [u64; 2]);

fn tried() -> Vec<Elements> {
    let (minus_one, one) = (words(u32::MAX, 1), words(1, u32::MAX));
    let pair = |low: f32, high: f32| words(low.to_bits(), high.to_bits());
    let halves = |a: u64, b: u64| a | b << 16;
    vec![
        ("add.u32", true, [minus_one, 3], [one, 4], [0, 7]),
        ("add.s32", true, [minus_one, 3], [one, 4], [0, 7]),
        ("add.u64", true, [minus_one, 3], [one, u64::MAX], [minus_one.wrapping_add(one), 2]),
        ("min.u32", true, [minus_one, 0], [one, 9], [words(1, 1), 0]),
        ("max.u32", true, [minus_one, 0], [one, 9], [words(u32::MAX, u32::MAX), 9]),
        ("min.s32", true, [minus_one, 0], [one, 9], [words(u32::MAX, u32::MAX), 0]),
        ("max.s32", true, [minus_one, 0], [one, 9], [words(1, 1), 9]),
        // Up to what the source says, and then from 0 again; down, and then from what the source says.
        ("inc.u32", true, [words(5, 5), words(0, 7)], [words(4, 5), words(0, 9)], [words(5, 0), 0]),
        ("dec.u32", true, [words(5, 5), words(0, 7)], [words(4, 0), words(1, 9)], [words(3, 5), words(0, 7)]),
        ("and.b32", true, [minus_one, 6], [one, 5], [words(1, 1), 4]),
        ("or.b32", true, [minus_one, 6], [one, 5], [words(u32::MAX, u32::MAX), 7]),
        ("xor.b32", true, [minus_one, 6], [one, 5], [words(u32::MAX - 1, u32::MAX - 1), 3]),
        ("min.u64", false, [u64::MAX, 6], [1, 5], [1, 5]),
        ("max.u64", false, [u64::MAX, 6], [1, 5], [u64::MAX, 6]),
        ("min.s64", false, [u64::MAX, 6], [1, 5], [u64::MAX, 5]),
        ("max.s64", false, [u64::MAX, 6], [1, 5], [1, 6]),
        ("and.b64", false, [u64::MAX, 6], [1, 5], [1, 4]),
        ("or.b64", false, [u64::MAX, 6], [1, 5], [u64::MAX, 7]),
        ("xor.b64", false, [u64::MAX, 6], [1, 5], [u64::MAX - 1, 3]),
        // PTX says that sums of singles flush subnormal numbers.
        (
            "add.f32",
            false,
            [pair(1.5, 1e-40), pair(0.0, 2.0)],
            [pair(2.0, 0.0), pair(-1.0, -2.0)],
            [pair(3.5, 0.0), pair(-1.0, 0.0)],
        ),
        ("add.f64", false, [1.5f64.to_bits(), 0], [2f64.to_bits(), 1], [3.5f64.to_bits(), 1]),
        (
            "add.noftz.f16",
            false,
            [halves(0x3c00, 1), 0x4000],
            [halves(0x3c00, 2), 0x4000],
            [halves(0x4000, 3), 0x4400],
        ),
        (
            "add.noftz.bf16",
            false,
            [halves(0x3f80, 1), 0x4000],
            [halves(0x3f80, 2), 0x4000],
            [halves(0x4000, 3), 0x4080],
        ),
        (
            "min.f16",
            false,
            [halves(0x3c00, 0xbc00), 0],
            [halves(0xc000, 0x4000), 0],
            [halves(0xc000, 0xbc00), 0],
        ),
        (
            "max.f16",
            false,
            [halves(0x3c00, 0xbc00), 0],
            [halves(0xc000, 0x4000), 0],
            [halves(0x3c00, 0x4000), 0],
        ),
        (
            "min.bf16",
            false,
            [halves(0x3f80, 0xbf80), 0],
            [halves(0xc000, 0x4000), 0],
            [halves(0xc000, 0xbf80), 0],
        ),
        (
            "max.bf16",
            false,
            [halves(0x3f80, 0xbf80), 0],
            [halves(0xc000, 0x4000), 0],
            [halves(0x3f80, 0x4000), 0],
        ),
    ]
}

#[test]
fn elements_are_reduced() {
    for (operation, also_in_cluster, source, before, wanted) in tried() {
        for in_cluster in [false, true].into_iter().filter(|in_cluster| also_in_cluster || !in_cluster) {
            let got = run(&kernel(operation, in_cluster), source, before);
            let got = got.unwrap_or_else(|fault| panic!("{operation}: {fault}"));
            assert_eq!(got, wanted, "{operation}, in the cluster: {in_cluster}");
        }
    }
}

#[test]
fn addresses_are_of_sixteen_bytes() {
    let wrong = kernel("add.u32", false).replace("[%d+16], [%b]", "[%d+8], [%b]");
    let fault = run(&wrong, [0; 2], [0; 2]).expect_err("a place between pieces");
    assert_eq!(fault.kind, FaultKind::MisalignedAddress, "{fault}");
}

/// In the block's own shared memory, too; `%is_explicit_cluster` tells.
#[test]
fn without_clusters_shared_memory_is_not_reduced() {
    let own = kernel("add.u32", true)
        .replace("%b, 1; mapa", "%b, %rank; mapa")
        .replace("%bar, 1;", "%bar, %rank;")
        .replace("@%p bra over;", "")
        .replace("@%p cp", "cp");
    let got = run_in(Some([1; 3]), &own, [1, 2], [3, 4]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(got, [4, 6], "a cluster of one block");
    let copy = own.replace("cp.reduce", "cp").replace("bytes.add.u32", "bytes");
    let got = run_in(Some([1; 3]), &copy, [1, 2], [3, 4]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(got, [1, 2], "a cluster of one block");
    for text in [&own, &copy] {
        let fault = run_in(None, text, [1, 2], [3, 4]).expect_err("a launch without clusters");
        assert_eq!(fault.kind, FaultKind::IllegalInstruction, "{fault}");
        assert!(fault.to_string().contains("launched without clusters"), "{fault}");
    }
    let never = own
        .replace("cp.reduce", "@!%q cp.reduce")
        .replace("mapa", "setp.eq.u32 %q, %rank, %rank; mapa")
        .replace("[%bar], 16;\nagain", "[%bar], 0;\nagain");
    let got = run_in(None, &never, [1, 2], [3, 4]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(got, [3, 4], "no thread does it");
    run_in(None, &kernel("add.u32", false), [1, 2], [3, 4]).unwrap_or_else(|fault| panic!("{fault}"));
    for (cluster, told) in [(None, 3), (Some([1; 3]), 4)] {
        let told_by = "mov.pred %q, %is_explicit_cluster; @!%q bra over; ";
        let asks =
            own.replace("mapa.shared::cluster.u32 %to", &format!("{told_by}mapa.shared::cluster.u32 %to"));
        let got = run_in(cluster, &asks, [1, 2], [3, 4]).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(got[0], told);
    }
}

#[test]
fn what_is_no_form() {
    let (global, cluster) = (kernel("add.u32", false), kernel("add.u32", true));
    for (text, from, to, sentence) in [
        (&global, "bulk_group.L2", "mbarrier::complete_tx::bytes.L2", "is over as .bulk_group says"),
        (
            &cluster,
            "mbarrier::complete_tx::bytes.add",
            "bulk_group.add",
            "is over as .mbarrier::complete_tx::bytes says",
        ),
        (&cluster, "bytes.add", "bytes.L2::cache_hint.add", "has no .L2::cache_hint"),
        (
            &global,
            "global.shared::cta",
            "shared::cta.global",
            "no bulk reduction leads from .global to .shared::cta",
        ),
        (&global, "bulk.global.shared::cta", "bulk.global", "two state spaces are wanted"),
        (&global, ".add.u32", ".exch.b32", "an operation is wanted"),
        (&global, ".add.u32", ".add.s64", "the type .s64 is not supported here"),
        (&global, ".add.u32", ".min.f32", "the type .f32 is not supported here"),
        (&global, ".add.u32", ".add.f16", "sums of .f16 and .bf16 have .noftz"),
        (&global, ".add.u32", ".add.noftz.f32", "sums of .f16 and .bf16 have .noftz"),
        (&cluster, ".add.u32", ".add.f32", "the type .f32 is not supported here"),
        (&cluster, ".add.u32", ".min.u64", "the type .u64 is not supported here"),
        (&cluster, ".add.u32", ".xor.b64", "the type .b64 is not supported here"),
        (&global, ", 16, %s;", ", 24, %s;", "a multiple of 16 bytes, not 24"),
        (&cluster, ", [%there];", ";", "these are not its operands"),
    ] {
        let wrong = text.replace(from, to);
        assert_ne!(wrong, *text, "{from}");
        let log = device::compile(&wrong).err().unwrap_or_else(|| panic!("{to} is accepted")).log;
        assert!(log.contains(sentence), "{to}: {log}");
    }
}
