//! The result of a tool.

use prep_app::{Error, Remedy};
use serde_json::{Value, json};

/// A JSON object, or an error that the agent can read.
pub type Answer = Result<Value, ToolError>;

/// Why a tool could not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    pub message: String,
    pub help: Option<Remedy>,
}

impl ToolError {
    pub fn new(message: impl Into<String>) -> ToolError {
        ToolError {
            message: message.into(),
            help: None,
        }
    }

    #[must_use]
    pub fn help(self, help: impl Into<Remedy>) -> ToolError {
        ToolError {
            help: Some(help.into()),
            ..self
        }
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> ToolError {
        ToolError {
            message: error.message,
            help: error.help,
        }
    }
}

/// An answer as the protocol has it: as an object, and as text for clients that know no objects. An error of a tool is a
/// result, because clients hide errors of the protocol from agents. `words` puts a remedy into words.
pub fn result(answer: Answer, words: fn(&Remedy) -> String) -> Value {
    let (value, is_error) = match answer {
        Ok(value) => (value, false),
        Err(error) => (
            json!({ "error": { "message": error.message, "help": error.help.as_ref().map(words) } }),
            true,
        ),
    };
    json!({
        "content": [{ "type": "text", "text": value.to_string() }],
        "structuredContent": value,
        "isError": is_error,
    })
}
