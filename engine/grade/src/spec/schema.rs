//! Generates the JSON Schema of a `grade:` section, for editors.

use serde_json::{Map, Value, json};

use crate::spec::definition::{Definition, METRIC};
use crate::{metrics, rules};

/// Returns the schema of all keys except `answers` and `sample`, as a fragment of a pipeline's schema.
pub fn grade_schema() -> Value {
    let path = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "How submissions are checked and scored.",
        "properties": {
            "answer_rows": {
                "type": "array",
                "description": "For answers in JSON lines: the rows that each record creates.",
                "items": { "type": "object", "additionalProperties": { "oneOf": [
                    { "type": "string", "description": "A text; `{path}` is replaced by a member of the record." },
                    {
                        "type": "array",
                        "description": "Parts, joined by spaces.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "of": path("The path of a value."),
                                "each": path("The path of a list, each element of which is a value."),
                                "unless": { "description": "Values equal to this are left out; objects with these members." },
                                "text": path("How a value is printed; `{path}` is replaced by a member of it."),
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
            "metric": { "$ref": METRIC, "description": "How a submission is scored." },
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

/// Returns the schema of a bare name, or a map with one name and its parameters.
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
        // Language servers offer these snippets for an empty value. They complete keys only after the first letter.
        let snippets = named.iter().map(|(name, definition)| {
            json!({ "label": name, "description": definition["description"], "body": { name: "$1" } })
        });
        map["defaultSnippets"] = snippets.collect();
        map
    } else {
        json!({ "oneOf": [{ "enum": bare }, map] })
    }
}
