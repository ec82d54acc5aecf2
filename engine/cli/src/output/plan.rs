//! Shows the plan of a run: the steps of each competition, their reasons, downloads and disk space.

use prep_app::{
    BorrowedBundle, Competition, Download, FurtherSource, Note, Plan, PlannedStep, RecalledOption,
    Runs, Task, reasons,
};
use prep_core::{Reason, units};
use serde::Serialize;
use serde_json::Value;

use crate::error::{CliError, Exit};
use crate::output::printer::{MessageLevel, Printer};
use crate::output::table::PrintedTable;

#[derive(Debug, Default, Serialize)]
struct PlannedCompetition {
    id: String,
    variant: String,
    bundle: Option<std::path::PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<PlannedSource>,
    /// Bytes of the bundle and of other sources that the run must read to compute digests.
    read_bytes: u64,
    /// The download of the bundle, if the bundle is missing and a step needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    download: Option<Download>,
    /// Whether the bundle is only in the mirror, from which steps then read it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    mirrored: bool,
    /// The bundle from which this competition's results were computed. `None` if that bundle is on this machine or recorded
    /// in the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    borrowed: Option<BorrowedBundle>,
    /// Options that have the values of the last run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    as_last_time: Vec<&'static str>,
    /// Bytes of the prepared data after the last run, if known.
    prepared_bytes: Option<u64>,
    steps: Vec<PlannedStep>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

#[derive(Debug, Serialize)]
struct PlannedSource {
    #[serde(flatten)]
    source: FurtherSource,
    /// The download of the source, if the file is missing and a step needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    download: Option<Download>,
}

pub fn show(printer: &Printer, task: &Task, ids: &[String]) -> Result<Exit, CliError> {
    let mut plan = Plan::preview(task, ids)?;
    let mut downloads = plan.downloads(task);
    let denied: Vec<_> = downloads.values().filter_map(|one| one.failure).collect();
    let peak = plan.peak(task, |input| {
        downloads
            .get(&input.key())?
            .moves(input.competition.options.is_partial())
    })?;
    let mirrored = plan.mirrored(task);
    let (mut plans, mut refused) = (Vec::new(), Vec::new());
    for competition in &plan.all.competitions {
        let id = &competition.id;
        let manifest = prep_app::replaceable_manifest(&task.data_dir(), id);
        let (manifest, steps) = match manifest.and_then(|found| Ok((found, plan.steps(id)?))) {
            Ok(found) => found,
            Err(error) => {
                refused.push((id.clone(), error));
                continue;
            }
        };
        let sources = competition.sources.iter().map(|source| PlannedSource {
            download: downloads.remove(&(id.clone(), Some(source.name.clone()))),
            source: source.clone(),
        });
        plans.push(PlannedCompetition {
            id: id.clone(),
            variant: task.options.variant.clone(),
            bundle: competition.bundle.clone(),
            sources: sources.collect(),
            read_bytes: read_bytes(&steps),
            download: downloads.remove(&(id.clone(), None)),
            mirrored: mirrored.contains(id),
            borrowed: competition.borrowed.clone(),
            as_last_time: recalled_names(competition),
            prepared_bytes: manifest.map(|manifest| manifest.bytes),
            steps,
            error: None,
        });
    }
    plan.refused.append(&mut refused);
    for (id, error) in &plan.refused {
        plans.push(PlannedCompetition {
            id: id.clone(),
            variant: task.options.variant.clone(),
            error: Some(CliError::from(error.clone()).json()),
            ..PlannedCompetition::default()
        });
    }
    show_warnings(printer, &plan);
    show_origin(printer, &plan, false);
    if !plan.left_out.is_empty() {
        printer.note(&Note::NotAvailable(&plan.left_out));
    }
    plans.sort_by_key(|plan| ids.iter().position(|id| *id == plan.id));
    if printer.json {
        printer.json(
            &serde_json::json!({ "competitions": plans, "left_out": plan.left_out, "disk": peak }),
        )?;
    } else {
        let detail = match (printer.level, plans.len()) {
            (MessageLevel::Verbose, _) => Detail::AllSteps,
            (_, 1) => Detail::StepsToRun,
            _ => Detail::Line,
        };
        let text: Vec<String> = plans.iter().map(|plan| plan.text(detail)).collect();
        printer.result(&text.join(""))?;
        if let Some(peak) = peak {
            printer.message(format!("disk at the peak: {}", peak.text()));
        }
    }
    let obstacles = plan.obstacles(task)?;
    let refused = plan.refused.into_iter().map(|(_, error)| error);
    let errors: Vec<CliError> = refused.chain(obstacles).map(CliError::from).collect();
    errors.iter().for_each(|error| printer.error(error));
    let failures = plan.rejected.into_iter().chain(denied);
    let failures = failures.map(Exit::from_failure);
    Ok(Exit::combine(
        errors.iter().map(|error| error.exit).chain(failures),
    ))
}

pub fn show_warnings(printer: &Printer, plan: &Plan) {
    for competition in &plan.all.competitions {
        if let Some(warnings) = competition.warnings() {
            printer.pipeline_warnings(warnings);
        }
    }
}

/// Prints the options of competitions that have the value of the last run.
pub fn show_recalled<'a>(
    printer: &Printer,
    competitions: impl Iterator<Item = (&'a str, Vec<String>)>,
) {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (id, options) in competitions {
        let options = options.join(" ");
        match groups.iter_mut().find(|(other, _)| *other == options) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((options, vec![id])),
        }
    }
    let is_single = groups.len() == 1;
    for (options, ids) in groups.iter().filter(|(options, _)| !options.is_empty()) {
        printer.message(match is_single {
            true => format!("as last time: {options}"),
            false => format!("as last time: {options} ({})", ids.join(", ")),
        });
    }
}

/// Prints the options that have the value of the last run.
///
/// If a competition uses results of a bundle that is neither on this machine nor recorded in the data directory, prints a
/// note about the bundle. With `is_pull`, prints no such note for a remote, because a pull requests the remote's results.
///
/// Prints another note if the bundle on this machine differs from the bundle that the data directory records.
pub fn show_origin(printer: &Printer, plan: &Plan, is_pull: bool) {
    let competitions = plan.all.competitions.iter();
    show_recalled(
        printer,
        competitions.map(|one| (one.id.as_str(), one.recalled().map(option_text).collect())),
    );
    for competition in &plan.all.competitions {
        let bundle = competition.borrowed.as_ref();
        let bundle = bundle.filter(|bundle| !is_pull || !bundle.is_remote());
        if let Some(bundle) = bundle {
            let id = &competition.id;
            printer.note(&Note::Borrowed { id, bundle });
        }
        if let (Some(before), Some(path)) = (&competition.replaced, &competition.bundle) {
            let id = &competition.id;
            printer.note(&Note::OtherBundle { id, path, before });
        }
    }
}

pub fn recalled_names(competition: &Competition) -> Vec<&'static str> {
    competition.recalled().map(|option| option.name).collect()
}

/// Formats an option as on the command line.
pub fn option_text(option: RecalledOption) -> String {
    let name = option.name.replace('_', "-");
    match option.value {
        Some(value) => format!("--{name}={value}"),
        None => format!("--{name}"),
    }
}

/// Returns the bytes of all files that must be read to compute digests.
fn read_bytes(steps: &[PlannedStep]) -> u64 {
    let unread = steps.iter().filter_map(|step| match step.reason {
        Some(Reason::Unread { bytes }) => Some(bytes),
        _ => None,
    });
    unread.sum()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// A line per competition.
    Line,
    /// A line per competition, followed by the steps that run or may run.
    StepsToRun,
    AllSteps,
}

impl PlannedCompetition {
    fn text(&self, detail: Detail) -> String {
        // The printer shows the error on stderr.
        if self.error.is_some() {
            return format!("{}: cannot be prepared\n", self.id);
        }
        let count = |runs: Runs| self.steps.iter().filter(|step| step.runs == runs).count();
        let (yes, maybe) = (count(Runs::Yes), count(Runs::Maybe));
        let mut facts = Vec::new();
        let rejected = self.steps.iter().find_map(|step| match &step.reason {
            Some(Reason::Failed { message }) if step.step == "bundle" => Some(message),
            _ => None,
        });
        let is_rejected = rejected.is_some();
        let rejected = rejected.map(|message| prep_app::for_people(message));
        facts.extend(rejected.map(|message| format!("the bundle cannot be used: {message}")));
        if yes + maybe == 0 {
            facts.push("up to date".to_owned());
        } else {
            facts.push(format!(
                "{yes} of {} run",
                units::count(self.steps.len() as u64, "step")
            ));
        }
        if maybe > 0 {
            facts.push(format!("{maybe} more may run"));
        }
        if let Some(download) = &self.download {
            facts.push(download_text(download, "the bundle"));
        } else if self.bundle.is_none() && yes + maybe > 0 && !is_rejected {
            facts.push(match self.mirrored {
                true => {
                    "the bundle is in the mirror of the remote, and steps read it there".to_owned()
                }
                false => "the bundle is missing, and will be downloaded again if a step needs it"
                    .to_owned(),
            });
        }
        for source in &self.sources {
            if let Some(download) = &source.download {
                let name = format!("the source `{}`", source.source.name);
                let text = download_text(download, &name);
                facts.push(match text.starts_with(&name) {
                    true => text,
                    false => format!("{name}: {text}"),
                });
            }
        }
        if self.read_bytes > 0 {
            facts.push(format!("{} to read", units::bytes(self.read_bytes)));
        }
        if let Some(bytes) = self.prepared_bytes {
            facts.push(format!("{} when last prepared", units::bytes(bytes)));
        }
        let mut text = format!("{}: {}\n", self.id, facts.join(", "));
        let steps = self.steps.iter().filter(|step| match detail {
            Detail::Line => false,
            Detail::StepsToRun => step.runs != Runs::No,
            Detail::AllSteps => true,
        });
        for line in step_table(steps).lines().skip(1) {
            text.push_str(&format!("  {line}\n"));
        }
        text
    }
}

/// Describes a download. `name` is the name of the bundle or source.
fn download_text(download: &Download, name: &str) -> String {
    let bytes = download.bytes.map(units::bytes);
    match (&download.error, bytes, download.partial_bytes) {
        (Some(error), bytes, _) => {
            let size = bytes.map_or_else(String::new, |bytes| format!("; it has about {bytes}"));
            format!("{name} is missing: {}{size}", error.message)
        }
        (None, Some(bytes), Some(part)) if Some(part) == download.bytes => {
            format!("{bytes} to download")
        }
        (None, Some(bytes), Some(part)) => {
            let part = units::bytes(part);
            format!("{bytes} to download, or only {part} with --partial")
        }
        (None, Some(bytes), None) => {
            format!("{name} is missing; its published size is {bytes}")
        }
        (None, None, _) => format!("{name} is missing"),
    }
}

/// Describes a step whose result is in the cache, and differs from the result in the last publication. A source has no
/// result in the cache, so its description does not mention the cache.
pub fn in_cache(reason: &Reason) -> String {
    let is_source = matches!(reason, Reason::Changed { changes } if changes.iter().any(|one| one.field == "content"));
    let prefix = if is_source { "" } else { "in the cache: " };
    format!("{prefix}{}", reasons::short(reason))
}

/// Formats a table of steps, kinds and reasons.
pub fn step_table<'a>(steps: impl Iterator<Item = &'a PlannedStep>) -> String {
    let mut table = PrintedTable::with_header("step  kind  why");
    for step in steps {
        let reason = match (&step.reason, step.runs) {
            (None, _) => "up to date".to_owned(),
            (Some(reason), Runs::No) => in_cache(reason),
            (Some(reason), Runs::Maybe) => format!("may run: {}", reasons::short(reason)),
            (Some(reason), _) => reasons::short(reason),
        };
        table.row(vec![step.step.clone(), step.kind.to_owned(), reason]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(steps: Vec<PlannedStep>) -> PlannedCompetition {
        PlannedCompetition {
            id: "a".into(),
            variant: "v1".into(),
            bundle: Some("/b/a.zip".into()),
            read_bytes: 1_900_000,
            steps,
            ..PlannedCompetition::default()
        }
    }

    #[test]
    fn a_plan_shows_the_number_of_steps_and_their_reasons() {
        let step = |step: &str, runs, reason| PlannedStep {
            step: step.into(),
            kind: "csv",
            runs,
            reason,
        };
        let plan = example(vec![
            step(
                "bundle",
                Runs::Yes,
                Some(Reason::Unread { bytes: 1_900_000 }),
            ),
            step(
                "t",
                Runs::Maybe,
                Some(Reason::InputPending {
                    step: "bundle".into(),
                }),
            ),
            step("u", Runs::No, None),
        ]);
        assert_eq!(
            plan.text(Detail::StepsToRun),
            "a: 1 of 3 steps run, 1 more may run, 1.90 MB to read\n  \
               bundle  csv   not read yet, 1.90 MB\n  \
               t       csv   may run: depends on the result of `bundle`\n"
        );
        assert_eq!(
            plan.text(Detail::Line),
            "a: 1 of 3 steps run, 1 more may run, 1.90 MB to read\n"
        );
        assert!(
            plan.text(Detail::AllSteps)
                .ends_with("u       csv   up to date\n")
        );
        let json = serde_json::to_value(&plan).unwrap();
        let read = serde_json::json!({ "kind": "unread", "bytes": 1_900_000, "message": "not read yet, 1.90 MB" });
        assert_eq!(json["steps"][0]["reason"], read);
        assert_eq!(json["steps"][2]["reason"], Value::Null);
    }

    #[test]
    fn a_plan_shows_where_a_missing_bundle_comes_from() {
        for (mirrored, expected) in [(true, "is in the mirror"), (false, "downloaded again")] {
            let step = PlannedStep {
                step: "t".into(),
                kind: "csv",
                runs: Runs::Yes,
                reason: None,
            };
            let plan = PlannedCompetition {
                bundle: None,
                mirrored,
                ..example(vec![step])
            };
            assert!(
                plan.text(Detail::StepsToRun).contains(expected),
                "{mirrored}"
            );
        }
    }

    #[test]
    fn a_plan_shows_the_size_of_downloads_if_known() {
        let download = |bytes, partial_bytes, error: Option<&str>| Download {
            bytes,
            partial_bytes,
            estimated: partial_bytes.is_none(),
            error: error.map(|error| reasons::StatedReason::new("away", error)),
            failure: None,
        };
        for (download, expected) in [
            (
                download(Some(2_000_000), Some(1000), None),
                "2.00 MB to download, or only 1.00 kB with --partial",
            ),
            (
                download(Some(2_000_000), None, None),
                "the bundle is missing; its published size is 2.00 MB",
            ),
            (
                download(Some(1000), Some(1000), None),
                "1.00 kB to download",
            ),
            (download(None, None, None), "the bundle is missing"),
            (
                download(Some(1), None, Some("rules")),
                "the bundle is missing: rules; it has about 1 B",
            ),
            (
                download(None, None, Some("rules")),
                "the bundle is missing: rules",
            ),
        ] {
            assert_eq!(download_text(&download, "the bundle"), expected);
        }
    }
}
