//! What a call in code does with its arguments.

use std::rc::Rc;

use super::Language;
use super::calls::{self, CallDoes, Form};
use super::scan::{CodeCall, Scan};
use super::values::{Argument, CodeValue};
use crate::effect::{Depth, Effect, Kind, Writing};
use crate::value::{Flow, Text, path};

/// Reports what a call does.
pub(super) fn report(scan: &mut Scan<'_, '_>, does: CallDoes, call: &CodeCall<'_>) {
    match does {
        CallDoes::DeleteTree => delete_tree(scan, call),
        CallDoes::DeleteEntry => delete_entries(scan, call),
        CallDoes::Write => {
            if let Some(path) = call.values.first() {
                write(scan, call, &path.text(), Writing::Replaces);
            }
        }
        CallDoes::Copy => {
            if let Some(target) = call.values.get(1) {
                write(scan, call, &target.text(), Writing::Replaces);
            }
        }
        CallDoes::Move => {
            let [source, target, ..] = call.values.as_slice() else { return };
            write(scan, call, &target.text(), Writing::Replaces);
            let source = source.text();
            if source.is_decided() && (!source.has_glob() || source.known_start().starts_with('/')) {
                scan.machine.moves("This code would move away", &source, &scan.world, scan.span);
            }
        }
        CallDoes::Open => open(scan, call),
        CallDoes::ChangeRights => {
            let doing = "This code would change the rights of";
            for what in call.values.iter().map(CodeValue::text).filter(|text| text.known_start().starts_with('/')) {
                let effect = Effect::Rights { what: &what, depth: Depth::Entry, doing };
                scan.machine.does(effect, &scan.world, scan.span);
            }
        }
        CallDoes::Run(forms) => run(scan, forms, call),
        CallDoes::Kill => kill(scan, call),
        CallDoes::Evaluate => evaluate(scan, call, call.values.first()),
        CallDoes::EvaluateLast => evaluate(scan, call, call.values.last()),
        CallDoes::Enter => {
            let path = call.values.first().and_then(CodeValue::as_known);
            let entered = path.and_then(|path| path::absolute(&path, scan.world.cwd.as_deref()));
            scan.world.enter(entered);
        }
        CallDoes::CallNamed => call_given(scan, call),
        CallDoes::Feed => feed(scan, call),
    }
}

fn delete(scan: &mut Scan<'_, '_>, doing: &str, what: &Text, depth: Depth) {
    scan.machine.deletes(doing, what, depth, &scan.world, scan.span);
}

/// The texts that a value may be, also those in a list.
fn texts(value: &CodeValue) -> Vec<Text> {
    value.choices().into_iter().flat_map(CodeValue::items).map(|item| item.text()).collect()
}

fn delete_tree(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    let Some(first) = call.values.iter().find(|value| !matches!(value, CodeValue::Named(_))).or(call.values.first())
    else {
        return;
    };
    // What a method deletes is what it is called on, if that is known.
    if call.name.starts_with('.') && first.is_unknown() && call.values.len() == 1 {
        return;
    }
    for path in texts(first) {
        delete(scan, "This code would recursively delete", &path, Depth::Tree);
    }
}

fn delete_entries(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    let is_recursive = ["recursive", "force", "r"].iter().any(|key| call.named(key).is_some())
        || call
            .values
            .iter()
            .any(|value| value.as_known().is_some_and(|known| known.starts_with('-') && known.contains('r')));
    for value in &call.values {
        for path in texts(value).iter().filter(|text| text.is_decided()) {
            delete(scan, "This code would delete", path, Depth::tree_if(is_recursive));
        }
    }
}

fn write(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>, what: &Text, writing: Writing) {
    let doing = format!("`{}` in this code would change", call.name.trim_start_matches('.'));
    scan.machine.writes(&doing, what, writing, &scan.world, scan.span);
}

/// Opening a file for writing. Perl names the mode before the file, or in front of its name: `open(F, ">", "file")`,
/// `open(F, ">file")`; a pipe is a program: `open(F, "|program")`, `open(F, "-|", "program")`.
fn open(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    let all: Vec<Text> = call.values.iter().map(CodeValue::text).collect();
    if matches!(scan.language, Language::Perl | Language::Ruby | Language::Tcl | Language::R)
        && open_pipe(scan, call, &all)
    {
        return;
    }
    let modes: String = all.iter().skip(1).filter_map(Text::as_known).collect();
    let target = match all.iter().skip(1).find(|text| text.known_start().starts_with('>')) {
        Some(mode) if mode.known_start().trim_start_matches(['>', '+']).is_empty() => all.last().cloned(),
        Some(file) => Some(file.skip(file.known_start().find(|sign| sign != '>').unwrap_or_default())),
        None => all.first().cloned().filter(|_| modes.contains(['w', 'a', '+', 'x'])),
    };
    if let Some(target) = target.filter(Text::is_decided) {
        write(scan, call, &target, Writing::adding_if(modes.contains('a')));
    }
}

/// Whether what is opened is a pipe; the program at its end runs.
fn open_pipe(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>, all: &[Text]) -> bool {
    if let Some(mode) = all.iter().position(|text| text.is("-|") || text.is("|-")) {
        let words = all.get(mode + 1..).unwrap_or_default();
        match words {
            [] => {}
            [only] => scan.run_text(only, "system"),
            words => scan.run_words(words.to_vec(), "system"),
        }
        return true;
    }
    let first_of_ruby = usize::from(scan.language == Language::Perl);
    for text in all.iter().skip(first_of_ruby) {
        let start = text.known_start();
        if let Some(at) = start.find(|sign: char| !sign.is_whitespace()).filter(|at| start[*at..].starts_with('|')) {
            scan.run_text(&text.skip(at + 1), "system");
            return true;
        }
        if scan.language == Language::Perl
            && let Some(command) =
                text.as_known().and_then(|known| known.trim_end().strip_suffix('|').map(str::to_owned))
        {
            scan.run_text(&Text::known(command), "system");
            return true;
        }
    }
    call.values.is_empty()
}

/// Runs the program that the arguments name, in each directory and with each value that they may be.
fn run(scan: &mut Scan<'_, '_>, forms: &'static [Form], call: &CodeCall<'_>) {
    let outer = scan.world.clone();
    let directory = ["cwd", "chdir", "dir", "cd"].iter().find_map(|key| call.named(key));
    if let Some(path) = directory.and_then(CodeValue::as_known) {
        let entered = path::absolute(&path, scan.world.cwd.as_deref());
        scan.world.enter(entered);
    }
    let input = call.named("input").and_then(CodeValue::as_known).map(|text| Rc::new(Flow::known(text)));
    let mut inner = Fed { scan, input };

    let choices: Vec<CodeValue> = match call.values.first().or_else(|| call.named("args")) {
        Some(first) => first.choices().into_iter().take(16).cloned().collect(),
        None => Vec::new(),
    };
    for first in choices {
        let rest = call.values.get(1..).unwrap_or_default().iter().cloned();
        let values: Vec<CodeValue> = std::iter::once(first).chain(rest).collect();
        let _ = forms.iter().any(|form| inner.run_if_written_as(*form, call.name, &values));
    }
    scan.world = outer;
}

/// Code whose programs may be fed by their call.
struct Fed<'f, 's, 'm> {
    scan: &'f mut Scan<'s, 'm>,
    input: Option<Rc<Flow>>,
}

impl Fed<'_, '_, '_> {
    /// Runs the program that the arguments name, where they have this form.
    fn run_if_written_as(&mut self, form: Form, name: &str, values: &[CodeValue]) -> bool {
        let language = self.scan.language;
        let all = || values.iter().map(CodeValue::text);
        let words: Option<Vec<Text>> = match form {
            // A list of one is text for a shell: `system(@words)`.
            Form::List if matches!(language, Language::Perl | Language::Ruby) && is_one_text(values) => {
                self.run_text(&values[0].text(), name);
                return true;
            }
            Form::List => list(values, 0),
            Form::ListWithName => list(values, 1),
            Form::ListBehindMode => list(values.get(1..).unwrap_or_default(), 1),
            Form::Arguments => {
                let usual =
                    !matches!(language, Language::JavaScript | Language::Python | Language::Php | Language::Octave);
                let decided =
                    values.len() > 1 && values.iter().skip(1).all(|value| matches!(value, CodeValue::Text(_)));
                (usual && decided).then(|| all().collect())
            }
            Form::Words => {
                let is_one = values.len() == 1;
                (!is_one).then(|| all().collect())
            }
            Form::ArgumentsWithName => Some(all().take(1).chain(all().skip(2)).collect()),
            Form::ArgumentsBehindMode => {
                let words = all().skip(1).take(1).chain(all().skip(3));
                Some(words.collect())
            }
            Form::Behind(count) => Some(program_and_rest(values, count)),
            Form::ProgramAndText => {
                let text = super::values::joined(all(), " ");
                self.run_text(&text, name);
                return true;
            }
            Form::Map => of_map(values),
            Form::TextOfSubprocess if !name.contains("subprocess") && !calls::is_sure(name, language) => None,
            Form::Text | Form::TextOfSubprocess => {
                if let Some(first) = values.first() {
                    self.run_text(&first.text(), name);
                }
                return true;
            }
        };
        // A single word is text for a shell as well: `sh("rm -rf /")`.
        if let (Form::Words, None, Some(first)) = (form, &words, values.first()) {
            self.run_text(&first.text(), name);
            return true;
        }

        let runs = words.is_some();
        if let Some(words) = words {
            if words.first().is_some_and(|program| program.0.is_empty()) {
                return true;
            }
            self.run_words(words, name);
        }
        runs
    }

    fn run_text(&mut self, text: &Text, name: &str) {
        match self.input.clone() {
            Some(input) => self.with_input(&input, |scan| scan.run_text(text, name)),
            None => self.scan.run_text(text, name),
        }
    }

    fn run_words(&mut self, words: Vec<Text>, name: &str) {
        match self.input.clone() {
            Some(input) => self.with_input(&input, |scan| scan.run_words(words, name)),
            None => self.scan.run_words(words, name),
        }
    }

    fn with_input(&mut self, input: &Rc<Flow>, what: impl FnOnce(&mut Scan<'_, '_>)) {
        self.scan.fed(input, what);
    }
}

fn is_one_text(values: &[CodeValue]) -> bool {
    matches!(values, [CodeValue::List(items)] if items.len() == 1 && items[0].text().known_start().contains(' '))
}

/// `call-process program … arguments`, `start-process name buffer program arguments`.
fn program_and_rest(values: &[CodeValue], count: usize) -> Vec<Text> {
    let all: Vec<Text> = values.iter().map(CodeValue::text).collect();
    if count == 3 {
        return all.into_iter().skip(2).collect();
    }
    all.iter().take(1).chain(all.iter().skip(count)).cloned().collect()
}

/// The words of `run(["rm", "-rf", "/"])`, and of `spawn("rm", ["-rf", "/"])` without the first of the list's words.
fn list(values: &[CodeValue], without: usize) -> Option<Vec<Text>> {
    match (values.first()?, values.get(1)) {
        (CodeValue::List(items), _) if !items.is_empty() => Some(items.iter().map(CodeValue::text).collect()),
        (CodeValue::Text(program), Some(CodeValue::List(items)))
            if !(items.is_empty() && program.known_start().contains(' ')) =>
        {
            Some(std::iter::once(program.clone()).chain(items.iter().skip(without).map(CodeValue::text)).collect())
        }
        _ => None,
    }
}

/// `Deno.run({cmd: […]})`, `new Deno.Command("rm", {args: […]})`, `spawn({file: "rm", args: […]})`.
fn of_map(values: &[CodeValue]) -> Option<Vec<Text>> {
    let (program, map) = match values {
        [map @ CodeValue::Map(_), ..] => {
            (["file", "program", "command", "path"].iter().find_map(|key| map.at_key(key)), map)
        }
        [program @ CodeValue::Text(_), map @ CodeValue::Map(_), ..] => (Some(program), map),
        _ => return None,
    };
    if let Some(CodeValue::List(words)) = map.at_key("cmd") {
        return Some(words.iter().map(CodeValue::text).collect());
    }
    let arguments = map.at_key("args")?;
    let mut words: Vec<Text> = arguments.items().iter().map(CodeValue::text).collect();
    let program = program?.text();
    // Some lists begin with the name that the program sees.
    let name = program.as_known().and_then(|known| known.rsplit('/').next().map(str::to_owned));
    if name.is_some_and(|name| words.first().is_some_and(|first| first.is(&name))) {
        words.remove(0);
    }
    words.insert(0, program);
    Some(words)
}

fn evaluate(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>, code: Option<&CodeValue>) {
    let Some(code) = code.or_else(|| call.named("text")).or_else(|| call.named("source")) else { return };
    for choice in code.choices() {
        let text = choice.text();
        match text.as_known() {
            Some(known) => scan.run_code(known),
            None if choice.is_unknown()
                && calls::is_sure(call.name, scan.language)
                && !matches!(choice, CodeValue::Method(..)) =>
            {
                scan.undecided(&text);
            }
            None => {}
        }
    }
}

/// `send(:system, …)`, `Thread(target=os.system, args=…)`, `map(os.system, …)`, `list.each(…)`: a function that is given
/// away runs, with what is given along.
fn call_given(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    let is_function = |value: &CodeValue| match value {
        CodeValue::Function(_) => true,
        CodeValue::Named(name) => {
            calls::rows_of(name, Language::Python).any(|row| !matches!(row.does, CallDoes::CallNamed | CallDoes::Feed))
        }
        _ => false,
    };
    if let Some(target) = call.named("target").or_else(|| call.named("function")).cloned() {
        let given = call.named("args").map(CodeValue::items).unwrap_or_default();
        let arguments: Vec<Argument> = given.into_iter().map(|value| Argument { key: None, value }).collect();
        scan.call_value(&target, &arguments);
        return;
    }
    // Where the function is given by its name, as in PHP and Ruby.
    let named = |value: &CodeValue| {
        value
            .as_known()
            .filter(|name| !name.is_empty() && name.chars().all(|sign| sign.is_alphanumeric() || sign == '_'))
    };
    let is_by_name = matches!(scan.language, Language::Php | Language::Ruby);
    let last = calls::last_part(call.name);
    let at = call.values.iter().position(is_function);
    let at = at.or_else(|| {
        call.values.iter().position(|value| is_by_name && named(value).is_some_and(|name| calls::is_named(&name)))
    });
    let Some(at) = at else { return };
    let function = match named(&call.values[at]) {
        Some(name) => CodeValue::Named(name),
        None => call.values[at].clone(),
    };
    let others: Vec<&CodeValue> =
        call.values.iter().enumerate().filter(|(own, _)| *own != at).map(|(_, value)| value).collect();
    let one_by_one = matches!(
        last,
        "map"
            | "imap"
            | "starmap"
            | "array_map"
            | "array_walk"
            | "forEach"
            | "each"
            | "filter"
            | "for_each"
            | "foreach"
            | "lapply"
            | "sapply"
            | "then"
            | "tap"
    );
    if one_by_one {
        for list in others {
            let items: Vec<CodeValue> = match list {
                CodeValue::List(items) => items.iter().take(16).cloned().collect(),
                other => vec![other.clone()],
            };
            for item in items {
                scan.call_back(&function, item);
            }
        }
        return;
    }
    let behind = call.values.get(at + 1..).unwrap_or_default();
    let arguments: Vec<Argument> = behind
        .iter()
        .flat_map(|value| if last == "call_user_func_array" { value.items() } else { vec![value.clone()] })
        .map(|value| Argument { key: None, value })
        .collect();
    scan.call_value(&function, &arguments);
}

/// What code writes to a shell that it has started is run.
fn feed(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    if !scan.feeds_shell {
        return;
    }
    for value in &call.values {
        if let Some(text) = value.as_known().filter(|text| chiton_shell::parse(text.as_bytes()).is_ok()) {
            scan.run_text(&Text::known(text), "system");
        }
    }
}

fn kill(scan: &mut Scan<'_, '_>, call: &CodeCall<'_>) {
    // Ruby and Perl name the signal first.
    let process_first = !matches!(scan.language, Language::Ruby | Language::Perl);
    let texts: Vec<Text> = call.values.iter().map(CodeValue::text).collect();
    let ends_all =
        texts.iter().any(|text| text.is("-1")) || process_first && texts.first().is_some_and(|text| text.is("1"));
    if ends_all {
        let reason = "This code would end all processes, or process 1.";
        scan.machine.state(Kind::KillAll, reason, scan.span, None);
    }

    let is_parent = |name: &str| name.contains("ppid");
    let names_parent = scan.code.tokens.iter().filter_map(super::lexer::Token::as_name).any(is_parent);
    if names_parent {
        let reason = "This code would end the server that runs it.";
        scan.machine.state(Kind::KillOwn, reason, scan.span, None);
    }
}
