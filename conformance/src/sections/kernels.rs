//! Kernels and functions: what they tell of themselves, and what can be set.

use super::Section;
use crate::code::KERNELS;
use crate::driver::{Answer, Cu, Outcome, call, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    CU_FUNC_ATTRIBUTE_BINARY_VERSION, CU_FUNC_ATTRIBUTE_NUM_REGS, CUdevice_attribute, CUfunc_cache,
    CUfunction, CUfunction_attribute, CUkernel, CUsharedconfig,
};
use std::ffi::CStr;
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "kernels", parts: PARTS.len() + APART.len(), devices: 1, run };

/// A part of the section, about a kernel of a module and of a library.
type Part = fn(&mut Lines, &Cu, CUfunction, CUkernel) -> Outcome;

const PARTS: &[Part] = &[parameters, function_attributes, kernel_attributes, other_kernels];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let function = cu.function(cu.module(KERNELS)?, c"three")?;
    let kernel = cu.kernel(cu.library(KERNELS)?, c"three")?;
    match PARTS.get(part) {
        Some(run) => run(t, cu, function, kernel),
        None => {
            let (situation, ask) = APART[part - PARTS.len()];
            t.line(situation, || ask(cu, function, kernel));
            Ok(())
        }
    }
}

fn parameters(t: &mut Lines, cu: &Cu, function: CUfunction, kernel: CUkernel) -> Outcome {
    const UNTOUCHED: usize = 99;
    for number in [0, 1, 2, 3, 1000] {
        let (mut offset, mut size) = (UNTOUCHED, UNTOUCHED);
        t.line(&format!("param {number}"), || {
            call!(cu, cuFuncGetParamInfo_12040(function, number, &raw mut offset, &raw mut size))
        });
        t.line("  offset and size", || format!("{offset} {size}"));
        let (mut offset, mut size) = (UNTOUCHED, UNTOUCHED);
        t.line(&format!("param {number} of the kernel"), || {
            call!(cu, cuKernelGetParamInfo_12040(kernel, number, &raw mut offset, &raw mut size))
        });
        t.line("  offset and size", || format!("{offset} {size}"));
    }
    let (mut offset, mut size) = (UNTOUCHED, UNTOUCHED);
    t.line("param without a place for the size", || {
        call!(cu, cuFuncGetParamInfo_12040(function, 1, &raw mut offset, null_mut())).then(|| offset)
    });
    t.line("param without a place for the offset", || {
        call!(cu, cuFuncGetParamInfo_12040(function, 1, null_mut(), &raw mut size))
    });
    t.line("param of NULL", || {
        call!(cu, cuFuncGetParamInfo_12040(null_mut(), 0, &raw mut offset, &raw mut size))
    });
    let mut count = UNTOUCHED;
    t.line("count of parameters", || {
        call!(cu, cuFuncGetParamCount_13020(function, &raw mut count)).then(|| count)
    });
    t.line("count of the kernel's parameters", || {
        call!(cu, cuKernelGetParamCount_13020(kernel, &raw mut count)).then(|| count)
    });
    Ok(())
}

/// Which attributes are asked for: all that there are, and some that there are not.
const ATTRIBUTES: std::ops::RangeInclusive<i32> = -1..=18;

/// What an attribute is called in the transcript.
fn name(of: &str, attribute: CUfunction_attribute) -> String {
    let registers = if attribute == CU_FUNC_ATTRIBUTE_NUM_REGS { ", registers" } else { "" };
    format!("{of} attribute {}{registers}", attribute.0)
}

/// The value of an attribute. The device's own version is not said, and not how many registers its compiler needs.
fn value(cu: &Cu, attribute: CUfunction_attribute, value: i32) -> String {
    let of_device = |attribute| {
        let mut value = 0;
        call!(cu, cuDeviceGetAttribute_2000(&raw mut value, attribute, 0)).succeeded().then_some(value)
    };
    let capability = |major: CUdevice_attribute, minor| Some(of_device(major)? * 10 + of_device(minor)?);
    let (major, minor) =
        (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    match attribute {
        CU_FUNC_ATTRIBUTE_BINARY_VERSION if Some(value) == capability(major, minor) => {
            "the device's".to_owned()
        }
        CU_FUNC_ATTRIBUTE_NUM_REGS if value > 0 => "some".to_owned(),
        _ => value.to_string(),
    }
}

fn function_attributes(t: &mut Lines, cu: &Cu, function: CUfunction, _: CUkernel) -> Outcome {
    for attribute in ATTRIBUTES.map(CUfunction_attribute) {
        let mut found = 0;
        t.line(&name("function", attribute), || {
            call!(cu, cuFuncGetAttribute_2020(&raw mut found, attribute, function))
                .then(|| value(cu, attribute, found))
        });
    }
    let get = |attribute| {
        let mut value = 0;
        call!(cu, cuFuncGetAttribute_2020(&raw mut value, CUfunction_attribute(attribute), function))
            .then(|| value)
    };
    let set = |attribute, value| {
        call!(cu, cuFuncSetAttribute_9000(function, CUfunction_attribute(attribute), value))
    };
    settings(t, get, set);
    t.line("attribute of function NULL", || {
        let mut value = 0;
        call!(cu, cuFuncGetAttribute_2020(&raw mut value, CUfunction_attribute(0), null_mut()))
    });
    t.line("attribute to NULL", || {
        call!(cu, cuFuncGetAttribute_2020(null_mut(), CUfunction_attribute(0), function))
    });
    t.line("set of function NULL", || {
        call!(cu, cuFuncSetAttribute_9000(null_mut(), CUfunction_attribute(8), 0))
    });
    t.line("cache preference", || call!(cu, cuFuncSetCacheConfig_3000(function, CUfunc_cache(1))));
    t.line("cache preference 99", || call!(cu, cuFuncSetCacheConfig_3000(function, CUfunc_cache(99))));
    t.line("bank size", || call!(cu, cuFuncSetSharedMemConfig_4020(function, CUsharedconfig(1))));
    t.line("bank size 99", || call!(cu, cuFuncSetSharedMemConfig_4020(function, CUsharedconfig(99))));
    Ok(())
}

fn kernel_attributes(t: &mut Lines, cu: &Cu, _: CUfunction, kernel: CUkernel) -> Outcome {
    for attribute in ATTRIBUTES.map(CUfunction_attribute) {
        let mut found = 0;
        t.line(&name("kernel", attribute), || {
            call!(cu, cuKernelGetAttribute_12000(&raw mut found, attribute, kernel, 0))
                .then(|| value(cu, attribute, found))
        });
    }
    let get = |attribute| {
        let mut value = 0;
        call!(cu, cuKernelGetAttribute_12000(&raw mut value, CUfunction_attribute(attribute), kernel, 0))
            .then(|| value)
    };
    let set = |attribute, value| {
        call!(cu, cuKernelSetAttribute_12000(CUfunction_attribute(attribute), value, kernel, 0))
    };
    settings(t, get, set);
    t.line("attribute on device 99", || {
        let mut value = 0;
        call!(cu, cuKernelGetAttribute_12000(&raw mut value, CUfunction_attribute(0), kernel, 99))
    });
    t.line("attribute on device -1", || {
        let mut value = 0;
        call!(cu, cuKernelGetAttribute_12000(&raw mut value, CUfunction_attribute(0), kernel, -1))
    });
    t.line("set on device 99", || {
        call!(cu, cuKernelSetAttribute_12000(CUfunction_attribute(8), 0, kernel, 99))
    });
    t.line("attribute to NULL", || {
        call!(cu, cuKernelGetAttribute_12000(null_mut(), CUfunction_attribute(0), kernel, 0))
    });
    t.line("cache preference", || call!(cu, cuKernelSetCacheConfig_12000(kernel, CUfunc_cache(1), 0)));
    t.line("cache preference 99", || call!(cu, cuKernelSetCacheConfig_12000(kernel, CUfunc_cache(99), 0)));
    Ok(())
}

/// What can be set, and what comes of it. The largest dynamic shared memory is that of devices of capability 9.0.
fn settings(t: &mut Lines, get: impl Fn(i32) -> Answer, set: impl Fn(i32, i32) -> Answer) {
    const SETTINGS: &[(i32, i32)] = &[
        (8, 1024),
        (8, 65536),
        (8, 232_448),
        (8, 232_449),
        (8, -1),
        (8, 0),
        (9, 50),
        (9, 100),
        (9, 101),
        (9, -1),
        (9, -2),
        (10, 1),
        (11, 2),
        (11, 1024),
        (12, 1),
        (12, 4096),
        (13, 1),
        (14, 1),
        (14, 0),
        (14, 2),
        (15, 1),
        (15, 99),
        (0, 1),
        (3, 1),
        (6, 1),
        (16, 1),
        (99, 1),
    ];
    for &(attribute, value) in SETTINGS {
        t.line(&format!("set {attribute} to {value}"), || set(attribute, value));
        t.line("  it is", || get(attribute));
    }
}

/// What the directives and variables of a kernel come to.
fn other_kernels(t: &mut Lines, cu: &Cu, _: CUfunction, _: CUkernel) -> Outcome {
    let module = cu.module(KERNELS)?;
    let library = cu.library(KERNELS)?;
    for (name, situation) in [(c"limited", ".maxntid 64"), (c"sharing", "4 KiB of shared memory")] {
        let function = cu.function(module, name)?;
        for attribute in [0, 1, 2, 3, 8].map(CUfunction_attribute) {
            let mut value = 0;
            t.line(&format!("{situation}: attribute {}", attribute.0), || {
                call!(cu, cuFuncGetAttribute_2020(&raw mut value, attribute, function)).then(|| value)
            });
        }
        t.line(&format!("{situation}: the most that 8 can be"), || {
            let most = CUfunction_attribute(8);
            call!(cu, cuFuncSetAttribute_9000(function, most, 232_448))
        });
    }
    let kernel = cu.kernel(library, c"limited")?;
    let (mut name, mut its) = (null(), null_mut());
    t.line("name of a kernel", || match call!(cu, cuKernelGetName_12030(&raw mut name, kernel)) {
        // SAFETY: the name belongs to the library, which is loaded.
        answer if answer.succeeded() => unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned().into(),
        answer => answer,
    });
    t.line("library of a kernel", || {
        call!(cu, cuKernelGetLibrary_12050(&raw mut its, kernel)).then(|| yes(its == library))
    });
    Ok(())
}

type Question = (&'static str, fn(&Cu, CUfunction, CUkernel) -> Answer);

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("param without any place", |cu, function, _| {
        call!(cu, cuFuncGetParamInfo_12040(function, 0, null_mut(), null_mut()))
    }),
    ("param of kernel NULL", |cu, _, _| {
        let (mut offset, mut size) = (0, 0);
        call!(cu, cuKernelGetParamInfo_12040(null_mut(), 0, &raw mut offset, &raw mut size))
    }),
    ("param of a kernel as a function", |cu, _, kernel| {
        let (mut offset, mut size) = (0, 0);
        cu.as_function(kernel, |function| {
            call!(cu, cuFuncGetParamInfo_12040(function, 0, &raw mut offset, &raw mut size))
        })
    }),
    ("name to NULL", |cu, _, kernel| call!(cu, cuKernelGetName_12030(null_mut(), kernel))),
    ("name of function NULL", |cu, _, _| {
        let mut name = null();
        call!(cu, cuFuncGetName_12030(&raw mut name, null_mut()))
    }),
    ("module of function NULL", |cu, _, _| {
        let mut module = null_mut();
        call!(cu, cuFuncGetModule_11000(&raw mut module, null_mut()))
    }),
    ("set of kernel NULL", |cu, _, _| {
        call!(cu, cuKernelSetAttribute_12000(CUfunction_attribute(8), 0, null_mut(), 0))
    }),
    ("library of kernel NULL", |cu, _, _| {
        let mut library = null_mut();
        call!(cu, cuKernelGetLibrary_12050(&raw mut library, null_mut()))
    }),
];
