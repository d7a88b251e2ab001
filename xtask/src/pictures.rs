//! Pictures of the command line: the session that the README shows, and `chiton top`.
//!
//! What the README shows is what happens, which its test has just found out. The picture is drawn from that text, so that it
//! does not change with every id. `chiton top` is filmed at work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::{bench, root};

const COLUMNS: usize = 112;

/// Draws them into `docs/pictures`.
pub(crate) fn draw() -> Result<()> {
    let pictures = root().canonicalize()?.join("docs/pictures");
    fs::create_dir_all(&pictures)?;
    let scene = Scene::new()?;
    let drawn = scene.session(&pictures).and_then(|()| scene.top(&pictures));
    scene.end();
    drawn?;
    eprintln!("pictures of a session and of `chiton top` are in {}", pictures.display());
    Ok(())
}

/// Removes pictures that no page shows.
pub(crate) fn prune() -> Result<()> {
    let mut pages = fs::read_to_string(root().join("README.md"))?;
    for entry in fs::read_dir(root().join("docs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "md") {
            pages.push_str(&fs::read_to_string(path)?);
        }
    }
    for entry in fs::read_dir(root().join("docs/pictures"))? {
        let entry = entry?;
        if !pages.contains(&format!("pictures/{}", entry.file_name().to_string_lossy())) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A home with a project, the state of those who work in it, and the state of the camera.
struct Scene {
    folder: PathBuf,
}

impl Scene {
    fn new() -> Result<Self> {
        let folder = bench::target().join("pictures");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("shop"))?;
        Ok(Self { folder: folder.canonicalize()? })
    }

    fn chiton(&self, state: &str, arguments: &[&str]) -> Result<String> {
        let program = bench::target().canonicalize()?.join("debug/chiton");
        let programs = program.parent().context("the program is in a folder")?;
        let mut command = Command::new(&program);
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()))
            .env("HOME", &self.folder)
            .env("LANG", "C.UTF-8")
            .current_dir(self.folder.join("shop"))
            .arg("--state-dir")
            .arg(self.folder.join(state))
            .args(arguments);
        let output = command.stdin(Stdio::null()).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// The block of the README, as a terminal shows it.
    fn session(&self, pictures: &Path) -> Result<()> {
        let readme = fs::read_to_string(root().join("README.md"))?;
        let (_, rest) = readme.split_once("```console\n").context("the README has no console block")?;
        let (block, _) = rest.split_once("```").context("the console block of the README has no end")?;
        let text = coloured(block);
        let file = self.folder.join("session");
        fs::write(&file, &text)?;

        let lines = shown(block).map(|line| line.chars().count().div_ceil(COLUMNS).max(1));
        let rows = lines.sum::<usize>().to_string();
        let show = format!("cat {}", file.display());
        let columns = COLUMNS.to_string();
        let id =
            self.chiton("camera", &["run", "--background", "--pty", "--cols", &columns, "--rows", &rows, &show])?;
        self.chiton("camera", &["wait", &id])?;
        self.shoot(&id, pictures, "session")
    }

    /// `chiton top`, with something to show.
    fn top(&self, pictures: &Path) -> Result<()> {
        self.chiton("state", &["run", "--session", "shop", "export STAGE=test; seq 40000"])?;
        self.chiton("state", &["run", "grep -rn TODO ."])?;
        self.chiton("state", &["run", "--timeout", "300ms", "sleep 600 | cat"])?;
        self.chiton("state", &["run", "--session", "shop", "git init -q . && git status --short | wc -l"])?;
        let serve = "python3 -m http.server --bind 127.0.0.1 {{port:web}}";
        let started = ["run", "--session", "shop", "--background", "--description", "the shop, for trying out", serve];
        let server = self.chiton("state", &started)?;
        self.chiton("state", &["wait", "--port", "any", "--timeout", "20s", &server])?;
        let pack = "for n in $(seq 4001 9000); do echo \"worker $((n % 4)): order $n packed\"; sleep 0.2; done";
        self.chiton("state", &["run", "--session", "shop", "--background", pack])?;
        let ask = "read -rp 'Deploy shop 0.4.1 to staging? [y/N] ' answer; echo $answer";
        let question = self.chiton("state", &["run", "--background", "--pty", ask])?;
        self.chiton("state", &["wait", "--input", "--timeout", "20s", &question])?;

        let top = format!("chiton --state-dir {} top", self.folder.join("state").display());
        let columns = COLUMNS.to_string();
        let id = self.chiton("camera", &["run", "--background", "--pty", "--cols", &columns, "--rows", "16", &top])?;
        self.chiton("camera", &["wait", "--screen", "waits for input", "--timeout", "20s", &id])?;
        self.shoot(&id, pictures, "top")
    }

    fn shoot(&self, id: &str, pictures: &Path, name: &str) -> Result<()> {
        ensure!(id.starts_with("shell_"), "the {name} did not start: {id}");
        for scheme in ["light", "dark"] {
            let picture = self.chiton("camera", &["shot", &format!("--{scheme}"), id])?;
            ensure!(picture.starts_with("<svg"), "there is no picture of the {name}: {picture}");
            let picture = at_home(&picture, &self.folder.display().to_string());
            fs::write(pictures.join(format!("{name}-{scheme}.svg")), picture)?;
        }
        Ok(())
    }

    /// Stops all that was started, and leaves nothing.
    fn end(&self) {
        let _ = self.chiton("camera", &["kill", "--all"]);
        let _ = self.chiton("state", &["kill", "--all"]);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The picture with the home that the pages have. Each stretch of text states its width, which changes with that.
fn at_home(picture: &str, real: &str) -> String {
    let narrower = |line: &str| -> Option<String> {
        let (before, rest) = line.split_once("textLength=\"")?;
        let (width, after) = rest.split_once('"')?;
        let (width, shorter) = (width.parse::<f32>().ok()?, u16::try_from(real.len().saturating_sub(HOME.len())).ok()?);
        let width = width - CELL * f32::from(shorter);
        Some(format!("{before}textLength=\"{width:.1}\"{}", after.replace(real, HOME)))
    };
    let lines = picture.lines().map(|line| {
        let narrower = if line.contains(real) { narrower(line) } else { None };
        narrower.unwrap_or_else(|| line.replace(real, HOME))
    });
    lines.map(|line| line + "\n").collect()
}

/// The home of readers, on the pages.
const HOME: &str = "/home/me";
/// The width of a character in a picture.
const CELL: f32 = 8.4;

/// The lines of a block, but for those that stand for others.
fn shown(block: &str) -> impl Iterator<Item = &str> {
    block.lines().filter(|line| *line != "...")
}

/// What is typed stands out, what Chiton remarks steps back; lines that are left out there are left out here.
fn coloured(block: &str) -> String {
    let mut text = String::from("\x1b]0;a session with chiton\x07\x1b[?25l");
    let lines: Vec<&str> = shown(block).collect();
    for (place, line) in lines.iter().enumerate() {
        let end = if place + 1 == lines.len() { "" } else { "\n" };
        let line = match line.strip_prefix("$ ") {
            Some(typed) => format!("\x1b[32m$\x1b[0m \x1b[1m{typed}\x1b[0m"),
            None if line.starts_with("chiton: ") => format!("\x1b[36m{line}\x1b[0m"),
            None if line.trim().starts_with('^') => format!("\x1b[31m{line}\x1b[0m"),
            None => line.replacen("deny", "\x1b[1;31mdeny\x1b[0m", usize::from(line.starts_with("deny"))),
        };
        text.push_str(&line);
        text.push_str(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{at_home, coloured};

    #[test]
    fn a_stretch_of_text_is_as_wide_as_its_letters_after_the_home_was_replaced() {
        let picture = "<text textLength=\"100.8\" x>/real/folder</text>\n<text>/real/folder</text>\n";
        let expected = "<text textLength=\"67.2\" x>/home/me</text>\n<text>/home/me</text>\n";
        assert_eq!(at_home(picture, "/real/folder"), expected);
    }

    #[test]
    fn a_block_is_coloured_and_what_it_leaves_out_is_gone() {
        let text = coloured("$ ls\na\n...\nchiton: b\n");
        assert!(text.ends_with("\x1b[32m$\x1b[0m \x1b[1mls\x1b[0m\na\n\x1b[36mchiton: b\x1b[0m"), "{text:?}");
    }
}
