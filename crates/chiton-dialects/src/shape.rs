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

/// A tool's output schema: its reply is one of these, or an error.
pub fn any_of(shapes: impl IntoIterator<Item = Value>) -> Value {
    let shapes: Vec<Value> = shapes.into_iter().chain([failed()]).collect();
    json!({"type": "object", "anyOf": shapes})
}

/// The schema of [`crate::facts::failure`].
pub fn failed() -> Value {
    let shape = shape(&[Field::text("kind"), Field::text("message")]);
    json!({"type": "object", "properties": {"error": shape}, "required": ["error"], "additionalProperties": false})
}
