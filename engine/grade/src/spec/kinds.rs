//! Parses the name of a rule or metric and its parameters, and collects errors.

use std::fmt;

use prep_spec::model::Query;
use prep_spec::query::QueryTextError;
use prep_spec::words::{KeyType, SectionKey};
use prep_spec::{joined, nearest};
use serde_json::{Map, Value};

use crate::spec::definition::Definition;

/// Maximum number of columns in a message.
const MAX_COLUMNS: usize = 12;

/// Collects the errors of a section `grade:`.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<GradeSpecError>);

impl Faults {
    pub fn report(&mut self, fault: GradeSpecError) {
        self.0.push(fault);
    }

    /// Returns the value, or records the error.
    pub fn keep<T>(&mut self, read: Result<T, GradeSpecError>) -> Option<T> {
        read.map_err(|fault| self.report(fault)).ok()
    }

    /// Returns whether an error suggests `name` in place of an unknown name.
    pub fn suggests(&self, name: &str) -> bool {
        self.0.iter().any(|fault| fault.suggests(name))
    }

    pub fn finish<T>(self, read: Option<T>) -> Result<T, GradeSpecErrors> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            _ => Err(GradeSpecErrors(self.0)),
        }
    }
}

/// Reads a rule or metric. `all` contains the permitted kinds. Returns the kind, the parameters as a map, and the path of
/// the parameters in the section `grade:`.
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
        faults.report(unknown_name(path, category, name, &names));
        return None;
    };
    let path = path.key(name);
    let parameters = parameter_map(definition(kind), parameters, &path, faults)?;
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
                    example: map
                        .keys()
                        .find(|key| matches!(key.as_str(), "scale" | "offset" | "direction"))
                        .map(|key| format!("`{key}` is a key of `grade`, next to `metric`").into()),
                };
                Err(GradeSpecError::new(path, problem))
            }
        },
        other => Err(shape_error(
            path,
            "a name, or a name with its parameters",
            other,
        )),
    }
}

/// Returns the parameters as a map, even if the author used the short form. Returns `None` after an error.
fn parameter_map(
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
            check_keys(given, path, "parameter", &names, faults);
            for (name, value) in given {
                let parameter = definition.parameters.iter().find(|one| one.name == name);
                if let Some(fault) =
                    parameter.and_then(|parameter| mismatch(parameter, value, &path.key(name)))
                {
                    faults.report(fault);
                }
            }
            map.clone_from(given);
        }
        (Some(value), Some(short)) => {
            let parameter = definition.parameters.iter().find(|one| one.name == short);
            if let Some(fault) = parameter.and_then(|parameter| mismatch(parameter, value, path)) {
                faults.report(fault);
            }
            map.insert(short.to_owned(), value.clone());
        }
        (Some(value), None) => {
            let example = format!("for example `{}`", all_required(definition, value));
            faults.report(shape_error(path, "a mapping of parameters", value).example(example));
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
            let example = format!("for example `{}: {}`", parameter.name, example(parameter));
            faults.report(missing_key(path, parameter.name).example(example));
        }
    }
    (faults.0.len() == before).then_some(Value::Object(map))
}

/// Returns an error if a value does not have the parameter's type. Some types accept several kinds of values, such as a
/// number or a column. The rule or metric checks values of these types later, when it reads them.
fn mismatch(parameter: &SectionKey, value: &Value, path: &KeyPath) -> Option<GradeSpecError> {
    let word = |known: Vec<&'static str>| {
        let found = value.as_str().unwrap_or_default();
        let fault = || GradeSpecError {
            suggestion: nearest(found, known.iter().copied()).map(str::to_owned),
            ..shape_error(path, &format!("one of `{}`", known.join("`, `")), value)
        };
        (!known.contains(&found)).then(fault)
    };
    let expected = match &parameter.value {
        _ if value.is_null() => return None,
        KeyType::Choice(words) => return word(words.to_vec()),
        KeyType::Word(words) => return word(words.iter().map(|word| word.name).collect()),
        KeyType::Rows => match value.as_str().map(Query::parse) {
            Some(parsed) => {
                let error = parsed.err()?;
                return Some(GradeSpecError::new(path, Problem::Query(error)));
            }
            None => "a query",
        },
        KeyType::Number if !value.is_number() => "a number",
        KeyType::Natural if !value.is_u64() => "an integer that is not negative",
        KeyType::Boolean if !value.is_boolean() => "`true` or `false`",
        KeyType::Column if !value.is_string() => "the name of a column",
        KeyType::Selection if value.as_array().is_some_and(Vec::is_empty) => "at least one column",
        _ => return None,
    };
    Some(shape_error(path, expected, value))
}

/// Returns an example of a parameter's value, in YAML.
pub(crate) fn example(parameter: &SectionKey) -> String {
    match &parameter.value {
        _ if !parameter.example.is_empty() => parameter.example.to_owned(),
        KeyType::Choice(words) => words.first().copied().unwrap_or_default().to_owned(),
        KeyType::Word(words) => words.first().map_or("", |word| word.name).to_owned(),
        KeyType::Number | KeyType::Operand => "0.5".to_owned(),
        KeyType::Numbers => "[0.5, 1]".to_owned(),
        KeyType::Natural => "3".to_owned(),
        KeyType::Boolean => "true".to_owned(),
        KeyType::Strings | KeyType::Texts | KeyType::Names => "[a, b]".to_owned(),
        _ => "NAME".to_owned(),
    }
}

/// Returns an example of the rule or metric for a message: its name and a map with all required parameters. `written` is the
/// value that the author wrote. If it is a string, it is probably the name of a column, so the example contains it.
fn all_required(definition: &Definition, written: &Value) -> String {
    let is_column = |one: &&SectionKey| matches!(one.value, KeyType::Column | KeyType::Selection);
    let column = definition.parameters.iter().find(is_column);
    let column = column.filter(|one| !one.required && written.is_string());
    let required = definition.parameters.iter().filter(|one| one.required);
    let parameters = required.chain(column).map(|parameter| {
        let value = match (&parameter.value, written) {
            (KeyType::Column | KeyType::Selection, Value::String(column)) => column.clone(),
            _ => example(parameter),
        };
        format!("{}: {value}", parameter.name)
    });
    let parameters: Vec<String> = parameters.collect();
    format!("{}: {{ {} }}", definition.name, parameters.join(", "))
}

/// Returns whether `given` is `{ all_except: ... }`. This is the value of the parameter `columns`, not a map of parameters.
fn is_short(definition: &Definition, given: &Map<String, Value>) -> bool {
    definition.shorthand == Some("columns")
        && given.contains_key("all_except")
        && given.keys().all(|key| key == "all_except" || key == "of")
}

/// Reports each key of a map that is not in `known`.
pub(crate) fn check_keys(
    map: &Map<String, Value>,
    path: &KeyPath,
    category: &'static str,
    known: &[&'static str],
    faults: &mut Faults,
) {
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        faults.report(unknown_name(&path.key(key), category, key, known));
    }
}

/// Returns the error for a missing key.
pub(crate) fn missing_key(path: &KeyPath, key: &'static str) -> GradeSpecError {
    let example = None;
    GradeSpecError::new(path, Problem::Missing { key, example })
}

/// Returns the error for a name that is not in `known`.
pub(crate) fn unknown_name(
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

/// Returns the error for a value of the wrong type.
pub(crate) fn shape_error(path: &KeyPath, expected: &str, found: &Value) -> GradeSpecError {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(value) => format!("`{value}`"),
        Value::String(value) => format!("`{value}`"),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    };
    let problem = Problem::Shape {
        expected: expected.to_owned(),
        found,
        example: None,
    };
    GradeSpecError::new(path, problem)
}

/// Returns the error for a value that the parser of a rule or metric rejects.
pub(crate) fn value_error(path: &KeyPath, error: &serde_json::Error) -> GradeSpecError {
    GradeSpecError::new(path, Problem::Value(error.to_string()))
}

/// A step on the path to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    /// A key of a map.
    Key(String),
    /// An index of a list.
    Index(usize),
}

/// The path to a key of the section, for example `rules[2].range.min`.
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

/// An error in a section `grade:`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("grade.{path}: {problem}{}", suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
pub struct GradeSpecError {
    /// The path of the key in the section.
    pub path: KeyPath,
    /// The problem with the key.
    pub problem: Problem,
    /// A known name that is similar to the unknown name.
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

    /// Adds an example of a correct value, if a key is missing or has the wrong type.
    #[must_use]
    pub(crate) fn example(mut self, text: impl Into<Box<str>>) -> Self {
        if let Problem::Missing { example, .. } | Problem::Shape { example, .. } = &mut self.problem
        {
            *example = Some(text.into());
        }
        self
    }

    /// Returns help for the error, if there is any: a similar name, an example, or all known names.
    pub fn help(&self) -> Option<String> {
        if let Some(name) = &self.suggestion {
            return Some(format!("did you mean `{name}`?"));
        }
        match &self.problem {
            Problem::Missing { example, .. } | Problem::Shape { example, .. } => {
                example.as_deref().map(str::to_owned)
            }
            Problem::Unknown {
                category, known, ..
            } if !known.is_empty() => Some(format!("the {category}s are `{}`", known.join("`, `"))),
            Problem::Bounds { .. } => Some("exchange the values of `min` and `max`".to_owned()),
            Problem::Query(error) => error.help.clone(),
            Problem::NoColumn { known, .. } => Some(format!(
                "the columns are {}",
                joined(known.iter().map(|name| format!("`{name}`")), MAX_COLUMNS)
            )),
            _ => None,
        }
    }

    /// Returns whether this error suggests `key` for a mistyped key. In this case, `key` is not also reported as missing.
    pub(crate) fn suggests(&self, key: &str) -> bool {
        self.suggestion.as_deref() == Some(key)
    }
}

/// All errors of a section `grade:`, in the order in which they were found. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct GradeSpecErrors(pub Vec<GradeSpecError>);

/// The kinds of errors in a section `grade:`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum Problem {
    #[error("there is no {category} `{name}`")]
    Unknown {
        /// The category of the name, for example rule or metric.
        category: &'static str,
        name: String,
        known: Vec<&'static str>,
    },
    #[error("`{key}` is missing")]
    Missing {
        key: &'static str,
        example: Option<Box<str>>,
    },
    #[error("expected {expected}, found {found}")]
    Shape {
        expected: String,
        found: String,
        example: Option<Box<str>>,
    },
    #[error("{0}")]
    Value(String),
    /// A syntax error of a query.
    #[error("{}", .0.message)]
    Query(QueryTextError),
    #[error("`min` is {min}, which is above `max`, {max}")]
    Bounds { min: String, max: String },
    #[error("{table} column `{column}`")]
    NoColumn {
        /// The table with a verb and an article, for example `the answers have no`.
        table: &'static str,
        column: String,
        /// All columns of the table.
        known: Vec<String>,
    },
}
