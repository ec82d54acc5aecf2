//! `prep mcp`: serves tools for agents on stdin and stdout.

use std::path::PathBuf;

use clap::Args;
use prep_app::SubmissionDirectory;
use prep_mcp::McpOptions;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::{LogArgs, VariantArg};
use crate::remedy;
use crate::session::{CliSession, VerbResult};

/// Serve tools for agents: list, describe, validate (MCP)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep mcp
  prep mcp --submissions /submissions --data-dir /data
  claude mcp add prep -- prep mcp

The server speaks the Model Context Protocol on stdin and stdout. Its tools are `list`, `describe` and `validate`; with \
--scores also `grade`. Use --scores only if agents may see scores during their search. Gradings are logged in DATA/grades.jsonl.")]
pub struct McpArgs {
    /// Also offer the tool `grade`, whose answers have scores and medals
    #[arg(long)]
    scores: bool,
    /// Read submissions only below this directory [default: the current one]
    ///
    /// Links are not followed, and no file in the data directory or the cache is read.
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    submissions: PathBuf,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    log: LogArgs,
}

impl McpArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let settings = &session.settings;
        let forbidden = vec![settings.data_dir.clone(), settings.store_dir.clone()];
        let submissions = SubmissionDirectory::new(&self.submissions, forbidden)?;
        let options = McpOptions {
            catalog: session.catalog()?,
            settings: self.variant.settings(session),
            variant: self.variant.variant.clone(),
            submissions,
            scores: self.scores,
            log: self.log.log(session),
            words: |one| remedy::words(one).unwrap_or_default(),
        };
        prep_mcp::serve(&options, std::io::stdin().lock(), std::io::stdout().lock())
            .map_err(|error| CliError::new(Exit::Machine, format!("cannot continue: {error}")))?;
        Ok(Exit::Success)
    }
}
