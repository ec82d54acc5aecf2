//! Tests of `prep mcp`, the tools for agents, through a client of the Model Context Protocol.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Harbour, Sandbox};

pub struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    pub fn start(sandbox: &Sandbox, arguments: &[&str]) -> Client {
        let mut server = sandbox
            .command(&["mcp"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server");
        let input = server.stdin.take().expect("stdin");
        let output = BufReader::new(server.stdout.take().expect("stdout"));
        let mut client = Client {
            server,
            input,
            output,
            next: 0,
        };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = client.request("initialize", params);
        assert_eq!(hello["result"]["serverInfo"]["name"], "prep", "{hello}");
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a response");
        let response: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(response["id"], id, "{response}");
        response
    }

    /// Returns the object that the tool returns, and whether the object is an error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> (Value, bool) {
        let params = json!({ "name": tool, "arguments": arguments });
        let response = self.request("tools/call", params);
        let result = &response["result"];
        let text = result["content"][0]["text"].as_str().expect("a text");
        let value: Value = serde_json::from_str(text).expect("JSON");
        let is_error = result["isError"] == true;
        match is_error {
            // Clients compare objects with the schema, which describes no errors.
            true => assert_eq!(result.get("structuredContent"), None),
            false => {
                assert_eq!(value, result["structuredContent"]);
                self.assert_fits(tool, &value);
            }
        }
        (value, is_error)
    }

    /// Fails unless the competitions in an answer have exactly the members of the tool's schema, with the stated types.
    fn assert_fits(&mut self, tool: &str, answer: &Value) {
        let response = self.request("tools/list", json!({}));
        let tools = response["result"]["tools"].as_array().expect("tools");
        let tool = tools
            .iter()
            .find(|one| one["name"] == tool)
            .expect("a tool");
        let schema = &tool["outputSchema"]["properties"]["competitions"]["items"];
        let members = schema["properties"].as_object().expect("members");
        for competition in answer["competitions"].as_array().expect("competitions") {
            let found = competition.as_object().expect("an object");
            assert!(found.keys().eq(members.keys()), "{competition}");
            for (name, value) in found {
                let kind = match value {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::Number(_) => "number",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                    Value::Object(_) => "object",
                };
                let types = members[name]["type"].as_array().expect("types");
                assert!(types.contains(&kind.into()), "{name}: {value}");
            }
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let response = self.request("tools/list", json!({}));
        let tools = response["result"]["tools"].as_array().expect("tools");
        let names = tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name"));
        names.map(str::to_owned).collect()
    }

    pub fn close(mut self) {
        drop(self.input);
        assert!(self.server.wait().expect("the end").success());
    }
}

fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.run_and_count_steps(Harbour::ID);
    let sample = sandbox
        .prepared(Harbour::ID)
        .join("public/sample_submission.csv");
    sandbox.write("work/good.csv", std::fs::read(sample).expect("the sample"));
    sandbox.write("work/bad.csv", "id,docked\n1,0\n");
    sandbox
}

#[test]
fn agent_can_list_describe_and_validate_without_scores() {
    let sandbox = prepared();
    let mut client = Client::start(&sandbox, &["--submissions", "work"]);
    assert_eq!(client.tools(), ["list", "describe", "validate"]);
    let (listed, _) = client.call("list", json!({}));
    let all = listed["competitions"].as_array().expect("competitions");
    let harbour = all.iter().find(|one| one["id"] == Harbour::ID);
    assert_eq!(harbour.expect("harbour")["state"], "prepared");
    let (described, _) = client.call("describe", json!({ "id": Harbour::ID }));
    let one = &described["competitions"][0];
    let description = one["description"].as_str().expect("a description");
    assert!(description.contains("## Submission"), "{one}");
    let files = one["files"].as_array().expect("files");
    assert!(files.iter().any(|file| file["path"] == "train.csv"));
    let directory = Path::new(one["directory"].as_str().expect("a directory"));
    assert!(directory.is_absolute());
    for file in files {
        let path = directory.join(file["path"].as_str().expect("a path"));
        assert!(path.exists(), "{}", path.display());
    }
    assert!(!described.to_string().contains("private/"), "{described}");
    for (file, valid) in [("good.csv", true), ("bad.csv", false)] {
        let given = json!({ "id": Harbour::ID, "submission": file });
        let (found, is_error) = client.call("validate", given);
        let one = &found["competitions"][0];
        assert!(
            !is_error && one["valid"] == valid && one.get("score").is_none(),
            "{one}"
        );
    }
    let refused = client.request("tools/call", json!({ "name": "grade", "arguments": {} }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let mistyped = client.request("tools/call", json!({ "name": "validates" }));
    let message = mistyped["error"]["message"].as_str().expect("a message");
    assert!(message.contains("did you mean `validate`?"), "{message}");
    client.close();
}

#[test]
fn server_with_scores_grades_and_logs() {
    let sandbox = prepared();
    let mut client = Client::start(&sandbox, &["--submissions", "work", "--scores"]);
    let given = json!({ "id": Harbour::ID, "submission": "good.csv" });
    let (graded, is_error) = client.call("grade", given);
    assert!(
        !is_error && graded["competitions"][0]["score"].is_number(),
        "{graded}"
    );
    client.close();
    let log = sandbox.path("data/grades.jsonl");
    assert_eq!(
        std::fs::read_to_string(log).expect("a log").lines().count(),
        1
    );
}

#[test]
fn mistakes_of_an_agent_are_errors_with_help() {
    let sandbox = prepared();
    let answers = sandbox.prepared(Harbour::ID).join("private/answers.csv");
    let mut client = Client::start(&sandbox, &["--submissions", "work"]);
    for (tool, arguments, words) in [
        (
            "validate",
            json!({ "id": Harbour::ID, "submission": answers }),
            "not below the directory",
        ),
        (
            "validate",
            json!({ "id": Harbour::ID, "submission": "../home/x.csv" }),
            "not below the directory",
        ),
        (
            "validate",
            json!({ "id": Harbour::ID, "submission": "none.csv" }),
            "no file",
        ),
        (
            "validate",
            json!({ "id": Harbour::ID }),
            "needs `submission`",
        ),
        (
            "describe",
            json!({ "id": "spaceship-titanic" }),
            "not prepared",
        ),
        ("describe", json!({ "id": "no-such" }), "no-such"),
        ("describe", json!({ "id": 7 }), "is not a string"),
        ("list", json!({ "set": "huge" }), "no set `huge`"),
        ("list", json!({ "set": "lit" }), "no set `lit`"),
        ("list", json!({ "sets": "lite" }), "no parameter `sets`"),
    ] {
        let (found, is_error) = client.call(tool, arguments);
        let message = found["error"]["message"].as_str().expect("a message");
        assert!(is_error && message.contains(words), "{found}");
    }
    let (found, _) = client.call("describe", json!({ "id": "harbor" }));
    assert_eq!(found["error"]["help"], "did you mean `harbour`?");
    let (found, _) = client.call(
        "validate",
        json!({ "id": "harbor", "submission": "good.csv" }),
    );
    assert_eq!(found["error"]["help"], "did you mean `harbour`?");
    // `prep` neither compares a long id with other ids nor quotes the entire id.
    let begun = Instant::now();
    let (found, _) = client.call("describe", json!({ "id": "x".repeat(900_000) }));
    assert!(found.to_string().len() < 10_000 && begun.elapsed() < Duration::from_secs(5));
    let unknown = client.request("resources/list", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    client.close();
}

/// The server answers an invalid message with an error, and continues with the next message.
#[test]
fn unusable_lines_do_not_end_the_connection() {
    let sandbox = prepared();
    let mut client = Client::start(&sandbox, &["--submissions", "work"]);
    let long = [vec![b'x'; 3 << 20], b"\n".to_vec()].concat();
    for (line, words) in [
        (b"\xff\xfe\n".to_vec(), "not UTF-8"),
        (long, "longer than"),
        (b"{\n".to_vec(), "EOF"),
    ] {
        client.input.write_all(&line).expect("the server reads");
        let mut answer = String::new();
        client.output.read_line(&mut answer).expect("a response");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .expect("words")
                .contains(words)
        );
        assert_eq!(client.tools().len(), 3);
    }
    client.close();
}
