//! `prep list`: lists competitions and their state.

use clap::Args;
use prep_app::reasons::StatedReason;
use prep_app::{
    AnswersState, CatalogEntry, Comparability, FailedRun, PreparedData, PreparedState,
    RemovedFiles, disk_use,
};
use prep_core::units;
use prep_spec::Day;
use serde::Serialize;
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::output::table::{PrintedTable, freed};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};
use prep_spec::shortened;

/// List competitions and their state
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep list
  prep list --lite
  prep list --long
  prep list --json | jq -r '.competitions[] | select(.state == \"not prepared\") | .id'")]
pub struct ListArgs {
    #[command(flatten)]
    selection: Selection,
    /// Show the disk space of prepared data and bundles in the data directory
    ///
    /// Bytes that prepared data share with the cache are not included: `prep cache stat` shows the size of the cache.
    #[arg(long, short)]
    long: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    /// The exit code for this competition. If one of its manifests cannot be read, this is the code of that error. The
    /// command lists the other competitions nevertheless.
    #[serde(skip)]
    exit: Exit,
    id: String,
    name: Option<String>,
    sets: Vec<String>,
    category: Option<String>,
    /// Size of the bundle.
    bytes: Option<u64>,
    /// The files in the data directory. Only with `--long`.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<DiskUse>,
    state: String,
    /// Files that differ from the published ones, files that no run published, and how the last run failed.
    reasons: Vec<StatedReason>,
    /// The first prepared variant whose data changed, otherwise the first prepared variant.
    variant: Option<String>,
    variants: Vec<String>,
    /// Whether the answers of `variant` are plain, sealed, or both.
    answers: Option<AnswersState>,
    /// The corrections that a variant can name.
    corrections: Vec<String>,
    /// Whether scores on `variant` are comparable with those of the benchmark.
    comparable_with_v1: Option<bool>,
    /// The days on which the competition began and ended on Kaggle.
    launched: Option<Day>,
    closed: Option<Day>,
    /// Why scores are not comparable.
    not_comparable_because: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct DiskUse {
    prepared: RemovedFiles,
    bundle: RemovedFiles,
}

impl ListArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let all = || Ok(catalog.iter().map(|entry| entry.id.clone()).collect());
        let ids = self.selection.ids_or(session, all)?;
        let entries = ids.iter().map(|id| catalog.get(id));
        let entries: Vec<&CatalogEntry> = entries.collect::<Result<_, _>>()?;
        let data_dir = &session.settings.data_dir;
        if session.places.origin("data_dir") == "option" && !data_dir.is_dir() {
            let problem = match data_dir.exists() {
                true => "is not a directory",
                false => "does not exist",
            };
            let text = format!("the data directory {} {problem}", data_dir.display());
            session.printer.warning(text);
        }
        let rows: Vec<Row> = entries
            .into_iter()
            .map(|entry| {
                let disk = self.long.then(|| disk_use(&session.settings, &entry.id));
                let disk = disk.transpose()?.map(|found| DiskUse {
                    prepared: found.prepared,
                    bundle: found.bundle,
                });
                let row = row(session, entry)?;
                Ok::<_, CliError>(Row { disk, ..row })
            })
            .collect::<Result<_, _>>()?;
        if session.printer.json {
            session.printer.json(&json!({ "competitions": rows }))?;
        } else {
            let table = if self.long {
                disk_table(&rows)
            } else {
                table(&rows)
            };
            session.printer.table(&table)?;
            let sizes: Vec<u64> = rows.iter().filter_map(|row| row.bytes).collect();
            if sizes.len() > 1 {
                session.printer.message(format!(
                    "{}; {} have {} in total",
                    units::count(rows.len() as u64, "competition"),
                    units::count(sizes.len() as u64, "bundle"),
                    units::bytes(sizes.iter().sum()),
                ));
            }
        }
        Ok(Exit::combine(rows.iter().map(|row| row.exit)))
    }
}

/// Collects the state of a competition in all variants.
fn row(session: &CliSession, entry: &CatalogEntry) -> Result<Row, CliError> {
    let text = entry.pipeline.as_deref();
    // A pipeline with mistakes is listed, too. `prep plan` shows the mistakes.
    let pipeline = text.map(|_| entry.load(prep_spec::BASE_VARIANT));
    let (mut variants, mut shown, mut problem) = (Vec::new(), Vec::new(), None);
    let (mut reasons, mut shown_answers) = (Vec::new(), None);
    let mut exit = Exit::Success;
    let mut shown_variant: Option<(String, Option<Comparability>)> = None;
    let mut is_changed = false;
    for variant in session.settings.variants() {
        let data_dir = session.settings.data_dir_of(&variant);
        let of_variant = |kind, reason: &str| match variant == prep_spec::BASE_VARIANT {
            true => StatedReason::new(kind, reason),
            false => StatedReason::new(kind, format!("{variant}: {reason}")),
        };
        if let Some(run) = FailedRun::read(&data_dir, &entry.id) {
            let kind = run.message.as_ref().map_or("stopped", |_| "failed");
            reasons.push(of_variant(kind, &run.to_string()));
        }
        let manifest = match prep_app::manifest(&data_dir, &entry.id) {
            Ok(Some(manifest)) => manifest,
            Ok(None) => continue,
            Err(error) => {
                let error = CliError::from(error);
                exit = Exit::combine([exit, error.exit]);
                problem = problem.or(Some("unreadable"));
                let prefix = format!("{}: ", entry.id);
                let message = error.message.strip_prefix(&prefix);
                let lines = [message.or(Some(&error.message)), error.help.as_deref()];
                let text = lines.into_iter().flatten().collect::<Vec<_>>().join("; ");
                reasons.push(of_variant("unreadable", &text));
                continue;
            }
        };
        // The comparability of a pipeline with mistakes is unknown.
        let comparability = Comparability::of_prepared(entry, &manifest).ok();
        let mark = match &comparability {
            Some(comparability) => comparability.mark(),
            None => Some("not verified"),
        };
        let data = PreparedData::new(Some(&manifest), &data_dir, &session.settings)?;
        let change = prep_app::pipeline_change(entry, &manifest).filter(|_| manifest.complete);
        reasons.extend(change.map(|text| of_variant("pipeline_changed", &text)));
        let difference = data.tree.difference();
        reasons.extend(difference.map(|text| of_variant("files_differ", &text)));
        let answers = AnswersState::of(&data_dir, &entry.id);
        match data.state.problem() {
            None => {
                variants.push(manifest.variant.clone());
                let marks: Vec<&str> = mark.into_iter().chain(answers.mark()).collect();
                shown.push(match marks.is_empty() {
                    true => manifest.variant.clone(),
                    false => format!("{} ({})", manifest.variant, marks.join(", ")),
                });
            }
            found => problem = problem.or(found),
        }
        let is_first_changed = data.state == PreparedState::Changed && !is_changed;
        is_changed |= is_first_changed;
        if manifest.complete && (shown_variant.is_none() || is_first_changed) {
            shown_variant = Some((manifest.variant, comparability));
            shown_answers = Some(answers);
        }
        shown_answers.get_or_insert(answers);
    }
    let state = match (problem, &pipeline) {
        (Some(problem), _) => problem.to_owned(),
        _ if !variants.is_empty() => format!("prepared {}", shown.join(", ")),
        (None, Some(Ok(_))) => "not prepared".to_owned(),
        (None, Some(Err(_))) => "pipeline has mistakes".to_owned(),
        (None, None) if entry.unreadable.is_some() => "pipeline cannot be read".to_owned(),
        (None, None) => "no pipeline".to_owned(),
    };
    let unreadable = entry.unreadable.iter();
    reasons.extend(unreadable.map(|error| StatedReason::new("unreadable", &*error.message)));
    if matches!(pipeline, Some(Err(_))) && !variants.is_empty() {
        reasons.push(StatedReason::new("pipeline", "its pipeline has mistakes"));
    }
    let pipeline = pipeline.and_then(Result::ok);
    let (variant, comparability) = shown_variant.unzip();
    let comparability = comparability.flatten();
    let dates = entry.dates();
    Ok(Row {
        exit,
        id: entry.id.clone(),
        launched: dates.launched,
        closed: dates.closed,
        sets: entry.sets(),
        name: pipeline.as_ref().map(|pipeline| pipeline.name.clone()),
        category: pipeline.map(|pipeline| pipeline.category),
        bytes: entry.size(),
        disk: None,
        state,
        reasons,
        variant,
        variants,
        answers: shown_answers,
        corrections: text
            .and_then(|text| prep_spec::corrections(text).ok())
            .unwrap_or_default(),
        comparable_with_v1: comparability.as_ref().map(Comparability::is_comparable),
        not_comparable_because: comparability.map_or_else(Vec::new, |one| one.obstacles()),
    })
}

fn table(rows: &[Row]) -> PrintedTable {
    let mut table = PrintedTable::with_header("id  sets  >size  category  name  state")
        .optional(&["name", "category", "sets", "size"]);
    for row in rows {
        // Omits the sets that contain nearly all competitions.
        let sets: Vec<&str> = row
            .sets
            .iter()
            .map(String::as_str)
            .filter(|set| !["all", "scored"].contains(set))
            .collect();
        let or_dash = |text: Option<&String>| text.cloned().unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            row.id.clone(),
            sets.join(" "),
            row.bytes.map_or_else(|| "-".to_owned(), units::bytes),
            or_dash(row.category.as_ref()),
            or_dash(row.name.as_ref()),
            // The state is the last column, so that a long reason does not widen the other rows.
            state_cell(&row.state, &row.reasons),
        ]);
    }
    table
}

/// Maximum length of a reason in the table, in characters. The JSON output contains the entire reason.
const MAX_REASON: usize = 160;

fn state_cell(state: &str, reasons: &[StatedReason]) -> String {
    let reasons = reasons.iter().map(|one| one.message.as_str());
    let reasons: Vec<&str> = reasons.collect();
    match reasons.is_empty() {
        true => state.to_owned(),
        false => format!("{state}: {}", shortened(&reasons.join("; "), MAX_REASON)),
    }
}

/// Returns the table of `--long`.
fn disk_table(rows: &[Row]) -> PrintedTable {
    let mut table = PrintedTable::with_header("id  >prepared  >bundle  state");
    for row in rows {
        let disk = row
            .disk
            .map(|disk| [freed(disk.prepared), freed(disk.bundle)]);
        let [prepared, bundle] = disk.unwrap_or_default();
        let state = state_cell(&row.state, &row.reasons);
        table.row(vec![row.id.clone(), prepared, bundle, state]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reason can be long: the message about a wrong bundle contains two paths and two digests.
    #[test]
    fn a_long_reason_is_shortened() {
        let reason = StatedReason::new("failed", "reason ".repeat(50));
        let cell = state_cell("not prepared", &[reason]);
        assert_eq!(cell.chars().count(), "not prepared: ".len() + MAX_REASON);
        assert!(cell.ends_with('…'), "{cell}");
        assert_eq!(state_cell("incomplete", &[]), "incomplete");
    }

    #[test]
    fn ids_and_states_fit_a_terminal_of_80_columns() {
        let catalog = prep_app::Catalog::embedded();
        let row = |entry: &CatalogEntry| Row {
            exit: Exit::Success,
            id: entry.id.clone(),
            name: Some("A name that takes its room".into()),
            sets: entry.sets(),
            category: Some("Image Classification".into()),
            bytes: entry.size(),
            disk: None,
            state: "not prepared".into(),
            reasons: Vec::new(),
            variant: None,
            launched: None,
            closed: None,
            variants: Vec::new(),
            answers: None,
            corrections: Vec::new(),
            comparable_with_v1: None,
            not_comparable_because: Vec::new(),
        };
        let rows: Vec<Row> = catalog.iter().map(row).collect();
        let shown = table(&rows).format_within(80);
        assert!(shown.lines().all(|line| line.chars().count() <= 80));
        assert!(rows.iter().all(|row| shown.contains(&row.id)));
    }
}
