//! `prep graph`: a competition's steps as a picture.

use clap::{Args, ValueEnum};
use prep_report::graph::{Drawing, dot, svg};

use crate::exit::Exit;
use crate::options::How;
use crate::session::{Ended, Session};

/// Draw the steps of a competition and what feeds what
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep graph spaceship-titanic --format svg > graph.svg
  prep graph spaceship-titanic | dot -Tpdf > graph.pdf")]
pub struct GraphArgs {
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    #[arg(long, short, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For Graphviz
    #[default]
    Dot,
    /// A picture that browsers show
    Svg,
}

impl GraphArgs {
    pub fn call(&self, session: &Session) -> Ended {
        let plan = super::plan::of_one(session, &self.id, &self.how)?;
        let order = plan.graph.order().map_err(prep_app::Error::from)?;
        let drawing = Drawing::of(&plan.graph, &order);
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
            session
                .printer
                .json(&serde_json::json!({ "id": self.id, "steps": nodes }))?;
            return Ok(Exit::Success);
        }
        session.printer.result(&match self.format {
            Format::Dot => dot(&self.id, &drawing),
            Format::Svg => svg(&self.id, &drawing),
        })?;
        Ok(Exit::Success)
    }
}
