//! Options of programs, read by their grammar.

use crate::value::Arg;

/// How a program reads its options.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grammar {
    /// Short options that take a value.
    pub(crate) short: &'static str,
    /// Short options whose value may only be attached.
    pub(crate) attached: &'static str,
    /// Long options that take a value.
    pub(crate) long: &'static [&'static str],
    /// Long options without a value that matter here, so that their abbreviations are understood.
    pub(crate) flags: &'static [&'static str],
    /// Whether the first operand ends the options.
    pub(crate) stops: bool,
    /// Whether long options begin with a single dash.
    pub(crate) single_dash: bool,
}

impl Grammar {
    /// No option takes a value, as far as is known.
    pub(crate) const PLAIN: Self =
        Self { short: "", attached: "", long: &[], flags: &[], stops: false, single_dash: false };
}

/// The options and operands of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    given: Vec<(String, Option<Arg>)>,
    pub(crate) operands: Vec<Arg>,
}

impl Options {
    /// Reads `args` by `grammar`.
    pub(crate) fn read(args: &[Arg], grammar: &Grammar) -> Self {
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let start = arg.text.known_start();
            if start == "--" && arg.text.is("--") {
                options.operands.extend(rest.cloned());
                break;
            }
            if start.starts_with("--") || (grammar.single_dash && start.starts_with('-') && start.len() > 2) {
                options.long(arg, &start, grammar, &mut rest);
            } else if start.starts_with('-') && start.len() > 1 {
                options.cluster(arg, &start, grammar, &mut rest);
            } else {
                options.operands.push(arg.clone());
                if grammar.stops {
                    options.operands.extend(rest.cloned());
                    break;
                }
            }
        }
        options
    }

    fn long<'a>(&mut self, arg: &Arg, start: &str, grammar: &Grammar, rest: &mut impl Iterator<Item = &'a Arg>) {
        let dashes = if start.starts_with("--") { 2 } else { 1 };
        let (name, value) = match start.find('=') {
            Some(equals) => (&start[dashes..equals], Some(Arg::new(arg.text.skip(equals + 1), arg.span))),
            None => (&start[dashes..], None),
        };
        let name = complete(name, grammar);
        let takes = grammar.long.contains(&name.as_str());
        let value = if value.is_none() && takes { rest.next().cloned() } else { value };
        self.given.push((name, value));
    }

    fn cluster<'a>(&mut self, arg: &Arg, start: &str, grammar: &Grammar, rest: &mut impl Iterator<Item = &'a Arg>) {
        let mut at = 1;
        for letter in start[1..].chars() {
            at += letter.len_utf8();
            if grammar.short.contains(letter) || grammar.attached.contains(letter) {
                let attached = arg.text.skip(at);
                let value = if !attached.is_empty() {
                    Some(Arg::new(attached, arg.span))
                } else if grammar.attached.contains(letter) {
                    None
                } else {
                    rest.next().cloned()
                };
                self.given.push((letter.to_string(), value));
                return;
            }
            self.given.push((letter.to_string(), None));
        }
    }

    /// Whether one of these options was given.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(given, _)| names.contains(&given.as_str()))
    }

    /// The last value of one of these options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<&Arg> {
        let given = |(name, _): &&(String, Option<Arg>)| names.contains(&name.as_str());
        self.given.iter().filter(given).filter_map(|(_, value)| value.as_ref()).next_back()
    }

    /// All values of these options.
    pub(crate) fn values<'a>(&'a self, names: &'a [&'a str]) -> impl Iterator<Item = &'a Arg> {
        self.given.iter().filter(|(given, _)| names.contains(&given.as_str())).filter_map(|(_, value)| value.as_ref())
    }

    /// All options by name.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.given.iter().map(|(name, _)| name.as_str())
    }
}

/// The option that `name` abbreviates, or `name` itself.
fn complete(name: &str, grammar: &Grammar) -> String {
    let all = || grammar.long.iter().chain(grammar.flags);
    if all().any(|option| *option == name) {
        return name.to_owned();
    }
    let mut candidates = all().filter(|option| option.starts_with(name));
    match candidates.next() {
        Some(only) if !name.is_empty() && !grammar.single_dash => (*only).to_owned(),
        _ => name.to_owned(),
    }
}
