//! Parses the section `grade:` of a pipeline.

pub mod definition;
pub(crate) mod draft;
pub(crate) mod kinds;

use serde_json::{Map, Value};

use crate::metrics::Direction;
use crate::metrics::kind::{SpecMetric, read_metric};
use crate::rules::{self, Rule};
use crate::spec::kinds::{
    Faults, check_keys, missing_key, read_kind, shape_error, unknown_name, value_error,
};
use crate::spec::kinds::{GradeSpecError, GradeSpecErrors, KeyPath, Problem};
use crate::table::answers::Rows;

/// All keys of the section. The caller reads the files that `answers` and `sample` name.
const KEYS: &[&str] = &[
    "answers",
    "answer_rows",
    "sample",
    "rules",
    "metric",
    "scale",
    "offset",
    "direction",
];

/// The metric that is a query. It has no usual direction, so the section must contain a direction.
const SQL: &str = "sql";

/// A parsed section `grade:`.
#[derive(Debug)]
pub(crate) struct GradeSpec {
    /// Converts each record of answers in JSON lines to rows.
    pub answer_rows: Option<Rows>,
    pub rules: Vec<SpecRule>,
    pub metric: SpecMetric,
    /// The score is the value of the metric, multiplied by `scale`, plus `offset`.
    pub scale: f64,
    pub offset: f64,
    pub direction: Direction,
}

/// A parsed rule.
#[derive(Debug)]
pub(crate) struct SpecRule {
    pub rule: Box<dyn Rule>,
    /// The columns that the parameters of the rule name.
    pub columns: Vec<String>,
    pub name: &'static str,
    pub path: KeyPath,
    /// The parameters by name.
    pub parameters: Value,
}

pub(crate) fn parse(section: &Value) -> Result<GradeSpec, GradeSpecErrors> {
    let root = KeyPath::default();
    let mut faults = Faults::default();
    let map = section
        .as_object()
        .ok_or_else(|| shape_error(&root, "a mapping", section));
    let spec = faults
        .keep(map)
        .and_then(|map| read(map, &root, &mut faults));
    faults.finish(spec)
}

/// Parses the section. Continues after an error, so that all errors are reported.
fn read(map: &Map<String, Value>, root: &KeyPath, faults: &mut Faults) -> Option<GradeSpec> {
    check_keys(map, root, "key", KEYS, faults);
    let answer_rows = match map.get("answer_rows") {
        None => Some(None),
        Some(rows) => {
            let path = root.key("answer_rows");
            faults.keep(
                Rows::parse(rows)
                    .map(Some)
                    .map_err(|error| value_error(&path, &error)),
            )
        }
    };
    let rules = map.get("rules").map_or_else(
        || Some(Vec::new()),
        |rules| read_rules(rules, &root.key("rules"), faults),
    );
    let mut direction = map
        .get("direction")
        .map(|value| (value, root.key("direction")));
    let metric = match map.get("metric") {
        Some(Value::Object(metric)) if metric.contains_key(SQL) => {
            let path = root.key("metric");
            let mut query = metric.clone();
            query.remove("direction");
            let of_metric = metric
                .get("direction")
                .map(|value| (value, path.key("direction")));
            direction = of_metric.or(direction);
            if direction.is_none() {
                let help = "for example `direction: higher_is_better`, or `lower_is_better`";
                faults.report(missing_key(&path, "direction").example(help));
            }
            read_metric(&Value::Object(query), &path, faults)
        }
        Some(metric) => read_metric(metric, &root.key("metric"), faults),
        None => {
            // If an error suggests `metric` for a mistyped key, do not also report that `metric` is missing.
            if !faults.suggests("metric") {
                let help = "for example `metric: { accuracy: label }`";
                faults.report(missing_key(root, "metric").example(help));
            }
            None
        }
    };
    let direction = match direction {
        None => metric.as_ref().map(|metric| metric.kind.direction),
        Some((direction, path)) => faults.keep(read_direction(direction, &path)),
    };
    let scale = read_number(map, root, "scale", 1.0, faults);
    let offset = read_number(map, root, "offset", 0.0, faults);
    if scale.is_some_and(|scale| scale <= 0.0) {
        let message =
            "`scale` must be above 0; to invert a metric, use `complement` in `weighted_sum`";
        let problem = Problem::Value(message.to_owned());
        faults.report(GradeSpecError::new(&root.key("scale"), problem));
    }
    Some(GradeSpec {
        answer_rows: answer_rows?,
        rules: rules?,
        metric: metric?,
        scale: scale?,
        offset: offset?,
        direction: direction?,
    })
}

fn read_number(
    map: &Map<String, Value>,
    root: &KeyPath,
    key: &str,
    default: f64,
    faults: &mut Faults,
) -> Option<f64> {
    let Some(number) = map.get(key) else {
        return Some(default);
    };
    faults.keep(
        number
            .as_f64()
            .ok_or_else(|| shape_error(&root.key(key), "a number", number)),
    )
}

fn read_rules(rules: &Value, path: &KeyPath, faults: &mut Faults) -> Option<Vec<SpecRule>> {
    let Value::Array(rules) = rules else {
        faults.report(shape_error(path, "a list of rules", rules));
        return None;
    };
    let read: Vec<Option<SpecRule>> = rules
        .iter()
        .enumerate()
        .map(|(index, rule)| read_rule(rule, &path.index(index), faults))
        .collect();
    read.into_iter().collect()
}

fn read_rule(rule: &Value, path: &KeyPath, faults: &mut Faults) -> Option<SpecRule> {
    let (kind, parameters, path) = read_kind(
        "rule",
        rules::ALL,
        |kind| &kind.definition,
        rule,
        path,
        faults,
    )?;
    let columns = kind.definition.columns(&parameters);
    let rule = (kind.parse)(parameters.clone()).map_err(|error| value_error(&path, &error));
    let rule = faults.keep(rule)?;
    let name = kind.definition.name;
    Some(SpecRule {
        rule,
        columns,
        name,
        path,
        parameters,
    })
}

fn read_direction(value: &Value, path: &KeyPath) -> Result<Direction, GradeSpecError> {
    match value.as_str() {
        Some("higher_is_better") => Ok(Direction::HigherIsBetter),
        Some("lower_is_better") => Ok(Direction::LowerIsBetter),
        Some(other) => Err(unknown_name(
            path,
            "direction",
            other,
            &["higher_is_better", "lower_is_better"],
        )),
        None => Err(shape_error(
            path,
            "`higher_is_better` or `lower_is_better`",
            value,
        )),
    }
}
