//! What a call may hold: everything that a schema takes is read, and nothing at all makes a dialect stumble.

use chiton_dialects::{CallError, Surroundings, ToolSpec, catalogue};
use serde_json::{Map, Value, json};

fn around() -> Surroundings {
    Surroundings::new("/home/user/project")
}

/// A value that fits the schema of a parameter.
fn fitting(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|words| words.first()) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap() {
        "string" => json!("x"),
        "integer" | "number" => json!(schema["minimum"].as_u64().unwrap_or(0).max(1)),
        "boolean" => json!(false),
        "object" => json!({"A": "b"}),
        "array" => json!([]),
        other => panic!("{other}"),
    }
}

fn required(tool: &ToolSpec) -> Map<String, Value> {
    let fields = tool.parameters.iter().filter(|(name, _)| tool.required.contains(name));
    fields.map(|(name, schema)| ((*name).to_owned(), fitting(schema))).collect()
}

#[test]
fn every_parameter_that_a_schema_declares_is_read_and_no_other() {
    for dialect in catalogue::all() {
        for tool in dialect.tools(&around()) {
            let place = format!("{} {}", dialect.name(), tool.name);
            for (name, schema) in &tool.parameters {
                let mut values = required(&tool);
                values.insert((*name).to_owned(), fitting(schema));
                let valid = jsonschema::draft202012::is_valid(&tool.input_schema(), &values.clone().into());
                assert!(valid, "{place}: {values:?} does not fit its own schema");
                match dialect.read(tool.name, &values, &around()) {
                    // A value may make no sense; that it is there, and of which type, is no surprise.
                    Ok(_) | Err(CallError::BadValue { .. } | CallError::Missing(_)) => {}
                    Err(error) => panic!("{place}: {error}"),
                }
            }
            for name in ["colour", "", &"x".repeat(10_000)] {
                let mut values = required(&tool);
                values.insert(name.to_owned(), json!("red"));
                let error = dialect.read(tool.name, &values, &around()).unwrap_err();
                assert!(matches!(error, CallError::Unknown { .. }), "{place}: {error}");
                assert!(error.to_string().len() < 500, "{place}");
            }
        }
    }
}

#[test]
fn a_required_parameter_that_is_missing_is_named() {
    for dialect in catalogue::all() {
        for tool in dialect.tools(&around()) {
            for name in tool.required {
                let mut values = required(&tool);
                values.remove(*name);
                let error = dialect.read(tool.name, &values, &around()).unwrap_err();
                assert_eq!(error, CallError::Missing(name), "{} {}", dialect.name(), tool.name);
            }
        }
    }
}

#[test]
fn no_value_whatever_makes_a_dialect_stumble() {
    let values = [
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!(" "),
        json!("\u{0}"),
        json!("\u{3}"),
        json!("18446744073709551616"),
        json!("lines 18446744073709551615-18446744073709551615"),
        json!("../../../../../../.."),
        json!("é".repeat(10_000)),
        json!([]),
        json!([[[]]]),
        json!(["="]),
        json!({}),
        json!({"": {}}),
    ];
    let mut calls = 0;
    for dialect in catalogue::all() {
        for tool in dialect.tools(&around()) {
            for (name, _) in &tool.parameters {
                for value in &values {
                    let mut arguments = required(&tool);
                    arguments.insert((*name).to_owned(), value.clone());
                    let words = match dialect.read(tool.name, &arguments, &around()) {
                        Ok(_) => continue,
                        Err(error) => error.to_string(),
                    };
                    let named = tool.names().iter().any(|known| words.contains(known));
                    assert!(named, "{} {} {name}: {words}", dialect.name(), tool.name);
                    assert!(words.len() < 500, "an error of {} bytes", words.len());
                    calls += 1;
                }
            }
        }
    }
    assert!(calls > 500, "{calls} were refused");
}
