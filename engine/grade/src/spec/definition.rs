//! What a rule or a metric is called, which parameters it takes and what it does: the one source of the reference
//! pages, of the JSON Schema, of the check for unknown keys and of the suggestions for misspelled ones.

use serde_json::{Map, Value, json};

/// Where a pipeline's JSON Schema defines the metrics.
pub(crate) const METRIC: &str = "#/$defs/metric";

/// The description of a rule or metric.
#[derive(Debug)]
pub struct Definition {
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The formula or the exact rule, with its corner cases.
    pub details: &'static str,
    /// Where formula or rule come from.
    pub source: &'static str,
    /// The parameter that `name: value` sets when `value` is no map of parameters.
    pub shorthand: Option<&'static str>,
    pub parameters: &'static [Parameter],
}

/// One parameter of a rule or metric.
#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: ParameterKind,
    pub required: bool,
    pub doc: &'static str,
}

impl Parameter {
    /// One that has to be given.
    pub const fn required(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            required: true,
            doc,
        }
    }

    /// One that may be left out.
    pub const fn optional(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            required: false,
            doc,
        }
    }
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A column's name.
    Column,
    /// A column's name, a list of them, or `{ all_except: ... }`.
    Columns,
    Number,
    /// A map from names to numbers.
    NumberByName,
    /// A whole number that is not negative.
    Integer,
    Boolean,
    Text,
    /// A list of numbers.
    Numbers,
    /// A list of texts.
    Texts,
    /// Text, number or boolean.
    Scalar,
    Choice(&'static [&'static str]),
    /// A column's name, or a number that holds for all rows.
    ColumnOrNumber,
    /// Metrics and their weights.
    WeightedMetrics,
}

impl ParameterKind {
    /// In words, for the reference.
    pub fn describe(self) -> String {
        match self {
            ParameterKind::Column => "a column's name".to_owned(),
            ParameterKind::Columns => {
                "a column's name, a list of names, or `{ all_except: [...] }`: the answers' other columns, with `of: submission` those of the submission".to_owned()
            }
            ParameterKind::Number => "a number".to_owned(),
            ParameterKind::NumberByName => "a map from names to numbers".to_owned(),
            ParameterKind::Integer => "a whole number".to_owned(),
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

    /// As JSON Schema. A list of texts may be written as the name of one of the pipeline's `lists`.
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
    /// Schema of what may follow the name: a map of parameters, or the value of the shorthand parameter.
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

    /// The columns that these parameters name, those of `all_except` included.
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

    /// Whether the bare name, without any parameter, is complete.
    pub fn may_stand_alone(&self) -> bool {
        self.parameters.iter().all(|parameter| !parameter.required)
    }
}
