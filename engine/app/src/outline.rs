//! A pipeline as a map of its settings: the path of each (`public/train.csv: csv`, `tables/train, test: seed`), and its text.
//!
//! Comments, layout and positions in the file have no part in it; queries are in their normal form. So two pipelines are the
//! same if their outlines are equal.

use std::collections::BTreeMap;

use prep_spec::Pipeline;
use prep_spec::model::{Column, Declaration, Output, Setting, SourceLocation, TableOrigin};

/// The settings of a pipeline.
pub(crate) fn outline(pipeline: &Pipeline) -> BTreeMap<String, String> {
    let mut outline = BTreeMap::new();
    let mut say = |path: String, what: String| {
        outline.insert(path, what);
    };
    say("name".to_owned(), pipeline.name.clone());
    say("category".to_owned(), pipeline.category.clone());
    say("bundle/kaggle".to_owned(), pipeline.bundle.kaggle.clone());
    if let Some(md5) = &pipeline.bundle.md5 {
        say("bundle/md5".to_owned(), md5.clone());
    }
    for source in &pipeline.sources {
        let path = |key: &str| format!("sources/{}: {key}", source.name.value);
        match &source.place {
            SourceLocation::Folder(directory) => say(path("folder"), directory.clone()),
            SourceLocation::Url(file) => {
                say(path("url"), file.url.clone());
                say(path("file"), file.file.clone());
                let size = file.size.map(|size| size.to_string());
                let further = [
                    ("md5", &file.md5),
                    ("sha256", &file.sha256),
                    ("size", &size),
                ];
                for (key, value) in further {
                    if let Some(value) = value {
                        say(path(key), value.clone());
                    }
                }
            }
        }
    }
    for (name, reason) in &pipeline.accepted {
        say(format!("accepted/{}", name.value), reason.clone());
    }
    for (name, texts) in &pipeline.lists {
        say(format!("lists/{}", name.value), texts.join(", "));
    }
    for table in &pipeline.tables {
        let names: Vec<&str> = table.names.iter().map(|name| name.value.as_str()).collect();
        let path = format!("tables/{}", names.join(", "));
        match &table.made {
            TableOrigin::Query(query) => say(path, query.normal.clone()),
            TableOrigin::List(texts) => say(path, texts.join(", ")),
            TableOrigin::Declared(declaration) => declared(&path, declaration, &mut say),
        }
    }
    for (section, outputs) in [("public", &pipeline.public), ("private", &pipeline.private)] {
        output(section, outputs, &mut say);
    }
    for check in &pipeline.checks {
        say(
            format!("checks/{}", check.name.value),
            check.query.normal.clone(),
        );
    }
    if let Some(grade) = &pipeline.grade {
        let grade = &grade.value;
        say("grade/answers".to_owned(), grade.answers.value.clone());
        say("grade/sample".to_owned(), grade.sample.value.clone());
        if let serde_json::Value::Object(members) = &grade.rules {
            for (key, value) in members {
                say(format!("grade/{key}"), value.to_string());
            }
        }
    }
    outline
}

fn output(section: &str, outputs: &[Output], say: &mut dyn FnMut(String, String)) {
    for output in outputs {
        let path = format!("{section}/{}", output.path.value);
        declared(&path, &output.declaration, say);
    }
}

fn declared(path: &str, declaration: &Declaration, say: &mut dyn FnMut(String, String)) {
    for (key, value) in declaration.settings() {
        setting(format!("{path}: {}", key.name), &value.value, say);
    }
}

/// Writes a key's value as in a pipeline's file.
fn setting(path: String, value: &Setting, say: &mut dyn FnMut(String, String)) {
    match value {
        Setting::Text(text) => say(path, text.clone()),
        Setting::Natural(number) => say(path, number.to_string()),
        Setting::Share(size) => say(path, size.to_string()),
        Setting::Delimiter(b'\t') => say(path, "tab".to_owned()),
        Setting::Delimiter(byte) => say(path, char::from(*byte).to_string()),
        Setting::True => say(path, "true".to_owned()),
        Setting::Query(query) => say(path, query.normal.clone()),
        Setting::Queries(queries) => {
            for (name, query) in queries {
                say(format!("{path}/{}", name.value), query.normal.clone());
            }
        }
        Setting::Columns(columns) => {
            let column = |one: &Column| format!("{}: {}", one.name.value, one.kind.name());
            let columns: Vec<String> = columns.iter().map(column).collect();
            say(path, columns.join(", "));
        }
        Setting::Texts(texts) => say(path, texts.join(", ")),
        Setting::Outputs(outputs) => output(&path, outputs, say),
        Setting::Items(items) => {
            let names: Vec<&str> = items.iter().map(|item| item.name.value.as_str()).collect();
            say(path.clone(), names.join(", "));
            for item in items {
                for (key, value) in item.settings() {
                    let path = format!("{path}/{}: {}", item.name.value, key.name);
                    setting(path, &value.value, say);
                }
            }
        }
        Setting::Operand(operand) => say(path, operand.to_string()),
        Setting::Condition(comparisons) => {
            let comparisons: Vec<String> = comparisons.iter().map(ToString::to_string).collect();
            say(path, comparisons.join(" AND "));
        }
    }
}
