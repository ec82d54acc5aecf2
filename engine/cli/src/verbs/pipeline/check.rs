//! `prep pipeline check`: checks pipeline files, for editors and commit hooks.

use std::path::PathBuf;

use clap::Args;
use prep_app::Error;
use serde::Serialize;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::remedy::words;
use crate::session::{CliSession, VerbResult};

/// Check pipeline files in all variants
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline check pipelines/spaceship-titanic/pipeline.yaml
  git diff --name-only --cached -- '*/pipeline.yaml' | xargs -r prep pipeline check

The check covers keys, queries and grading, and needs no bundle. Each mistake is a line FILE:LINE:COLUMN: error: MESSAGE on \
stdout. The exit code is 3 if there is a mistake.")]
pub struct CheckArgs {
    /// A file `pipeline.yaml`
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// A mistake in the JSON output.
#[derive(Debug, Serialize)]
struct Mistake {
    file: String,
    line: Option<usize>,
    column: Option<usize>,
    code: Option<&'static str>,
    message: String,
    help: Option<String>,
}

impl Mistake {
    fn without_place(file: &str, message: &str, help: Option<String>) -> Mistake {
        Mistake {
            file: file.to_owned(),
            line: None,
            column: None,
            code: None,
            message: message.to_owned(),
            help,
        }
    }
}

impl CheckArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let (mut found, mut text, mut exits) = (Vec::new(), String::new(), Vec::new());
        for file in &self.files {
            let Err(error) = prep_app::check(file) else {
                continue;
            };
            let name = file.display().to_string();
            match &error.diagnostics {
                Some(_) => text.push_str(&format!("{}\n", error.to_string().trim_end())),
                None => text.push_str(&format!("{name}: error: {}\n", error.message)),
            }
            found.extend(mistakes(&name, &error));
            exits.push(CliError::from(error).exit);
        }
        let json = || json!({ "mistakes": found });
        session.printer.show(json, || text)?;
        Ok(Exit::combine(exits))
    }
}

fn mistakes(file: &str, error: &Error) -> Vec<Mistake> {
    let Some(diagnostics) = &error.diagnostics else {
        return vec![Mistake::without_place(
            file,
            &error.message,
            error.help.as_ref().and_then(words),
        )];
    };
    let found = diagnostics.iter().map(|diagnostic| {
        let (line, column) = diagnostics.source().position(diagnostic.span.start);
        Mistake {
            file: file.to_owned(),
            line: Some(line),
            column: Some(column),
            code: Some(diagnostic.code),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
        }
    });
    let rest = diagnostics.rest();
    let rest = rest.map(|rest| Mistake::without_place(file, &rest, None));
    found.chain(rest).collect()
}
