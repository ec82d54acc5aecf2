//! The tools, one per file. To add a tool, add its file and list it in [`ALL`].

mod describe;
mod grade;
mod list;
mod submission;
mod validate;

use serde_json::{Map, Value, json};

use crate::answer::{Answer, ToolError};
use crate::options::McpOptions;

/// A tool: its description for agents, and its function.
pub struct ToolDefinition {
    pub name: &'static str,
    pub description: &'static str,
    /// Parameters: name, description, and whether the parameter is required.
    pub parameters: &'static [(&'static str, &'static str, bool)],
    /// Whether its answers contain scores.
    pub has_scores: bool,
    pub call: fn(&McpOptions, &Arguments) -> Answer,
}

/// All tools.
pub const ALL: &[&ToolDefinition] = &[
    &list::LIST,
    &describe::DESCRIBE,
    &validate::VALIDATE,
    &grade::GRADE,
];

impl ToolDefinition {
    /// Returns the tool's description for the protocol. All parameters are strings.
    pub fn schema(&self) -> Value {
        let property = |(name, description, _): &(&str, &str, bool)| {
            let schema = json!({ "type": "string", "description": description });
            ((*name).to_owned(), schema)
        };
        let required = self.parameters.iter().filter(|(_, _, required)| *required);
        let required: Vec<&str> = required.map(|(name, _, _)| *name).collect();
        let properties: Map<String, Value> = self.parameters.iter().map(property).collect();
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": { "competitions": { "type": "array", "items": { "type": "object" } } },
                "required": ["competitions"],
            },
            "annotations": { "readOnlyHint": true },
        })
    }
}

/// The arguments of a call.
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Checks the arguments of a call against the parameters of the tool.
    ///
    /// # Errors
    /// Returns an error if an argument is unknown, missing, or not a string.
    pub fn parse(
        definition: &ToolDefinition,
        given: Map<String, Value>,
    ) -> Result<Arguments, ToolError> {
        let names: Vec<&str> = definition
            .parameters
            .iter()
            .map(|(name, _, _)| *name)
            .collect();
        for (name, value) in &given {
            if !names.contains(&name.as_str()) {
                let message = format!("`{}` has no parameter `{name}`", definition.name);
                return Err(ToolError::new(message).help(format!("pass {}", names.join(" and "))));
            }
            if !value.is_string() {
                return Err(ToolError::new(format!("`{name}` is not a string")));
            }
        }
        for (name, description, required) in definition.parameters {
            if *required && !given.contains_key(*name) {
                let message = format!("`{}` needs `{name}`", definition.name);
                return Err(ToolError::new(message).help(*description));
            }
        }
        Ok(Arguments(given))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Returns the value of a required parameter.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }
}
