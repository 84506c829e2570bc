//! What was measured, for people and for programs.

use crate::measure::{Measured, Spread};
use crate::rows::Subject;
use crate::world::{About, BYTES};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The table.
pub(crate) fn human(about: &About, core: usize, rows: &[Measured]) -> String {
    let About { library, driver, version, device } = about;
    let version = format!("{}.{}", version / 1000, version % 1000 / 10);
    let mut text = format!(
        "driver {driver}, CUDA {version}\ndevice {device}\nlibrary {library}\nprocessor {}, core {core}\n\
         ns per call: medians over the rounds, differences as medians of those within each round [quartiles];\n\
         {BYTES} bytes in each copy, fill and allocation; cudarc* is cudarc without its event tracking\n\n",
        processor()
    );
    let _ = writeln!(
        text,
        "{:<32}{:>8}{:>9}{:>9}{:>9}{:>26}{:>6}{:>26}{:>9}",
        "", "raw", "cushim", "cudarc", "cudarc*", "cushim - raw", "goal", "cushim - cudarc", "rounds"
    );
    rows.iter().for_each(|row| line(&mut text, row));
    text
}

fn line(text: &mut String, row: &Measured) {
    let median =
        |subject| row.of(subject).map_or_else(|| "-".to_owned(), |spread| format!("{:.1}", spread.median));
    // What cudarc does least for is the harder comparison.
    let cudarc = if row.of(Subject::Untracked).is_some() { Subject::Untracked } else { Subject::Cudarc };
    let above = |base| row.above(Subject::Cushim, base).map_or_else(|| "-".to_owned(), difference);
    let [raw, cushim, tracked, untracked] = Subject::ALL.map(median);
    let goal = row.goal.map_or_else(String::new, |goal| goal.to_string());
    let _ = writeln!(
        text,
        "{:<32}{raw:>8}{cushim:>9}{tracked:>9}{untracked:>9}{:>26}{goal:>6}{:>26}{:>9}",
        row.name,
        above(Subject::Raw),
        above(cudarc),
        row.rounds()
    );
}

fn difference(spread: Spread) -> String {
    format!("{:+.1} [{:+.1} {:+.1}]", spread.median, spread.low, spread.high)
}

/// One JSON object.
pub(crate) fn json(about: &About, core: usize, rows: &[Measured]) -> Value {
    let rows: Vec<Value> = rows.iter().map(row).collect();
    json!({
        "driver": about.driver,
        "driver_version": about.version,
        "device": about.device,
        "library": about.library,
        "processor": processor(),
        "core": core,
        "bytes": BYTES,
        "unit": "ns per call",
        "rows": rows,
    })
}

fn row(row: &Measured) -> Value {
    let spread = |Spread { low, median, high }| json!({ "low": low, "median": median, "high": high });
    let each = |value: &dyn Fn(Subject) -> Option<Spread>| -> Map<String, Value> {
        let known = Subject::ALL.into_iter().filter_map(|subject| Some((subject, value(subject)?)));
        known.map(|(subject, value)| (subject.name().to_owned(), spread(value))).collect()
    };
    json!({
        "name": row.name,
        "rounds": row.rounds(),
        "goal_above_raw": row.goal,
        "subjects": each(&|subject| row.of(subject)),
        "cushim_above": each(&|base| row.above(Subject::Cushim, base).filter(|_| base != Subject::Cushim)),
    })
}

/// The processor, as the system names it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
