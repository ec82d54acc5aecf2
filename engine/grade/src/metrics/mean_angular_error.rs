//! `mean_angular_error`: mean angle between true and predicted direction.

use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::mean;
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, column};
use crate::table::numbers::floats;
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "mean_angular_error",
        summary: "Mean angle, in radians, between the true and the predicted direction.",
        details: "arccos(sin z1 sin z2 (cos a1 cos a2 + sin a1 sin a2) + cos z1 cos z2), with the argument clipped to \
                  [-1, 1]; a is the azimuth and z the zenith, in radians of any size.",
        source: "Spherical law of cosines; kaggle.com/code/sohier/mean-angular-error",
        shorthand: None,
        parameters: &[
            column("azimuth", "The azimuth."),
            column("zenith", "The zenith."),
        ],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<MeanAngularError>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeanAngularError {
    azimuth: String,
    zenith: String,
}

impl Metric for MeanAngularError {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let truth = (
            floats(&pair.answers.column(&self.azimuth)?)?,
            floats(&pair.answers.column(&self.zenith)?)?,
        );
        let found = (
            floats(&pair.submission.column(&self.azimuth)?)?,
            floats(&pair.submission.column(&self.zenith)?)?,
        );
        let angles: Vec<f64> = truth
            .0
            .iter()
            .zip(&truth.1)
            .zip(found.0.iter().zip(&found.1))
            .map(|((a1, z1), (a2, z2))| angle((*a1, *z1), (*a2, *z2)))
            .collect();
        Ok(Score::numpy(mean(&angles)))
    }
}

/// Returns the angle between two directions, each as (azimuth, zenith), in radians.
fn angle((a1, z1): (f64, f64), (a2, z2): (f64, f64)) -> f64 {
    let horizontal = a1.cos() * a2.cos() + a1.sin() * a2.sin();
    let cosine = z1.sin() * z2.sin() * horizontal + z1.cos() * z2.cos();
    cosine.clamp(-1.0, 1.0).acos().abs()
}
