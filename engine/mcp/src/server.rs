//! Answers the requests of the Model Context Protocol: initialization, the list of tools, and calls of tools.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Map, Value, json};

use crate::answer::result;
use crate::options::McpOptions;
use crate::rpc::{self, INVALID_PARAMS, METHOD_NOT_FOUND, Request, RpcError};
use crate::tools::{ALL, Arguments, ToolDefinition};

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

/// Answers the client's messages one after the other, until the client closes the input.
///
/// # Errors
/// Returns an error if a message cannot be read, is not UTF-8 or is too long, or if a response cannot be written.
pub fn serve(
    options: &McpOptions,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        let mut message = input.by_ref().take(MAX_MESSAGE_BYTES);
        if message.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if !line.ends_with('\n') && line.len() as u64 == MAX_MESSAGE_BYTES {
            let message = format!("a message is longer than {MAX_MESSAGE_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if line.trim().is_empty() {
            continue;
        }
        let response = match rpc::parse(&line) {
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
