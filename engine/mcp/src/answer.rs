//! The result of a tool.

use std::borrow::Cow;

use prep_app::{Error, Remedy};
use serde_json::{Value, json};

/// A JSON object, or an error message for the agent.
pub type Answer = Result<Value, ToolError>;

/// The reason why a tool failed.
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

/// Converts an answer to a result of the protocol. The result contains the answer as an object, and as text for clients
/// that do not support objects. An error of a tool is also sent as a result, because clients hide protocol errors from
/// agents. `words` describes the suggested action of an error.
pub fn result(answer: Answer, words: fn(&Remedy) -> String) -> Value {
    let (value, is_error) = match answer {
        Ok(value) => (value, false),
        Err(error) => (
            json!({ "error": { "message": shortened(&error.message), "help": error.help.as_ref().map(words) } }),
            true,
        ),
    };
    json!({
        "content": [{ "type": "text", "text": value.to_string() }],
        "structuredContent": value,
        "isError": is_error,
    })
}

/// Shortens a message that quotes the request, because a request can be long.
pub fn shortened(message: &str) -> Cow<'_, str> {
    const MAX_CHARACTERS: usize = 2000;
    match message.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}...", message.get(..end).unwrap_or_default()).into(),
        None => message.into(),
    }
}
