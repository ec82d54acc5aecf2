//! The description of a rule or metric: its name, parameters and documentation. The reference pages, the JSON Schema,
//! the check for unknown keys and the suggestions for misspelled ones are derived from it.

use serde_json::{Map, Value, json};

/// Reference to the metrics in a pipeline's JSON Schema.
pub(crate) const METRIC: &str = "#/$defs/metric";

/// The description of a rule or metric.
#[derive(Debug)]
pub struct Definition {
    /// Name in pipelines.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The formula or the exact rule, with its edge cases.
    pub details: &'static str,
    /// The origin of the formula or rule.
    pub source: &'static str,
    /// The parameter that `value` sets in the short form `name: value`, where `value` is not a map of parameters.
    pub shorthand: Option<&'static str>,
    /// Parameters.
    pub parameters: &'static [Parameter],
}

/// A parameter of a rule or metric.
#[derive(Debug)]
pub struct Parameter {
    /// Name in pipelines.
    pub name: &'static str,
    /// The type of its value.
    pub kind: ParameterKind,
    /// Whether the parameter is required.
    pub required: bool,
    /// Description in the reference.
    pub doc: &'static str,
}

impl Parameter {
    /// Creates a required parameter.
    pub const fn required(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            required: true,
            doc,
        }
    }

    /// Creates a required parameter that names a column.
    pub const fn column(name: &'static str, doc: &'static str) -> Self {
        Self::required(name, ParameterKind::Column, doc)
    }

    /// Creates a required parameter that names columns.
    pub const fn columns(name: &'static str, doc: &'static str) -> Self {
        Self::required(name, ParameterKind::Columns, doc)
    }

    /// Creates an optional parameter.
    pub const fn optional(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            required: false,
            doc,
        }
    }
}

/// The default value of parameters that are 1 by default.
pub(crate) fn one<T: From<u8>>() -> T {
    T::from(1)
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// The name of a column.
    Column,
    /// The name of a column, a list of names, or `{ all_except: ... }`.
    Columns,
    /// A number.
    Number,
    /// A map from names to numbers.
    NumberByName,
    /// An integer from 0.
    Integer,
    /// True or false.
    Boolean,
    /// A text.
    Text,
    /// A list of numbers.
    Numbers,
    /// A list of texts.
    Texts,
    /// Text, number or boolean.
    Scalar,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of a column, or a number for all rows.
    ColumnOrNumber,
    /// Metrics and their weights.
    WeightedMetrics,
}

impl ParameterKind {
    /// Describes the type for the reference.
    pub fn describe(self) -> String {
        match self {
            ParameterKind::Column => "a column's name".to_owned(),
            ParameterKind::Columns => {
                "a column's name, a list of names, or `{ all_except: [...] }`: all other columns of the answers, or of the submission with `of: submission`".to_owned()
            }
            ParameterKind::Number => "a number".to_owned(),
            ParameterKind::NumberByName => "a map from names to numbers".to_owned(),
            ParameterKind::Integer => "an integer".to_owned(),
            ParameterKind::Boolean => "true or false".to_owned(),
            ParameterKind::Text => "text".to_owned(),
            ParameterKind::Numbers => "a list of numbers".to_owned(),
            ParameterKind::Texts => "a list of texts".to_owned(),
            ParameterKind::Scalar => "text, a number, or true or false".to_owned(),
            ParameterKind::Choice(names) => format!("one of {}", names.join(", ")),
            ParameterKind::ColumnOrNumber => "a column's name or a number".to_owned(),
            ParameterKind::WeightedMetrics => {
                "a list of `{ metric: ..., weight: NUMBER, complement: true or false }`".to_owned()
            }
        }
    }

    /// Returns the type as JSON Schema. A list of texts can also be the name of one of the pipeline's `lists`.
    pub fn schema(self) -> Value {
        let names = json!({ "type": "array", "items": { "type": "string" } });
        let named = json!({
            "type": "object",
            "description": "One of the pipeline's `lists`, by name.",
            "properties": { "list": { "type": "string" } },
            "required": ["list"],
            "additionalProperties": false,
        });
        match self {
            ParameterKind::Column => json!({ "type": "string" }),
            ParameterKind::Columns => json!({ "oneOf": [
                { "type": "string" },
                names,
                named,
                {
                    "type": "object",
                    "properties": {
                        "all_except": { "oneOf": [{ "type": "string" }, names, named] },
                        "of": { "enum": ["answers", "submission"] },
                    },
                    "required": ["all_except"],
                    "additionalProperties": false,
                },
            ] }),
            ParameterKind::Number => json!({ "type": "number" }),
            ParameterKind::NumberByName => {
                json!({ "type": "object", "additionalProperties": { "type": "number" } })
            }
            ParameterKind::Integer => json!({ "type": "integer", "minimum": 0 }),
            ParameterKind::Boolean => json!({ "type": "boolean" }),
            ParameterKind::Text => json!({ "type": "string" }),
            ParameterKind::Numbers => json!({ "type": "array", "items": { "type": "number" } }),
            ParameterKind::Texts => json!({ "oneOf": [names, named] }),
            ParameterKind::Scalar => json!({ "type": ["string", "number", "boolean"] }),
            ParameterKind::Choice(names) => json!({ "enum": names }),
            ParameterKind::ColumnOrNumber => json!({ "type": ["string", "number"] }),
            ParameterKind::WeightedMetrics => json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "metric": { "$ref": METRIC },
                        "weight": { "type": "number" },
                        "complement": { "type": "boolean" },
                    },
                    "required": ["metric", "weight"],
                    "additionalProperties": false,
                },
            }),
        }
    }
}

impl Definition {
    /// Returns the schema of the value after the name: a map of parameters, or the value of the shorthand parameter.
    pub fn schema(&self) -> Value {
        let mut properties = Map::new();
        for parameter in self.parameters {
            let mut schema = parameter.kind.schema();
            if let Value::Object(map) = &mut schema {
                map.insert("description".to_owned(), json!(parameter.doc));
            }
            properties.insert(parameter.name.to_owned(), schema);
        }
        let required: Vec<&str> = self
            .parameters
            .iter()
            .filter(|p| p.required)
            .map(|p| p.name)
            .collect();
        let full = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        let short = self
            .parameters
            .iter()
            .find(|p| Some(p.name) == self.shorthand)
            .map(|p| p.kind.schema());
        match short {
            Some(short) => json!({ "anyOf": [short, full], "description": self.summary }),
            None => json!({ "anyOf": [full], "description": self.summary }),
        }
    }

    /// Returns the columns that these parameters name, including those of `all_except`.
    pub(crate) fn columns(&self, parameters: &Value) -> Vec<String> {
        let mut names = Vec::new();
        for parameter in self.parameters {
            let written = parameters.get(parameter.name);
            let names_columns = matches!(
                parameter.kind,
                ParameterKind::Column | ParameterKind::Columns | ParameterKind::ColumnOrNumber
            );
            if let Some(written) = written.filter(|_| names_columns) {
                let written = written.get("all_except").unwrap_or(written);
                let list = written
                    .as_array()
                    .map_or(std::slice::from_ref(written), Vec::as_slice);
                names.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
            }
        }
        names
    }

    /// Whether the name is valid without any parameters.
    pub fn may_stand_alone(&self) -> bool {
        self.parameters.iter().all(|parameter| !parameter.required)
    }
}
