//! Generates a JSON Schema (draft 2020-12) of the pipeline language, for editors.

use serde_json::{Map, Value as Json, json};

use super::{
    CHECKS, COLUMN_KINDS, GRADE, KeyType, KindSpec, MAX_CORRECTIONS, PIPELINE, SOURCE, Section,
    SectionKey, VARIANTS, Vocabulary, Word,
};

/// Returns the schema. `grade` must be an object schema for keys of the section `grade`. It is merged into the
/// schema of this section.
pub fn schema(vocabulary: &Vocabulary, grade: &Json) -> Json {
    let mut definitions = Map::new();
    definitions.insert("query".to_owned(), json!({
        "description": "A SELECT, optionally after WITH.",
        "type": "string",
        "pattern": "^\\s*(--|/\\*|[(]|[Ss][Ee][Ll][Ee][Cc][Tt]|[Ww][Ii][Tt][Hh]|[Vv][Aa][Ll][Uu][Ee][Ss])",
    }));
    definitions.insert(
        "path".to_owned(),
        json!({
            "description": "A relative path; `/` separates directories.",
            "type": "string",
            "minLength": 1,
            "not": { "pattern": "^/|^[A-Za-z]:|\\\\|(^|/)\\.\\.(/|$)" },
        }),
    );
    definitions.insert(
        "name".to_owned(),
        json!({ "type": "string", "pattern": "^[a-z_][a-z0-9_]*$" }),
    );
    definitions.insert(
        "list".to_owned(),
        json!({
            "description": "The strings of one of `lists`.",
            "type": "object",
            "properties": { "list": reference("name") },
            "required": ["list"],
            "additionalProperties": false,
        }),
    );
    definitions.insert("table".to_owned(), query_or(&vocabulary.tables));
    definitions.insert("output".to_owned(), query_or(&vocabulary.outputs));
    definitions.insert("grade".to_owned(), grade_section(grade));
    if let Some(own) = grade.get("$defs").and_then(Json::as_object) {
        definitions.extend(own.clone());
    }
    definitions.insert("defaults".to_owned(), defaults(vocabulary));
    definitions.insert("patch".to_owned(), patch());
    let mut root = section(&PIPELINE);
    if let Some(root) = root.as_object_mut() {
        root.shift_insert(
            0,
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        root.insert("$defs".to_owned(), Json::Object(definitions));
    }
    root
}

fn section(section: &Section) -> Json {
    object(section.doc, section.keys.iter())
}

/// Returns the schema of a mapping that has only these keys.
pub fn object<'a>(doc: &str, keys: impl Iterator<Item = &'a SectionKey>) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in keys {
        properties.insert(key.name.to_owned(), key_schema(key));
        if key.required {
            required.push(Json::from(key.name));
        }
    }
    json!({
        "description": doc,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn key_schema(key: &SectionKey) -> Json {
    let mut schema = value(&key.value);
    if let Some(members) = schema.as_object_mut() {
        members.insert("description".to_owned(), Json::from(key.doc));
    }
    schema
}

/// Returns the schema of a value of this type, which may refer to `$defs` of [`schema`].
pub fn value(of: &KeyType) -> Json {
    match of {
        // A string may look like a number or a boolean.
        KeyType::Text => json!({ "type": ["string", "number", "boolean"] }),
        KeyType::Md5 => json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{32}$" }),
        KeyType::Sha256 => json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{64}$" }),
        KeyType::Url => json!({ "type": "string", "pattern": "^https?://[^/@]+/" }),
        KeyType::Rows
        | KeyType::Documents
        | KeyType::Placed
        | KeyType::Lines
        | KeyType::Entries
        | KeyType::Set => reference("query"),
        KeyType::Path | KeyType::Source | KeyType::Sources => reference("path"),
        KeyType::Table | KeyType::Files | KeyType::Drawn => reference("name"),
        KeyType::Column => json!({ "type": "string" }),
        KeyType::Delimiter => {
            json!({ "anyOf": [{ "const": "tab" }, { "type": "string", "minLength": 1, "maxLength": 1 }, { "type": "integer", "minimum": 0, "maximum": 9 }] })
        }
        KeyType::Natural => json!({ "type": "integer", "minimum": 0 }),
        KeyType::Seed => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        KeyType::Share => json!({ "type": "number", "minimum": 0 }),
        KeyType::Size => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0 }, reference("query")] })
        }
        KeyType::Value => {
            json!({ "anyOf": [{ "type": ["string", "number"] }, reference("query")] })
        }
        KeyType::True => json!({ "const": true }),
        KeyType::Word(words) => one_of_words(words),
        KeyType::Method => json!({ "type": "string" }),
        KeyType::Texts => json!({
            "type": "array",
            "items": value(&KeyType::Text),
            "minItems": 1,
            "uniqueItems": true,
        }),
        KeyType::Items(_) => {
            json!({ "type": "array", "items": { "type": "object" }, "minItems": 1 })
        }
        KeyType::Operand => json!({ "type": ["number", "string"] }),
        KeyType::Condition => json!({ "type": "string" }),
        KeyType::Copied => json!({ "anyOf": [
            reference("path"),
            { "type": "array", "items": reference("path"), "minItems": 1 },
        ] }),
        KeyType::Names => json!({ "anyOf": [
            {
                "type": "array",
                "items": { "anyOf": [value(&KeyType::Text), reference("list")] },
                "minItems": 1,
                "uniqueItems": true,
            },
            reference("list"),
        ] }),
        KeyType::Defaults => reference("defaults"),
        KeyType::Columns => {
            json!({ "anyOf": [
                {
                    "type": "array",
                    "items": { "anyOf": [{ "type": ["string", "number"] }, reference("list")] },
                    "uniqueItems": true,
                },
                { "type": "object", "additionalProperties": one_of_words(COLUMN_KINDS) },
            ] })
        }
        KeyType::Section(inner) => section(inner),
        KeyType::FurtherSources => mapping(section(&SOURCE)),
        KeyType::Lists => mapping(value(&KeyType::Texts)),
        KeyType::Tables => mapping(reference("table")),
        KeyType::Outputs => mapping(reference("output")),
        KeyType::Queries => mapping(reference("query")),
        KeyType::Checks => checks(),
        KeyType::Reasons => mapping(value(&KeyType::Text)),
        KeyType::Grade => reference("grade"),
        KeyType::Selection => {
            let columns = [value(&KeyType::String), strings(), reference("list")];
            let except = json!({
                "type": "object",
                "properties": {
                    "all_except": { "anyOf": columns },
                    "of": { "enum": ["answers", "submission"] },
                },
                "required": ["all_except"],
                "additionalProperties": false,
            });
            json!({ "anyOf": columns.into_iter().chain([except]).collect::<Vec<_>>() })
        }
        KeyType::String => json!({ "type": "string" }),
        KeyType::Strings => json!({ "anyOf": [strings(), reference("list")] }),
        KeyType::Number => json!({ "type": "number" }),
        KeyType::Label => json!({ "type": ["integer", "string"] }),
        KeyType::Numbers => json!({ "type": "array", "items": value(&KeyType::Number) }),
        KeyType::NumberByName => mapping(value(&KeyType::Number)),
        KeyType::Boolean => json!({ "type": "boolean" }),
        KeyType::Choice(names) => json!({ "enum": names }),
        KeyType::WeightedMetrics => json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "metric": reference("metric"),
                    "weight": value(&KeyType::Number),
                    "complement": value(&KeyType::Boolean),
                },
                "required": ["metric", "weight"],
                "additionalProperties": false,
            },
        }),
        KeyType::Corrections => json!({
            "type": "object",
            "propertyNames": { "pattern": "^[a-z0-9_]+$" },
            "maxProperties": MAX_CORRECTIONS,
            "additionalProperties": reference("patch"),
        }),
    }
}

fn strings() -> Json {
    let items = json!({ "anyOf": [value(&KeyType::String), reference("list")] });
    json!({ "type": "array", "items": items })
}

fn checks() -> Json {
    let mut schema = mapping(reference("query"));
    let named = CHECKS.iter().map(|word| {
        let one = json!({ "type": "string" });
        let many = json!({ "type": "array", "items": one, "minItems": 1 });
        let schema = json!({ "description": word.doc, "anyOf": [one, many] });
        (word.name.to_owned(), schema)
    });
    if let Some(members) = schema.as_object_mut() {
        members.insert("properties".to_owned(), named.collect::<Map<_, _>>().into());
    }
    schema
}

fn defaults(vocabulary: &Vocabulary) -> Json {
    let kinds = vocabulary.kinds_with_options().map(|form| {
        let schema = object(form.section.doc, form.optional_keys().into_iter());
        (form.head().to_owned(), schema)
    });
    let kinds: Map<String, Json> = kinds.collect();
    json!({ "type": "object", "properties": kinds, "additionalProperties": false })
}

/// Returns the schema of a mapping whose keys the author chooses.
fn mapping(values: Json) -> Json {
    json!({ "type": "object", "additionalProperties": values })
}

/// Returns the schema of a query, or of a mapping of one of these kinds.
fn query_or(forms: &[&'static KindSpec]) -> Json {
    let kinds = forms.iter().flat_map(|form| kinds(form));
    let all: Vec<Json> = std::iter::once(reference("query")).chain(kinds).collect();
    json!({ "anyOf": all })
}

/// Returns one schema for each method of a kind, or the only schema of a kind without methods.
fn kinds(form: &KindSpec) -> Vec<Json> {
    if form.methods.is_empty() {
        return vec![section(&form.section)];
    }
    let methods = form.methods.iter().map(|method| {
        let mut schema = object(method.doc, form.keys(Some(*method)));
        if let Some(name) = schema.pointer_mut("/properties/method") {
            *name = json!({ "const": method.name, "description": method.doc });
        }
        schema
    });
    methods.collect()
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn one_of_words(words: &[Word]) -> Json {
    json!({ "enum": words.iter().map(|word| word.name).collect::<Vec<_>>() })
}

/// Merges the keys of `grade` that this crate defines with the keys in `fragment`.
fn grade_section(fragment: &Json) -> Json {
    let mut whole = section(&GRADE);
    let own = fragment.get("properties").and_then(Json::as_object);
    let required = fragment.get("required").and_then(Json::as_array);
    if let Some(properties) = whole
        .pointer_mut("/properties")
        .and_then(Json::as_object_mut)
    {
        properties.extend(own.cloned().unwrap_or_default());
    }
    if let Some(names) = whole.pointer_mut("/required").and_then(Json::as_array_mut) {
        names.extend(required.cloned().unwrap_or_default());
    }
    whole
}

/// Returns the schema of a correction, which contains parts of a pipeline. All keys are optional and may have any value.
fn patch() -> Json {
    let keys = PIPELINE.keys.iter().filter(
        |key| !matches!(key.value, KeyType::Section(inner) if std::ptr::eq(inner, &VARIANTS)),
    );
    let properties: Map<String, Json> = keys
        .map(|key| (key.name.to_owned(), json!({ "description": key.doc })))
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}
