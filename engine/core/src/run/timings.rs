//! Reports the durations of a run's steps.

use serde::Serialize;

use crate::{Figures, Graph, NodeId, RunReport};

/// Measurements of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// Id of the competition.
    pub competition: String,
    /// Name of the step within the competition.
    pub step: String,
    /// Kind of the step.
    pub kind: String,
    #[serde(flatten)]
    /// The measurements.
    pub figures: Figures,
}

impl RunReport {
    /// Returns the measurements of all steps that ran, the slowest first.
    pub fn timings(&self, graph: &Graph) -> Vec<Timing> {
        let timing = |(id, figures): (&NodeId, &Figures)| {
            let node = graph.node(*id);
            Timing {
                competition: node.competition.clone(),
                step: node.name.clone(),
                kind: node.action.kind().to_owned(),
                figures: *figures,
            }
        };
        let mut timings: Vec<Timing> = self.figures.iter().map(timing).collect();
        timings.sort_by(|a, b| {
            let name = |timing: &Timing| (timing.competition.clone(), timing.step.clone());
            let wall = b.figures.wall.cmp(&a.figures.wall);
            wall.then_with(|| name(a).cmp(&name(b)))
        });
        timings
    }
}
