//! Serves tools for agents with the Model Context Protocol: list competitions, describe a competition, and validate or
//! grade a submission.
//!
//! This file implements the protocol (JSON-RPC 2.0 messages, one per line), and `tools` implements the tools. The server
//! needs only four requests, so it does not use the official library `rmcp`.
//!
//! The tool `grade` exists only if the server was started with `--scores`, because an agent that gets scores can optimize
//! against the answers. No tool returns an answer.
//!
//! Messages quote cells of invalid submissions. If the path of a submission could lead to the answers, a message could
//! reveal answers. Therefore a submission must be a regular file below one directory, outside the data directory and the
//! cache. Links are not followed.

mod tools;

use std::io::{self, BufRead, Read, Write};

use prep_app::{Catalog, Error, Grading, GradingLog, Remedy, Settings, SubmissionDirectory};
use prep_spec::{alternatives, shortened};
use serde_json::{Map, Value, json};

use crate::tools::{ALL, Arguments, ToolDefinition};

/// Supported versions of the protocol, the latest first. The features that this server uses are the same in all of them.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Maximum length of a message in bytes. Messages are short, because they contain the paths of submissions, not
/// their content.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;

const INSTRUCTIONS: &str = "Competitions of MLE-bench on this system. `list` shows them, `describe` shows the task and the files of a competition, \
    `validate` checks a submission. The result of each tool contains a list `competitions`.";

pub struct McpOptions {
    pub catalog: Catalog,
    /// Settings of the variant `variant`.
    pub settings: Settings,
    pub variant: String,
    /// Contains all submissions that may be read.
    pub submissions: SubmissionDirectory,
    pub scores: bool,
    pub log: GradingLog,
    /// Converts the suggested action of an error to text.
    pub words: fn(&Remedy) -> String,
}

impl McpOptions {
    /// Reads the prepared answers of a competition, and returns its grader. If agents can get scores, the grader logs each
    /// grading in the data directory.
    pub(crate) fn grading(&self, id: &str) -> Result<Grading, Error> {
        let grading = Grading::open(&self.catalog, &self.settings, id)?;
        Ok(match self.scores {
            true => grading.logged(&self.settings, &self.log),
            false => grading,
        })
    }
}

fn tools(options: &McpOptions) -> impl Iterator<Item = &'static ToolDefinition> {
    let scores = options.scores;
    let all = ALL.iter().copied();
    all.filter(move |tool| scores || !tool.has_scores)
}

/// Responds to the client's messages one after the other, until the client closes the input.
pub fn serve(
    options: &McpOptions,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    while let Some(line) = read_line(&mut input)? {
        let request = match &line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => parse(line),
            Err(error) => Err(failure(&Value::Null, error)),
        };
        let response = match request {
            Ok(Some(Request {
                id: Some(id),
                method,
                params,
            })) => response(&id, answer(options, &method, params)),
            // A notification or a response needs no response.
            Ok(_) => continue,
            Err(response) => response,
        };
        writeln!(output, "{response}")?;
        output.flush()?;
    }
    Ok(())
}

/// Reads the next line. If the line is too long, skips it and returns an error. Returns `None` at the end of the input.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, RpcError>>> {
    let mut line = Vec::new();
    let mut start = input.by_ref().take(MAX_MESSAGE_BYTES);
    if start.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let is_complete = line.ends_with(b"\n") || (line.len() as u64) < MAX_MESSAGE_BYTES;
    if !is_complete && input.skip_until(b'\n')? > 0 {
        let message = format!("a message is longer than {MAX_MESSAGE_BYTES} bytes");
        return Ok(Some(Err(RpcError(PARSE_ERROR, message))));
    }
    let line = String::from_utf8(line).map_err(|error| {
        let message = format!("a message is not UTF-8: {}", error.utf8_error());
        RpcError(PARSE_ERROR, message)
    });
    Ok(Some(line))
}

fn answer(options: &McpOptions, method: &str, params: Value) -> Result<Value, RpcError> {
    match method {
        "initialize" => Ok(initialize(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => {
            let tools: Vec<Value> = tools(options).map(ToolDefinition::schema).collect();
            Ok(json!({ "tools": tools }))
        }
        "tools/call" => call(options, params),
        _ => Err(RpcError(
            METHOD_NOT_FOUND,
            format!("there is no method `{method}`"),
        )),
    }
}

fn initialize(params: &Value) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS
        .into_iter()
        .find(|version| Some(*version) == wanted);
    json!({
        "protocolVersion": version.unwrap_or(VERSIONS[0]),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "prep", "version": prep_app::VERSION },
        "instructions": INSTRUCTIONS,
    })
}

fn call(options: &McpOptions, params: Value) -> Result<Value, RpcError> {
    let name = params
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(tool) = tools(options).find(|tool| tool.name == name) else {
        let help = alternatives(name, "this server", tools(options).map(|tool| tool.name));
        return Err(RpcError(
            INVALID_PARAMS,
            format!("there is no tool `{name}`; {help}"),
        ));
    };
    let given = match params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => {
            return Err(RpcError(
                INVALID_PARAMS,
                "`arguments` is not an object".to_owned(),
            ));
        }
    };
    let arguments = Arguments::parse(tool, given);
    Ok(result(
        arguments.and_then(|arguments| (tool.call)(options, &arguments)),
        options.words,
    ))
}

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

#[derive(Debug, Clone, PartialEq, Eq)]
struct RpcError(i64, String);

#[derive(Debug, PartialEq)]
struct Request {
    /// `None` for a notification, which gets no response.
    id: Option<Value>,
    method: String,
    params: Value,
}

/// Parses a line as a request. Returns `None` if the line is a response, because responses are ignored. If the line is
/// invalid, the error is the response to send.
fn parse(line: &str) -> Result<Option<Request>, Value> {
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

fn response(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => failure(id, &error),
    }
}

/// Returns an error response. `id` is `null` if the id of the request is unknown.
fn failure(id: &Value, RpcError(code, message): &RpcError) -> Value {
    let message = shortened(message, MAX_MESSAGE);
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// A JSON object, or an error message for the agent.
pub(crate) type Answer = Result<Value, ToolError>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolError {
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

/// Converts the answer of a tool to a result of the protocol. The result contains the answer twice: as an object, and as
/// text for clients that do not support objects.
///
/// An error of a tool is also sent as a result, because clients hide errors of the protocol from agents. It is only sent as
/// text, because clients compare objects with the tool's schema.
fn result(answer: Answer, words: fn(&Remedy) -> String) -> Value {
    let text = |value: &Value| json!([{ "type": "text", "text": value.to_string() }]);
    match answer {
        Ok(value) => {
            json!({ "content": text(&value), "structuredContent": value, "isError": false })
        }
        Err(error) => {
            let message = shortened(&error.message, MAX_MESSAGE);
            let help = error.help.as_ref().map(words);
            let error = json!({ "error": { "message": message, "help": help } });
            json!({ "content": text(&error), "isError": true })
        }
    }
}

/// Maximum number of characters of a message, which may quote a long request.
const MAX_MESSAGE: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_lines_are_reported_and_skipped() {
        let most = MAX_MESSAGE_BYTES as usize;
        let input = [
            b"one\n".to_vec(),
            b"\xff\n".to_vec(),
            [vec![b'x'; most - 1], b"\n".to_vec()].concat(),
            [vec![b'x'; most], b"\n".to_vec()].concat(),
            vec![b'\n'],
            [vec![b'x'; 3 * most], b"\n".to_vec()].concat(),
            b"last".to_vec(),
        ]
        .concat();
        let mut input = input.as_slice();
        let mut found = Vec::new();
        while let Some(line) = read_line(&mut input).unwrap() {
            found.push(line.map_or_else(|error| error.1, |line| line.len().to_string()));
        }
        let long = "a message is longer than 1048576 bytes";
        let not_text = "a message is not UTF-8: invalid utf-8 sequence of 1 bytes from index 0";
        let full = MAX_MESSAGE_BYTES.to_string();
        assert_eq!(found, ["4", not_text, &full, long, "1", long, "4"]);
    }
}

#[cfg(test)]
mod rpc_tests {
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
