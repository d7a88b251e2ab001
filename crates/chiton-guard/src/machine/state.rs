//! The state of the shell while the machine walks through a command, as far as it is known.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use crate::context::{Context, Held, Input};
use crate::machine::plumbing::Opened;
use crate::value::{Flow, Labels, Text, What};
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

/// Something that worlds share until one of them changes it. Most of it stays empty, which costs nothing.
#[derive(Debug)]
pub(crate) struct Shared<T>(Option<Rc<T>>);

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Clone + Default> Shared<T> {
    /// What it holds, to be changed for this world alone.
    pub(crate) fn change(&mut self) -> &mut T {
        Rc::make_mut(self.0.get_or_insert_default())
    }
}

impl<T: Empty> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(two)) if Rc::ptr_eq(one, two) => true,
            _ => **self == **other,
        }
    }
}

/// What can be empty.
pub(crate) trait Empty: 'static {
    const EMPTY: &'static Self;
}

impl<K: 'static, V: 'static> Empty for BTreeMap<K, V> {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: 'static> Empty for BTreeSet<T> {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: 'static> Empty for Vec<T> {
    const EMPTY: &'static Self = &Self::new();
}

/// What `declare` says of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Attributes(u8);

impl Attributes {
    /// `-i`: what is assigned is calculated.
    pub(crate) const INTEGER: Self = Self(1);
    /// `-l`.
    pub(crate) const LOWER: Self = Self(2);
    /// `-u`.
    pub(crate) const UPPER: Self = Self(4);
    /// `-A`: subscripts are text.
    pub(crate) const ASSOCIATIVE: Self = Self(8);
    /// `-x`: shells that this one starts have it too.
    pub(crate) const EXPORTED: Self = Self(16);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Names of the session that were looked up, by all worlds of one verdict.
pub(crate) type LookedUp = Rc<RefCell<BTreeSet<String>>>;

/// The variables of the function around one that is called.
pub(crate) struct Locals(Option<Rc<Vec<Local>>>);

/// A variable of a function, and what it held before.
type Local = (Rc<str>, Option<Rc<Value>>);

/// One way things may stand at a point of the command.
#[derive(Clone, Debug)]
pub(crate) struct World {
    variables: Rc<BTreeMap<Rc<str>, Rc<Value>>>,
    attributes: Shared<BTreeMap<Rc<str>, Attributes>>,
    looked_up: LookedUp,
    /// Standard input.
    pub(crate) input: Rc<Flow>,
    /// Open descriptors from 3 on; 1 and 2 only where `exec` pointed them elsewhere.
    pub(crate) descriptors: Shared<BTreeMap<u32, Opened>>,
    /// Variables that belong to the function that runs, and what they held before it; none outside of functions.
    locals: Option<Rc<Vec<Local>>>,
    /// Functions of the session that were removed.
    removed_functions: Shared<BTreeSet<String>>,
    /// Functions that shells which this one starts have too.
    pub(crate) exported_functions: Shared<BTreeSet<String>>,
    /// Whether the shell ends where a command fails: `set -e`.
    pub(crate) ends_on_failure: bool,
    /// The directory it would still be in if the last change of it had failed.
    pub(crate) otherwise_at: Option<String>,
    /// The working directory; none if it is not known.
    pub(crate) cwd: Option<String>,
    pub(crate) previous: Option<String>,
    pub(crate) stack: Shared<Vec<Option<String>>>,
    functions: Rc<BTreeMap<String, Arc<Command>>>,
    pub(crate) aliases: Shared<BTreeMap<String, Rc<str>>>,
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
            (&a.cwd, &a.previous, &a.positional, a.ended, a.stayed, a.ends_on_failure, &a.otherwise_at)
                == (&b.cwd, &b.previous, &b.positional, b.ended, b.stayed, b.ends_on_failure, &b.otherwise_at)
        };
        same(self, other)
            && (Rc::ptr_eq(&self.variables, &other.variables) || self.variables == other.variables)
            && (Rc::ptr_eq(&self.input, &other.input) || self.input == other.input)
            && self.descriptors == other.descriptors
            && self.attributes == other.attributes
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
            attributes: Shared::default(),
            looked_up: Rc::default(),
            input: Rc::new(Flow::empty()),
            descriptors: Shared::default(),
            locals: None,
            removed_functions: Shared::default(),
            exported_functions: Shared::default(),
            ends_on_failure: false,
            otherwise_at: None,
            cwd,
            previous: None,
            stack: Shared::default(),
            functions: Rc::default(),
            aliases: Shared::default(),
            positional: context.knows_all_variables().then(Rc::default),
            script: None,
            ended: false,
            stayed: false,
        }
    }

    /// The world in which the command of `context` starts. What it looks up is noted in `looked_up`.
    pub(crate) fn first(context: &Context, looked_up: LookedUp) -> Self {
        let input = match &context.input {
            Input::Nothing => Flow::empty(),
            Input::Text(text) => Flow::known(&**text),
            Input::Later => Flow::labelled(Labels::LATER),
        };
        Self { input: Rc::new(input), looked_up, ..Self::new(context) }
    }

    /// What `name` holds, references followed.
    pub(crate) fn get(&self, name: &str, context: &Context) -> Value {
        let mut name = name;
        for _ in 0..8 {
            match self.variables.get(name).map(Rc::as_ref) {
                Some(Value::Reference(other)) => name = other,
                Some(value) => return value.clone(),
                None => return self.outer(name, context),
            }
        }
        Value::Scalar(Text::variable(name))
    }

    /// The array and the subscript that `name` refers to, where `declare -n` made it stand for an element.
    pub(crate) fn element_behind(&self, name: &str) -> Option<(String, String)> {
        let mut name = name;
        for _ in 0..8 {
            let Some(Value::Reference(other)) = self.variables.get(name).map(Rc::as_ref) else { return None };
            if let Some((array, subscript)) = other.split_once('[') {
                return Some((array.to_owned(), subscript.strip_suffix(']').unwrap_or(subscript).to_owned()));
            }
            name = other;
        }
        None
    }

    /// What `declare` said of `name`.
    pub(crate) fn attributes(&self, name: &str) -> Attributes {
        if self.attributes.is_empty() {
            return Attributes::default();
        }
        self.attributes.get(name).copied().unwrap_or_default()
    }

    pub(crate) fn declare(&mut self, name: &str, attributes: Attributes) {
        if self.attributes(name) != attributes {
            self.attributes.change().insert(name.into(), attributes);
        }
    }

    /// Variables that the command has set and that a new shell does not get.
    pub(crate) fn unexported<'w>(&'w self, context: &'w Context) -> impl Iterator<Item = &'w str> {
        // Every session has these, and what is assigned to them goes on to new shells.
        const USUAL: [&str; 16] = [
            "HOME", "PATH", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "LANG", "LC_ALL", "TERM", "TMPDIR", "EDITOR",
            "PAGER", "SHLVL", "HOSTNAME", "XDG_CONFIG_HOME",
        ];
        let kept = |name: &str| {
            self.attributes(name).has(Attributes::EXPORTED) || USUAL.contains(&name) || context.variable(name).is_some()
        };
        self.variables.keys().map(Rc::as_ref).filter(move |name| !kept(name) && !name.starts_with("__unknown_"))
    }

    /// Takes away functions and aliases that a new shell does not get.
    pub(crate) fn forget_what_is_not_exported(&mut self) {
        if !self.aliases.is_empty() {
            self.aliases = Shared::default();
        }
        if self.functions.keys().any(|name| !self.exported_functions.contains(name)) {
            let exported = self.exported_functions.clone();
            Rc::make_mut(&mut self.functions).retain(|name, _| exported.contains(name));
        }
    }

    /// How many variables the command has set.
    pub(crate) fn count_of_variables(&self) -> usize {
        self.variables.len()
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
            // The last word of the command before.
            "_" => return Value::Scalar(Text::variable(name)),
            "PPID" => return Value::Scalar(Text::unknown(What::Parent, true)),
            "RANDOM" | "SRANDOM" | "SECONDS" | "EPOCHSECONDS" | "EPOCHREALTIME" | "UID" | "EUID" | "BASHPID"
            | "LINENO" | "HOSTNAME" | "BASH_VERSION" | "OSTYPE" | "HOSTTYPE" | "MACHTYPE" | "COLUMNS" | "LINES"
            | "SHLVL" | "OPTIND" | "BASH_SUBSHELL" => return Value::Scalar(Text::unknown(What::Plain, true)),
            _ => {}
        }
        if context.scope.is_some() && !self.looked_up.borrow().contains(name) {
            self.looked_up.borrow_mut().insert(name.to_owned());
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
        let mut name: Rc<str> = name.into();
        for _ in 0..8 {
            match self.variables.get(&name).map(Rc::as_ref) {
                Some(Value::Reference(other)) if !matches!(value, Value::Reference(_)) => name = other.as_str().into(),
                _ => break,
            }
        }
        Rc::make_mut(&mut self.variables).insert(name, Rc::new(value));
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
        self.removed_functions.change().insert(name.to_owned());
    }

    /// Whether a function of the session was removed.
    pub(crate) fn has_removed_function(&self, name: &str) -> bool {
        self.removed_functions.contains(name)
    }

    /// Begins a function: what it declares is its own. Gives what [`World::leave_function`] needs.
    pub(crate) fn enter_function(&mut self) -> Locals {
        Locals(self.locals.replace(Rc::default()))
    }

    /// Ends a function.
    pub(crate) fn leave_function(&mut self, outer: &Locals) {
        for (name, before) in self.locals.take().iter().flat_map(|locals| locals.iter().rev()) {
            let variables = Rc::make_mut(&mut self.variables);
            match before {
                Some(value) => variables.insert(Rc::clone(name), Rc::clone(value)),
                None => variables.remove(name),
            };
        }
        self.locals.clone_from(&outer.0);
    }

    /// Makes a variable one of the function that runs.
    pub(crate) fn localise(&mut self, name: &str) {
        let before = self.variables.get(name).cloned();
        let Some(locals) = &mut self.locals else { return };
        if locals.iter().all(|(known, _)| **known != *name) {
            Rc::make_mut(locals).push((name.into(), before));
        }
    }

    pub(crate) fn enter(&mut self, directory: Option<String>) {
        self.previous = self.cwd.take();
        self.cwd = directory;
        for name in ["PWD", "OLDPWD"] {
            if self.variables.contains_key(name) {
                Rc::make_mut(&mut self.variables).remove(name);
            }
        }
    }

    /// What holds in a shell that reads something else.
    #[must_use]
    pub(crate) fn reading(mut self, input: &Rc<Flow>) -> Self {
        self.input = Rc::clone(input);
        self
    }

    /// Whether `other` holds all that this holds, and more.
    pub(crate) fn says_less_than(&self, other: &Self) -> bool {
        self.cwd == other.cwd
            && !other.ended
            && self.positional == other.positional
            && self.input == other.input
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
                variables.insert(name.clone(), Rc::new(Value::Scalar(Text::variable(name))));
            }
        }
        for (name, value) in &mut variables {
            if !other.variables.contains_key(name) {
                *value = Rc::new(Value::Scalar(Text::variable(name)));
            }
        }
        if self.input != other.input {
            self.input = Rc::new((*self.input).clone().or(&other.input));
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

    /// The ways on which directories could be entered, unless there is none. They remember where they would be
    /// otherwise.
    #[must_use]
    pub(crate) fn having_moved(mut self) -> Self {
        let stayed = self.0.iter().find(|world| world.stayed && !world.ends_on_failure);
        let stayed = stayed.and_then(|world| world.otherwise_at.clone().or_else(|| world.cwd.clone()));
        if self.0.iter().any(|world| !world.stayed) {
            self.0.retain(|world| !world.stayed);
            for world in self.0.iter_mut().filter(|_| stayed.is_some()) {
                world.otherwise_at.clone_from(&stayed);
            }
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
