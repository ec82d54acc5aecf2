//! Arranges the steps of a graph in layers, so that every arrow points to the right.
//!
//! A node's layer is the length of the longest path to it. Within the layers, nodes move towards the mean position of their
//! neighbours, in a few sweeps forwards and backwards (Sugiyama, Tagawa and Toda, 1981).
//!
//! Libraries of layouts either run the program `dot`, which may not be installed, or bring a renderer of their own. The
//! graph of a pipeline has a few dozen nodes, for which these two steps are sufficient. `dot.rs` writes the graph for
//! Graphviz.

use prep_core::{Graph, NodeId};

/// A step to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnStep {
    pub name: String,
    pub kind: String,
}

/// A graph to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// Nodes, inputs first.
    pub nodes: Vec<DrawnStep>,
    /// Edges as pairs (from, to), without duplicates.
    pub edges: Vec<(usize, usize)>,
}

/// Number of sweeps in each direction. More sweeps change nothing in graphs of this size.
const SWEEPS: usize = 4;

impl Drawing {
    /// Creates a drawing of the steps in `order`. Inputs come before the steps that use them.
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

    /// Returns the nodes of each layer, from top to bottom.
    pub fn layers(&self) -> Vec<Vec<usize>> {
        let mut layer_of = vec![0; self.nodes.len()];
        // Edges are sorted by their start, and nodes come after their inputs.
        for (from, to) in &self.edges {
            layer_of[*to] = layer_of[*to].max(layer_of[*from] + 1);
        }
        let mut layers = vec![Vec::new(); layer_of.iter().max().map_or(0, |last| last + 1)];
        for (node, layer) in layer_of.iter().enumerate() {
            layers[*layer].push(node);
        }
        let mut place = vec![0.0; self.nodes.len()];
        set_positions(&layers, &mut place);
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

    /// Sorts one layer by the mean position of the neighbours on one side. `side` returns a node and its neighbour.
    fn sort_layer(
        &self,
        layer: &mut [usize],
        place: &mut [f64],
        side: fn(&(usize, usize)) -> (usize, usize),
    ) {
        let mean = |node: usize| {
            let places: Vec<f64> = self
                .edges
                .iter()
                .map(side)
                .filter(|(own, _)| *own == node)
                .map(|(_, other)| place[other])
                .collect();
            #[allow(clippy::cast_precision_loss)] // there are only a few edges
            let count = places.len() as f64;
            if places.is_empty() {
                place[node]
            } else {
                places.iter().sum::<f64>() / count
            }
        };
        let mut keyed: Vec<(f64, usize)> = layer.iter().map(|node| (mean(*node), *node)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (slot, (_, node)) in layer.iter_mut().zip(keyed) {
            *slot = node;
        }
        set_positions(&[layer.to_vec()], place);
    }
}

/// Sets the positions of nodes within their layers. The middle of a layer is 0.
fn set_positions(layers: &[Vec<usize>], place: &mut [f64]) {
    for layer in layers {
        for (position, node) in layer.iter().enumerate() {
            #[allow(clippy::cast_precision_loss)]
            let centred = position as f64 - (layer.len() as f64 - 1.0) / 2.0;
            place[*node] = centred;
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

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
