//! `prep fetch`: downloads bundles without preparing anything.

use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use prep_app::{
    BundleListing, Catalog, ListedSource, Permission, PermissionCheck, PreparationOptions,
    RememberedOptions, Verify, ask_all,
};
use prep_core::{Cancel, units};
use prep_fetch::FetchError;
use prep_spec::BASE_VARIANT;
use prep_spec::model::SourceLocation;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::options::SourceArg;
use crate::output::plan::{option_text, show_recalled};
use crate::output::table::PrintedTable;
use crate::remote::RemoteArgs;
use crate::request::{DownloadLimits, Purpose};
use crate::select::{Selection, UnitArg};
use crate::session::{CliSession, Directories, VerbResult};
use crate::{process, request};

/// Download bundles, list files, or list rules to accept
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep fetch --lite --max-rate 20MB
  prep fetch --check-rules --lite --open
  prep fetch --list plant-pathology-2020-fgvc7 --json | jq '.competitions[0].files | length'

The command prints the path of each bundle. A bundle that you have is checked and not downloaded again. With a remote, bundles are sent to its mirror, and bundles that the mirror has are not downloaded.",
    after_long_help = LONG_EXAMPLES)]
pub struct FetchArgs {
    #[command(flatten)]
    selection: Selection,
    /// List the files of bundles; download nothing
    #[arg(long, conflicts_with = "check_rules")]
    list: bool,
    /// Send no request; check or list the bundles that you have
    #[arg(long, conflicts_with = "check_rules")]
    no_download: bool,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    source: SourceArg,
    /// Accept a bundle whose MD5 is not the published one
    #[arg(long)]
    skip_bundle_verification: bool,
    /// Without credentials, print the paths of the bundles that exist
    ///
    /// Without this option, the command ends with one error if several bundles are missing and no credentials exist.
    #[arg(long, hide_short_help = true)]
    keep_going: bool,
    /// With a remote: delete the local bundle once it is in the mirror
    #[arg(long, help_heading = "Downloads")]
    discard_bundle: bool,
    #[command(flatten)]
    unit: UnitArg,
    #[command(flatten)]
    limits: DownloadLimits,
    #[command(flatten)]
    remote: RemoteArgs,
}

const LONG_EXAMPLES: &str = "\
Examples:
  prep fetch --lite --max-rate 20MB
  prep fetch --check-rules --lite --open
  prep fetch --check-rules --all --json | jq -r '.competitions[] | select(.state == \"not_accepted\") | .url'
  prep fetch --list plant-pathology-2020-fgvc7 --json | jq '.competitions[0].files | length'

The command prints the path of each bundle. A bundle that you have is checked and not downloaded again. With a remote, bundles are sent to its mirror, and bundles that the mirror has are not downloaded.

--check-rules downloads one byte of each bundle, because an address alone does not prove access. Kaggle limits requests, \
so prep asks for one competition at a time and stops at the first \"too many requests\". prep remembers accepted rules for \
the account; run the command again to check the rest. The exit code is 0 if you may download all bundles, 7 if Kaggle \
limits requests or cannot be reached, and 4 if you must accept rules, Kaggle refuses the credentials or does not know a \
competition.

--list asks Kaggle for the listing of a bundle that you do not have. The id may be that of any competition. `used` marks \
the files that the pipeline reads; `prep run --partial` downloads only those.";

impl FetchArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let ids = self.selection.ids(session)?;
        if self.list {
            return list(session, &ids, &self.source, self.no_download);
        }
        if self.rules.check_rules {
            return self.rules.check(session, &ids);
        }
        let session = &session.linked(&self.remote)?;
        let given = RememberedOptions {
            source: self.source.dir().map(ToOwned::to_owned),
            verify: self.skip_bundle_verification.then_some(Verify::Outputs),
            ..RememberedOptions::default()
        };
        let options = PreparationOptions {
            keep_bundles: !self.discard_bundle,
            ..session.options_with(given)
        };
        let purpose = match self.no_download {
            true => Purpose::Unused,
            false => Purpose::Download,
        };
        let task = session.task(options, &self.limits, purpose)?;
        let ids = self.unit.part(session, &task.catalog, ids)?;
        for id in &ids {
            task.catalog.get(id)?;
        }
        let mut recalled = Vec::new();
        for id in &ids {
            let options = prep_app::recalled_for_fetch(&task, id)?;
            recalled.push((id.as_str(), options.into_iter().map(option_text).collect()));
        }
        show_recalled(&session.printer, recalled.into_iter());
        if session.settings.remote.is_none() && !self.keep_going {
            prep_app::require_credentials_for(&task, &ids)?;
        }
        let (_watching, cancel) = process::watched(&session.printer)?;
        let fetched = session.for_each_id(&ids, |id| {
            let path = match session.settings.remote {
                None => Some(prep_app::fetch(&task, id, &cancel)?),
                Some(_) => {
                    prep_app::mirror(&task, id, &cancel)?;
                    None
                }
            };
            if !session.printer.json {
                session.printer.result(&match &path {
                    Some(path) => format!("{}\n", path.display()),
                    None => format!("{id} is in the mirror\n"),
                })?;
            }
            Ok(path)
        });
        fetched.print_json(&session.printer, |id, path| match path {
            Some(path) => json!({ "id": id, "path": path }),
            None => json!({ "id": id, "mirrored": true }),
        })?;
        Ok(fetched.exit())
    }
}

pub fn list(
    session: &CliSession,
    ids: &[String],
    source: &SourceArg,
    no_download: bool,
) -> VerbResult {
    let options = session.options_with(RememberedOptions {
        source: source.dir().map(ToOwned::to_owned),
        ..RememberedOptions::default()
    });
    let purpose = Purpose::request_unless(no_download);
    let task = session.task(options, &DownloadLimits::default(), purpose)?;
    let listings = session.for_each_id(ids, |id| {
        let listing = prep_app::listing(&task, id)?;
        if !session.printer.json {
            session.printer.result(&render(&listing))?;
            session.printer.message(sum(&listing));
        }
        Ok(listing)
    });
    listings.print_json(&session.printer, |_, listing| json!(listing))?;
    Ok(listings.exit())
}

fn render(listing: &BundleListing) -> String {
    let mut table = PrintedTable::with_header(">size  >in bundle  used  file");
    for row in &listing.files {
        table.row(vec![
            units::bytes(row.bytes),
            units::bytes(row.compressed_bytes),
            if row.used { "used" } else { "-" }.to_owned(),
            row.path.clone(),
        ]);
    }
    let mut text = table.render();
    if !listing.sources.is_empty() {
        text.push_str(&format!("\n{}", render_sources(&listing.sources)));
    }
    text
}

fn render_sources(rows: &[ListedSource]) -> String {
    let mut table = PrintedTable::with_header(">size  source  place");
    for row in rows {
        let source = &row.source;
        let place = match (&source.path, &source.url) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(url)) => url.clone(),
            (None, None) => "a missing directory".to_owned(),
        };
        let file = source.file.as_deref().unwrap_or_default();
        table.row(vec![
            row.bytes.map_or("-".to_owned(), units::bytes),
            format!("{}:{file}", source.name),
            place,
        ]);
    }
    table.render()
}

/// Returns for example `12 files in 3.40 GB (on Kaggle); the pipeline uses 1.20 GB`.
fn sum(listing: &BundleListing) -> String {
    let place = match &listing.bundle {
        Some(path) => path.display().to_string(),
        None => "on Kaggle".to_owned(),
    };
    let mut text = format!(
        "{} in {} ({place})",
        units::count(listing.files.len() as u64, "file"),
        units::bytes(listing.bytes)
    );
    if let Some(used) = listing.used_bytes {
        text.push_str(&format!("; the pipeline uses {}", units::bytes(used)));
    }
    text
}

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

/// Maximum number of pages that one command opens in the browser.
const MAX_PAGES: usize = 10;

/// Number of checked competitions after which a message shows the progress.
const PROGRESS_INTERVAL: usize = 10;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The user may download the bundle.
    Accepted,
    NotAccepted,
    /// Kaggle refuses the bundle for another reason.
    Failed,
    /// The rules were not checked, because Kaggle accepts no more requests for now.
    NotAsked,
}

#[derive(Debug, Serialize)]
struct Row {
    id: String,
    state: State,
    /// The page on which users accept the rules.
    url: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_json")]
    error: Option<CliError>,
}

/// A file that a pipeline reads besides the bundle.
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
do with it. Some old competitions may no longer admit new accounts: `prep run` lists them and prepares the others.";

impl RulesArgs {
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
            match pipeline {
                Some(pipeline) => competitions.extend(pipeline.bundle.map(|bundle| bundle.kaggle)),
                None => competitions.push(id.clone()),
            }
        }
        let (_watching, cancel) = process::watched(&session.printer)?;
        let network =
            request::network(session, &DownloadLimits::default(), Purpose::Request).get()?;
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
        // `Exit::Away` takes precedence, because the same command may succeed later.
        if exits.clone().any(|exit| exit == Exit::Away) {
            return Ok(Exit::Away);
        }
        let errors = sources.iter().filter_map(|row| row.error.as_ref());
        Ok(Exit::combine(exits.chain(errors.map(|error| error.exit))))
    }
}

/// Opens the pages of the rules that the user has not accepted.
fn open(session: &CliSession, rows: &[Row]) {
    let pages: Vec<&Row> = rows
        .iter()
        .filter(|row| row.state == State::NotAccepted)
        .collect();
    for row in pages.iter().take(MAX_PAGES) {
        if let Err(error) = open_in_browser(&row.url, &session.places) {
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

/// Returns a summary, and instructions for rules that the user has not accepted.
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

/// Opens a page with the program that `BROWSER` names, otherwise with the system's default browser.
fn open_in_browser(url: &str, places: &Directories) -> Result<(), String> {
    let system = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let program = places.text("BROWSER");
    let program = program.as_deref().unwrap_or(system);
    let mut command = Command::new(program);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Does not wait for the browser, which may stay open.
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "cannot open pages with {program}: {}; set BROWSER, or open the addresses by hand",
            prep_app::for_people(&error.to_string())
        )),
    }
}

#[cfg(test)]
mod rules_tests {
    use super::*;

    fn row_of(id: &str, kaggle: &str, answer: Permission) -> Row {
        row(((&id.to_owned(), &kaggle.to_owned()), answer))
    }

    #[test]
    fn rules_to_accept_are_listed_with_their_addresses() {
        let granted = Permission::Granted { remembered: false };
        let refused = FetchError::RulesNotAccepted { id: "b".into() };
        let unknown = FetchError::NoSuchCompetition {
            host: "api.kaggle.com".to_owned().into(),
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
