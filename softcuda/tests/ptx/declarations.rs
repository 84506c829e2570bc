//! Declarations: what gets how much memory, and what may be left out.

use crate::device::{self, Arg, Device, load, results, text};
use softcuda::ptx::Module;

/// A kernel that sets the first word of each array to its place in the list, and reports how far apart they are.
fn places(declarations: &str, arrays: &[&str]) -> (Module, Vec<u32>) {
    let mut body = format!(
        "{declarations}\n.visible .entry k(.param .u64 out) {{ .reg .b64 %out; .reg .b32 %at;\nld.param.u64 %out, [out];\n"
    );
    for (number, array) in arrays.iter().enumerate() {
        body += &format!("mov.u32 %at, {array}; st.global.u32 [%out+{}], %at;\n", 4 * number);
    }
    body += "ret; }";
    (device::compile(&text(&body)).unwrap(), results(&text(&body), arrays.len()))
}

#[test]
fn external_shared_arrays_have_the_size_that_they_say() {
    for (declarations, arrays, bytes, expected) in [
        (".extern .shared .align 8 .b8 s[32];", &["s"][..], 32, &[0][..]),
        (".extern .shared .u32 s;", &["s"], 4, &[0]),
        (".extern .shared .u32 s[4]; .extern .shared .u32 t[2];", &["s", "t"], 24, &[0, 16]),
        (".extern .shared .u32 s[4]; .shared .u32 t[2];", &["s", "t"], 24, &[0, 16]),
        (".extern .shared .v4 .f32 s[4]; .extern .shared .b8 t[];", &["s", "t"], 64, &[0, 64]),
        // What has no size comes behind what has one, and all of it is the same.
        (".extern .shared .u32 s[]; .extern .shared .u32 t[4];", &["s", "t"], 16, &[16, 0]),
        (".extern .shared .u32 s[]; .extern .shared .u64 t[];", &["s", "t"], 0, &[0, 0]),
        (".extern .shared .u32 s[][4]; .shared .u32 t[2];", &["s", "t"], 8, &[16, 0]),
        // It is there for those who use it.
        (".extern .shared .u32 s[4]; .extern .shared .u32 t[4];", &["t"], 16, &[0]),
        // The declaration that says more counts.
        (".extern .shared .u32 s[]; .extern .shared .u32 s[4];", &["s"], 16, &[0]),
    ] {
        let (module, at) = places(declarations, arrays);
        assert_eq!(module.functions()[0].shared_bytes, bytes, "{declarations}");
        assert_eq!(at, expected, "{declarations}");
    }
}

#[test]
fn external_shared_arrays_can_be_used_to_their_end() {
    let kernel = |offset: u32| {
        text(&format!(
            ".extern .shared .align 8 .b8 s[32];
.visible .entry k(.param .u64 out) {{ .reg .u64 %o; .reg .u32 %a;
    ld.param.u64 %o, [out]; mov.u32 %a, 7;
    st.shared.u32 [s+{offset}], %a; ld.shared.u32 %a, [s+{offset}]; st.global.u32 [%o], %a; ret; }}"
        ))
    };
    assert_eq!(results::<u32>(&kernel(28), 1), [7]);
    let device = Device::default();
    let out = device.zeroed(4);
    load(&device, &kernel(4096)).run(&device, "k", 1, 1, &[Arg::U64(out)]).unwrap_err();
}

#[test]
fn declarations_of_one_shared_array_agree() {
    let kernel = ".entry k() { .reg .b32 %r; mov.u32 %r, s; ret; }";
    let [four, eight, open, defined] = [
        ".extern .shared .u32 s[4];",
        ".extern .shared .u32 s[8];",
        ".extern .shared .u32 s[];",
        ".visible .shared .u32 s[4];",
    ];
    let linked = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|body| text(body)).collect();
        Module::link(&texts, 90, 90)
            .map(|module| module.functions()[0].shared_bytes)
            .map_err(|error| error.log)
    };
    let using = |declaration: &str| format!("{declaration}\n{kernel}");
    assert_eq!(linked(&[&using(four), four]), Ok(16));
    assert_eq!(linked(&[&using(open), eight]), Ok(32));
    assert_eq!(linked(&[&using(open), defined]), Ok(16));
    assert_eq!(linked(&[&using(four), defined]), Ok(16));
    for other in [eight, &format!("{open} {eight}")] {
        assert_eq!(
            linked(&[&using(four), other]),
            Err("line 4: s has 32 bytes here, and 16 in line 4".into())
        );
    }
    let too_much = linked(&[&using(".extern .shared .u32 s[12289];")]).unwrap_err();
    assert_eq!(too_much, "Entry function 'k' uses too much shared data (0xc004 bytes, 0xc000 max)");
}

#[test]
fn results_that_nobody_wants_need_not_be_declared() {
    let print = |declared: &str, call: &str| {
        let device = Device::default();
        let body = format!(
            ".extern .func {declared} vprintf (.param .b64 format, .param .b64 values);
.global .align 1 .b8 words[4] = {{104, 105, 10, 0}};
.visible .entry k(.param .u64 out) {{
    .reg .u64 %x, %null; .reg .u32 %v;
    {{ .param .b64 a; .param .b64 b; .param .b32 r;
    mov.u64 %x, words; cvta.global.u64 %x, %x; st.param.b64 [a], %x; mov.u64 %null, 0; st.param.b64 [b], %null;
    {call} }}
    ld.param.u64 %x, [out]; mov.u32 %v, 7; st.global.u32 [%x], %v; ret; }}"
        );
        let out = device.zeroed(4);
        load(&device, &text(&body)).run(&device, "k", 1, 1, &[Arg::U64(out)]).unwrap();
        assert_eq!(device.read::<u32>(out, 1), [7]);
        device.text()
    };
    assert_eq!(print("", "call.uni vprintf, (a, b);"), "hi\n");
    assert_eq!(print("(.param .b32 r)", "call.uni (r), vprintf, (a, b);"), "hi\n");
    assert_eq!(print("(.param .b32 r)", "call.uni (_), vprintf, (a, b);"), "hi\n");
    let refused = |declared: &str, call: &str| {
        let body =
            format!(".extern .func {declared};\n.entry k() {{ .param .b64 a; .param .b64 b; {call} ret; }}");
        device::compile(&text(&body)).err().map(|error| error.log)
    };
    let elsewhere = ": the function vprintf is declared in a way that is not the driver's";
    let vprintf = "vprintf(.param .b64 f, .param .b64 v)";
    for (declared, call) in [
        (format!("(.param .b64 r) {vprintf}"), "call (a), vprintf, (a, b);"),
        ("vprintf(.param .b64 f)".to_owned(), "call vprintf, (a);"),
    ] {
        assert!(refused(&declared, call).is_some_and(|log| log.contains(elsewhere)), "{declared}");
    }
    assert_eq!(refused("malloc(.param .b64 n)", "call malloc, (a);"), None);
    let wanted = refused(vprintf, "call (a), vprintf, (a, b);").unwrap();
    assert!(wanted.ends_with("1 values are passed for 0"), "{wanted}");
}

#[test]
fn registers_are_as_many_as_are_named() {
    let many = text(
        ".visible .entry k(.param .u64 out) {
    .reg .b64 %o; .reg .b32 %r<2000000000>; .reg .pred %p<1000000>;
    ld.param.u64 %o, [out];
    mov.u32 %r1999999999, 5; add.u32 %r131072, %r1999999999, 1;
    setp.eq.u32 %p999999, %r131072, 6;
    @%p999999 st.global.v2.u32 [%o], {%r131072, %r1999999999};
    ret; }",
    );
    assert_eq!(results::<u32>(&many, 2), [6, 5]);
    // What is declared is told, as much as a GPU has.
    assert_eq!(device::compile(&many).unwrap().functions()[0].registers, 255);
}

/// As unrolled loops have them, each used once.
#[test]
fn a_kernel_uses_more_registers_than_131072() {
    const MANY: usize = 140_000;
    let chain: String = (1..MANY).map(|n| format!("add.u32 %r{n}, %r{}, 1;\n", n - 1)).collect();
    let body = format!(
        ".visible .entry k(.param .u64 out) {{ .reg .b64 %o; .reg .b32 %r<{MANY}>;
    ld.param.u64 %o, [out]; mov.u32 %r0, 7;\n{chain}st.global.u32 [%o], %r{}; ret; }}",
        MANY - 1
    );
    assert_eq!(results::<u32>(&text(&body), 1), [MANY as u32 + 6]);
}

#[test]
fn numbered_names() {
    // ptxas reads the number, and not how it is written.
    let registers = "mov.u32 %r1, 5; mov.u32 %r01, 7; mov.u32 %r2, 9;";
    let slots = ".local .u32 l<3>; .shared .u32 s<2>; .shared .u32 after;
    st.local.u32 [l1], 1; st.local.u32 [l2], 2; ld.local.u32 %r3, [l1]; ld.local.u32 %r4, [l2];
    st.shared.u32 [s0], 3; st.shared.u32 [s1], 4; st.shared.u32 [after], 5; ld.shared.u32 %r5, [s1];";
    let body = format!(
        ".visible .entry k(.param .u64 out) {{ .reg .b64 %o; .reg .b32 %r<8>;
    ld.param.u64 %o, [out]; {registers} {slots}
    st.global.v2.u32 [%o], {{%r1, %r2}}; st.global.v2.u32 [%o+8], {{%r3, %r4}}; st.global.u32 [%o+16], %r5; ret; }}"
    );
    assert_eq!(results::<u32>(&text(&body), 5), [7, 9, 1, 2, 4]);
    for (declaration, sentence) in [
        (".reg .b32 %r<2>; .reg .b32 %r<3>;", "%r is declared twice"),
        (".reg .b32 %r<2>; mov.u32 %r2, 1;", "unknown name %r2"),
        (".reg .b32 %r<0>; mov.u32 %r0, 1;", "unknown name %r0"),
        (".reg .b32 %r1<3>; mov.u32 %r12, 1;", "unknown name %r12"),
        (".reg .b32 %r<2147483649>;", "too many registers %r"),
        (".reg .b32 %r<99999999999>;", "too many registers %r"),
        (".reg .b32 %r<-1>;", "too many registers %r"),
        (".reg .b32 %r<1.5>;", "an integer is wanted"),
        (".local .b64 l<4000000000>;", "l is too large"),
        (".local .b8 l<3>[4];", "variables with numbered names are no arrays"),
        (".shared .b64 l<4000000000>;", "too much shared data"),
    ] {
        let log = device::compile(&text(&format!(".entry k() {{ {declaration} ret; }}"))).err().unwrap().log;
        assert!(log.contains(sentence), "{declaration}: {log}");
    }
    let log = device::compile(&text(".global .u32 g<3>; .entry k() { ret; }")).err().unwrap().log;
    assert!(log.ends_with("numbered names of global variables are not supported"), "{log}");
}

#[test]
fn lines_of_a_preprocessor() {
    let marked = text(
        "# 7 \"k.cu\" 2
.visible .entry k(.param .u64 out) { .reg .b64 %o; # 8 \"k.cu\"
    ld.param.u64
#line 9 \"a b.h\"
    %o, [out];
  # line 10 \"k.cu\"
    st.global.u32 [%o], 7; ret; }",
    );
    assert_eq!(results::<u32>(&marked, 1), [7]);
    for line in ["#define N 4", "#include \"x.h\"", "#if 0", "#pragma once", "# 1", "#"] {
        let log = device::compile(&text(&format!("{line}\n.entry k() {{ ret; }}"))).err().unwrap().log;
        assert_eq!(log, format!("line 4: syntax error at `{line}`: a driver has no preprocessor"));
    }
}

#[test]
fn variables_of_a_function_that_stay() {
    let body = text(
        ".global .u32 g = 1;
.visible .entry k(.param .u64 out) { .reg .b64 %o; .reg .b32 %r<6>;
    ld.param.u64 %o, [out];
    { .global .u32 g = 5; ld.global.u32 %r1, [g]; }
    { .global .u32 g[2] = {6, 7}; ld.global.u32 %r2, g[1]; st.global.u32 [g], 9; ld.global.u32 %r4, [g]; }
    { .const .u32 c = 8; ld.const.u32 %r3, [c]; }
    ld.global.u32 %r5, [g];
    st.global.v4.u32 [%o], {%r1, %r2, %r3, %r4}; st.global.u32 [%o+16], %r5; ret; }",
    );
    assert_eq!(results::<u32>(&body, 5), [5, 7, 8, 9, 1]);
    let module = device::compile(&body).unwrap();
    let names: Vec<&str> = module.globals().iter().map(|global| global.name.as_str()).collect();
    assert_eq!(names, ["g", "$__g__0", "$__g__1", "$__c__2"]);
    let twice = ".entry k() { .global .u32 g; .global .u32 g; ret; }";
    assert!(device::compile(&text(twice)).err().unwrap().log.ends_with("g is declared twice"));
    let numbered = ".entry k() { .global .u32 g<2>; ret; }";
    assert!(device::compile(&text(numbered)).err().unwrap().log.contains("numbered names"));
}

#[test]
fn aliases() {
    let four = ".func (.param .b32 r) four() .abi_preserve 8 { st.param.b32 [r], 4; ret; }";
    let declared = |name: &str| format!(".visible .func (.param .b32 r) {name}();");
    let kernel = |name: &str| {
        format!(
            ".visible .entry k(.param .u64 out) {{ .reg .b64 %o; .reg .b32 %r; .param .b32 p;
    ld.param.u64 %o, [out]; call (p), {name}, (); ld.param.b32 %r, [p]; st.global.u32 [%o], %r; ret; }}"
        )
    };
    let all =
        [four, &declared("a"), ".alias a, four;", &declared("b"), ".alias b, a;", &kernel("b")].concat();
    assert_eq!(results::<u32>(&text(&all), 1), [4]);
    // Of another text.
    let own = format!("{four} {} .alias a, four;", declared("a"));
    let others = format!(".extern .func (.param .b32 r) a(); .func four() {{ ret; }} {}", kernel("a"));
    Module::link(&[text(&own), text(&others)], 90, 90).unwrap();
    for (body, sentence) in [
        (format!("{four} .alias a, four;"), "one of them is not declared"),
        (format!("{} .alias a, four;", declared("a")), "one of them is not declared"),
        (format!("{} {} .alias a, b;", declared("a"), declared("b")), "there is no such function"),
        (format!("{} .entry b() {{ ret; }} .alias a, b;", declared("a")), "there is no such function"),
        (format!("{four} .func a(); .alias a, four;"), "they have different parameters"),
        (format!("{four} {} .alias four, a;", declared("a")), "the alias is defined, too"),
        (format!("{four} {} .alias a four;", declared("a")), "',' is wanted"),
    ] {
        let log = device::compile(&text(&body)).err().unwrap().log;
        assert!(log.contains(sentence), "{body}: {log}");
    }
}
