//! `prep pipeline show`: prints pipelines with the definitions of their competitions, or rows of their tables.

use std::sync::Arc;

use clap::Args;
use prep_app::{CatalogEntry, PreparationOptions, PreviewSource, Rows, lists, upstream_facts};
use prep_core::{NullReporter, Reporter, units};
use serde_json::{Map, Value, json};

use crate::downloads::{DownloadLimits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt;
use crate::options::{OutputArg, PreparationArgs};
use crate::output::table::{Align, PrintedTable};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Print pipelines, or the first rows of a table
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline show spaceship-titanic
  prep pipeline show spaceship-titanic -o my/spaceship-titanic/pipeline.yaml
  prep pipeline show spaceship-titanic train --source ~/bundles
  prep pipeline show spaceship-titanic --sql 'SELECT Transported, count(*) AS n FROM train GROUP BY Transported'
  prep pipeline show --all --json | jq '.competitions[] | {id, metric}'

With a TABLE after the ID, or with --sql, the command prints the first rows, and for each column its type, the number \
of missing cells, and the number of different values. It makes the tables that it needs from the bundle, and publishes \
nothing. All columns of a file can be used in --sql. In the pipeline, declare the columns that queries compute with.

With --json, the command also prints description, leaderboard, published checksums and the names that upstream uses. \
Without an ID, it then prints all competitions.")]
pub struct ShowArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    output: OutputArg,
    /// A query over the pipeline's tables
    #[arg(long, value_name = "QUERY")]
    sql: Option<String>,
    /// Number of rows to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    rows: usize,
    #[command(flatten)]
    preparation: PreparationArgs,
}

impl ShowArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let view = match (self.selection.ids.as_slice(), &self.sql) {
            ([id], Some(sql)) => Some((id, PreviewSource::Query(sql.clone()))),
            (_, Some(_)) => {
                return Err(CliError::usage("--sql needs one competition").help("write its ID"));
            }
            ([id, table], None) if catalog.find(table).is_none() && catalog.find(id).is_some() => {
                Some((id, PreviewSource::Table(table.clone())))
            }
            _ => None,
        };
        if let Some((id, view)) = view {
            return self.rows(session, id, &view);
        }
        let ids = match session.printer.json {
            true => self.selection.ids_or(|| {
                let all = catalog.iter().map(|entry| entry.id.clone());
                Ok(all.collect())
            })?,
            false => self.selection.ids()?,
        };
        let entries = ids.iter().map(|id| catalog.get(id));
        let entries: Vec<&CatalogEntry> = entries.collect::<Result<_, _>>()?;
        let text = match session.printer.json {
            true => whole(&entries),
            false => texts(&entries)?,
        };
        self.output.write(session, &text)?;
        Ok(Exit::Success)
    }
}

impl ShowArgs {
    fn rows(&self, session: &CliSession, id: &str, view: &PreviewSource) -> VerbResult {
        let options = PreparationOptions {
            download: false,
            ..self.preparation.options()
        };
        let task = session.task(options, &DownloadLimits::default(), Purpose::Unused)?;
        let (_watching, cancel) = interrupt::watched(&session.printer)?;
        let reporter: Arc<dyn Reporter> = Arc::new(NullReporter);
        let shown = prep_app::rows(&task, id, view, self.rows, &cancel, &reporter)?;
        let text = match session.printer.json {
            true => format!(
                "{:#}\n",
                json!({ "competitions": [{ "id": id, "rows": shown }] })
            ),
            false => format!("{}\n{}", first_rows(&shown), facts(&shown)),
        };
        self.output.write(session, &text)?;
        Ok(Exit::Success)
    }
}

/// Maximum characters of a cell.
const MAX_CELL: usize = 40;

/// Prints rows with aligned columns; numbers are on the right.
fn first_rows(rows: &Rows) -> String {
    let head = rows.columns.iter().map(|column| column.name.clone());
    let mut lines: Vec<Vec<String>> = vec![head.collect()];
    for row in &rows.first {
        lines.push(row.iter().map(|cell| shortened(cell.as_deref())).collect());
    }
    let width = |at: usize| {
        let cells = lines.iter().filter_map(|line| line.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows.columns.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).zip(&rows.columns);
        let cells = cells.map(|((cell, &width), column)| match column.kind {
            "integer" | "number" => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Returns a cell on one line, and `-` for a missing one.
fn shortened(cell: Option<&str>) -> String {
    let Some(cell) = cell else {
        return "-".to_owned();
    };
    let line: String = cell
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match line.chars().nth(MAX_CELL) {
        Some(_) => format!("{}...", line.chars().take(MAX_CELL - 3).collect::<String>()),
        None => line,
    }
}

fn facts(rows: &Rows) -> String {
    let mut table = PrintedTable::new(&[
        ("column", Align::Left),
        ("type", Align::Left),
        ("missing", Align::Right),
        ("different", Align::Right),
    ]);
    for column in &rows.columns {
        let distinct = column.distinct.map(|number| number.to_string());
        table.row(vec![
            column.name.clone(),
            match column.declared {
                true => column.kind.to_owned(),
                false => format!("{}, not declared", column.kind),
            },
            rows.rows.saturating_sub(column.filled).to_string(),
            distinct.unwrap_or_else(|| "not counted".to_owned()),
        ]);
    }
    format!("{}\n\n{}", units::count(rows.rows, "row"), table.render())
}

/// Returns the texts of the pipelines. Several pipelines become the documents of one YAML stream.
fn texts(entries: &[&CatalogEntry]) -> Result<String, CliError> {
    let texts = entries.iter().map(|entry| entry.pipeline());
    let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
    Ok(texts.join("---\n"))
}

fn whole(entries: &[&CatalogEntry]) -> String {
    let one = |entry: &&CatalogEntry| {
        let mut all = json!({ "id": entry.id, "pipeline": entry.pipeline.as_deref() });
        if let (Some(all), Some(Value::Object(facts))) =
            (all.as_object_mut(), upstream_facts(entry))
        {
            all.extend(facts);
        }
        all
    };
    let competitions: Vec<Value> = entries.iter().map(one).collect();
    let lists: Map<String, Value> = lists()
        .map(|(name, ids)| (name.to_owned(), json!(ids)))
        .collect();
    format!(
        "{:#}\n",
        json!({ "competitions": competitions, "lists": lists })
    )
}
