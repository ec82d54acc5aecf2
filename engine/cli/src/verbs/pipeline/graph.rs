//! `prep pipeline graph`: draws the steps of a competition.

use clap::{Args, ValueEnum};
use prep_report::graph::{Drawing, dot, svg};

use crate::exit::Exit;
use crate::options::{OutputArg, PreparationArgs, SourceArg, VariantArg};
use crate::session::{CliSession, VerbResult};

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
