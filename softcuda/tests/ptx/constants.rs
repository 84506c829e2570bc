//! Constant expressions: what they are worth in first values, in operands and in declarations. The values are those that ptxas
//! of CUDA 13.0 writes.

use crate::device::{self, Device, load, results, text};

/// The bytes of a variable of the type with that first value.
fn first_value(ty: &str, value: &str) -> Result<Vec<u8>, String> {
    let text = text(&format!(".visible .global .{ty} x[1] = {{{value}}};\n.visible .entry k() {{ ret; }}"));
    device::compile(&text).map_err(|error| error.log)?;
    let device = Device::default();
    let loaded = load(&device, &text);
    Ok(device.read(loaded.globals[0], loaded.module.globals()[0].size))
}

fn integer(expression: &str) -> u64 {
    let bytes = first_value("u64", expression).unwrap_or_else(|log| panic!("{expression}: {log}"));
    u64::from_le_bytes(bytes.try_into().unwrap())
}

#[test]
fn integers() {
    const ALL: u64 = u64::MAX;
    for (expression, expected) in [
        ("1 + 2 * 3", 7),
        ("1 | 2 ^ 3 & 4", 3),
        ("1 << 2 + 1", 8),
        ("-(~4)", 5),
        ("- -5", 5),
        ("+-5", ALL - 4),
        ("1 - -1", 2),
        ("WARP_SZ*2", 64),
        ("0b101 + 017 + 0xfU", 35),
        // Signed unless one of them is not.
        ("-7 / 2", ALL - 2),
        ("-7U / 2", 0x7fff_ffff_ffff_fffc),
        ("-5 / 2U", 0x7fff_ffff_ffff_fffd),
        ("-7 % 2", 1),
        ("(-2 % -1) >> 1", 0x7fff_ffff_ffff_ffff),
        ("-1 >> 1", ALL),
        ("-1U >> 1", ALL >> 1),
        ("~0 >> 1", ALL >> 1),
        ("0xffffffffffffffff >> 1", ALL >> 1),
        ("(-1 & -1) >> 1", ALL),
        ("(-1 ^ 0) >> 1", ALL),
        ("(-1 ^ 0U) >> 1", ALL >> 1),
        ("(-1 + 0U) >> 1", ALL >> 1),
        ("0x8000000000000000 >> 63", 1),
        ("-9223372036854775808 >> 63", 1),
        ("0xffffffffffffffff / -1", 1),
        // Shifts by more than there are bits.
        ("1 << 64", 1),
        ("1 << 65", 2),
        ("1 << -1", 1 << 63),
        ("-1 >> 70", ALL),
        // Comparisons, and what is made of them.
        ("7 > 5", 1),
        ("3 <= 3", 1),
        ("2 > 1 > 0", 1),
        ("-1 < 0", 1),
        ("-1 < 0U", 0),
        ("-1 > 0U", 1),
        ("-1 == 0xffffffffffffffff", 1),
        ("-1 != 1U", 1),
        ("3 == 3 == 1", 1),
        ("((1<2) - 2) >> 1", ALL),
        ("(!0 - 2) >> 1", ALL),
        ("!5", 0),
        ("!0", 1),
        ("1 && 2", 1),
        ("5 && 0", 0),
        ("0 || 0", 0),
        ("0 || 3 && 1", 1),
        // `?:` goes on to the right, and keeps the type of what it chose.
        ("1 ? 2 : 3", 2),
        ("1 < 2 ? 10 : 20", 10),
        ("0 ? 2 : 0 ? 3 : 4", 4),
        ("1 ? 0 ? 1 : 2 : 3", 2),
        ("(1 ? -1 : 1U) >> 1", ALL),
        ("(0 ? 1 : -1U) >> 1", ALL >> 1),
        // Casts.
        ("(.u64)-1 >> 1", ALL >> 1),
        ("(.s64)(.u64)-1 >> 1", ALL),
        ("(.u64)(-1) > 0", 1),
        ("!(.s64)3", 0),
        // Numbers with a point can be compared.
        ("1.0 < 2.0", 1),
        ("(1.5 > 2.0) ? 5 : 6", 6),
        ("1.0 == 1.0", 1),
    ] {
        assert_eq!(integer(expression), expected, "{expression}");
    }
}

#[test]
fn numbers_with_a_point() {
    let single = |value: f32| value.to_bits().to_le_bytes().to_vec();
    let double = |value: f64| value.to_bits().to_le_bytes().to_vec();
    for (ty, value, expected) in [
        ("f32", "1.0 + 2.0", single(3.0)),
        ("f32", ".5", single(0.5)),
        ("f32", "1.e3", single(1000.0)),
        ("f32", "1.5E+3", single(1500.0)),
        ("f32", "-1e-3", single(-1e-3)),
        ("f32", "0f7FA00001", 0x7fa0_0001u32.to_le_bytes().to_vec()),
        ("f32", "0d3FF0000000000000", single(1.0)),
        ("b32", "0f3F800000", single(1.0)),
        ("b32", "1.0", single(1.0)),
        ("b64", "1.0", double(1.0)),
        ("f64", "1.5*2.0-1.0/4.0", double(2.75)),
        ("f64", "-(1.5)", double(-1.5)),
        ("f64", "-0d3FF0000000000000", double(-1.0)),
        ("f64", "0d3FF0000000000000 * 2.0", double(2.0)),
        ("f64", "3 > 2 ? 1.0 : 0.0", double(1.0)),
        // As they are.
        ("f64", "0f3F800000", 0x3f80_0000u64.to_le_bytes().to_vec()),
    ] {
        assert_eq!(first_value(ty, value).as_ref(), Ok(&expected), ".{ty} {value}");
    }
}

#[test]
fn what_is_no_constant() {
    for (ty, value, sentence) in [
        ("u64", "8 / 0", "a constant expression has `/` by zero"),
        ("u64", "8 % (1 - 1)", "a constant expression has `%` by zero"),
        ("f64", "1.0 / 0.0", "a constant expression has `/` by zero"),
        ("u64", "1 + 1.5", "an integer beside a number with a point"),
        ("u64", "1 ? 2 : 3.0", "an integer beside a number with a point"),
        ("u64", "1.5 ? 1 : 2", "an integer is wanted"),
        ("u64", "!1.0", "an integer is wanted"),
        ("u64", "~1.0", "an integer is wanted"),
        ("u64", "(.s64)1.5", "an integer is wanted"),
        ("u64", "1.0 && 1.0", "`&&` between numbers with a point"),
        ("f64", "1.0 % 1.0", "`%` between numbers with a point"),
        ("u64", "1.5", "the first value is not of the variable's type"),
        ("u32", "0f3F800000", "the first value is not of the variable's type"),
        ("b64", "0f3F800000", "the first value is not of the variable's type"),
        ("f16", "1.0", "the first value is not of the variable's type"),
        ("u64", "(.u32)5", "syntax error at .u32"),
        ("u64", "1 ? 2", "':' is wanted"),
        ("u64", "18446744073709551616", "is not a number"),
        ("u64", "(1, 2)", "')' is wanted"),
    ] {
        let log = first_value(ty, value).expect_err(value);
        assert!(log.starts_with("line 4: ") && log.contains(sentence), "{value}: {log}");
    }
}

#[test]
fn in_operands_and_declarations() {
    let text = text(
        "
.const .b32 two[(1 << 3) > 7 ? 2 : 1] = {WARP_SZ - 1, 5};
.visible .entry k(.param .u64 out) {
    .reg .b64 %out, %x; .reg .b32 %r<2 * 4 + 2>; .reg .f32 %f; .reg .f64 %d; .reg .pred %p;
    ld.param.u64 %out, [out];
    mov.u32 %r0, 0xffU;
    mov.u32 %r1, (1 << 2) - 3 + (7 > 5 ? 2 : 9);
    add.u32 %r2, %r1, 1<2?3:4;
    add.u32 %r3, %r0, (5);
    mov.f32 %f, -(1.5) * 2.0;
    mov.b64 %x, two+(1?4:8);
    ld.const.u32 %r4, [%x+4*2-(1?8:3)];
    mov.f64 %d, 0f3F800000;
    setp.eq.u32 %p, !(3 != 3), 1 && 2;
    selp.u32 %r5, 1 | 2, ~0, %p;
    st.global.v2.u32 [%out], {%r0, %r1};
    st.global.v2.u32 [%out+4*2], {%r2, %r3};
    st.global.f32 [%out+16], %f;
    st.global.u32 [%out+20], %r4;
    st.global.f64 [%out+(20+4)], %d;
    st.global.v2.u32 [%out+32], {%r5, 1<2};
    ret;
}",
    );
    let expected = [0xff, 3, 6, 0x104, (-3f32).to_bits(), 5, 0x3f80_0000, 0, 3, 1];
    assert_eq!(results::<u32>(&text, 10), expected);
}
