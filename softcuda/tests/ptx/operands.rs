//! Operands: elements of arrays, vectors in registers, loads of which only some bytes are used.

use crate::device::{self, Arg, Device, load, results, text};
use softcuda::ptx::FaultKind;

/// A kernel with registers of each kind, `%out` set, and these declarations before it.
fn kernel(declarations: &str, body: &str) -> String {
    let pragmas = ".version 8.3\n.target sm_80\n.address_size 64\n";
    format!(
        "{pragmas}{declarations}
.visible .entry k(.param .u64 out) {{
    .reg .b64 %out, %d<8>; .reg .b32 %r<20>; .reg .b16 %h<8>; .reg .s16 %s<3>; .reg .f32 %f<8>; .reg .pred %p<4>;
    ld.param.u64 %out, [out];
    {body}
    ret; }}"
    )
}

/// What the kernel stores at `%out`.
fn words(declarations: &str, body: &str, count: usize) -> Vec<u32> {
    results(&kernel(declarations, body), count)
}

fn refusal(declarations: &str, body: &str) -> String {
    match device::compile(&kernel(declarations, body)) {
        Ok(_) => panic!("{body} is accepted"),
        Err(error) => error.log,
    }
}

const PRIMES: &str = ".global .u32 g[8] = {2,3,5,7,11,13,17,19};
.const .u32 c[8] = {2,3,5,7,11,13,17,19};
.global .u16 rows[2][3] = {{1,2,3},{4,5,6}};
.global .v4 .u32 quads[2] = {{1,2,3,4},{5,6,7,8}};
.shared .u32 s[8];
.extern .shared .u32 open[];
";

#[test]
fn elements_of_arrays() {
    for (body, expected) in [
        // Counted in elements, whatever is loaded.
        ("ld.global.u32 %r1, g[2];", 5),
        ("ld.global.u32 %r1, g[2+1];", 7),
        ("ld.u32 %r1, g[3 > 2];", 3),
        ("mov.u32 %r3, 3; ld.global.u32 %r1, g[%r3];", 7),
        ("mov.u32 %r3, 3; ld.global.u32 %r1, g[%r3+4];", 19),
        ("mov.u32 %r3, 3; ld.global.u32 %r1, g[%r3-1];", 5),
        ("mov.u32 %r3, 3; ld.global.u32 %r1, g[%r3+-1];", 5),
        ("mov.u32 %r3, 3; ld.u32 %r1, g [ %r3 + 4 - 2 ] ;", 13),
        ("mov.u32 %r3, 3; ld.global.u8 %r1, g[%r3];", 7),
        ("mov.u32 %r3, 1; ld.const.u32 %r1, c[%r3];", 3),
        ("ld.const.u32 %r1, c[1];", 3),
        // The index in registers of any width.
        ("mov.u64 %d1, 3; ld.global.u32 %r1, g[%d1+1];", 11),
        ("mov.u64 %d1, 0x900000003; ld.global.u32 %r1, g[%d1+1];", 11),
        ("mov.u16 %h1, 3; ld.global.u32 %r1, g[%h1];", 7),
        ("mov.s16 %s1, -1; ld.global.u32 %r1, g[%s1+2];", 3),
        // What has rows or vectors is counted in scalars.
        ("ld.global.u16 %r1, rows[4];", 5),
        ("mov.u32 %r3, 4; ld.global.u16 %r1, rows[%r3];", 5),
        ("mov.u32 %r3, 5; ld.global.u32 %r1, quads[%r3];", 6),
        ("ld.global.v4.u32 {%r2, %r1, %r3, %r4}, quads[4];", 6),
        // Stores, and the other spaces.
        ("mov.u32 %r3, 1; st.global.u32 g[%r3], 99; ld.global.u32 %r1, [g+4];", 99),
        ("st.shared.u32 s[1], 98; mov.u32 %r3, 4; ld.shared.u32 %r1, [s+4];", 98),
        ("mov.u32 %r3, 4; st.shared.u32 s[%r3+2], 97; ld.shared.u32 %r1, s[6];", 97),
        (".local .u32 l[4]; mov.u32 %r3, 1; st.local.u32 l[%r3+2], 96; ld.local.u32 %r1, l[3];", 96),
        (".local .u32 l[4]; st.local.u32 l[3], 95; mov.u32 %r3, 3; ld.local.u32 %r1, l[%r3];", 95),
        (
            ".local .align 8 .u32 l[4]; mov.u32 %r3, 1; st.local.v2.u32 l[%r3+1], {94, 93};
            ld.local.v2.u32 {%r4, %r1}, l[%r3+1];",
            93,
        ),
        // The address of an element.
        ("mov.u64 %d1, g[1]; ld.global.u32 %r1, [%d1];", 3),
        ("mov.u32 %r3, 4; mov.u64 %d1, g[%r3]; ld.global.u32 %r1, [%d1];", 11),
        ("cvta.global.u64 %d1, g[1]; ld.u32 %r1, [%d1];", 3),
        ("mov.u32 %r1, s[3];", 12),
        ("mov.u32 %r3, 2; mov.u32 %r1, s[%r3+1];", 12),
        ("st.shared.u32 s[1], 92; cvta.shared.u64 %d1, s[1]; ld.u32 %r1, [%d1];", 92),
        ("{ .reg .b32 g; mov.u32 g, 4; mov.u32 %r1, g; }", 4),
    ] {
        let body = format!("{body} st.global.u32 [%out], %r1;");
        assert_eq!(words(PRIMES, &body, 1), [expected], "{body}");
    }
}

#[test]
fn elements_of_parameters_and_of_what_the_launch_sizes() {
    let device = Device::default();
    let loaded = load(
        &device,
        &text(
            "
.extern .shared .u32 open[];
.func (.param .b32 sum) third(.param .align 4 .u32 all[4]) {
    .reg .b32 %i, %r; mov.u32 %i, 1;
    ld.param.u32 %r, all[%i+1];
    st.param.u32 [sum], %r; ret; }
.visible .entry k(.param .u64 out, .param .u64 second) {
    .reg .b64 %out; .reg .b32 %i, %r<4>;
    ld.param.u64 %out, [out]; mov.u32 %i, %tid.x;
    st.shared.u32 open[%i+1], 7; ld.shared.u32 %r0, [open+4];
    .param .align 4 .u32 passed[4]; .param .b32 got;
    add.u32 %i, %i, 1;
    st.param.u32 passed[%i+1], 55; st.param.u32 passed[3], 66;
    call (got), third, (passed);
    ld.param.u32 %r1, [got];
    st.global.v2.u32 [%out], {%r0, %r1};
    ret; }
.visible .entry read(.param .u64 out, .param .align 8 .u16 all[8]) {
    .reg .b64 %out; .reg .b32 %i, %r<4>;
    ld.param.u64 %out, [out]; mov.u32 %i, 2;
    ld.param.u16 %r0, all[%i+1]; ld.param.u16 %r1, all[7]; ld.param.v2.u16 {%r2, %r3}, all[%i+2];
    st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};
    ret; }",
        ),
    );
    let out = device.zeroed(16);
    let shared = |launch: &mut softcuda::ptx::Launch<'_>| launch.shared = 16;
    loaded.run_with(&device, "k", &[Arg::U64(out), Arg::U64(0)], shared).unwrap();
    assert_eq!(device.read::<u32>(out, 2), [7, 55]);
    let mut arguments = out.to_le_bytes().to_vec();
    arguments.extend((10..18u16).flat_map(u16::to_le_bytes));
    let mut launch = softcuda::ptx::Launch::new(&device);
    launch.args = &arguments;
    loaded.module.function("read").unwrap().launch(&launch).unwrap();
    assert_eq!(device.read::<u32>(out, 4), [13, 17, 14, 15]);
}

#[test]
fn an_index_counts_in_32_bits() {
    // As a GPU's code does: an index below zero is far behind the array, not before it.
    let text = kernel(PRIMES, "mov.s32 %r3, -1; ld.global.u32 %r1, g[%r3];");
    let device = Device::default();
    let out = device.zeroed(4);
    let loaded = load(&device, &text);
    let fault = loaded.run(&device, "k", 1, 1, &[Arg::U64(out)]).unwrap_err();
    let expected = loaded.globals[0] + 0xffff_fffc;
    assert_eq!((fault.kind, fault.address), (FaultKind::IllegalAddress, Some(expected)));
}

#[test]
fn what_is_no_element() {
    for (body, sentence) in [
        ("ld.global.u32 %r1, one[0];", "one is no array, and has no elements"),
        ("ld.global.u32 %r1, %d1[4];", "%d1 is no array"),
        ("ld.global.u32 %r1, nothing[4];", "nothing is no array"),
        ("ld.global.u32 %r1, g[%f1];", "an index is an integer"),
        ("ld.global.u32 %r1, g[%p1];", "an index is an integer"),
        ("ld.global.u32 %r1, g[1.5];", "an integer is wanted"),
        ("ld.global.u32 %r1, g[];", "a constant is wanted"),
        ("ld.global.u32 %r1, g[%r1;", "syntax error"),
        ("ld.global.u32 %r1, rows[1][2];", "syntax error"),
        ("ld.global.u32 %r1, [g[1]];", "syntax error"),
        ("ld.shared.u32 %r1, l[%r1]; .local .u32 l[4];", "l is no array"),
        (".local .u32 l[4]; ld.shared.u32 %r1, l[%r1];", "the variable is not of this state space"),
        (".local .u32 l[4]; ld.u32 %r1, l[%r1];", "the variable is not of this state space"),
        (".local .u32 l[4]; ld.local.u32 %r1, l[4];", "the variable ends before"),
        ("ld.param.u32 %r1, out[1];", "out is no array"),
        ("atom.global.add.u32 %r1, g[1], 1;", "an address in brackets is wanted"),
        ("{ .reg .b32 g; ld.global.u32 %r1, g[1]; }", "g is no array"),
    ] {
        let declarations = format!("{PRIMES}.global .u32 one;");
        assert!(refusal(&declarations, body).contains(sentence), "{body}: {}", refusal(&declarations, body));
    }
}

const VECTORS: &str = ".global .align 16 .v4 .u32 v = {1, 2, 3, 4};
.global .align 16 .v4 .u32 w;
";

#[test]
fn vectors_in_registers() {
    let registers =
        ".reg .v4 .u32 %v, %w; .reg .v2 .u32 %u; .reg .v2 .b64 %q; .reg .v4 .b8 %b; .reg .v2 .b16 %x;
    .reg .v4 .f32 %many<3>;";
    let stored = "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";
    for (body, expected) in [
        ("ld.global.v4.u32 %v, [v]; st.global.v4.u32 [%out], %v;", [1, 2, 3, 4]),
        ("ld.global.v4.u32 %v, [v]; st.global.v4.u32 [%out], {%v.w, %v.b, %v.y, %v.r};", [4, 3, 2, 1]),
        ("ld.global.v4.b32 %v, [v]; mov.v4.u32 %w, %v; st.global.v4.b32 [%out], %w;", [1, 2, 3, 4]),
        (
            "ld.global.v4.u32 %v, [v]; mov.v4.u32 %v, {%v.y, %v.z, %v.w, %v.x}; st.global.v4.u32 [%out], %v;",
            [2, 3, 4, 1],
        ),
        ("ld.global.v4.u32 %v, [v]; mov.v4.u32 {%r4, %r3, _, %r1}, %v; mov.u32 %r2, 9;", [4, 9, 2, 1]),
        ("mov.v4.u32 {%r1, %r2, %r3, %r4}, %ntid;", [1, 1, 1, 0]),
        ("mov.v4.u32 %v, %tid; add.u32 %r1, %v.x, 5; mov.u32 %r2, %v.w; mov.u32 %r3, %tid.w;", [5, 0, 0, 0]),
        ("mov.v4.u16 {%h1, %h2, %h3, %h4}, %nctaid; cvt.u32.u16 %r1, %h1; cvt.u32.u16 %r4, %h4;", [1, 0, 0, 0]),
        ("mov.u32 %v.x, 6; add.u32 %v.z, %v.r, 1; mul.lo.u32 %r1, %v.b, %v.x; mov.u32 %r2, %v.z;", [42, 7, 0, 0]),
        ("mov.u32 %u.x, 5; mov.u32 %u.y, 6; mov.b64 %d1, %u; mov.b64 {%r1, %r2}, %d1;", [5, 6, 0, 0]),
        ("mov.u64 %d1, 0x600000005; mov.b64 %u, %d1; mov.u32 %r1, %u.x; mov.u32 %r2, %u.y;", [5, 6, 0, 0]),
        ("mov.u64 %d1, 0x600000005; mov.b64 {%u.x, %u.y}, %d1; mov.v2.u32 {%r2, %r1}, %u;", [6, 5, 0, 0]),
        ("mov.b32 %b, 0x04030201; cvt.u32.u8 %r1, %b.x; cvt.u32.u8 %r4, %b.w;", [1, 0, 0, 4]),
        ("mov.b32 %x, 0x00020001; mov.b32 %r1, {%x.y, %x.x};", [0x0001_0002, 0, 0, 0]),
        ("ld.global.v2.b64 %q, [v]; mov.b64 {%r1, %r2}, %q.y; mov.b64 {%r3, %r4}, %q.x;", [3, 4, 1, 2]),
        ("mov.f32 %many1.x, 0f00000001; mov.f32 %many2.w, 0f00000002; mov.b32 %r1, %many1.x; mov.b32 %r2, %many2.w;
         mov.b32 %r3, %many0.x; mov.b32 %r4, %many1.w;", [1, 2, 0, 0]),
        ("ld.global.v4.u32 {%v.x, %r1, _, %v.y}, [v]; mov.u32 %r2, %v.x; mov.u32 %r3, %v.y;", [2, 1, 4, 0]),
    ] {
        let store = if body.contains("[%out]") { "" } else { stored };
        let body = format!("{registers} {body} {store}");
        assert_eq!(words(VECTORS, &body, 4), expected, "{body}");
    }
    for (body, sentence) in [
        ("add.u32 %v, %v, %w;", "%v is a vector"),
        ("mov.u32 %r1, %u.z;", "%u has no component .z"),
        ("mov.u32 %r1, %v.q;", "%v is a vector"),
        ("ld.global.v2.u32 %v, [v];", "2 values are wanted"),
        ("ld.global.u32 %v, [v];", "1 values are wanted"),
        ("ld.global.v4.u32 %v.x, [v];", "4 values are wanted"),
        ("mov.v4.u32 %v, %u;", "two vectors of"),
        ("mov.v2.u32 %v, %w;", "two vectors of"),
        ("mov.v4.u32 %v, 0;", "two vectors of"),
        ("mov.u32 %v, %w;", "one of the operands is a scalar"),
        ("mov.u32 %r1, %tid;", "%tid is a vector"),
        (".reg .v4 .f64 %x4;", "a vector has 128 bits at most"),
        (".reg .v2 .b128 %x4;", "a vector has 128 bits at most"),
        (".reg .v4 .pred %x4;", "a predicate can only be in a register of its own"),
        (".reg .u32 %x4[3];", "registers and variables with numbered names are no arrays"),
        (".reg .u32 %x4 = 3;", "only global and constant variables have first values"),
        ("mov.f32 %r1, %many3.x;", "unknown name %many3"),
    ] {
        let said = refusal(VECTORS, &format!("{registers} {body}"));
        assert!(said.contains(sentence), "{body}: {said}");
    }
}

/// `used` bytes of twelve that exist, as LLVM writes it for a `float3`.
#[test]
fn bytes_that_are_not_used_need_not_exist() {
    let bytes = ".global .align 16 .b8 g[12] = {1,2,3,4,5,6,7,8,9,10,11,12};
.global .align 4 .b8 three[3] = {1,2,3};
.func (.param .b32 last) third(.param .align 16 .b8 all[12]) {
    .reg .b32 %r<5>;
    .pragma \"used_bytes_mask 0xfff\";
    ld.param.v4.b32 {%r1, %r2, %r3, %r4}, [all];
    st.param.b32 [last], %r3; ret; }
.func (.param .b32 all) whole(.param .align 4 .b8 three[3]) {
    .reg .b32 %r<5>;
    .pragma \"used_bytes_mask 0x7\";
    ld.param.b32 %r1, [three];
    st.param.b32 [all], %r1; ret; }
";
    let called = |size: u32, function: &str| {
        format!(
            "{{ .param .align 16 .b8 a[{size}]; .param .b32 b; st.param.b8 [a+2], 7; st.param.b8 [a+{}], 9;
            call (b), {function}, (a); ld.param.b32 %r1, [b]; }}",
            size - 1
        )
    };
    for (body, expected) in [
        (&*called(12, "third"), [0x0900_0000, 0]),
        (&*called(3, "whole"), [0x0009_0000, 0]),
        (
            ".pragma \"used_bytes_mask 0xfff\"; ld.global.v4.b32 {%r1, %r3, %r2, %r4}, [g];",
            [0x0403_0201, 0x0c0b_0a09],
        ),
        (".pragma \"nounroll\", \" used_bytes_mask  0x7 \"; ld.global.b32 %r1, [three];", [0x0003_0201, 0]),
        ("mov.u64 %d1, three; .pragma \"used_bytes_mask 7\"; ld.b32 %r1, [%d1];", [0x0003_0201, 0]),
        (
            "mov.u64 %d1, g; .pragma \"used_bytes_mask 0x3f0\"; @!%p1 ld.global.v2.b64 {%d2, %d3}, [%d1];
          mov.b64 {%r3, %r1}, %d2; cvt.u32.u64 %r2, %d3;",
            [0x0807_0605, 0x0a09],
        ),
        ("mov.u64 %d1, g; .pragma \"used_bytes_mask 0x8\"; ld.global.u32 %r1, [%d1];", [0x0400_0000, 0]),
        (
            ".local .align 16 .b8 l[6]; st.local.b16 [l+4], 0x1234; .pragma \"used_bytes_mask 0x3f\";
          ld.local.v2.b32 {%r2, %r1}, [l];",
            [0x1234, 0],
        ),
        (
            ".pragma \"used_bytes_mask 0x3\"; ld.global.v4.u8 {%r1, %r2, %r3, %r4}, [g+8]; add.u32 %r1, %r1, %r3;",
            [9, 10],
        ),
        (".pragma \"used_bytes_mask 0x3\"; ld.global.s16 %r1, [three];", [0x0201, 0]),
        // It is for the next instruction only, and for loads.
        (".pragma \"used_bytes_mask 0x1\"; add.u32 %r3, %r3, 1; ld.global.b32 %r1, [g];", [0x0403_0201, 0]),
        (
            ".pragma \"used_bytes_mask 0x1\"; st.global.b32 [g], 0x55667788; ld.global.b32 %r1, [g];",
            [0x5566_7788, 0],
        ),
        (".pragma \"used_bytes_mask 0x0\"; ld.global.b32 %r1, [g];", [0, 0]),
        (".pragma \"used_bytes_mask 0xffffffff\"; ld.global.b32 %r1, [g];", [0x0403_0201, 0]),
    ] {
        let body = format!("setp.ne.u32 %p1, 0, 0; {body} st.global.v2.u32 [%out], {{%r1, %r2}};");
        assert_eq!(words(bytes, &body, 2), expected, "{body}");
    }
    // An address in the register that the load replaces.
    let replaced = ".shared .align 4 .b8 sh[4]; st.shared.b32 [sh], 0x04030201; mov.u32 %r1, sh;
    .pragma \"used_bytes_mask 0x6\"; ld.shared.b32 %r1, [%r1]; st.global.u32 [%out], %r1;";
    assert_eq!(words("", replaced, 1), [0x0003_0200]);
    // Without the pragma they must exist, and with it the address must still be aligned.
    assert!(
        refusal(bytes, ".local .align 4 .b8 l[3]; ld.local.b32 %r1, [l];")
            .contains("the variable ends before")
    );
    let device = Device::default();
    let skewed = "mov.u64 %d1, g; .pragma \"used_bytes_mask 0x7\"; ld.global.b32 %r1, [%d1+2];";
    let fault = load(&device, &kernel(bytes, skewed)).run(&device, "k", 1, 1, &[Arg::U64(0)]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::MisalignedAddress);
    for bad in [
        "used_bytes_mask",
        "used_bytes_mask xyz",
        "used_bytes_mask -1",
        "used_bytes_mask 0x1ffffffffffffffff",
    ] {
        let said = refusal(bytes, &format!(".pragma \"{bad}\"; ld.global.b32 %r1, [g];"));
        assert!(said.contains("has no mask that is a number"), "{said}");
    }
}
