//! A reader who types what a page says: one bash for the page, with a home and a project of its own.
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use tempfile::TempDir;

use super::page::{Page, Step};
use super::pattern::Meanings;

/// Longer than any command of a page takes, even while other tests run.
const LIMIT: Duration = Duration::from_mins(1);
/// What bash prints, with the exit code, when a command is done.
const DONE: &str = "@@ done @@";
/// The home of readers, on the pages.
const HOME: &str = "/home/me";

pub struct Reader {
    folder: TempDir,
    bash: Child,
    keys: ChildStdin,
    lines: Receiver<String>,
}

impl Reader {
    /// Does what the page says; gives what is not as it says.
    pub fn follow(page: &Page) -> Vec<String> {
        let mut reader = Self::new();
        let mut meanings = Meanings::new(&page.typed());
        let mut problems = Vec::new();
        for step in &page.steps {
            match step {
                Step::Setup { line, commands } => {
                    let (came, code) = reader.types(commands);
                    if code != "0" {
                        problems.push(format!("line {line}: the setup fails with code {code}:\n{came}"));
                    }
                }
                Step::Command { line, command, shown } => {
                    let (came, _) = reader.types(&meanings.command(command));
                    if !meanings.agree(shown, &came) {
                        problems.push(format!("line {line}: $ {command}\nthe page shows:\n{shown}what came:\n{came}"));
                    }
                }
            }
        }
        problems
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (home, programs) = (folder.path().join("home"), folder.path().join("bin"));
        fs::create_dir_all(home.join("project")).unwrap();
        fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_chiton"), programs.join("chiton")).unwrap();

        let mut command = Command::new("bash");
        command
            .args(["--norc", "--noprofile"])
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()))
            .env("HOME", &home)
            .env("USER", "me")
            .env("LANG", "C.UTF-8")
            .env("COLUMNS", "160")
            .current_dir(home.join("project"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut bash = command.spawn().unwrap();
        let keys = bash.stdin.take().unwrap();
        let lines = read_in_background(bash.stdout.take().unwrap());
        Self { folder, bash, keys, lines }
    }

    /// Types commands; gives what came back, and the exit code.
    fn types(&mut self, commands: &str) -> (String, String) {
        let (file, home) = (self.folder.path().join("typed"), self.home());
        fs::write(&file, commands.replace(HOME, &home)).unwrap();
        let file = file.display();
        writeln!(self.keys, ". {file} </dev/null 2>&1; printf '\\n{DONE}%s\\n' $?").unwrap();

        let mut came = String::new();
        loop {
            let line = self.lines.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("no end of `{commands}`:\n{came}"));
            if let Some(code) = line.strip_prefix(DONE) {
                // The last newline is that of the mark.
                came.pop();
                return (came.replace(&home, HOME), code.to_owned());
            }
            came = came + &line + "\n";
        }
    }

    fn home(&self) -> String {
        self.folder.path().join("home").display().to_string()
    }
}

impl Drop for Reader {
    /// Nothing that a page has started goes on.
    fn drop(&mut self) {
        let mut stop = Command::new(env!("CARGO_BIN_EXE_chiton"));
        stop.args(["kill", "--all"])
            .env("HOME", self.home())
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CONFIG_HOME");
        let _ = stop.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let _ = self.bash.kill();
        let _ = self.bash.wait();
    }
}

/// What bash says, by line. A program in the background may hold the pipe open, so nobody waits for its end.
fn read_in_background(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    lines
}

/// Flags that do not work on every machine and not on this one, with the reason.
pub fn absent() -> Vec<(&'static str, String)> {
    let works = |flag: &'static str| {
        let (came, code) = Reader::new().types(&format!("chiton run {flag} true"));
        (code != "0").then(|| (flag, came.lines().next().unwrap_or("it does not work here").to_owned()))
    };
    ["--sandbox work", "--preview"].into_iter().filter_map(works).collect()
}
