//! `prep remote key`: creates and lists the keys that sign results.

use clap::{Args, Subcommand};
use prep_remote::SigningKey;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::table::PrintedTable;
use crate::session::{CliSession, VerbResult};

/// Create and list keys that sign results
#[derive(Debug, Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a key and print its public part
    #[command(after_help = "\
Examples:
  prep remote key new laptop

Users who trust your results add the public part to `trusted` in `[remote]` of their prep.toml.")]
    New {
        /// Name of the key: letters, digits, - and _
        name: String,
    },
    /// List the keys with their public parts
    #[command(after_help = "\
Examples:
  prep remote key list
  prep remote key list --json")]
    List,
}

impl KeyArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let directory = session.places.keys().ok_or_else(|| {
            CliError::usage("keys are stored in the home directory, but no home directory is set")
                .help("set XDG_CONFIG_HOME to a directory")
        })?;
        match &self.verb {
            Verb::New { name } => {
                let made = SigningKey::generate(name)?;
                let path = made.save(&directory)?;
                let public = made.public().to_string();
                session
                    .printer
                    .message(format!("keep {} secret", path.display()));
                let json = || json!({ "name": name, "public": public, "path": path });
                session.printer.show(json, || format!("{public}\n"))?;
                Ok(Exit::Success)
            }
            Verb::List => {
                let mut keys = Vec::new();
                let mut exit = Exit::Success;
                for signing_key in SigningKey::all(&directory) {
                    match signing_key {
                        Ok(signing_key) => keys.push((
                            signing_key.name().to_owned(),
                            signing_key.public().to_string(),
                        )),
                        Err(error) => {
                            exit = Exit::Machine;
                            session.printer.error(&error.into());
                        }
                    }
                }
                if session.printer.json {
                    let keys: Vec<_> = keys
                        .iter()
                        .map(|(name, public)| json!({ "name": name, "public": public }))
                        .collect();
                    session.printer.json(&json!({ "keys": keys }))?;
                } else {
                    let mut table = PrintedTable::with_header("name  public");
                    for (name, public) in keys {
                        table.row(vec![name, public]);
                    }
                    session.printer.table(&table)?;
                }
                Ok(exit)
            }
        }
    }
}
