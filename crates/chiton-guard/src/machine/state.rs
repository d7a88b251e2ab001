//! The state of the shell while the machine walks through a command, as far as it is known.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::context::{Context, Held};
use crate::value::{Text, What};
use chiton_shell::tree::Command;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Unset,
    Scalar(Text),
    /// By key; indexed arrays have numbers as keys.
    Array(Vec<(String, Text)>),
    /// Another variable.
    Reference(String),
}

/// One way things may stand at a point of the command.
#[derive(Clone, Debug)]
pub(crate) struct World {
    variables: Rc<BTreeMap<String, Value>>,
    /// The working directory; none if it is not known.
    pub(crate) cwd: Option<String>,
    pub(crate) previous: Option<String>,
    pub(crate) stack: Rc<Vec<Option<String>>>,
    functions: Rc<BTreeMap<String, Arc<Command>>>,
    pub(crate) aliases: Rc<BTreeMap<String, String>>,
    /// `$1` and so on; none if they are not known.
    pub(crate) positional: Option<Rc<Vec<Text>>>,
    /// `$0`.
    pub(crate) script: Option<String>,
    /// Whether the shell has ended on this way: what follows is reached in other worlds.
    pub(crate) ended: bool,
    /// Whether this is the way on which changing the directory failed.
    pub(crate) stayed: bool,
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &Self, b: &Self| {
            (&a.cwd, &a.previous, &a.positional, a.ended, a.stayed)
                == (&b.cwd, &b.previous, &b.positional, b.ended, b.stayed)
        };
        same(self, other)
            && (Rc::ptr_eq(&self.variables, &other.variables) || self.variables == other.variables)
            && self.stack == other.stack
            && self.aliases == other.aliases
            && (Rc::ptr_eq(&self.functions, &other.functions)
                || self.functions.len() == other.functions.len()
                    && self
                        .functions
                        .iter()
                        .zip(other.functions.iter())
                        .all(|(a, b)| a.0 == b.0 && Arc::ptr_eq(a.1, b.1)))
    }
}

impl World {
    pub(crate) fn new(context: &Context) -> Self {
        let cwd = crate::value::path::absolute(&context.cwd.to_string_lossy(), None);
        Self {
            variables: Rc::default(),
            cwd,
            previous: None,
            stack: Rc::default(),
            functions: Rc::default(),
            aliases: Rc::default(),
            positional: context.knows_all_variables().then(Rc::default),
            script: None,
            ended: false,
            stayed: false,
        }
    }

    /// What `name` holds, references followed.
    pub(crate) fn get(&self, name: &str, context: &Context) -> Value {
        let mut name = name;
        for _ in 0..8 {
            match self.variables.get(name) {
                Some(Value::Reference(other)) => name = other,
                Some(value) => return value.clone(),
                None => return self.outer(name, context),
            }
        }
        Value::Scalar(Text::variable(name))
    }

    /// Whether the command itself has set `name`.
    pub(crate) fn has_set(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    fn outer(&self, name: &str, context: &Context) -> Value {
        let directory = |path: &Option<String>| match path {
            Some(path) => Value::Scalar(Text::known(path.clone())),
            None => Value::Scalar(Text::variable(name)),
        };
        match name {
            "PWD" => return directory(&self.cwd),
            "OLDPWD" if self.previous.is_some() => return directory(&self.previous),
            "PPID" => return Value::Scalar(Text::unknown(What::Parent, true)),
            "RANDOM" | "SRANDOM" | "SECONDS" | "EPOCHSECONDS" | "EPOCHREALTIME" | "UID" | "EUID" | "BASHPID"
            | "LINENO" | "HOSTNAME" | "BASH_VERSION" | "OSTYPE" | "HOSTTYPE" | "MACHTYPE" | "COLUMNS" | "LINES"
            | "SHLVL" | "OPTIND" | "BASH_SUBSHELL" => return Value::Scalar(Text::unknown(What::Plain, true)),
            _ => {}
        }
        if let Some(variable) = context.variable(name) {
            return match variable {
                Held::Unset => Value::Unset,
                Held::Scalar(value) => Value::Scalar(Text::known(value)),
                Held::Reference(other) => Value::Reference(other.into_owned()),
                Held::Array(items) => {
                    Value::Array(items.into_iter().map(|(key, value)| (key, Text::known(value))).collect())
                }
            };
        }
        match name {
            "HOME" => Value::Scalar(Text::known(context.home.to_string_lossy())),
            "USER" | "LOGNAME" => Value::Scalar(Text::known(context.user.clone())),
            "SHELL" | "BASH" => Value::Scalar(Text::known("/bin/bash")),
            "PATH" => Value::Scalar(Text::known("/usr/local/bin:/usr/bin:/bin")),
            "IFS" => Value::Scalar(Text::known(" \t\n")),
            _ if context.knows_all_variables() => Value::Unset,
            _ => Value::Scalar(Text::variable(name)),
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        let mut name = name.to_owned();
        for _ in 0..8 {
            match self.variables.get(&name) {
                Some(Value::Reference(other)) if !matches!(value, Value::Reference(_)) => name.clone_from(other),
                _ => break,
            }
        }
        Rc::make_mut(&mut self.variables).insert(name, value);
    }

    pub(crate) fn set_text(&mut self, name: &str, text: Text) {
        self.set(name, Value::Scalar(text));
    }

    pub(crate) fn function(&self, name: &str) -> Option<Arc<Command>> {
        self.functions.get(name).cloned()
    }

    pub(crate) fn define(&mut self, name: &str, body: Arc<Command>) {
        Rc::make_mut(&mut self.functions).insert(name.to_owned(), body);
    }

    pub(crate) fn undefine(&mut self, name: &str) {
        Rc::make_mut(&mut self.functions).remove(name);
    }

    pub(crate) fn enter(&mut self, directory: Option<String>) {
        self.previous = self.cwd.take();
        self.cwd = directory;
    }

    /// Whether `other` holds all that this holds, and more.
    pub(crate) fn says_less_than(&self, other: &Self) -> bool {
        self.cwd == other.cwd
            && !other.ended
            && self.positional == other.positional
            && self.variables.iter().all(|(name, value)| other.variables.get(name) == Some(value))
            && self.functions.keys().all(|name| other.functions.contains_key(name))
    }

    /// What holds in both: where they differ, nobody knows.
    #[must_use]
    pub(crate) fn blurred_with(mut self, other: &Self) -> Self {
        if self.cwd != other.cwd {
            self.cwd = None;
        }
        if self.positional != other.positional {
            self.positional = None;
        }
        let mut variables = (*self.variables).clone();
        for (name, value) in other.variables.iter() {
            if variables.get(name) != Some(value) {
                variables.insert(name.clone(), Value::Scalar(Text::variable(name)));
            }
        }
        for (name, value) in &mut variables {
            if !other.variables.contains_key(name) {
                *value = Value::Scalar(Text::variable(name));
            }
        }
        self.variables = Rc::new(variables);
        for (name, body) in other.functions.iter() {
            if !self.functions.contains_key(name) {
                self.define(name, Arc::clone(body));
            }
        }
        self
    }
}

/// At most this many ways are followed; beyond, what differs between them is taken as unknown.
const MOST_WORLDS: usize = 8;

/// Ways that things may stand, without repetition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worlds(pub(crate) Vec<World>);

impl Worlds {
    pub(crate) fn one(world: World) -> Self {
        Self(vec![world])
    }

    pub(crate) fn add(&mut self, world: World) {
        if self.0.contains(&world) {
            return;
        }
        if self.0.len() < MOST_WORLDS {
            self.0.push(world);
        } else if let Some(last) = self.0.pop() {
            self.0.push(last.blurred_with(&world));
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for world in other.0 {
            self.add(world);
        }
    }

    /// The ways on which the shell goes on. If it goes on nowhere, the machine judges what follows all the same.
    #[must_use]
    pub(crate) fn going_on(mut self) -> Self {
        if self.0.iter().any(|world| !world.ended) {
            self.0.retain(|world| !world.ended);
        }
        for world in &mut self.0 {
            world.ended = false;
        }
        self
    }

    /// The ways on which directories could be entered, unless there is none.
    #[must_use]
    pub(crate) fn having_moved(mut self) -> Self {
        if self.0.iter().any(|world| !world.stayed) {
            self.0.retain(|world| !world.stayed);
        }
        self.settled()
    }

    #[must_use]
    pub(crate) fn settled(self) -> Self {
        let mut all = Self::default();
        for mut world in self.0 {
            world.stayed = false;
            all.add(world);
        }
        all
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
