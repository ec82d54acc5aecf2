//! Parses the name of a rule or metric and its parameters, and collects the errors in a `grade:` section.

use std::fmt;

use prep_spec::{joined, nearest};
use serde_json::{Map, Value};

use crate::spec::definition::Definition;

/// Maximum number of columns in a help text.
const MAX_COLUMNS: usize = 12;

/// The errors found so far, in order.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<GradeSpecError>);

impl Faults {
    pub fn report(&mut self, fault: GradeSpecError) {
        self.0.push(fault);
    }

    /// Returns the value. If it is an error, records the error and returns `None`.
    pub fn keep<T>(&mut self, read: Result<T, GradeSpecError>) -> Option<T> {
        read.map_err(|fault| self.report(fault)).ok()
    }

    /// Whether one of the errors suggests this name.
    pub fn suggest(&self, name: &str) -> bool {
        self.0.iter().any(|fault| fault.suggests(name))
    }

    /// Returns the value, or all errors.
    pub fn finish<T>(self, read: Option<T>) -> Result<T, GradeSpecErrors> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            _ => Err(GradeSpecErrors(self.0)),
        }
    }
}

/// Reads the name of a rule or metric, which is one of `all`, and its parameters. Returns the kind, the parameters as a
/// map, and their path. `None` after an error.
pub(crate) fn read_kind<K>(
    category: &'static str,
    all: &[&'static K],
    definition: fn(&K) -> &Definition,
    value: &Value,
    path: &KeyPath,
    faults: &mut Faults,
) -> Option<(&'static K, Value, KeyPath)> {
    let (name, parameters) = faults.keep(parse_named(value, path))?;
    let kind = all.iter().find(|kind| definition(kind).name == name);
    let Some(kind) = kind else {
        let names: Vec<&str> = all.iter().map(|kind| definition(kind).name).collect();
        faults.report(unknown(path, category, name, &names));
        return None;
    };
    let path = path.key(name);
    let parameters = full(definition(kind), parameters, &path, faults)?;
    let bound = |key: &str| parameters.get(key).and_then(Value::as_f64);
    if let (Some(min), Some(max)) = (bound("min"), bound("max"))
        && min > max
    {
        let (min, max) = (min.to_string(), max.to_string());
        faults.report(GradeSpecError::new(&path, Problem::Bounds { min, max }));
        return None;
    }
    Some((kind, parameters, path))
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

pub(crate) fn known_keys(
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

pub(crate) fn missing(path: &KeyPath, key: &'static str) -> GradeSpecError {
    GradeSpecError::new(path, Problem::Missing { key })
}

pub(crate) fn unknown(
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
        suggestion: nearest(name, known.iter().copied()).map(str::to_owned),
        ..GradeSpecError::new(path, problem)
    }
}

pub(crate) fn shape(path: &KeyPath, expected: &str, found: &Value) -> GradeSpecError {
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

pub(crate) fn value(path: &KeyPath, error: &serde_json::Error) -> GradeSpecError {
    GradeSpecError::new(path, Problem::Value(error.to_string()))
}

/// A step from the section's root to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    /// A key of a map.
    Key(String),
    /// An index of a list.
    Index(usize),
}

/// The path to a key: `rules[2].range.min`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyPath(pub Vec<PathSegment>);

impl KeyPath {
    #[must_use]
    pub(crate) fn key(&self, key: &str) -> Self {
        let mut path = self.clone();
        path.0.push(PathSegment::Key(key.to_owned()));
        path
    }

    #[must_use]
    pub(crate) fn index(&self, index: usize) -> Self {
        let mut path = self.clone();
        path.0.push(PathSegment::Index(index));
        path
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            match segment {
                PathSegment::Key(key) if index == 0 => write!(f, "{key}")?,
                PathSegment::Key(key) => write!(f, ".{key}")?,
                PathSegment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// One error in a `grade:` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("grade.{path}: {problem}{}", suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
pub struct GradeSpecError {
    /// The path of the key, from the section's root.
    pub path: KeyPath,
    /// The error.
    pub problem: Problem,
    /// A known name with a similar spelling.
    pub suggestion: Option<String>,
}

impl GradeSpecError {
    pub(crate) fn new(path: &KeyPath, problem: Problem) -> Self {
        GradeSpecError {
            path: path.clone(),
            problem,
            suggestion: None,
        }
    }

    /// Returns the help for the error: the similar name, or otherwise all known names. `None` for other errors.
    pub fn help(&self) -> Option<String> {
        if let Some(name) = &self.suggestion {
            return Some(format!("did you mean `{name}`?"));
        }
        match &self.problem {
            Problem::Unknown {
                category, known, ..
            } if !known.is_empty() => Some(format!("the {category}s are `{}`", known.join("`, `"))),
            Problem::Bounds { .. } => Some("exchange them".to_owned()),
            Problem::NoColumn { known, .. } => Some(format!(
                "it has {}",
                joined(known.iter().map(|name| format!("`{name}`")), MAX_COLUMNS)
            )),
            _ => None,
        }
    }

    /// Whether this error suggests that an unknown key is a mistyped `key`. In that case, `key` is not also reported as
    /// missing.
    pub(crate) fn suggests(&self, key: &str) -> bool {
        self.suggestion.as_deref() == Some(key)
    }
}

/// All errors of a `grade:` section, in the order in which they were found. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct GradeSpecErrors(pub Vec<GradeSpecError>);

/// The kinds of errors in a `grade:` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum Problem {
    /// An unknown name.
    #[error("there is no {category} `{name}`")]
    Unknown {
        /// The kind of the name: a key, a rule, a metric ...
        category: &'static str,
        /// The unknown name.
        name: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// A required key is missing.
    #[error("`{key}` is missing")]
    Missing { key: &'static str },
    /// A value has an unexpected type.
    #[error("expected {expected}, found {found}")]
    Shape { expected: String, found: String },
    /// A value is not valid.
    #[error("{0}")]
    Value(String),
    /// No number is within the bounds.
    #[error("`min` is {min}, which is above `max`, {max}")]
    Bounds { min: String, max: String },
    /// A table does not have a column.
    #[error("{table} column `{column}`")]
    NoColumn {
        /// The table, with a verb and an article: `the answers have no`.
        table: &'static str,
        /// The column.
        column: String,
        /// The columns of the table.
        known: Vec<String>,
    },
}
