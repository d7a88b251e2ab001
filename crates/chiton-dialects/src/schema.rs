//! Tools as model providers take them, for people without MCP.

use serde_json::{Value, json};

use crate::tool::{Dialect, Surroundings, ToolSpec};

/// For whom a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An MCP client.
    Mcp,
    /// `OpenAI`: functions.
    Openai,
    /// Anthropic: tools.
    Anthropic,
    /// Gemini: function declarations.
    Gemini,
}

impl Format {
    /// The format of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [("mcp", Self::Mcp), ("openai", Self::Openai), ("anthropic", Self::Anthropic), ("gemini", Self::Gemini)]
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| format)
    }
}

/// One tool in a format.
pub fn of(tool: &ToolSpec, format: Format) -> Value {
    let (name, description, mut schema) = (tool.name, &tool.description, tool.input_schema());
    match format {
        Format::Mcp => json!({"name": name, "description": description, "inputSchema": schema}),
        Format::Openai => {
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
        }
        Format::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        Format::Gemini => {
            // Its schema language has no word for this.
            without(&mut schema, "additionalProperties");
            json!({"name": name, "description": description, "parameters": schema})
        }
    }
}

/// All tools of a dialect in a format given by name.
///
/// # Errors
/// In words, when there is no such format.
pub fn get_all_schemas(dialect: &dyn Dialect, around: &Surroundings, format: &str) -> Result<Vec<Value>, String> {
    let format = Format::parse(format)
        .ok_or_else(|| format!("Unknown schema format: {format}; there are mcp, openai, anthropic and gemini"))?;
    Ok(dialect.tools(around).iter().map(|tool| of(tool, format)).collect())
}

fn without(schema: &mut Value, key: &str) {
    if let Value::Object(entries) = schema {
        entries.remove(key);
        entries.values_mut().for_each(|value| without(value, key));
    }
}
