//! First and second stage: finds the catalog entries of a task's competitions. Loads and checks their pipelines, reads
//! published checksums, and compares the pipelines with `prep.lock`.

use std::collections::BTreeSet;
use std::sync::Arc;

use prep_core::Failure;
use prep_digests::{LockedDataset, Lockfile, Sha256, Trees};
use prep_grade::Grader;
use prep_grade::metrics::Direction;
use prep_spec::{Diagnostics, Pipeline, Reading};
use prep_sql::Session;
use prep_steps::{PreviewRequest, PublishedChecksums, Verify};

use super::loader::Loader;
use super::lock;
use crate::catalog::CatalogEntry;
use crate::digests;
use crate::error::Error;
use crate::task::{Task, ViewOptions};

/// The selected competitions.
pub(crate) struct Chosen<'a> {
    /// The catalog entries, in the order of the ids.
    pub entries: Vec<&'a CatalogEntry>,
    /// `prep.lock`, if the prepared data must agree with it.
    pub lock: Option<Lockfile>,
}

impl<'a> Chosen<'a> {
    /// Finds the entries of `ids`.
    ///
    /// # Errors
    /// Returns an error if a competition does not exist, the directory of bundles does not exist, or `prep.lock` cannot be
    /// read.
    pub(super) fn choose(task: &'a Task, ids: &[String]) -> Result<Chosen<'a>, Error> {
        let source = task.options.remembered.source.as_ref();
        if let Some(source) = source.filter(|source| !source.is_dir()) {
            let message = format!("the source `{}` is not a directory", source.display());
            return Err(Error::new(Failure::Input, message)
                .help("name the directory that has ID.zip or ID/ID.zip"));
        }
        let lock = match task.options.locked {
            true => Some(lock::read(&task.settings.data_dir)?),
            false => None,
        };
        let entries = ids.iter().map(|id| task.catalog.get(id));
        Ok(Chosen {
            entries: entries.collect::<Result<_, _>>()?,
            lock,
        })
    }
}

/// How the outputs are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Outputs are compared with published checksums.
    Checked,
    /// No checksums are published for this variant.
    NotPublished,
    /// The user disabled the comparison.
    Skipped,
}

/// A competition whose pipeline has been checked.
pub(crate) struct LoadedCompetition {
    pub entry: CatalogEntry,
    pub pipeline: Pipeline,
    /// The published checksums that the outputs must have.
    pub checksums: Option<PublishedChecksums>,
    pub verification: Verification,
    /// The part of the entry of `prep.lock` that is known before the competition is prepared.
    pub locked: LockedDataset,
    /// The digests of the outputs in `prep.lock`, if the outputs must match them.
    pub trees: Option<Trees>,
    /// The query that replaces the outputs.
    pub preview: Option<PreviewRequest>,
}

impl LoadedCompetition {
    /// Loads the pipeline of an entry.
    ///
    /// # Errors
    /// Returns an error if the entry has no pipeline, if one of its files has mistakes, or if `prep.lock` must match and
    /// differs.
    pub(super) fn load(
        entry: &CatalogEntry,
        chosen: &Chosen<'_>,
        task: &Task,
        engine: &Session,
        loader: &Loader,
    ) -> Result<LoadedCompetition, Error> {
        let options = &task.options;
        let mut pipeline = loader.load(entry, &options.variant)?;
        // Checksums are published only for the base variant.
        let published = match pipeline.variant.differs {
            true => None,
            false => entry.published_checksums()?,
        };
        let (mut checksums, verification) = match published {
            _ if options.verify() == Verify::Nothing => (None, Verification::Skipped),
            Some(checksums) => (Some(checksums), Verification::Checked),
            None => (None, Verification::NotPublished),
        };
        let view = options.view.as_ref();
        let preview = view.map(|view| replace_outputs(view, &mut pipeline, engine));
        if preview.is_some() {
            checksums = None;
        }
        let preview = preview.transpose()?;
        let locked = to_lock_entry(entry, &pipeline);
        let lock = chosen.lock.as_ref();
        let trees = lock.map(|lock| lock::require(lock, &entry.id, &options.variant, &locked));
        Ok(LoadedCompetition {
            entry: entry.clone(),
            pipeline,
            checksums,
            verification,
            locked,
            trees: trees.transpose()?,
            preview,
        })
    }

    /// Returns a sentence about the metric of the section `grade`, for the description.
    pub(crate) fn metric(&self) -> Option<String> {
        let grade = self.pipeline.grade.as_ref()?;
        // Does not fail, because the section was checked when the pipeline was loaded.
        let grader = Grader::parse(&grade.value.rules).ok()?;
        let better = match grader.direction() {
            Direction::HigherIsBetter => "Higher",
            Direction::LowerIsBetter => "Lower",
        };
        let definition = &grader.metric().definition;
        Some(format!(
            "`{}`: {} {better} is better.",
            definition.name, definition.summary
        ))
    }

    /// Returns the outputs for which no checksum is published.
    pub(crate) fn without_checksum(&self) -> Vec<String> {
        let pipeline = &self.pipeline;
        let sections = [("public", &pipeline.public), ("private", &pipeline.private)];
        let paths = sections.iter().flat_map(|(section, outputs)| {
            let paths = outputs.iter().map(|output| &output.path.value);
            paths.map(move |path| format!("{section}/{path}"))
        });
        let sums = self.checksums.as_ref();
        paths
            .filter(|path| sums.is_none_or(|sums| sums.of_output(path).is_none()))
            .collect()
    }
}

/// Returns the part of the entry of `prep.lock` that is known before the competition is prepared.
fn to_lock_entry(entry: &CatalogEntry, pipeline: &Pipeline) -> LockedDataset {
    let text = entry.pipeline.as_deref().unwrap_or_default();
    LockedDataset::new(digests::leaderboard(entry), digests::rules(pipeline))
        .with_origin(Sha256::of_bytes(text.as_bytes()), crate::VERSION)
}

/// The name of the query in errors.
const QUERY_NAME: &str = "rows";

/// Replaces the outputs of a pipeline with the query. Returns the request for the preview.
///
/// # Errors
/// If the query is not valid for the pipeline's tables.
fn replace_outputs(
    view: &ViewOptions,
    pipeline: &mut Pipeline,
    engine: &Session,
) -> Result<PreviewRequest, Error> {
    let reading = reading(pipeline, &view.query)?;
    let source = Arc::clone(&reading.pipeline.source);
    let found = prep_sql::check_before_files(engine, &reading);
    if let Some(found) = Diagnostics::new(Arc::clone(&source), found) {
        return Err(found.into());
    }
    // Errors about tables have positions in the pipeline's file, not in the query.
    let file = Arc::clone(&pipeline.source);
    *pipeline = Pipeline {
        source: file,
        ..reading.pipeline
    };
    let query = pipeline.checks.pop().map(|check| check.query);
    Ok(PreviewRequest {
        query: query.ok_or_else(|| Error::new(Failure::Internal, "a view without a query"))?,
        source,
        limit: view.limit,
        result: Arc::clone(&view.result),
    })
}

/// Returns a pipeline that contains the tables of `pipeline` and the query.
pub(crate) fn reading(pipeline: &Pipeline, query: &str) -> Result<Reading, Error> {
    let pipeline =
        prep_spec::query_pipeline(pipeline, prep_steps::vocabulary(), QUERY_NAME, query)?;
    Ok(Reading {
        pipeline,
        unread: BTreeSet::new(),
    })
}
