//! `prep pipeline new | check | show | graph | fmt | schema`: writes, checks, shows and draws pipelines.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prep_app::{
    Catalog, CatalogEntry, DraftChoices, Error, PreparationOptions, Preview, PreviewSource, lists,
    upstream_facts,
};
use prep_core::units;
use prep_report::graph::{Drawing, dot, svg};
use prep_spec::{Diagnostics, Severity, shortened};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{CliError, Exit};
use crate::global::{integer, named};
use crate::options::{OutputArg, PreparationArgs, SourceArg, VariantArg};
use crate::output::printer::write_atomically;
use crate::output::table::{Align, PrintedTable};
use crate::remedy::words;
use crate::request::{DownloadLimits, Purpose};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};
use crate::{process, request};

/// Write, check and draw pipelines
#[derive(Debug, Args)]
pub struct PipelineArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    New(NewArgs),
    Check(CheckArgs),
    Show(ShowArgs),
    Graph(GraphArgs),
    Fmt(FmtArgs),
    Schema(SchemaArgs),
}

impl PipelineArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        match &self.verb {
            Verb::New(verb) => verb.call(session),
            Verb::Check(verb) => verb.call(session),
            Verb::Show(verb) => verb.call(session),
            Verb::Graph(verb) => verb.call(session),
            Verb::Fmt(verb) => verb.call(session),
            Verb::Schema(verb) => verb.call(session),
        }
    }
}

/// Check pipeline files in all variants
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline check pipelines/spaceship-titanic/pipeline.yaml
  prep pipeline check pipelines
  git diff --name-only --cached -- '*/pipeline.yaml' | xargs -r prep pipeline check

The check covers keys, queries and grading, and needs no bundle. Each mistake is a line FILE:LINE:COLUMN: error: MESSAGE on \
stdout. The exit code is 3 if there is a mistake. Warnings have the same form, and do not change the exit code.")]
pub struct CheckArgs {
    /// A file `pipeline.yaml`, or a directory of pipelines
    #[arg(value_name = "FILE|DIR", required = true)]
    files: Vec<PathBuf>,
}

/// A mistake in the JSON output.
#[derive(Debug, Serialize)]
struct Mistake {
    kind: &'static str,
    severity: &'static str,
    message: String,
    help: Option<String>,
    /// The file, and the line and column if they are known.
    place: Value,
}

impl Mistake {
    fn of_file(kind: &'static str, file: &str, message: &str, help: Option<String>) -> Mistake {
        Mistake {
            kind,
            severity: Severity::Error.name(),
            message: message.to_owned(),
            help,
            place: json!({ "file": file }),
        }
    }
}

impl CheckArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let (mut found, mut text, mut exits) = (Vec::new(), String::new(), Vec::new());
        for file in &pipeline_files(&self.files)? {
            let name = file.display().to_string();
            let checked = prep_app::check(file);
            let diagnostics = match &checked {
                Ok(warnings) => warnings.as_ref(),
                Err(error) => error.diagnostics.as_ref(),
            };
            if let Some(diagnostics) = diagnostics {
                text.push_str(&format!("{diagnostics}\n"));
                found.extend(mistakes(diagnostics));
            }
            let Err(error) = checked else { continue };
            if error.diagnostics.is_none() {
                text.push_str(&format!("{name}: error: {}\n", error.message));
                let help = error.help.as_ref().and_then(words);
                text.extend(help.iter().map(|help| format!("  help: {help}\n")));
                found.push(Mistake::of_file("unreadable", &name, &error.message, help));
            }
            exits.push(CliError::from(error).exit);
        }
        let json = || json!({ "mistakes": found });
        session.printer.show(json, || text)?;
        Ok(Exit::combine(exits))
    }
}

/// Returns the pipeline files that the paths name, each a file or a directory.
fn pipeline_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let files = paths.iter().map(|path| prep_app::pipeline_files(path));
    let files: Vec<Vec<PathBuf>> = files.collect::<Result<_, _>>()?;
    Ok(files.into_iter().flatten().collect())
}

fn mistakes(diagnostics: &Diagnostics) -> Vec<Mistake> {
    let file = &diagnostics.source().name;
    let found = diagnostics.iter().map(|diagnostic| {
        let (line, column) = diagnostics.source().position(diagnostic.span.start);
        Mistake {
            kind: diagnostic.code,
            severity: diagnostic.severity.name(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            place: json!({ "file": file, "line": line, "column": column }),
        }
    });
    let rest = diagnostics.rest();
    let rest = rest.map(|rest| Mistake::of_file("more", file, &rest, None));
    found.chain(rest).collect()
}

/// Draw the steps of a competition
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline graph spaceship-titanic --format svg -o graph.svg
  prep pipeline graph spaceship-titanic | dot -Tpdf > graph.pdf")]
pub struct GraphArgs {
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    /// Format of the picture: dot for Graphviz, svg for browsers
    #[arg(
        long,
        short,
        value_parser = named(FORMATS),
        default_value = "dot",
        hide_possible_values = true,
        value_name = "FORMAT"
    )]
    format: DrawGraph,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    output: OutputArg,
}

/// Draws a graph with a title.
type DrawGraph = fn(&str, &Drawing) -> String;

const FORMATS: [(&str, DrawGraph); 2] = [("dot", dot), ("svg", svg)];

impl GraphArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let preparation = PreparationArgs {
            variant: self.variant.clone(),
            source: self.source.clone(),
            ..PreparationArgs::default()
        };
        let plan = session.plan_one(&self.id, &preparation)?;
        let drawing = Drawing::new(&plan.all.graph, &plan.all.graph.order()?);
        if session.printer.json {
            let nodes: Vec<_> = drawing
                .nodes
                .iter()
                .enumerate()
                .map(|(at, node)| {
                    let inputs = drawing.edges.iter().filter(|(_, to)| *to == at).map(|(from, _)| &drawing.nodes[*from].name);
                    serde_json::json!({ "step": node.name, "kind": node.kind, "after": inputs.collect::<Vec<_>>() })
                })
                .collect();
            session.printer.json(
                &serde_json::json!({ "competitions": [{ "id": self.id, "steps": nodes }] }),
            )?;
            return Ok(Exit::Success);
        }
        let picture = (self.format)(&self.id, &drawing);
        self.output.write(session, &picture)?;
        Ok(Exit::Success)
    }
}

/// Remove superfluous spaces and empty lines from pipelines
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline fmt pipelines/lost-luggage/pipeline.yaml
  prep pipeline fmt --check pipelines

The command removes spaces at the ends of lines, carriage returns, and empty lines at the beginning, at the end and next \
to each other. It keeps comments, and it does not write a file whose meaning would change. With --check, the exit code is 1 \
if a file would change.")]
pub struct FmtArgs {
    /// A file `pipeline.yaml`, or a directory of pipelines
    #[arg(value_name = "FILE|DIR", required = true)]
    files: Vec<PathBuf>,
    /// List the files that would change; write nothing
    #[arg(long)]
    check: bool,
}

impl FmtArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let names = pipeline_files(&self.files)?;
        let names: Vec<String> = names
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let formatted = session.for_each_id(&names, |name| {
            let file = std::path::Path::new(name);
            let text = prep_app::format_pipeline(file)?;
            if let (Some(text), false) = (&text, self.check) {
                write_atomically(file, |out| out.write_all(text.as_bytes()))?;
            }
            Ok(text.is_some())
        });
        let changed = formatted.results().filter(|(_, changed)| **changed);
        let changed: Vec<&str> = changed.map(|(name, _)| name).collect();
        let lines = || changed.iter().map(|name| format!("{name}\n")).collect();
        let json = || json!({ "changed": changed });
        session.printer.show(json, lines)?;
        Ok(match formatted.exit() {
            Exit::Success if self.check && !changed.is_empty() => Exit::No,
            failed => failed,
        })
    }
}

/// Print the JSON Schema of pipeline files
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prep pipeline schema -o pipeline.schema.json")]
pub struct SchemaArgs {
    #[command(flatten)]
    output: OutputArg,
}

impl SchemaArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let text = format!("{:#}\n", prep_app::schema());
        self.output.write(session, &text)?;
        Ok(Exit::Success)
    }
}

/// Write a first pipeline for a bundle
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline new lost-luggage --source bundles
  prep pipeline new lost-luggage --source bundles --id id --target found --metric roc_auc
  prep pipeline new titanic --output pipelines
  prep plan lost-luggage --pipelines pipelines --source bundles

The command reads the bundle and writes DIR/ID/pipeline.yaml: tables with columns and types, a guess of ids and target, a \
split, checks and a metric. Comments mark the places where you must choose. The file loads and runs as it is, unless its \
first line states that the metric may reject the sample submission. If you do not have the bundle, prep requests the list of \
its files and the first rows of its tables from Kaggle.")]
pub struct NewArgs {
    /// The competition, as in its address on Kaggle, or its bundle ID.zip
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    source: SourceArg,
    /// The column to predict; several times for several columns
    #[arg(long, value_name = "COLUMN")]
    target: Vec<String>,
    /// The column that identifies a row
    #[arg(long = "id", value_name = "COLUMN")]
    id_column: Option<String>,
    /// The metric, such as `roc_auc`
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Directory of pipelines [default: --pipelines, or `pipelines`]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Send no request to Kaggle
    #[arg(long)]
    no_download: bool,
}

impl NewArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let settings = &session.settings;
        // `bundles/ID.zip` is short for `ID --source bundles`.
        let bundle = self.id.strip_suffix(".zip");
        let bundle = bundle.map(|path| path.rsplit_once('/').unwrap_or((".", path)));
        let parent = bundle.map(|(parent, _)| Path::new(parent));
        let parent = parent.filter(|_| Path::new(&self.id).is_file());
        let source = self.source.dir().or(parent);
        let source = source.or(self.source.or_setting(session));
        let id = bundle.map_or(self.id.as_str(), |(_, id)| id);
        let directory = self.output.clone().or_else(|| settings.pipelines.clone());
        let directory = directory
            .unwrap_or_else(|| PathBuf::from("pipelines"))
            .join(id);
        let path = directory.join("pipeline.yaml");
        if path.exists() {
            let error = Error::request(format!("{} already exists", path.display()));
            return Err(error
                .help("remove it, or name another directory with --output")
                .into());
        }
        let purpose = Purpose::request_unless(self.no_download);
        let network = request::network(session, &DownloadLimits::default(), purpose);
        let draft = prep_app::draft(
            settings,
            source,
            &network,
            id,
            &DraftChoices {
                id: self.id_column.clone(),
                targets: self.target.clone(),
                metric: self.metric.clone(),
            },
        )?;
        std::fs::create_dir_all(&directory)
            .map_err(|error| Error::writing("make the directory", &directory, &error))?;
        write_atomically(&path, |out| out.write_all(draft.text.as_bytes()))?;
        for note in &draft.notes {
            session.printer.message(note.clone());
        }
        if Catalog::embedded().find(id).is_some() {
            let note = format!(
                "`prep` has a built-in pipeline for `{id}`; with --pipelines, your pipeline replaces the built-in one"
            );
            session.printer.message(note);
        }
        let json = || json!({ "competitions": [{ "id": id, "pipeline": path, "bundle": draft.bundle, "notes": draft.notes }] });
        let text = || format!("{}\n", path.display());
        session.printer.show(json, text)?;
        Ok(Exit::Success)
    }
}

/// Print pipelines, or the first rows of a table
#[derive(Debug, Args)]
#[command(
    override_usage = "prep pipeline show [OPTIONS] [ID]...\n       prep pipeline show [OPTIONS] ID TABLE",
    after_help = "\
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
Without an ID, it then prints all competitions."
)]
pub struct ShowArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    output: OutputArg,
    /// A query over the pipeline's tables
    #[arg(long, value_name = "QUERY")]
    sql: Option<String>,
    /// Number of rows to print
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = integer::<usize>)]
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
        let (_watching, cancel) = process::watched(&session.printer)?;
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

/// Maximum length of a printed cell, in characters.
const MAX_CELL: usize = 40;

/// Formats the first rows as a table. Numbers are right-aligned.
fn first_rows(rows: &Preview) -> String {
    let columns = rows.columns.iter().map(|column| match column.kind {
        "integer" | "number" => (column.name.as_str(), Align::Right),
        _ => (column.name.as_str(), Align::Left),
    });
    let mut table = PrintedTable::new(&columns.collect::<Vec<_>>());
    for row in &rows.first {
        let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("-"));
        table.row(cells.map(|cell| shortened(cell, MAX_CELL)).collect());
    }
    table.render()
}

/// Formats the number of rows, and a table with facts about each column.
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

/// Returns the text of the pipelines. Several pipelines become the documents of one YAML stream.
fn texts(entries: &[&CatalogEntry]) -> Result<String, CliError> {
    let texts = entries.iter().map(|entry| entry.pipeline());
    let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
    Ok(texts.join("---\n"))
}

/// Returns the pipelines as JSON, with upstream's facts about each competition and upstream's lists of ids.
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
