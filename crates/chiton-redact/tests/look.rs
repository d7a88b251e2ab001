//! Variables that everybody has and variables that hold secrets: which of them look like secrets.
//!
//! Each row of `tests/cases/everyday.tsv` and `tests/cases/secrets.tsv` is a test. A `·` in a value is left out: it
//! keeps scanners from taking these files for a leak. A `\n` is the end of a line.

use std::process::ExitCode;

use chiton_redact::look::{Look, look};
use chiton_testkit::trials::{Threads, Trial, run};

fn rows(text: &'static str) -> impl Iterator<Item = (&'static str, String)> {
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| {
        let (name, value) = line.split_once('\t').expect("a name and a value");
        (name, value.replace('·', "").replace("\\n", "\n"))
    })
}

fn main() -> ExitCode {
    let everyday = rows(include_str!("cases/everyday.tsv")).map(|(name, value)| {
        Trial::test(format!("everyday::{name}={value}"), move || match look(name, value.as_bytes()) {
            Look::Plain => Ok(()),
            other => Err(format!("{name}={value}: {other:?}").into()),
        })
    });
    let secrets = rows(include_str!("cases/secrets.tsv")).map(|(name, value)| {
        Trial::test(format!("secret::{name}={value}"), move || match look(name, value.as_bytes()) {
            Look::Secret(_) => Ok(()),
            other => Err(format!("{name}={value}: {other:?}").into()),
        })
    });
    run(Threads::Processors, everyday.chain(secrets).collect(), Vec::new())
}
