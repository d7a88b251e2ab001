//! How a command reaches the shell so that it behaves as under `bash -c`, without being in an argument list.
//!
//! The command lies in a descriptor; bash reads it into a variable and evaluates that ([`DeliveryForm::Evaluated`]). Two
//! things bash does differently then: it calls a syntax error one of `eval` instead of `-c`, and it traces (`set -x`)
//! one level deeper. So a command that traces, or that bash itself finds malformed, is given as an argument after all
//! ([`DeliveryForm::Argument`]). One that holds the value of a secret never is.

use crate::bytes::ByteString;
use crate::limits::ARGUMENT_BYTES;
use crate::protocol::{Forms, HELD_GO_FD, HELD_STATE_FD, SharedPaths};
use crate::state::bash::dump::{NOTHING_CAME, PART, is_own};
use crate::state::bash::load::{ERROR_FD, ExitTrap, LOADER_FD, OUTPUT_FD, SCRIPT_FD, can_be_set};
use crate::state::{ShellState, Value};
use chiton_shell::effect::{self, Footprint};
use chiton_shell::quote::append_quoted;
use chiton_shell::tree::Script;
use zeroize::Zeroizing;

use super::shell::{Shell, ShellKind};

/// How a command reaches its shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Any bash can run it, also one that was started before the command was known: it is evaluated.
    Warm {
        /// Whether the shell reports its end, and hands its state back after that.
        hands_back: bool,
        /// What else is known of it.
        expected: Expected,
    },
    /// Only a shell that is started for it can run it.
    Cold {
        /// How it gets into the shell.
        form: DeliveryForm,
        /// How the shell's state comes back.
        hand_back: HandBack,
        /// What else is known of it.
        expected: Expected,
    },
}

/// What a shell does that has waited for its command, when that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandsBack {
    /// It reports the end, and hands its state back.
    State,
    /// It ends.
    Nothing,
}

/// What the text of a command reveals about its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// It may end with a pipeline, whose parts are to be reported.
    pub(crate) pipes: bool,
    /// It leaves its shell as it was.
    pub(crate) changes_nothing: bool,
    /// It cannot tell a copy of a shell from the shell.
    pub(crate) in_branch: bool,
    /// And the copy is as good as new afterwards, or as one that is brought to what the command has changed.
    pub(crate) can_stay: bool,
}

/// How a command is given to a shell that is started for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryForm {
    /// Evaluated from a descriptor.
    Evaluated,
    /// As the argument of `-c`.
    Argument,
    /// Evaluated, unless `bash -n` finds an error in it: then as the argument, for the right message.
    Undecided,
    /// Evaluated, with the value of a secret in it. Arguments can be seen by others and variables listed, so it is
    /// never an argument, and taken out of the variable before it runs. After an error bash may go on with the next
    /// line, which in a here-document may be one of the value; so it is not run at all where bash finds one.
    Secret,
    /// As the argument of `-c`, to be read and not to be run: the shell is known to reject it, and says why.
    OnlyRead,
}

/// How the state of the shell comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandBack {
    /// The shell reports the end of the command at once, and hands its state back in an exit trap after that.
    AfterReport,
    /// In an exit trap alone: the command may trap every command, and would see the report.
    AtExit,
    /// In front of an exit trap of the command's own.
    BeforeOwnTrap,
    /// Not at all: nobody wants it, or bash would print the trap itself (`set -v`).
    Never,
}

impl Delivery {
    /// For a text that its shell rejects.
    pub(crate) fn only_read() -> Self {
        let expected = Expected { pipes: false, changes_nothing: true, in_branch: false, can_stay: false };
        Self::Cold { form: DeliveryForm::OnlyRead, hand_back: HandBack::Never, expected }
    }

    /// For a command whose shell is to hand nothing back.
    pub(crate) fn without_state(self) -> Self {
        match self {
            Self::Warm { expected, .. } => Self::Warm { hands_back: false, expected },
            Self::Cold { form, expected, .. } => Self::Cold { form, hand_back: HandBack::Never, expected },
        }
    }

    /// For a command in which the value of a secret stands.
    pub(crate) fn with_secret(self) -> Self {
        Self::Cold { form: DeliveryForm::Secret, hand_back: self.hand_back(), expected: self.expected() }
    }

    /// How a shell that is started for it is given the command.
    fn form(self) -> DeliveryForm {
        match self {
            Self::Warm { .. } => DeliveryForm::Evaluated,
            Self::Cold { form, .. } => form,
        }
    }

    fn hand_back(self) -> HandBack {
        match self {
            Self::Warm { hands_back: true, .. } => HandBack::AfterReport,
            Self::Warm { hands_back: false, .. } => HandBack::Never,
            Self::Cold { hand_back, .. } => hand_back,
        }
    }

    /// Whether a shell that waits for just such a command can run it, and what such a shell does afterwards.
    pub(crate) fn waits(self) -> Option<HandsBack> {
        match self {
            Self::Warm { hands_back: true, .. } => Some(HandsBack::State),
            Self::Warm { hands_back: false, .. } => Some(HandsBack::Nothing),
            Self::Cold { .. } => None,
        }
    }

    /// What the text reveals about its run.
    pub(crate) fn expected(self) -> Expected {
        match self {
            Self::Warm { expected, .. } | Self::Cold { expected, .. } => expected,
        }
    }

    /// The exit trap that the loader has to set for it.
    pub(crate) fn exit_trap(self) -> ExitTrap {
        match self.hand_back() {
            HandBack::AfterReport | HandBack::AtExit => ExitTrap::Alone,
            HandBack::BeforeOwnTrap => ExitTrap::BeforeOwn,
            HandBack::Never => ExitTrap::None,
        }
    }
}

/// How this command is given to a shell of this kind.
///
/// `parse` gives the parse of the command; it is not asked where that does not matter.
pub(crate) fn choose<'a>(
    command: &[u8],
    parse: impl FnOnce() -> Option<&'a Script>,
    kind: ShellKind,
    state: &ShellState,
) -> Delivery {
    let has = |word: &str| memchr::memmem::find(command, word.as_bytes()).is_some();
    let plain = plain(command, parse);

    let form = if kind == ShellKind::Posix || command.len() > ARGUMENT_BYTES {
        DeliveryForm::Evaluated
    } else if sets_option(command, b'x') || has("xtrace") || has("[[ ]]") {
        // The empty condition is an error that bash does not even mention with -n.
        DeliveryForm::Argument
    } else if plain.is_some() {
        DeliveryForm::Evaluated
    } else {
        DeliveryForm::Undecided
    };

    let sets_exit_trap = has("trap") && (["XIT", "xit", "Xit", "0", "-p"].into_iter().any(has) || lists_traps(command));
    let hand_back = if sets_option(command, b'v') || has("set -o verbose") {
        HandBack::Never
    } else if sets_exit_trap {
        HandBack::BeforeOwnTrap
    } else if kind == ShellKind::Posix || has("DEBUG") {
        HandBack::AtExit
    } else {
        HandBack::AfterReport
    };

    // A line after it would be part of it where it ends with a backslash.
    let can_be_followed = !command.ends_with(b"\\");
    let footprint = plain.and_then(|script| footprint(script, state));
    let changes_nothing = footprint.as_ref().is_some_and(Footprint::is_empty);
    let in_branch = footprint.is_some() && !TELLS_COPIES_APART.into_iter().any(has);
    let is_light = footprint.is_some_and(|found| !found.loops && can_go_on(&found)) && !may_take_in_much(command);
    let expected = Expected {
        pipes: has("|") && !has("DEBUG") && can_be_followed,
        changes_nothing,
        in_branch,
        can_stay: in_branch && is_light && !has("RANDOM"),
    };

    // An empty command is how a waiting shell learns that nobody wants it any more.
    let fits_into_a_pipe = (1..=WAITED_BYTES).contains(&command.len());
    if (form, hand_back) == (DeliveryForm::Evaluated, HandBack::AfterReport) && fits_into_a_pipe && can_be_followed {
        Delivery::Warm { hands_back: true, expected }
    } else {
        Delivery::Cold { form, hand_back, expected }
    }
}

/// What a command may change in a shell of this state; `None` where that may be anything, or is not told by the names alone.
pub(crate) fn footprint(script: &Script, state: &ShellState) -> Option<Footprint> {
    let found = effect::footprint(script, &|name| state.defines(name))?;
    // To set a reference sets another variable, and to set an integer evaluates the value.
    let is_plain = |name: &String| {
        !is_own(name) && state.variables.get(name).is_none_or(|variable| !variable.attributes.contains(['n', 'i', 'r']))
    };
    let has_attributes = |name: &String| {
        let function = state.functions.get(&ByteString::from(name.as_str()));
        function.is_some_and(|function| !function.attributes.is_empty())
    };
    let is_told = found.variables.iter().all(is_plain) && !found.functions.iter().any(has_attributes);
    is_told.then_some(found)
}

/// Whether a branch that has changed so much can wait for another command: nothing of it is a variable that bash acts on.
fn can_go_on(footprint: &Footprint) -> bool {
    footprint.variables.iter().all(|name| can_be_set(name))
}

/// What has a branch report how a command ended, and hand back what it may have changed; `state::bash::dump` reads it. All of
/// it is printed at once as a rule, with the word of a branch that it waits again: the keeper wakes up for each piece.
pub(crate) fn hand_back_part(footprint: &Footprint, state: &ShellState) -> String {
    let is_array = |name: &&String| {
        let value = state.variables.get(*name).map(|variable| &variable.value);
        footprint.arrays.contains(*name) || matches!(value, Some(Value::Indexed(_) | Value::Associative(_)))
    };
    let all: Vec<&String> = footprint.variables.iter().collect();
    let (arrays, scalars): (Vec<&String>, Vec<&String>) = footprint.variables.iter().partition(is_array);
    let functions: Vec<&String> = footprint.functions.iter().collect();
    let now = print_part(&scalars, &arrays, &functions);
    if scalars.is_empty() {
        return now;
    }
    // Before bash 4.4 a value could not be asked for its attributes. Bash reads over what is quoted faster than over commands.
    let before = quoted(&print_part(&[], &all, &functions));
    format!("if ((BASH_VERSINFO[0]*100+BASH_VERSINFO[1]>=404));then {now};else builtin eval {before};fi")
}

/// What a branch evaluates: the command, and before it on the same line what it is to evaluate after it, `tell`.
pub(crate) fn text_for_branch(tell: Option<&str>, command: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(command.len() + tell.map_or(0, str::len) + 64));
    if let Some(tell) = tell {
        text.extend_from_slice(b"__chiton_d=");
        append_quoted(&mut text, tell.as_bytes());
        text.push(b';');
    }
    text.extend_from_slice(b"builtin : \"$0\";");
    text.extend_from_slice(command);
    text
}

fn quoted(text: &str) -> String {
    let mut quoted = Vec::new();
    append_quoted(&mut quoted, text.as_bytes());
    String::from_utf8_lossy(&quoted).into_owned()
}

fn print_part(scalars: &[&String], declared: &[&String], functions: &[&String]) -> String {
    let names = |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
    let (plain, arrays, defined) = (names(scalars), names(declared), names(functions));
    let mut script = format!("builtin printf '%s\\0' {WORDS} {PART} '{plain}' '{arrays}' '{defined}'");
    for name in scalars {
        script.push_str(&format!(" \"${{{name}@a}}\" \"${{{name}+1}}\" \"${{{name}-}}\""));
    }
    if declared.is_empty() && functions.is_empty() {
        script.push_str(&format!(" end {WAITS_AGAIN}"));
        return script;
    }
    for name in declared {
        script.push_str(&format!(";builtin declare -p {name};builtin printf '\\0'"));
    }
    for name in functions {
        script.push_str(&format!(";builtin declare -f -- {name};builtin printf '\\0'"));
    }
    script.push_str(&format!(";builtin printf '%s\\0' end {WAITS_AGAIN}"));
    script
}

/// What a branch says that waits for another command, as arguments. None where it ends.
const WAITS_AGAIN: &str = r#""${__chiton_w[@]}""#;

/// The first words of a branch, as arguments: how its command ended, and where.
const WORDS: &str = r#""chiton 2" "$__chiton_r" "${#__chiton_p[@]}" "${__chiton_p[@]}" "${DIRSTACK[0]-$PWD}""#;

/// The same for one whose command has run through.
const RAN_THROUGH: &str = r#""chiton 2" 1 "${#__chiton_p[@]}" "${__chiton_p[@]}" "${DIRSTACK[0]-$PWD}""#;

/// By these a command could tell a copy of a shell from the shell: process ids, jobs, what the shell itself has done.
const TELLS_COPIES_APART: [&str; 9] = ["$$", "${$", "$!", "BASH", "jobs", "times", "caller", "compgen", "__chiton"];

/// Whether the shell itself may need much memory for a command: for what another one prints, or for braces.
fn may_take_in_much(command: &[u8]) -> bool {
    // Neither that of a parameter nor one that stands by itself, around commands.
    let expands = |place: usize| {
        let is_alone = command.get(place + 1).is_none_or(u8::is_ascii_whitespace);
        !is_alone && (place == 0 || command[place - 1] != b'$')
    };
    let has_braces = memchr::memchr_iter(b'{', command).any(expands);
    has_braces || memchr::memchr(b'`', command).is_some() || memchr::memmem::find(command, b"$(").is_some()
}

/// Whether a bare `trap`, which lists them, stands anywhere in the text.
fn lists_traps(command: &[u8]) -> bool {
    memchr::memmem::find_iter(command, b"trap").any(|place| {
        let next = command[place + 4..].iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        next.is_none_or(|byte| b"\n;|&)>}`".contains(byte))
    })
}

/// Whether `set -…x…` stands anywhere in the text.
fn sets_option(command: &[u8], letter: u8) -> bool {
    memchr::memmem::find_iter(command, b"set").any(|place| {
        let mut words = command[place + 3..].split(|byte| byte.is_ascii_whitespace() || b";&|".contains(byte));
        let is_word =
            place == 0 || !(command[place - 1].is_ascii_alphanumeric() || b"_-./".contains(&command[place - 1]));
        is_word && words.next() == Some(b"") && turns_on(words, letter)
    })
}

/// Whether the arguments of `set` switch an option on by its letter, possibly after others.
fn turns_on<'a>(words: impl Iterator<Item = &'a [u8]>, letter: u8) -> bool {
    let mut names = 0;
    for word in words {
        let (sign, letters) = word.split_at(word.len().min(1));
        let is_group =
            matches!(sign, b"-" | b"+") && !letters.is_empty() && letters.iter().all(u8::is_ascii_alphabetic);
        if is_group {
            if sign == b"-" && letters.contains(&letter) {
                return true;
            }
            // An `o` takes the name of an option that follows.
            names += usize::from(letters.contains(&b'o'));
        } else if names > 0 {
            names -= 1;
        } else {
            return false;
        }
    }
    false
}

/// The arguments with which the shell is executed, in the form that is known to be right, or in both.
pub(crate) fn forms(
    shell: &Shell,
    called_as: &[u8],
    command: &[u8],
    delivery: Delivery,
    shared: &SharedPaths,
) -> Forms {
    let arguments = |rest: &[&[u8]]| -> Vec<ByteString> {
        [called_as].iter().chain(rest).map(|argument| (*argument).into()).collect()
    };
    let evaluated = || match shell.kind() {
        ShellKind::Bash => arguments(&[b"--norc", b"--noprofile", b"-c", bootstrap(shared, delivery).as_bytes()]),
        ShellKind::Posix => arguments(&[b"-c", format!(". /dev/fd/{LOADER_FD}\n. /dev/fd/{SCRIPT_FD}").as_bytes()]),
    };
    let argument = || arguments(&[b"--norc", b"--noprofile", b"-c", command]);
    let only_read = || {
        let options: Vec<&[u8]> = shell.options_to_read().iter().map(|option| option.as_bytes()).collect();
        arguments(&[&options[..], &[b"-c", command]].concat())
    };

    let (evaluated, argument) = match delivery.form() {
        DeliveryForm::Evaluated | DeliveryForm::Secret => (Some(evaluated()), None),
        DeliveryForm::Argument => (None, Some(argument())),
        DeliveryForm::Undecided => (Some(evaluated()), Some(argument())),
        // Evaluated in name only: nothing is loaded into a shell that runs nothing.
        DeliveryForm::OnlyRead => (Some(only_read()), None),
    };
    let only_well_formed = delivery.form() == DeliveryForm::Secret && shell.kind() == ShellKind::Bash;
    Forms { evaluated, argument, only_well_formed }
}

/// The variable through which texts get into the shell: one that bash has anyway.
const VARIABLE: &str = "BASH_EXECUTION_STRING";

/// Loads the state, reads the command and evaluates it. All on line 1, since bash counts the lines of the command from
/// the line of this `eval`, and all in one piece, which bash has read before it runs any of it.
///
/// Before the command, everything of ours is taken away. After it, the status of a pipeline's parts is remembered,
/// which is gone once `eval` has returned. At the end the shell reports its status and where it is, and goes on to its
/// exit trap when the keeper says so: what that reports is not to hold up the answer.
fn bootstrap(shared: &SharedPaths, delivery: Delivery) -> String {
    let hand_back = delivery.hand_back();
    let reports_end = hand_back == HandBack::AfterReport;
    let remembers = delivery.expected().pipes && hand_back != HandBack::Never;

    // Before there are functions that may be called like a builtin.
    let start = format!(
        "IFS= read -r -d '' __chiton_l <&{LOADER_FD};IFS= read -r -d '' {VARIABLE} <&{SCRIPT_FD};\
         exec {LOADER_FD}<&- {SCRIPT_FD}<&-;builtin eval \"$__chiton_l\";"
    );
    let gone = if delivery.form() == DeliveryForm::Secret { "__chiton_l BASH_EXECUTION_STRING" } else { "__chiton_l" };
    let after = match (remembers, reports_end) {
        (false, _) => String::new(),
        (true, true) => format!("\"{REMEMBER}\""),
        (true, false) => format!("\"{REMEMBER}';builtin exit \"${{__chiton_p[0]}}\"'\""),
    };
    let end = if reports_end { report_end(shared) } else { String::new() };

    format!("{start}builtin eval \"builtin unset -v {gone};builtin : \\\"\\$0\\\";${VARIABLE}{after}\"{end}")
}

/// As for a command that is known, but waits for it: one of those that are [`Delivery::Warm`].
pub(crate) fn waiting_bootstrap(shared: &SharedPaths, hands_back: HandsBack) -> String {
    if hands_back == HandsBack::Nothing {
        return passing_bootstrap(shared);
    }
    let (scratch, state) = (shared.scratch(), shared.state());
    let pipes = shared.opening_pipes().unwrap_or_default();
    // Where nothing comes, nobody wants this shell any more, and it has run nothing. What it will need of bash is used
    // once before, so that its pages are there.
    let start = format!(
        "IFS= read -r -d '' {VARIABLE} <&{LOADER_FD};builtin eval \"${VARIABLE}\";command exec {LOADER_FD}<&-;\
         {{ builtin eval \"builtin : \\\"\\$0\\\";:\";builtin printf '%s\\0' \"${{DIRSTACK[0]-}}\"; }} \
         >|{scratch};{pipes}IFS= builtin read -r -d '' {VARIABLE} </dev/null;\
         builtin read -r -N {ALL} -u {SCRIPT_FD} {VARIABLE};[[ ${VARIABLE} ]]||\
         {{ builtin printf %s '{NOTHING_CAME}' >|{state};builtin kill -KILL $$; }};\
         SECONDS=0;command exec {SCRIPT_FD}<&-;"
    );
    let end = report_end(shared);

    format!("{start}builtin eval \"builtin : \\\"\\$0\\\";${VARIABLE}\"{REMEMBER}\"\"{end}")
}

/// The same for a shell that is not asked for anything afterwards. Its command is about to come, so it makes nothing ready.
fn passing_bootstrap(shared: &SharedPaths) -> String {
    let state = shared.state();
    format!(
        "IFS= read -r -d '' {VARIABLE} <&{LOADER_FD};builtin eval \"${VARIABLE}\";command exec {LOADER_FD}<&-;\
         builtin read -r -N {ALL} -u {SCRIPT_FD} {VARIABLE};[[ ${VARIABLE} ]]||\
         {{ builtin printf %s '{NOTHING_CAME}' >|{state};builtin kill -KILL $$; }};\
         SECONDS=0;command exec {SCRIPT_FD}<&-;builtin eval \"builtin : \\\"\\$0\\\";${VARIABLE}\""
    )
}

/// The same for a stem, which has branches: copies of it, each of which waits for one command, runs it and reports its end.
/// A branch costs a fork, not the start of a shell. What the stem is told decides what becomes of the branch that waits:
///
/// - [`RUN`]: it runs the command that follows ([`text_for_branch`]), and ends. The stem has another branch then.
/// - [`RUN_AND_STAY`]: the same, and the branch waits for another one, which costs no fork.
/// - [`RUN_WHOLE`]: the stem itself runs the command, and ends: it is a shell like any other.
/// - [`CATCH_UP`]: the same, after it has evaluated what comes before: what its branch has gone through without it.
/// - [`CHANGE`]: the stem evaluates what follows, and has another branch.
///
/// Each stands in a [`head`], which a branch reads at once. That of a command for the branch has its size; what the stem is
/// to take follows with a head of its own. Where nothing comes, nobody wants the stem any more.
pub(crate) fn stem_bootstrap(shared: &SharedPaths) -> String {
    let (scratch, state) = (shared.scratch(), shared.state());
    let pipes = shared.opening_pipes().unwrap_or_default();
    let to_keeper = if pipes.is_empty() { format!(">|{state}") } else { format!(">&{HELD_STATE_FD}") };
    let read_head = |descriptor: i32| format!("builtin read -r -N {HEAD_BYTES} -u {descriptor} {VARIABLE};");
    // By characters where each of them is a byte, which is quicker; else by bytes, whatever the locale takes for a character.
    let read_text = |descriptor: i32| {
        format!(
            "if [[ ${VARIABLE} == ?{BYTES}* ]];then \
             LC_ALL=C builtin read -r -N \"${{{VARIABLE}:2}}\" -u {descriptor} {VARIABLE};\
             else builtin read -r -N \"${{{VARIABLE}:1}}\" -u {descriptor} {VARIABLE};fi;"
        )
    };
    let (head, read) = (read_head(COMMANDS_FD), read_text(COMMANDS_FD));
    let take = read_head(SCRIPT_FD) + &read_text(SCRIPT_FD);
    let own_streams = format!("1>&{OUTPUT_FD} 2>&{ERROR_FD}");
    let close = format!("{OUTPUT_FD}>&- {ERROR_FD}>&-");

    let start = format!(
        "IFS= read -r -d '' {VARIABLE} <&{LOADER_FD};builtin eval \"${VARIABLE}\";command exec {LOADER_FD}<&-;\
         {{ builtin eval \"builtin : \\\"\\$0\\\";:\";builtin printf '%s\\0' \"${{DIRSTACK[0]-}}\"; }} \
         >|{scratch};{pipes}IFS= builtin read -r -d '' {VARIABLE} </dev/null;"
    );
    let tell = format!(
        r#"{{ if [[ $__chiton_d ]];then builtin eval "$__chiton_d";else builtin printf "%s\0" {WORDS};fi; }} 2>&- {to_keeper};"#
    );
    let early = quoted(&format!(r#"__chiton_p=("$?" "${{PIPESTATUS[@]}}");{tell}builtin exit 0"#));
    // Where programs are was found out for this command alone. What can wait follows the report.
    let stays = format!(
        "while [[ ${VARIABLE} == {RUN_AND_STAY}* ]];do {read}SECONDS=0;builtin eval \"${VARIABLE}\"{REMEMBER};\
         if [[ $__chiton_d ]];then __chiton_r=1 __chiton_w=('chiton 4' \"$BASHPID\");\
         builtin eval \"$__chiton_d\" 2>&- {to_keeper};__chiton_d= __chiton_r=0 __chiton_w=();\
         else builtin printf \"%s\\0\" {RAN_THROUGH} 'chiton 4' \"$BASHPID\" 2>&- {to_keeper};fi;\
         builtin hash -r||builtin :;BASH_SUBSHELL=0;{head}done;"
    );
    // What bash sets aside for the time of a redirection, no program gets, nor a copy of it. The first number for that is 10.
    let commands = format!(
        "{{ command exec {COMMANDS_FD}<&10;}} {SCRIPT_FD}</dev/null;command exec {SCRIPT_FD}<&-;\
         [[ -p /dev/fd/{COMMANDS_FD} ]]||builtin kill -KILL \"$BASHPID\";"
    );
    // What it will need of bash is used once before it waits, so that it has pages of its own for that.
    let branch = format!(
        "command exec {own_streams} {close};{commands}__chiton_d= __chiton_r=0;builtin trap -- {early} EXIT;\
         builtin eval \"builtin : \\\"\\$0\\\";builtin :\"{REMEMBER};{rehearsed}[[ ${VARIABLE} == {RUN}* ]];\
         builtin read -r -N 1 -u 0 {VARIABLE};SECONDS=0 BASH_SUBSHELL=0;\
         {{ if [[ $__chiton_d ]];then builtin :;else builtin printf \"%s\\0\" 'chiton 4' \"$BASHPID\";fi; }} 2>&- {to_keeper};\
         {head}{stays}\
         [[ ${VARIABLE} == {RUN}* ]]||{{ builtin trap - EXIT;{VARIABLE}=${{{VARIABLE}:0:1}};\
         builtin exit \"${{{VARIABLE}:-{UNWANTED}}}\"; }};\
         {read}command exec {COMMANDS_FD}<&-;SECONDS=0 BASH_SUBSHELL=0;\
         builtin eval \"${VARIABLE}\"{REMEMBER};__chiton_r=1;{tell}builtin trap - EXIT;builtin exit 0",
        rehearsed = read_head(0)
    );
    let branches = format!(
        "while builtin :;do ( {branch} );case $? in 0) ;;{RUN_WHOLE}) {take}builtin break;;\
         {CATCH_UP}) {take}builtin eval \"${VARIABLE}\";{take}builtin break;;\
         {CHANGE}) {take}builtin eval \"${VARIABLE}\";;\
         {UNWANTED}) builtin printf %s '{NOTHING_CAME}' {to_keeper};builtin kill -KILL $$;;\
         *) builtin printf 'chiton 3\\0%s\\0' \"$?\" {to_keeper};builtin kill -KILL $$;;esac;done;"
    );
    let end = report_end(shared);

    format!(
        "{start}{branches}SECONDS=0;command exec {own_streams} {SCRIPT_FD}<&- {close};\
         builtin eval \"builtin : \\\"\\$0\\\";${VARIABLE}\"{REMEMBER}\"\"{end}"
    )
}

/// What stands before a text that a stem or its branch is told: what it is to do, and how much there is to read. A locale that
/// the state names need not exist on this machine, so only bash knows what it takes for a character.
pub(crate) fn head(mode: char, text: &[u8]) -> String {
    let size = text.len();
    if text.is_ascii() { format!("{mode}{size:08}") } else { format!("{mode}{BYTES}{size:07}") }
}

/// How long a [`head`] is.
const HEAD_BYTES: usize = 9;

/// Stands before a size in bytes.
const BYTES: char = 'b';

/// What a branch reads commands from. No program has it.
const COMMANDS_FD: i32 = 250;

/// What a stem is told, see [`stem_bootstrap`].
pub(crate) const RUN: char = 'F';
/// See [`RUN`].
pub(crate) const RUN_AND_STAY: char = 'S';
/// See [`RUN`].
pub(crate) const RUN_WHOLE: char = '4';
/// See [`RUN`].
pub(crate) const CATCH_UP: char = '6';
/// See [`RUN`].
pub(crate) const CHANGE: char = '5';
/// The status of a branch to which nothing came.
const UNWANTED: u8 = 3;

/// Reports the status of the command and where the shell is, then waits for the keeper. A function of the command's may
/// be called `builtin`; in POSIX mode, for one moment, `unset` cannot be shadowed.
fn report_end(shared: &SharedPaths) -> String {
    let through = |writes: &str, reads: &str| {
        format!(
            r#"builtin printf '%s\0' 'chiton 2' 1 "${{#__chiton_p[@]}}" "${{__chiton_p[@]}}" "${{DIRSTACK[0]-$PWD}}" {writes}&&__chiton_e=1&&builtin read -r -N 1 __chiton_g {reads};"#
        )
    };
    let by_path = through(&format!(">|{}", shared.state()), &shared.reading_go());
    let report = match shared.opening_pipes() {
        None => by_path,
        // A command may have closed them, or have few descriptors.
        Some(opening) => {
            let by_pipes = through(&format!(">&{HELD_STATE_FD}"), &format!("<&{HELD_GO_FD}"));
            format!("{opening}if [[ -p /dev/fd/{HELD_STATE_FD} ]];then {by_pipes}else {by_path}fi;")
        }
    };
    format!(
        r#";__chiton_s=${{__chiton_p[0]=$?}} __chiton_o=$SHELLOPTS __chiton_b=$BASHOPTS;POSIXLY_CORRECT=y;unset -f builtin;unset -v POSIXLY_CORRECT;{report}builtin exit "$__chiton_s""#
    )
}

/// More characters than any command that a shell can wait for. Asked for that many, bash reads on until the end, in
/// large pieces; asked for all that comes before a NUL, it would read a pipe byte by byte.
const ALL: usize = 2 * WAITED_BYTES;

/// A longer command may not fit into a pipe.
const WAITED_BYTES: usize = 32 << 10;

/// Remembers the status of a pipeline's parts, on a line of its own.
const REMEMBER: &str = r#"$'\n''__chiton_p=("$?" "${PIPESTATUS[@]}")'"#;

/// For a plain `sh`, which cannot read a descriptor into a variable: it sources the script, closing descriptors first.
pub(crate) fn posix_script(command: &[u8]) -> Vec<u8> {
    [format!("exec {LOADER_FD}<&- {SCRIPT_FD}<&-\n").as_bytes(), command].concat()
}

/// The parts of a command that is certainly one that bash reads without a word: without a warning about a here-document,
/// too. `None` means that bash has to be asked, about patterns that are errors unless an option is on among others.
fn plain<'a>(command: &[u8], parse: impl FnOnce() -> Option<&'a Script>) -> Option<&'a Script> {
    let is_pattern = |place: usize| place > 0 && b"?*+@!".contains(&command[place - 1]);
    if command.len() > ARGUMENT_BYTES || memchr::memchr_iter(b'(', command).any(is_pattern) {
        return None;
    }
    parse().filter(|script| !script.places.has_open_here())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    use chiton_testkit::dice::Dice;

    fn is_plain(text: &str) -> bool {
        let script = chiton_shell::parse(text.as_bytes()).ok();
        plain(text.as_bytes(), || script.as_ref()).is_some()
    }

    #[test]
    fn everyday_commands_are_plain() {
        let cases = [
            "true",
            "ls -la | wc -l",
            "cd /tmp && make 2>&1 | tee log; echo $?",
            "echo \"$(date +%s) ${HOME}/x\" # note",
            "git commit -m 'it works'",
            "FOO=bar cargo test -- --nocapture &",
            "sleep 1 &",
            "cat < in > out 2>> err",
            "echo a\\\n b",
            "printf $'a\\'b'",
            "grep -rn \"foo bar\" src/ || true",
            "",
            "\n\n",
            "# only a comment",
            "a=$(b=$(c))",
            "echo {a,b}",
            "x; y;",
            "echo $",
            "command 2>&1 &>all",
        ];
        for case in cases {
            assert!(is_plain(case), "{case}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "bash is the oracle here")]
    fn nothing_that_bash_finds_malformed_is_plain() {
        let pieces = [
            "echo", "a", " ", "'", "\"", "$(", ")", "(", "{", "}", ";", "&", "&&", "|", "||", ">", "<", "2>&1", "\n",
            "#", "if", "then", "fi", "${x}", "${", "`", "\\", "$'", "done", "!", "<<E", "for", "[[", "x=1", "$((",
            "))", "=(", "]]", "-f", "-eq", "==", "case", "esac", "while", "do", "f()", "x)", "y*",
        ];
        let mut dice = Dice::new(7);
        let mut asked = 0;
        let mut wrong = Vec::new();
        while asked < 1000 {
            let length = 1 + dice.roll(9);
            let text = (0..length).map(|_| *dice.one_of(&pieces)).collect::<Vec<_>>().join(" ");
            if !is_plain(&text) {
                continue;
            }
            asked += 1;
            let quiet = Stdio::null;
            let status = Command::new("bash")
                .args(["--norc", "--noprofile", "-n", "-c", "--", &text])
                .stdin(quiet())
                .stderr(quiet())
                .status()
                .unwrap();
            if !status.success() {
                wrong.push(text);
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n--\n"));
    }

    #[test]
    fn tracing_and_exit_traps_are_seen() {
        let choose = |text: &[u8], kind| {
            let script = chiton_shell::parse(text).ok();
            choose(text, || script.as_ref(), kind, &ShellState::fresh("/", [], 0o022))
        };
        for text in
            ["set -x", "true; set -ex\nls", "set -e -x", "bash -o xtrace -c true", "set -euo pipefail -x", "set +e -x"]
        {
            assert_eq!(choose(text.as_bytes(), ShellKind::Bash).form(), DeliveryForm::Argument, "{text}");
        }
        for text in ["tar -xf a", "test -x a", "set -e; [ -x a ]", "reset -x"] {
            assert_ne!(choose(text.as_bytes(), ShellKind::Bash).form(), DeliveryForm::Argument, "{text}");
        }
        assert_eq!(choose(b"trap 'rm -f x' EXIT", ShellKind::Bash).hand_back(), HandBack::BeforeOwnTrap);
        assert_eq!(choose(b"set -v; ls", ShellKind::Bash).hand_back(), HandBack::Never);
        for text in ["make --verbose", "kubectl set -v=5 image", "echo verbose", "tar -xvf a"] {
            assert_ne!(choose(text.as_bytes(), ShellKind::Bash).hand_back(), HandBack::Never, "{text}");
        }
    }
}
