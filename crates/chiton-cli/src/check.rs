//! `chiton check`: what the guard says about a command, or about many. Nothing is run.
//!
//! [`assumed`] says where a command would run, [`batch`] reads many from standard input, [`show`] puts a verdict into
//! words.

mod assumed;
mod batch;
mod show;

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use chiton_engine::Shell;
use chiton_engine::guard::{Boundary, CheckedPolicy, Context, Decision, Mode, Verdict, judge_with, rules};
use chiton_engine::review::{MachineFiles, is_rejected};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;

use crate::sandbox::{Asker, SandboxArguments};
use crate::settings::Settings;
use assumed::Assumed;

/// Say whether the guard would let a command run, and why; nothing is run
///
/// Exit code 0: allowed. 10: a person would be asked. 20: refused. 2: bash itself would reject it. With --batch: 0 if
/// every line could be judged, else 1.
#[derive(Args)]
#[command(after_help = "\
Examples:
  chiton check 'cd / && rm -rf ./usr'
  chiton check --json - < script.sh
  chiton check --session api 'rm -rf \"$OUT\"'
  chiton check --guard strict 'make install'
  chiton check --sandbox work 'echo x >> ~/.profile'
  chiton check --sandbox work 'git reset --hard'
  chiton check --stdin 'rm -rf /' bash
  chiton check --env 'OUT=/' 'rm -rf $OUT'
  jq -R . commands.txt | chiton check --batch

With --batch, each line of standard input is a JSON string, the command, or an
object with \"command\" and, as you like, \"id\", \"cwd\", \"home\", \"user\",
\"workspace\", \"env\", \"stdin\", \"session\" and \"guard\". Each gives one line of
JSON, in the same order, with its \"id\".

In a sandbox (--sandbox, or `profile` in the settings), what the profile holds
is allowed, and so is what `chiton undo` can put back; the verdict says so. It
is assumed that every layer is there; `chiton doctor` tries them.")]
pub(crate) struct CheckArguments {
    #[arg(
        value_name = "COMMAND",
        allow_hyphen_values = true,
        required_unless_present = "batch",
        help = "The command, or - to read it from standard input"
    )]
    command: Option<OsString>,
    #[arg(long, help = "Print one JSON object")]
    json: bool,
    #[arg(long, conflicts_with = "command", help = "Judge each line of standard input, as JSON")]
    batch: bool,
    #[arg(long, value_enum, value_name = "MODE", help = "How the guard judges [default: as the settings say]")]
    guard: Option<CheckMode>,
    #[command(flatten)]
    sandbox: SandboxArguments,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Where a command is assumed to run.
#[derive(Args)]
struct PlaceArguments {
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(crate::session::known_sessions), help = "Judge it as a command of this session, with its variables and functions")]
    session: Option<String>,
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        help = "What it finds on its standard input; - reads it"
    )]
    stdin: Option<String>,
    #[arg(long, value_name = "NAME=VALUE", help = "A variable that is set; may be given several times")]
    env: Vec<String>,
    #[arg(long, value_name = "DIR", help = "The home directory to assume [default: $HOME]")]
    home: Option<PathBuf>,
    #[arg(long, value_name = "NAME", help = "The user to assume [default: $USER]")]
    user: Option<String>,
    #[arg(long, value_name = "DIR", help = "The working directory to assume [default: the current one]")]
    cwd: Option<PathBuf>,
    #[arg(long, value_name = "DIR", help = "The directory that the work is about [default: the working directory]")]
    workspace: Option<PathBuf>,
}

/// How the guard judges.
#[derive(Clone, Copy, Debug, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum CheckMode {
    /// What is destructive is refused, what may be is asked about
    Default,
    /// What is not known to be harmless is asked about
    Strict,
    /// Everything is allowed
    Off,
}

impl From<CheckMode> for Mode {
    fn from(mode: CheckMode) -> Self {
        match mode {
            CheckMode::Default => Self::Default,
            CheckMode::Strict => Self::Strict,
            CheckMode::Off => Self::Off,
        }
    }
}

pub(crate) fn check(arguments: &CheckArguments, settings: &Settings, state: Result<PathBuf>) -> Result<ExitCode> {
    let assumed = Assumed::new(&arguments.place, state)?;
    let boundary = arguments.boundary(settings, assumed.context(), assumed.state_directory())?;
    let judge = Judge { settings, mode: arguments.guard.map(Mode::from), boundary };
    if arguments.batch {
        return batch::judge_lines(&judge, &assumed);
    }

    let command = match arguments.command.as_deref().map(OsStrExt::as_bytes) {
        Some(b"-") if arguments.place.stdin.as_deref() == Some("-") => {
            bail!("standard input cannot be both the command and its input")
        }
        Some(b"-") => {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text).context("standard input cannot be read")?;
            text
        }
        Some(text) => text.to_vec(),
        None => Vec::new(),
    };
    let policy = judge.policy(assumed.context())?;
    let judged = judge.judge(&command, assumed.context(), &policy);

    if arguments.json {
        crate::messages::say!("{}", show::as_json(&judged));
    } else {
        crate::messages::put(format_args!("{}", show::as_text(&judged, &command)));
    }
    Ok(judged.exit_code())
}

/// By what commands are judged.
struct Judge<'a> {
    settings: &'a Settings,
    mode: Option<Mode>,
    /// What cannot be reached, in a sandbox.
    boundary: Option<Boundary>,
}

impl Judge<'_> {
    fn policy(&self, context: &Context) -> Result<CheckedPolicy> {
        self.policy_in(self.mode, context)
    }

    fn policy_in(&self, mode: Option<Mode>, context: &Context) -> Result<CheckedPolicy> {
        let mut policy = self.settings.guard.clone();
        policy.mode = mode.unwrap_or(policy.mode);
        let policy = policy.check(context).context("the settings")?;
        match &self.settings.company {
            Some(company) => company.beneath(policy, context),
            None => Ok(policy),
        }
    }

    fn judge(&self, command: &[u8], context: &Context, policy: &CheckedPolicy) -> Judged {
        let mut judged = Judged::new(command, context, policy);
        if let Some(boundary) = &self.boundary {
            judged.verdict = boundary.lift(judged.verdict, &MachineFiles);
        }
        judged
    }
}

impl CheckArguments {
    /// What cannot be reached in the sandbox that a flag or the settings name.
    fn boundary(&self, settings: &Settings, context: &Context, state: Option<&Path>) -> Result<Option<Boundary>> {
        let Some(state) = state else { return Ok(None) };
        let directory = context.workspace.as_ref().unwrap_or(&context.cwd);
        let policy = self.sandbox.policy(settings, Asker::Run, directory, &[], state, &[])?;
        Ok(policy.map(|policy| policy.boundary()))
    }
}

/// A verdict, and whether bash would even read the command.
struct Judged {
    verdict: Verdict,
    /// What is wrong with a command that bash rejects: it would print an error, and run nothing.
    syntax_error: Option<String>,
}

impl Judged {
    fn new(command: &[u8], context: &Context, policy: &CheckedPolicy) -> Self {
        let verdict = judge_with(command, context, policy);
        let is_unread = verdict.rule.as_deref() == Some(rules::ALL[0].id) && verdict.commands.is_empty();
        if !is_unread || !Shell::find().is_ok_and(|shell| is_rejected(&shell, command)) {
            return Self { verdict, syntax_error: None };
        }
        let syntax_error = Some(verdict.reason.clone());
        let reason = "Bash would reject it, so nothing would run.".to_owned();
        Self { verdict: Verdict { reason, ..Verdict::default() }, syntax_error }
    }

    fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.verdict.decision {
            Decision::Allow if self.syntax_error.is_some() => 2,
            Decision::Allow => 0,
            Decision::Ask => 10,
            Decision::Deny => 20,
        })
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_on_the_page_for_people_load_and_do_what_they_say() {
        let page = include_str!("../../../docs/guard.md");
        let (_, behind) = page.split_once("<!-- settings -->\n```toml\n").unwrap();
        let (snippet, _) = behind.split_once("```").unwrap();
        let settings: Settings = toml_edit::de::from_str(snippet).unwrap();
        let context = Context::new("/home/dev", "dev", "/home/dev/project");
        let policy = settings.guard.check(&context).unwrap();
        let decision = |command: &str| judge_with(command, &context, &policy).decision;
        assert_eq!(decision("git push --force"), Decision::Allow);
        assert_eq!(decision("git push --mirror"), Decision::Deny);
        assert_eq!(decision("terraform apply -auto-approve"), Decision::Allow);
        assert_eq!(decision("rm -rf ~/Documents"), Decision::Ask);
    }

    #[test]
    fn a_line_of_a_refusal_is_a_line_of_the_settings() {
        let context = Context::new("/home/dev", "dev", "/home/dev/project");
        let command = "cd x && git push --force && echo \"a \\\"b\" >> ~/.profile";
        let permit = judge_with(command, &context, &CheckedPolicy::default()).permit.unwrap();
        let settings: Settings = toml_edit::de::from_str(&permit).unwrap();
        let policy = settings.guard.check(&context).unwrap();
        assert_eq!(judge_with(command, &context, &policy).decision, Decision::Allow);
    }
}
