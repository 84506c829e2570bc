//! `cudaTypedefs.h` and its like: a type of pointer for each ABI of each function.

use super::functions::{Function, in_majors, join};
use super::history::{History, Span};
use super::sections::Sections;
use crate::catalogue::Abi;
use crate::header::parameters;

/// Types that only programs with `__CUDA_API_VERSION_INTERNAL` see.
const INTERNAL: &str = "defined(__CUDA_API_VERSION_INTERNAL)";
const PER_THREAD: &str = "defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)";

/// Declares the types.
pub(super) fn types(functions: &[Function<'_>]) -> String {
    let mut out = Sections::default();
    for abi in functions.iter().map(|function| function.abi) {
        let mut condition = Span::from(abi.first_header_number()).condition(0);
        if abi.declared_in.is_empty() {
            condition = INTERNAL.to_owned();
        }
        let mut declare = |name: &str| {
            out.add(
                &condition,
                &format!("typedef CUresult (CUDAAPI *PFN_{name})({});\n", parameters(&abi.params)),
            );
        };
        declare(&numbered(abi));
        if let Some(name) = per_thread(abi) {
            declare(&name);
        }
    }
    out.finish()
}

/// Defines the names without a number, which headers before 13.0 have.
pub(super) fn plain_names(functions: &[Function<'_>], history: &History) -> String {
    let mut out = Sections::default();
    for abi in functions.iter().map(|function| function.abi) {
        let name = format!("PFN_{}", abi.base);
        let is_told = history.pointer_names.iter().any(|told| told.name == name);
        if is_told || !abi.plain_in.iter().any(|major| *major < 13) {
            continue;
        }
        // Of 13.0 and later nothing is asked here.
        let majors: Vec<u32> = if abi.plain_in.contains(&11) && !abi.plain_in.contains(&12) {
            vec![11]
        } else {
            vec![abi.plain_in[0], 13]
        };
        let condition = join(&Span::from(abi.first_header_number()).condition(0), &in_majors(&majors));
        let plain = numbered(abi);
        let variant = per_thread(abi).unwrap_or_else(|| plain.clone());
        define(&mut out, &condition, &name, &plain, &variant);
    }
    for told in &history.pointer_names {
        // Before 13.0 is said of all.
        let until = if told.span.until == 13000 { 0 } else { told.span.until };
        let condition = Span { until, ..told.span }.condition(0);
        define(&mut out, &condition, &told.name, &told.target, &told.per_thread);
    }
    out.finish()
}

fn define(out: &mut Sections, condition: &str, name: &str, target: &str, variant: &str) {
    if target == variant {
        return out.add(condition, &format!("#define {name} PFN_{target}\n"));
    }
    let both =
        |test: &str| if condition.is_empty() { test.to_owned() } else { format!("{condition} && {test}") };
    out.add(&both(PER_THREAD), &format!("#define {name} PFN_{variant}\n"));
    out.add(&both(&format!("!{PER_THREAD}")), &format!("#define {name} PFN_{target}\n"));
}

/// `cuMemAlloc_v3020`
fn numbered(abi: &Abi) -> String {
    format!("{}_v{}", abi.base, abi.number)
}

/// `cuMemcpyHtoD_v7000_ptds`
fn per_thread(abi: &Abi) -> Option<String> {
    let (exported, number) = abi.per_thread.as_ref()?;
    let (_, suffix) = exported.rsplit_once('_').expect("a per-thread name has a suffix");
    Some(format!("{}_v{number}_{suffix}", abi.base))
}
