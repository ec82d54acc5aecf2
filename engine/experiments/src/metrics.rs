//! Computes the metrics of a seed, and their mean and standard error over seeds.

use serde::Serialize;

use crate::report::GradedRun;

/// A metric: the percentage of a seed's runs with a property.
#[derive(Debug, Clone, Copy)]
pub struct SeedMetric {
    /// Upstream's name of the metric, which is a key in results.
    pub name: &'static str,
    /// Returns whether a run has the property.
    pub counts: fn(&GradedRun) -> bool,
}

/// All metrics, in the order of upstream's script.
pub const METRICS: [SeedMetric; 7] = [
    SeedMetric {
        name: "submission_exists_percentage",
        counts: |run| run.exists,
    },
    SeedMetric {
        name: "valid_submissions_percentage",
        counts: |run| run.valid,
    },
    SeedMetric {
        name: "above_median_percentage",
        counts: |run| run.above_median,
    },
    SeedMetric {
        name: "gold_medal_percentage",
        counts: |run| run.gold,
    },
    SeedMetric {
        name: "silver_medal_percentage",
        counts: |run| run.silver,
    },
    SeedMetric {
        name: "bronze_medal_percentage",
        counts: |run| run.bronze,
    },
    SeedMetric {
        name: "any_medal_percentage",
        counts: GradedRun::any_medal,
    },
];

impl SeedMetric {
    /// Returns the percentage of runs with the property.
    pub fn evaluate(&self, seed: &[GradedRun]) -> f64 {
        let count = seed.iter().filter(|run| (self.counts)(run)).count();
        count as f64 / seed.len() as f64 * 100.0
    }
}

/// A mean over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// Bounds of the 95 % confidence interval, if the mean is distributed normally.
    pub ci_lower: f64,
    pub ci_upper: f64,
    /// Sample standard deviation of the seeds (divisor n - 1), divided by the square root of n. It is 0 for one seed.
    pub standard_error: f64,
}

/// Computes the mean of values and its standard error. There must be at least one value.
pub fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_error = match values.len() {
        0 | 1 => 0.0,
        _ => (squares / (n - 1.0)).sqrt() / n.sqrt(),
    };
    Estimate {
        mean,
        ci_lower: mean - 1.96 * standard_error,
        ci_upper: mean + 1.96 * standard_error,
        standard_error,
    }
}
