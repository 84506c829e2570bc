//! Every relative link in the papers leads to something in the repository.

use std::path::{Path, PathBuf};

/// The targets of Markdown links in the text, without those to other sites and within the page. Code has none.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2).flat_map(str::lines).flat_map(|line| line.split('`').step_by(2));
    let after = prose.flat_map(|text| text.split("](").skip(1));
    let targets = after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://") && !target.starts_with('#'))
}

fn papers(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is readable");
    let paths = entries.map(|entry| entry.expect("the folder is readable").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["", "docs", "softcuda", "catalogue", "softcuda/shell", "capi-tests/c"];
    let docs = ["start", "tasks", "concepts", "verified"].map(|folder| format!("docs/{folder}"));
    let folders = folders.map(str::to_owned).into_iter().chain(docs);
    let papers: Vec<PathBuf> = folders.flat_map(|folder| papers(&root.join(folder))).collect();
    let mut seen = 0;
    let mut broken = Vec::new();
    for paper in &papers {
        let text = std::fs::read_to_string(paper).expect("the paper is readable");
        for link in links(&text) {
            seen += 1;
            let path = link.split('#').next().unwrap_or(link);
            if !paper.parent().expect("a file has a folder").join(path).exists() {
                broken.push(format!("{}: {link}", paper.display()));
            }
        }
    }
    assert!(seen > 5, "only {seen} links were found");
    assert!(broken.is_empty(), "{broken:#?}");
}
