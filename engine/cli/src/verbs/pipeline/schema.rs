//! `prep pipeline schema`: the JSON Schema of pipeline files, for editors.

use clap::Args;

use crate::exit::Exit;
use crate::options::OutputArg;
use crate::session::{CliSession, VerbResult};

/// Print the JSON Schema of pipeline files
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prep pipeline schema -o pipeline.schema.json")]
pub struct SchemaArgs {
    #[command(flatten)]
    output: OutputArg,
}

impl SchemaArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let text = format!("{:#}\n", prep_app::schema());
        self.output.write(session, &text)?;
        Ok(Exit::Success)
    }
}
