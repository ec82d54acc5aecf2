//! `prep definitions`: every competition's definition as JSON. The Python package makes the benchmark's files of it.

use clap::Args;
use prep_app::{described, lists};
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::session::{Ended, Session};

/// Print each competition's definition: config, leaderboard, checksums, description
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  prep definitions | jq .lists.low"
)]
pub struct Definitions {}

impl Definitions {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = session.catalog()?;
        let all = catalog
            .iter()
            .filter_map(|entry| Some((entry.id.clone(), described(entry)?)));
        let all: Map<String, Value> = all.collect();
        let lists: Map<String, Value> = lists()
            .map(|(name, ids)| (name.to_owned(), json!(ids)))
            .collect();
        session
            .printer
            .json(&json!({ "competitions": all, "lists": lists }))?;
        Ok(Exit::Success)
    }
}
