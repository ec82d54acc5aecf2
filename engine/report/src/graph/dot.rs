//! Writes graphs in DOT, the language of Graphviz.

use std::fmt::Write as _;

use super::layers::Drawing;

/// Returns a graph in DOT.
pub fn dot(title: &str, drawing: &Drawing) -> String {
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
    use crate::graph::layers::tests::drawing;

    #[test]
    fn names_are_quoted_in_dot() {
        assert_eq!(
            dot("a-b", &drawing(&["x\"y", "z"], &[(0, 1)])),
            "digraph \"a-b\" {\n  rankdir=LR;\n  node [shape=box];\n  n0 [label=\"x\\\"y\\ncsv\"];\n  \
             n1 [label=\"z\\ncsv\"];\n  n0 -> n1;\n}\n"
        );
    }
}
