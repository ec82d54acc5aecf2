//! Common parts of the verbs that plan, prepare or move competitions: the library's task,
//! its plan, its run, and a loop over ids.

use std::sync::{Arc, OnceLock};

use prep_app::{
    Catalog, Error, Note, Plan, Preparation, PreparationOptions, RememberedOptions, Run, Task,
};
use prep_core::{Cancel, Failure};
use serde_json::{Value, json};

use crate::downloads::{self, DownloadLimits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt;
use crate::options::PreparationArgs;
use crate::output::plan;
use crate::output::printer::Notice;
use crate::output::printer::Printer;
use crate::output::progress::Display;
use crate::output::summary;
use crate::session::CliSession;

impl CliSession {
    /// Returns the catalog of all competitions.
    pub fn catalog(&self) -> Result<Catalog, CliError> {
        Ok(Catalog::open(&self.settings)?)
    }

    /// Returns the given options and those of the settings. All others have the values of the last run.
    pub fn options_with(&self, given: RememberedOptions) -> PreparationOptions {
        PreparationOptions {
            remembered: given.or(self.remembered.clone()),
            recalls: true,
            ..PreparationOptions::default()
        }
    }

    /// Creates a task with these options. `purpose` is the purpose for which it uses the network.
    pub fn task(
        &self,
        options: PreparationOptions,
        limits: &DownloadLimits,
        purpose: Purpose,
    ) -> Result<Task, CliError> {
        let catalog = self.catalog()?;
        catalog.require_variant(&options.variant)?;
        Ok(Task {
            settings: self.settings.clone(),
            catalog,
            options,
            network: downloads::network(self, limits, purpose),
        })
    }

    /// Creates a task that downloads nothing.
    pub fn local_task(&self, args: &PreparationArgs) -> Result<Task, CliError> {
        let options = args.options(self);
        self.task(options, &DownloadLimits::default(), Purpose::Unused)
    }

    /// Plans one competition without using the network.
    ///
    /// # Errors
    /// Returns an error if the competition cannot be prepared.
    pub fn plan_one(&self, id: &str, args: &PreparationArgs) -> Result<Plan, CliError> {
        let task = self.local_task(args)?;
        Ok(Plan::preview(&task, &[id.to_owned()])?.complete()?)
    }

    /// Runs a task, shows its progress, and stops it after a signal. With `find_only`, only checks run, and all other
    /// results must exist already.
    pub fn prepare(
        &self,
        task: &Task,
        ids: &[String],
        find_only: bool,
    ) -> Result<Preparation, CliError> {
        let cancel = Cancel::default();
        // Signals are handled from now on, because planning may take a while. The message is printed directly, or above the
        // display as soon as it exists.
        let display_notice: Arc<OnceLock<Notice>> = Arc::default();
        let (notice, printer) = (display_notice.clone(), self.printer.clone());
        let _watching = interrupt::watch(cancel.clone(), move || match notice.get() {
            Some(notice) => notice(interrupt::STOPPING),
            None => printer.message(interrupt::STOPPING),
        })?;
        let mut run = Run::begin(task, ids, &cancel, &|note| self.printer.note(&note))
            .map_err(stopped_or_failed)?;
        if find_only {
            run.forbid_execution();
        }
        // A pull gets results of the remote on purpose.
        plan::show_origin(&self.printer, &run.plan, find_only);
        let remote = self.settings.remote.clone();
        let display = Display::new(&self.printer, &run.plan.work(), remote);
        // Does not fail, because it is set only here.
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

    /// Calls `work` for each competition, and prints its errors. An interruption ends the loop.
    pub fn for_each_id<T>(
        &self,
        ids: &[String],
        mut work: impl FnMut(&str) -> Result<T, CliError>,
    ) -> IdResults<T> {
        let mut outcomes = Vec::new();
        for id in ids {
            let outcome = work(id).map_err(|error| error.for_competition(id));
            let mut is_interrupted = false;
            if let Err(error) = &outcome {
                self.printer.error(error);
                is_interrupted = error.exit == Exit::Interrupted;
            }
            outcomes.push((id.clone(), outcome));
            if is_interrupted {
                break;
            }
        }
        IdResults(outcomes)
    }
}

/// Returns the error of a run that ended before it had a result. If it was stopped, the message is that of a run which
/// was stopped later, because it does not matter which competition or step was planned at that time.
fn stopped_or_failed(error: Error) -> CliError {
    match error.failure() {
        Failure::Cancelled => CliError::new(Exit::Interrupted, summary::STOPPED),
        _ => error.into(),
    }
}

/// The outcome of each competition.
pub struct IdResults<T>(Vec<(String, Result<T, CliError>)>);

impl<T> IdResults<T> {
    /// Returns the competitions that succeeded, with their results.
    pub fn results(&self) -> impl Iterator<Item = (&str, &T)> {
        let outcomes = self.0.iter();
        outcomes.filter_map(|(id, outcome)| Some((id.as_str(), outcome.as_ref().ok()?)))
    }

    /// Returns the elements of `competitions` in JSON output. A competition that failed has an error instead of a
    /// result.
    pub fn json(&self, result: impl Fn(&str, &T) -> Value) -> Vec<Value> {
        let outcomes = self.0.iter();
        let members = outcomes.map(|(id, outcome)| match outcome {
            Ok(one) => result(id, one),
            Err(error) => json!({ "id": id, "error": error.json() }),
        });
        members.collect()
    }

    /// Prints the competitions as JSON, if JSON is requested.
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

    /// Returns the combined exit code of all errors.
    pub fn exit(&self) -> Exit {
        let outcomes = self.0.iter();
        let errors = outcomes.filter_map(|(_, outcome)| outcome.as_ref().err());
        Exit::combine(errors.map(|error| error.exit))
    }
}
