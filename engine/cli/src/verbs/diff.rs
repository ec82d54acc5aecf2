//! `prep diff`: compares two variants, pipelines, data directories or publications.

use std::path::Path;

use clap::Args;
use prep_app::{DataDifferences, FileDifference, TableDifference, local_time};
use prep_core::units;
use prep_spec::{BASE_VARIANT, Corrections, joined, known_variants};
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::options::VariantArg;
use crate::output::printer::more_than;
use crate::output::table::one_line;
use crate::session::{CliSession, VerbResult};

/// Compare variants, pipelines, directories or publications
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep diff spaceship-titanic v1 fixed
  prep diff ranzcr-clip-catheter-line-classification v1 fixed:30
  prep diff old/pipeline.yaml new/pipeline.yaml
  prep diff spaceship-titanic ~/data-of-march ~/data
  prep diff spaceship-titanic @1 @0
  prep diff spaceship-titanic v1 fixed --json | jq -r '.cells[] | [.path, .key, .column, .old, .new] | @csv'

The command compares the pipelines, then the outputs file by file, including files inside archives. Rows of tables are \
matched by their id column. Outputs of variants are compared if both are prepared. @0 is the last publication into the data directory, and @1 is the \
publication before it. Runs that publish nothing new are not counted. The cache has the outputs of recent publications.

The exit code is 0 if nothing differs, and 1 if something differs.")]
pub struct DiffArgs {
    /// ID and two variants, directories or publications (@1 @0); or two pipeline files
    #[arg(value_name = "WHAT", num_args = 1..=3, required = true)]
    operands: Vec<String>,
    #[command(flatten)]
    variant: VariantArg,
}

impl DiffArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let found = self.differences(session)?;
        let json = || to_json(self.id(), &found);
        session.printer.show(json, || self.text(&found))?;
        Ok(match found.is_empty() {
            true => Exit::Success,
            false => Exit::No,
        })
    }

    /// Returns the differences as text. Also states that two variants are the same. This is frequent, because many
    /// pipelines have no corrections.
    fn text(&self, found: &DataDifferences) -> String {
        match self.operands.as_slice() {
            [id, old, new] if are_variants([old, new]) && found.pipeline.is_empty() => {
                let same = format!("pipeline: `{old}` and `{new}` of {id} are the same\n");
                let outputs = found.outputs.is_some().then(|| text(found));
                same + &outputs.unwrap_or_default()
            }
            _ => text(found),
        }
    }

    /// Returns the competition, or `None` if the operands are two pipeline files.
    fn id(&self) -> Option<&str> {
        match self.operands.as_slice() {
            [id, _, _] => Some(id),
            _ => None,
        }
    }

    fn differences(&self, session: &CliSession) -> Result<DataDifferences, CliError> {
        let words: Vec<&str> = self.operands.iter().map(String::as_str).collect();
        let catalog = session.catalog()?;
        match words.as_slice() {
            [old, new, id] if catalog.find(old).is_none() && catalog.find(id).is_some() => {
                let error = CliError::usage(format!("`{old}` is not a competition"));
                Err(error.help(format!("write `prep diff {id} {old} {new}`")))
            }
            [id, old, new] if are_variants([old, new]) => {
                let variants = [*old, *new];
                variants
                    .iter()
                    .try_for_each(|one| catalog.require_variant(one, &[id]))?;
                Ok(prep_app::diff_variants(
                    &catalog,
                    &session.settings,
                    id,
                    variants,
                )?)
            }
            [id, old, new] => {
                if let (Some(old), Some(new)) = (publication_number(old), publication_number(new)) {
                    let settings = &session.settings;
                    let found = prep_app::diff_publications(
                        &catalog,
                        settings,
                        id,
                        &self.variant.variant,
                        [old, new],
                    );
                    return Ok(found?);
                }
                catalog.get(id)?;
                let sides = [*old, *new];
                if !sides.iter().all(|side| Path::new(side).is_dir()) {
                    return Err(invalid_sides(&sides));
                }
                let (old, new) = (Path::new(old), Path::new(new));
                Ok(prep_app::diff_data(&session.settings, old, new, id)?)
            }
            [id] | [id, _] if catalog.find(id).is_some() && !Path::new(id).exists() => {
                let words = words.join(" ");
                let message = format!("`prep diff {words}` needs two sides to compare");
                let help = "name two variants such as `v1` and `fixed`, two data directories, or two publications such as `@1` and `@0`";
                Err(CliError::usage(message).help(help))
            }
            [old, new] => {
                let (old, new) = (Path::new(old), Path::new(new));
                if old.is_dir() && new.is_dir() {
                    let words = words.join(" ");
                    let message = format!("`prep diff {words}` needs the id of a competition");
                    let help = format!("write `prep diff ID {words}`");
                    return Err(CliError::usage(message).help(help));
                }
                Ok(prep_app::diff_pipelines(old, new, BASE_VARIANT)?)
            }
            _ => Err(CliError::usage(
                "expected an id and two sides, or two pipeline files",
            )),
        }
    }
}

fn are_variants(sides: [&str; 2]) -> bool {
    sides.iter().all(|side| Corrections::parse(side).is_ok())
}

/// Returns the error for two operands that are not both variants, both publications or both directories.
fn invalid_sides(sides: &[&str]) -> CliError {
    let known = |side: &str| {
        Corrections::parse(side).is_ok()
            || publication_number(side).is_some()
            || Path::new(side).is_dir()
    };
    match sides.iter().find(|side| !known(side)) {
        Some(side) => CliError::usage(format!(
            "`{side}` is not a variant, a publication (`@1`) or a data directory"
        ))
        .suggest(prep_spec::nearest(side, known_variants())),
        None => CliError::usage("expected two variants, two publications or two data directories"),
    }
}

/// Parses for example `@1`.
fn publication_number(word: &str) -> Option<usize> {
    word.strip_prefix('@')?.parse().ok()
}

/// Returns the differences as JSON, with the changed cells of all tables in one list.
fn to_json(id: Option<&str>, found: &DataDifferences) -> Value {
    let files = found.outputs.iter().flatten();
    let cells: Vec<Value> = files
        .filter_map(|file| Some((file, file.table.as_ref()?)))
        .flat_map(|(file, table)| {
            table.cells.iter().map(|cell| {
                json!({
                    "path": file.path,
                    "key": cell.key,
                    "column": cell.column,
                    "old": cell.old,
                    "new": cell.new,
                })
            })
        })
        .collect();
    let published = found.published;
    json!({ "competitions": [{ "id": id, "published": published, "pipeline": found.pipeline, "outputs": found.outputs, "cells": cells }] })
}

fn text(found: &DataDifferences) -> String {
    let mut text = String::new();
    if let Some([old, new]) = found.published.map(|times| times.map(local_time)) {
        text.push_str(&format!("published {old} -> {new}\n"));
    }
    if !found.pipeline.is_empty() {
        text.push_str("pipeline\n");
    }
    for one in &found.pipeline {
        text.push_str(&format!("  {}\n", one.path));
        for (sign, value) in [("-", &one.old), ("+", &one.new)] {
            if let Some(value) = value {
                text.push_str(&format!("    {sign} {value}\n"));
            }
        }
    }
    match &found.outputs {
        None => text.push_str("outputs: not compared, because not both sides are prepared\n"),
        Some(files) if files.is_empty() => text.push_str("outputs: equal\n"),
        Some(files) => {
            text.push_str("outputs\n");
            let listed = files.iter().take(MAX_FILES);
            listed.for_each(|file| add_file(file, &mut text));
            if let Some(more) = more_than(MAX_FILES, files.len(), "further file") {
                text.push_str(&format!("  {more}; `--json` lists all\n"));
            }
        }
    }
    text
}

/// Maximum number of displayed files.
const MAX_FILES: usize = 200;
/// Maximum number of examples per kind of difference.
const MAX_EXAMPLES: usize = 3;
/// Maximum number of displayed column names.
const MAX_NAMES: usize = 50;

fn add_file(file: &FileDifference, text: &mut String) {
    let change = match (file.bytes, &file.renamed_to) {
        ([Some(_), _], Some(other)) => format!("renamed to {}", one_line(other)),
        ([Some(old), None], None) => format!("removed, {}", units::bytes(old)),
        ([None, Some(new)], None) => format!("added, {}", units::bytes(new)),
        ([Some(old), Some(new)], None) => {
            format!(
                "changed, {} before, {} now",
                units::bytes(old),
                units::bytes(new)
            )
        }
        _ => String::new(),
    };
    text.push_str(&format!("  {} {change}\n", one_line(&file.path)));
    if let Some(table) = &file.table {
        add_table(table, text);
    }
}

fn add_table(table: &TableDifference, text: &mut String) {
    let mut add_line = |line: String| text.push_str(&format!("    {line}\n"));
    let [before, after] = table.rows;
    if before != after {
        add_line(format!("rows: {before} before, {after} now"));
    }
    for (change, names) in [
        ("columns removed", &table.columns_removed),
        ("columns added", &table.columns_added),
    ] {
        if !names.is_empty() {
            let names = names.iter().map(|name| one_line(name));
            add_line(format!("{change}: {}", joined(names, MAX_NAMES)));
        }
    }
    for (old, new) in table.columns_renamed.iter().take(MAX_NAMES) {
        let (old, new) = (one_line(old), one_line(new));
        add_line(format!("column renamed: {old} is now {new}"));
    }
    for (change, count, ids) in [
        ("rows removed", table.rows_removed, &table.ids_removed),
        ("rows added", table.rows_added, &table.ids_added),
    ] {
        if count > 0 {
            let shown: Vec<String> = ids
                .iter()
                .take(MAX_EXAMPLES)
                .map(|id| one_line(id))
                .collect();
            let key = one_line(table.key.as_deref().unwrap_or("whole rows"));
            match shown.is_empty() {
                true => add_line(format!("{change}: {count}")),
                false => add_line(format!(
                    "{change}: {count} ({key} {} ...)",
                    shown.join(", ")
                )),
            }
        }
    }
    if table.reordered {
        add_line("rows that both sides have are in a different order".to_owned());
    }
    if table.cells_changed > 0 {
        add_line(format!("cells changed: {}", table.cells_changed));
        for cell in table.cells.iter().take(MAX_EXAMPLES) {
            let [key, column, old, new] =
                [&cell.key, &cell.column, &cell.old, &cell.new].map(|text| one_line(text));
            add_line(format!("  {key} {column}: `{old}` before, `{new}` now"));
        }
    }
    for counts in &table.counts {
        let changed = counts.values.iter().filter(|(_, [old, new])| old != new);
        let shown: Vec<String> = changed
            .take(2 * MAX_EXAMPLES)
            .map(|(value, [old, new])| format!("`{}` {old} before, {new} now", one_line(value)))
            .collect();
        add_line(format!(
            "{}: {}",
            one_line(&counts.column),
            shown.join("; ")
        ));
    }
}
