//! Reads a `grade:` section: rules in order, one metric.

use serde_json::{Map, Value};

use crate::definition::Definition;
use crate::error::{GradeSpecError, KeyPath, Problem};
use crate::metrics::{self, Direction, Metric, MetricKind};
use crate::rules::{self, Rule};
use crate::suggest::closest;

/// The keys of a `grade:` section. `answers` and `sample` are resolved by the engine.
const KEYS: &[&str] = &["answers", "sample", "rules", "metric", "direction"];

/// A section, understood.
#[derive(Debug)]
pub(crate) struct GradeSpec {
    pub rules: Vec<Box<dyn Rule>>,
    pub metric: Box<dyn Metric>,
    pub kind: &'static MetricKind,
    pub direction: Direction,
}

pub(crate) fn parse(section: &Value) -> Result<GradeSpec, GradeSpecError> {
    let root = KeyPath::default();
    let map = as_map(section, &root)?;
    known_keys(map, &root, "key", KEYS)?;
    let rules = match map.get("rules") {
        None => Vec::new(),
        Some(rules) => parse_rules(rules, &root.key("rules"))?,
    };
    let Some(metric) = map.get("metric") else {
        return Err(GradeSpecError {
            path: root,
            problem: Problem::Missing { key: "metric" },
            suggestion: None,
        });
    };
    let path = root.key("metric");
    let (name, parameters) = named(metric, &path)?;
    let names: Vec<&str> = metrics::ALL
        .iter()
        .map(|kind| kind.definition.name)
        .collect();
    let Some(kind) = metrics::ALL
        .iter()
        .copied()
        .find(|kind| kind.definition.name == name)
    else {
        return Err(unknown(&path, "metric", name, &names));
    };
    let path = path.key(name);
    let metric = (kind.parse)(full(&kind.definition, parameters, &path)?)
        .map_err(|error| value(&path, &error))?;
    let direction = match map.get("direction") {
        None => kind.direction,
        Some(direction) => parse_direction(direction, &root.key("direction"))?,
    };
    Ok(GradeSpec {
        rules,
        metric,
        kind,
        direction,
    })
}

fn parse_rules(rules: &Value, path: &KeyPath) -> Result<Vec<Box<dyn Rule>>, GradeSpecError> {
    let Value::Array(rules) = rules else {
        return Err(shape(path, "a list of rules", rules));
    };
    let names: Vec<&str> = rules::ALL.iter().map(|kind| kind.definition.name).collect();
    let parse = |(index, rule): (usize, &Value)| {
        let path = path.index(index);
        let (name, parameters) = named(rule, &path)?;
        let Some(kind) = rules::ALL.iter().find(|kind| kind.definition.name == name) else {
            return Err(unknown(&path, "rule", name, &names));
        };
        let path = path.key(name);
        (kind.parse)(full(&kind.definition, parameters, &path)?)
            .map_err(|error| value(&path, &error))
    };
    rules.iter().enumerate().map(parse).collect()
}

fn parse_direction(value: &Value, path: &KeyPath) -> Result<Direction, GradeSpecError> {
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

/// `name`, or `{ name: parameters }`.
fn named<'a>(
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
                Err(GradeSpecError {
                    path: path.clone(),
                    problem,
                    suggestion: None,
                })
            }
        },
        other => Err(shape(path, "a name, or a name with its parameters", other)),
    }
}

/// The parameters as a map, whichever way they were written.
fn full(
    definition: &Definition,
    parameters: Option<&Value>,
    path: &KeyPath,
) -> Result<Value, GradeSpecError> {
    let names: Vec<&str> = definition
        .parameters
        .iter()
        .map(|parameter| parameter.name)
        .collect();
    let mut map = Map::new();
    match (parameters, definition.shorthand) {
        (None | Some(Value::Null), _) => {}
        (Some(Value::Object(given)), _) if !is_short(definition, given) => {
            known_keys(given, path, "parameter", &names)?;
            map.clone_from(given);
        }
        (Some(value), Some(short)) => {
            map.insert(short.to_owned(), value.clone());
        }
        (Some(value), None) => return Err(shape(path, "a map of parameters", value)),
    }
    match definition
        .parameters
        .iter()
        .find(|parameter| parameter.required && !map.contains_key(parameter.name))
    {
        Some(parameter) => {
            let problem = Problem::Missing {
                key: parameter.name,
            };
            Err(GradeSpecError {
                path: path.clone(),
                problem,
                suggestion: None,
            })
        }
        None => Ok(Value::Object(map)),
    }
}

/// `{ all_except: ... }` is a set of columns, not a map of parameters.
fn is_short(definition: &Definition, given: &Map<String, Value>) -> bool {
    definition.shorthand == Some("columns") && given.len() == 1 && given.contains_key("all_except")
}

fn known_keys(
    map: &Map<String, Value>,
    path: &KeyPath,
    what: &'static str,
    known: &[&str],
) -> Result<(), GradeSpecError> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(unknown(&path.key(key), what, key, known)),
        None => Ok(()),
    }
}

fn unknown(path: &KeyPath, what: &'static str, name: &str, known: &[&str]) -> GradeSpecError {
    let suggestion = closest(name, known).map(str::to_owned);
    GradeSpecError {
        path: path.clone(),
        problem: Problem::Unknown {
            what,
            name: name.to_owned(),
        },
        suggestion,
    }
}

fn as_map<'a>(value: &'a Value, path: &KeyPath) -> Result<&'a Map<String, Value>, GradeSpecError> {
    value.as_object().ok_or_else(|| shape(path, "a map", value))
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
    GradeSpecError {
        path: path.clone(),
        problem,
        suggestion: None,
    }
}

fn value(path: &KeyPath, error: &serde_json::Error) -> GradeSpecError {
    GradeSpecError {
        path: path.clone(),
        problem: Problem::Value(error.to_string()),
        suggestion: None,
    }
}
