//! Every kernel of `kernels/`, as each compiler made it, on softcuda, held against references in C and against what a GPU
//! answered.

use capi_tests::build::Link;
use capi_tests::corpus;
use capi_tests::repository;
use capi_tests::run::{Driver, Run};
use std::collections::BTreeMap;

/// What was said of a kernel and a compiler: whether it was exact, and the rest of the line.
type Answers = BTreeMap<(String, String), (String, String)>;

fn answers(text: &str) -> Answers {
    let lines = text.lines().filter_map(|line| {
        let mut words = line.splitn(2, ' ');
        let source = words.next()?.to_owned();
        let (compiler, rest) = words.next()?.split_once(' ')?;
        let (verdict, rest) = rest.trim_start().split_once(' ')?;
        compiler
            .starts_with("nvrtc-")
            .then(|| ((source, compiler.to_owned()), (verdict.to_owned(), rest.trim().to_owned())))
    });
    lines.collect()
}

fn on_softcuda(environment: &[(&str, &str)]) -> Answers {
    let program = corpus::build().link(Link::Static).program();
    let program = program.unwrap_or_else(|failure| panic!("{failure}"));
    // It fails if anything differs, and says what: all of that is looked at here.
    let run = Run::new(program, Driver::Software("13.0"));
    let run = environment.iter().fold(run, |run, (name, value)| run.env(name, value)).output();
    let (Ok(text) | Err(text)) = run;
    answers(&text)
}

#[test]
fn kernels_do_what_their_references_do() {
    let answers = on_softcuda(&[]);
    assert!(answers.len() > 150, "{} lines", answers.len());
    let wrong: Vec<_> = answers.iter().filter(|(_, (verdict, _))| verdict == "differs").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    compare_with_the_gpu(&answers);
}

/// A launch that is captured, and whose graph is launched, does what the launch does.
#[test]
fn captured_kernels_do_the_same() {
    let captured = on_softcuda(&[("CORPUS_CAPTURED", "1")]);
    assert!(captured.len() > 150, "{} lines", captured.len());
    let wrong: Vec<_> = captured.iter().filter(|(_, (verdict, _))| verdict == "differs").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    compare_with_the_gpu(&captured);
}

/// No threads of one kernel race, and no two kernels do, but where `races.supp` says why.
#[test]
fn kernels_do_not_race() {
    let log = std::env::temp_dir().join(format!("cushim-kernels-{}.json", std::process::id()));
    let meant = repository("capi-tests/races.supp");
    let answers = on_softcuda(&[
        ("SOFTCUDA_CHECK", "races"),
        ("SOFTCUDA_CHECK_SUPPRESSIONS", meant.to_str().expect("a plain path")),
        ("SOFTCUDA_CHECK_LOG", log.to_str().expect("a plain path")),
    ]);
    assert!(answers.len() > 150, "{} lines", answers.len());
    let reports = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(&log);
    assert!(reports.is_empty(), "{reports}");
}

/// What is exact comes out as on the card, bit by bit.
fn compare_with_the_gpu(answers: &Answers) {
    let text = std::fs::read_to_string(repository("docs/verified/kernels-580.txt")).expect("it is committed");
    let card = self::answers(&text);
    for (name, (verdict, rest)) in answers.iter().filter(|(_, (verdict, _))| verdict == "ok") {
        let known = card.get(name).unwrap_or_else(|| panic!("{name:?} never ran on a card"));
        assert_eq!(known, &(verdict.clone(), rest.clone()), "{name:?}");
    }
}
