//! Answers the requests of the Model Context Protocol: the description of the server, its list of tools, a call of a tool.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

use prep_app::{Catalog, Error, Grading, GradingLog, Remedy, Settings};
use serde_json::{Map, Value, json};

use crate::answer::result;
use crate::rpc::{self, INVALID_PARAMS, METHOD_NOT_FOUND, Request, RpcError};
use crate::tools::{ALL, Arguments, ToolDefinition};

/// Versions of the protocol that this server speaks, the latest first. They agree in everything that it uses.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Length of a message. Submissions are passed by path, so no message of a client is long.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;

const INSTRUCTIONS: &str = "Competitions of MLE-bench on this system. `list` shows them, `describe` has the task and the files of one, \
    `validate` checks a submission. All answers have a list `competitions`.";

/// Settings of a server. Its tools have no other access to the system.
pub struct McpOptions {
    pub catalog: Catalog,
    /// Settings of the variant that is served.
    pub settings: Settings,
    pub variant: String,
    /// Only submissions below this directory are read.
    pub submissions: PathBuf,
    /// Whether agents may ask for scores.
    pub scores: bool,
    /// The log of gradings with a score.
    pub log: GradingLog,
    /// Puts the remedy of an error into words.
    pub words: fn(&Remedy) -> String,
}

impl McpOptions {
    /// The prepared answers of a competition. With scores, its gradings are noted in the log of the data directory.
    ///
    /// # Errors
    /// Returns an error if the competition is not prepared, or its answers changed since.
    pub(crate) fn grading(&self, id: &str) -> Result<Grading, Error> {
        let grading = Grading::open(&self.catalog, &self.settings, id)?;
        Ok(match self.scores {
            true => grading.logged(&self.settings, &self.log),
            false => grading,
        })
    }

    fn tools(&self) -> impl Iterator<Item = &'static ToolDefinition> {
        let scores = self.scores;
        let all = ALL.iter().copied();
        all.filter(move |tool| scores || !tool.has_scores)
    }
}

/// Answers the client, one message after the other, until it closes its side.
///
/// # Errors
/// Returns an error if a message cannot be read, is not UTF-8 or too long, or if a response cannot be written.
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
            let tools: Vec<Value> = options.tools().map(ToolDefinition::schema).collect();
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
    let Some(tool) = options.tools().find(|tool| tool.name == name) else {
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
