//! Serves tools for agents with the Model Context Protocol: list competitions, describe a competition, and validate or
//! grade a submission.
//!
//! ```text
//! rpc      messages of JSON-RPC, and the competitions and files that tools can access
//! tools    the tools
//! ```
//!
//! The tool `grade` exists only if the server was started with scores, because an agent that gets scores can optimize
//! against the answers. Tools read `private` only to compare a submission with the answers, and no result contains an
//! answer.
//!
//! Submissions are files. A server opens only regular files below one directory, without following links, because a
//! message about an invalid submission quotes cells of the file. It opens no file in the data directory or the cache.
//!
//! A server of tools needs only four requests of the protocol, so this crate implements them itself. The official
//! library (`rmcp`) depends on an asynchronous runtime and enables features of `chrono`, which would require compiling
//! DataFusion a second time.

mod rpc;
mod tools;

use std::io::{self, BufRead, Read, Write};

use serde_json::{Map, Value, json};

use crate::rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR, Request, RpcError, result};
use crate::tools::{ALL, Arguments, ToolDefinition};

pub use rpc::McpOptions;

/// Versions of the protocol that this server speaks, the latest first. They do not differ in the features that it uses.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Maximum length of a message in bytes. Submissions are passed as paths, so messages are short.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;

const INSTRUCTIONS: &str = "Competitions of MLE-bench on this system. `list` shows them, `describe` shows the task and the files of a competition, \
    `validate` checks a submission. All answers have a list `competitions`.";

/// Returns the tools that the server offers.
fn tools(options: &McpOptions) -> impl Iterator<Item = &'static ToolDefinition> {
    let scores = options.scores;
    let all = ALL.iter().copied();
    all.filter(move |tool| scores || !tool.has_scores)
}

/// Answers the client's messages one after the other, until the client closes the input. A message that is not UTF-8 or
/// is too long gets an error as its answer.
///
/// # Errors
/// Returns an error if the input cannot be read or a response cannot be written.
pub fn serve(
    options: &McpOptions,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    while let Some(line) = read_line(&mut input)? {
        let request = match &line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => rpc::parse(line),
            Err(error) => Err(rpc::failure(&Value::Null, error)),
        };
        let response = match request {
            Ok(Some(Request {
                id: Some(id),
                method,
                params,
            })) => rpc::response(&id, answer(options, &method, params)),
            // Notifications and responses need no answer.
            Ok(_) => continue,
            Err(response) => response,
        };
        writeln!(output, "{response}")?;
        output.flush()?;
    }
    Ok(())
}

/// Reads the next line, or passes over it if it is not a message. Returns `None` at the end of the input.
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
        return Err(RpcError(
            INVALID_PARAMS,
            format!("there is no tool `{name}`"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_lines_are_passed_over() {
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
