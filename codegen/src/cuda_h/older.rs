//! Where an older form of a function does what a newer one is asked for: a program that is compiled for a newer CUDA version
//! then runs on older drivers.

use crate::catalogue::Abi;

/// The newer form by its exported name, the older one, and what the newer one does without its own.
const OLDER: &[(&str, (&str, u32), &str)] = &[
    (
        "cuCtxCreate_v4",
        ("cuCtxCreate", 3020),
        "if (cushim_cuda_is_plain(ctxCreateParams)) return cushim_cuda_cuCtxCreate_3020(pctx, flags, dev)",
    ),
    (
        "cuEventElapsedTime_v2",
        ("cuEventElapsedTime", 2000),
        "return cushim_cuda_cuEventElapsedTime_2000(pMilliseconds, hStart, hEnd)",
    ),
    (
        "cuGetProcAddress_v2",
        ("cuGetProcAddress", 11030),
        "return cushim_cuda_told(cushim_cuda_cuGetProcAddress_11030(symbol, pfn, driverVersion, flags), pfn, symbolFound)",
    ),
    (
        "cuMemAdvise_v2",
        ("cuMemAdvise", 8000),
        "if (cushim_cuda_is_ordinal(&location)) return cushim_cuda_cuMemAdvise_8000(devPtr, count, advice, cushim_cuda_ordinal(&location))",
    ),
    (
        "cuMemPrefetchAsync_v2",
        ("cuMemPrefetchAsync", 8000),
        "if (flags == 0 && cushim_cuda_is_ordinal(&location)) return cushim_cuda_cuMemPrefetchAsync_8000(devPtr, count, cushim_cuda_ordinal(&location), hStream)",
    ),
];

/// What stands in for a function that the driver does not have.
pub(super) fn of(exported: &str) -> Option<&'static str> {
    OLDER.iter().find(|(newer, ..)| *newer == exported).map(|(.., text)| *text)
}

/// The name of a function that stands in for another.
pub(super) fn name(abi: &Abi) -> Option<String> {
    let stands_in = OLDER.iter().any(|(_, (base, number), _)| abi.base == *base && abi.number == *number);
    stands_in.then(|| format!("cushim_cuda_{}_{}", abi.base, abi.number))
}
