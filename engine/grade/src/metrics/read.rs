//! Parses a metric of a `grade:` section.

use serde_json::Value;

use super::ALL;
use super::kind::{Metric, MetricKind};
use crate::spec::definition::{Definition, ParameterKind};
use crate::spec::error::{GradeSpecErrors, KeyPath};
use crate::spec::kinds::{Faults, read_kind, value};

/// A metric of a section.
#[derive(Debug)]
pub(crate) struct SpecMetric {
    pub metric: Box<dyn Metric>,
    /// Columns that the metric's parameters name.
    pub columns: Vec<String>,
    pub kind: &'static MetricKind,
}

/// Parses the metric at `path`. Returns `None` after an error.
pub(crate) fn read_metric(
    metric: &Value,
    path: &KeyPath,
    faults: &mut Faults,
) -> Option<SpecMetric> {
    let (kind, parameters, path) =
        read_kind("metric", ALL, |kind| &kind.definition, metric, path, faults)?;
    let columns = columns(&kind.definition, &parameters);
    let metric = (kind.parse)(parameters).map_err(|error| value(&path, &error));
    let metric = faults.keep(metric)?;
    Some(SpecMetric {
        metric,
        columns,
        kind,
    })
}

/// Parses a metric that is part of another metric.
pub(super) fn read_part(metric: &Value) -> Result<SpecMetric, GradeSpecErrors> {
    let mut faults = Faults::default();
    let read = read_metric(metric, &KeyPath::default().key("metric"), &mut faults);
    faults.finish(read)
}

/// Returns the columns that a metric's parameters name, including those of its parts.
fn columns(definition: &Definition, parameters: &Value) -> Vec<String> {
    let mut columns = definition.columns(parameters);
    let parts = definition
        .parameters
        .iter()
        .filter(|parameter| parameter.kind == ParameterKind::WeightedMetrics)
        .filter_map(|parameter| parameters.get(parameter.name)?.as_array());
    // Errors in a part are reported when the part is parsed.
    let parts = parts.flatten().filter_map(|part| part.get("metric"));
    let parts = parts.filter_map(|metric| read_part(metric).ok());
    columns.extend(parts.flat_map(|part| part.columns));
    columns
}
