//! The command line.

use std::path::PathBuf;

const HELP: &str = "\
What a call of cushim's C ABI costs beside the raw driver and cudarc.

usage: bench-calls [--driver noop|auto|PATH] [options]

  --driver WHICH   noop, a driver that does nothing, so that only the caller's share is measured;
                   auto (default), the driver of this machine; or a library by its path
  --library PATH   the libcushim.so to measure (default: the one beside this program)
  --filter TEXT    only rows whose name contains TEXT; may be given several times
  --millis N       time for each row (default 500)
  --quick          a few rounds of each row: shows that it works, measures nothing
  --core N         the core to stay on (default: the one that the program starts on)
  --threads N      other rows instead: one thread, two, four and so on to N make the same calls at the same time, each on a
                   core and objects of its own; what each needs for one, raw and through cushim
  --typed          other rows instead: cushim::typed, the layer for Rust programs, beside cudarc's safe one; it is part of this
                   program, and not of --library
  --json           one JSON object instead of the table
  --instructions   for scripts/bench-instructions.sh: runs counted calls and lists them
  --list           the names of the rows
  --help           this text

Each round measures a burst of calls through the raw table, then cushim, then cudarc, on one core; a burst is followed by a
wait for the device, which is not measured. The table shows medians over all rounds, in nanoseconds per call, and differences as
medians of the differences within each round, with their quartiles. Progress goes to stderr.
";

/// What was asked for.
pub(crate) struct Options {
    pub(crate) driver: String,
    pub(crate) library: Option<PathBuf>,
    pub(crate) filters: Vec<String>,
    pub(crate) millis: u64,
    pub(crate) quick: bool,
    pub(crate) core: Option<usize>,
    pub(crate) threads: Option<usize>,
    pub(crate) typed: bool,
    pub(crate) json: bool,
    pub(crate) instructions: bool,
    pub(crate) list: bool,
}

impl Options {
    /// Reads the arguments. `Ok(None)`: the help was asked for, and printed.
    #[allow(clippy::print_stdout)]
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            driver: "auto".to_owned(),
            library: None,
            filters: Vec::new(),
            millis: 500,
            quick: false,
            core: None,
            threads: None,
            typed: false,
            json: false,
            instructions: false,
            list: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} takes a value"));
            match argument.as_str() {
                "--driver" => options.driver = value()?,
                "--library" => options.library = Some(value()?.into()),
                "--filter" => options.filters.push(value()?),
                "--millis" => options.millis = number(&argument, &value()?)?,
                "--core" => options.core = Some(number(&argument, &value()?)?),
                "--threads" => options.threads = Some(number(&argument, &value()?)?),
                "--quick" => options.quick = true,
                "--typed" => options.typed = true,
                "--json" => options.json = true,
                "--instructions" => options.instructions = true,
                "--list" => options.list = true,
                "--help" | "-h" => {
                    print!("{HELP}");
                    return Ok(None);
                }
                _ => return Err(format!("unknown argument {argument}; --help lists them")),
            }
        }
        Ok(Some(options))
    }

    /// Whether the row is to be measured.
    pub(crate) fn wants(&self, row: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| row.contains(filter))
    }
}

fn number<T: std::str::FromStr>(argument: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{argument} takes a number, not {text}"))
}
