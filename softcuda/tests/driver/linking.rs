//! The linker: several texts become an image, which is loaded like any other. Its answers are documented, and where nothing
//! is, chosen.

use crate::common::streams::{INVALID_HANDLE, stream, synchronize};
use crate::common::{INVALID_CONTEXT, INVALID_VALUE, Library, alone, at, first, with_context};

const INVALID_IMAGE: i32 = 200;
const NO_BINARY_FOR_GPU: i32 = 209;
const INVALID_PTX: i32 = 218;
const INVALID_SOURCE: i32 = 300;
const CUBIN: u64 = 0;
const PTX: u64 = 1;
const HEADER: &str = ".version 8.3\n.target sm_70\n.address_size 64\n";

/// Calls what another text defines, with a function and a variable of its own that the other has, too.
const MAIN: &str = "
.extern .func (.param .u32 r) scaled(.param .u32 x);
.extern .global .u32 factor;
.global .u32 own = 1;
.weak .global .u32 shared_by_all = 100;
.func (.param .u32 r) add(.param .u32 x) {
  .reg .u32 %a, %b; ld.param.u32 %a, [x]; ld.global.u32 %b, [own]; add.u32 %a, %a, %b; st.param.u32 [r], %a; ret;
}
.visible .entry k(.param .u64 p) {
  .reg .u64 %p; .reg .u32 %x, %y;
  ld.param.u64 %p, [p];
  mov.u32 %x, 5;
  { .param .u32 i; .param .u32 o; st.param.u32 [i], %x; call (o), scaled, (i); ld.param.u32 %x, [o]; }
  { .param .u32 i; .param .u32 o; st.param.u32 [i], %x; call (o), add, (i); ld.param.u32 %x, [o]; }
  ld.global.u32 %y, [factor]; add.u32 %x, %x, %y;
  ld.global.u32 %y, [shared_by_all]; add.u32 %x, %x, %y;
  st.global.u32 [%p], %x;
  ret;
}";
const HELPER: &str = "
.visible .global .u32 factor = 3;
.global .u32 own = 2000;
.weak .global .u32 shared_by_all = 100;
.func (.param .u32 r) add(.param .u32 x) {
  .reg .u32 %a, %b; ld.param.u32 %a, [x]; ld.global.u32 %b, [own]; add.u32 %a, %a, %b; st.param.u32 [r], %a; ret;
}
.visible .func (.param .u32 r) scaled(.param .u32 x) {
  .reg .u32 %a, %b; ld.param.u32 %a, [x]; ld.global.u32 %b, [factor]; mul.lo.u32 %a, %a, %b;
  { .param .u32 i; .param .u32 o; st.param.u32 [i], %a; call (o), add, (i); ld.param.u32 %a, [o]; }
  st.param.u32 [r], %a; ret;
}";

fn create(cu: &Library) -> u64 {
    let mut linker = 0u64;
    assert_eq!(cu.call("cuLinkCreate_v2", &[0, 0, 0, at(&mut linker)]), 0);
    linker
}

fn add(cu: &Library, linker: u64, body: &str) -> i32 {
    let text = format!("{HEADER}{body}");
    cu.call("cuLinkAddData_v2", &[linker, PTX, first(text.as_bytes()), text.len() as u64, 0, 0, 0, 0])
}

fn complete(cu: &Library, linker: u64) -> (i32, u64, u64) {
    let (mut image, mut size) = (0u64, 0u64);
    (cu.call("cuLinkComplete", &[linker, at(&mut image), at(&mut size)]), image, size)
}

/// What the kernel of an image writes.
fn run(cu: &Library, image: u64) -> u32 {
    let (mut module, mut kernel, mut result) = (0u64, 0u64, 0u32);
    let (s, (_, pointer)) = (stream(cu), cu.allocate(4));
    assert_eq!(cu.call("cuModuleLoadData", &[at(&mut module), image]), 0);
    assert_eq!(cu.call("cuModuleGetFunction", &[at(&mut kernel), module, first(b"k\0")]), 0);
    let config = [1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, s, 0, 0];
    let arguments = [&raw const pointer];
    assert_eq!(cu.call("cuLaunchKernelEx", &[first(&config), kernel, first(&arguments), 0]), 0);
    assert_eq!(synchronize(cu, s), 0);
    assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut result), pointer, 4]), 0);
    result
}

#[test]
fn several_texts_become_one_image() {
    alone("several_texts_become_one_image", &[], || {
        let cu = with_context();
        for parts in [[MAIN, HELPER], [HELPER, MAIN]] {
            let linker = create(&cu);
            for part in parts {
                assert_eq!(add(&cu, linker, part), 0);
            }
            let (answer, image, size) = complete(&cu, linker);
            assert_eq!(answer, 0);
            // 5 * 3, 2000 of the one text and 1 of the other, 3, 100.
            assert_eq!(run(&cu, image), 15 + 2000 + 1 + 3 + 100);
            assert_eq!(complete(&cu, linker), (0, image, size), "the same again");
            assert_eq!(add(&cu, linker, HELPER), INVALID_VALUE, "it is complete");
            // The image is one like any other: in a file, and as an input.
            // SAFETY: the linker gave so many bytes, which it keeps.
            let bytes = unsafe { std::slice::from_raw_parts(image as *const u8, size as usize) }.to_vec();
            assert!(bytes.starts_with(b"\x7fELF"));
            let second = create(&cu);
            let arguments = [second, CUBIN, first(&bytes), size, 0, 0, 0, 0];
            assert_eq!(cu.call("cuLinkAddData_v2", &arguments), 0);
            let (answer, image, _) = complete(&cu, second);
            assert_eq!((answer, run(&cu, image)), (0, 2119));
            assert_eq!(cu.live("linker"), 2);
            let path = std::env::temp_dir().join(format!("softcuda-linked-{}", std::process::id()));
            std::fs::write(&path, &bytes).expect("a file");
            let (name, mut module) = (format!("{}\0", path.display()), 0u64);
            assert_eq!(cu.call("cuModuleLoad", &[at(&mut module), first(name.as_bytes())]), 0);
            std::fs::remove_file(&path).expect("the file is ours");
            for linker in [linker, second] {
                assert_eq!(cu.call("cuLinkDestroy", &[linker]), 0);
                assert_eq!(cu.call("cuLinkDestroy", &[linker]), INVALID_HANDLE);
            }
            // What was loaded does not need it.
            assert_eq!((run(&cu, first(&bytes)), cu.live("linker")), (2119, 0));
        }
    });
}

/// The limit of registers is that of the input, or else of the linker; the image keeps it wherever it goes.
#[test]
fn registers_are_limited_where_it_is_linked() {
    alone("registers_are_limited_where_it_is_linked", &[], || {
        const NUM_REGS: u64 = 4;
        let cu = with_context();
        let kernel = |name: &str| format!("{HEADER}.visible .entry {name}() {{ .reg .b64 %wide<90>; ret; }}");
        let keys = [0i32]; // CU_JIT_MAX_REGISTERS
        let create = |limit: u64| {
            let (values, mut linker) = ([limit], 0u64);
            let create = [u64::from(limit != 0), first(&keys), first(&values), at(&mut linker)];
            assert_eq!(cu.call("cuLinkCreate_v2", &create), 0);
            linker
        };
        let add = |linker: u64, kind: u64, bytes: &[u8], limit: u64| {
            let (data, values) = ([linker, kind, first(bytes), bytes.len() as u64, 0], [limit]);
            let options = [u64::from(limit != 0), first(&keys), first(&values)];
            assert_eq!(cu.call("cuLinkAddData_v2", &[&data[..], &options].concat()), 0);
        };
        let complete = |linker: u64| {
            let (answer, image, size) = complete(&cu, linker);
            assert_eq!(answer, 0);
            // SAFETY: the linker gave so many bytes, which it keeps.
            unsafe { std::slice::from_raw_parts(image as *const u8, size as usize) }.to_vec()
        };
        let registers = |image: &[u8], name: &[u8]| {
            let (mut module, mut kernel, mut registers) = (0u64, 0u64, 0i32);
            assert_eq!(cu.call("cuModuleLoadData", &[at(&mut module), first(image)]), 0);
            assert_eq!(cu.call("cuModuleGetFunction", &[at(&mut kernel), module, first(name)]), 0);
            assert_eq!(cu.call("cuFuncGetAttribute", &[at(&mut registers), NUM_REGS, kernel]), 0);
            registers
        };
        let linker = create(57);
        add(linker, PTX, kernel("a").as_bytes(), 0);
        add(linker, PTX, kernel("b").as_bytes(), 38);
        let image = complete(linker);
        assert_eq!((registers(&image, b"a\0"), registers(&image, b"b\0")), (57, 38));
        let again = create(24);
        add(again, CUBIN, &image, 0);
        add(again, PTX, kernel("c").as_bytes(), 0);
        let image = complete(again);
        let found = [b"a\0", b"b\0", b"c\0"].map(|name| registers(&image, name));
        assert_eq!(found, [57, 38, 24], "what is compiled already stays as it is");
        let free = create(0);
        add(free, PTX, kernel("a").as_bytes(), 0);
        let most = registers(&complete(free), b"a\0");
        assert!(most > 100, "{most}");
    });
}

/// A linker works for devices that are not there, too; what it makes is not loaded here.
#[test]
fn an_image_for_other_devices() {
    alone("an_image_for_other_devices", &[], || {
        let cu = with_context();
        let create = |target: u64| {
            let (mut linker, key) = (0u64, 9u32); // CU_JIT_TARGET
            let answer =
                cu.call("cuLinkCreate_v2", &[1, at(&mut key.clone()), first(&[target]), at(&mut linker)]);
            (answer, linker)
        };
        assert_eq!(create(999), (INVALID_VALUE, 0));
        let load = |target: u64| {
            let (answer, linker) = create(target);
            assert_eq!((answer, add(&cu, linker, MAIN), add(&cu, linker, HELPER)), (0, 0, 0));
            let (answer, image, size) = complete(&cu, linker);
            assert_eq!((answer, size >= 64), (0, true));
            let mut module = 0u64;
            cu.call("cuModuleLoadData", &[at(&mut module), image])
        };
        assert_eq!((load(53), load(90)), (NO_BINARY_FOR_GPU, 0));
    });
}

#[test]
fn what_cannot_be_linked() {
    alone("what_cannot_be_linked", &[], || {
        let cu = Library::core();
        let mut linker = 0u64;
        assert_eq!(cu.call("cuInit", &[0]), 0);
        assert_eq!(cu.call("cuLinkCreate_v2", &[0, 0, 0, at(&mut linker)]), INVALID_CONTEXT);
        let cu = with_context();
        assert_eq!(cu.call("cuLinkCreate_v2", &[0, 0, 0, 0]), INVALID_VALUE);
        // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
        let mut log = [0u8; 256];
        let (keys, mut values) = ([5u32, 6], [at(&mut log), 256u64]);
        let options = [2, first(&keys), values.as_mut_ptr() as u64];
        assert_eq!(cu.call("cuLinkCreate_v2", &[options[0], options[1], options[2], at(&mut linker)]), 0);
        let said = |log: &[u8]| String::from_utf8_lossy(log).into_owned();
        assert_eq!(add(&cu, linker, ".visible .entry k() { nonsense; "), INVALID_PTX);
        assert!(said(&log).contains("line 4"), "{}", said(&log));
        assert_eq!(add(&cu, linker, MAIN), 0);
        assert_eq!(complete(&cu, linker), (INVALID_SOURCE, 0, 0));
        assert!(said(&log).contains("scaled") || said(&log).contains("factor"), "{}", said(&log));
        // What was missing can still come; two of a name cannot.
        assert_eq!(add(&cu, linker, HELPER), 0);
        assert_eq!(complete(&cu, linker).0, 0);
        let linker = create(&cu);
        for _ in 0..2 {
            assert_eq!(add(&cu, linker, ".visible .global .u32 x = 1;"), 0);
        }
        assert_eq!(complete(&cu, linker).0, INVALID_SOURCE);
        let bytes = [0x7fu8, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0];
        let data = |kind: u64, address: u64, size: u64| {
            cu.call("cuLinkAddData_v2", &[linker, kind, address, size, 0, 0, 0, 0])
        };
        assert_eq!(data(CUBIN, first(&bytes), 10), NO_BINARY_FOR_GPU, "machine code");
        assert_eq!(data(PTX, first(b"hello"), 5), INVALID_IMAGE);
        assert_eq!(data(PTX, 0, 5), INVALID_VALUE);
        assert_eq!(data(PTX, first(&bytes), u64::MAX), INVALID_VALUE);
        assert_eq!(data(6, first(&bytes), 10), INVALID_VALUE);
        assert_eq!(cu.call("cuLinkComplete", &[linker + 1, 0, 0]), INVALID_HANDLE);
    });
}
