//! Tools as model providers take them, for people without MCP.

use serde_json::{Value, json};

use crate::tool::{Dialect, Surroundings, ToolSpec};

/// For whom a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaFormat {
    /// An MCP client.
    Mcp,
    /// `OpenAI`: functions.
    Openai,
    /// Anthropic: tools.
    Anthropic,
    /// Gemini: function declarations.
    Gemini,
}

impl SchemaFormat {
    /// All of them by name.
    pub const ALL: [(&str, Self); 4] =
        [("mcp", Self::Mcp), ("openai", Self::Openai), ("anthropic", Self::Anthropic), ("gemini", Self::Gemini)];

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
            "name": name, "description": description, "inputSchema": schema, "outputSchema": tool.output_schema,
        }),
        SchemaFormat::Openai => {
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
        }
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
    let format = SchemaFormat::parse(format)
        .ok_or_else(|| format!("Unknown schema format: {format}; there are mcp, openai, anthropic and gemini"))?;
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
        let description = entries.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{description} Each as NAME=VALUE.");
        return json!({"type": "array", "items": {"type": "string"}, "description": description});
    }
    schema
}
