//! `prep rules`: which competitions' rules are still to be accepted, before anything is downloaded.

use clap::Args;
use prep_app::{Catalog, ask_all};
use prep_core::{Cancel, units};
use prep_fetch::FetchError;
use prep_spec::BASE_VARIANT;
use prep_spec::model::Place;
use serde::Serialize;
use serde_json::json;

use crate::downloads::{self, Limits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::table::{Align, Table};
use crate::select::Selection;
use crate::session::{Ended, Session};

/// List the rules that are still to be accepted on Kaggle before bundles can be downloaded
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep rules --lite
  prep rules spaceship-titanic dog-breed-identification
  prep rules --all --json | jq -r '.competitions[] | select(.state == \"not_accepted\") | .url'

Downloads nothing. Files that a pipeline has beside its bundle have no rules; they are asked for, too. \
The exit code is 0 if all bundles may be downloaded, 4 if rules are to be \
accepted, the credentials are refused or a competition is not known.")]
pub struct Rules {
    #[command(flatten)]
    selection: Selection,
}

/// What Kaggle says of one competition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The bundle may be downloaded.
    Accepted,
    NotAccepted,
    /// Something else is in the way.
    Failed,
}

#[derive(Debug, Serialize)]
struct Row {
    id: String,
    state: State,
    /// Where the rules are accepted.
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    exit: Exit,
}

/// A file beside a bundle.
#[derive(Debug, Serialize)]
struct SourceRow {
    id: String,
    name: String,
    url: String,
    /// Its length; none if it cannot be downloaded.
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    exit: Exit,
}

const HOW: &str = "\
Open each address, signed in to Kaggle, and accept the rules. For a competition that is closed, its Rules tab (or its Data
tab) still offers this, to an account whose phone number is verified; the grey \"Late Submission\" button has nothing to do
with it.";

impl Rules {
    pub fn call(&self, session: &Session) -> Ended {
        let ids = self.selection.ids()?;
        let catalog = Catalog::of(&session.settings)?;
        let mut competitions = Vec::new();
        let mut files = Vec::new();
        for id in &ids {
            let entry = catalog.get(id)?;
            let pipeline = entry.load(BASE_VARIANT).ok();
            for source in pipeline.iter().flat_map(|pipeline| &pipeline.sources) {
                if let Place::Url(file) = &source.place {
                    files.push((id.clone(), source.name.value.clone(), file.clone()));
                }
            }
            let kaggle = pipeline.map_or_else(|| id.clone(), |pipeline| pipeline.bundle.kaggle);
            competitions.push((id.clone(), kaggle));
        }
        let network = downloads::network(session, &Limits::default(), Purpose::Question).get()?;
        let rows = ask_all(&competitions, |(id, kaggle)| {
            let access = network.check_access(kaggle, &Cancel::default());
            row(id, kaggle, access.map(|_| ()))
        });
        let sources = ask_all(&files, |(id, name, file)| {
            source_row(
                id,
                name,
                &file.url,
                network.length(&file.file, &file.url, &Cancel::default()),
            )
        });
        if session.printer.json {
            let mut json = json!({ "competitions": rows });
            if !sources.is_empty() {
                json["sources"] = json!(sources);
            }
            session.printer.json(&json)?;
        } else {
            session.printer.result(&text(&rows))?;
            session.printer.result(&text_of_sources(&sources))?;
        }
        for row in &rows {
            if let (State::Failed, Some(error)) = (row.state, &row.error) {
                let error = CliError::new(row.exit, format!("{}: {error}", row.id));
                session.printer.error(&error);
            }
        }
        for row in &sources {
            if let Some(error) = &row.error {
                let message = format!("{}: source `{}`: {error}", row.id, row.name);
                session.printer.error(&CliError::new(row.exit, message));
            }
        }
        let exits = rows.iter().map(|row| row.exit);
        Ok(Exit::combine(
            exits.chain(sources.iter().map(|row| row.exit)),
        ))
    }
}

fn row(id: &str, kaggle: &str, access: Result<(), FetchError>) -> Row {
    let (state, error) = match access {
        Ok(()) => (State::Accepted, None),
        Err(error @ FetchError::RulesNotAccepted { .. }) => (State::NotAccepted, Some(error)),
        Err(error) => (State::Failed, Some(error)),
    };
    Row {
        id: id.to_owned(),
        state,
        url: format!("https://www.kaggle.com/competitions/{kaggle}/rules"),
        exit: error
            .as_ref()
            .map_or(Exit::Success, |error| Exit::of(error.failure())),
        error: error.map(|error| error.to_string()),
    }
}

fn source_row(id: &str, name: &str, url: &str, length: Result<u64, FetchError>) -> SourceRow {
    let (bytes, error) = match length {
        Ok(bytes) => (Some(bytes), None),
        Err(error) => (None, Some(error)),
    };
    SourceRow {
        id: id.to_owned(),
        name: name.to_owned(),
        url: url.to_owned(),
        bytes,
        exit: error
            .as_ref()
            .map_or(Exit::Success, |error| Exit::of(error.failure())),
        error: error.map(|error| error.to_string()),
    }
}

/// A line per file beside a bundle.
fn text_of_sources(rows: &[SourceRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let state = match row.bytes {
            Some(bytes) => format!("may be downloaded, {}", units::bytes(bytes)),
            None => "cannot be downloaded".to_owned(),
        };
        let (id, name, url) = (&row.id, &row.name, &row.url);
        text.push_str(&format!("{id}: source `{name}`: {state} ({url})\n"));
    }
    text
}

/// A line of numbers, then what is to be done.
fn text(rows: &[Row]) -> String {
    let with = |state| rows.iter().filter(move |row| row.state == state);
    let mut text = format!(
        "{} of {} may be downloaded\n",
        with(State::Accepted).count(),
        rows.len()
    );
    let open: Vec<&Row> = with(State::NotAccepted).collect();
    if open.is_empty() {
        return text;
    }
    let mut table = Table::new(&[("rules to accept", Align::Left), ("", Align::Left)]);
    for row in open {
        table.row(vec![row.id.clone(), row.url.clone()]);
    }
    text.push_str(&format!("\n{}\n{HOW}\n", table.render()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_accepted_is_a_list_of_addresses() {
        let refused = FetchError::RulesNotAccepted { id: "b".into() };
        let unknown = FetchError::NoSuchCompetition {
            id: "c".into(),
            message: String::new(),
        };
        let rows = [
            row("a", "a", Ok(())),
            row("b", "b-at-kaggle", Err(refused)),
            row("c", "c", Err(unknown)),
        ];
        let shown = text(&rows);
        assert!(shown.starts_with(
            "1 of 3 may be downloaded\n\nrules to accept\nb                https://www.kaggle.com/competitions/b-at-kaggle/rules\n"
        ), "{shown}");
        assert!(shown.contains("phone"));
        assert_eq!(
            text(&rows[..1]),
            "1 of 1 may be downloaded\n",
            "nothing to do, nothing to say"
        );
        let exits: Vec<Exit> = rows.iter().map(|row| row.exit).collect();
        assert_eq!(exits, [Exit::Success, Exit::Input, Exit::Input]);
    }
}
