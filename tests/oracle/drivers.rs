//! Real libcuda libraries, which load and resolve symbols on a machine without a GPU.

use super::fetch::fetch;
use std::path::PathBuf;

/// A libcuda of NVIDIA's.
pub(crate) struct RealDriver {
    /// The driver's version, which is its column in `tests/data/real_drivers.csv`.
    pub(crate) release: String,
    /// What its `cuDriverGetVersion` says: 1000 × major + 10 × minor.
    pub(crate) cuda: u32,
    /// The library's file, symbolic links resolved.
    pub(crate) path: PathBuf,
}

/// The five drivers that Debian packages, oldest first, fetched by `scripts/fetch-drivers.sh` where they are not in the
/// target folder yet. `None` where they cannot be had, which has been said by then.
pub(crate) fn real_drivers() -> Option<Vec<RealDriver>> {
    Some(fetch("fetch-drivers.sh")?.into_iter().map(real_driver).collect())
}

fn real_driver(path: PathBuf) -> RealDriver {
    let folder = path.parent().and_then(|folder| folder.file_name()).and_then(|name| name.to_str());
    let release = folder.expect("the library lies in a folder named after its version").to_owned();
    let cuda = match release.split('.').next() {
        Some("470") => 11040,
        Some("525") => 12000,
        Some("535") => 12020,
        Some("550") => 12040,
        Some("555") => 12050,
        _ => panic!("driver {release} is not one of the five"),
    };
    let path = path.canonicalize().expect("the library is there");
    RealDriver { release, cuda, path }
}
