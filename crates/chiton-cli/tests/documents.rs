//! What the documentation shows is what happens: every `console` block of the README and of `docs/` is run, and its output
//! compared. `cargo test -p chiton-cli --test documents tutorial`. Every link and every anchor leads somewhere, and the
//! table of contents has every page. How to write a block: `reading/page.rs` and `reading/pattern.rs`.
#![cfg(test)]

mod reading;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chiton_testkit::trials::{self, Failed, Threads, Trial};
use reading::page::Page;
use reading::reader::Reader;
use reading::{contents, links, verbs};

fn main() -> ExitCode {
    let mut found = vec![
        Trial::test("links-and-anchors-lead-somewhere", || gathered(&links::broken(&root()))),
        Trial::test("contents-have-every-page", || gathered(&contents::missing(&root()))),
        Trial::test("verbs-are-all-described", || gathered(&verbs::missing(&root()))),
        Trial::test("patterns-tell-apart", || trials::passes(reading::pattern::tells_apart)),
        Trial::test("pages-are-taken-apart", || trials::passes(reading::page::is_taken_apart)),
    ];
    let absent = reading::reader::absent();
    for path in pages(&root()) {
        let page = Page::read(&path);
        if page.steps.is_empty() {
            continue;
        }
        let reason = absent.iter().find(|(flag, _)| page.uses(flag)).map(|(_, why)| why.clone());
        let trial = Trial::test(format!("page-{}", page.name), move || gathered(&Reader::follow(&page)));
        found.push(match reason {
            Some(reason) => trial.with_ignored_flag(true).with_kind(reason),
            None => trial,
        });
    }
    trials::run(Threads::Fixed(3), found, Vec::new())
}

/// The README, and all pages of `docs`.
fn pages(root: &Path) -> Vec<PathBuf> {
    let docs = fs::read_dir(root.join("docs")).unwrap().flatten().map(|entry| entry.path());
    let mut pages: Vec<PathBuf> = docs.filter(|path| links::is_page(path)).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn gathered(problems: &[String]) -> Result<(), Failed> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n\n").into()) }
}
