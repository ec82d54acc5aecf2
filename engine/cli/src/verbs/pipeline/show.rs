//! `prep pipeline show`: pipelines with the definitions of their competitions.

use clap::Args;
use prep_app::{CatalogEntry, lists, upstream_facts};
use serde_json::{Map, Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::OutputArg;
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Print pipelines, also built-in ones
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline show spaceship-titanic
  prep pipeline show spaceship-titanic -o my/spaceship-titanic/pipeline.yaml
  prep pipeline show --all --json | jq '.competitions[] | {id, metric}'

With --json, the command also prints description, leaderboard, published checksums and the names that upstream uses. \
Without an ID, it then prints all competitions.")]
pub struct ShowArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    output: OutputArg,
}

impl ShowArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let ids = match session.printer.json {
            true => self.selection.ids_or(|| {
                let all = catalog.iter().map(|entry| entry.id.clone());
                Ok(all.collect())
            })?,
            false => self.selection.ids()?,
        };
        let entries = ids.iter().map(|id| catalog.get(id));
        let entries: Vec<&CatalogEntry> = entries.collect::<Result<_, _>>()?;
        let text = match session.printer.json {
            true => whole(&entries),
            false => texts(&entries)?,
        };
        self.output.write(session, &text)?;
        Ok(Exit::Success)
    }
}

/// The pipelines; several are documents of one YAML stream.
fn texts(entries: &[&CatalogEntry]) -> Result<String, CliError> {
    let texts = entries.iter().map(|entry| entry.pipeline());
    let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
    Ok(texts.join("---\n"))
}

fn whole(entries: &[&CatalogEntry]) -> String {
    let one = |entry: &&CatalogEntry| {
        let mut all = json!({ "id": entry.id, "pipeline": entry.pipeline.as_deref() });
        if let (Some(all), Some(Value::Object(facts))) =
            (all.as_object_mut(), upstream_facts(entry))
        {
            all.extend(facts);
        }
        all
    };
    let competitions: Vec<Value> = entries.iter().map(one).collect();
    let lists: Map<String, Value> = lists()
        .map(|(name, ids)| (name.to_owned(), json!(ids)))
        .collect();
    format!(
        "{:#}\n",
        json!({ "competitions": competitions, "lists": lists })
    )
}
