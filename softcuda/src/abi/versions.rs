//! The driver versions that can be impersonated.

/// Each version as `SOFTCUDA_VERSION` spells it, with the number that `cuDriverGetVersion` answers.
pub const VERSIONS: &[(&str, u32)] = &[
    ("11.4", 11040),
    ("11.8", 11080),
    ("12.0", 12000),
    ("12.2", 12020),
    ("12.3", 12030),
    ("12.4", 12040),
    ("12.5", 12050),
    ("12.8", 12080),
    ("12.9", 12090),
    ("13.0", 13000),
    ("13.1", 13010),
    ("13.2", 13020),
    ("13.5", 13050),
];

/// 12020 as `12.2`.
#[allow(dead_code)] // the build script has no use for it
pub(crate) fn dotted(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
