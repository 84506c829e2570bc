//! The compiler of PTX: its answers to code with errors, its logs, and its options.

use super::Section;
use crate::code::{GARBAGE, KERNELS};
use crate::driver::{Answer, Cu, Outcome, call, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CUjit_option, CUlibrary, CUmodule,
};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "jit", parts: PARTS.len() + OPTIONS.len() + APART.len(), devices: 1, run };

const PARTS: &[fn(&mut Lines, &Cu)] = &[modules, libraries, buffers];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    if let Some(run) = PARTS.get(part) {
        run(t, cu);
    } else if part < PARTS.len() + OPTIONS.len() {
        option(t, cu, part - PARTS.len());
    } else {
        let (situation, ask) = APART[part - PARTS.len() - OPTIONS.len()];
        t.line(situation, || ask(cu));
    }
    Ok(())
}

/// A kernel of one line, which is line 7.
macro_rules! program {
    ($version:literal, $target:literal, $body:literal) => {{
        const TEXT: &str = concat!(
            ".version ",
            $version,
            "\n.target ",
            $target,
            "\n.address_size 64\n",
            ".visible .entry kernel()\n{\n\t.reg .u32 %r<4>;\n\t",
            $body,
            "\n\tret;\n}\n\0"
        );
        match CStr::from_bytes_with_nul(TEXT.as_bytes()) {
            Ok(text) => text,
            Err(_) => panic!("the text has a 0 in it"),
        }
    }};
}

const GOOD: &CStr = program!("7.0", "sm_70", "mov.u32 %r1, %r2;");
const SYNTAX: &CStr = program!("7.0", "sm_70", "add.u33 %r1, %r2, %r3;");
const EXTERN: &CStr = c".version 7.0\n.target sm_70\n.address_size 64\n.extern .func foo();\n\
    .visible .entry kernel()\n{\n\tcall foo, ();\n\tret;\n}\n";

const IMAGES: &[(&str, &CStr)] = &[
    ("good", GOOD),
    ("garbage", GARBAGE),
    ("empty", c""),
    ("white space", c" \n"),
    ("syntax error", SYNTAX),
    ("unknown instruction", program!("7.0", "sm_70", "frobnicate %r1;")),
    ("undeclared register", program!("7.0", "sm_70", "add.u32 %r1, %r2, %s3;")),
    ("missing semicolon", program!("7.0", "sm_70", "mov.u32 %r1, %r2")),
    ("unresolved extern", EXTERN),
    ("newer .version", program!("9.9", "sm_70", "mov.u32 %r1, %r2;")),
    (".version 9.1", program!("9.1", "sm_70", "mov.u32 %r1, %r2;")),
    (".version 9.0", program!("9.0", "sm_70", "mov.u32 %r1, %r2;")),
    ("higher .target", program!("8.7", "sm_120", "mov.u32 %r1, %r2;")),
    ("unknown .target", program!("7.0", "sm_999", "mov.u32 %r1, %r2;")),
    (".target of a newer .version", program!("7.0", "sm_90", "mov.u32 %r1, %r2;")),
    ("no .target", c".version 7.0\n.address_size 64\n.visible .entry kernel()\n{\n\tret;\n}\n"),
    ("no .version", c".target sm_70\n.address_size 64\n.visible .entry kernel()\n{\n\tret;\n}\n"),
    ("only .version and .target", c".version 7.0\n.target sm_70\n.address_size 64\n"),
    ("a kernel twice", TWICE),
    ("a comment first", c"// comment\n.version 7.0\n.target sm_70\n.address_size 64\n"),
];

const TWICE: &CStr = c".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry kernel()\n{\n\tret;\n}\n.visible .entry kernel()\n{\n\tret;\n}\n";

/// Options and their values, as the driver takes and changes them.
struct Options {
    keys: Vec<CUjit_option>,
    values: Vec<*mut c_void>,
}

impl Options {
    fn new(options: &[(CUjit_option, usize)]) -> Self {
        Self {
            keys: options.iter().map(|(key, _)| *key).collect(),
            values: options.iter().map(|(_, value)| std::ptr::with_exposed_provenance_mut(*value)).collect(),
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.keys.len()).expect("there are few options")
    }

    fn load_module(&mut self, cu: &Cu, module: &mut CUmodule, code: &CStr) -> Answer {
        let (count, keys, values) = (self.count(), self.keys.as_mut_ptr(), self.values.as_mut_ptr());
        call!(cu, cuModuleLoadDataEx_2010(module, code.as_ptr().cast(), count, keys, values))
    }

    fn load_library(&mut self, cu: &Cu, library: &mut CUlibrary, code: &CStr) -> Answer {
        let (count, keys, values) = (self.count(), self.keys.as_mut_ptr(), self.values.as_mut_ptr());
        let (code, none, nothing) = (code.as_ptr().cast(), null_mut(), null_mut());
        call!(cu, cuLibraryLoadData_12000(library, code, keys, values, count, none, nothing, 0))
    }
}

/// Two logs, and how large the driver is told that they are.
struct Logs {
    info: Vec<u8>,
    error: Vec<u8>,
    options: Options,
}

/// What no driver writes.
const UNWRITTEN: u8 = 0xAA;

impl Logs {
    fn new(size: usize) -> Self {
        let mut info = vec![UNWRITTEN; size.max(1)];
        let mut error = info.clone();
        let place = |buffer: &mut Vec<u8>| buffer.as_mut_ptr().expose_provenance();
        let options = Options::new(&[
            (CU_JIT_INFO_LOG_BUFFER, place(&mut info)),
            (CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, size),
            (CU_JIT_ERROR_LOG_BUFFER, place(&mut error)),
            (CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, size),
        ]);
        Self { info, error, options }
    }

    /// What can be said of the logs without the compiler's own words.
    fn tell(&self, t: &mut Lines) {
        for (name, buffer, size) in [("info log", &self.info, 1), ("error log", &self.error, 3)] {
            let size = self.options.values[size].addr();
            t.line(&format!("  {name}"), || match buffer.iter().position(|byte| *byte == 0) {
                None if buffer[0] == UNWRITTEN => format!("untouched, size {size}"),
                None => format!("without an end, size {size}"),
                Some(0) => format!("empty, size {size}"),
                Some(end) => {
                    let more = i64::try_from(size).unwrap_or(i64::MAX) - i64::try_from(end).unwrap_or(0);
                    let text = String::from_utf8_lossy(&buffer[..end]);
                    let line: String = text
                        .split_once("line ")
                        .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect())
                        .unwrap_or_default();
                    let line = if line.is_empty() { "none" } else { line.as_str() };
                    format!("text, first line {line}, size is its length {more:+}")
                }
            });
        }
    }
}

const ROOM: usize = 4096;
const BEFORE: usize = 123;

fn modules(t: &mut Lines, cu: &Cu) {
    for (name, code) in IMAGES {
        let mut module: CUmodule = std::ptr::without_provenance_mut(BEFORE);
        let mut logs = Logs::new(ROOM);
        t.line(&format!("module: {name}"), || logs.options.load_module(cu, &mut module, code));
        t.line("  handle", || match module.addr() {
            BEFORE => "untouched",
            0 => "null",
            _ => "written",
        });
        logs.tell(t);
    }
}

/// Libraries are compiled when something of them is wanted, or earlier.
fn libraries(t: &mut Lines, cu: &Cu) {
    for (name, code) in IMAGES {
        let mut library = null_mut();
        let mut logs = Logs::new(ROOM);
        t.line(&format!("library: {name}"), || logs.options.load_library(cu, &mut library, code));
        logs.tell(t);
        let (mut kernel, mut module, mut address, mut count) = (null_mut(), null_mut(), 0, 99);
        t.line("  kernel count", || {
            call!(cu, cuLibraryGetKernelCount_12040(&raw mut count, library)).then(|| count)
        });
        t.line("  kernel", || {
            call!(cu, cuLibraryGetKernel_12000(&raw mut kernel, library, c"kernel".as_ptr()))
        });
        t.line("  module", || call!(cu, cuLibraryGetModule_12000(&raw mut module, library)));
        t.line("  variable", || {
            call!(cu, cuLibraryGetGlobal_12000(&raw mut address, null_mut(), library, c"absent".as_ptr()))
        });
        t.line("  kernel count then", || {
            call!(cu, cuLibraryGetKernelCount_12040(&raw mut count, library)).then(|| count)
        });
        t.line("  unload", || call!(cu, cuLibraryUnload_12000(library)));
    }
}

/// What fits in small buffers.
fn buffers(t: &mut Lines, cu: &Cu) {
    for room in [64, 16, 2, 1, 0] {
        let mut module = null_mut();
        let mut logs = Logs::new(room);
        t.line(&format!("logs of {room} bytes"), || logs.options.load_module(cu, &mut module, SYNTAX));
        let end = logs.error.iter().position(|byte| *byte == 0);
        let size = logs.options.values[3].addr();
        t.line(&format!("  error log of {room} bytes ends at"), || match end {
            Some(end) => end.to_string(),
            None if logs.error[0] == UNWRITTEN => "untouched".to_owned(),
            None => "no end".to_owned(),
        });
        t.line(&format!("  size of {room} then"), || size.to_string());
    }
    let mut buffer = vec![UNWRITTEN; ROOM];
    let place = buffer.as_mut_ptr().expose_provenance();
    let mut ask = |situation: &str, options: &[(CUjit_option, usize)]| {
        let mut module = null_mut();
        let mut options = Options::new(options);
        t.line(situation, || options.load_module(cu, &mut module, SYNTAX));
    };
    ask("a size without a log", &[(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, ROOM)]);
    ask(
        "the size before the log",
        &[(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, ROOM), (CU_JIT_ERROR_LOG_BUFFER, place)],
    );
    t.line("  error log", || if buffer[0] == UNWRITTEN { "untouched" } else { "written" });
}

/// Options that a driver may refuse, or not survive: each in a process of its own.
const OPTIONS: &[(&str, i32, usize)] = &[
    ("registers: 32", 0, 32),
    ("registers: 0", 0, 0),
    ("registers: 100000", 0, 100_000),
    ("threads of a block: 256", 1, 256),
    ("threads of a block: 0", 1, 0),
    ("threads of a block: 5000", 1, 5000),
    ("wall time", 2, 0),
    ("optimisation 0", 7, 0),
    ("optimisation 4", 7, 4),
    ("optimisation 5", 7, 5),
    ("target from the context", 8, 0),
    ("target of the device", 9, 90),
    ("target 70", 9, 70),
    ("target 999", 9, 999),
    ("fall back on PTX", 10, 0),
    ("fall back on 99", 10, 99),
    ("debug information", 11, 1),
    ("verbose log", 12, 1),
    ("line information", 13, 1),
    ("caching 0", 14, 0),
    ("caching 1", 14, 1),
    ("caching 99", 14, 99),
    ("option 15", 15, 0),
    ("fast compilation", 16, 1),
    ("no symbols", 19, 0),
    ("link-time optimisation", 20, 0),
    ("flush to zero", 21, 1),
    ("precise division", 22, 1),
    ("precise square root", 23, 1),
    ("fused multiply-add", 24, 1),
    ("position-independent code", 30, 1),
    ("blocks of a multiprocessor: 1", 31, 1),
    ("most threads of a block: 256", 32, 256),
    ("override directives", 33, 1),
    ("split compilation", 34, 1),
    ("loader threads", 35, 1),
    ("option 36", 36, 0),
    ("option 99", 99, 0),
    ("option -1", -1, 0),
];

fn option(t: &mut Lines, cu: &Cu, number: usize) {
    let (name, option, value) = OPTIONS[number];
    let mut module = null_mut();
    let mut options = Options::new(&[(CUjit_option(option), value)]);
    t.line(&format!("option: {name}"), || options.load_module(cu, &mut module, KERNELS));
}

type Question = (&'static str, fn(&Cu) -> Answer);

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("one option, no options", |cu| {
        let mut module = null_mut();
        let code = KERNELS.as_ptr().cast();
        call!(cu, cuModuleLoadDataEx_2010(&raw mut module, code, 1, null_mut(), null_mut()))
    }),
    ("one option, no values", |cu| {
        let (mut module, mut option) = (null_mut(), CUjit_option(7));
        let code = KERNELS.as_ptr().cast();
        call!(cu, cuModuleLoadDataEx_2010(&raw mut module, code, 1, &raw mut option, null_mut()))
    }),
    ("a log without a size", |cu| {
        let (mut module, mut buffer) = (null_mut(), vec![UNWRITTEN; ROOM]);
        let place = buffer.as_mut_ptr().expose_provenance();
        Options::new(&[(CU_JIT_ERROR_LOG_BUFFER, place)]).load_module(cu, &mut module, SYNTAX)
    }),
    ("a log at NULL with a size", |cu| {
        let mut module = null_mut();
        let options = [(CU_JIT_ERROR_LOG_BUFFER, 0), (CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, ROOM)];
        Options::new(&options).load_module(cu, &mut module, SYNTAX)
    }),
    ("library with option 99", |cu| {
        Options::new(&[(CUjit_option(99), 0)]).load_library(cu, &mut null_mut(), KERNELS)
    }),
    ("wall time is written", |cu| {
        let mut wall_time = Options::new(&[(CUjit_option(2), 0)]);
        wall_time.load_module(cu, &mut null_mut(), GOOD).then(|| yes(!wall_time.values[0].is_null()))
    }),
    ("the same option twice", |cu| {
        let mut module = null_mut();
        Options::new(&[(CUjit_option(7), 1), (CUjit_option(7), 2)]).load_module(cu, &mut module, KERNELS)
    }),
];
