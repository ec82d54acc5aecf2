//! `prep pipeline fmt`: formats pipeline files.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::file::write_atomically;
use crate::session::{CliSession, VerbResult};

/// Format pipeline files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline fmt pipelines/*/pipeline.yaml
  prep pipeline fmt --check pipelines/*/pipeline.yaml

The command removes spaces at the ends of lines, carriage returns, and empty lines at the beginning, at the end and next \
to each other. It keeps comments, and it does not write a file whose meaning would change. With --check, the exit code is 1 \
if a file would change.")]
pub struct FmtArgs {
    /// Pipeline files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// List the files that would change; write nothing
    #[arg(long)]
    check: bool,
}

impl FmtArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let names: Vec<String> = self
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let formatted = session.for_each_id(&names, |name| {
            let file = std::path::Path::new(name);
            let text = prep_app::format_pipeline(file)?;
            if let (Some(text), false) = (&text, self.check) {
                write_atomically(file, |out| out.write_all(text.as_bytes()))?;
            }
            Ok(text.is_some())
        });
        let changed = formatted.results().filter(|(_, changed)| **changed);
        let changed: Vec<&str> = changed.map(|(name, _)| name).collect();
        let lines = || changed.iter().map(|name| format!("{name}\n")).collect();
        let json = || json!({ "changed": changed });
        session.printer.show(json, lines)?;
        Ok(match formatted.exit() {
            Exit::Success if self.check && !changed.is_empty() => Exit::No,
            failed => failed,
        })
    }
}
