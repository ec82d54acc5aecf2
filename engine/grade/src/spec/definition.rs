//! The description of a rule or metric: its name, parameters and documentation.
//!
//! The reference pages, the JSON Schema of the section `grade:`, and the errors for unknown keys are derived from this
//! description.

use prep_spec::schema;
use prep_spec::words::{KeyType, SectionKey};
use serde_json::{Map, Value, json};

use crate::{metrics, rules};

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
    /// The parameter that the short form `NAME: VALUE` sets, instead of `NAME: { PARAMETER: VALUE }`.
    pub shorthand: Option<&'static str>,
    /// Parameters.
    pub parameters: &'static [SectionKey],
}

pub(crate) const fn required(name: &'static str, value: KeyType, doc: &'static str) -> SectionKey {
    SectionKey::required(name, value, doc, "")
}

pub(crate) const fn optional(name: &'static str, value: KeyType, doc: &'static str) -> SectionKey {
    SectionKey::optional(name, value, doc, "")
}

pub(crate) const fn column(name: &'static str, doc: &'static str) -> SectionKey {
    required(name, KeyType::Column, doc)
}

pub(crate) const fn columns(name: &'static str, doc: &'static str) -> SectionKey {
    required(name, KeyType::Selection, doc)
}

/// Returns 1, the default of some parameters.
pub(crate) fn one<T: From<u8>>() -> T {
    T::from(1)
}

impl Definition {
    /// Returns the JSON Schema for the parameters, as a map or in the short form.
    pub(crate) fn schema(&self) -> Value {
        let mut full = schema::object(self.summary, self.parameters.iter());
        let description = full
            .as_object_mut()
            .and_then(|full| full.remove("description"));
        let short = self
            .parameters
            .iter()
            .find(|key| Some(key.name) == self.shorthand);
        let short = short.map(|key| schema::value(&key.value));
        let forms: Vec<Value> = short.into_iter().chain([full]).collect();
        json!({ "anyOf": forms, "description": description })
    }

    /// Returns the columns that these parameters name, including those in `all_except`.
    pub(crate) fn columns(&self, parameters: &Value) -> Vec<String> {
        let mut names = Vec::new();
        for parameter in self.parameters {
            let written = parameters.get(parameter.name);
            let names_columns = matches!(
                parameter.value,
                KeyType::Column | KeyType::Selection | KeyType::Operand
            );
            if let Some(written) = written.filter(|_| names_columns) {
                names.extend(names_in(written.get("all_except").unwrap_or(written)));
            }
        }
        names
    }

    /// Returns whether the name alone is sufficient, because no parameter is required.
    pub(crate) fn may_stand_alone(&self) -> bool {
        self.parameters.iter().all(|parameter| !parameter.required)
    }
}

fn names_in(value: &Value) -> impl Iterator<Item = String> {
    let list = value.as_array();
    let list = list.map_or(std::slice::from_ref(value), Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_owned)
}

/// The columns of the answers that a parameter selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerColumns {
    Named(Vec<String>),
    AllExcept(Vec<String>),
}

impl AnswerColumns {
    pub fn new(value: &Value) -> Self {
        match value.get("all_except") {
            Some(others) => AnswerColumns::AllExcept(names_in(others).collect()),
            None => AnswerColumns::Named(names_in(value).collect()),
        }
    }

    /// Returns the names. `answers` are all columns of the answers, if they are known.
    pub fn names(&self, answers: Option<&[String]>) -> Vec<String> {
        match self {
            AnswerColumns::Named(names) => names.clone(),
            AnswerColumns::AllExcept(others) => {
                let answers = answers.unwrap_or_default().iter();
                answers
                    .filter(|name| !others.contains(name))
                    .cloned()
                    .collect()
            }
        }
    }
}

/// Returns the schema of the section `grade:` without the keys `answers` and `sample`, as a part of a pipeline's schema.
pub fn grade_schema() -> Value {
    let path = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "How submissions are checked and scored.",
        "properties": {
            "answer_rows": {
                "type": "array",
                "description": "For answers in JSON lines: the rows that are created from each record.",
                "items": { "type": "object", "additionalProperties": { "oneOf": [
                    { "type": "string", "description": "A string in which `{path}` is replaced by a member of the record." },
                    {
                        "type": "array",
                        "description": "Parts, joined by spaces.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "of": path("The path of a value."),
                                "each": path("The path of a list, each element of which is a value."),
                                "unless": { "description": "Leaves out the values that equal the value given here. If it is an object, also leaves out objects that contain all its members." },
                                "text": path("How a value is printed; `{path}` is replaced by a member of the value."),
                            },
                            "additionalProperties": false,
                        },
                    },
                ] } },
            },
            "rules": {
                "type": "array",
                "description": "The rules that a submission must satisfy, in order.",
                "items": one_of(rules::ALL.iter().map(|kind| &kind.definition)),
            },
            "metric": {
                "anyOf": [
                    { "$ref": "#/$defs/metric" },
                    {
                        "type": "object",
                        "properties": {
                            "sql": { "type": "string", "description": "A query with one number as its result." },
                            "direction": {
                                "enum": ["higher_is_better", "lower_is_better"],
                                "description": "Whether higher or lower numbers are better.",
                            },
                        },
                        "required": ["sql", "direction"],
                        "additionalProperties": false,
                    },
                ],
                "description": "How a submission is scored.",
            },
            "scale": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "A factor, above 0, by which the metric is multiplied; default 1.",
            },
            "offset": {
                "type": "number",
                "description": "A number that is added to the metric after `scale`; default 0.",
            },
            "direction": {
                "enum": ["higher_is_better", "lower_is_better"],
                "description": "Overrides the metric's direction.",
            },
        },
        "required": ["metric"],
        "additionalProperties": false,
        "$defs": { "metric": one_of(metrics::ALL.iter().map(|kind| &kind.definition)) },
    })
}

/// Returns the schema of a name alone, or of a map with one name and its parameters.
fn one_of<'a>(definitions: impl Iterator<Item = &'a Definition>) -> Value {
    let mut bare = Vec::new();
    let mut named = Map::new();
    for definition in definitions {
        if definition.may_stand_alone() {
            bare.push(definition.name);
        }
        named.insert(definition.name.to_owned(), definition.schema());
    }
    let mut map = json!({ "type": "object", "properties": named, "additionalProperties": false, "minProperties": 1, "maxProperties": 1 });
    if bare.is_empty() {
        // With these snippets, an editor suggests the names in `properties` before the author types the first letter.
        let snippets = named.iter().map(|(name, definition)| {
            json!({ "label": name, "description": definition["description"], "body": { name: "$1" } })
        });
        map["defaultSnippets"] = snippets.collect();
        map
    } else {
        json!({ "oneOf": [{ "enum": bare }, map] })
    }
}
