//! One process per part of a section: a driver that crashes or hangs takes only that with it.

use crate::sections::Section;
use crate::transcript::TROUBLE;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::ops::RangeInclusive;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a part may take: creating a context on a machine with many GPUs takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// Processes at a time, on a machine with few processors and with many: they mostly wait for the driver.
const AT_ONCE: RangeInclusive<usize> = 4..=8;

/// The option that makes this program run one part of a section in its own process: `NAME:PART`.
pub(crate) const PART_OPTION: &str = "--part";

/// The transcript of these sections, run on the driver that `driver` names, as the command line does.
pub(crate) fn transcript(sections: &[&'static Section], driver: &[OsString]) -> io::Result<String> {
    let parts: Vec<(&Section, usize)> =
        sections.iter().flat_map(|section| (0..section.parts).map(move |part| (*section, part))).collect();
    let texts: Vec<OnceLock<io::Result<String>>> = parts.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.clamp(*AT_ONCE.start(), *AT_ONCE.end()) {
            scope.spawn(|| {
                let take = || next.fetch_add(1, Ordering::Relaxed);
                for number in std::iter::repeat_with(take).take_while(|&number| number < parts.len()) {
                    let (section, part) = parts[number];
                    texts[number].get_or_init(|| run(&format!("{}:{part}", section.name), driver));
                }
            });
        }
    });
    let mut transcript = String::new();
    for ((section, part), text) in parts.iter().zip(texts) {
        if *part == 0 {
            transcript += &format!("[{}]\n", section.name);
        }
        transcript += &text.into_inner().expect("every part was taken")?;
    }
    Ok(transcript)
}

/// What one part wrote, and how it ended if that was not well.
fn run(part: &str, driver: &[OsString]) -> io::Result<String> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(driver)
        .args([PART_OPTION, part])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut out = child.stdout.take().expect("the output is piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).map(|_| String::from_utf8_lossy(&bytes).into_owned())
    });
    let start = Instant::now();
    let ending = loop {
        match child.try_wait()? {
            Some(status) => break ending(status),
            None if start.elapsed() > PATIENCE => {
                child.kill()?;
                child.wait()?;
                break Some(format!("did not end within {} seconds", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut text = reader.join().expect("reading does not panic")?;
    let in_a_line = !text.is_empty() && !text.ends_with('\n');
    text += &match (in_a_line, ending) {
        (true, Some(ending)) => format!("{TROUBLE} {ending}\n"),
        (false, Some(ending)) => format!("  {TROUBLE} {ending}\n"),
        (true, None) => "well\n".to_owned(),
        (false, None) => String::new(),
    };
    Ok(text)
}

fn ending(status: ExitStatus) -> Option<String> {
    match (status.success(), status.signal()) {
        (true, _) => None,
        (_, Some(signal)) => Some(format!("killed by signal {signal}")),
        (_, None) => Some(format!("ended with {status}")),
    }
}
