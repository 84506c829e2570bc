//! The command line.

use crate::problem::Problem;
use crate::shown;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

pub(crate) const HELP: &str = "\
usage: softcuda-run [options] [--] COMMAND [ARGUMENT...]
       softcuda-run [options] --doctor [--json] [COMMAND]
       softcuda-run --help | --version

Runs COMMAND on softcuda, a CUDA driver in software, as on a machine with a GPU: COMMAND, and what it starts, find softcuda as
libcuda.so.1, and its devices by NVML (libnvidia-ml.so.1). Nothing outside of these processes is changed, and nothing is left when COMMAND has ended.

--cuda VERSION      the version of CUDA that the driver supports, 11.4 to 13.5 (default: 13.0)
--devices N         how many devices there are, 0 to 64 (default: 1)
--memory SIZE       memory of each device, 1M to 1024G (default: 2G, or less if half of what is available is less)
--schedule RULE     when work runs: eager (default), in-order, lazy, seeded or seeded=N
--fault SPEC        calls that are to fail: 'cuMemAllocAsync#3=2', the third one with CUDA_ERROR_OUT_OF_MEMORY
--bounds RULE       how far kernels reach: exact (default) to the last byte, or allocation, as far as a GPU maps memory
--trace FILE        add a line of JSON to FILE for each call of the driver; - is the standard error stream
--check LIST        what to look for, with commas: races, uses of the same memory that nothing orders; memory, uses of
                    what is no memory; uninitialised, uses of what nothing has written; leaks, what is never released
--check-log FILE    add a line of JSON to FILE for each report of --check
--check-exit N      exit with N, 1 to 255, if there are reports
--suppress FILE     leave out the reports that a line of FILE means, with * for any characters
--doctor            run nothing; say what was found on this machine, and what will not work here, with COMMAND if there is one
--json              with --doctor: as JSON
--help              say this
--version           say the version of this program

A value may follow in the same word, as in --cuda=12.8. Variables of softcuda's that are set (SOFTCUDA_MEMORY and others) count where
no option says otherwise. Set for COMMAND are LD_LIBRARY_PATH, LIBRARY_PATH, LD_AUDIT, GLIBC_TUNABLES, PATH, CUSHIM_DRIVER, CUSHIM_SOFTCUDA,
TRITON_LIBCUDA_PATH, TRITON_PTXAS_PATH, TRITON_PTXAS_BLACKWELL_PATH, and what begins with SOFTCUDA_.

CUSHIM_SOFTCUDA     in the environment: a libsoftcuda.so, or one in its folder, that is to be used

Exit status: that of COMMAND, and if a signal ended it, this program ends by that signal, or, as the first process of a container, with 128
and its number. 2 wrong usage; 69 softcuda is not there, or the system refuses something; 126 COMMAND cannot be run; 127 there is no COMMAND. Of --doctor: 0 softcuda works here; 1 something is in its way.
";

/// What the program is to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Version,
    Doctor { arguments: Arguments, json: bool },
    Run(Arguments),
}

/// How a command is to be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) options: Options,
    /// At least its name, but for a doctor.
    pub(crate) command: Vec<OsString>,
}

/// The options with a value, as they were given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) cuda: Option<OsString>,
    pub(crate) devices: Option<OsString>,
    pub(crate) memory: Option<OsString>,
    pub(crate) schedule: Option<OsString>,
    pub(crate) fault: Option<OsString>,
    pub(crate) bounds: Option<OsString>,
    pub(crate) trace: Option<OsString>,
    pub(crate) check: Option<OsString>,
    pub(crate) check_log: Option<OsString>,
    pub(crate) check_exit: Option<OsString>,
    pub(crate) suppress: Option<OsString>,
}

impl Options {
    /// Where the value of an option goes.
    fn place(&mut self, name: &str) -> Option<&mut Option<OsString>> {
        Some(match name {
            "--cuda" => &mut self.cuda,
            "--devices" => &mut self.devices,
            "--memory" => &mut self.memory,
            "--schedule" => &mut self.schedule,
            "--fault" => &mut self.fault,
            "--bounds" => &mut self.bounds,
            "--trace" => &mut self.trace,
            "--check" => &mut self.check,
            "--check-log" => &mut self.check_log,
            "--check-exit" => &mut self.check_exit,
            "--suppress" => &mut self.suppress,
            _ => return None,
        })
    }
}

/// Reads the words behind the program's name. Options end before the first word that is none, which is the command's name.
pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Task, Problem> {
    let mut options = Options::default();
    let (mut doctor, mut json) = (false, false);
    let mut words = words.into_iter();
    let mut command = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if !word.as_bytes().starts_with(b"-") {
            command.push(word);
            break;
        }
        match word.to_str() {
            Some("-h" | "--help") => return Ok(Task::Help),
            Some("-V" | "--version") => return Ok(Task::Version),
            Some("--doctor") => doctor = true,
            Some("--json") => json = true,
            _ => take_option(&word, &mut words, &mut options)?,
        }
    }
    command.extend(words);
    if doctor {
        return Ok(Task::Doctor { arguments: Arguments { options, command }, json });
    }
    if json {
        return Err(Problem::usage("--json belongs to --doctor; see --help"));
    }
    if command.is_empty() {
        return Err(Problem::usage("there is no COMMAND to run; see --help"));
    }
    Ok(Task::Run(Arguments { options, command }))
}

fn take_option(
    word: &OsStr,
    rest: &mut impl Iterator<Item = OsString>,
    options: &mut Options,
) -> Result<(), Problem> {
    let bytes = word.as_bytes();
    let (name, value) = match bytes.iter().position(|byte| *byte == b'=') {
        Some(end) => (&bytes[..end], Some(OsStr::from_bytes(&bytes[end + 1..]).to_owned())),
        None => (bytes, None),
    };
    let unknown = || Problem::usage(format!("there is no option {}; see --help", shown(word)));
    let name = std::str::from_utf8(name).map_err(|_| unknown())?;
    let place = options.place(name).ok_or_else(unknown)?;
    let value = value.or_else(|| rest.next()).filter(|value| !value.is_empty());
    *place = Some(value.ok_or_else(|| Problem::usage(format!("{name} needs a value; see --help")))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Options, Task, read};
    use std::ffi::OsString;

    fn of(words: &[&str]) -> Result<Task, String> {
        read(words.iter().map(OsString::from)).map_err(|problem| problem.sentence().to_owned())
    }

    fn runs(options: Options, command: &[&str]) -> Result<Task, String> {
        Ok(Task::Run(Arguments { options, command: command.iter().map(OsString::from).collect() }))
    }

    #[test]
    fn options_end_where_the_command_begins() {
        let none = Options::default;
        let cuda = || Options { cuda: Some("12.8".into()), ..none() };
        assert_eq!(of(&["ls"]), runs(none(), &["ls"]));
        assert_eq!(of(&["--cuda", "12.8", "ls", "--cuda", "1"]), runs(cuda(), &["ls", "--cuda", "1"]));
        assert_eq!(of(&["--cuda=12.8", "--", "--help"]), runs(cuda(), &["--help"]));
        assert_eq!(of(&["--cuda=1", "--cuda=12.8", "ls", "--"]), runs(cuda(), &["ls", "--"]));
        let both = Options { fault: Some("cuInit=2; *#1=3".into()), memory: Some("1G".into()), ..none() };
        assert_eq!(of(&["--fault", "cuInit=2; *#1=3", "--memory=1G", "a"]), runs(both, &["a"]));
        assert_eq!(
            of(&["--cuda", "--help", "a"]),
            runs(Options { cuda: Some("--help".into()), ..none() }, &["a"])
        );
        assert_eq!(of(&["-h", "a"]), Ok(Task::Help));
        assert_eq!(of(&["--version"]), Ok(Task::Version));
        assert_eq!(of(&["a", "--help"]), runs(none(), &["a", "--help"]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, sentence) in [
            (&[][..], "there is no COMMAND to run; see --help"),
            (&["--cuda=12.8", "--"], "there is no COMMAND to run; see --help"),
            (&["--cud", "12.8", "ls"], "there is no option --cud; see --help"),
            (&["--cud=12.8", "ls"], "there is no option --cud=12.8; see --help"),
            (&["-x"], "there is no option -x; see --help"),
            (&["--json", "ls"], "--json belongs to --doctor; see --help"),
            (&["--cuda"], "--cuda needs a value; see --help"),
            (&["--cuda=", "ls"], "--cuda needs a value; see --help"),
            (&["--trace", "", "ls"], "--trace needs a value; see --help"),
        ] {
            assert_eq!(of(words), Err(sentence.to_owned()), "{words:?}");
        }
    }
}
