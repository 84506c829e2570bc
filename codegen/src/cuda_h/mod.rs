//! `include/cushim-cuda/`: headers with the names of NVIDIA's, for programs that include those.

mod functions;
mod history;
mod older;
mod pointers;
mod sections;
mod types;

use crate::catalogue::Catalogue;
use history::History;
use std::path::Path;

/// The headers, by the name of the file.
pub(crate) struct Headers<'a> {
    catalogue: &'a Catalogue,
    history: History,
    parts: &'a Path,
}

impl<'a> Headers<'a> {
    /// `folder` is the catalogue's, `parts` has the prose.
    pub(crate) fn new(catalogue: &'a Catalogue, folder: &Path, parts: &'a Path) -> Self {
        Self { catalogue, history: History::read(folder), parts }
    }

    /// `cuda.h`
    pub(crate) fn cuda(&self) -> String {
        let functions = functions::of(self.catalogue, "cuda.h");
        let text = self.part("cuda.h");
        let text = text.replace("@types@\n", &types::write(self.catalogue, &self.history));
        let text = text.replace("@functions@\n", &functions::definitions(&functions));
        text.replace("@names@\n", &functions::plain_names(&functions))
    }

    /// `cudaTypedefs.h`
    pub(crate) fn typedefs(&self) -> String {
        let functions = functions::of(self.catalogue, "cuda.h");
        let text = self.part("cudaTypedefs.h");
        let text = text.replace("@types@\n", &pointers::types(&functions));
        text.replace("@names@\n", &pointers::plain_names(&functions, &self.history))
    }

    /// `cudaProfiler.h`
    pub(crate) fn profiler(&self) -> String {
        let functions = functions::of(self.catalogue, "cudaProfiler.h");
        self.part("cudaProfiler.h").replace("@functions@\n", &functions::definitions(&functions))
    }

    /// `builtin_types.h`
    pub(crate) fn builtin_types(&self) -> String {
        self.part("builtin_types.h")
    }

    fn part(&self, name: &str) -> String {
        let path = self.parts.join("cuda").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }
}
