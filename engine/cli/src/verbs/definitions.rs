//! `prep definitions`: what the benchmark's own package keeps of each competition, as files. The Python package calls it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Catalog, Definition, Entry, Error, definition, lists};
use serde_json::{Map, Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::file::write_whole;
use crate::{Ended, Session};

/// Write each competition's definition as the benchmark's package keeps it: config, leaderboard, checksums, description
#[derive(Debug, Args)]
#[command(hide = true, after_help = "Examples:\n  prep definitions competitions")]
pub struct Definitions {
    /// Folder to write into; made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The functions of a competition in Python: name, imports, parameters, their names, result.
const FUNCTIONS: [(&str, &str, &str, &str, &str); 2] = [
    (
        "grade",
        "from typing import Any",
        "submission: Any, answers: Any",
        "submission, answers",
        "float",
    ),
    (
        "prepare",
        "from pathlib import Path",
        "raw: Path, public: Path, private: Path",
        "raw, public, private",
        "Path",
    ),
];

impl Definitions {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = Catalog::of(&session.settings)?;
        let mut index = Map::new();
        for entry in catalog.iter() {
            if let Some(found) = facts(entry) {
                self.write_files(entry, &found)?;
                index.insert(entry.id.clone(), found);
            }
        }
        for (name, ids) in lists() {
            self.write(&format!("splits/{name}.txt"), &ids.join("\n"))?;
        }
        // Last: whoever finds it finds the rest.
        self.write("index.json", &(Value::Object(index).to_string() + "\n"))?;
        Ok(Exit::Success)
    }

    fn write_files(&self, entry: &Entry, facts: &Value) -> Result<(), CliError> {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default();
        let file = |name: &str| format!("{}/{name}", entry.id);
        self.write(
            &file("leaderboard.csv"),
            entry.leaderboard.as_deref().unwrap_or("score\n"),
        )?;
        self.write(&file("description.md"), text("description"))?;
        self.write(&file("checksums.yaml"), &checksums(entry))?;
        let id = &entry.id;
        let mut config = String::new();
        let quoted = |text: &str| Value::from(text).to_string();
        // Writing to a String cannot fail.
        let _ = write!(
            config,
            "id: {id}\nname: {}\ncompetition_type: {}\ndescription: mlebench/competitions/{id}/description.md\n\n\
             dataset:\n  answers: {id}/prepared/{}\n  sample_submission: {id}/prepared/{}\n",
            quoted(text("name")),
            text("competition_type"),
            text("answers"),
            text("sample_submission"),
        );
        if text("gold_submission") != text("answers") {
            let _ = writeln!(
                config,
                "  gold_submission: {id}/prepared/{}",
                text("gold_submission")
            );
        }
        let _ = write!(
            config,
            "\ngrader:\n  name: {}\n  grade_fn: mlebench.competitions.{id}.grade:grade\n\n\
             preparer: mlebench.competitions.{id}.prepare:prepare\n",
            text("metric"),
        );
        self.write(&file("config.yaml"), &config)?;
        for (name, imports, parameters, names, result) in FUNCTIONS {
            let code = format!(
                "\"\"\"The program does it; see mlebench._competition.\"\"\"\n\n{imports}\n\n\
                 from mlebench import _competition\n\n\n\
                 def {name}({parameters}) -> {result}:\n    return _competition.{name}({}, {names})\n",
                quoted(id)
            );
            self.write(&file(&format!("{name}.py")), &code)?;
        }
        Ok(())
    }

    /// Writes a file as a whole: others may be reading it.
    fn write(&self, name: &str, text: &str) -> Result<(), CliError> {
        let path = self.folder.join(name);
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .map_err(|error| Error::writing("make the folder", folder, &error))?;
        Ok(write_whole(&path, |out| out.write_all(text.as_bytes()))?)
    }
}

/// What is known of a competition: of the benchmark's what it says, of others what their pipeline says.
fn facts(entry: &Entry) -> Option<Value> {
    let prose = |name: &str| match entry.description.as_deref() {
        Some(text) if !text.trim().is_empty() => text.to_owned(),
        _ => format!("# {name}\n"),
    };
    if let Some(Definition {
        id: _,
        name,
        kind,
        metric,
        answers,
        sample_submission,
        gold_submission,
    }) = definition(&entry.id)
    {
        return Some(json!({
            "name": name,
            "competition_type": kind,
            "metric": metric,
            "answers": answers,
            "sample_submission": sample_submission,
            "gold_submission": gold_submission,
            "description": prose(name),
            "benchmark": true,
        }));
    }
    let pipeline = entry.load(prep_spec::BASE_VARIANT).ok()?;
    let grade = pipeline.grade.as_ref()?;
    let rules = &grade.value.rules;
    let answers = &grade.value.answers.value;
    let outputs = pipeline.public.iter().map(|output| &output.path.value);
    let samples = |path: &&String| path.to_lowercase().contains("sample") && path.ends_with(".csv");
    let sample = outputs
        .clone()
        .find(samples)
        .map_or("sample_submission.csv", String::as_str);
    let name = pipeline.name.clone();
    Some(json!({
        "description": prose(&name),
        "name": name,
        "competition_type": "simple",
        "metric": rules.get("metric").and_then(Value::as_str).unwrap_or("score"),
        "answers": answers,
        "sample_submission": format!("public/{sample}"),
        "gold_submission": answers,
        "benchmark": false,
    }))
}

/// The published checksums as YAML, in the benchmark's form.
fn checksums(entry: &Entry) -> String {
    let sums: Value = entry
        .checksums
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let mut text = String::new();
    for section in ["private", "public"] {
        let files = sums.get(section).and_then(Value::as_object);
        let mut files: Vec<_> = files.into_iter().flatten().collect();
        files.sort_by_key(|(name, _)| (*name).clone());
        text.push_str(section);
        text.push_str(if files.is_empty() { ": {}\n" } else { ":\n" });
        for (name, sum) in files {
            let _ = writeln!(text, "  {name}: {}", sum.as_str().unwrap_or_default());
        }
    }
    if let Some(sum) = sums.get("bundle").and_then(Value::as_str) {
        let _ = writeln!(text, "zip: {sum}");
    }
    text
}
