//! Programs that find files and run others on them: `find`, `fd`, `xargs`.

use super::row::Program;
use crate::effect::{Certainty, Depth, Effect, Writing};
use std::rc::Rc;

use crate::machine::command::Call;
use crate::machine::glob;
use crate::machine::path::{self, Extent, Target};
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Piece, Text, What};
use crate::machine::{Machine, Ran};
use crate::programs::options::{Grammar, Options};

/// Tests of `find` that narrow down what is found.
const NARROWING: [&str; 30] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-newermt",
    "-size",
    "-empty",
    "-user",
    "-group",
    "-perm",
    "-uid",
    "-gid",
    "-inum",
    "-lname",
    "-samefile",
    "-links",
    "-nouser",
    "-nogroup",
    "-executable",
    "-fstype",
];

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    pub(crate) fn find(&mut self, call: &Call, world: World) -> Ran {
        let args = &call.args;
        let mut at = 0;
        while at < args.len() && ["-H", "-L", "-P"].iter().any(|option| args[at].text.is(option)) {
            at += 1;
        }
        let starts_expression = |arg: &Arg| {
            let start = arg.text.known_start();
            start.starts_with('-') && start.len() > 1 || matches!(start.as_str(), "(" | "!" | ",")
        };
        let mut roots: Vec<Arg> = Vec::new();
        while at < args.len() && !starts_expression(&args[at]) {
            roots.push(args[at].clone());
            at += 1;
        }
        if roots.is_empty() {
            roots.push(Arg::known(".", call.span));
        }
        let expression = &args[at..];
        let narrowed = is_narrowed(expression);
        let found = found(&roots, &world, !narrowed);
        let mut rest = expression.iter().enumerate();
        while let Some((index, arg)) = rest.next() {
            let Some(word) = arg.text.as_known() else { continue };
            match word.as_str() {
                "-delete" => self.find_deletes(&roots, narrowed, &world, arg),
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let words: Vec<Arg> = expression[index + 1..]
                        .iter()
                        .take_while(|arg| !arg.text.is(";") && !arg.text.is("+"))
                        .cloned()
                        .collect();
                    for _ in 0..words.len() {
                        rest.next();
                    }
                    self.run_on(&words, "{}", &found, &world, call);
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = expression.get(index + 1) {
                        self.writes("This would write to", &file.text, Writing::Replaces, &world, file.span);
                    }
                }
                _ => {}
            }
        }
        Ran::same(world, flow_of(&found))
    }

    fn find_deletes(&mut self, roots: &[Arg], narrowed: bool, world: &World, at: &Arg) {
        for root in roots {
            let depth = if narrowed { Depth::SomeBelow } else { Depth::Contents };
            let doing = "`find -delete` would delete what it finds below";
            let effect = Effect::Delete { what: &root.text, depth, certainty: Certainty::Would, doing };
            self.does(effect, world, at.span);
        }
    }

    /// Runs `words` once for `item`, which takes the place of `mark`.
    fn run_on(&mut self, words: &[Arg], mark: &str, item: &Text, world: &World, call: &Call) -> Ran {
        let args: Vec<Arg> = words.iter().map(|arg| Arg::new(substitute(&arg.text, mark, item).0, arg.span)).collect();
        self.run_words(call, args, world.clone())
    }

    pub(crate) fn fd(&mut self, call: &Call, world: World) -> Ran {
        let grammar = Grammar {
            short: "edEtSoxXcj",
            long: &[
                "extension",
                "max-depth",
                "min-depth",
                "exclude",
                "type",
                "size",
                "owner",
                "exec",
                "exec-batch",
                "base-directory",
                "threads",
                "changed-within",
                "changed-before",
            ],
            ..Grammar::default()
        };
        let at = call
            .args
            .iter()
            .position(|arg| ["-x", "--exec", "-X", "--exec-batch"].iter().any(|option| arg.text.is(option)));
        let before = &call.args[..at.unwrap_or(call.args.len())];
        let options = Options::read(before, &grammar);
        let roots: Vec<Arg> = options.operands.iter().skip(1).cloned().collect();
        let roots = if roots.is_empty() { vec![Arg::known(".", call.span)] } else { roots };
        let found = found(&roots, &world, false);
        if let Some(at) = at {
            let words: Vec<Arg> = call.args[at + 1..].iter().take_while(|arg| !arg.text.is(";")).cloned().collect();
            let marked = words.iter().any(|arg| arg.text.display().contains('{'));
            let mut words: Vec<Arg> =
                words.iter().map(|arg| Arg::new(substitute(&arg.text, "{}", &found).0, arg.span)).collect();
            if !marked {
                words.push(Arg::new(found.clone(), call.span));
            }
            self.run_words(call, words, world.clone());
        }
        Ran::same(world, flow_of(&found))
    }

    pub(crate) fn xargs(&mut self, call: &Call, world: World) -> Ran {
        let grammar = Grammar {
            short: "aEdILnPs",
            attached: "eil",
            long: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
            flags: &[
                "null",
                "no-run-if-empty",
                "interactive",
                "verbose",
                "exit",
                "open-tty",
                "replace",
                "max-lines",
                "eof",
            ],
            stops: true,
            single_dash: false,
        };
        let options = Options::read(&call.args, &grammar);
        let input = match options.value(&["a", "arg-file"]) {
            Some(file) => Rc::new(self.read(&file.text.clone(), &world)),
            None => Rc::clone(&call.input),
        };
        let mut mark = options.value(&["I", "replace", "i"]).and_then(|arg| arg.text.as_known());
        if mark.is_none() && options.has(&["i", "replace"]) {
            mark = Some("{}".to_owned());
        }
        let items: Vec<Text> = match &input.text {
            Some(text) if options.has(&["0", "null"]) => {
                text.split('\0').filter(|item| !item.is_empty()).map(Text::known).collect()
            }
            Some(text) if mark.is_some() || options.has(&["d", "delimiter"]) => {
                text.lines().map(|line| Text::known(line.trim())).collect()
            }
            Some(text) => text.split_whitespace().map(Text::known).collect(),
            None => vec![Text::of_flow(&input)],
        };
        let words =
            if options.operands.is_empty() { vec![Arg::known("echo", call.span)] } else { options.operands.clone() };
        let mut ran = Ran::same(world.clone(), Flow::unknown());
        if let Some(mark) = mark {
            for item in items.iter().take(32) {
                ran = self.run_on(&words, &mark, item, &world, call);
            }
        } else {
            let mut args = words;
            let span = args.first().map_or(call.span, |arg| arg.span);
            args.extend(items.into_iter().take(256).map(|item| Arg::new(item, span)));
            ran = self.run_words(call, args, world.clone());
        }
        Ran::same(world, ran.flow)
    }
}

/// Whether tests choose among what is found; a name that matches everything chooses nothing.
fn is_narrowed(expression: &[Arg]) -> bool {
    expression.iter().enumerate().any(|(at, arg)| {
        let sweeping = ["-name", "-iname"].iter().any(|test| arg.text.is(test))
            && expression
                .get(at + 1)
                .and_then(|next| next.text.as_known())
                .is_some_and(|name| glob::is_sweeping(&name));
        NARROWING.iter().any(|test| arg.text.is(test)) && !sweeping
    })
}

/// `text` with `item` in the place of each `mark`; and whether there was one.
pub(crate) fn substitute(text: &Text, mark: &str, item: &Text) -> (Text, bool) {
    let mut filled = Text::default();
    let mut hit = false;
    for piece in &text.0 {
        let Piece::Known(known) = piece else {
            filled.push(piece.clone());
            continue;
        };
        let mut rest = known.as_str();
        while let Some(at) = rest.find(mark).filter(|_| !mark.is_empty()) {
            filled.push(Piece::Known(rest[..at].to_owned()));
            filled.append(item);
            rest = &rest[at + mark.len()..];
            hit = true;
        }
        filled.push(Piece::Known(rest.to_owned()));
    }
    (filled, hit)
}

fn flow_of(found: &Text) -> Flow {
    match found.0.first() {
        Some(Piece::Unknown(unknown)) => match &unknown.what {
            What::Found(roots) => Flow { text: None, labels: Labels::default(), roots: roots.to_vec() },
            What::Temporary => Flow::labelled(Labels::TEMPORARY),
            _ => Flow::unknown(),
        },
        _ => Flow::unknown(),
    }
}

/// What a search below `roots` finds; `whole` if it leaves nothing out, which is written `root/*`.
pub(crate) fn found(roots: &[Arg], world: &World, whole: bool) -> Text {
    let mut places = Vec::new();
    for root in roots {
        for target in path::targets(&root.text, world.cwd.as_deref()) {
            match target {
                Target::At { path, extent, .. } => {
                    let fixed: Vec<&str> = path
                        .split('/')
                        .take_while(|part| extent == Extent::Itself || !path::is_pattern(part))
                        .collect();
                    let path = fixed.join("/");
                    let all = whole && extent != Extent::Within;
                    places.push(match (all, path.is_empty()) {
                        (true, _) => format!("{path}/*"),
                        (false, true) => "/".to_owned(),
                        (false, false) => path,
                    });
                }
                Target::Somewhere => return Text::unknown(What::Temporary, true),
                Target::Anything => return Text::unknown(What::Variable("found".to_owned()), true),
            }
        }
    }
    Text::unknown(What::Found(Rc::new(places)), true)
}
