//! `prep graph`: a competition's steps as a picture.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};

use crate::exit::Exit;
use crate::options::How;
use crate::output::layers::Drawing;
use crate::output::svg;
use crate::{Ended, Session};

/// Draw the steps of a competition and what feeds what
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep graph spaceship-titanic --format svg > graph.svg
  prep graph spaceship-titanic | dot -Tpdf > graph.pdf")]
pub struct GraphArgs {
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
            Format::Svg => svg::render(&self.id, &drawing),
        })?;
        Ok(Exit::Success)
    }
}

/// The drawing in Graphviz' language.
fn dot(title: &str, drawing: &Drawing) -> String {
    let mut dot = format!(
        "digraph {} {{\n  rankdir=LR;\n  node [shape=box];\n",
        quote(title)
    );
    for (at, node) in drawing.nodes.iter().enumerate() {
        let _ = writeln!(
            dot,
            "  n{at} [label={}];",
            quote(&format!("{}\n{}", node.name, node.kind))
        );
    }
    for (from, to) in &drawing.edges {
        let _ = writeln!(dot, "  n{from} -> n{to};");
    }
    dot.push_str("}\n");
    dot
}

fn quote(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::layers::tests::drawing;

    #[test]
    fn dot_quotes_names() {
        assert_eq!(
            dot("a-b", &drawing(&["x\"y", "z"], &[(0, 1)])),
            "digraph \"a-b\" {\n  rankdir=LR;\n  node [shape=box];\n  n0 [label=\"x\\\"y\\ncsv\"];\n  \
             n1 [label=\"z\\ncsv\"];\n  n0 -> n1;\n}\n"
        );
    }
}
