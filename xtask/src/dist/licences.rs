//! The licences of everything that is in the program besides our own code.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::target::Target;
use super::{answer, whole_answer};

/// How files with a licence or a notice begin.
const BEGINNINGS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// All texts, each with the packages that it belongs to.
pub(super) fn third_party(sources: &Path, target: &Target) -> Result<String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target.triple]);
    let metadata: Value = serde_json::from_str(&whole_answer(cargo.current_dir(sources))?)?;
    let packages = metadata["packages"].as_array().context("cargo knows no packages")?;
    let used = used(&metadata)?;

    let mut terms = BTreeMap::new();
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages.iter().filter(|package| used.contains(string(&package["id"]))) {
        // Our own packages come from no registry.
        if package["source"].is_null() {
            continue;
        }
        let name = format!("{} {}", string(&package["name"]), string(&package["version"]));
        terms.insert(name.clone(), string(&package["license"]).to_owned());
        let folder = Path::new(string(&package["manifest_path"])).parent().context("a manifest without a folder")?;
        for text in licence_texts(folder)? {
            texts.entry(text).or_default().insert(name.clone());
        }
    }

    let mut page = library_note()?;
    page += "\nRust packages and their licences:\n\n";
    for (name, licence) in terms {
        page += &format!("  {name}: {licence}\n");
    }
    for (text, names) in texts {
        let names: Vec<String> = names.into_iter().collect();
        page += &format!("\n{}\n{}\n\n{}\n", "-".repeat(80), names.join(", "), text.trim_end());
    }
    Ok(page)
}

/// The ids of all packages that the program is made of.
fn used(metadata: &Value) -> Result<BTreeSet<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo resolved nothing")?;
    let packages = metadata["packages"].as_array().context("cargo knows no packages")?;
    let program = packages.iter().find(|package| package["name"] == "chiton-cli").context("there is no chiton-cli")?;
    let nodes: BTreeMap<&str, &Value> = nodes.iter().map(|node| (string(&node["id"]), node)).collect();

    let (mut used, mut waiting) = (BTreeSet::new(), vec![string(&program["id"])]);
    while let Some(id) = waiting.pop() {
        if !used.insert(id) {
            continue;
        }
        let needs = nodes.get(id).and_then(|node| node["deps"].as_array());
        let is_linked = |need: &&Value| need["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(is_ordinary));
        waiting.extend(needs.into_iter().flatten().filter(is_linked).map(|need| string(&need["pkg"])));
    }
    Ok(used)
}

/// Neither for tests nor for the build.
fn is_ordinary(kind: &Value) -> bool {
    kind["kind"].is_null()
}

fn licence_texts(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && entry.file_type()?.is_file() {
            texts.push(String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}

/// What is to be said of the C library.
fn library_note() -> Result<String> {
    let version = answer(Command::new("getconf").arg("GNU_LIBC_VERSION"))?;
    Ok(format!(
        "What is in this program besides Chiton's own code.\n\n\
         The GNU C library ({version}), LGPL-2.1-or-later, https://www.gnu.org/software/libc/. It is linked into the\n\
         program. To use another version of it, build the program from its sources, which are public:\n\
         https://github.com/chiton-shell/chiton, docs/packages.md.\n"
    ))
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
