//! What a call in code does with its arguments.

use super::Language;
use super::calls::{CallDoes, Form};
use super::lexer::Token;
use super::scan::{CodeCall, Scan};
use super::values::CodeValue;
use crate::effect::{Depth, Effect, Kind, Writing};
use crate::value::Text;

/// Reports what a call does.
pub(super) fn report(scan: &mut Scan<'_, '_>, does: CallDoes, call: &CodeCall<'_>) {
    match does {
        CallDoes::DeleteTree => delete_tree(scan, call),
        CallDoes::DeleteEntry => delete_entries(scan, call),
        CallDoes::Write => {
            if let Some(path) = call.texts.first() {
                write(scan, call, path, Writing::Replaces);
            }
        }
        CallDoes::Copy => {
            if let Some(target) = call.texts.get(1) {
                write(scan, call, target, Writing::Replaces);
            }
        }
        CallDoes::Move => {
            let [source, target, ..] = call.texts.as_slice() else { return };
            write(scan, call, target, Writing::Replaces);
            if source.is_decided() {
                scan.machine.moves("This code would move away", source, scan.world, scan.span);
            }
        }
        CallDoes::Open => open(scan, call),
        CallDoes::ChangeRights => {
            let doing = "This code would change the rights of";
            for what in call.texts.iter().filter(|text| text.known_start().starts_with('/')) {
                scan.machine.does(Effect::Rights { what, depth: Depth::Entry, doing }, scan.world, scan.span);
            }
        }
        CallDoes::Run(forms) => {
            let _ = forms.iter().any(|form| run_if_written_as(scan, *form, call));
        }
        CallDoes::Kill => kill(scan, call),
        CallDoes::Evaluate => {
            if let Some(code) = call.texts.first().and_then(Text::as_known) {
                scan.run_code(code);
            }
        }
    }
}

fn delete(scan: &mut Scan<'_, '_>, doing: &str, what: &Text, depth: Depth) {
    scan.machine.deletes(doing, what, depth, scan.world, scan.span);
}

fn delete_tree(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    let Some(first) = call.texts.first() else { return };
    let paths = match value_at(scan, call, 0) {
        Some(CodeValue::List(items)) => items,
        _ => vec![first.clone()],
    };
    for path in paths {
        delete(scan, "This code would recursively delete", &path, Depth::Tree);
    }
}

fn delete_entries(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    let recursive = names(scan, call, |name| name == "recursive");
    for path in call.texts.iter().filter(|text| text.is_decided()) {
        delete(scan, "This code would delete", path, Depth::tree_if(recursive));
    }
}

fn write(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>, what: &Text, writing: Writing) {
    let doing = format!("`{}` in this code would change", call.name.trim_start_matches('.'));
    scan.machine.writes(&doing, what, writing, scan.world, scan.span);
}

/// Opening a file for writing. Perl names the mode before the file, or in front of its name: `open(F, ">", "file")`,
/// `open(F, ">file")`.
fn open(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    let modes: String = call.texts.iter().skip(1).filter_map(Text::as_known).collect();
    let target = match call.texts.iter().skip(1).find(|text| text.known_start().starts_with('>')) {
        Some(mode) if mode.known_start().trim_start_matches(['>', '+']).is_empty() => call.texts.last().cloned(),
        Some(file) => Some(file.skip(file.known_start().find(|sign| sign != '>').unwrap_or_default())),
        None => call.texts.first().cloned().filter(|_| modes.contains(['w', 'a', '+', 'x'])),
    };
    if let Some(target) = target.filter(Text::is_decided) {
        write(scan, call, &target, Writing::adding_if(modes.contains('a')));
    }
}

/// Runs the program that the arguments name, where they have this form.
fn run_if_written_as(scan: &mut Scan<'_, '_>, form: Form, call: &CodeCall<'_>) -> bool {
    let texts = call.texts.as_slice();
    let words = match form {
        Form::List => list(scan, call, 0),
        Form::ListWithName => list(scan, call, 1),
        Form::Arguments => {
            let usual = !matches!(scan.language, Language::JavaScript | Language::Python);
            let decided = texts.len() > 1 && texts.iter().skip(1).all(Text::is_decided);
            (usual && decided).then(|| texts.to_vec())
        }
        Form::ArgumentsWithName => Some(texts.iter().take(1).chain(texts.iter().skip(2)).cloned().collect()),
        Form::ArgumentsBehindMode => Some(texts.iter().skip(1).cloned().collect()),
        Form::TextOfSubprocess if !call.name.contains("subprocess") => None,
        Form::Text | Form::TextOfSubprocess => {
            if let Some(text) = texts.first()
                && (text.is_decided() || !text.known_start().is_empty())
            {
                scan.run_text(text);
            }
            return true;
        }
    };

    let runs = words.is_some();
    if let Some(words) = words {
        scan.run_words(words);
    }
    runs
}

/// The words of `run(["rm", "-rf", "/"])`, and of `spawn("rm", ["-rf", "/"])` without the first of the list's words.
fn list(scan: &Scan<'_, '_>, call: &CodeCall<'_>, without: usize) -> Option<Vec<Text>> {
    match (value_at(scan, call, 0)?, value_at(scan, call, 1)) {
        (CodeValue::List(items), _) => Some(items),
        (CodeValue::Text(program), Some(CodeValue::List(items))) => {
            Some(std::iter::once(program).chain(items.into_iter().skip(without)).collect())
        }
        _ => None,
    }
}

fn kill(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    // Ruby and Perl name the signal first.
    let process_first = !matches!(scan.language, Language::Ruby | Language::Perl);
    let ends_all = call.texts.iter().any(|text| text.is("-1"))
        || process_first && call.texts.first().is_some_and(|text| text.is("1"));
    if ends_all {
        let reason = "This code would end all processes, or process 1.";
        scan.machine.state(Kind::KillAll, reason, scan.span, None);
    }

    if call.name.contains("getppid") || names(scan, call, |name| name.contains("ppid")) {
        let reason = "This code would end the server that runs it.";
        scan.machine.state(Kind::KillOwn, reason, scan.span, None);
    }
}

/// The value of an argument, without what the call is called on.
fn value_at(scan: &Scan<'_, '_>, call: &CodeCall<'_>, index: usize) -> Option<CodeValue> {
    scan.code.value(call.arguments.get(index)?.clone())
}

/// Whether a name in the arguments of a call is the one that is meant.
fn names(scan: &Scan<'_, '_>, call: &CodeCall<'_>, is_meant: impl Fn(&str) -> bool) -> bool {
    let tokens = call.arguments.iter().flat_map(|argument| &scan.code.tokens[argument.clone()]);
    tokens.filter_map(Token::as_name).any(is_meant)
}
