//! How a C type of the catalogue is spelled in the header and in Rust.

/// Types that `cuda.h` does not declare (they belong to the GL, EGL, VDPAU and profiler headers, or to the 32-bit ABIs
/// of before CUDA 3.2), and what stands for each. The class and size of the parameter are the same.
const FOREIGN: &[(&str, &str)] = &[
    ("CUDA_ARRAY3D_DESCRIPTOR_v1", "void"),
    ("CUDA_ARRAY_DESCRIPTOR_v1", "void"),
    ("CUDA_MEMCPY2D_v1", "void"),
    ("CUDA_MEMCPY3D_v1", "void"),
    ("CUdeviceptr_v1", "unsigned int"),
    ("CUGLDeviceList", "int"),
    ("CUoutput_mode", "int"),
    ("CUeglFrame_v1", "cushim_egl_frame"),
    ("CUeglStreamConnection", "struct CUeglStreamConnection_st *"),
    ("EGLImageKHR", "void *"),
    ("EGLStreamKHR", "void *"),
    ("EGLSyncKHR", "void *"),
    ("EGLint", "int"),
    ("GLenum", "unsigned int"),
    ("GLuint", "unsigned int"),
    ("VdpDevice", "uint32_t"),
    ("VdpGetProcAddress", "void"),
    ("VdpOutputSurface", "uint32_t"),
    ("VdpVideoSurface", "uint32_t"),
    ("unsigned", "unsigned int"),
];

/// A C type taken apart: `const CUgraphNode **` is `CUgraphNode`, constant, two pointers.
struct Parts {
    base: String,
    constant: bool,
    pointers: usize,
}

fn parts(ty: &str) -> Parts {
    let pointers = ty.matches('*').count();
    let base = ty.replace('*', "");
    let (constant, base) = match base.trim().strip_prefix("const ") {
        Some(rest) => (true, rest.trim().to_owned()),
        None => (false, base.trim().to_owned()),
    };
    match FOREIGN.iter().find(|(name, _)| *name == base) {
        Some((_, stand_in)) => {
            let base = stand_in.replace('*', "").trim().to_owned();
            Parts { base, constant, pointers: pointers + stand_in.matches('*').count() }
        }
        None => Parts { base, constant, pointers },
    }
}

/// The type as C spells it, ready for a name to follow.
pub(crate) fn c(ty: &str) -> String {
    let Parts { base, constant, pointers } = parts(ty);
    let prefix = if constant { "const " } else { "" };
    format!("{prefix}{base} {}", "*".repeat(pointers))
}

/// The type as Rust spells it.
pub(crate) fn rust(ty: &str) -> String {
    let Parts { base, constant, pointers } = parts(ty);
    let mut out = match base.as_str() {
        "void" if pointers > 0 => "c_void".to_owned(),
        "void" => "()".to_owned(),
        "char" => "c_char".to_owned(),
        "int" => "i32".to_owned(),
        "unsigned int" | "uint32_t" | "cuuint32_t" => "u32".to_owned(),
        "unsigned short" => "u16".to_owned(),
        "unsigned char" => "u8".to_owned(),
        "size_t" => "usize".to_owned(),
        "float" => "f32".to_owned(),
        "long long" => "i64".to_owned(),
        "unsigned long long" | "uint64_t" | "cuuint64_t" => "u64".to_owned(),
        other => other.trim_start_matches("struct ").to_owned(),
    };
    for level in 0..pointers {
        let qualifier = if constant && level == 0 { "const" } else { "mut" };
        out = format!("*{qualifier} {out}");
    }
    out
}

/// A C parameter name that is free in Rust.
pub(crate) fn rust_name(name: &str) -> String {
    match name {
        "type" | "fn" | "ref" | "in" | "match" | "mod" | "move" => format!("{name}_"),
        _ => name.to_owned(),
    }
}
