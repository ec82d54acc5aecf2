//! Fourth stage: builds the graph of the steps of a competition.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use prep_core::{Failure, Graph};
use prep_digests::LockedDataset;
use prep_fetch::{Members, PartOfBundle};
use prep_steps::{BuildOptions, RememberedOptions, Sources};

use super::load::{LoadedCompetition, Verification};
use super::recorded::StatedContents;
use super::sources::{FoundSources, FurtherSource};
use crate::bundles::BorrowedBundle;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::recall::{self, RecalledOption};
use crate::task::{PreparationOptions, Task};

/// A competition whose steps are in the graph.
pub struct Competition {
    pub id: String,
    pub verification: Verification,
    /// The path of the bundle, if it exists.
    pub bundle: Option<PathBuf>,
    /// Sources in addition to the bundle.
    pub sources: Vec<FurtherSource>,
    /// The options of the task, with those of the last run.
    pub options: PreparationOptions,
    /// The options that have the value of the last run.
    pub(crate) recalled: RememberedOptions,
    /// The bundle whose results are used, if it is neither on this machine nor recorded in the data directory.
    pub borrowed: Option<BorrowedBundle>,
    /// The contents of sources whose files do not exist.
    pub(crate) contents: StatedContents,
    /// Kaggle's name of the competition.
    pub(crate) kaggle: String,
    /// Published MD5 with which the bundle is compared. `None` if the comparison is disabled.
    pub(crate) md5: Option<String>,
    /// Published MD5 of the bundle.
    pub(crate) published_md5: Option<String>,
    pub(crate) entry: CatalogEntry,
    /// The members of the bundle that the pipeline reads.
    pub(crate) members: Members,
    /// The part of the bundle that is used instead of the complete bundle, if the user requested a partial download.
    pub(crate) part: Option<PartOfBundle>,
    /// Outputs for which no checksum is published.
    pub(crate) without_checksum: Vec<String>,
    /// Entry of `prep.lock`, without the digests of the trees, which are known only after the competition is prepared.
    pub(crate) locked: LockedDataset,
}

impl Competition {
    /// Returns whether only a part of the bundle was downloaded.
    pub(crate) fn is_partial(&self) -> bool {
        let is_deleted = || self.bundle.is_none() && self.contents.part.is_some();
        let part = self.part.as_ref();
        part.is_some_and(|part| part.is_part() || is_deleted())
    }

    /// Returns the URL of a further source, unless it is a directory.
    pub(crate) fn url_of(&self, source: &str) -> Option<String> {
        let found = self.sources.iter().find(|one| one.name == source);
        found.and_then(|one| one.url.clone())
    }

    /// Returns the directory of the user in which a source was found, or in which it is searched as in the last run.
    pub(crate) fn used_source(&self) -> Option<&Path> {
        let dir = self.options.remembered.source.as_deref()?;
        let further = self.sources.iter().filter_map(|one| one.path.as_deref());
        let mut paths = self.bundle.as_deref().into_iter().chain(further);
        let is_recalled = self.recalled.source.is_some();
        (paths.any(|path| path.starts_with(dir)) || is_recalled).then_some(dir)
    }

    /// Returns the options that have the value of the last run.
    pub fn recalled(&self) -> impl Iterator<Item = RecalledOption> {
        recall::describe(&self.recalled).into_iter()
    }
}

/// A competition and the graph of its steps. Each competition gets its own graph, so that the steps of a competition
/// that fails can be left out.
pub(crate) struct AssembledCompetition {
    pub graph: Graph,
    pub competition: Competition,
}

impl AssembledCompetition {
    /// Adds the options that have the value of the last run.
    pub(super) fn with_recalled(mut self, recalled: RememberedOptions) -> AssembledCompetition {
        self.competition.recalled = recalled;
        self
    }

    /// Builds the graph of a competition. Writes nothing.
    ///
    /// # Errors
    /// Returns an error if the pipeline cannot be built, or if the user's description is missing.
    pub(super) fn assemble(
        loaded: LoadedCompetition,
        found: FoundSources,
        task: &Task,
        engine: &prep_sql::Session,
    ) -> Result<AssembledCompetition, Error> {
        let (options, settings, entry) = (&task.options, &task.settings, &loaded.entry);
        let path = found.bundle.location();
        let given = user_description(options, &entry.id)?;
        let data_dir = task.data_dir();
        let build_options = BuildOptions {
            data_dir: &data_dir,
            boot: settings.boot.as_deref(),
            session: engine,
            checksums: loaded.checksums.as_ref(),
            description: given
                .as_deref()
                .or(entry.description.as_deref())
                .unwrap_or(""),
            metric: loaded.metric(),
            variant: &options.variant,
            expand: options.expand_archives(),
            locked: loaded.trees,
            remove_unpublished: options.remove_unpublished,
            link_mode: options.remembered.link_mode.unwrap_or_default(),
            complete_description: given.is_none(),
        };
        let sources = Sources {
            bundle: found.bundle,
            further: found.further.sources,
        };
        let mut graph = Graph::new();
        let pipeline = &loaded.pipeline;
        let built = match loaded.preview.clone() {
            Some(request) => {
                prep_steps::build_preview(&mut graph, pipeline, sources, &build_options, request)
            }
            None => prep_steps::build(&mut graph, pipeline, sources, &build_options),
        };
        built.map_err(|error| Error::new(Failure::Pipeline, format!("{}: {error}", entry.id)))?;
        let competition = Competition {
            id: entry.id.clone(),
            verification: loaded.verification,
            bundle: path,
            sources: found.further.listed,
            options: options.clone(),
            recalled: RememberedOptions::default(),
            borrowed: None,
            contents: found.contents,
            md5: found.md5,
            members: found.members,
            part: found.part,
            without_checksum: loaded.without_checksum(),
            kaggle: loaded.pipeline.bundle.kaggle,
            published_md5: loaded.pipeline.bundle.md5,
            entry: loaded.entry,
            locked: loaded.locked,
        };
        Ok(AssembledCompetition { graph, competition })
    }
}

/// Returns the description of a competition that the user publishes instead of the built-in one. Returns `None` if the
/// user did not pass a directory with descriptions.
///
/// It changes the text that an agent reads, but nothing that a score depends on. The digest of `public` includes the
/// description, so results record which text was used.
///
/// # Errors
/// Returns an error if the directory has no description of the competition, or if the description is empty or cannot be
/// read.
fn user_description(options: &PreparationOptions, id: &str) -> Result<Option<String>, Error> {
    let Some(dir) = &options.remembered.descriptions else {
        return Ok(None);
    };
    let paths = [
        dir.join(id).join("description.md"),
        dir.join(format!("{id}.md")),
    ];
    for path in &paths {
        match std::fs::read_to_string(path) {
            Ok(text) if text.trim().is_empty() => {
                let message = format!("{} is empty", path.display());
                return Err(Error::new(Failure::Input, message));
            }
            Ok(text) => return Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::reading("read the description", path, &error)),
        }
    }
    let [first, second] = paths.map(|path| path.display().to_string());
    let message = format!("`{id}` has no description: there is neither {first} nor {second}");
    Err(Error::new(Failure::Input, message))
}
