//! What a program or library wants of the driver: which functions it imports, which it names among its constants to look them up at run
//! time, and from which CUDA version on a driver has them.

use crate::elf::{self, Elf};
use cushim::driver::catalogue::{ROWS, Row};
use cushim::driver::{Driver, Status, Symbol, Version};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What the CUDA runtime says of a driver that is too old for it.
const OF_RUNTIME: &[u8] = b"CUDA driver version is insufficient for CUDA runtime version";

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// The libraries of CUDA that it is linked with.
    pub(crate) links: Vec<String>,
    /// The functions that it imports: without one of them it does not start, or stops at the call.
    pub(crate) imports: Vec<Wanted>,
    /// Those that it names, as programs do that look functions up by `dlsym` or `cuGetProcAddress`. What it does without one is its affair.
    pub(crate) names: Vec<Wanted>,
    /// Whether the CUDA runtime is a part of it (`libcudart_static.a`), which names functions of its own accord, and works with drivers of
    /// its major version or newer.
    pub(crate) has_runtime_inside: bool,
    /// What it imports that looks like a function of the driver, and is none that this probe knows.
    pub(crate) unknown: Vec<String>,
}

/// A function of the driver that a program imports or names.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// As the program has it.
    pub(crate) name: String,
    pub(crate) row: &'static Row,
    /// Whether it is the variant for the per-thread default stream.
    pub(crate) is_per_thread: bool,
    /// Whether the name says which ABI it is: one that is looked up by its base name is that of the number that the program passes.
    pub(crate) is_exact: bool,
}

impl Program {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let is_name = |word: &[u8]| word.starts_with(b"cu") && std::str::from_utf8(word).is_ok_and(is_known);
        let elf = Elf::read(path, &elf::Wanted { is_name, text: OF_RUNTIME })
            .map_err(|why| format!("{} {why}", path.display()))?;
        let (known, unknown): (Vec<&String>, Vec<&String>) =
            elf.imports.iter().filter(|name| is_of_driver(name)).partition(|name| is_known(name));
        let imports: Vec<Wanted> = known.into_iter().filter_map(|name| Wanted::imported(name)).collect();
        let imported: BTreeSet<&str> = imports.iter().map(|wanted| wanted.name.as_str()).collect();
        let names = elf.names.iter().filter(|name| !imported.contains(name.as_str()));
        Ok(Self {
            path: path.to_owned(),
            links: elf.needed.iter().filter(|library| is_of_cuda(library)).cloned().collect(),
            names: names.filter_map(|name| Wanted::named(name)).collect(),
            unknown: unknown.into_iter().cloned().collect(),
            has_runtime_inside: elf.has_text,
            imports,
        })
    }

    /// Whether the loader needs a driver to start it.
    pub(crate) fn links_driver(&self) -> bool {
        self.links.iter().any(|library| library.starts_with("libcuda.so"))
    }

    /// The CUDA runtime that it is linked with.
    pub(crate) fn runtime(&self) -> Option<&str> {
        self.links.iter().find(|library| library.starts_with("libcudart.so")).map(String::as_str)
    }

    /// The oldest version that its runtime works with: that of the runtime's major version (CUDA's minor version compatibility).
    fn of_runtime(&self) -> Option<Version> {
        let digits = self.runtime()?.strip_prefix("libcudart.so.")?.split('.').next()?;
        digits.parse().ok().map(|major: u32| Version::from_number(1000 * major))
    }

    /// The oldest driver that has all that it imports, and works with its runtime; `None` if it imports nothing.
    pub(crate) fn needs(&self) -> Option<Version> {
        self.imports.iter().map(Wanted::since).chain(self.of_runtime()).max()
    }

    /// The oldest driver that has all that it names, too.
    pub(crate) fn names_up_to(&self) -> Option<Version> {
        self.names.iter().map(Wanted::since).max()
    }

    /// What it imports, or its runtime, that needs the version which [`needs`](Self::needs) names.
    pub(crate) fn newest(&self) -> Vec<&str> {
        let needs = self.needs();
        let of_runtime = self.runtime().filter(|_| self.of_runtime() == needs);
        let imports = self.imports.iter().filter(|wanted| Some(wanted.since()) == needs);
        imports.map(|wanted| wanted.name.as_str()).chain(of_runtime).collect()
    }

    /// What it imports that the driver does not have.
    pub(crate) fn missing(&self, driver: &Driver) -> Vec<&Wanted> {
        self.imports.iter().filter(|wanted| !wanted.is_in(driver)).collect()
    }

    /// What it names that the driver does not have.
    pub(crate) fn unnamed(&self, driver: &Driver) -> Vec<&Wanted> {
        self.names.iter().filter(|wanted| !wanted.is_in(driver)).collect()
    }

    /// Whether the driver has all that the program needs of it.
    pub(crate) fn is_served_by(&self, driver: &Driver) -> bool {
        let is_old = driver.version().zip(self.of_runtime()).is_some_and(|(version, needs)| version < needs);
        !is_old && self.missing(driver).is_empty()
    }
}

impl Wanted {
    /// What is imported is exported by that name.
    fn imported(name: &str) -> Option<Self> {
        let (row, is_per_thread) = Row::exported_as(name)?;
        Some(Self { name: name.to_owned(), row, is_per_thread, is_exact: true })
    }

    /// What is named may be an exported name, or one for the getter, which has several ABIs.
    fn named(name: &str) -> Option<Self> {
        let abis = ROWS.iter().filter(|row| row.base == name);
        let oldest = abis.clone().min_by_key(|row| row.abi);
        if abis.count() > 1 {
            return oldest.map(|row| Self {
                name: name.to_owned(),
                row,
                is_per_thread: false,
                is_exact: false,
            });
        }
        Self::imported(name).or_else(|| {
            oldest.map(|row| Self { name: name.to_owned(), row, is_per_thread: false, is_exact: true })
        })
    }

    /// From which version on drivers have it.
    pub(crate) fn since(&self) -> Version {
        Version::from_number(self.number())
    }

    fn number(&self) -> u32 {
        match self.row.per_thread {
            Some((_, number)) if self.is_per_thread => number,
            _ => self.row.abi,
        }
    }

    /// Whether the driver has it; of several ABIs, any.
    pub(crate) fn is_in(&self, driver: &Driver) -> bool {
        let symbols = if self.is_per_thread { driver.per_thread_symbols() } else { driver.symbols() };
        let is_it = |symbol: &&Symbol| match self.is_exact {
            true => symbol.row == self.row,
            false => symbol.row.base == self.row.base,
        };
        symbols.iter().filter(is_it).any(|symbol| symbol.status == Status::Found)
    }
}

/// Whether a name is one of the driver's functions that this probe knows.
fn is_known(name: &str) -> bool {
    Row::exported_as(name).is_some() || ROWS.iter().any(|row| row.base == name)
}

/// Whether a symbol is one of the driver's, by its form: those of other libraries have a small letter after `cu`.
fn is_of_driver(name: &str) -> bool {
    let is_driver = |rest: &str| rest.starts_with(|first: char| first.is_ascii_uppercase());
    name.strip_prefix("cu").is_some_and(is_driver)
}

/// Whether a library is the driver, or one of NVIDIA's that call it.
fn is_of_cuda(library: &str) -> bool {
    let of_nvidia = ["libcu", "libnv", "libnccl", "libnpp"];
    of_nvidia.iter().any(|prefix| library.starts_with(prefix)) && library != "libcurl.so.4"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_driver() {
        for name in ["cuInit", "cuGLInit", "cuMemAlloc_v2", "cuD3D9Begin"] {
            assert!(is_of_driver(name), "{name}");
        }
        for name in [
            "cudaMalloc",
            "cublasCreate_v2",
            "cudnnCreate",
            "cufftPlan1d",
            "cu",
            "curl_easy_init",
            "__cuInit",
        ] {
            assert!(!is_of_driver(name), "{name}");
        }
    }

    #[test]
    fn abis_of_names() {
        let imported = Wanted::imported("cuMemAlloc_v2").expect("known");
        assert!(imported.row.abi == 3020 && imported.is_exact && !imported.is_per_thread);
        let variant = Wanted::imported("cuMemcpyAsync_ptsz").expect("known");
        assert!(variant.is_per_thread && variant.since() == Version::from_number(7000));
        // Which of its two ABIs it is, only the number says.
        assert!(!Wanted::named("cuMemAlloc").expect("known").is_exact);
        assert!(Wanted::named("cuGraphConditionalHandleCreate").expect("known").is_exact);
        assert!(Wanted::named("cuNothing").is_none() && Wanted::imported("cuNothing").is_none());
    }
}
