//! `prep schema`: the JSON Schema of pipeline files, for editors.

use clap::Args;

use crate::exit::Exit;
use crate::session::{Ended, Session};

/// Print the JSON Schema of pipeline files, for editors.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prep schema > pipeline.schema.json")]
pub struct Schema {}

impl Schema {
    pub fn call(&self, session: &Session) -> Ended {
        session.printer.json(&prep_app::schema())?;
        Ok(Exit::Success)
    }
}
