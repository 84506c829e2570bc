//! Matrices that a warp holds together: eight rows of eight 16-bit elements, two of them in each lane.

use crate::device::{self, Arg, Device, load};
use softcuda::ptx::FaultKind;

const LANES: usize = 32;

/// A kernel that lays out `in`, 4 KiB, in shared memory, gives each lane the row that `rows` says, runs `body` with what lies
/// there in `%r0` to `%r3`, and writes those and the shared memory back.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 rows, .param .u64 out) {{
    .reg .b64 %in, %rows, %out, %at, %g; .reg .b32 %r<4>, %i, %n, %a, %s; .reg .pred %p, %odd;
    .shared .align 16 .b8 tile[4096];
    ld.param.u64 %in, [in]; ld.param.u64 %rows, [rows]; ld.param.u64 %out, [out];
    mov.u32 %i, %laneid; mov.u32 %n, %i;
fill:
    mad.wide.u32 %at, %n, 4, %in; ld.global.u32 %r0, [%at];
    mov.u32 %s, tile; mad.lo.u32 %s, %n, 4, %s; st.shared.u32 [%s], %r0;
    add.u32 %n, %n, 32; setp.lt.u32 %p, %n, 1024; @%p bra fill;
    mad.wide.u32 %at, %i, 4, %rows; ld.global.u32 %a, [%at];
    mov.u32 %s, tile; add.u32 %a, %a, %s; cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g;
    mad.wide.u32 %at, %i, 16, %in; ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%at];
    and.b32 %n, %i, 1; setp.eq.u32 %odd, %n, 1;
    bar.warp.sync -1;
    {body}
    mad.wide.u32 %at, %i, 16, %out; st.global.v4.u32 [%at], {{%r0, %r1, %r2, %r3}};
    bar.warp.sync -1;
    mov.u32 %n, %i;
drain:
    mov.u32 %s, tile; mad.lo.u32 %s, %n, 4, %s; ld.shared.u32 %r0, [%s];
    mad.wide.u32 %at, %n, 4, %out; st.global.u32 [%at+512], %r0;
    add.u32 %n, %n, 32; setp.lt.u32 %p, %n, 1024; @%p bra drain;
    ret; }}"
    )
}

/// Words that are all different.
fn input() -> Vec<u32> {
    (0..1024u32).map(|at| ((2 * at + 1) << 16) | (2 * at)).collect()
}

/// Where each lane's row is, in bytes: all over the tile.
fn rows() -> Vec<u32> {
    (0..LANES as u32).map(|lane| lane * 7 % 32 * 112 + 16 * (lane % 3)).collect()
}

/// What the lanes have in their registers afterwards, and the tile.
fn run(body: &str) -> (Vec<[u32; 4]>, Vec<u32>) {
    let device = Device::default();
    let (din, drows, out) = (device.upload(&input()), device.upload(&rows()), device.zeroed(512 + 4096));
    let args = [Arg::U64(din), Arg::U64(drows), Arg::U64(out)];
    load(&device, &kernel(body))
        .run(&device, "k", 1, 32, &args)
        .unwrap_or_else(|fault| panic!("{body}: {fault}"));
    let registers = device.read::<u32>(out, 128);
    let registers = registers.chunks(4).map(|four| four.try_into().unwrap()).collect();
    (registers, device.read(out + 512, 1024))
}

fn before() -> Vec<[u32; 4]> {
    input()[..128].chunks(4).map(|four| four.try_into().unwrap()).collect()
}

/// The 16-bit element of a row that a lane's address begins.
fn element(words: &[u32], row: u32, column: usize) -> u32 {
    let word = words[row as usize / 4 + column / 2];
    if column.is_multiple_of(2) { word & 0xffff } else { word >> 16 }
}

/// Which elements, by row and column, a lane has of a matrix.
fn held(lane: usize, transposed: bool) -> [(usize, usize); 2] {
    let (row, column) = (lane / 4, lane % 4 * 2);
    if transposed { [(column, row), (column + 1, row)] } else { [(row, column), (row, column + 1)] }
}

#[test]
fn loads() {
    let (words, rows) = (input(), rows());
    for (name, count) in [("x1", 1), ("x2", 2), ("x4", 4)] {
        for (trans, transposed) in [("", false), (".trans", true)] {
            for (place, added) in
                [(".shared", "[%a]"), (".shared::cta", "[%a+16]"), ("", "[%g]"), ("", "[%g+16]")]
            {
                let registers = ["%r0", "%r1", "%r2", "%r3"][..count].join(", ");
                let body =
                    format!("ldmatrix.sync.aligned.m8n8.{name}{trans}{place}.b16 {{{registers}}}, {added};");
                let more = if added.contains("16") { 16 } else { 0 };
                let mut expected = before();
                for (lane, registers) in expected.iter_mut().enumerate() {
                    for (matrix, register) in registers[..count].iter_mut().enumerate() {
                        let of = |(row, column): (usize, usize)| {
                            element(&words, rows[8 * matrix + row] + more, column)
                        };
                        let [low, high] = held(lane, transposed).map(of);
                        *register = low | high << 16;
                    }
                }
                assert_eq!(run(&body), (expected, words.clone()), "{body}");
            }
        }
    }
}

#[test]
fn stores() {
    let rows = rows();
    for (name, count) in [("x1", 1), ("x2", 2), ("x4", 4)] {
        for (trans, transposed) in [("", false), (".trans", true)] {
            for (place, address) in [(".shared", "[%a]"), ("", "[%g]")] {
                let registers = ["%r0", "%r1", "%r2", "%r3"][..count].join(", ");
                let body = format!(
                    "stmatrix.sync.aligned.m8n8.{name}{trans}{place}.b16 {address}, {{{registers}}};"
                );
                let mut tile = input();
                for (lane, registers) in before().iter().enumerate() {
                    for (matrix, register) in registers[..count].iter().enumerate() {
                        for (half, (row, column)) in held(lane, transposed).into_iter().enumerate() {
                            let word = &mut tile[rows[8 * matrix + row] as usize / 4 + column / 2];
                            let shift = 16 * (column as u32 % 2);
                            *word = *word & !(0xffff << shift) | (register >> (16 * half) & 0xffff) << shift;
                        }
                    }
                }
                assert_eq!(run(&body), (before(), tile), "{body}");
            }
        }
    }
}

#[test]
fn transposing_in_registers() {
    let before = before();
    let mut matrix = [[0; 8]; 8];
    for (lane, registers) in before.iter().enumerate() {
        for (half, (row, column)) in held(lane, false).into_iter().enumerate() {
            matrix[row][column] = registers[1] >> (16 * half) & 0xffff;
        }
    }
    let (after, _) = run("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1;");
    for (lane, registers) in after.iter().enumerate() {
        let [low, high] = held(lane, true).map(|(row, column)| matrix[row][column]);
        let [_, _, third, fourth] = before[lane];
        assert_eq!(*registers, [before[lane][0], low | high << 16, third, fourth], "lane {lane}");
    }
}

/// Lanes that took different ways wait for each other, and none overwrites what another has not read yet.
#[test]
fn lanes_wait_for_each_other() {
    let plain = run("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%a];");
    let late = "mov.u32 %n, 0;
again:
    add.u32 %n, %n, 1; setp.lt.u32 %p, %n, %i; @%p bra again;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%a];";
    assert_eq!(run(late), plain);
    let overwritten = format!("{late} mov.u32 %n, 0; st.shared.v4.u32 [%a], {{%n, %n, %n, %n}};");
    assert_eq!(run(&overwritten).0, plain.0);
    // Together or not at all.
    let none = "setp.gt.u32 %p, %i, 31; @%p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%a];";
    assert_eq!(run(none), (before(), input()));
    let parts = "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r2, _}, [%a];";
    let whole = run("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r2}, [%a];");
    assert_eq!(run(parts), whole);
}

#[test]
fn what_is_no_matrix() {
    for (body, sentence) in [
        ("ldmatrix.sync.m8n8.x1.shared.b16 {%r1}, [%a];", "it has .sync.aligned"),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%a];", "only the shape .m8n8"),
        ("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%a], {%r1};", "only the shape .m8n8"),
        ("ldmatrix.sync.aligned.m8n8.shared.b16 {%r1}, [%a];", "a number of matrices is wanted"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, [%a];", "the type .b8 is not supported here"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%a];", "2 registers in braces are wanted"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%a];", "1 registers in braces are wanted"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%g}, [%a];", "a register of type .b64 stands where .b32"),
        ("ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r1}, [%g];", "`.global` is not supported here"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%a];", "1 registers in braces are wanted"),
        ("movmatrix.sync.aligned.m8n8.b16 %r1, %r2;", "it has .trans"),
        ("movmatrix.sync.aligned.m8n8.trans.b16 {%r1}, %r2;", "a register is wanted"),
    ] {
        let log = device::compile(&kernel(body)).err().unwrap_or_else(|| panic!("{body} is accepted")).log;
        assert!(log.contains(sentence), "{body}: {log}");
    }
    let device = Device::default();
    let (din, drows, out) = (device.upload(&input()), device.upload(&rows()), device.zeroed(512 + 4096));
    for (body, kind) in [
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%a+8];", FaultKind::MisalignedAddress),
        ("stmatrix.sync.aligned.m8n8.x1.trans.b16 [%g+4], {%r0};", FaultKind::MisalignedAddress),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%a+65536];", FaultKind::IllegalAddress),
    ] {
        let args = [Arg::U64(din), Arg::U64(drows), Arg::U64(out)];
        let fault = load(&device, &kernel(body)).run(&device, "k", 1, 32, &args).unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
    }
}
