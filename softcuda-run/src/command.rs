//! The command: its start, the signals that this program gets meanwhile, and its end.

use crate::problem::Problem;
use crate::setting::Setting;
use crate::shown;
use std::ffi::{OsString, c_int};
use std::mem::zeroed;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode, ExitStatus};

/// What is handed on to the command: what people and other programs send to have one end, or to tell it something.
const HANDED_ON: [c_int; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGWINCH,
    libc::SIGCONT,
];

/// What a shell adds to the number of a signal.
const FIRST_OF_SIGNALS: u8 = 128;

/// How the command has ended.
pub(crate) struct End(ExitStatus);

/// The signals that wait until the command is there.
pub(crate) struct Signals {
    waited: libc::sigset_t,
    /// What was blocked before.
    before: libc::sigset_t,
}

/// Runs the command to its end.
pub(crate) fn run(command: &[OsString], variables: &[Setting], signals: &Signals) -> Result<End, Problem> {
    let (waited, before) = (&signals.waited, signals.before);
    let name = &command[0];
    let mut prepared = Command::new(name);
    prepared.args(&command[1..]).envs(variables.iter().map(|setting| (setting.name, &setting.value)));
    let own = std::process::id();
    // SAFETY: the closure makes system calls only.
    unsafe {
        prepared.pre_exec(move || {
            // As if the command stood in this program's place: who kills the one kills the other.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != own {
                libc::raise(libc::SIGKILL);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            Ok(())
        });
    }
    let mut child = prepared.spawn().map_err(|error| Problem::command(&shown(name), &error))?;
    loop {
        let signal = wait_for_signal(waited);
        if signal.number == libc::SIGCHLD {
            let ended = child.try_wait();
            if let Some(status) =
                ended.map_err(|error| Problem::failed(format!("{}: {error}", shown(name))))?
            {
                return Ok(End(status));
            }
        } else if !signal.is_of_terminal {
            // It has not been waited for, so the number is still its own.
            // SAFETY: sends a signal.
            unsafe { libc::kill(child.id() as libc::pid_t, signal.number) };
        }
    }
}

/// A signal that this program got.
struct Signal {
    number: c_int,
    /// Whether a terminal sent it, which sends to the command, too.
    is_of_terminal: bool,
}

/// From now on signals wait until `run` hands them on: none ends this program before it has removed what it makes.
pub(crate) fn block_signals() -> Signals {
    // SAFETY: signal sets are plain data, which the calls write.
    unsafe {
        let (mut waited, mut before): (libc::sigset_t, libc::sigset_t) = (zeroed(), zeroed());
        libc::sigemptyset(&raw mut waited);
        for signal in HANDED_ON.into_iter().chain([libc::SIGCHLD]) {
            libc::sigaddset(&raw mut waited, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const waited, &raw mut before);
        // Whoever started this program may ignore it: then it would never come.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        Signals { waited, before }
    }
}

fn wait_for_signal(waited: &libc::sigset_t) -> Signal {
    loop {
        // SAFETY: the call writes what it is given.
        let mut info: libc::siginfo_t = unsafe { zeroed() };
        // SAFETY: as above.
        let number = unsafe { libc::sigwaitinfo(waited, &raw mut info) };
        if number > 0 {
            return Signal { number, is_of_terminal: info.si_code == libc::SI_KERNEL };
        }
    }
}

impl End {
    /// Ends this program as the command has ended.
    pub(crate) fn pass_on(self) -> ExitCode {
        if let Some(code) = self.0.code() {
            return ExitCode::from(code as u8);
        }
        let signal = self.0.signal().unwrap_or(libc::SIGKILL);
        die_by(signal);
        // The first process of a container cannot be ended so; a shell says it by a status.
        ExitCode::from(FIRST_OF_SIGNALS + signal as u8)
    }
}

/// Ends this program by a signal, without another core.
fn die_by(signal: c_int) {
    let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: changes what this process does on a signal, and sends it one.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        libc::signal(signal, libc::SIG_DFL);
        let mut only: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut only);
        libc::sigaddset(&raw mut only, signal);
        libc::raise(signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
    }
}
