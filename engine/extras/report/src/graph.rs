//! Draws the steps of a pipeline as SVG, and writes them in DOT, the language of Graphviz.
//!
//! The layer of a node is the length of the longest path to it, so every arrow points to the right. In each layer, nodes
//! move towards the mean position of their neighbours (Sugiyama, Tagawa and Toda, 1981).
//!
//! This is sufficient for a few dozen nodes. No layout library is used, because such libraries need the program `dot`, or
//! contain their own renderer.

use std::fmt::Write as _;

use prep_core::{Graph, NodeId};

use crate::text::escape;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnStep {
    pub name: String,
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// Inputs come before the nodes that use them.
    pub nodes: Vec<DrawnStep>,
    /// Edges from an input to the node that uses it, without duplicates.
    pub edges: Vec<(usize, usize)>,
}

/// Number of sweeps in each direction. More sweeps do not change the graphs of pipelines.
const SWEEPS: usize = 4;

impl Drawing {
    /// Creates a drawing of the steps in `order`, in which inputs must come before the steps that use them.
    pub fn new(graph: &Graph, order: &[NodeId]) -> Drawing {
        let place = |node: NodeId| order.iter().position(|other| *other == node);
        let mut edges = Vec::new();
        for (to, node) in order.iter().enumerate() {
            let from = graph
                .inputs(*node)
                .into_iter()
                .filter_map(|(_, port)| place(port.node));
            edges.extend(from.map(|from| (from, to)));
        }
        edges.sort_unstable();
        edges.dedup();
        let nodes = order.iter().map(|id| graph.node(*id));
        let nodes = nodes.map(|node| DrawnStep {
            name: node.name.clone(),
            kind: node.action.kind().to_owned(),
        });
        Drawing {
            nodes: nodes.collect(),
            edges,
        }
    }

    /// Returns the layers from left to right, each with its nodes from top to bottom.
    pub fn layers(&self) -> Vec<Vec<usize>> {
        let mut layer_of = vec![0; self.nodes.len()];
        // Inputs come first in `nodes`, and edges are sorted by their start. So the layer of `from` is already final.
        for (from, to) in &self.edges {
            layer_of[*to] = layer_of[*to].max(layer_of[*from] + 1);
        }
        let mut layers = vec![Vec::new(); layer_of.iter().max().map_or(0, |last| last + 1)];
        for (node, layer) in layer_of.iter().enumerate() {
            layers[*layer].push(node);
        }
        let mut place = vec![0.0; self.nodes.len()];
        for layer in &layers {
            set_positions(layer, &mut place);
        }
        for _ in 0..SWEEPS {
            for layer in &mut layers {
                self.sort_layer(layer, &mut place, |edge| (edge.1, edge.0));
            }
            for layer in layers.iter_mut().rev() {
                self.sort_layer(layer, &mut place, |edge| *edge);
            }
        }
        layers
    }

    /// Sorts the nodes of a layer by the mean position of their neighbours. For an edge, `side` returns the node in this
    /// layer, and its neighbour in an earlier or later layer.
    fn sort_layer(
        &self,
        layer: &mut [usize],
        place: &mut [f64],
        side: fn(&(usize, usize)) -> (usize, usize),
    ) {
        let mean = |node: usize| {
            let sides = self.edges.iter().map(side);
            let others = sides.filter(|(own, _)| *own == node);
            let places: Vec<f64> = others.map(|(_, other)| place[other]).collect();
            #[allow(clippy::cast_precision_loss)] // there are only a few edges
            let mean = places.iter().sum::<f64>() / places.len() as f64;
            if places.is_empty() { place[node] } else { mean }
        };
        let mut keyed: Vec<(f64, usize)> = layer.iter().map(|node| (mean(*node), *node)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (slot, (_, node)) in layer.iter_mut().zip(keyed) {
            *slot = node;
        }
        set_positions(layer, place);
    }
}

/// Sets the positions of the nodes in a layer. The middle of the layer is 0.
fn set_positions(layer: &[usize], place: &mut [f64]) {
    for (position, node) in layer.iter().enumerate() {
        #[allow(clippy::cast_precision_loss)]
        let centred = position as f64 - (layer.len() as f64 - 1.0) / 2.0;
        place[*node] = centred;
    }
}

#[cfg(test)]
pub mod tests {
    use crate::graph::*;

    pub fn drawing(nodes: &[&str], edges: &[(usize, usize)]) -> Drawing {
        let node = |name: &&str| DrawnStep {
            name: (*name).to_owned(),
            kind: "csv".into(),
        };
        Drawing {
            nodes: nodes.iter().map(node).collect(),
            edges: edges.to_vec(),
        }
    }

    #[test]
    fn arrows_point_to_later_layers_and_do_not_cross() {
        let drawing = drawing(
            &["a", "b", "c", "d", "e"],
            &[(0, 3), (1, 2), (2, 4), (3, 4)],
        );
        let layers = drawing.layers();
        assert_eq!(layers.len(), 3);
        assert_eq!(layers[2], [4]);
        let at = |layer: usize, node: usize| layers[layer].iter().position(|one| *one == node);
        assert_eq!(at(0, 0) < at(0, 1), at(1, 3) < at(1, 2), "{layers:?}");
    }

    #[test]
    fn an_empty_graph_has_no_layers() {
        assert!(drawing(&[], &[]).layers().is_empty());
    }
}

const CHARACTER_WIDTH: usize = 7;
const BOX_HEIGHT: usize = 36;
const BOX_GAP: usize = 14;
const LAYER_GAP: usize = 56;
const MARGIN: usize = 16;

#[derive(Debug, Clone, Copy, Default)]
struct BoxPosition {
    x: usize,
    y: usize,
    width: usize,
}

pub fn svg(title: &str, drawing: &Drawing) -> String {
    let layers = drawing.layers();
    let tallest = layers.iter().map(Vec::len).max().unwrap_or(0);
    let mut places = vec![BoxPosition::default(); drawing.nodes.len()];
    let mut x = MARGIN;
    for layer in &layers {
        let texts = layer.iter().map(|node| &drawing.nodes[*node]);
        let longest = texts
            .map(|node| node.name.chars().count().max(node.kind.chars().count()))
            .max();
        let width = longest.unwrap_or(0) * CHARACTER_WIDTH + 20;
        let mut y = MARGIN + (tallest - layer.len()) * (BOX_HEIGHT + BOX_GAP) / 2;
        for node in layer {
            places[*node] = BoxPosition { x, y, width };
            y += BOX_HEIGHT + BOX_GAP;
        }
        x += width + LAYER_GAP;
    }
    let width = x.saturating_sub(LAYER_GAP) + MARGIN;
    let height = 2 * MARGIN + (tallest * (BOX_HEIGHT + BOX_GAP)).saturating_sub(BOX_GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"11\">\n<title>{}</title>\n",
        escape(title)
    );
    svg.push_str("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    svg.push_str("<g fill=\"none\" stroke=\"#888\">\n");
    for (from, to) in &drawing.edges {
        let (from, to) = (places[*from], places[*to]);
        let (x1, y1) = (from.x + from.width, from.y + BOX_HEIGHT / 2);
        let (x2, y2) = (to.x, to.y + BOX_HEIGHT / 2);
        let bend = LAYER_GAP / 2;
        let _ = writeln!(
            svg,
            "<path d=\"M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}\"/>",
            x1 + bend,
            x2.saturating_sub(bend)
        );
        let _ = writeln!(
            svg,
            "<path d=\"M{} {}L{x2} {y2}L{} {}\"/>",
            x2 - 5,
            y2 - 3,
            x2 - 5,
            y2 + 3
        );
    }
    svg.push_str("</g>\n");
    for (node, place) in drawing.nodes.iter().zip(&places) {
        let BoxPosition { x, y, width } = *place;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX_HEIGHT}\" rx=\"4\" fill=\"{}\" stroke=\"#555\"/>",
            colour(&node.name, &node.kind)
        );
        let middle = x + width / 2;
        let _ = writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">{}</text>",
            y + 15,
            escape(&node.name),
            y + 29,
            escape(&node.kind)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns the colour of a step. Public outputs are green, and private outputs are red.
fn colour(name: &str, kind: &str) -> &'static str {
    match (name, kind) {
        (name, _) if name.starts_with("public/") => "#e3f4e3",
        (name, _) if name.starts_with("private/") => "#f9e1e1",
        (_, "bundle" | "download" | "folder" | "publish") => "#e4ebf7",
        _ => "#f6f6f6",
    }
}

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
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}

#[cfg(test)]
mod svg_tests {
    use crate::graph::*;
    use tests::drawing;

    #[test]
    fn boxes_do_not_overlap_and_are_inside_the_picture() {
        let drawing = drawing(
            &["a", "public/b <1>", "c", "d"],
            &[(0, 1), (0, 2), (1, 3), (2, 3)],
        );
        let svg = svg("t & u", &drawing);
        assert!(svg.contains("<title>t &amp; u</title>"));
        assert!(svg.contains("public/b &lt;1&gt;"));
        let number = |line: &str, name: &str| -> usize {
            let start = line.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
            line[start..].split('"').next().unwrap().parse().unwrap()
        };
        let outer = svg.lines().next().unwrap();
        let boxes: Vec<[usize; 4]> = svg
            .lines()
            .filter(|line| line.starts_with("<rect x="))
            .map(|line| ["x", "y", "width", "height"].map(|name| number(line, name)))
            .collect();
        assert_eq!(boxes.len(), 4);
        for (position, a) in boxes.iter().enumerate() {
            assert!(a[0] + a[2] < number(outer, "width") && a[1] + a[3] < number(outer, "height"));
            for b in &boxes[position + 1..] {
                let apart = |i: usize| a[i] + a[i + 2] < b[i] || b[i] + b[i + 2] < a[i];
                assert!(apart(0) || apart(1), "{a:?} {b:?}");
            }
        }
        assert_eq!(svg.matches("<path").count(), 8);
    }

    #[test]
    fn names_are_quoted_in_dot() {
        assert_eq!(
            dot("a-b", &drawing(&["x\"y", "z"], &[(0, 1)])),
            "digraph \"a-b\" {\n  rankdir=LR;\n  node [shape=box];\n  n0 [label=\"x\\\"y\\ncsv\"];\n  \
             n1 [label=\"z\\ncsv\"];\n  n0 -> n1;\n}\n"
        );
    }
}
