//! Tools as model providers take them, for people without MCP.

use serde_json::{Map, Value, json};

use crate::tool::{Dialect, Surroundings, ToolSpec};

/// For whom a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaFormat {
    /// An MCP client.
    Mcp,
    /// `OpenAI`: functions.
    Openai,
    /// `OpenAI`: functions of Chat Completions whose arguments always fit the schema.
    OpenaiStrict,
    /// `OpenAI`: the same for the Responses API.
    OpenaiResponses,
    /// Anthropic: tools.
    Anthropic,
    /// Gemini: function declarations.
    Gemini,
}

impl SchemaFormat {
    /// All of them by name.
    pub const ALL: [(&str, Self); 6] = [
        ("mcp", Self::Mcp),
        ("openai", Self::Openai),
        ("openai-strict", Self::OpenaiStrict),
        ("openai-responses", Self::OpenaiResponses),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
    ];

    /// The format of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }
}

/// One tool in a format.
pub fn of(tool: &ToolSpec, format: SchemaFormat) -> Value {
    let (name, description, schema) = (tool.name, &tool.description, tool.input_schema());
    match format {
        SchemaFormat::Mcp => json!({
            "name": name, "title": tool.title(), "description": description, "inputSchema": schema,
            "outputSchema": tool.output_schema,
        }),
        SchemaFormat::Openai => {
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
        }
        SchemaFormat::OpenaiStrict => json!({"type": "function", "function": {
            "name": name, "description": description, "parameters": strict(schema), "strict": true,
        }}),
        SchemaFormat::OpenaiResponses => json!({
            "type": "function", "name": name, "description": description, "parameters": strict(schema), "strict": true,
        }),
        SchemaFormat::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        // An object without properties is refused, also for a tool without parameters.
        SchemaFormat::Gemini if tool.parameters.is_empty() => json!({"name": name, "description": description}),
        SchemaFormat::Gemini => json!({"name": name, "description": description, "parameters": for_gemini(schema)}),
    }
}

/// All tools of a dialect in a format given by name.
///
/// # Errors
/// In words, when there is no such format.
pub fn get_all_schemas(dialect: &dyn Dialect, around: &Surroundings, format: &str) -> Result<Vec<Value>, String> {
    let format = SchemaFormat::parse(format).ok_or_else(|| {
        let names = SchemaFormat::ALL.map(|(name, _)| name);
        format!("Unknown schema format: {format}; there are {}", names.join(", "))
    })?;
    Ok(dialect.tools(around).iter().map(|tool| of(tool, format)).collect())
}

/// Gemini's schema language is a part of `OpenAPI`'s: it has no `additionalProperties`, and an object has to name its
/// properties. What takes any names is a list of `NAME=VALUE` there, which is read as well.
fn for_gemini(mut schema: Value) -> Value {
    let Some(entries) = schema.as_object_mut() else { return schema };
    entries.remove("additionalProperties");
    if let Some(properties) = entries.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|value| *value = for_gemini(value.take()));
    } else if entries.get("type") == Some(&json!("object")) {
        return list_of_pairs(entries);
    }
    schema
}

/// A list of `NAME=VALUE` instead of an object that takes any names.
fn list_of_pairs(object: &Map<String, Value>) -> Value {
    let description = object.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = format!("{description} Each as NAME=VALUE.");
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

/// What `strict` is promised for: an object names all its properties, all of them are required, and one that may be left
/// out may be null instead. Words that this part of JSON schema does not have are left out; their meaning is checked when
/// the call is read.
fn strict(mut schema: Value) -> Value {
    let Some(entries) = schema.as_object_mut() else { return schema };
    entries.retain(|word, _| STRICT_WORDS.contains(&word.as_str()));
    if let Some(items) = entries.get_mut("items") {
        *items = strict(items.take());
    }
    if entries.get("type") != Some(&json!("object")) {
        return schema;
    }

    let required = entries.remove("required").unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let Some(properties) = entries.get_mut("properties").and_then(Value::as_object_mut) else {
        return list_of_pairs(entries);
    };
    for (name, property) in properties.iter_mut() {
        let inner = strict(property.take());
        *property = if is_required(name) { inner } else { nullable(inner) };
    }
    let names: Vec<&String> = properties.keys().collect();
    let names = json!(names);
    entries.insert("required".to_owned(), names);
    entries.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// The words of JSON schema that `strict` knows, of those that schemas here use.
const STRICT_WORDS: [&str; 12] = [
    "type", "description", "enum", "properties", "required", "additionalProperties", "items", "minimum", "maximum",
    "pattern", "minItems", "maxItems",
];

/// The same, or null.
fn nullable(mut schema: Value) -> Value {
    let Some(entries) = schema.as_object_mut() else { return schema };
    if let Some(kind) = entries.get_mut("type") {
        let mut kinds = kind.as_array().cloned().unwrap_or_else(|| vec![kind.take()]);
        if !kinds.contains(&json!("null")) {
            kinds.push(json!("null"));
        }
        *kind = Value::Array(kinds);
    }
    if let Some(words) = entries.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    schema
}
