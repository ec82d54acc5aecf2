//! `prep pipeline new | check | show | graph | fmt | schema`: writes, checks, shows and draws pipelines.

mod new;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use prep_app::Error;
use prep_report::graph::{Drawing, dot, svg};
use serde::Serialize;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::{OutputArg, PreparationArgs, SourceArg, VariantArg};
use crate::output::file::write_atomically;
use crate::remedy::words;
use crate::session::{CliSession, VerbResult};

/// Write, check and draw pipelines
#[derive(Debug, Args)]
pub struct PipelineArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    New(new::NewArgs),
    Check(CheckArgs),
    Show(show::ShowArgs),
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
  git diff --name-only --cached -- '*/pipeline.yaml' | xargs -r prep pipeline check

The check covers keys, queries and grading, and needs no bundle. Each mistake is a line FILE:LINE:COLUMN: error: MESSAGE on \
stdout. The exit code is 3 if there is a mistake.")]
pub struct CheckArgs {
    /// A file `pipeline.yaml`
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// A mistake in the JSON output.
#[derive(Debug, Serialize)]
struct Mistake {
    file: String,
    line: Option<usize>,
    column: Option<usize>,
    code: Option<&'static str>,
    message: String,
    help: Option<String>,
}

impl Mistake {
    fn without_place(file: &str, message: &str, help: Option<String>) -> Mistake {
        Mistake {
            file: file.to_owned(),
            line: None,
            column: None,
            code: None,
            message: message.to_owned(),
            help,
        }
    }
}

impl CheckArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let (mut found, mut text, mut exits) = (Vec::new(), String::new(), Vec::new());
        for file in &self.files {
            let Err(error) = prep_app::check(file) else {
                continue;
            };
            let name = file.display().to_string();
            match &error.diagnostics {
                Some(_) => text.push_str(&format!("{}\n", error.to_string().trim_end())),
                None => text.push_str(&format!("{name}: error: {}\n", error.message)),
            }
            found.extend(mistakes(&name, &error));
            exits.push(CliError::from(error).exit);
        }
        let json = || json!({ "mistakes": found });
        session.printer.show(json, || text)?;
        Ok(Exit::combine(exits))
    }
}

fn mistakes(file: &str, error: &Error) -> Vec<Mistake> {
    let Some(diagnostics) = &error.diagnostics else {
        return vec![Mistake::without_place(
            file,
            &error.message,
            error.help.as_ref().and_then(words),
        )];
    };
    let found = diagnostics.iter().map(|diagnostic| {
        let (line, column) = diagnostics.source().position(diagnostic.span.start);
        Mistake {
            file: file.to_owned(),
            line: Some(line),
            column: Some(column),
            code: Some(diagnostic.code),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
        }
    });
    let rest = diagnostics.rest();
    let rest = rest.map(|rest| Mistake::without_place(file, &rest, None));
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
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "FORMAT"
    )]
    format: Format,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    output: OutputArg,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Dot,
    Svg,
}

impl GraphArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let preparation = PreparationArgs {
            variant: self.variant.clone(),
            source: self.source.clone(),
            ..PreparationArgs::default()
        };
        let plan = session.plan_one(&self.id, &preparation)?;
        let drawing = Drawing::new(&plan.graph, &plan.graph.order()?);
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
        let picture = match self.format {
            Format::Dot => dot(&self.id, &drawing),
            Format::Svg => svg(&self.id, &drawing),
        };
        self.output.write(session, &picture)?;
        Ok(Exit::Success)
    }
}

/// Format pipeline files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline fmt pipelines/*/pipeline.yaml
  prep pipeline fmt --check pipelines/*/pipeline.yaml

The command removes spaces at the ends of lines, carriage returns, and empty lines at the beginning, at the end and next \
to each other. It keeps comments, and it does not write a file whose meaning would change. With --check, the exit code is 1 \
if a file would change.")]
pub struct FmtArgs {
    /// Pipeline files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// List the files that would change; write nothing
    #[arg(long)]
    check: bool,
}

impl FmtArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let names: Vec<String> = self
            .files
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
