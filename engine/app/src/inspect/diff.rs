//! Compares the settings and outputs of two variants, two pipeline files, or two data directories.

use std::collections::BTreeSet;
use std::path::Path;

use prep_core::{Failure, chain};
use prep_diff::{DiffOptions, FileDifference, directories};
use prep_spec::Pipeline;
use serde::Serialize;

use crate::catalog::{Catalog, CatalogEntry};
use crate::error::{Error, failure_of};
use crate::outline::outline;
use crate::settings::{Settings, prepared_dir};

/// The differences between two variants, pipeline files, data directories or publications.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DataDifferences {
    /// Times of two publications, in seconds since 1970. `None` if no publications were compared.
    pub published: Option<[u64; 2]>,
    pub pipeline: Vec<PipelineDifference>,
    /// `None` if one side has no outputs, or if only pipeline files were compared.
    pub outputs: Option<Vec<FileDifference>>,
}

/// A setting that differs between two pipelines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PipelineDifference {
    /// The path of the setting, for example `public/train.csv: csv`.
    pub path: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

impl DataDifferences {
    pub fn is_empty(&self) -> bool {
        self.pipeline.is_empty() && self.outputs.as_ref().is_none_or(Vec::is_empty)
    }
}

/// Compares two variants of a competition, and their outputs in the data directory if both are prepared.
///
/// # Errors
/// Returns an error if a pipeline has mistakes or an output cannot be read.
pub fn diff_variants(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    variants: [&str; 2],
) -> Result<DataDifferences, Error> {
    let entry = catalog.get(id)?;
    let [old, new] = variants.map(|variant| entry.load(variant));
    let [before, after] = variants.map(|variant| settings.data_dir_of(variant));
    Ok(DataDifferences {
        published: None,
        pipeline: pipeline_differences(&old?, &new?),
        outputs: output_differences(settings, &before, &after, id)?,
    })
}

/// Compares two pipeline files, both in the same variant.
///
/// # Errors
/// Returns an error if one of the files cannot be read or has mistakes.
pub fn diff_pipelines(old: &Path, new: &Path, variant: &str) -> Result<DataDifferences, Error> {
    let load = |path: &Path| {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::reading_pipeline(path, &error))?;
        CatalogEntry::of_text("pipeline", &path.display().to_string(), text).load(variant)
    };
    Ok(DataDifferences {
        published: None,
        pipeline: pipeline_differences(&load(old)?, &load(new)?),
        outputs: None,
    })
}

/// Compares one competition in two data directories.
///
/// # Errors
/// Returns an error if the competition is not prepared in both directories, or if an output cannot be read.
pub fn diff_data(
    settings: &Settings,
    old: &Path,
    new: &Path,
    id: &str,
) -> Result<DataDifferences, Error> {
    let outputs = output_differences(settings, old, new, id)?.ok_or_else(|| {
        let message =
            format!("cannot compare `{id}`, because it is not prepared in both directories");
        Error::new(Failure::Input, message)
    })?;
    Ok(DataDifferences {
        published: None,
        pipeline: Vec::new(),
        outputs: Some(outputs),
    })
}

/// Compares the prepared files of a competition in two data directories. Returns `None` if it is not prepared in both.
fn output_differences(
    settings: &Settings,
    old: &Path,
    new: &Path,
    id: &str,
) -> Result<Option<Vec<FileDifference>>, Error> {
    let (old, new) = (prepared_dir(old, id), prepared_dir(new, id));
    if !old.is_dir() || !new.is_dir() {
        return Ok(None);
    }
    let temp = settings.temp_dir();
    let options = DiffOptions {
        threads: settings.jobs,
        resources: settings.resources(&temp),
    };
    let found = directories(&old, &new, &options).map_err(|error| {
        let message = format!(
            "cannot compare {} and {}: {}",
            old.display(),
            new.display(),
            chain(&error)
        );
        Error::new(failure_of(&error), message)
    })?;
    Ok(Some(found))
}

fn pipeline_differences(old: &Pipeline, new: &Pipeline) -> Vec<PipelineDifference> {
    let (old, new) = (outline(old), outline(new));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changed_settings_of_a_variant_are_listed() {
        let catalog = Catalog::embedded();
        let load = |variant| {
            let entry = catalog
                .get("movie-review-sentiment-analysis-kernels-only")
                .unwrap();
            entry.load(variant).unwrap()
        };
        let found = pipeline_differences(&load("v1"), &load("fixed"));
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
        assert_eq!(pipeline_differences(&load("v1"), &load("v1")), []);
    }

    const BASE: &str = "\
name: A
category: Tabular
bundle: { kaggle: a }
sources:
  more: { url: https://example.org/more.csv }
tables:
  all: { read: all.csv, columns: { id: integer, y: text } }
  extra: { read: more:more.csv, delimiter: tab }
  train, test: { split: all, method: shuffle, test_size: 0.1, seed: 0 }
  drawn:
    draws: all
    generator: numpy
    seed: 1
    values: [{ a: integers, high: 5 }, { b: integers, high: id, when: id > 3 }]
public:
  train.csv: SELECT * FROM train
  extra.csv: SELECT * FROM extra
  drawn.csv: SELECT id, a, b FROM drawn
private:
  test.csv: SELECT * FROM test
";

    fn differences(new: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let load = |text: &str| {
            prep_spec::load(prep_steps::vocabulary(), "a", "a.yaml", text, "v1").unwrap()
        };
        let found = pipeline_differences(&load(BASE), &load(new)).into_iter();
        found.map(|one| (one.path, one.old, one.new)).collect()
    }

    /// Differences show settings as they are written in the file. Layout does not matter.
    #[test]
    fn differences_show_settings_as_written() {
        for (from, to, path, old, new) in [
            ("kaggle: a", "kaggle: b", "bundle/kaggle", "a", "b"),
            (
                "https://example.org/more.csv",
                "https://example.com/more.csv",
                "sources/more: url",
                "https://example.org/more.csv",
                "https://example.com/more.csv",
            ),
            ("0.1", "30", "tables/train, test: test_size", "0.1", "30"),
            (
                "delimiter: tab",
                "delimiter: \";\"",
                "tables/extra: delimiter",
                "tab",
                ";",
            ),
            (
                "high: 5",
                "high: 6",
                "tables/drawn: values/a: high",
                "5",
                "6",
            ),
            (
                "id > 3",
                "id >= 4",
                "tables/drawn: values/b: when",
                "id > 3",
                "id >= 4",
            ),
        ] {
            let expected = (path.to_owned(), Some(old.to_owned()), Some(new.to_owned()));
            assert_eq!(differences(&BASE.replace(from, to)), [expected]);
        }
        let laid_out = BASE.replace("[{ a:", "[ # two\n      { a:");
        assert_eq!(differences(&laid_out), []);
    }
}
