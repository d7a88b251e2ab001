//! From a state to a bash that is in it.
//!
//! A plain exported variable travels in the environment; everything else in the loader, a script that bash reads from
//! a descriptor before the command. The loader closes its descriptors before it goes on, keeps its errors to itself,
//! leaves no variable or function behind, and ends with `$?` 0 and `$_` as bash has it at its start. The exit trap it
//! sets is the one thing a command could find; a command that sets an exit trap of its own finds [`INTERCEPT`] and the
//! variables it works with, too.
//!
//! The loader does not depend on the command, unless that sets an exit trap: a shell that is started before its command
//! is known runs the same one.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

use super::dump::{BASH_SETS, is_own};
use crate::bytes::ByteString;
use crate::limits::ARGUMENT_BYTES;
use crate::protocol::SharedPaths;
use crate::state::environment::IS_OURS;
use crate::state::{Function, ShellState, Value, Variable};
use chiton_shell::quote::append_quoted;

/// The number under which a shell finds the loader, and the one under which it finds the script.
pub(crate) const LOADER_FD: i32 = 3;
/// See [`LOADER_FD`].
pub(crate) const SCRIPT_FD: i32 = 4;
/// Where a stem has what its branches print to.
pub(crate) const OUTPUT_FD: i32 = 5;
/// See [`OUTPUT_FD`].
pub(crate) const ERROR_FD: i32 = 6;

/// How the loader ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadOptions {
    /// Where the state goes.
    pub(crate) shared: SharedPaths,
    /// The exit trap that hands the state back.
    pub(crate) exit_trap: ExitTrap,
}

/// The exit trap in which a shell hands its state back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitTrap {
    /// There is none, and nothing is handed back.
    None,
    /// It is the only one.
    Alone,
    /// It stands before one that the command may set.
    BeforeOwn,
}

/// Whether a shell in this state can wait for its command. What it does after that uses these two words, after the
/// functions are there; with `builtin` before it, `exec` would not hold.
pub(crate) fn can_wait(state: &ShellState) -> bool {
    ["builtin", "command"].iter().all(|name| !state.functions.contains_key(&ByteString::from(*name)))
}

/// Whether a shell in this state can be a stem. With some options a branch that fails would end it, or show what is ours.
pub(crate) fn can_branch(state: &ShellState) -> bool {
    let is_fixed = |variable: &Variable| variable.attributes.contains('r');
    state.options.iter().all(|(name, on)| !on || matches!(name.as_str(), "pipefail" | "noclobber"))
        && !["LC_ALL", "IFS"].iter().any(|name| state.variables.get(*name).is_some_and(is_fixed))
}

/// A script that brings a shell from one state to another, in this directory or elsewhere; `None` where only a new shell can
/// be in that state.
pub(crate) fn change(from: &ShellState, to: &ShellState, is_elsewhere: bool) -> Option<Vec<u8>> {
    let shadowed = |state: &ShellState| USED_TO_CHANGE.iter().any(|name| state.defines(name));
    if from.options != to.options || shadowed(from) || shadowed(to) {
        return None;
    }
    let mut script = Vec::new();
    if from.umask != to.umask {
        script.extend_from_slice(format!("builtin umask {:04o}\n", to.umask).as_bytes());
    }
    let moves = is_elsewhere || from.cwd != to.cwd;
    if moves {
        script.extend_from_slice(b"builtin cd -- ");
        append_quoted(&mut script, to.cwd.as_os_str().as_bytes());
        script.push(b'\n');
    }
    append_changed_variables(&mut script, from, to, moves)?;
    append_changed_functions(&mut script, from, to)?;
    for name in from.aliases.keys().filter(|name| !to.aliases.contains_key(*name)) {
        script.extend_from_slice(b"builtin unalias -- ");
        append_quoted(&mut script, name);
        script.push(b'\n');
    }
    for (name, value) in to.aliases.iter().filter(|(name, value)| from.aliases.get(*name) != Some(value)) {
        append_alias(&mut script, name, value);
    }
    // What is not named is as bash starts, so what was named is the other way round then.
    let named = from.shopt.iter().filter(|(name, _)| !to.shopt.contains_key(*name)).map(|(name, on)| (name, !on));
    let set = to.shopt.iter().filter(|(name, on)| from.shopt.get(*name) != Some(on)).map(|(name, on)| (name, *on));
    for (name, on) in named.chain(set) {
        script.extend_from_slice(format!("builtin shopt -{} {name}\n", if on { 's' } else { 'u' }).as_bytes());
    }
    Some(script)
}

/// What a change is written with, besides `builtin`.
const USED_TO_CHANGE: [&str; 3] = ["builtin", "command", "declare"];

fn append_changed_variables(script: &mut Vec<u8>, from: &ShellState, to: &ShellState, moves: bool) -> Option<()> {
    let removed = from.variables.iter().filter(|(name, _)| !to.variables.contains_key(*name));
    for (name, variable) in removed {
        can_be_changed(name, Some(variable))?;
        script.extend_from_slice(format!("builtin unset -v {name}\n").as_bytes());
    }
    // To go elsewhere sets it.
    let is_set_by_move = |name: &str| moves && name == "OLDPWD";
    for (name, variable) in &to.variables {
        let before = from.variables.get(name);
        if before == Some(variable) && !is_set_by_move(name) {
            continue;
        }
        can_be_changed(name, before)?;
        can_be_changed(name, Some(variable))?;
        script.extend_from_slice(format!("builtin unset -v {name}\n").as_bytes());
        if !(variable.is_removed() && BASH_SETS.contains(&name.as_str())) {
            append_declaration(script, name, variable);
            script.push(b'\n');
        }
    }
    if moves && !to.variables.contains_key("OLDPWD") {
        script.extend_from_slice(b"builtin unset -v OLDPWD\ndeclare -x OLDPWD\n");
    }
    Some(())
}

/// Whether a shell that runs can come to have this variable, or lose it, and be as if it had started so.
fn can_be_changed(name: &str, variable: Option<&Variable>) -> Option<()> {
    let is_fixed = variable.is_some_and(|variable| variable.attributes.contains(['r', 'n']));
    (can_be_set(name) && !is_fixed).then_some(())
}

/// The same by the name alone.
pub(crate) fn can_be_set(name: &str) -> bool {
    let is_watched = BASH_WATCHES.iter().any(|watched| name.starts_with(watched));
    !is_watched && !is_own(name) && name != IS_OURS.0
}

/// Beginnings of the names of variables that bash acts on when they are set, or reads only as it starts.
const BASH_WATCHES: [&str; 17] = [
    "BASH", "CHILD_MAX", "COLUMNS", "COMP", "ENV", "EXECIGNORE", "FUNCNEST", "GLOB", "HIST", "IGNOREEOF", "LANG",
    "LC_", "LINES", "MAIL", "POSIX", "TMOUT", "auto_resume",
];

fn append_changed_functions(script: &mut Vec<u8>, from: &ShellState, to: &ShellState) -> Option<()> {
    let is_plain = |function: &Function| !function.attributes.contains('r');
    for (name, function) in from.functions.iter().filter(|(name, _)| !to.functions.contains_key(*name)) {
        is_plain(function).then_some(())?;
        script.extend_from_slice(b"builtin unset -f -- ");
        append_quoted(script, name);
        script.push(b'\n');
    }
    let changed: Vec<_> = to.functions.iter().filter(|(name, text)| from.functions.get(*name) != Some(text)).collect();
    if changed.is_empty() {
        return Some(());
    }
    script.extend_from_slice(b"builtin shopt -s extglob\n");
    for (name, function) in changed {
        if let Some(before) = from.functions.get(name) {
            is_plain(before).then_some(())?;
            script.extend_from_slice(b"builtin unset -f -- ");
            append_quoted(script, name);
            script.push(b'\n');
        }
        script.extend_from_slice(b"builtin eval ");
        append_quoted(script, &function.text);
        script.push(b'\n');
        append_function_attributes(script, name, function);
    }
    if !to.shopt.get("extglob").copied().unwrap_or(false) {
        script.extend_from_slice(b"builtin shopt -u extglob\n");
    }
    Some(())
}

/// Whether a shell in this state reads such a text from a pipe as it is. Where bash counts characters, it loses some of
/// those that are none.
pub(crate) fn reads_whole(text: &[u8], state: &ShellState) -> bool {
    let setting = |name: &&str| state.variables.get(*name).and_then(Variable::scalar).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(setting).unwrap_or(b"C").to_ascii_lowercase();
    let is_utf8 = locale.ends_with(b"utf-8") || locale.ends_with(b"utf8");
    let is_plain = matches!(&locale[..], b"c" | b"posix");
    text.is_ascii() || is_plain || (is_utf8 && std::str::from_utf8(text).is_ok())
}

/// The environment to execute bash with.
pub(crate) fn environment(state: &ShellState) -> Vec<Vec<u8>> {
    let plain = travelling(state).into_iter().filter_map(|name| Some((name, state.variables.get(name)?.scalar()?)));
    let mut entries: Vec<Vec<u8>> = plain.map(|(name, value)| [name.as_bytes(), b"=", value].concat()).collect();
    entries.push([b"PWD=", state.cwd.as_os_str().as_bytes()].concat());
    if !state.variables.get(IS_OURS.0).is_some_and(Variable::is_removed) {
        entries.push([IS_OURS.0, "=", IS_OURS.1].concat().into_bytes());
    }
    entries
}

/// The names of the variables that travel in the environment. The kernel takes neither a very long one nor very many;
/// the loader does, so that a shell with such variables still starts, and only the programs it runs do not.
fn travelling(state: &ShellState) -> BTreeSet<&str> {
    let mut room = ENVIRONMENT_BYTES;
    let mut fits = |(name, variable): &(&String, &Variable)| {
        // OLDPWD from the environment is dropped by bash unless it is a directory at that very moment.
        let plain =
            variable.attributes == "x" && !matches!(name.as_str(), "PWD" | "OLDPWD") && name.as_str() != IS_OURS.0;
        let size = variable.scalar().map(|value| name.len() + value.len() + 2).filter(|size| *size <= ARGUMENT_BYTES);
        let left = size.filter(|_| plain).and_then(|size| room.checked_sub(size));
        room = left.unwrap_or(room);
        left.is_some()
    };
    state.variables.iter().filter(|entry| fits(entry)).map(|(name, _)| name.as_str()).collect()
}

/// Well below what a kernel takes for arguments and environment together.
const ENVIRONMENT_BYTES: usize = 1 << 20;

/// The loader for `state`.
pub(crate) fn loader(state: &ShellState, called_as: &[u8], options: &LoadOptions) -> Vec<u8> {
    // Where bash reads this as its start-up file, nobody else will close the descriptors.
    let close = format!("[[ ${{BASH_ENV-}} ]]&&exec {LOADER_FD}<&- {SCRIPT_FD}<&-");
    let mut script = format!("{{ {close}\nunset -v BASH_ENV\n").into_bytes();
    for name in BASH_SETS.iter().filter(|name| state.variables.get(**name).is_some_and(Variable::is_removed)) {
        script.extend_from_slice(format!("unset -v {name}\n").as_bytes());
    }
    append_variables(&mut script, state);
    script.extend_from_slice(format!("umask {:04o}\n", state.umask).as_bytes());
    if options.exit_trap != ExitTrap::None {
        append_exit_trap(&mut script, options);
    }
    append_functions(&mut script, state);
    append_settings(&mut script, state);
    script.extend_from_slice(b"} 2>/dev/null\nbuiltin : ");
    append_quoted(&mut script, called_as);
    script.push(b'\n');
    script
}

fn append_variables(script: &mut Vec<u8>, state: &ShellState) {
    let travelling = travelling(state);
    append_declarations(script, state, |name| !travelling.contains(name));
}

fn append_declarations(script: &mut Vec<u8>, state: &ShellState, wanted: impl Fn(&str) -> bool) {
    let own = |(name, variable): &(&String, &Variable)| {
        let stays_unset = variable.is_removed() && BASH_SETS.contains(&name.as_str());
        !is_own(name) && wanted(name) && !stays_unset
    };
    let (references, others): (Vec<_>, Vec<_>) =
        state.variables.iter().filter(own).partition(|(_, variable)| variable.is_reference());
    // References last: a declaration of the name they refer to would otherwise go through them.
    for (name, variable) in others.into_iter().chain(references) {
        append_declaration(script, name, variable);
        script.push(b'\n');
    }
}

fn append_declaration(script: &mut Vec<u8>, name: &str, variable: &Variable) {
    let kind = match variable.value {
        Value::Indexed(_) => "a",
        Value::Associative(_) => "A",
        Value::Unset | Value::Scalar(_) => "",
    };
    let letters = format!("{kind}{}", variable.attributes);
    let flags = if letters.is_empty() { "--".to_owned() } else { format!("-{letters}") };
    script.extend_from_slice(format!("declare {flags} {name}").as_bytes());
    append_value(script, &variable.value);
}

/// A variable as it is declared.
pub(crate) fn declaration_of(name: &str, variable: &Variable) -> String {
    let mut text = Vec::new();
    append_declaration(&mut text, name, variable);
    String::from_utf8_lossy(&text).into_owned()
}

/// A script that a person may source: brings their bash into the state of a session, as far as one shell can become
/// another.
pub(crate) fn script_for_people(state: &ShellState, removed: &BTreeSet<String>) -> Vec<u8> {
    let mut script = Vec::new();
    for name in removed {
        script.extend_from_slice(format!("unset -v {name}\n").as_bytes());
    }
    append_declarations(&mut script, state, |_| true);
    script.extend_from_slice(format!("umask {:04o}\n", state.umask).as_bytes());
    append_functions(&mut script, state);
    append_settings(&mut script, state);
    script.extend_from_slice(b"builtin cd -- ");
    append_quoted(&mut script, state.cwd.as_os_str().as_encoded_bytes());
    script.push(b'\n');
    script
}

fn append_value(script: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Unset => {}
        Value::Scalar(value) => {
            script.push(b'=');
            append_quoted(script, value);
        }
        Value::Indexed(items) => {
            append_items(script, items.iter().map(|(key, value)| (key.to_string().into_bytes(), &value[..])));
        }
        Value::Associative(pairs) => {
            let quoted = pairs.iter().map(|(key, value)| {
                let mut word = Vec::new();
                append_quoted(&mut word, key);
                (word, &value[..])
            });
            append_items(script, quoted);
        }
    }
}

fn append_items<'a>(script: &mut Vec<u8>, items: impl Iterator<Item = (Vec<u8>, &'a [u8])>) {
    script.extend_from_slice(b"=(");
    for (key, value) in items {
        script.push(b'[');
        script.extend_from_slice(&key);
        script.extend_from_slice(b"]=");
        append_quoted(script, value);
        script.push(b' ');
    }
    script.push(b')');
}

fn append_functions(script: &mut Vec<u8>, state: &ShellState) {
    if state.functions.is_empty() {
        return;
    }
    // A function may have been defined while extended patterns were on; it must be readable in any case.
    script.extend_from_slice(b"builtin shopt -s extglob\n");
    for function in state.functions.values() {
        script.extend_from_slice(b"builtin eval ");
        append_quoted(script, &function.text);
        script.push(b'\n');
    }
    script.extend_from_slice(b"builtin shopt -u extglob\n");
    for (name, function) in &state.functions {
        append_function_attributes(script, name, function);
    }
}

fn append_function_attributes(script: &mut Vec<u8>, name: &[u8], function: &Function) {
    if !function.attributes.is_empty() {
        script.extend_from_slice(format!("builtin declare -f{} -- ", function.attributes).as_bytes());
        append_quoted(script, name);
        script.push(b'\n');
    }
}

fn append_alias(script: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    script.extend_from_slice(b"builtin alias -- ");
    append_quoted(script, &[name, b"=", value].concat());
    script.push(b'\n');
}

/// Aliases and options come last, since they change how what follows is read.
fn append_settings(script: &mut Vec<u8>, state: &ShellState) {
    for (name, value) in &state.aliases {
        append_alias(script, name, value);
    }
    for (name, on) in &state.shopt {
        script.extend_from_slice(format!("builtin shopt -{} {name}\n", if *on { 's' } else { 'u' }).as_bytes());
    }
    for (name, on) in &state.options {
        script.extend_from_slice(format!("builtin set {}o {name}\n", if *on { '-' } else { '+' }).as_bytes());
    }
}

fn append_exit_trap(script: &mut Vec<u8>, options: &LoadOptions) {
    let paths = |text: &str| {
        // In steps, since a path may hold any of the words.
        text.replace("FROM_SCRATCH", "\u{2}")
            .replace("SCRATCH", "\u{1}")
            .replace("STATE", &options.shared.state())
            .replace('\u{1}', &options.shared.scratch())
            .replace('\u{2}', &options.shared.reading_scratch())
    };
    // In front of a trap of the command's own it must leave the shell as it is, so it works in a subshell then, and
    // in a list that keeps its status without being taken for a failure.
    let quiet = options.shared.quiet();
    let hand_back = if options.exit_trap == ExitTrap::BeforeOwn {
        let hand_back = HAND_BACK.replace("ALONE", "");
        format!("( {hand_back};builtin exit \"${{__chiton[0]}}\" ) {quiet} >|STATE&&builtin :;")
    } else {
        // A child that is killed before it has become the program it was made for runs this too.
        let hand_back = HAND_BACK.replace("ALONE", "[[ ${BASHPID-$$} == $$ ]]||builtin exit;");
        format!("{{ {hand_back}; }} {quiet} >|STATE")
    };
    let hand_back = paths(&hand_back);
    script.extend_from_slice(b"trap -- ");
    append_quoted(script, hand_back.as_bytes());
    script.extend_from_slice(b" EXIT\n");
    if options.exit_trap == ExitTrap::BeforeOwn {
        let mut quoted = Vec::new();
        append_quoted(&mut quoted, hand_back.as_bytes());
        script.extend_from_slice(b"__chiton_hand_back=");
        script.extend_from_slice(&quoted);
        script.extend_from_slice(b"\n__chiton_shown=");
        append_quoted(script, &quoted[1..quoted.len() - 1]);
        script.push(b'\n');
        script.extend_from_slice(paths(INTERCEPT).as_bytes());
    }
}

/// What bash prints about itself as it ends, parts separated by NUL; [`super::dump`] reads it. The first parts say how
/// the command ended and where: enough to answer with, see [`super::dump::FirstWords`]. If the command ran through, they
/// were reported before.
///
/// It must work whatever the command did to the shell: functions named like builtins (hence `builtin`, and POSIX mode
/// for one moment, in which `unset` cannot be shadowed), options, traps on every command. The first statement is an
/// assignment because anything else would overwrite `$?` and `PIPESTATUS`.
const HAND_BACK: &str = concat!(
    r#"__chiton=("$?" "${PIPESTATUS[@]}");ALONE builtin trap - DEBUG;__chiton_o=${__chiton_o-$SHELLOPTS};__chiton_b=${__chiton_b-$BASHOPTS};"#,
    r#"[[ ${__chiton_p+x} ]]&&__chiton=("${__chiton_p[@]}");POSIXLY_CORRECT=y;unset -f builtin;"#,
    r"unset -v POSIXLY_CORRECT;builtin set +euxv;builtin trap - DEBUG ERR RETURN;",
    r#"[[ ${__chiton_e+x} ]]||builtin printf '%s\0' 'chiton 2' 0 "${#__chiton[@]}" "${__chiton[@]}" "${DIRSTACK[0]-$PWD}";"#,
    r"builtin pwd;",
    r#"builtin printf '\0%s\0%s\0' "$__chiton_o" "$__chiton_b";builtin umask;builtin printf '\0';"#,
    r"builtin alias -p;builtin printf '\0';",
    r#"[[ "${FUNCNAME[*]}" ]]&&{ builtin printf 'declare -- __chiton_d="%s"\n' "${#FUNCNAME[@]}";builtin local -p;};builtin printf '\0';"#,
    r"builtin declare -p;builtin printf '\0';builtin declare -F >|SCRATCH;builtin mapfile -t __chiton_f FROM_SCRATCH;",
    r#"for __chiton_n in "${__chiton_f[@]}";do builtin printf '%s\n' "$__chiton_n";"#,
    r#"builtin declare -f -- "${__chiton_n##* }";builtin printf '\0';done;builtin printf end"#,
);

/// Stands in for `trap` in commands that may set or list an exit trap: sets and shows what the command means, and puts
/// the handing back in front of it. Only the shell itself hands back, never a subshell.
///
/// Nothing may come after setting a DEBUG, ERR or RETURN trap, which would already run for it, and nothing here may
/// fail outside a condition. An error is reported as if there were no function around it.
const INTERCEPT: &str = r#"trap() {
if [[ $BASH_SUBSHELL == 0 && " $* " =~ [[:space:]]([Ee][Xx][Ii][Tt]|[Ss][Ii][Gg][Ee][Xx][Ii][Tt]|0)[[:space:]] || $BASH_SUBSHELL == 0 && ! " $* " =~ [[:space:]](DEBUG|ERR|RETURN)[[:space:]] ]]
then
if [[ ${__chiton_user+set} ]]; then builtin trap -- "$__chiton_user" EXIT; else builtin trap - EXIT; fi
if builtin trap "$@" 2>|SCRATCH; then __chiton_status=0; else __chiton_status=$?; fi
IFS= builtin read -r -d '' __chiton_text FROM_SCRATCH || builtin :
if [[ $__chiton_text ]]; then builtin printf '%s: line %s: trap: %s' "${BASH_SOURCE[1]:-$0}" "${BASH_LINENO[0]}" "${__chiton_text#*: trap: }" >&2; fi
builtin trap -p EXIT >|SCRATCH
IFS= builtin read -r -d '' __chiton_text FROM_SCRATCH || builtin :
builtin eval "__chiton_words=(${__chiton_text})"
if [[ ${#__chiton_words[@]} == 4 ]]; then __chiton_user=${__chiton_words[2]}; else builtin unset -v __chiton_user; fi
builtin trap -- "$__chiton_hand_back${__chiton_user-}" EXIT
return "$__chiton_status"
elif [[ $# == 0 || $1 == -p ]]
then
builtin trap "$@" >|SCRATCH
IFS= builtin read -r -d '' __chiton_text FROM_SCRATCH || builtin :
__chiton_text=${__chiton_text//"trap -- '$__chiton_shown' EXIT"$'\n'/}
builtin printf %s "${__chiton_text//"$__chiton_shown"/}"
else builtin trap "$@"
fi
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_needs_nothing_that_a_function_could_shadow_after_functions_exist() {
        let mut state = ShellState::fresh("/", [], 0o022);
        let text = "set () \n{ \n    :\n}\n".into();
        state.functions.insert("set".into(), Function { attributes: "x".to_owned(), text });
        state.options.insert("noclobber".to_owned(), true);
        let options = LoadOptions { shared: SharedPaths::of_keeper(1), exit_trap: ExitTrap::Alone };
        let script = String::from_utf8(loader(&state, b"bash", &options)).unwrap();
        let after = script.split_once("shopt -s extglob").unwrap().1;
        for line in after.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase())) {
            assert!(line.starts_with("builtin "), "{line}");
        }
    }
}
