//! The fields of a structured reply, and the JSON schema of an object that has them.

use serde_json::{Map, Value, json};

/// One field of a structured reply.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    name: &'static str,
    kind: FieldKind,
    presence: Presence,
}

#[derive(Clone, Copy, Debug)]
enum FieldKind {
    /// A type of JSON.
    Json(&'static str),
    Texts,
    Processes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Always,
    OrNull,
    OrAbsent,
}

impl Field {
    const fn new(name: &'static str, kind: FieldKind) -> Self {
        Self { name, kind, presence: Presence::Always }
    }

    /// A string.
    pub const fn text(name: &'static str) -> Self {
        Self::new(name, FieldKind::Json("string"))
    }

    /// A whole number.
    pub const fn integer(name: &'static str) -> Self {
        Self::new(name, FieldKind::Json("integer"))
    }

    /// Any number.
    pub const fn number(name: &'static str) -> Self {
        Self::new(name, FieldKind::Json("number"))
    }

    /// A truth value.
    pub const fn boolean(name: &'static str) -> Self {
        Self::new(name, FieldKind::Json("boolean"))
    }

    /// An object.
    pub const fn object(name: &'static str) -> Self {
        Self::new(name, FieldKind::Json("object"))
    }

    /// A list, whose items the caller describes.
    pub const fn list(name: &'static str) -> Self {
        Self::new(name, FieldKind::Json("array"))
    }

    /// A list of strings.
    pub const fn texts(name: &'static str) -> Self {
        Self::new(name, FieldKind::Texts)
    }

    /// A list of processes, each with its id and its command.
    pub const fn processes(name: &'static str) -> Self {
        Self::new(name, FieldKind::Processes)
    }

    /// The same, and it may be null.
    #[must_use]
    pub const fn or_null(self) -> Self {
        Self { presence: Presence::OrNull, ..self }
    }

    /// The same, and it may be left out.
    #[must_use]
    pub const fn or_absent(self) -> Self {
        Self { presence: Presence::OrAbsent, ..self }
    }

    /// Whether a value is worth saying: what may be left out is, where it says nothing.
    pub(crate) fn has(&self, value: &Value) -> bool {
        let says_nothing = match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        self.presence != Presence::OrAbsent || !says_nothing
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        match self.kind {
            FieldKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
            FieldKind::Processes => {
                json!({"type": "array", "items": shape(&[Self::integer("pid"), Self::text("command")])})
            }
            FieldKind::Json(kind) if self.presence == Presence::OrNull => json!({"type": [kind, "null"]}),
            FieldKind::Json(kind) => json!({"type": kind}),
        }
    }
}

/// The schema of an object with exactly these fields.
pub fn shape(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let always = fields.iter().filter(|field| field.presence != Presence::OrAbsent);
    let required: Vec<&str> = always.map(Field::name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A tool's output schema: its reply is one of these, a refusal or an error. Any of them may name parameters that were
/// ignored, and what changed since the client's last call.
pub fn any_of(shapes: impl IntoIterator<Item = Value>) -> Value {
    let mut shapes: Vec<Value> = shapes.into_iter().chain([refused(), failed()]).collect();
    for shape in &mut shapes {
        shape["properties"][IGNORED] = json!({"type": "array", "items": {"type": "string"}});
        shape["properties"][SINCE_LAST_CALL] = json!({"type": "array"});
    }
    // What is in that list is described once, for all shapes.
    json!({"type": "object", "properties": {SINCE_LAST_CALL: since_last_call()}, "anyOf": shapes})
}

/// The field for parameters that were ignored.
pub const IGNORED: &str = "ignored";

/// The field for what changed since the client's last call.
pub const SINCE_LAST_CALL: &str = "since_last_call";

/// The schema of that: see `Change::facts` in [`crate::news`].
fn since_last_call() -> Value {
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer"});
    let item = json!({
        "type": "object",
        "properties": {
            "bash_id": text(),
            "what": {"type": "string", "enum": ["ended", "matched", "waits"]},
            "outcome": text(), "exit_code": number(), "signal": text(), "limit": text(), "duration_ms": number(),
            "pattern": text(), "matches": number(), "line": text(),
            "prompt": text(),
        },
        "required": ["bash_id", "what"],
        "additionalProperties": false,
    });
    json!({"type": "array", "items": item})
}

/// The schema of [`crate::facts::refusal`].
pub fn refused() -> Value {
    shape(&[Field::text("outcome"), Field::object("refused"), Field::object("protection").or_absent()])
}

/// The schema of [`crate::facts::failure`].
pub fn failed() -> Value {
    let mut whole = shape(&[Field::object("error"), Field::object("refused").or_absent()]);
    whole["properties"]["error"] = shape(&[Field::text("kind"), Field::text("message")]);
    whole
}
