//! `cargo xtask projects`: real projects, each built and tested outside and inside of the sandbox `work`.
//!
//! 1. Sources are fetched by the clients of their registries: `cargo vendor`, `npm pack`, `pip download`.
//! 2. A project is copied to the same empty place twice, with an empty home beside it, and its commands are run there by
//!    `chiton run`: without a sandbox first, then in one. What they need they download themselves.
//! 3. A table says what came of it, with two ratios of inside to outside: the processor time of the commands, and the time
//!    that it all took, with what Chiton does beside them.

mod rows;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::bench::target;
use crate::cargo;
use rows::{PROJECTS, Project, Source};

/// Runs those with one of these words in their names, or all.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<()> {
    let mut words: Vec<String> = words.collect();
    let given = words.iter().position(|word| word == "--program").map(|place| words.drain(place..).nth(1));
    let chosen = |project: &&Project| words.is_empty() || words.iter().any(|word| project.name.contains(word.as_str()));
    let projects: Vec<&Project> = PROJECTS.iter().filter(chosen).collect();
    ensure!(!projects.is_empty(), "no project has one of these words in its name");
    let program = match given {
        Some(path) => PathBuf::from(path.context("--program takes a path")?),
        None => program()?,
    };
    let place = Place { program, folder: target().join("projects") };
    fs::create_dir_all(place.sources())?;

    println!("| project | tool | outside | inside | same | CPU | time | refused |\n|---|---|---|---|---|---|---|---|");
    let mut different = 0;
    for project in &projects {
        match place.compare(project) {
            Ok((outside, inside)) => {
                // One that does nothing outside either shows nothing.
                let works = !outside.result.contains(", 0 pass");
                let is_same = works && outside.result == inside.result && inside.refused.is_empty();
                different += usize::from(!is_same);
                println!("{}", line(project, &outside, &inside, is_same));
            }
            Err(error) => {
                different += 1;
                println!("| {} | {} | {error:#} | – | no | – | – | – |", project.name, project.tool());
            }
        }
    }
    println!("\n{} of {} projects give the same inside as outside.", projects.len() - different, projects.len());
    ensure!(different == 0, "some projects differ");
    Ok(())
}

fn line(project: &Project, outside: &Outcome, inside: &Outcome, is_same: bool) -> String {
    let refused = if inside.refused.is_empty() { "–".to_owned() } else { inside.refused.join("; ") };
    let ratio = |inside: Duration, outside: Duration| inside.as_secs_f64() / outside.as_secs_f64().max(0.001);
    let (cpu, time) = (ratio(inside.cpu, outside.cpu), ratio(inside.elapsed, outside.elapsed));
    format!(
        "| {} | {} | {} | {} | {} | {cpu:.2} | {time:.2} | {refused} |",
        project.name,
        project.tool(),
        outside.result,
        inside.result,
        if is_same { "yes" } else { "**no**" },
    )
}

/// The program as it is released, where it was built so, else as it is tested.
fn program() -> Result<PathBuf> {
    let released = target().join("release/chiton");
    if released.exists() {
        return Ok(released);
    }
    cargo(&["build", "-p", "chiton-cli"], "it does not build")?;
    Ok(target().join("debug/chiton"))
}

/// What came of a project.
struct Outcome {
    /// The exit code, and what its tests count.
    result: String,
    refused: Vec<String>,
    /// Processor time of the commands.
    cpu: Duration,
    /// How long it took, with all that Chiton does.
    elapsed: Duration,
}

struct Place {
    program: PathBuf,
    folder: PathBuf,
}

impl Place {
    fn sources(&self) -> PathBuf {
        self.folder.join("sources")
    }

    /// Where projects are worked on, one after the other.
    fn run(&self) -> PathBuf {
        self.folder.join(format!("run-{}", std::process::id()))
    }

    fn compare(&self, project: &Project) -> Result<(Outcome, Outcome)> {
        let source = self.fetch(project).with_context(|| format!("{} cannot be fetched", project.name))?;
        let outside = self.work(project, &source, "off")?;
        let inside = self.work(project, &source, "work")?;
        fs::remove_dir_all(self.run())?;
        Ok((outside, inside))
    }

    /// The folder with the source of a project, fetched where it is not there yet.
    fn fetch(&self, project: &Project) -> Result<PathBuf> {
        let folder = self.sources().join(project.name);
        if !folder.join("fetched").exists() {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder)?;
            match project.source {
                Source::Crate(name, version) => vendor(&folder, name, version)?,
                Source::Npm(name, version) => {
                    let package = format!("{name}@{version}");
                    quietly(&folder, "npm", &["pack", "--silent", &package])?;
                    unpack(&folder)?;
                }
                Source::Python(name, version) => {
                    let package = format!("{name}=={version}");
                    let options = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", &package];
                    quietly(&folder, "python3", &options)?;
                    unpack(&folder)?;
                }
            }
            fs::write(folder.join("fetched"), "")?;
        }
        Ok(folder.join("source"))
    }

    /// Builds and tests it in a sandbox of this profile, in a fresh copy with a fresh home.
    fn work(&self, project: &Project, source: &Path, profile: &str) -> Result<Outcome> {
        let run = self.run();
        let _ = fs::remove_dir_all(&run);
        fs::create_dir_all(run.join("home"))?;
        copy(source, &run.join("work"))?;

        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os() {
            let added = name.to_str().is_some_and(|name| ["CARGO", "RUST"].iter().any(|it| name.starts_with(it)));
            if added {
                command.env_remove(name);
            }
        }
        let cargo = env::var_os("CARGO").map(PathBuf::from);
        let tool_chain = cargo.as_deref().and_then(Path::parent).map(Path::to_owned);
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(tool_chain.into_iter().chain(env::split_paths(&path)))?;
        command.env("PATH", path).env("HOME", run.join("home")).env("GIT_CEILING_DIRECTORIES", &run);
        command.env("XDG_STATE_HOME", run.join("state")).env("npm_config_update_notifier", "false");
        command.args(["run", "--json", "--guard", "off", "--timeout", "15m", "--sandbox", profile]);
        command.arg(project.commands).current_dir(run.join("work")).stdin(Stdio::null()).stderr(Stdio::null());

        let start = Instant::now();
        let output = command.output()?;
        let elapsed = start.elapsed();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(said.starts_with('{'), "chiton did not run it");
        if value(&said, "exit_code") != "0" {
            let text = value(&said, "output").replace("\\n", "\n");
            let last: Vec<&str> = text.lines().rev().take(12).collect();
            eprintln!("{} with {profile}:\n{}", project.name, last.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        Ok(Outcome { result: result(&said), refused: refused(&said), cpu: cpu(&said), elapsed })
    }
}

/// The sources of a crate, as `cargo vendor` brings them.
fn vendor(folder: &Path, name: &str, version: &str) -> Result<()> {
    fs::create_dir_all(folder.join("for/src"))?;
    fs::write(folder.join("for/src/lib.rs"), "")?;
    let manifest = format!(
        "[workspace]\n[package]\nname = \"for\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n{name} = \"={version}\"\n"
    );
    fs::write(folder.join("for/Cargo.toml"), manifest)?;
    quietly(&folder.join("for"), "cargo", &["vendor", "--quiet", "vendor"])?;
    fs::rename(folder.join("for/vendor").join(name), folder.join("source"))?;
    fs::remove_dir_all(folder.join("for"))?;
    fs::remove_file(folder.join("source/.cargo-checksum.json"))?;
    // Cargo looks for a workspace in the folders above, and it would find our own.
    let manifest = folder.join("source/Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    if !text.contains("[workspace]") {
        fs::write(manifest, text + "\n[workspace]\n")?;
    }
    Ok(())
}

/// Unpacks the one archive that is there into `source`.
fn unpack(folder: &Path) -> Result<()> {
    let mut archives = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let archive = archives.next().context("no archive came")?;
    fs::create_dir_all(folder.join("source"))?;
    let archive = archive.to_str().context("an odd name")?;
    quietly(folder, "tar", &["-xf", archive, "-C", "source", "--strip-components=1"])
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (from.to_str().context("an odd path")?, to.to_str().context("an odd path")?);
    quietly(Path::new("/"), "cp", &["-a", from, to])
}

fn quietly(folder: &Path, program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).current_dir(folder).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {}: {}", arguments.join(" "), said.lines().last().unwrap_or_default());
    }
    Ok(())
}

/// The exit code and what tests count, from a reply.
fn result(said: &str) -> String {
    let code = value(said, "exit_code");
    let text = value(said, "output").replace("\\n", " ").replace("\\t", " ");
    let words: Vec<&str> = text.split([' ', ',', '=']).filter(|word| !word.is_empty()).collect();
    let number = |word: Option<&&str>| word.and_then(|word| word.parse::<u64>().ok());
    let count = |names: &[&str]| -> u64 {
        let is_name = |word: &&str| names.contains(&word.trim_end_matches([';', '.']));
        let places = words.iter().enumerate().filter(|(_, word)| is_name(word)).map(|(place, _)| place);
        // `12 passed` of most, `# pass 12` of TAP.
        let counted = places.filter_map(|place| {
            let before = place.checked_sub(1).and_then(|place| words.get(place));
            if before == Some(&"#") { number(words.get(place + 1)) } else { number(before) }
        });
        counted.sum()
    };
    let (passed, failed) = (count(&["passed", "passing", "pass"]), count(&["failed", "failing", "fail"]));
    match (code, passed, failed) {
        ("0", 0, 0) => "done".to_owned(),
        ("0", passed, 0) => format!("{passed} pass"),
        (code, passed, failed) => format!("exit {code}, {passed} pass, {failed} fail"),
    }
}

/// The processor time of the commands, from a reply.
fn cpu(said: &str) -> Duration {
    let part = |key: &str| value(said, key).parse().map_or(Duration::ZERO, Duration::from_micros);
    part("user_us") + part("system_us")
}

/// What was refused, from a reply: each path with its program.
fn refused(said: &str) -> Vec<String> {
    let Some((_, list)) = said.split_once("\"refused\":[") else { return Vec::new() };
    let list = list.split_once(']').map_or(list, |(list, _)| list);
    let one = |entry: &str| format!("{} ({})", value(entry, "path"), value(entry, "by"));
    list.split("},{").filter(|entry| entry.contains("\"path\"")).map(one).collect()
}

/// The value of a key in JSON that Chiton wrote: plain text up to its closing quote, or a number.
fn value<'a>(json: &'a str, key: &str) -> &'a str {
    let Some((_, rest)) = json.split_once(&format!("\"{key}\":")) else { return "" };
    match rest.strip_prefix('"') {
        None => rest.split([',', '}']).next().unwrap_or_default(),
        Some(text) => {
            let mut escaped = false;
            let end = text.find(|letter: char| {
                let ends = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                ends
            });
            &text[..end.unwrap_or(text.len())]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{refused, result};

    #[test]
    fn what_tests_count_is_found_in_a_reply() {
        let cases = [
            (
                r#"{"exit_code":0,"output":"test result: ok. 12 passed; 0 failed;\ntest result: ok. 3 passed; 0"}"#,
                "15 pass",
            ),
            (r#"{"exit_code":0,"output":"== 7 passed, 1 skipped in 0.1s =="}"#, "7 pass"),
            (r##"{"exit_code":0,"output":"# tests 9\n# pass  9\n"}"##, "9 pass"),
            (r#"{"exit_code":1,"output":"\"x\" 2 passed, 1 failed"}"#, "exit 1, 2 pass, 1 fail"),
            (r#"{"exit_code":0,"output":"fine"}"#, "done"),
        ];
        for (said, expected) in cases {
            assert_eq!(result(said), expected, "{said}");
        }
    }

    #[test]
    fn what_was_refused_is_named_with_its_program() {
        let said = r#"{"refused":[{"what":"write","path":"/a","by":"x"},{"what":"write","path":"/b","by":"y"}],"z":1}"#;
        assert_eq!(refused(said), ["/a (x)", "/b (y)"]);
        assert!(refused(r#"{"refused":[]}"#).is_empty());
    }
}
