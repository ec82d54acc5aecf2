//! Digests of the data that a score depends on.

use std::path::Path;

use prep_core::{Failure, canonical};
use prep_digests::{DatasetDigests, Sha256, Trees, digest_of_directory, digest_of_file};
use prep_grade::report::Digests;
use prep_spec::{BASE_VARIANT, Pipeline};
use prep_steps::ExaminedFiles;

use crate::catalog::{Catalog, CatalogEntry};
use crate::error::Error;
use crate::settings::{Settings, prepared_dir};
use crate::{prepared, sealed};

pub(crate) fn leaderboard(entry: &CatalogEntry) -> Option<Sha256> {
    let text = entry.leaderboard.as_deref()?;
    Some(Sha256::of_bytes(text.as_bytes()))
}

/// Returns the digest of the pipeline's section `grade`, written as JSON with sorted keys and without spaces.
pub(crate) fn rules(pipeline: &Pipeline) -> Option<Sha256> {
    let grade = &pipeline.grade.as_ref()?.value;
    let section = serde_json::json!({
        "answers": grade.answers.value,
        "sample": grade.sample.value,
        "grade": grade.rules,
    });
    Some(Sha256::of_bytes(canonical(&section).as_bytes()))
}

pub(crate) fn pipeline(entry: &CatalogEntry) -> Option<Sha256> {
    let text = entry.pipeline.as_deref()?;
    Some(Sha256::of_bytes(text.as_bytes()))
}

/// Returns the digest of the published description. Returns `None` if the description cannot be read, for example because
/// only the private files were copied to this machine.
pub(crate) fn description(data_dir: &Path, id: &str) -> Option<Sha256> {
    let path = prepared_dir(data_dir, id).join("public/description.md");
    let (digest, _) = digest_of_file(&path).ok()?;
    Some(digest)
}

pub(crate) fn text(digest: Sha256) -> String {
    format!("sha256:{digest}")
}

/// Returns the digests for a report. Reads no file.
pub(crate) fn report_digests(
    entry: &CatalogEntry,
    pipeline: &Pipeline,
    variant: &str,
    trees: Option<Trees>,
    description: Option<Sha256>,
) -> Digests {
    let (leaderboard, rules) = (leaderboard(entry), rules(pipeline));
    let facts = trees.map(|trees| DatasetDigests::new(variant, &trees, leaderboard, rules));
    Digests {
        all: facts.map(|facts| text(facts.digest())),
        public: trees.map(|trees| text(trees.public.sha256)),
        description: description.map(text),
        answers: trees.map(|trees| text(trees.private.sha256)),
        leaderboard: leaderboard.map(text),
        rules: rules.map(text),
        pipeline: self::pipeline(entry).map(text),
        submission: None,
    }
}

/// Returns the digests of a prepared competition. If published files are missing or changed, also returns a description of
/// these differences.
///
/// Reads the prepared files only if the recorded digests are missing or outdated. Data that another program prepared have
/// no recorded variant, so this function treats them as `v1`.
///
/// # Errors
/// Returns an error if the competition is not prepared or its preparation was interrupted, if a file cannot be read, or if the pipeline has mistakes.
pub fn facts(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
) -> Result<(DatasetDigests, Option<String>), Error> {
    let entry = catalog.get(id)?;
    let directory = settings.prepared_dir(id);
    let manifest = prepared::complete_manifest(&settings.data_dir, id)?;
    let variant = match &manifest {
        Some(manifest) => manifest.variant.clone(),
        None => BASE_VARIANT.to_owned(),
    };
    if !directory.is_dir() {
        return Err(prepared::not_prepared(id));
    }
    let mut difference = None;
    let recorded = match manifest {
        Some(manifest) => {
            let tree =
                prepared::examine(&manifest, &settings.data_dir, settings, ExaminedFiles::All)?;
            if !tree.has_published_content() {
                difference = tree.difference();
            }
            manifest.trees.filter(|_| tree.has_recorded_digests())
        }
        None => None,
    };
    let trees = match recorded {
        Some(trees) => trees,
        None => compute_trees(settings, id)?,
    };
    let rules = rules(&entry.load(&variant)?);
    let facts = DatasetDigests::new(&variant, &trees, leaderboard(entry), rules);
    let facts = facts.with_description(description(&settings.data_dir, id));
    Ok((facts, difference))
}

/// Computes the digests of the directories `public` and `private` from their files.
fn compute_trees(settings: &Settings, id: &str) -> Result<Trees, Error> {
    sealed::require_plain(settings, id)?;
    let directory = settings.prepared_dir(id);
    let tree = |section: &str| {
        digest_of_directory(&directory.join(section), settings.jobs).map_err(|(path, error)| {
            let message = format!("cannot read {}: {error}", path.display());
            Error::new(Failure::Machine, message)
        })
    };
    Ok(Trees {
        public: tree("public")?,
        private: tree("private")?,
    })
}
