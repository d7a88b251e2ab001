//! The layers of the code: crates depend one way, and inside a crate no two top modules import each other, not even in a
//! circle. And every file of tests is run by something. Read from the manifests and the sources themselves.
#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The published crates, each before those it may use.
const LAYERS: [&str; 11] = [
    "chiton-cli", "chiton-watch", "chiton-reach", "chiton-mcp", "chiton-operator", "chiton-dialects", "chiton-engine",
    "chiton-guard", "chiton-redact", "chiton-terminal", "chiton-shell",
];

/// Modules, and what each imports: with the files that do.
type Graph = BTreeMap<String, BTreeMap<String, BTreeSet<PathBuf>>>;

#[test]
fn a_crate_uses_only_crates_below_it() {
    for (layer, name) in LAYERS.iter().enumerate() {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
        for used in LAYERS.iter().filter(|other| dependencies.contains(&format!("\n{other}"))) {
            let below = LAYERS.iter().position(|other| other == used).unwrap();
            assert!(below > layer, "{name} uses {used}, which is above it");
        }
    }
}

#[test]
fn the_libraries_below_the_engine_touch_nothing_outside() {
    for name in &LAYERS[7..] {
        for (file, text) in sources(&crates().join(name).join("src")) {
            for outside in ["std::fs", "std::net", "std::process", "std::env", "rustix::", "libc::", "tokio::"] {
                assert!(!text.contains(outside), "{} uses {outside}", file.display());
            }
        }
    }
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for name in LAYERS {
        let graph = graph(&crates().join(name).join("src"));
        for circle in circles_in(&graph) {
            let edges = circle.iter().flat_map(|from| {
                let to = graph[from].iter().filter(|(to, _)| circle.contains(*to));
                to.map(move |(to, files)| format!("  {from} → {to} in {}", files.first().unwrap().display()))
            });
            circles.push(format!("{name}: {circle:?}\n{}", edges.collect::<Vec<_>>().join("\n")));
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn a_circle_is_found_where_there_is_one() {
    let edge = |to: &str| (to.to_owned(), BTreeSet::from([PathBuf::from("x.rs")]));
    let graph: Graph = [
        ("a".to_owned(), [edge("b")].into()),
        ("b".to_owned(), [edge("c")].into()),
        ("c".to_owned(), [edge("a")].into()),
        ("d".to_owned(), [edge("a")].into()),
    ]
    .into();
    assert_eq!(circles_in(&graph), [BTreeSet::from(["a".to_owned(), "b".to_owned(), "c".to_owned()])]);
}

/// Where cargo is not to look for tests by itself, a file that nobody names would be no test at all.
#[test]
fn every_file_of_tests_belongs_to_a_program() {
    for entry in fs::read_dir(crates()).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        if manifest.lines().any(|line| line == "autotests = false") {
            assert_eq!(unnamed(&manifest, &folder.join("tests")), [""; 0], "{}", folder.display());
        }
    }
}

/// The files of `tests` that are neither in the manifest nor a module of one that is.
fn unnamed(manifest: &str, tests: &Path) -> Vec<String> {
    let files: Vec<String> = fs::read_dir(tests)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    let is_program = |name: &&String| manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
    let sources = files.iter().filter(is_program).map(|name| fs::read_to_string(tests.join(format!("{name}.rs"))));
    let sources = sources.collect::<Result<Vec<_>, _>>().unwrap().concat();
    let is_module = |name: &&String| sources.lines().any(|line| line == format!("mod {name};"));
    files.iter().filter(|name| !is_program(name) && !is_module(name)).cloned().collect()
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every source below `folder`, without comments and without its tests.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !name.contains("tests") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            all.push((path, lines.collect::<Vec<_>>().join("\n")));
        }
    }
    all
}

/// Which top module of a crate imports which.
fn graph(folder: &Path) -> Graph {
    let mut graph = Graph::new();
    for (file, text) in sources(folder) {
        let inside = file.strip_prefix(folder).unwrap();
        let module = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        let imports = graph.entry(module.clone()).or_default();
        // The root of a crate imports everything, and `bin` is another root.
        if matches!(module.as_str(), "lib" | "main" | "bin") {
            continue;
        }
        for used in imported(&text).into_iter().filter(|used| *used != module) {
            imports.entry(used).or_default().insert(inside.to_owned());
        }
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for imports in graph.values_mut() {
        imports.retain(|used, _| modules.contains(used));
    }
    graph
}

/// The top modules that a text names: `crate::name` and `crate::{name, other::…}`.
fn imported(text: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
    };
    let mut all = Vec::new();
    for rest in text.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => all.extend(list.split('}').next().unwrap().split(',').map(|one| name(one.trim()))),
            None => all.push(name(rest)),
        }
    }
    all
}

/// The largest sets of modules that reach each other.
fn circles_in(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached = |from: &String| {
        let mut found = BTreeSet::new();
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            for next in graph[module].keys() {
                if found.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        found
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|module| (module, reached(module))).collect();

    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (module, found) in reach.iter().filter(|(module, found)| found.contains(**module)) {
        let circle: BTreeSet<String> = found.iter().filter(|other| reach[*other].contains(*module)).cloned().collect();
        if !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}
