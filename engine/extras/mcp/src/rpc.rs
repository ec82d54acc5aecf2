//! The settings of a server, and messages of JSON-RPC 2.0, one per line: requests of a client, and responses with the result of
//! a tool.

use std::borrow::Cow;

use prep_app::{Catalog, Error, Grading, GradingLog, Remedy, Settings, SubmissionDirectory};
use serde_json::{Value, json};

/// Error codes that the specification of JSON-RPC defines.
pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;

/// An error of the protocol: its code and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError(pub i64, pub String);

/// A request or notification of the client.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// `None` for a notification, which is not answered.
    pub id: Option<Value>,
    pub method: String,
    pub params: Value,
}

/// Parses a line. Returns `None` for a response, because this server sends no requests. If the line is invalid, the
/// error is the response to send.
pub fn parse(line: &str) -> Result<Option<Request>, Value> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| failure(&Value::Null, &RpcError(PARSE_ERROR, error.to_string())))?;
    let id = value
        .get("id")
        .filter(|id| id.is_string() || id.is_number());
    let invalid = |message: &str| {
        let error = RpcError(INVALID_REQUEST, message.to_owned());
        failure(id.unwrap_or(&Value::Null), &error)
    };
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("`jsonrpc` is not \"2.0\""));
    }
    let Some(method) = value.get("method").and_then(Value::as_str) else {
        let is_response = value.get("result").is_some() || value.get("error").is_some();
        return match is_response {
            true => Ok(None),
            false => Err(invalid("there is no `method`")),
        };
    };
    Ok(Some(Request {
        id: id.cloned(),
        method: method.to_owned(),
        params: value.get("params").cloned().unwrap_or(Value::Null),
    }))
}

/// Returns the response to a request.
pub fn response(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => failure(id, &error),
    }
}

/// Returns the response for an error. `id` is `null` if the id of the request is unknown.
pub fn failure(id: &Value, RpcError(code, message): &RpcError) -> Value {
    let message = shortened(message);
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

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

/// Settings of a server. Its tools can only access the files that these settings name.
pub struct McpOptions {
    pub catalog: Catalog,
    /// Settings of the variant that is served.
    pub settings: Settings,
    pub variant: String,
    /// Only submissions below this directory are read.
    pub submissions: SubmissionDirectory,
    /// Whether agents can get scores.
    pub scores: bool,
    /// The log of gradings.
    pub log: GradingLog,
    /// Describes the suggested action of an error.
    pub words: fn(&Remedy) -> String,
}

impl McpOptions {
    /// Reads the prepared answers of a competition. If agents can get scores, gradings are logged in the data
    /// directory.
    ///
    /// # Errors
    /// Returns an error if the competition is not prepared, or if its answers changed since.
    pub(crate) fn grading(&self, id: &str) -> Result<Grading, Error> {
        let grading = Grading::open(&self.catalog, &self.settings, id)?;
        Ok(match self.scores {
            true => grading.logged(&self.settings, &self.log),
            false => grading,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_notifications_and_responses_are_distinguished() {
        let request = parse(r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#);
        let request = request.unwrap().unwrap();
        assert_eq!((request.id, &*request.method), (Some(json!(1)), "ping"));
        let notification = parse(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
        assert_eq!(notification.unwrap().unwrap().id, None);
        let response = parse(r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#);
        assert_eq!(response, Ok(None));
    }

    #[test]
    fn malformed_messages_get_error_responses() {
        for (line, code, id) in [
            ("{", PARSE_ERROR, Value::Null),
            ("[]", INVALID_REQUEST, Value::Null),
            (
                r#"{"jsonrpc": "2.0", "id": "a"}"#,
                INVALID_REQUEST,
                json!("a"),
            ),
            (r#"{"id": 1, "method": "ping"}"#, INVALID_REQUEST, json!(1)),
        ] {
            let response = parse(line).unwrap_err();
            assert_eq!(response["error"]["code"], code, "{line}");
            assert_eq!(response["id"], id, "{line}");
        }
    }
}
