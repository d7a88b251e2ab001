//! A place for tools by name, for programs that collect them from several sources.

use std::collections::BTreeMap;

use crate::tool::{Dialect, Surroundings, ToolSpec};

/// What kind of tool it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Runs something.
    Execution,
}

/// Tools by name.
#[derive(Debug, Default)]
pub struct Registry {
    tools: BTreeMap<String, (ToolSpec, Category)>,
}

impl Registry {
    /// Adds a tool.
    ///
    /// # Errors
    /// In words, when there is one of this name.
    pub fn register(&mut self, tool: ToolSpec, category: Category) -> Result<(), String> {
        if self.tools.contains_key(tool.name) {
            return Err(format!("a tool named {} is registered already", tool.name));
        }
        self.tools.insert(tool.name.to_owned(), (tool, category));
        Ok(())
    }

    /// The tool of this name and its kind.
    pub fn get(&self, name: &str) -> Option<&(ToolSpec, Category)> {
        self.tools.get(name)
    }

    /// All names.
    pub fn names(&self) -> Vec<&str> {
        self.tools.keys().map(String::as_str).collect()
    }
}

/// Adds the tools of a dialect, all of which run something or look after what runs.
///
/// # Errors
/// As for [`Registry::register`].
pub fn register_execution_tools(
    registry: &mut Registry,
    dialect: &dyn Dialect,
    around: &Surroundings,
) -> Result<(), String> {
    dialect.tools(around).into_iter().try_for_each(|tool| registry.register(tool, Category::Execution))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::get_all_schemas;

    #[test]
    fn all_execution_tools_are_registered_with_valid_schemas() {
        let around = Surroundings::new("/tmp");
        let dialect = crate::find("opencode").unwrap();
        let mut registry = Registry::default();
        register_execution_tools(&mut registry, dialect, &around).unwrap();
        assert_eq!(registry.names(), ["Bash", "BashOutput", "KillShell"]);
        assert!(registry.names().iter().all(|name| registry.get(name).unwrap().1 == Category::Execution));
        assert!(register_execution_tools(&mut registry, dialect, &around).unwrap_err().contains("Bash"));
        let schemas = get_all_schemas(dialect, &around, "openai").unwrap();
        for (schema, (name, required)) in
            schemas.iter().zip([("Bash", "command"), ("BashOutput", "bash_id"), ("KillShell", "shell_id")])
        {
            assert_eq!(schema["type"], "function");
            assert_eq!(schema["function"]["name"], name);
            assert!(schema["function"]["description"].is_string());
            assert_eq!(schema["function"]["parameters"]["type"], "object");
            assert_eq!(schema["function"]["parameters"]["required"][0], required);
        }
        assert!(get_all_schemas(dialect, &around, "xml").unwrap_err().contains("Unknown schema format: xml"));
    }

    #[test]
    fn every_parameter_that_is_required_exists_and_is_described() {
        let around = Surroundings::new("/tmp");
        for dialect in crate::catalogue::all() {
            for tool in dialect.tools(&around) {
                assert!(
                    tool.required.iter().all(|name| tool.names().contains(name)),
                    "{} {}",
                    dialect.name(),
                    tool.name
                );
                for (name, schema) in &tool.parameters {
                    assert!(schema["description"].is_string(), "{} {} {name}", dialect.name(), tool.name);
                }
            }
        }
    }
}
