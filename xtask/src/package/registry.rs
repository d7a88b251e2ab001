//! The entry of the server in the MCP registry. The checks here are those of the registry's schema of 2025-12-11, as far as the
//! entry uses it, and those that the registry makes besides: names that agree with what is in the packages.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Packaging;
use crate::dist::VERSION;

const NAME: &str = "server.json";

pub(super) fn make(packaging: &Packaging) -> Result<()> {
    Ok(fs::write(packaging.output.join(NAME), packaging.filled("mcp/server.json", &[])?)?)
}

pub(super) fn check(packaging: &Packaging) -> Result<()> {
    let entry: Value = serde_json::from_str(&fs::read_to_string(packaging.output.join(NAME))?)?;
    check_entry(&entry).context(NAME)?;

    let name = text(&entry, "name")?;
    let main: Value = serde_json::from_str(&packaging.filled("npm/chiton/package.json", &[])?)?;
    ensure!(main["mcpName"] == name, "the npm package says mcpName {}, {NAME} says {name}", main["mcpName"]);
    for (file, place) in [("wheel/build.py", format!("mcp-name: {name}")), ("docker/Dockerfile", format!("\"{name}\""))]
    {
        ensure!(packaging.filled(file, &[])?.contains(&place), "packaging/{file} does not say {place}");
    }
    println!("{NAME} is as the MCP registry wants it");
    Ok(())
}

/// Fields that the registry's schema knows, beside those that are required.
const FIELDS: [&str; 10] =
    ["$schema", "name", "title", "description", "version", "websiteUrl", "repository", "packages", "remotes", "icons"];
const PACKAGE_FIELDS: [&str; 10] = [
    "registryType", "registryBaseUrl", "identifier", "version", "fileSha256", "runtimeHint", "transport",
    "runtimeArguments", "packageArguments", "environmentVariables",
];

fn check_entry(entry: &Value) -> Result<()> {
    known_fields(entry, &FIELDS)?;
    ensure!(
        text(entry, "$schema")?.starts_with("https://static.modelcontextprotocol.io/schemas/"),
        "$schema is unknown"
    );
    let name = text(entry, "name")?;
    let (space, own) = name.split_once('/').context("the name has no slash between its domain and its own part")?;
    let is_good = |part: &str, more: &str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
    };
    ensure!(is_good(space, ".-") && is_good(own, "._-") && (3..=200).contains(&name.len()), "the name is {name}");
    for field in ["title", "description"] {
        let length = text(entry, field)?.chars().count();
        ensure!((1..=100).contains(&length), "{field} has {length} characters; 1 to 100 are allowed");
    }
    ensure!(text(entry, "version")? == VERSION, "the version is not {VERSION}");
    let repository = &entry["repository"];
    ensure!(
        text(repository, "url")?.starts_with("https://") && text(repository, "source")? == "github",
        "the repository"
    );

    let packages = entry["packages"].as_array().context("there are no packages")?;
    ensure!(!packages.is_empty(), "there are no packages");
    packages.iter().try_for_each(check_package)
}

fn check_package(package: &Value) -> Result<()> {
    known_fields(package, &PACKAGE_FIELDS)?;
    let identifier = text(package, "identifier")?;
    match text(package, "registryType")? {
        "npm" | "pypi" => ensure!(text(package, "version")? == VERSION, "{identifier} is not of version {VERSION}"),
        // An image is named with its version.
        "oci" => ensure!(
            identifier.ends_with(&format!(":{VERSION}")) && package.get("version").is_none(),
            "{identifier} has to end with its version, and to name it nowhere else"
        ),
        other => bail!("there is no registry of the type {other}"),
    }
    ensure!(
        package["transport"] == serde_json::json!({"type": "stdio"}),
        "{identifier} speaks on standard input and output"
    );
    for list in ["runtimeArguments", "packageArguments"] {
        for argument in package[list].as_array().into_iter().flatten() {
            let is_whole = match text(argument, "type")? {
                "positional" => argument["value"].is_string() || argument["valueHint"].is_string(),
                "named" => argument["name"].is_string(),
                _ => false,
            };
            ensure!(is_whole, "{identifier}: {argument} is neither a named nor a positional argument");
        }
    }
    Ok(())
}

fn known_fields(object: &Value, known: &[&str]) -> Result<()> {
    let object = object.as_object().context("an object is wanted")?;
    let strange = object.keys().find(|key| !known.contains(&key.as_str()));
    strange.map_or(Ok(()), |key| bail!("the registry knows no field {key}"))
}

fn text<'a>(object: &'a Value, field: &str) -> Result<&'a str> {
    object[field].as_str().with_context(|| format!("{field} is missing, or not text"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry() -> Value {
        let text = include_str!("../../../packaging/mcp/server.json").replace("@VERSION@", VERSION);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_the_registry_would_refuse_is_found() {
        check_entry(&entry()).unwrap();
        let spoilt: [(&str, Value, &str); 8] = [
            ("/name", json!("chiton"), "slash"),
            ("/name", json!("io.github.x/a b"), "the name"),
            ("/description", json!("x".repeat(101)), "101 characters"),
            ("/version", json!("latest"), "the version"),
            ("/packages", json!([]), "no packages"),
            ("/packages/0/version", json!("^1.0"), "not of version"),
            ("/packages/0/packageArguments/0", json!({"type": "positional"}), "neither"),
            ("/packages/1/transport", json!({"type": "sse"}), "standard input"),
        ];
        for (place, value, said) in spoilt {
            let mut entry = entry();
            *entry.pointer_mut(place).unwrap() = value;
            let error = check_entry(&entry).unwrap_err().to_string();
            assert!(error.contains(said), "{place}: {error}");
        }
    }

    #[test]
    fn a_field_that_nobody_knows_is_named() {
        let mut entry = entry();
        entry["licence"] = json!("MIT");
        assert!(check_entry(&entry).unwrap_err().to_string().contains("licence"));
    }
}
