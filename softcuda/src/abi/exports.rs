//! Questions about exported names.

use super::names::EXPORTS;

/// Functions that answer before `cuInit`.
const BEFORE_INIT: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
];

/// The number of an exported name.
pub(crate) fn index(name: &str) -> usize {
    EXPORTS.iter().position(|e| e.name == name).expect("the name is one of the driver's")
}

/// Whether a function, by its base name, answers before `cuInit`.
pub(crate) fn answers_before_init(base: &str) -> bool {
    BEFORE_INIT.contains(&base)
}

/// Whether a function only tells about the driver: programs ask such questions at odd times, by the hundred.
pub(crate) fn tells_about_the_driver(base: &str) -> bool {
    base != "cuInit" && answers_before_init(base)
}
