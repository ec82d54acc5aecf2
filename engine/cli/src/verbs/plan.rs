//! `prep plan`: shows the steps of a run and their reasons. It writes nothing, and does not create a missing cache.
//! `prep why`: shows why steps would run now, and why the data last changed.

use clap::Args;
use prep_app::{PlannedStep, PreparationOptions, Runs, for_people, local_time, reasons};
use prep_core::{Cause, LastRun, Publication, Reason};
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::options::PreparationArgs;
use crate::output::plan;
use crate::output::plan::{in_cache, recalled_names, show_origin, step_table};
use crate::remote::RemoteArgs;
use crate::request::{DownloadLimits, Purpose};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Show what `run` would do, and write nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep plan --lite
  prep plan spaceship-titanic --source ~/bundles
  prep plan --all --json | jq '.competitions[] | {id, read_bytes, download}'

One competition is shown with its steps, several with a line each; -v shows the steps of all. If a bundle is missing, \
prep requests the list of its files from Kaggle, and shows the size of the download with and without --partial. With \
--no-download, or without credentials, it shows published sizes.")]
pub struct PlanArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    preparation: PreparationArgs,
    /// Send no request; show published sizes
    #[arg(long)]
    no_download: bool,
    /// Send no request; leave out competitions whose bundles you do not have
    #[arg(long)]
    available: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl PlanArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &session.linked(&self.remote)?;
        let is_offline = self.no_download || self.available;
        let options = PreparationOptions {
            download: !is_offline,
            available_only: self.available,
            ..self.preparation.options(session)
        };
        let purpose = Purpose::request_unless(is_offline);
        let task = session.task(options, &DownloadLimits::default(), purpose)?;
        plan::show(&session.printer, &task, &self.selection.ids(session)?)
    }
}

/// Show why steps would run, and why the data last changed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep why spaceship-titanic
  prep why spaceship-titanic public/train.csv
  prep why spaceship-titanic --json

The command compares with the published data of the data directory. First it prints the causes: the bundles, and the \
settings of steps, that changed between the last two publications, and those that changed since then. Then it lists all \
steps. A changed step does not run again if its result is in the cache.")]
pub struct WhyArgs {
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    /// One step, with the reason of its last change, its key and inputs
    #[arg(value_name = "STEP")]
    step: Option<String>,
    #[command(flatten)]
    preparation: PreparationArgs,
}

impl WhyArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let plan = session.plan_one(&self.id, &self.preparation)?;
        show_origin(&session.printer, &plan, false);
        let last = plan.last_runs(&self.id)?;
        let mut steps = plan.steps(&self.id)?;
        let (published, causes) = plan.changes(&self.id)?;
        if let Some(wanted) = &self.step {
            if steps.iter().all(|step| step.step != *wanted) {
                return Err(unknown(&self.id, wanted, &steps));
            }
            steps.retain(|step| step.step == *wanted);
        }
        if session.printer.json {
            let steps: Vec<Value> = steps
                .iter()
                .map(|step| as_json(step, last.get(&step.step)))
                .collect();
            let publication = published.as_ref().map(|published| {
                let mut found = json!(published);
                found["reason"] = json!(published.reason.as_ref().map(reasons::json));
                found
            });
            let mut why = json!({ "id": self.id, "variant": self.preparation.variant.variant, "published": publication, "causes": causes, "steps": steps });
            let competition = plan.all.competitions.first();
            if let Some(borrowed) = competition.and_then(|one| one.borrowed.as_ref()) {
                why["borrowed"] = json!(borrowed);
            }
            let recalled = competition.map(recalled_names).unwrap_or_default();
            if !recalled.is_empty() {
                why["as_last_time"] = json!(recalled);
            }
            session.printer.json(&json!({ "competitions": [why] }))?;
        } else if self.step.is_some() {
            let text: String = steps
                .iter()
                .map(|step| explain(step, last.get(&step.step)))
                .collect();
            session.printer.result(&text)?;
        } else {
            let text = changes(published.as_ref(), &causes) + &overview(&steps);
            session.printer.result(&text)?;
        }
        Ok(Exit::Success)
    }
}

fn unknown(id: &str, wanted: &str, steps: &[PlannedStep]) -> CliError {
    let error = CliError::usage(format!("competition `{id}` has no step `{wanted}`"));
    let names = || steps.iter().map(|step| step.step.as_str());
    let is_end = |name: &&str| name.rsplit_once('/').is_some_and(|(_, end)| end == wanted);
    match names()
        .find(is_end)
        .or_else(|| prep_spec::nearest(wanted, names()))
    {
        Some(near) => error.suggest(Some(near)),
        None => error.help(format!("`prep why {id}` lists its steps")),
    }
}

fn as_json(step: &PlannedStep, last: Option<&LastRun>) -> Value {
    let last = last.map(|last| {
        let mut record = last.record.to_json();
        reasons::print_queries(&mut record);
        let key = (!last.record.is_source()).then(|| last.record.key());
        let mut last = json!({ "key": key, "record": record, "reason": last.reason.as_ref().map(reasons::json), "failure": last.failed });
        reasons::state(&mut last, "failure", "failed");
        last
    });
    let mut step = json!(step);
    step["last"] = json!(last);
    step
}

/// Formats why the data were last published, and what changed since then.
fn changes(published: Option<&Publication>, now: &[Cause]) -> String {
    let lines = |causes: &[Cause]| -> String {
        let lines = causes.iter().flat_map(reasons::cause);
        lines.map(|line| format!("  {line}\n")).collect()
    };
    let mut text = String::new();
    if let Some(Publication {
        at,
        before,
        reason,
        causes,
    }) = published
    {
        let at = local_time(*at);
        text.push_str(&match (before, reason) {
            (Some(before), _) if !causes.is_empty() => {
                let before = local_time(*before);
                format!(
                    "published {at}, because these changed since {before}:\n{}",
                    lines(causes)
                )
            }
            (_, Some(reason)) => format!("published {at}, because: {}\n", reasons::short(reason)),
            (_, None) => format!("published {at}\n"),
        });
    }
    if !now.is_empty() {
        let since = if published.is_some() {
            "then"
        } else {
            "the last run"
        };
        text.push_str(&format!("changed since {since}:\n{}", lines(now)));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Formats a table of steps. The changes of a step, except those of its inputs, are below its row.
fn overview(steps: &[PlannedStep]) -> String {
    let table = step_table(steps.iter());
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (line, step) in lines.zip(steps) {
        text.push_str(&format!("{line}\n"));
        let mut reason = step.reason.clone();
        if let Some(Reason::Changed { changes }) = &mut reason {
            changes.retain(|change| !change.field.starts_with("inputs."));
        }
        text.push_str(&details(reason.as_ref(), "    "));
    }
    text
}

fn explain(step: &PlannedStep, last: Option<&LastRun>) -> String {
    let state = match (&step.reason, step.runs) {
        (None, _) => "is up to date".to_owned(),
        (Some(reason), Runs::No) => format!("changed; {}", in_cache(reason)),
        (Some(reason), Runs::Maybe) => format!("may run: {}", reasons::short(reason)),
        (Some(reason), _) => format!("would run: {}", reasons::short(reason)),
    };
    let mut text = format!("{} ({}) {state}\n", step.step, step.kind);
    text.push_str(&details(step.reason.as_ref(), "  "));
    let Some(last) = last else {
        if !matches!(step.kind, "bundle" | "download" | "folder") {
            text.push_str("it never ran\n");
        }
        return text;
    };
    text.push_str(&match &last.reason {
        Some(reason) if last.reused => {
            let reason = reasons::short(reason);
            format!("its result was last taken from the cache, because: {reason}\n")
        }
        Some(reason) => format!("it last ran because: {}\n", reasons::short(reason)),
        None if last.record.is_source() => String::new(),
        None => "it never ran for this data directory, because its result was in the cache or the remote\n".to_owned(),
    });
    text.push_str(&details(last.reason.as_ref(), "  "));
    if let Some(message) = &last.failed {
        text.push_str(&format!("it failed: {}\n", for_people(message)));
    }
    if !last.record.is_source() {
        text.push_str(&format!("key {}\n", last.record.key()));
        for (name, digest) in &last.record.inputs {
            text.push_str(&format!("  input `{name}`: {}\n", digest.short()));
        }
    }
    text
}

/// Formats the changes behind a reason, such as changed parameters, one per line.
fn details(reason: Option<&Reason>, indent: &str) -> String {
    let lines = reason.map(reasons::details).unwrap_or_default();
    lines
        .iter()
        .map(|line| format!("{indent}{line}\n"))
        .collect()
}
