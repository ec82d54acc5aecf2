//! The JSON Schema of a `grade:` section, for editors.

use serde_json::{Map, Value, json};

use crate::definition::Definition;
use crate::{metrics, rules};

/// The schema, as a fragment to be embedded in that of a pipeline.
pub fn grade_schema() -> Value {
    let path = |what: &str| json!({ "type": "string", "description": what });
    json!({
        "type": "object",
        "description": "How submissions are checked and scored.",
        "properties": {
            "answers": path("The output that holds the answers, below `private`."),
            "answer_rows": {
                "type": "array",
                "description": "For answers that are JSON lines: the rows that each record makes.",
                "items": { "type": "object", "additionalProperties": { "oneOf": [
                    { "type": "string", "description": "A text; `{path}` stands for a member of the record." },
                    {
                        "type": "array",
                        "description": "Parts, joined by blanks.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "of": path("The path of a value."),
                                "each": path("The path of a list, each element of which is a value."),
                                "unless": { "description": "Values equal to this are left out; objects with these members." },
                                "text": path("How a value is printed; `{path}` stands for a member of it."),
                            },
                            "additionalProperties": false,
                        },
                    },
                ] } },
            },
            "sample": path("The output that is the sample submission."),
            "rules": {
                "type": "array",
                "description": "What a submission must satisfy, in the order of the checks.",
                "items": one_of(rules::ALL.iter().map(|kind| &kind.definition)),
            },
            "metric": one_of(metrics::ALL.iter().map(|kind| &kind.definition)),
            "direction": {
                "enum": ["higher_is_better", "lower_is_better"],
                "description": "Overrides the metric's direction.",
            },
        },
        "required": ["answers", "sample", "metric"],
        "additionalProperties": false,
    })
}

/// A bare name, or a map with one name and its parameters.
fn one_of<'a>(definitions: impl Iterator<Item = &'a Definition>) -> Value {
    let mut bare = Vec::new();
    let mut named = Map::new();
    for definition in definitions {
        if definition.may_stand_alone() {
            bare.push(definition.name);
        }
        named.insert(definition.name.to_owned(), definition.schema());
    }
    let map = json!({ "type": "object", "properties": named, "additionalProperties": false, "minProperties": 1, "maxProperties": 1 });
    if bare.is_empty() {
        map
    } else {
        json!({ "oneOf": [{ "enum": bare }, map] })
    }
}
