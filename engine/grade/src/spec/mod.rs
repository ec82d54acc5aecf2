//! Parses a `grade:` section: rules in order, and one metric.

pub mod definition;
pub(crate) mod edit_distance;
pub(crate) mod error;
pub mod schema;
pub(crate) mod suggest;

use serde_json::{Map, Value, json};

use crate::metrics::{self, Direction, Metric, MetricKind};
use crate::rules::{self, Rule};
use crate::spec::definition::{Definition, ParameterKind};
use crate::spec::error::{GradeSpecError, GradeSpecErrors, KeyPath, Problem};
use crate::spec::suggest::closest;
use crate::table::answers::Rows;

/// The keys of a `grade:` section. The caller resolves `answers` and `sample`.
const KEYS: &[&str] = &[
    "answers",
    "answer_rows",
    "sample",
    "rules",
    "metric",
    "direction",
];

/// A parsed section.
#[derive(Debug)]
pub(crate) struct GradeSpec {
    /// How each record of answers in JSON lines is converted to rows.
    pub answer_rows: Option<Rows>,
    pub rules: Vec<SpecRule>,
    pub metric: Box<dyn Metric>,
    /// Columns that the metric's parameters name.
    pub metric_columns: Vec<String>,
    pub kind: &'static MetricKind,
    pub direction: Direction,
}

/// A rule, and the columns that its parameters name.
#[derive(Debug)]
pub(crate) struct SpecRule {
    pub rule: Box<dyn Rule>,
    pub columns: Vec<String>,
}

/// The errors found so far, in order.
#[derive(Debug, Default)]
struct Faults(Vec<GradeSpecError>);

impl Faults {
    fn report(&mut self, fault: GradeSpecError) {
        self.0.push(fault);
    }

    /// Returns the value. If it is an error, records the error and returns `None`.
    fn keep<T>(&mut self, read: Result<T, GradeSpecError>) -> Option<T> {
        read.map_err(|fault| self.report(fault)).ok()
    }
}

pub(crate) fn parse(section: &Value) -> Result<GradeSpec, GradeSpecErrors> {
    let root = KeyPath::default();
    let mut faults = Faults::default();
    let map = section
        .as_object()
        .ok_or_else(|| shape(&root, "a map", section));
    let spec = faults
        .keep(map)
        .and_then(|map| read(map, &root, &mut faults));
    match spec {
        Some(spec) if faults.0.is_empty() => Ok(spec),
        _ => Err(GradeSpecErrors(faults.0)),
    }
}

/// Parses the section. Continues after an error, to report all errors. Returns `None` only after an error.
fn read(map: &Map<String, Value>, root: &KeyPath, faults: &mut Faults) -> Option<GradeSpec> {
    known_keys(map, root, "key", KEYS, faults);
    let answer_rows = match map.get("answer_rows") {
        None => Some(None),
        Some(rows) => {
            let path = root.key("answer_rows");
            faults.keep(
                Rows::parse(rows)
                    .map(Some)
                    .map_err(|error| value(&path, &error)),
            )
        }
    };
    let rules = map.get("rules").map_or_else(
        || Some(Vec::new()),
        |rules| read_rules(rules, &root.key("rules"), faults),
    );
    let metric = match map.get("metric") {
        Some(metric) => read_metric(metric, &root.key("metric"), faults),
        None => {
            // If a mistyped key was reported with the suggestion `metric`, do not also report `metric` as missing.
            if !faults.0.iter().any(|fault| fault.suggests("metric")) {
                faults.report(missing(root, "metric"));
            }
            None
        }
    };
    let direction = match map.get("direction") {
        None => metric.as_ref().map(|(.., kind)| kind.direction),
        Some(direction) => faults.keep(read_direction(direction, &root.key("direction"))),
    };
    let (metric, metric_columns, kind) = metric?;
    Some(GradeSpec {
        answer_rows: answer_rows?,
        rules: rules?,
        metric,
        metric_columns,
        kind,
        direction: direction?,
    })
}

fn read_metric(
    metric: &Value,
    path: &KeyPath,
    faults: &mut Faults,
) -> Option<(Box<dyn Metric>, Vec<String>, &'static MetricKind)> {
    let (name, parameters) = faults.keep(parse_named(metric, path))?;
    let kind = metrics::ALL
        .iter()
        .copied()
        .find(|kind| kind.definition.name == name);
    let Some(kind) = kind else {
        let names: Vec<&str> = metrics::ALL
            .iter()
            .map(|kind| kind.definition.name)
            .collect();
        faults.report(unknown(path, "metric", name, &names));
        return None;
    };
    let path = path.key(name);
    let parameters = full(&kind.definition, parameters, &path, faults)?;
    let columns = columns_of_metric(&kind.definition, &parameters);
    let metric = (kind.parse)(parameters).map_err(|error| value(&path, &error));
    Some((faults.keep(metric)?, columns, kind))
}

/// Returns the columns that a metric's parameters name, including those of its parts.
fn columns_of_metric(definition: &Definition, parameters: &Value) -> Vec<String> {
    let mut columns = definition.columns(parameters);
    let parts = definition
        .parameters
        .iter()
        .filter(|parameter| parameter.kind == ParameterKind::WeightedMetrics)
        .filter_map(|parameter| parameters.get(parameter.name)?.as_array());
    for part in parts.flatten() {
        // Errors in a part are reported when the part is parsed.
        let section = json!({ "metric": part.get("metric") });
        columns.extend(parse(&section).map_or_else(|_| Vec::new(), |part| part.metric_columns));
    }
    columns
}

fn read_rules(rules: &Value, path: &KeyPath, faults: &mut Faults) -> Option<Vec<SpecRule>> {
    let Value::Array(rules) = rules else {
        faults.report(shape(path, "a list of rules", rules));
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
    let (name, parameters) = faults.keep(parse_named(rule, path))?;
    let kind = rules::ALL.iter().find(|kind| kind.definition.name == name);
    let Some(kind) = kind else {
        let names: Vec<&str> = rules::ALL.iter().map(|kind| kind.definition.name).collect();
        faults.report(unknown(path, "rule", name, &names));
        return None;
    };
    let path = path.key(name);
    let parameters = full(&kind.definition, parameters, &path, faults)?;
    let columns = kind.definition.columns(&parameters);
    let rule = (kind.parse)(parameters).map_err(|error| value(&path, &error));
    let rule = faults.keep(rule)?;
    Some(SpecRule { rule, columns })
}

fn read_direction(value: &Value, path: &KeyPath) -> Result<Direction, GradeSpecError> {
    match value.as_str() {
        Some("higher_is_better") => Ok(Direction::HigherIsBetter),
        Some("lower_is_better") => Ok(Direction::LowerIsBetter),
        Some(other) => Err(unknown(
            path,
            "direction",
            other,
            &["higher_is_better", "lower_is_better"],
        )),
        None => Err(shape(
            path,
            "`higher_is_better` or `lower_is_better`",
            value,
        )),
    }
}

/// Parses `name`, or `{ name: parameters }`.
fn parse_named<'a>(
    value: &'a Value,
    path: &KeyPath,
) -> Result<(&'a str, Option<&'a Value>), GradeSpecError> {
    match value {
        Value::String(name) => Ok((name, None)),
        Value::Object(map) => match map.iter().next() {
            Some((name, parameters)) if map.len() == 1 => Ok((name, Some(parameters))),
            _ => {
                let found = format!(
                    "{} keys: {}",
                    map.len(),
                    map.keys().cloned().collect::<Vec<_>>().join(", ")
                );
                let problem = Problem::Shape {
                    expected: "one name with its parameters".to_owned(),
                    found,
                };
                Err(GradeSpecError::new(path, problem))
            }
        },
        other => Err(shape(path, "a name, or a name with its parameters", other)),
    }
}

/// Returns the parameters as a map, even if the short form was used. `None` after an error.
fn full(
    definition: &Definition,
    parameters: Option<&Value>,
    path: &KeyPath,
    faults: &mut Faults,
) -> Option<Value> {
    let before = faults.0.len();
    let mut map = Map::new();
    match (parameters, definition.shorthand) {
        (None | Some(Value::Null), _) => {}
        (Some(Value::Object(given)), _) if !is_short(definition, given) => {
            let names: Vec<&str> = definition
                .parameters
                .iter()
                .map(|parameter| parameter.name)
                .collect();
            known_keys(given, path, "parameter", &names, faults);
            map.clone_from(given);
        }
        (Some(value), Some(short)) => {
            map.insert(short.to_owned(), value.clone());
        }
        (Some(value), None) => {
            faults.report(shape(path, "a map of parameters", value));
            return None;
        }
    }
    for parameter in definition.parameters {
        let absent = parameter.required && !map.contains_key(parameter.name);
        if absent
            && !faults.0[before..]
                .iter()
                .any(|fault| fault.suggests(parameter.name))
        {
            faults.report(missing(path, parameter.name));
        }
    }
    (faults.0.len() == before).then_some(Value::Object(map))
}

/// Whether the map is `{ all_except: ... }`, which is a value of the shorthand parameter and not a map of parameters.
fn is_short(definition: &Definition, given: &Map<String, Value>) -> bool {
    definition.shorthand == Some("columns")
        && given.contains_key("all_except")
        && given.keys().all(|key| key == "all_except" || key == "of")
}

fn known_keys(
    map: &Map<String, Value>,
    path: &KeyPath,
    category: &'static str,
    known: &[&'static str],
    faults: &mut Faults,
) {
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        faults.report(unknown(&path.key(key), category, key, known));
    }
}

fn missing(path: &KeyPath, key: &'static str) -> GradeSpecError {
    GradeSpecError::new(path, Problem::Missing { key })
}

fn unknown(
    path: &KeyPath,
    category: &'static str,
    name: &str,
    known: &[&'static str],
) -> GradeSpecError {
    let problem = Problem::Unknown {
        category,
        name: name.to_owned(),
        known: known.to_vec(),
    };
    GradeSpecError {
        suggestion: closest(name, known).map(str::to_owned),
        ..GradeSpecError::new(path, problem)
    }
}

fn shape(path: &KeyPath, expected: &str, found: &Value) -> GradeSpecError {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(value) => format!("`{value}`"),
        Value::String(value) => format!("`{value}`"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    };
    let problem = Problem::Shape {
        expected: expected.to_owned(),
        found,
    };
    GradeSpecError::new(path, problem)
}

fn value(path: &KeyPath, error: &serde_json::Error) -> GradeSpecError {
    GradeSpecError::new(path, Problem::Value(error.to_string()))
}
