//! Rows that tests of the libraries show. A row passes when its test stands in the file where it is said to be and,
//! being run here, passes. Rows of the same test share one run of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use chiton_testkit::trials::Trial;
use serde_json::Value;

/// A test of a library and the rows that it shows.
pub struct Elsewhere {
    pub rows: &'static [&'static str],
    /// The crate, which is also the name of its folder.
    package: &'static str,
    target: Target,
    /// Where the test stands, below the folder of the crate.
    source: &'static str,
    /// What the test is called when all tests of the target are listed.
    test: &'static str,
}

#[derive(Clone, Copy)]
enum Target {
    /// The unit tests of the library.
    Library,
    /// A program of this name from `tests`.
    Integration(&'static str),
}

pub const ELSEWHERE: [Elsewhere; 4] = [
    Elsewhere {
        rows: &["S2-13"],
        package: "chiton-engine",
        target: Target::Integration("suite"),
        source: "tests/state.rs",
        test: "state::a_plain_sh_carries_directory_exported_variables_and_mask",
    },
    Elsewhere {
        rows: &["S4-49", "S4-50"],
        package: "chiton-dialects",
        target: Target::Library,
        source: "src/registry.rs",
        test: "registry::tests::all_execution_tools_are_registered_with_valid_schemas",
    },
    Elsewhere {
        rows: &["S4-32", "S4-33", "S4-34", "S4-35", "S4-36", "S4-37", "S4-38", "S4-39", "S4-40", "S4-41", "S4-42"],
        package: "chiton-operator",
        target: Target::Integration("shell_manager"),
        source: "tests/shell_manager.rs",
        test: "shells_are_created_found_read_cleaned_up_killed_and_reset",
    },
    Elsewhere {
        rows: &["S4-43", "S4-44", "S4-45", "S4-46", "S4-47", "S4-48"],
        package: "chiton-engine",
        target: Target::Integration("suite"),
        source: "tests/tasks.rs",
        test: "tasks::every_ending_has_its_status_and_duration_stands_still_after_it",
    },
];

/// A trial for each row: the first row of each test, and apart from them those that find it run when they come late.
pub fn trials() -> (Vec<Trial>, Vec<Trial>) {
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for elsewhere in &ELSEWHERE {
        let result = Arc::new(OnceLock::new());
        let mut rows = elsewhere.rows.iter().map(|row| {
            let result = Arc::clone(&result);
            let shared = move || result.get_or_init(|| elsewhere.check()).clone().map_err(Into::into);
            Trial::test(*row, shared)
        });
        first.extend(rows.next());
        others.extend(rows);
    }
    (first, others)
}

impl Elsewhere {
    /// The name of the test without its module.
    pub fn function(&self) -> &'static str {
        self.test.rsplit("::").next().unwrap_or(self.test)
    }

    fn check(&self) -> Result<(), String> {
        let source = self.folder().join(self.source);
        let text = fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        if !declares_test(&text, self.function()) {
            return Err(format!("{} has no test {} that runs", source.display(), self.function()));
        }

        let program = self.built().map_or_else(|| self.build(), Ok)?;
        let mut command = Command::new(&program);
        command.args(["--exact", self.test]).current_dir(self.folder()).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && said.contains("test result: ok. 1 passed; 0 failed; 0 ignored;") {
            return Ok(());
        }
        Err(format!("{}: {said}{}", self.test, String::from_utf8_lossy(&output.stderr)))
    }

    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(self.package)
    }

    /// The program of these tests, if it stands beside this one and is newer than what it is made of. All of them are
    /// there when the whole workspace is tested.
    fn built(&self) -> Option<PathBuf> {
        let own = std::env::current_exe().ok()?;
        let prefix = match self.target {
            Target::Library => format!("{}-", self.package.replace('-', "_")),
            Target::Integration(name) => format!("{name}-"),
        };
        let is_program = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let hash = name.strip_prefix(&prefix).unwrap_or(".");
            hash.bytes().all(|byte| byte.is_ascii_hexdigit()) && self.is_source_of(path)
        };
        let programs = fs::read_dir(own.parent()?).ok()?.flatten().map(|entry| entry.path()).filter(is_program);
        let (built, program) = programs.filter_map(|path| Some((modified(&path)?, path))).max()?;

        let library = newest_below(&self.folder().join("src"));
        let changed = library.max(modified(&self.folder().join(self.source)));
        changed.is_some_and(|changed| changed < built).then_some(program)
    }

    /// Whether the compiler has noted that a program is made of this test. Tests of several crates have the same name.
    fn is_source_of(&self, program: &Path) -> bool {
        let sources = fs::read_to_string(program.with_extension("d")).unwrap_or_default();
        let own = Path::new(self.package).join(self.source);
        sources.split_whitespace().any(|source| Path::new(source).ends_with(&own))
    }

    /// Makes the program where somebody tests this target alone.
    fn build(&self) -> Result<PathBuf, String> {
        let mut command = Command::new(env!("CARGO"));
        command.args(["test", "--no-run", "--message-format", "json", "--package", self.package]);
        match self.target {
            Target::Library => command.arg("--lib"),
            Target::Integration(name) => command.args(["--test", name]),
        };
        let output = command.current_dir(self.folder()).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cargo: {error}"))?;
        let messages = output.stdout.split(|byte| *byte == b'\n');
        let messages = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let mut programs = messages
            .filter(|message| message["profile"]["test"] == true)
            .filter_map(|message| message["executable"].as_str().map(PathBuf::from));
        programs.next().ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Whether a function of this name is declared as a test, and not as one to leave out.
fn declares_test(text: &str, function: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declaration = format!("fn {function}(");
    let Some(place) = lines.iter().position(|line| line.trim_start_matches("async ").starts_with(&declaration)) else {
        return false;
    };
    let attributes = || lines[..place].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    let is_test = |line: &&&str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    // A target with a harness of its own lists its tests by name.
    let is_listed = lines.iter().any(|line| line.contains(&format!("\"{function}\"")));
    is_listed || (attributes().any(|line| is_test(&line)) && !attributes().any(|line| line.starts_with("#[ignore")))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// When anything that a library is made of was last changed. The programs of a crate are made apart from it.
fn newest_below(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.flatten().filter(|entry| entry.file_name() != "bin");
    let times = entries.map(|entry| {
        let path = entry.path();
        if path.is_dir() { newest_below(&path) } else { modified(&path) }
    });
    times.max().flatten()
}
