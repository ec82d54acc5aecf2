//! Functions that several verbs share: they plan and prepare competitions with [`Task`], [`Plan`] and [`Run`], call a
//! function for each id and print its errors, and set up the network.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use parking_lot::Mutex;
use prep_app::{
    Catalog, Error, Note, Plan, Preparation, PreparationOptions, RememberedOptions, Run, Task,
};
use prep_core::{Cancel, Failure, units};
use prep_fetch::{DownloadOptions, FetchError, FoundCredentials, LazyNetwork, Network, Watcher};
use prep_spec::joined;
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::global::{at_least_one, positive_size};
use crate::options::PreparationArgs;
use crate::output::printer::{Notice, Printer};
use crate::output::progress::Display;
use crate::output::progress::activity::Activity;
use crate::output::{plan, summary};
use crate::process::{STOPPING, watch};
use crate::session::{CliSession, not_a_directory};

/// Maximum number of equal errors that are printed. One line lists the other competitions with the same error.
const MAX_EQUAL_ERRORS: usize = 3;

/// Maximum number of ids in the line about other competitions with the same error.
const MAX_IDS: usize = 5;

impl CliSession {
    pub fn catalog(&self) -> Result<Catalog, CliError> {
        self.require_directory("pipelines", self.settings.pipelines.as_deref())?;
        Ok(Catalog::open(&self.settings)?)
    }

    /// Returns an error with its place if `dir`, the value of the setting `name`, is not a directory. For options, errors of
    /// the libraries suffice.
    fn require_directory(&self, name: &str, dir: Option<&Path>) -> Result<(), CliError> {
        let origin = self.places.origin(name);
        match not_a_directory(dir, origin).filter(|_| origin != "option") {
            Some(text) => Err(CliError::new(Exit::Input, format!("`{name}`: {text}"))
                .help("create the directory, or correct the setting")),
            None => Ok(()),
        }
    }

    /// Combines `given`, the options on the command line, with the settings. `given` has precedence. An option
    /// that is neither in `given` nor in the settings keeps its value of the last run.
    pub fn options_with(&self, given: RememberedOptions) -> PreparationOptions {
        PreparationOptions {
            remembered: given.or(self.remembered.clone()),
            recalls: true,
            ..PreparationOptions::default()
        }
    }

    /// Creates the task of a verb. `purpose` states why the verb uses the network.
    pub fn task(
        &self,
        options: PreparationOptions,
        limits: &DownloadLimits,
        purpose: Purpose,
    ) -> Result<Task, CliError> {
        let catalog = self.catalog()?;
        let words: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        catalog.require_variant(&options.variant, &words)?;
        let (given, set) = (&options.remembered, &self.remembered);
        for (name, given, set) in [
            ("source", &given.source, &set.source),
            ("descriptions", &given.descriptions, &set.descriptions),
        ] {
            // An option may replace the setting.
            if given == set {
                self.require_directory(name, set.as_deref())?;
            }
        }
        // Without this check, bundles in an unreadable directory would look like missing bundles.
        if let Some(source) = &options.remembered.source
            && let Err(error) = source.read_dir()
            && error.kind() == ErrorKind::PermissionDenied
        {
            return Err(Error::reading("read the directory", source, &error).into());
        }
        Ok(Task {
            settings: self.settings.clone(),
            catalog,
            options,
            network: network(self, limits, purpose),
        })
    }

    /// Creates a task that sends no request to Kaggle.
    pub fn local_task(&self, args: &PreparationArgs) -> Result<Task, CliError> {
        let options = args.options(self);
        self.task(options, &DownloadLimits::default(), Purpose::Unused)
    }

    pub fn plan_one(&self, id: &str, args: &PreparationArgs) -> Result<Plan, CliError> {
        let task = self.local_task(args)?;
        Ok(Plan::preview(&task, &[id.to_owned()])?.complete()?)
    }

    /// Runs a task, shows its progress, and stops it after a signal.
    /// With `find_only`, runs no step except checks. If the result of another step is in neither the cache nor the remote,
    /// the run fails.
    pub fn prepare(
        &self,
        task: &Task,
        ids: &[String],
        find_only: bool,
    ) -> Result<Preparation, CliError> {
        let cancel = Cancel::default();
        // Handles signals before planning, because planning may take a while. The message after a signal appears above the
        // progress display. If the display does not exist yet, the message is printed directly.
        let display_notice: Arc<OnceLock<Notice>> = Arc::default();
        let (notice, printer) = (display_notice.clone(), self.printer.clone());
        let _watching = watch(cancel.clone(), move || match notice.get() {
            Some(notice) => notice(STOPPING),
            None => printer.message(STOPPING),
        })?;
        let mut run = Run::begin(task, ids, &cancel, &|note| self.printer.note(&note))
            .map_err(stopped_or_failed)?;
        if find_only {
            run.forbid_execution();
        }
        plan::show_warnings(&self.printer, &run.plan);
        // `find_only` means a pull. The user requested results of the remote, so `show_origin` need not name this origin.
        plan::show_origin(&self.printer, &run.plan, find_only);
        let remote = self.settings.remote.clone();
        let display = Display::new(&self.printer, &run.plan.work(), remote);
        // Does not fail, because nothing else sets the value.
        let _ = display_notice.set(Box::new(display.notice()));
        self.printer.aside.set(Some(Box::new(display.notice())));
        let prepared = run.execute(display.reporter());
        self.printer.aside.set(None);
        let prepared = prepared.map_err(stopped_or_failed)?;
        if !prepared.left_out.is_empty() {
            self.printer.note(&Note::NotAvailable(&prepared.left_out));
        }
        Ok(prepared)
    }

    /// Same as [`for_each_id`](Self::for_each_id). If `work` takes several seconds, also shows `doing` and the id.
    pub fn for_each_id_shown<T>(
        &self,
        doing: &str,
        ids: &[String],
        mut work: impl FnMut(&str) -> Result<T, CliError>,
    ) -> IdResults<T> {
        let activity = Activity::start(&self.printer, doing);
        let mut begun = 0;
        self.for_each_id(ids, |id| {
            begun += 1;
            activity.set(format!("{doing} {id} ({begun} of {})", ids.len()));
            work(id)
        })
    }

    /// Calls `work` for each competition, and prints the errors. An interruption ends the loop.
    pub fn for_each_id<T>(
        &self,
        ids: &[String],
        mut work: impl FnMut(&str) -> Result<T, CliError>,
    ) -> IdResults<T> {
        let mut outcomes = Vec::new();
        // Maps each message, with `ID` in place of the id, to the competitions with this error.
        let mut equal: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for id in ids {
            let outcome = work(id).map_err(|error| error.for_competition(id));
            let mut is_interrupted = false;
            if let Err(error) = &outcome {
                let ids = equal.entry(error.message.replace(id, "ID")).or_default();
                ids.push(id);
                if ids.len() <= MAX_EQUAL_ERRORS {
                    self.printer.error(error);
                }
                is_interrupted = error.exit == Exit::Interrupted;
            }
            outcomes.push((id.clone(), outcome));
            if is_interrupted {
                break;
            }
        }
        for ids in equal.values().filter(|ids| ids.len() > MAX_EQUAL_ERRORS) {
            let rest = ids.iter().skip(MAX_EQUAL_ERRORS).copied();
            let (count, rest) = (rest.len(), joined(rest, MAX_IDS));
            let text = format!(
                "{} with the same error: {rest}",
                units::count(count as u64, "other competition")
            );
            self.printer.error(&CliError::new(Exit::Input, text));
        }
        IdResults(outcomes)
    }
}

/// Converts the error of a run that returned no [`Preparation`]. If the user stopped the run, the message names no
/// competition or step.
fn stopped_or_failed(error: Error) -> CliError {
    match error.failure {
        Failure::Cancelled => CliError::new(Exit::Interrupted, summary::STOPPED),
        _ => error.into(),
    }
}

/// The result or the error of each competition.
pub struct IdResults<T>(Vec<(String, Result<T, CliError>)>);

impl<T> IdResults<T> {
    pub fn results(&self) -> impl Iterator<Item = (&str, &T)> {
        let outcomes = self.0.iter();
        outcomes.filter_map(|(id, outcome)| Some((id.as_str(), outcome.as_ref().ok()?)))
    }

    /// Returns the elements of the JSON array `competitions`. The element of a failed competition contains the error instead
    /// of a result.
    pub fn json(&self, result: impl Fn(&str, &T) -> Value) -> Vec<Value> {
        let outcomes = self.0.iter();
        let members = outcomes.map(|(id, outcome)| match outcome {
            Ok(one) => result(id, one),
            Err(error) => json!({ "id": id, "error": error.json() }),
        });
        members.collect()
    }

    pub fn print_json(
        &self,
        printer: &Printer,
        result: impl Fn(&str, &T) -> Value,
    ) -> Result<(), CliError> {
        match printer.json {
            true => printer.json(&json!({ "competitions": self.json(result) })),
            false => Ok(()),
        }
    }

    pub fn exit(&self) -> Exit {
        let outcomes = self.0.iter();
        let errors = outcomes.filter_map(|(_, outcome)| outcome.as_ref().err());
        Exit::combine(errors.map(|error| error.exit))
    }
}

/// Heading of the options of [`DownloadLimits`] in the help.
/// Each option states this heading. If the struct stated the heading, clap would also apply it to all later options.
const HEADING: &str = "Downloads";

/// Limits of all downloads together.
#[derive(Debug, Default, Clone, Args)]
pub struct DownloadLimits {
    /// Bytes per second of all downloads together, such as 20MB
    #[arg(long, value_name = "SIZE", value_parser = positive_size, help_heading = HEADING)]
    pub max_rate: Option<u64>,
    /// Connections of all downloads together [default: 16]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = HEADING)]
    pub connections: Option<usize>,
}

/// Why a verb uses the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// No use, because of `--no-download` or because the verb needs no network.
    Unused,
    /// A short request, while the user waits for the answer.
    Request,
    /// A download, which may wait up to ten minutes for the network and then continues.
    Download,
}

impl Purpose {
    pub fn request_unless(no_download: bool) -> Purpose {
        match no_download {
            true => Purpose::Unused,
            false => Purpose::Request,
        }
    }
}

/// Maximum number of attempts for a request whose answer the user waits for.
const MAX_REQUEST_ATTEMPTS: u32 = 3;

/// Returns the network, which is set up when it is first used. A message then shows where the credentials were found.
pub fn network(session: &CliSession, limits: &DownloadLimits, purpose: Purpose) -> LazyNetwork {
    let (session, limits) = (session.clone(), limits.clone());
    LazyNetwork::new(move || connect(&session, &limits, purpose))
}

fn connect(
    session: &CliSession,
    limits: &DownloadLimits,
    purpose: Purpose,
) -> Result<Network, FetchError> {
    let usual = DownloadOptions::default();
    let attempts = match purpose {
        Purpose::Unused => return Err(FetchError::NotAllowed),
        Purpose::Request => MAX_REQUEST_ATTEMPTS,
        Purpose::Download => usual.attempts,
    };
    let options = DownloadOptions {
        variables: session.places.network_variables()?,
        endpoint: session.kaggle.endpoint.clone(),
        connections: limits.connections.unwrap_or(usual.connections),
        max_rate: limits.max_rate,
        attempts,
        watcher: watcher(&session.printer),
        ..usual
    };
    let session = session.clone();
    Network::with_finder(options, move || credentials(&session))
}

/// Minimum time between two messages, because several downloads may wait for the same server.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(5);

/// Returns a watcher that prints why a download waits.
fn watcher(printer: &Printer) -> Watcher {
    let printer = printer.clone();
    let shown: Mutex<Option<Instant>> = Mutex::default();
    Arc::new(move |waiting| {
        let mut shown = shown.lock();
        if shown.is_none_or(|shown| shown.elapsed() >= MESSAGE_INTERVAL) {
            *shown = Some(Instant::now());
            printer.message_aside(waiting);
        }
    })
}

fn credentials(session: &CliSession) -> Result<FoundCredentials, FetchError> {
    let found = session.kaggle.credentials()?;
    session
        .printer
        .message(format!("Kaggle credentials: {}", found.origin));
    for warning in &found.warnings {
        session.printer.warning(warning);
    }
    Ok(found)
}
