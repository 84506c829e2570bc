//! One process per part of a section: a driver that crashes or hangs takes only that with it. Where questions are
//! separate, it takes only one of them: another process puts those that are left.

use crate::sections::{Section, Unit};
use crate::transcript::{STORY, TROUBLE};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a process may say nothing: creating a context on a machine with many GPUs takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a process may take to end that was killed: one that the kernel's driver holds up does not.
const LAST_BREATH: Duration = Duration::from_secs(5);
/// How long a part may take, with all its processes, to be begun again.
const ENDURANCE: Duration = Duration::from_secs(90);
/// How a process ends in which a question has broken what the next ones need.
const SPOILT: i32 = 75;
/// Processes at a time: they mostly wait, for the driver or to see that it does nothing.
const AT_ONCE: usize = 8;

/// The option that makes this program run one part of a section in its own process: `NAME:PART:LEFT-OUT`.
pub(crate) const PART_OPTION: &str = "--part";

/// Runs these sections on the driver that `driver` names, as the command line does, and hands the transcript over piece by
/// piece: what was answered is not lost if this process is ended.
pub(crate) fn transcript(
    sections: &[&'static Section],
    driver: &[OsString],
    mut take: impl FnMut(&str),
) -> io::Result<()> {
    let parts: Vec<(&Section, usize)> =
        sections.iter().flat_map(|section| (0..section.parts).map(move |part| (*section, part))).collect();
    let next = AtomicUsize::new(0);
    let (done, pieces) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let (done, parts, next) = (done.clone(), &parts, &next);
            scope.spawn(move || {
                let take = || next.fetch_add(1, Ordering::Relaxed);
                for number in std::iter::repeat_with(take).take_while(|&number| number < parts.len()) {
                    let (section, part) = parts[number];
                    let _ = done.send((number, whole(section, part, driver)));
                }
            });
        }
        drop(done);
        let mut early = HashMap::new();
        for (number, (section, part)) in parts.iter().enumerate() {
            while !early.contains_key(&number) {
                let (done, text) = pieces.recv().expect("every part is taken");
                early.insert(done, text);
            }
            if *part == 0 {
                take(&format!("[{}]\n", section.name));
            }
            take(&early.remove(&number).expect("it has come")?);
        }
        Ok(())
    })
}

/// Ends the process: the next questions need another one.
pub(crate) fn end_spoilt() -> ! {
    std::process::exit(SPOILT)
}

/// What a part wrote, in all its processes.
fn whole(section: &Section, part: usize, driver: &[OsString]) -> io::Result<String> {
    let start = Instant::now();
    let marker = format!("# {STORY}\n");
    let mut text = String::new();
    loop {
        let before = behind(section, &text);
        let piece = run(&format!("{}:{part}:{before}", section.name), driver)?;
        text += &piece.text;
        let goes_on = !piece.is_complete && behind(section, &text) > before;
        if !goes_on || start.elapsed() > ENDURANCE {
            return Ok(text.replace(&marker, ""));
        }
    }
}

/// What another process leaves out: how many questions have an answer, be it a crash, or how many stories were begun.
fn behind(section: &Section, text: &str) -> usize {
    let is_answer = |line: &&str| !line.starts_with('#') && !line.trim_start().starts_with(TROUBLE);
    match section.unit() {
        Unit::Question => text.lines().filter(is_answer).count(),
        Unit::Story => text.lines().filter(|line| line.strip_prefix("# ") == Some(STORY)).count(),
    }
}

/// What one process wrote.
struct Piece {
    text: String,
    /// Whether it came to its end.
    is_complete: bool,
}

fn run(part: &str, driver: &[OsString]) -> io::Result<Piece> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(driver)
        .args([PART_OPTION, part])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let listener = Listener::new(child.stdout.take().expect("the output is piped"));
    let ending = loop {
        match child.try_wait()? {
            Some(status) => break ending(status),
            None if listener.silence() > PATIENCE => {
                child.kill()?;
                let how = format!("said nothing for {} seconds", PATIENCE.as_secs());
                break if ends(&mut child)? { Ending::Badly(how) } else { Ending::Never(how) };
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut text = listener.text(!matches!(ending, Ending::Never(_)))?;
    let in_a_line = !text.is_empty() && !text.ends_with('\n');
    let is_complete = matches!(ending, Ending::Well);
    text += &match (in_a_line, ending) {
        (true, Ending::Badly(how) | Ending::Never(how)) => format!("{TROUBLE} {how}\n"),
        (false, Ending::Badly(how) | Ending::Never(how)) => format!("  {TROUBLE} {how}\n"),
        (true, Ending::Well | Ending::Spoilt) => "well\n".to_owned(),
        (false, Ending::Well | Ending::Spoilt) => String::new(),
    };
    Ok(Piece { text, is_complete })
}

/// Whether a process that was killed ends soon.
fn ends(child: &mut Child) -> io::Result<bool> {
    let start = Instant::now();
    while start.elapsed() < LAST_BREATH {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(false)
}

/// Takes down what a process writes.
struct Listener {
    heard: Arc<Mutex<Heard>>,
    thread: JoinHandle<io::Result<()>>,
}

struct Heard {
    bytes: Vec<u8>,
    last: Instant,
}

impl Listener {
    fn new(mut out: impl Read + Send + 'static) -> Self {
        let heard = Arc::new(Mutex::new(Heard { bytes: Vec::new(), last: Instant::now() }));
        let notes = Arc::clone(&heard);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let count = out.read(&mut buffer)?;
                if count == 0 {
                    return Ok(());
                }
                let mut heard = locked(&notes);
                heard.bytes.extend_from_slice(&buffer[..count]);
                heard.last = Instant::now();
            }
        });
        Self { heard, thread }
    }

    /// How long nothing has come.
    fn silence(&self) -> Duration {
        locked(&self.heard).last.elapsed()
    }

    /// Everything, if the process has ended; otherwise what has come.
    fn text(self, has_ended: bool) -> io::Result<String> {
        if has_ended {
            self.thread.join().expect("reading does not panic")?;
        }
        Ok(String::from_utf8_lossy(&locked(&self.heard).bytes).into_owned())
    }
}

fn locked(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a process ended.
enum Ending {
    Well,
    /// By [`end_spoilt`].
    Spoilt,
    Badly(String),
    /// It was killed, and is still there.
    Never(String),
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ending::Well,
        (Some(SPOILT), _) => Ending::Spoilt,
        (_, Some(signal)) => Ending::Badly(format!("killed by signal {signal}")),
        (_, None) => Ending::Badly(format!("ended with {status}")),
    }
}
