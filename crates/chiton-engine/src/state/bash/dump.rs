//! From what bash printed about itself to a state.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::declaration;
use crate::bytes::ByteString;
use crate::state::change::PartOfState;
use crate::state::environment::IS_OURS;
use crate::state::{Function, PER_COMMAND_OPTIONS, ShellState, Value, Variable};
use chiton_shell::quote::read_word;

/// What one command handed back.
#[derive(Debug)]
pub(crate) struct ReadState {
    /// The status of each part of the last pipeline.
    pub(crate) pipe_status: Vec<i32>,
    pub(crate) state: Reported,
}

/// How much of its state a shell has printed.
#[derive(Debug)]
pub(crate) enum Reported {
    /// All of it.
    Whole(ShellState),
    /// What its command can have changed.
    Part(PartOfState),
}

/// What the shell reports first: enough to answer with, before the rest has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FirstWords {
    /// The command ran to its end: neither `exit`, nor an error, nor a signal ended its shell before.
    pub(crate) ran_through: bool,
    /// The exit status, then the status of each part of the last pipeline.
    pub(crate) statuses: Vec<i32>,
    pub(crate) cwd: PathBuf,
}

impl FirstWords {
    /// Reads them; `None` where they have not all come yet. Gives what follows them, too.
    pub(crate) fn read(text: &[u8]) -> Option<(Self, &[u8])> {
        // What a DEBUG trap of the command printed before it could be switched off stands in front.
        let mut rest = &text[memchr::memmem::find(text, HEAD)? + HEAD.len()..];
        let mut next = || {
            let end = memchr::memchr(0, rest)?;
            let part = &rest[..end];
            rest = &rest[end + 1..];
            Some(part)
        };
        let mut number = || std::str::from_utf8(next()?).ok()?.parse::<i32>().ok();
        let ran_through = number()? == 1;
        let statuses = (0..number()?).map(|_| number()).collect::<Option<Vec<i32>>>()?;
        let cwd = OsString::from_vec(next()?.to_vec()).into();
        Some((Self { ran_through, statuses, cwd }, rest))
    }

    pub(crate) fn status(&self) -> Option<i32> {
        self.statuses.first().copied()
    }

    /// The status of each part of the last pipeline. After `exit 3` or a syntax error bash still has the parts of some
    /// pipeline before; they do not belong to this ending.
    pub(crate) fn pipe_status(&self) -> Vec<i32> {
        match self.statuses.split_first() {
            Some((status, parts)) if parts.contains(status) => parts.to_vec(),
            Some((status, _)) => vec![*status],
            None => Vec::new(),
        }
    }
}

const HEAD: &[u8] = b"chiton 2\0";

/// What a shell reports that waited for a command in vain, before it ends.
pub(crate) const NOTHING_CAME: &str = "chiton 0";

/// How a stem begins to say which branch waits, and how a branch ended that was killed.
pub(crate) const BRANCH_WAITS: &[u8] = b"chiton 4\0";
/// See [`BRANCH_WAITS`].
pub(crate) const BRANCH_ENDED: &[u8] = b"chiton 3\0";

/// What stands after the first words where only a part of the state follows: that which the command may have changed.
pub(crate) const PART: &str = "part";

/// Variables that are bash's own: counters, mirrors of itself, the positions of half-done work. Never carried.
const OWN: [&str; 48] = [
    "BASH", "BASHOPTS", "BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_ARGV0", "BASH_CMDS", "BASH_COMMAND",
    "BASH_EXECUTION_STRING", "BASH_LINENO", "BASH_LOADABLES_PATH", "BASH_MONOSECONDS", "BASH_REMATCH", "BASH_SOURCE",
    "BASH_SUBSHELL", "BASH_TRAPSIG", "BASH_VERSINFO", "BASH_VERSION", "COMP_WORDBREAKS", "COPROC", "COPROC_PID",
    "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD", "HOSTNAME", "HOSTTYPE",
    "LINENO", "MACHTYPE", "OPTERR", "OPTIND", "OSTYPE", "PIPESTATUS", "PPID", "PWD", "RANDOM", "SECONDS", "SHELLOPTS",
    "SHLVL", "SRANDOM", "UID", "_", "IFS", "PS4",
];

/// Variables that bash sets where the environment has none.
pub(super) const BASH_SETS: [&str; 3] = ["PATH", "SHELL", "TERM"];

/// How bash starts: the options that are on.
const SHOPT_ON: [&str; 13] = [
    "checkwinsize", "cmdhist", "complete_fullquote", "extquote", "force_fignore", "globasciiranges", "globskipdots",
    "hostcomplete", "interactive_comments", "patsub_replacement", "progcomp", "promptvars", "sourcepath",
];
/// See [`SHOPT_ON`].
const OPTIONS_ON: [&str; 3] = ["braceexpand", "hashall", "interactive-comments"];
/// Options that cannot be set, or say how the shell was started.
const SHOPT_FIXED: [&str; 2] = ["login_shell", "restricted_shell"];

pub(crate) fn is_own(name: &str) -> bool {
    OWN.contains(&name) || name == IS_OURS.0 || name.starts_with("__chiton")
}

/// Reads what the shell printed; `None` where it is not complete. `start` is the state the command started from.
pub(crate) fn read(text: &[u8], start: &ShellState) -> Option<ReadState> {
    let (first, rest) = FirstWords::read(text)?;
    if !rest.ends_with(b"\0end") {
        return None;
    }
    let pipe_status = first.pipe_status();
    if let Some(rest) = rest.strip_prefix(PART.as_bytes()) {
        let part = read_part(rest.strip_prefix(b"\0")?, first.cwd, start)?;
        return Some(ReadState { pipe_status, state: Reported::Part(part) });
    }
    let mut parts = rest.split(|byte| *byte == 0);
    let cwd = OsString::from_vec(parts.next()?.strip_suffix(b"\n")?.to_vec()).into();
    let options = read_options(parts.next()?, &OPTIONS_ON, &PER_COMMAND_OPTIONS)?;
    let shopt = read_options(parts.next()?, &SHOPT_ON, &SHOPT_FIXED)?;
    let umask = u32::from_str_radix(std::str::from_utf8(parts.next()?).ok()?.trim(), 8).ok()?;
    let aliases = read_aliases(parts.next()?)?;
    let locals = parts.next()?;
    let state = ShellState {
        cwd,
        real_cwd: start.real_cwd.clone(),
        shopt,
        aliases,
        options,
        umask,
        variables: read_variables(parts.next()?, locals, start)?,
        functions: read_functions(parts)?,
    };
    Some(ReadState { pipe_status, state: Reported::Whole(state) })
}

/// What a command may have changed: names of plain variables, of arrays and of functions, and how these are now.
fn read_part(text: &[u8], cwd: PathBuf, start: &ShellState) -> Option<PartOfState> {
    let mut parts = text.split(|byte| *byte == 0);
    let mut names = || Some(std::str::from_utf8(parts.next()?).ok()?.split_ascii_whitespace());
    let (scalars, arrays, functions) = (names()?, names()?, names()?);
    let mut part = PartOfState { now: ShellState { cwd, ..ShellState::default() }, ..PartOfState::default() };
    for name in scalars {
        let (attributes, is_set, value) = (parts.next()?, !parts.next()?.is_empty(), parts.next()?);
        let mut attributes: Vec<u8> = attributes.to_vec();
        attributes.sort_unstable();
        let attributes = String::from_utf8(attributes).ok()?;
        let value = if is_set { Value::Scalar(value.into()) } else { Value::Unset };
        let found = (is_set || !attributes.is_empty()).then_some(Variable { attributes, value });
        set(&mut part, name, found, start);
    }
    for name in arrays {
        let found = declaration::read_all(parts.next()?)?.into_iter().find(|(found, _)| found == name);
        set(&mut part, name, found.map(|(_, variable)| variable), start);
    }
    for name in functions {
        let text = parts.next()?;
        if text.is_empty() {
            part.gone_functions.push(name.into());
        } else {
            let function = Function { attributes: String::new(), text: as_written(text).into() };
            part.now.functions.insert(name.into(), function);
        }
    }
    Some(part)
}

/// Gives a variable the value that was found, or none.
fn set(part: &mut PartOfState, name: &str, found: Option<Variable>, start: &ShellState) {
    let was_there = start.variables.contains_key(name);
    // A shell that never left its directory declares OLDPWD without a value.
    let is_bash_s = name == "OLDPWD" && !was_there && found.as_ref().is_some_and(|found| found.scalar().is_none());
    let is_removed = found.is_none() && BASH_SETS.contains(&name) && was_there;
    let gone = is_removed.then(|| Variable { attributes: String::new(), value: Value::Unset });
    match found.or(gone).filter(|_| !is_bash_s) {
        Some(variable) => drop(part.now.variables.insert(name.to_owned(), variable)),
        None => part.gone_variables.push(name.to_owned()),
    }
}

fn read_variables(text: &[u8], locals: &[u8], start: &ShellState) -> Option<BTreeMap<String, Variable>> {
    // The shell ended inside a function: what it prints mixes the function's variables with the session's. Those of
    // the function itself are known, those of its callers are not, so with a caller only exported ones count.
    let locals = declaration::read_all(locals)?;
    let depth = locals.iter().find(|(name, _)| name == "__chiton_d").and_then(|(_, variable)| variable.scalar());
    let in_nested_function = depth.is_some_and(|depth| depth != b"1");
    let hidden: BTreeSet<String> = locals.into_iter().map(|(name, _)| name).collect();
    let unknown = |name: &String, variable: &Variable| {
        is_own(name) || hidden.contains(name) || (in_nested_function && !variable.is_exported())
    };
    let mut variables: BTreeMap<_, _> =
        start.variables.iter().filter(|(name, variable)| unknown(name, variable)).map(owned).collect();
    for (name, variable) in declaration::read_all(text)? {
        let known = start.variables.contains_key(&name);
        let made_by_bash = !known && BASH_SETS.contains(&name.as_str()) && !variable.is_exported();
        let maybe_local = in_nested_function && !variable.is_exported();
        if !is_own(&name) && !hidden.contains(&name) && !made_by_bash && !maybe_local {
            variables.insert(name, variable);
        }
    }
    for name in BASH_SETS.into_iter().filter(|name| start.variables.contains_key(*name)) {
        let removed = || Variable { attributes: String::new(), value: Value::Unset };
        variables.entry(name.to_owned()).or_insert_with(removed);
    }
    // A shell that never left its directory declares OLDPWD without a value.
    if !start.variables.contains_key("OLDPWD")
        && variables.get("OLDPWD").is_some_and(|variable| variable.scalar().is_none())
    {
        variables.remove("OLDPWD");
    }
    Some(variables)
}

fn owned<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}

/// From `SHELLOPTS` or `BASHOPTS`, the names of the options that are on: those that differ from how bash starts.
fn read_options(text: &[u8], usually_on: &[&str], left_out: &[&str]) -> Option<BTreeMap<String, bool>> {
    let on: BTreeSet<&str> = std::str::from_utf8(text).ok()?.split(':').filter(|name| !name.is_empty()).collect();
    let turned_on = on.iter().filter(|name| !usually_on.contains(name)).map(|name| (*name, true));
    let turned_off = usually_on.iter().filter(|name| !on.contains(**name)).map(|name| (*name, false));
    let changed = turned_on.chain(turned_off).filter(|(name, _)| !left_out.contains(name));
    Some(changed.map(|(name, on)| (name.to_owned(), on)).collect())
}

/// `alias NAME='VALUE'` lines; a value may hold newlines.
fn read_aliases(mut text: &[u8]) -> Option<BTreeMap<ByteString, ByteString>> {
    let mut aliases = BTreeMap::new();
    while !text.is_empty() {
        let rest = text.strip_prefix(b"alias ")?;
        let rest = rest.strip_prefix(b"-- ").unwrap_or(rest);
        let end = memchr::memchr(b'=', rest)?;
        let (value, after) = read_word(&rest[end + 1..], |byte| byte == b'\n')?;
        aliases.insert(rest[..end].into(), value.into());
        text = after.strip_prefix(b"\n")?;
    }
    Some(aliases)
}

/// Bash prints `coproc COPROC cat` for `coproc cat`, and reads that as another command.
fn as_written(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        match line[indent..].strip_prefix(b"coproc COPROC ") {
            Some(rest) => [&line[..indent], b"coproc ", rest].concat(),
            None => line.to_vec(),
        }
    });
    lines.collect::<Vec<_>>().concat()
}

/// Parts of `declare -fATTRIBUTES NAME`, a newline and the definition, then `end`.
fn read_functions<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Option<BTreeMap<ByteString, Function>> {
    let mut functions = BTreeMap::new();
    for part in parts {
        if part == b"end" {
            return Some(functions);
        }
        let line_end = memchr::memchr(b'\n', part)?;
        let head = part[..line_end].strip_prefix(b"declare -f")?;
        let space = memchr::memchr(b' ', head)?;
        let text = &part[line_end + 1..];
        // The stand-in for `trap`, see `load`, is ours.
        if memchr::memmem::find(text, b"__chiton_hand_back").is_none() {
            let attributes = String::from_utf8(head[..space].to_vec()).ok()?;
            let text = as_written(text).into();
            functions.insert(head[space + 1..].into(), Function { attributes, text });
        }
    }
    None
}
