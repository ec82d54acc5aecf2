//! `prep pipeline show`: prints pipelines with the definitions of their competitions, or rows of their tables.

use clap::Args;
use prep_app::{CatalogEntry, PreparationOptions, Preview, PreviewSource, lists, upstream_facts};
use prep_core::units;
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
            true => self.selection.ids_or(session, || {
                let all = catalog.iter().map(|entry| entry.id.clone());
                Ok(all.collect())
            })?,
            false => self.selection.ids(session)?,
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

    fn rows(&self, session: &CliSession, id: &str, view: &PreviewSource) -> VerbResult {
        let options = PreparationOptions {
            download: false,
            ..self.preparation.options(session)
        };
        let task = session.task(options, &DownloadLimits::default(), Purpose::Unused)?;
        let (_watching, cancel) = interrupt::watched(&session.printer)?;
        let shown = prep_app::rows(&task, id, view, self.rows, &cancel)?;
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
fn first_rows(rows: &Preview) -> String {
    let columns = rows.columns.iter().map(|column| match column.kind {
        "integer" | "number" => (column.name.as_str(), Align::Right),
        _ => (column.name.as_str(), Align::Left),
    });
    let mut table = PrintedTable::new(&columns.collect::<Vec<_>>());
    for row in &rows.first {
        table.row(row.iter().map(|cell| shortened(cell.as_deref())).collect());
    }
    table.render()
}

/// Returns a cell with at most [`MAX_CELL`] characters, and `-` for a missing one.
fn shortened(cell: Option<&str>) -> String {
    let cell = cell.unwrap_or("-");
    match cell.chars().nth(MAX_CELL) {
        Some(_) => format!("{}...", cell.chars().take(MAX_CELL - 3).collect::<String>()),
        None => cell.to_owned(),
    }
}

fn facts(rows: &Preview) -> String {
    let mut table = PrintedTable::with_header("column  type  >missing  >different");
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
