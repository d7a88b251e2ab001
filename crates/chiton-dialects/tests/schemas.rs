//! Schemas: valid by their own standard, by the rules of those who take them, and checked in.
//!
//! `schemas/DIALECT.FORMAT.json` are what `chiton schema` prints, for a working directory that is the same on every
//! machine. `UPDATE=1` writes them anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chiton_dialects::schema::{self, SchemaFormat};
use chiton_dialects::{Dialect, Surroundings, ToolSpec, catalogue, title};
use serde_json::{Value, json};

fn around() -> Surroundings {
    Surroundings::new("/home/user/project")
}

fn tools() -> impl Iterator<Item = (&'static str, ToolSpec)> {
    catalogue::all().iter().flat_map(|dialect| dialect.tools(&around()).into_iter().map(|tool| (dialect.name(), tool)))
}

#[test]
fn every_input_and_output_schema_is_valid_and_an_object() {
    for (dialect, tool) in tools() {
        for schema in [tool.input_schema(), tool.output_schema.clone()] {
            let valid = jsonschema::draft202012::meta::validate(&schema).map_err(|error| error.to_string());
            assert_eq!(valid, Ok(()), "{dialect} {}", tool.name);
            assert_eq!(schema["type"], "object", "{dialect} {}", tool.name);
            jsonschema::draft202012::new(&schema).unwrap();
        }
    }
}

#[test]
fn the_first_tool_is_the_one_that_runs_commands() {
    for dialect in catalogue::all() {
        let tools = dialect.tools(&around());
        assert_eq!(dialect.running_tool(), tools[0].name, "{}", dialect.name());
    }
}

#[test]
fn an_output_schema_refuses_what_is_no_reply() {
    for (dialect, tool) in tools() {
        let schema = jsonschema::draft202012::new(&tool.output_schema).unwrap();
        assert!(schema.is_valid(&json!({"error": {"kind": "bad_call", "message": "why"}})), "{dialect} {}", tool.name);
        for wrong in [json!({}), json!({"colour": "red"}), json!({"error": "why"}), json!([])] {
            assert!(!schema.is_valid(&wrong), "{dialect} {} takes {wrong}", tool.name);
        }
    }
}

#[test]
fn the_checked_in_schemas_are_those_of_the_tools() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let mut expected = BTreeSet::new();
    for dialect in catalogue::all() {
        for (format, _) in SchemaFormat::ALL {
            let path = folder.join(format!("{}.{format}.json", dialect.name()));
            check_file(&path, *dialect, format);
            expected.insert(path);
        }
    }
    let found: BTreeSet<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found, expected, "a file that belongs to no dialect");
}

fn check_file(path: &Path, dialect: &dyn Dialect, format: &str) {
    let schemas = schema::get_all_schemas(dialect, &around(), format).unwrap();
    let text = serde_json::to_string_pretty(&schemas).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == text, "{} is not up to date: run this test with UPDATE=1", path.display());
}

/// What every provider asks of a name.
fn good_name(name: &Value) -> bool {
    let good = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    name.as_str().is_some_and(|name| (1..=64).contains(&name.len()) && name.chars().all(good))
}

fn sorted_keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn every_tool_keeps_the_rules_of_each_provider() {
    for (dialect, tool) in tools() {
        for (format, kind) in SchemaFormat::ALL {
            let declared = schema::of(&tool, kind);
            let place = format!("{dialect} {} for {format}: {declared}", tool.name);
            let is_wrapped = matches!(kind, SchemaFormat::Openai | SchemaFormat::OpenaiStrict);
            let function = if is_wrapped { &declared["function"] } else { &declared };
            assert!(good_name(&function["name"]), "{place}");
            assert!(function["description"].as_str().is_some_and(|text| (1..=1024).contains(&text.len())), "{place}");
            match kind {
                SchemaFormat::Mcp => {
                    let expected = ["description", "inputSchema", "name", "outputSchema", "title"];
                    assert_eq!(sorted_keys(&declared), expected, "{place}");
                    assert!(title::of(tool.name).is_some_and(|title| title != tool.name), "no title for {place}");
                    check_object(&declared["inputSchema"], &place);
                    assert_eq!(declared["outputSchema"]["type"], "object", "{place}");
                }
                SchemaFormat::Openai => {
                    assert_eq!(sorted_keys(&declared), ["function", "type"], "{place}");
                    assert_eq!(declared["type"], "function", "{place}");
                    assert_eq!(sorted_keys(function), ["description", "name", "parameters"], "{place}");
                    check_object(&function["parameters"], &place);
                }
                SchemaFormat::OpenaiStrict => {
                    assert_eq!(sorted_keys(&declared), ["function", "type"], "{place}");
                    assert_eq!(sorted_keys(function), ["description", "name", "parameters", "strict"], "{place}");
                    check_strict(&function["parameters"], &place);
                }
                SchemaFormat::OpenaiResponses => {
                    let expected = ["description", "name", "parameters", "strict", "type"];
                    assert_eq!(sorted_keys(&declared), expected, "{place}");
                    check_strict(&declared["parameters"], &place);
                }
                SchemaFormat::Anthropic => {
                    assert_eq!(sorted_keys(&declared), ["description", "input_schema", "name"], "{place}");
                    check_object(&declared["input_schema"], &place);
                }
                SchemaFormat::Gemini => match declared.get("parameters") {
                    Some(parameters) => check_gemini(parameters, &place),
                    None => assert!(tool.parameters.is_empty(), "{place}"),
                },
            }
        }
    }
}

/// An object whose properties all have a type, and whose required ones exist; nothing refers to elsewhere.
fn check_object(schema: &Value, place: &str) {
    assert_eq!(schema["type"], "object", "{place}");
    let properties = schema["properties"].as_object().unwrap();
    assert!(properties.values().all(|property| property["type"].is_string()), "{place}");
    let required = schema["required"].as_array().unwrap();
    assert!(required.iter().all(|name| properties.contains_key(name.as_str().unwrap())), "{place}");
    assert!(!schema.to_string().contains("$ref"), "{place}");
}

/// The words that `strict` takes, and the rules for them: an object names all its properties, all are required, nothing
/// else may be there.
const STRICT: &str = "type description enum properties required additionalProperties items minimum maximum pattern \
                      minItems maxItems";

fn check_strict(schema: &Value, place: &str) {
    for (word, _) in schema.as_object().unwrap() {
        assert!(STRICT.split(' ').any(|known| known == word), "{word} in {place}");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().map(|kind| kind.as_str().unwrap()).collect(),
        other => panic!("the type {other} in {place}"),
    };
    let known = ["string", "number", "integer", "boolean", "array", "object", "null"];
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| known.contains(kind)), "{kinds:?} in {place}");
    let is_nullable = kinds.contains(&"null");
    if let Some(words) = schema.get("enum") {
        assert_eq!(words.as_array().unwrap().contains(&Value::Null), is_nullable, "{words} in {place}");
    }
    if kinds.contains(&"object") {
        assert_eq!(schema["additionalProperties"], json!(false), "{place}");
        let mut required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        required.sort_unstable();
        assert_eq!(required, sorted_keys(&schema["properties"]), "{place}");
        schema["properties"].as_object().unwrap().values().for_each(|property| check_strict(property, place));
    }
    if kinds.contains(&"array") {
        check_strict(&schema["items"], place);
    }
}

#[test]
fn what_fits_a_strict_schema_is_read() {
    for dialect in catalogue::all() {
        for tool in dialect.tools(&around()) {
            let declared = schema::of(&tool, SchemaFormat::OpenaiResponses);
            let properties = declared["parameters"]["properties"].as_object().unwrap();
            // The least that a model may send: a word where one has to be there, and null everywhere else.
            let least = properties.iter().map(|(name, property)| (name.clone(), least_of(property))).collect();
            let read = dialect.read(tool.name, &least, &around());
            let place = format!("{} {}: {least:?}", dialect.name(), tool.name);
            let problem = read.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!problem.contains("null") && !problem.contains("type"), "{place}: {problem}");
        }
    }
}

fn least_of(property: &Value) -> Value {
    match &property["type"] {
        Value::Array(_) => Value::Null,
        kind if kind == "integer" || kind == "number" => property.get("minimum").cloned().unwrap_or(json!(1)),
        kind if kind == "boolean" => json!(false),
        _ => property["enum"].as_array().and_then(|words| words.first()).cloned().unwrap_or(json!("x")),
    }
}

/// The part of `OpenAPI` that Gemini takes.
const WORDS: &str = "type format title description nullable enum maxItems minItems properties required minProperties \
                     maxProperties minLength maxLength minimum maximum pattern example anyOf propertyOrdering default \
                     items";

fn check_gemini(schema: &Value, place: &str) {
    for (word, _) in schema.as_object().unwrap() {
        assert!(WORDS.split(' ').any(|known| known == word), "{word} in {place}");
    }
    let kind = schema["type"].as_str().unwrap_or_else(|| panic!("a type is missing in {place}"));
    assert!(["string", "number", "integer", "boolean", "array", "object"].contains(&kind), "{kind} in {place}");
    match kind {
        "object" => {
            let properties = schema["properties"].as_object().unwrap();
            assert!(!properties.is_empty(), "an object without properties in {place}");
            let required = schema["required"].as_array().into_iter().flatten();
            assert!(required.into_iter().all(|name| properties.contains_key(name.as_str().unwrap())), "{place}");
            properties.values().for_each(|property| check_gemini(property, place));
        }
        "array" => check_gemini(&schema["items"], place),
        _ => {}
    }
}

#[test]
fn the_native_tools_take_fewer_than_1500_tokens() {
    let native = catalogue::find("native").unwrap();
    let list: Vec<Value> = native
        .tools(&around())
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema()}))
        .collect();
    let text = serde_json::to_string(&list).unwrap();
    let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&text).len();
    println!("native: {tokens} tokens");
    assert!(tokens < 1500, "{tokens} tokens: {text}");
}
