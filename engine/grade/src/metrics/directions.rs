//! Metrics of angles between directions, and of distances on the earth.

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Metric, MetricKind, Score};
use super::kind::{groups, select};
use crate::python::mean;
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, column, required};
use crate::table::column::GradedColumn;
use crate::table::numbers::{doubles, floats};
use crate::table::pair::Pair;

pub(super) const MEAN_ANGULAR_ERROR: MetricKind = MetricKind::lower::<MeanAngularError>(
    Definition {
        name: "mean_angular_error",
        summary: "Mean angle, in radians, between the true and the predicted direction.",
        details: "The angle is arccos(sin z1 sin z2 (cos a1 cos a2 + sin a1 sin a2) + cos z1 cos z2), with the \
              argument clipped to [-1, 1]. a1 and z1 are the true azimuth and zenith, a2 and z2 the predicted ones, \
              all in radians. Any number of radians is valid.",
        source: "Spherical law of cosines; kaggle.com/code/sohier/mean-angular-error",
        shorthand: None,
        parameters: &[
            column("azimuth", "The column of azimuths, in radians."),
            column("zenith", "The column of zeniths, in radians."),
        ],
    },
)
.with_truth(&["azimuth", "zenith"]);

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

/// Returns the angle between two directions, each given as (azimuth, zenith), in radians.
fn angle((a1, z1): (f64, f64), (a2, z2): (f64, f64)) -> f64 {
    let horizontal = a1.cos() * a2.cos() + a1.sin() * a2.sin();
    let cosine = z1.sin() * z2.sin() * horizontal + z1.cos() * z2.cos();
    cosine.clamp(-1.0, 1.0).acos().abs()
}

pub(super) const HAVERSINE_DISTANCE: MetricKind = MetricKind::lower::<HaversineDistance>(
    Definition {
        name: "haversine_distance",
        summary: "Quantiles of the great-circle distance in metres between true and predicted positions, averaged for \
              each group and then over groups.",
        details: "The distance is 2 r arcsin(sqrt(sin^2((b2 - b1) / 2) + cos b1 cos b2 sin^2((l2 - l1) / 2))), where r \
              is 6,371,000 metres. b1 and l1 are the true latitude and longitude, b2 and l2 the predicted ones, all in \
              degrees. Any number of degrees is valid. Quantiles are interpolated linearly.\n\n\
              If a coordinate is missing or infinite, the score is NaN. Text is invalid. Booleans are treated as 0 and \
              1 degrees. Like NumPy, `prep` converts them to radians in half precision.",
        source: "numpy.quantile; Kaggle's Google Smartphone Decimeter Challenge",
        shorthand: None,
        parameters: &[
            column("latitude", "The latitude, in degrees."),
            column("longitude", "The longitude, in degrees."),
            required(
                "quantiles",
                KeyType::Numbers,
                "The quantiles of the distances, each from 0 to 1. The score of a group is their mean.",
            ),
            column("groups", "The answers' column that defines the groups."),
        ],
    },
)
.with_truth(&["latitude", "longitude"]);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HaversineDistance {
    latitude: String,
    longitude: String,
    quantiles: Vec<f64>,
    groups: String,
}

/// Radius of the earth in metres.
const RADIUS: f64 = 6_371_000.0;

/// One degree in radians, rounded to half precision.
const HALF_DEGREE: f64 = 0.017_456_054_687_5;

impl Metric for HaversineDistance {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let truth = Angle::from_column(&pair.answers.column(&self.latitude)?)?;
        let predicted = Angle::from_column(&pair.submission.column(&self.latitude)?)?;
        let true_longitude = Angle::from_column(&pair.answers.column(&self.longitude)?)?.radians;
        let longitude = Angle::from_column(&pair.submission.column(&self.longitude)?)?.radians;
        let half_sine = |(a, b): (&f64, &f64)| {
            let sine = ((b - a) / 2.0).sin();
            sine * sine
        };
        let north = predicted.radians.iter().zip(&truth.radians);
        let north = north.map(half_sine);
        let east = longitude.iter().zip(&true_longitude).map(half_sine);
        let cosines = predicted
            .cosines
            .iter()
            .zip(&truth.cosines)
            .map(|(a, b)| a * b);
        let distances: Vec<f64> = north
            .zip(east)
            .zip(cosines)
            .map(|((north, east), cosines)| 2.0 * RADIUS * (north + cosines * east).sqrt().asin())
            .collect();
        let of_groups: Vec<f64> = groups(pair, &self.groups)?
            .iter()
            .map(|group| self.of_group(select(&distances, group)))
            .collect();
        Ok(Score::numpy(mean(&of_groups)))
    }
}

impl HaversineDistance {
    fn of_group(&self, mut distances: Vec<f64>) -> f64 {
        if distances.iter().any(|distance| distance.is_nan()) {
            return f64::NAN;
        }
        distances.sort_unstable_by(f64::total_cmp);
        let of_each = self
            .quantiles
            .iter()
            .map(|fraction| quantile(&distances, *fraction));
        mean(&of_each.collect::<Vec<f64>>())
    }
}

/// The angles of a column, and their cosines.
struct Angle {
    radians: Vec<f64>,
    cosines: Vec<f64>,
}

impl Angle {
    fn from_column(column: &GradedColumn<'_>) -> Result<Self, Refusal> {
        let degrees = doubles(column)?;
        let is_half_precision = matches!(column.data(), ColumnData::Bool(_));
        let degree = if is_half_precision {
            HALF_DEGREE
        } else {
            std::f64::consts::PI / 180.0
        };
        let radians: Vec<f64> = degrees.into_iter().map(|value| value * degree).collect();
        // In half precision, the cosines of 0 and 1 degrees are rounded to 1.
        let cosine = |angle: &f64| if is_half_precision { 1.0 } else { angle.cos() };
        let cosines = radians.iter().map(cosine).collect();
        Ok(Angle { radians, cosines })
    }
}

/// Returns a quantile of sorted values, with NumPy's linear interpolation.
fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let place = fraction * (sorted.len().saturating_sub(1)) as f64;
    let at = |index: f64| sorted.get(index as usize).or(sorted.last()).copied();
    let (Some(a), Some(b)) = (at(place.floor()), at(place.floor() + 1.0)) else {
        return f64::NAN;
    };
    let part = place - place.floor();
    if part < 0.5 {
        a + (b - a) * part
    } else {
        b - (b - a) * (1.0 - part)
    }
}
