//! `prep rules`: which competitions' rules are still to be accepted, before anything is downloaded.

use clap::Args;
use prep_app::{Catalog, ask_all};
use prep_fetch::FetchError;
use serde::Serialize;
use serde_json::json;

use crate::downloads::{self, Limits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::table::{Align, Table};
use crate::select::Selection;
use crate::{Ended, Session};

/// List the rules that are still to be accepted on Kaggle before bundles can be downloaded
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep rules --lite
  prep rules spaceship-titanic dog-breed-identification
  prep rules --all --json | jq -r '.competitions[] | select(.state == \"not_accepted\") | .url'

Downloads nothing. The exit code is 0 if all bundles may be downloaded, 4 if rules are to be
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

const HOW: &str = "\
Open each address, signed in to Kaggle, and accept the rules. For a competition that is closed, its Rules tab (or its Data
tab) still offers this, to an account whose phone number is verified; the grey \"Late Submission\" button has nothing to do
with it.";

impl Rules {
    pub fn call(&self, session: &Session) -> Ended {
        let ids = self.selection.ids()?;
        let catalog = Catalog::of(&session.settings)?;
        let mut competitions = Vec::new();
        for id in &ids {
            competitions.push((id.clone(), catalog.get(id)?.kaggle()));
        }
        let network = downloads::network(session, &Limits::default(), Purpose::Question).get()?;
        let rows = ask_all(&competitions, |(id, kaggle)| {
            row(id, kaggle, network.check_access(kaggle))
        });
        if session.printer.json {
            session.printer.json(&json!({ "competitions": rows }))?;
        } else {
            session.printer.result(&text(&rows))?;
        }
        for row in &rows {
            if let (State::Failed, Some(error)) = (row.state, &row.error) {
                let error = CliError::new(row.exit, format!("{}: {error}", row.id));
                session.printer.error(&error);
            }
        }
        Ok(Exit::combine(rows.iter().map(|row| row.exit)))
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
