//! What differs between two variants, two pipelines, or two data folders: what the pipelines say, then what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use prep_core::Failure;
use prep_diff::{FileDifference, Options, folders};
use prep_spec::Pipeline;
use prep_spec::model::{Declaration, Made, Output, Setting};
use serde::Serialize;

use crate::catalog::{Catalog, Entry};
use crate::error::Error;
use crate::settings::Settings;

/// What differs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Differences {
    pub pipeline: Vec<PipelineDifference>,
    /// None where the outputs of a side are not at hand.
    pub outputs: Option<Vec<FileDifference>>,
}

/// Something that two pipelines say in different ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PipelineDifference {
    /// Where it stands: `public/train.csv/csv`.
    pub path: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

impl Differences {
    pub fn is_empty(&self) -> bool {
        self.pipeline.is_empty() && self.outputs.as_ref().is_none_or(Vec::is_empty)
    }
}

/// Two variants of a competition. Outputs are those in the data folder, where both are prepared.
///
/// # Errors
/// When a pipeline has mistakes, or something cannot be read.
pub fn diff_variants(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    variants: [&str; 2],
) -> Result<Differences, Error> {
    let entry = catalog.get(id)?;
    let [old, new] = variants.map(|variant| entry.load(variant));
    let [before, after] = variants.map(|variant| settings.folder_of(variant));
    Ok(Differences {
        pipeline: pipelines(&old?, &new?),
        outputs: outputs(settings, &before, &after, id)?,
    })
}

/// Two files of pipelines, both as the variant.
///
/// # Errors
/// When one cannot be read, or has mistakes.
pub fn diff_pipelines(old: &Path, new: &Path, variant: &str) -> Result<Differences, Error> {
    let load = |path: &Path| {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::reading("read the pipeline", path, &error))?;
        let entry = Entry {
            id: "pipeline".to_owned(),
            file_name: path.display().to_string(),
            folder: path.parent().map(Path::to_path_buf),
            pipeline: Some(text.into()),
            description: None,
            leaderboard: None,
            checksums: None,
        };
        entry.load(variant)
    };
    Ok(Differences {
        pipeline: pipelines(&load(old)?, &load(new)?),
        outputs: None,
    })
}

/// One competition in two data folders.
///
/// # Errors
/// When it is not in both, or something cannot be read.
pub fn diff_data(
    settings: &Settings,
    old: &Path,
    new: &Path,
    id: &str,
) -> Result<Differences, Error> {
    let outputs = outputs(settings, old, new, id)?.ok_or_else(|| {
        let message = format!("`{id}` is not prepared in both folders");
        Error::new(Failure::Input, message)
    })?;
    Ok(Differences {
        pipeline: Vec::new(),
        outputs: Some(outputs),
    })
}

fn outputs(
    settings: &Settings,
    old: &Path,
    new: &Path,
    id: &str,
) -> Result<Option<Vec<FileDifference>>, Error> {
    let folder = |data: &Path| data.join(id).join("prepared");
    let (old, new) = (folder(old), folder(new));
    if !old.is_dir() || !new.is_dir() {
        return Ok(None);
    }
    let options = Options {
        threads: settings.jobs,
        temp: &settings.temp_dir(),
    };
    let found = folders(&old, &new, &options).map_err(|error| {
        let message = format!(
            "cannot compare {} and {}: {error}",
            old.display(),
            new.display()
        );
        Error::new(Failure::Machine, message)
    })?;
    Ok(Some(found))
}

fn pipelines(old: &Pipeline, new: &Pipeline) -> Vec<PipelineDifference> {
    let (old, new) = (said(old), said(new));
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differing = paths
        .into_iter()
        .filter(|path| old.get(*path) != new.get(*path));
    differing
        .map(|path| PipelineDifference {
            path: path.clone(),
            old: old.get(path).cloned(),
            new: new.get(path).cloned(),
        })
        .collect()
}

/// What a pipeline says, by where it stands; queries as they read in one line, comments and layout aside.
fn said(pipeline: &Pipeline) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    let mut say = |path: String, what: String| {
        said.insert(path, what);
    };
    say("name".to_owned(), pipeline.name.clone());
    say("category".to_owned(), pipeline.category.clone());
    say("bundle".to_owned(), format!("{:?}", pipeline.bundle));
    for (name, texts) in &pipeline.lists {
        say(format!("lists/{}", name.value), texts.join(", "));
    }
    for table in &pipeline.tables {
        let names: Vec<&str> = table.names.iter().map(|name| name.value.as_str()).collect();
        let path = format!("tables/{}", names.join(", "));
        match &table.made {
            Made::Query(query) => say(path, query.normal.clone()),
            Made::List(texts) => say(path, texts.join(", ")),
            Made::Kind(declaration) => declared(&path, declaration, &mut say),
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
    said
}

fn output(section: &str, outputs: &[Output], say: &mut dyn FnMut(String, String)) {
    for output in outputs {
        let path = format!("{section}/{}", output.path.value);
        declared(&path, &output.declaration, say);
    }
}

fn declared(path: &str, declaration: &Declaration, say: &mut dyn FnMut(String, String)) {
    for (key, setting) in declaration.settings() {
        let path = format!("{path}: {}", key.name);
        match &setting.value {
            Setting::Text(text) => say(path, text.clone()),
            Setting::Query(query) => say(path, query.normal.clone()),
            Setting::Queries(queries) => {
                for (name, query) in queries {
                    say(format!("{path}/{}", name.value), query.normal.clone());
                }
            }
            Setting::Columns(columns) => {
                let column = |one: &prep_spec::model::Column| {
                    format!("{}: {}", one.name.value, one.kind.name())
                };
                let columns: Vec<String> = columns.iter().map(column).collect();
                say(path, columns.join(", "));
            }
            Setting::Texts(texts) => say(path, texts.join(", ")),
            Setting::Natural(number) => say(path, number.to_string()),
            Setting::Outputs(outputs) => output(&path, outputs, say),
            Setting::True => say(path, "true".to_owned()),
            other => say(path, format!("{other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_told_word_by_word() {
        let catalog = Catalog::embedded();
        let load = |variant| {
            let entry = catalog
                .get("movie-review-sentiment-analysis-kernels-only")
                .unwrap();
            entry.load(variant).unwrap()
        };
        let found = pipelines(&load("v1"), &load("fixed"));
        let found: Vec<(&str, Option<&str>, Option<&str>)> = found
            .iter()
            .map(|one| (one.path.as_str(), one.old.as_deref(), one.new.as_deref()))
            .collect();
        assert_eq!(
            found,
            [
                ("tables/train, test: groups", None, Some("SentenceId")),
                ("tables/train, test: order", None, Some("split")),
            ]
        );
        assert_eq!(pipelines(&load("v1"), &load("v1")), []);
    }
}
