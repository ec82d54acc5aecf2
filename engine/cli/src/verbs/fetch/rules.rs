//! `prep fetch --check-rules`: checks which rules must be accepted before bundles can be downloaded.

use std::time::Duration;

use clap::Args;
use prep_app::{Catalog, Permission, PermissionCheck, ask_all};
use prep_core::{Cancel, units};
use prep_fetch::FetchError;
use prep_spec::BASE_VARIANT;
use prep_spec::model::SourceLocation;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::downloads::{self, DownloadLimits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::browser;
use crate::output::table::PrintedTable;
use crate::session::{CliSession, VerbResult};

/// Options of `--check-rules`.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// List the rules that you must accept on Kaggle; download nothing
    #[arg(long, help_heading = HEADING)]
    pub check_rules: bool,
    /// Open the pages of rules to accept in the browser, at most 10
    #[arg(long, requires = "check_rules", help_heading = HEADING)]
    open: bool,
    /// Also check competitions whose rules were accepted at the last check
    #[arg(long, requires = "check_rules", help_heading = HEADING)]
    again: bool,
    /// Seconds between two requests
    #[arg(long, requires = "check_rules", value_name = "SECONDS", default_value = "1.5", value_parser = seconds, help_heading = HEADING)]
    pause: Duration,
}

const HEADING: &str = "Rules";

/// Maximum number of pages that are opened at once.
const MAX_PAGES: usize = 10;

/// The progress is shown after each group of this number of competitions.
const PROGRESS_INTERVAL: usize = 10;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds".to_owned())
}

/// Kaggle's answer for one competition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The bundle may be downloaded.
    Accepted,
    NotAccepted,
    /// The bundle cannot be downloaded for another reason.
    Failed,
    /// Kaggle accepts no more requests for now.
    NotAsked,
}

#[derive(Debug, Serialize)]
struct Row {
    id: String,
    state: State,
    /// The page on which the rules are accepted.
    url: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_json")]
    error: Option<CliError>,
}

/// A file of a further source.
#[derive(Debug, Serialize)]
struct SourceRow {
    id: String,
    name: String,
    url: String,
    /// Length of the file. `None` if it cannot be downloaded.
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_json")]
    error: Option<CliError>,
}

fn as_json<S: Serializer>(error: &Option<CliError>, serializer: S) -> Result<S::Ok, S::Error> {
    error.as_ref().map(CliError::json).serialize(serializer)
}

const INSTRUCTIONS: &str = "\
Open each address, signed in to Kaggle, and accept the rules. For a competition that is closed, its Rules tab (or its Data
tab) may still offer this, to an account whose phone number is verified; the grey \"Late Submission\" button has nothing to
do with it. Some old competitions may no longer admit new accounts: `prep run` prepares the others and lists these.";

impl RulesArgs {
    /// Checks the rules of `ids`.
    pub fn check(&self, session: &CliSession, ids: &[String]) -> VerbResult {
        let catalog = Catalog::open(&session.settings)?;
        let mut competitions = Vec::new();
        let mut files = Vec::new();
        for id in ids {
            let entry = catalog.get(id)?;
            let pipeline = entry.load(BASE_VARIANT).ok();
            for source in pipeline.iter().flat_map(|pipeline| &pipeline.sources) {
                if let SourceLocation::Url(file) = &source.place {
                    files.push((id.clone(), source.name.value.clone(), file.clone()));
                }
            }
            competitions.push(pipeline.map_or_else(|| id.clone(), |one| one.bundle.kaggle));
        }
        let (_watching, cancel) = interrupt::watched(&session.printer)?;
        let network =
            downloads::network(session, &DownloadLimits::default(), Purpose::Request).get()?;
        let total = competitions.len();
        let show_progress = |number: usize| {
            if number.is_multiple_of(PROGRESS_INTERVAL) && number < total {
                session
                    .printer
                    .message(format!("{number} of {total} checked"));
            }
        };
        let check = PermissionCheck {
            settings: &session.settings,
            network: &network,
            pause: self.pause,
            again: self.again,
            cancel: &cancel,
        };
        let answers = check.run(&competitions, show_progress)?;
        let competitions = ids.iter().zip(&competitions).zip(answers);
        let rows: Vec<Row> = competitions.map(row).collect();
        let sources = ask_all(&files, |(id, name, file)| {
            let length = network.file_length(&file.file, &file.url, &Cancel::default());
            source_row(id, name, &file.url, length)
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
            if let (State::Failed | State::NotAsked, Some(error)) = (row.state, &row.error) {
                session.printer.error(error);
            }
        }
        for row in &sources {
            if let Some(error) = &row.error {
                let mut error = error.clone();
                error.message = format!("{}: source `{}`: {}", row.id, row.name, error.message);
                session.printer.error(&error);
            }
        }
        if self.open {
            open(session, &rows);
        }
        if cancel.is_cancelled() {
            return Ok(Exit::Interrupted);
        }
        let errors = rows.iter().filter_map(|row| row.error.as_ref());
        let exits = errors.map(|error| error.exit);
        // Competitions without an answer take precedence, because the same command may succeed later.
        if exits.clone().any(|exit| exit == Exit::Away) {
            return Ok(Exit::Away);
        }
        let errors = sources.iter().filter_map(|row| row.error.as_ref());
        Ok(Exit::combine(exits.chain(errors.map(|error| error.exit))))
    }
}

/// Opens the pages of rules that are not accepted.
fn open(session: &CliSession, rows: &[Row]) {
    let pages: Vec<&Row> = rows
        .iter()
        .filter(|row| row.state == State::NotAccepted)
        .collect();
    for row in pages.iter().take(MAX_PAGES) {
        if let Err(error) = browser::open(&row.url, &session.places) {
            session.printer.warning(error);
            return;
        }
    }
    if pages.len() > MAX_PAGES {
        let left = pages.len() - MAX_PAGES;
        session.printer.message(format!(
            "opened {MAX_PAGES} pages; run the command again for the other {left}"
        ));
    }
}

fn row(((id, kaggle), answer): ((&String, &String), Permission)) -> Row {
    let (state, error) = match answer {
        Permission::Granted { .. } => (State::Accepted, None),
        Permission::Refused(error @ FetchError::RulesNotAccepted { .. }) => {
            (State::NotAccepted, Some(error))
        }
        Permission::Refused(error @ FetchError::Quota { .. }) => (State::NotAsked, Some(error)),
        Permission::Refused(error) => (State::Failed, Some(error)),
        Permission::NotRequested => (State::NotAsked, None),
    };
    Row {
        id: id.clone(),
        state,
        url: format!("https://www.kaggle.com/competitions/{kaggle}/rules"),
        error: error.map(|error| CliError::from(error).for_competition(id)),
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
        error: error.map(|error| CliError::from(error).for_competition(id)),
    }
}

/// Returns a line for each file of a further source.
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

/// Returns a summary, and instructions for the rules that are not accepted.
fn text(rows: &[Row]) -> String {
    let with = |state| rows.iter().filter(move |row| row.state == state);
    let mut text = format!(
        "{} of {} may be downloaded",
        with(State::Accepted).count(),
        rows.len()
    );
    let not_checked: Vec<&str> = with(State::NotAsked).map(|row| row.id.as_str()).collect();
    if !not_checked.is_empty() {
        text.push_str(&format!(", {} not checked", not_checked.len()));
    }
    text.push('\n');
    let open: Vec<&Row> = with(State::NotAccepted).collect();
    if !open.is_empty() {
        let mut table = PrintedTable::with_header("rules to accept  ");
        for row in open {
            table.row(vec![row.id.clone(), row.url.clone()]);
        }
        text.push_str(&format!("\n{}\n{INSTRUCTIONS}\n", table.render()));
    }
    if !not_checked.is_empty() {
        text.push_str(&format!("\nnot checked: {}\n", not_checked.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(id: &str, kaggle: &str, answer: Permission) -> Row {
        row(((&id.to_owned(), &kaggle.to_owned()), answer))
    }

    #[test]
    fn rules_to_accept_are_listed_with_their_addresses() {
        let granted = Permission::Granted { remembered: false };
        let refused = FetchError::RulesNotAccepted { id: "b".into() };
        let unknown = FetchError::NoSuchCompetition {
            id: "c".into(),
            message: String::new(),
        };
        let rows = [
            row_of("a", "a", granted),
            row_of("b", "b-at-kaggle", Permission::Refused(refused)),
            row_of("c", "c", Permission::Refused(unknown)),
        ];
        let shown = text(&rows);
        assert!(shown.starts_with(
            "1 of 3 may be downloaded\n\nrules to accept\nb                https://www.kaggle.com/competitions/b-at-kaggle/rules\n"
        ), "{shown}");
        assert!(shown.contains("phone") && shown.contains("may still offer"));
        assert_eq!(
            text(&rows[..1]),
            "1 of 1 may be downloaded\n",
            "all rules are accepted"
        );
        let exits = rows
            .each_ref()
            .map(|row| row.error.as_ref().map(|error| error.exit));
        assert_eq!(exits, [None, Some(Exit::Input), Some(Exit::Input)]);
        let rows = [
            rows.into_iter().next().unwrap(),
            row_of("d", "d", Permission::NotRequested),
        ];
        assert_eq!(
            text(&rows),
            "1 of 2 may be downloaded, 1 not checked\n\nnot checked: d\n"
        );
    }

    #[test]
    fn a_pause_is_a_number_of_seconds() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["", "-1", "soon", "NaN", "1e300"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
