//! Shows the result of a run: a table of the competitions, what to do about failures, and the time of the steps.

use std::time::Duration;

use prep_app::{
    Checksums, CompetitionState, PathSummary, Preparation, StepFailure, Summary, reasons,
};
use prep_core::{Timing, WaitTimes, units};
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::output::printer::Printer;
use crate::output::table::PrintedTable;
use crate::remedy;

pub const STOPPED: &str = "stopped; finished steps are kept, and the next run continues from there";

pub fn exit(preparation: &Preparation) -> Exit {
    match preparation.interrupted {
        true => Exit::Interrupted,
        false => Exit::combine(preparation.summaries.iter().map(exit_of)),
    }
}

fn exit_of(summary: &Summary) -> Exit {
    let failures = summary.failures.iter();
    Exit::combine(failures.map(|failure| Exit::from_failure(failure.failure)))
}

/// Prints the table on stdout, then all failures and remarks on stderr. `failed` contains the JSON of competitions that are
/// not part of `preparation`.
pub fn show(
    printer: &Printer,
    preparation: &Preparation,
    failed: Vec<Value>,
) -> Result<(), CliError> {
    if printer.json {
        let summaries = preparation.summaries.iter().map(json_of);
        printer.json(&json!({
            "competitions": summaries.chain(failed).collect::<Vec<_>>(),
            "left_out": preparation.left_out,
            "timings": preparation.timings,
        }))?;
    } else {
        printer.table(&table(&preparation.summaries))?;
    }
    for (_, error) in &preparation.refused {
        printer.error(&error.clone().into());
    }
    for error in failures(&preparation.summaries) {
        printer.error(&error);
    }
    for summary in &preparation.summaries {
        if !summary.unverified.is_empty() {
            printer.message(format!(
                "{}: only a part of the bundle was downloaded, so these were not verified: {}",
                summary.id,
                summary.unverified.join(", ")
            ));
        }
    }
    for summary in &preparation.summaries {
        if !summary.depends_on_writer.is_empty() {
            printer.message(format!(
                "{id}: not compared, because the published MD5 depends on the version of the library that wrote the file: \
                 {}; `prep audit {id}` searches for that version",
                summary.depends_on_writer.join(", "),
                id = summary.id
            ));
        }
    }
    for summary in preparation.summaries.iter().filter(|one| one.shows_trial) {
        let Some(trial) = &summary.trial else {
            continue;
        };
        printer.message(trial_line(&summary.id, trial));
        let warnings = trial["warnings"].as_array().into_iter().flatten();
        for warning in warnings.filter_map(Value::as_str) {
            printer.warning(format!("{}: {warning}", summary.id));
        }
    }
    for summary in &preparation.summaries {
        if let Some(line) = unpublished(&summary.id, &summary.unpublished) {
            printer.message(line);
        }
        if summary.has_outdated_seal {
            let Summary { id, variant, .. } = summary;
            printer.warning(format!(
                "{id}: private.age contains earlier answers; `prep seal {id} --variant {variant} --for KEY` seals the new ones"
            ));
        }
    }
    if let Some(line) = incomplete(&preparation.summaries) {
        printer.message(line);
    }
    if preparation.interrupted {
        printer.message(STOPPED);
    }
    Ok(())
}

/// Returns the result of a competition as JSON. The JSON of a failure has the same members as that of an error.
pub fn json_of(summary: &Summary) -> Value {
    let failures = summary.failures.iter().map(|failure| {
        let mut one = error_of(&summary.id, failure).json();
        if let Some(one) = one.as_object_mut() {
            // The message need not name the step, because the JSON has a member for the step.
            one.insert("message".to_owned(), json!(failure.message));
            one.insert("step".to_owned(), json!(failure.step));
        }
        one
    });
    let failures: Vec<Value> = failures.collect();
    let mut all = json!(summary);
    all["failures"] = failures.into();
    // In the cached result of a trial, reasons are plain texts. Convert them to the form of all other reasons.
    if let Some(trial) = all.get_mut("trial") {
        reasons::state(trial, "skipped", "skipped");
        for (_, outcome) in trial.as_object_mut().into_iter().flatten() {
            reasons::state(outcome, "reason", "invalid");
        }
    }
    all
}

fn error_of(id: &str, failure: &StepFailure) -> CliError {
    let message = match &failure.step {
        Some(step) => format!("{id}/{step}: {}", failure.message),
        None => failure.message.clone(),
    };
    let mut error = CliError::new(Exit::from_failure(failure.failure), message);
    error.diagnostics.clone_from(&failure.place);
    error.help = failure.help.as_ref().and_then(remedy::words);
    error
}

/// Returns a message about files in the prepared directory that no run published. By default, `prep` does not remove them.
pub fn unpublished(id: &str, found: &PathSummary) -> Option<String> {
    let more = found.count.checked_sub(found.paths.len() as u64)?;
    let mut named: Vec<String> = found.paths.iter().cloned().collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    (!found.is_empty()).then(|| {
        format!(
            "{id}: files that `prep` did not publish stay in the prepared directory: {}; `--remove-unpublished` removes them",
            named.join(", ")
        )
    })
}

/// Returns for example `harbour: sample: valid, score 0.5; answers: 1.0`.
fn trial_line(id: &str, trial: &Value) -> String {
    if let Some(why) = trial["skipped"].as_str() {
        return format!("{id}: sample: not graded, because {why}");
    }
    let score = |name: &str| match &trial[name]["score"] {
        Value::Null => None,
        score => Some(score.to_string().replace('"', "")),
    };
    let sample = match score("sample") {
        Some(score) => format!("valid, score {score}"),
        None => "invalid, as the pipeline states".to_owned(),
    };
    match score("answers") {
        Some(answers) => format!("{id}: sample: {sample}; answers: {answers}"),
        None => format!(
            "{id}: sample: {sample}; answers, as a submission: invalid: {}",
            trial["answers"]["reason"].as_str().unwrap_or_default()
        ),
    }
}

/// Returns for example `the run prepared 20 of 22 competitions, but not a, b`. Returns `None` for a single competition, or if
/// all competitions are prepared. The line states what this run prepared, because a failed competition may still have
/// the data of an earlier run.
fn incomplete(summaries: &[Summary]) -> Option<String> {
    let incomplete = summaries.iter().filter(|summary| !summary.is_complete());
    let incomplete: Vec<&str> = incomplete.map(|summary| summary.id.as_str()).collect();
    let total = summaries.len();
    (total > 1 && !incomplete.is_empty()).then(|| {
        format!(
            "the run prepared {} of {total} competitions, but not {}",
            total - incomplete.len(),
            incomplete.join(", ")
        )
    })
}

/// Returns one error for each failed step. Failures that differ only in the competition and in checksums become one error
/// with a list of ids.
fn failures(summaries: &[Summary]) -> Vec<CliError> {
    let mut groups: Vec<(String, CliError, Vec<&str>)> = Vec::new();
    for summary in summaries {
        for failure in &summary.failures {
            if failure.step.is_none() {
                continue;
            }
            let error = error_of(&summary.id, failure);
            let alike = without_checksums(&with_any_id(&error.message, &summary.id));
            let group = groups.iter_mut().find(|(other, one, _)| {
                let in_pipelines = one.diagnostics.is_some() || error.diagnostics.is_some();
                !in_pipelines && *other == alike && one.exit == error.exit
            });
            match group {
                Some((_, _, ids)) => ids.push(&summary.id),
                None => groups.push((alike, error, vec![&summary.id])),
            }
        }
    }
    let errors = groups.into_iter().map(|(alike, mut error, ids)| {
        if ids.len() > 1 {
            let count = units::count(ids.len() as u64, "competition");
            error.message = format!("{count}: {alike}\n  ID: {}", ids.join(", "));
            error.help = error
                .help
                .map(|help| with_any_id(&help, ids.first().copied().unwrap_or_default()));
        }
        error
    });
    errors.collect()
}

/// Replaces the competition's id with `ID`, except in longer words that contain the id.
fn with_any_id(message: &str, id: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(id) {
        let (before, found) = rest.split_at(at);
        let after = &found[id.len()..];
        text.push_str(before);
        let is_whole = !text.ends_with(is_part) && !after.starts_with(is_part);
        text.push_str(if is_whole { "ID" } else { id });
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Replaces checksums, which are words of at least 32 hexadecimal digits, with `...`.
fn without_checksums(message: &str) -> String {
    let words = message.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let words = words.map(|word| {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_checksum = digits.len() >= 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let end = word.get(digits.len()..).unwrap_or_default();
        if is_checksum {
            format!("...{end}")
        } else {
            word.to_owned()
        }
    });
    words.collect()
}

fn table(summaries: &[Summary]) -> PrintedTable {
    let mut table = PrintedTable::with_header(
        "competition  >files  >size  >time  >run  >reused  checksums  state",
    )
    .optional(&["reused", "run", "time", "files", "size"]);
    for summary in summaries {
        let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            summary.id.clone(),
            known(summary.files.map(|files| files.to_string())),
            known(summary.bytes.map(units::bytes)),
            units::duration(Duration::from_secs_f64(summary.seconds)),
            summary.steps_run.to_string(),
            summary.steps_reused.to_string(),
            checksums(summary.checksums).to_owned(),
            state(summary.state).to_owned(),
        ]);
    }
    table
}

fn checksums(found: Checksums) -> &'static str {
    match found {
        Checksums::Ok => "ok",
        Checksums::DependsOnWriter => "depends on the writer",
        Checksums::Differ => "differ",
        Checksums::NotPublished => "not published",
        Checksums::NotChecked => "not checked",
    }
}

fn state(state: CompetitionState) -> &'static str {
    match state {
        CompetitionState::Prepared => "prepared",
        CompetitionState::UpToDate => "up to date",
        CompetitionState::Failed => "failed",
        CompetitionState::Stopped => "stopped",
    }
}

/// Maximum number of steps in the table. The JSON has all steps.
const MAX_STEPS: usize = 15;

pub fn show_timings(printer: &Printer, timings: &[Timing]) {
    if !timings.is_empty() {
        printer.message(timings_table(timings).render().trim_end());
    }
}

fn timings_table(timings: &[Timing]) -> PrintedTable {
    let mut table = PrintedTable::with_header(
        "slowest steps  kind  >time  >cpu  >read  >written  >memory  waited for",
    );
    for timing in timings.iter().take(MAX_STEPS) {
        let figures = &timing.figures;
        table.row(vec![
            format!("{}/{}", timing.competition, timing.step),
            timing.kind.clone(),
            time(figures.wall),
            time(figures.cpu),
            units::bytes(figures.read),
            units::bytes(figures.written),
            units::bytes(figures.memory),
            waited(&figures.waited),
        ]);
    }
    table
}

fn waited(waited: &WaitTimes) -> String {
    let parts = [
        (waited.turn, "its turn"),
        (waited.lock, "another process"),
        (waited.memory, "memory"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        // Shorter waiting times are not worth a place in the table.
        .filter(|(millis, _)| *millis >= 10)
        .map(|(millis, what)| format!("{what} {}", time(millis)))
        .collect();
    match parts.is_empty() {
        true => "-".to_owned(),
        false => parts.join(", "),
    }
}

fn time(millis: u64) -> String {
    units::duration(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_app::Error;
    use prep_core::Failure;

    #[test]
    fn equal_failures_of_competitions_become_one_error() {
        let failed = |id: &str, failure: Failure, message: &str| {
            let message = message.replace('@', id);
            let mut summary = Summary::refused(id, "v1", &Error::new(failure, message));
            for failure in &mut summary.failures {
                failure.step = Some("bundle".into());
            }
            summary
        };
        let missing =
            "no bundle: looked for d/@.zip; it cannot be downloaded: --no-download is given";
        let errors = failures(&[
            failed("cat", Failure::Input, missing),
            failed("concat", Failure::Input, "truncated"),
            failed("dog-cat", Failure::Input, missing),
            failed("dog", Failure::Machine, missing),
            failed("owl", Failure::Input, missing),
        ]);
        let messages: Vec<(&str, Option<&str>)> = errors
            .iter()
            .map(|error| (error.message.as_str(), error.help.as_deref()))
            .collect();
        assert_eq!(
            messages,
            [
                (
                    "3 competitions: ID/bundle: no bundle: looked for d/ID.zip; \
                     it cannot be downloaded: --no-download is given\n  ID: cat, dog-cat, owl",
                    None
                ),
                ("concat/bundle: truncated", None),
                (
                    "dog/bundle: no bundle: looked for d/dog.zip; \
                     it cannot be downloaded: --no-download is given",
                    None
                ),
            ]
        );
        assert_eq!(with_any_id("concat cat/cat.zip", "cat"), "concat ID/ID.zip");
        let wrong = |id: &str, sum: char| {
            let sum = sum.to_string().repeat(32);
            failed(
                id,
                Failure::Check,
                &format!("@.zip has MD5 {sum}, é expected"),
            )
        };
        let errors = failures(&[wrong("cat", 'a'), wrong("dog", '7'), wrong("owl", 'x')]);
        let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
        let grouped = "2 competitions: ID/bundle: ID.zip has MD5 ..., é expected\n  ID: cat, dog";
        let other = format!("owl/bundle: owl.zip has MD5 {}, é expected", "x".repeat(32));
        assert_eq!(messages, [grouped, &other]);
    }

    #[test]
    fn an_unplannable_competition_has_a_row_and_an_exit_code() {
        let error = Error::new(Failure::Pipeline, "no pipeline yet").help("wait");
        let mut done = Summary::refused("a", "v1", &error);
        done.failures.clear();
        done.state = CompetitionState::Prepared;
        done.checksums = Checksums::Ok;
        (done.files, done.bytes, done.seconds, done.steps_run) = (Some(3), Some(1_200_000), 2.5, 7);
        let refused = Summary::refused("long-name", "v1", &error);
        assert_eq!(
            (exit_of(&done), exit_of(&refused)),
            (Exit::Success, Exit::Pipeline)
        );
        let both = [done, refused];
        assert_eq!(
            incomplete(&both).as_deref(),
            Some("the run prepared 1 of 2 competitions, but not long-name")
        );
        assert_eq!(
            (incomplete(&both[..1]), incomplete(&both[1..])),
            (None, None)
        );
        let table = table(&both);
        assert_eq!(
            table.render(),
            "competition  files     size    time  run  reused  checksums    state\n\
             a                3  1.20 MB  2.50 s    7       0  ok           prepared\n\
             long-name        -        -  0.00 s    0       0  not checked  failed\n"
        );
        // A narrow table omits the least important columns first.
        assert_eq!(
            table.format_within(50),
            "competition  files     size  checksums    state\n\
             a                3  1.20 MB  ok           prepared\n\
             long-name        -        -  not checked  failed\n"
        );
    }
}

#[cfg(test)]
mod timings_tests {
    use prep_core::Figures;

    use super::*;

    #[test]
    fn the_table_shows_why_steps_waited() {
        let timing = Timing {
            competition: "taxi".into(),
            step: "table/rides".into(),
            kind: "read".into(),
            figures: Figures {
                wall: 2500,
                cpu: 4000,
                read: 1_000_000,
                waited: WaitTimes {
                    turn: 3,
                    lock: 1500,
                    memory: 20,
                },
                ..Figures::default()
            },
        };
        let text = timings_table(&[timing]).render();
        for part in ["taxi/table/rides", "another process", "memory"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("its turn"), "{text}");
    }
}
