//! Converts a pipeline to a map of its settings, with keys such as `public/train.csv: csv`.
//!
//! The map contains no comments and no layout, and its queries are printed from their syntax trees. Therefore two pipelines
//! are equivalent if their outlines are equal.

use std::collections::BTreeMap;

use prep_cache::Digest;
use prep_spec::Pipeline;
use prep_spec::model::{Column, Declaration, Output, Setting, SourceLocation, TableOrigin};
use serde_json::json;

use crate::catalog::CatalogEntry;

/// Prefixes of the keys of settings that do not change the prepared data.
const NOT_DATA: [&str; 6] = [
    "name",
    "category",
    "bundle/md5",
    "accepted/",
    "checks/",
    "grade/",
];

/// Returns a digest of the pipeline's file.
pub(crate) fn digest_of_text(entry: &CatalogEntry) -> Digest {
    Digest::of_bytes(entry.pipeline.as_deref().unwrap_or_default().as_bytes())
}

/// Returns a digest of the settings that define the prepared data.
pub(crate) fn digest_of_data(pipeline: &Pipeline) -> Digest {
    let mut outline = outline(pipeline);
    outline.retain(|path, _| !NOT_DATA.iter().any(|prefix| path.starts_with(prefix)));
    Digest::of_bytes(json!(outline).to_string().as_bytes())
}

/// Returns a digest of the settings that define how submissions are graded.
pub(crate) fn digest_of_grading(pipeline: &Pipeline) -> Digest {
    let mut outline = outline(pipeline);
    outline.retain(|path, _| path.starts_with("grade/"));
    Digest::of_bytes(json!(outline).to_string().as_bytes())
}

pub(crate) fn outline(pipeline: &Pipeline) -> BTreeMap<String, String> {
    let mut outline = BTreeMap::new();
    let mut insert = |path: String, value: String| {
        outline.insert(path, value);
    };
    insert("name".to_owned(), pipeline.name.clone());
    insert("category".to_owned(), pipeline.category.clone());
    if let Some(bundle) = &pipeline.bundle {
        insert("bundle/kaggle".to_owned(), bundle.kaggle.clone());
        if let Some(md5) = &bundle.md5 {
            insert("bundle/md5".to_owned(), md5.clone());
        }
    }
    for source in &pipeline.sources {
        let path = |key: &str| format!("sources/{}: {key}", source.name.value);
        match &source.place {
            SourceLocation::Folder(directory) => insert(path("folder"), directory.clone()),
            SourceLocation::Url(file) => {
                insert(path("url"), file.url.clone());
                insert(path("file"), file.file.clone());
                let size = file.size.map(|size| size.to_string());
                let further = [
                    ("md5", &file.md5),
                    ("sha256", &file.sha256),
                    ("size", &size),
                ];
                for (key, value) in further {
                    if let Some(value) = value {
                        insert(path(key), value.clone());
                    }
                }
            }
        }
    }
    for (name, reason) in &pipeline.accepted {
        insert(format!("accepted/{}", name.value), reason.clone());
    }
    for (name, texts) in &pipeline.lists {
        insert(format!("lists/{}", name.value), json!(texts).to_string());
    }
    for table in &pipeline.tables {
        let names: Vec<&str> = table.names.iter().map(|name| name.value.as_str()).collect();
        let path = format!("tables/{}", names.join(", "));
        match &table.made {
            TableOrigin::Query(query) => insert(path, query.tree().to_string()),
            TableOrigin::List(texts) => insert(path, json!(texts).to_string()),
            TableOrigin::Declared(declaration) => {
                insert_settings(&path, declaration, &mut insert);
            }
        }
    }
    for (section, outputs) in [("public", &pipeline.public), ("private", &pipeline.private)] {
        insert_outputs(section, outputs, &mut insert);
    }
    for check in &pipeline.checks {
        insert(
            format!("checks/{}", check.name.value),
            check.query.tree().to_string(),
        );
    }
    if let Some(grade) = &pipeline.grade {
        let grade = &grade.value;
        insert("grade/answers".to_owned(), grade.answers.value.clone());
        insert("grade/sample".to_owned(), grade.sample.value.clone());
        if let Some(reason) = &grade.invalid_sample {
            insert("grade/invalid_sample".to_owned(), reason.clone());
        }
        if let serde_json::Value::Object(members) = &grade.rules {
            for (key, value) in members {
                insert(format!("grade/{key}"), value.to_string());
            }
        }
    }
    outline
}

fn insert_outputs(section: &str, outputs: &[Output], insert: &mut dyn FnMut(String, String)) {
    for output in outputs {
        let path = format!("{section}/{}", output.path.value);
        insert_settings(&path, &output.declaration, insert);
    }
}

fn insert_settings(path: &str, declaration: &Declaration, insert: &mut dyn FnMut(String, String)) {
    for (key, value) in declaration.settings() {
        insert_setting(format!("{path}: {}", key.name), &value.value, insert);
    }
}

/// Calls `insert` with `path` and the text of `value`, written as in a pipeline file. If `value` contains further settings,
/// calls `insert` for each of them.
fn insert_setting(path: String, value: &Setting, insert: &mut dyn FnMut(String, String)) {
    match value {
        Setting::Text(text) => insert(path, text.clone()),
        Setting::Natural(number) => insert(path, number.to_string()),
        Setting::Share(size) => insert(path, size.to_string()),
        Setting::Delimiter(b'\t') => insert(path, "tab".to_owned()),
        Setting::Delimiter(byte) => insert(path, char::from(*byte).to_string()),
        Setting::True => insert(path, "true".to_owned()),
        Setting::Query(query) => insert(path, query.tree().to_string()),
        Setting::Queries(queries) => {
            for (name, query) in queries {
                insert(format!("{path}/{}", name.value), query.tree().to_string());
            }
        }
        Setting::Columns(columns) => {
            let column = |one: &Column| format!("{}: {}", one.name.value, one.kind.name());
            let columns: Vec<String> = columns.iter().map(column).collect();
            insert(path, json!(columns).to_string());
        }
        Setting::Texts(texts) => insert(path, json!(texts).to_string()),
        Setting::Outputs(outputs) => insert_outputs(&path, outputs, insert),
        Setting::Items(items) => {
            let names: Vec<&str> = items.iter().map(|item| item.name.value.as_str()).collect();
            insert(path.clone(), json!(names).to_string());
            for item in items {
                for (key, value) in item.settings() {
                    let path = format!("{path}/{}: {}", item.name.value, key.name);
                    insert_setting(path, &value.value, insert);
                }
            }
        }
        Setting::Operand(operand) => insert(path, operand.to_string()),
        Setting::Condition(comparisons) => {
            let comparisons: Vec<String> = comparisons.iter().map(ToString::to_string).collect();
            insert(path, comparisons.join(" AND "));
        }
    }
}
