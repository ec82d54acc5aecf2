//! Fourth stage: builds one graph with the steps of all selected competitions.

use std::path::PathBuf;

use prep_cache::LinkMode;
use prep_core::{Context, Failure, Graph};
use prep_digests::LockedDataset;
use prep_fetch::{Members, PartOfBundle};
use prep_steps::{BuildOptions, Sources};

use super::choose::Chosen;
use super::description;
use super::load::{LoadedCompetition, Verification};
use super::loader::Loader;
use super::lock;
use super::sources::{FoundSources, FurtherSource};
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::task::Task;

/// A competition whose steps are in the graph.
pub struct Competition {
    pub id: String,
    pub verification: Verification,
    /// The path of the bundle, if it exists.
    pub bundle: Option<PathBuf>,
    /// Sources in addition to the bundle.
    pub sources: Vec<FurtherSource>,
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
        self.part.as_ref().is_some_and(PartOfBundle::is_part)
    }
}

/// The graph of all selected competitions.
pub(crate) struct Assembly {
    pub graph: Graph,
    pub competitions: Vec<Competition>,
    /// Competitions that cannot be prepared, with the reason.
    pub refused: Vec<(String, Error)>,
}

/// Builds the graph. Reads pipelines and searches for bundles, but writes nothing.
///
/// # Errors
/// Returns an error if the work is cancelled. Errors of single competitions are in the result.
pub(crate) fn assemble(
    chosen: &Chosen<'_>,
    task: &Task,
    engine: &prep_sql::Session,
    context: &Context,
) -> Result<Assembly, Error> {
    let assembler = Assembler {
        task,
        loader: Loader::new(&context.store, &task.settings.program),
        engine,
        chosen,
    };
    let mut assembly = Assembly {
        graph: Graph::new(),
        competitions: Vec::new(),
        refused: Vec::new(),
    };
    // Each competition gets its own graph, so that the steps of a competition that fails can be left out.
    let built =
        context.map_in_order(&chosen.entries, 0, |entry| Ok(assembler.competition(entry)))?;
    for (entry, built) in chosen.entries.iter().zip(built) {
        match built {
            Ok((graph, competition)) => {
                assembly.graph.append(graph)?;
                assembly.competitions.push(competition);
            }
            Err(error) => assembly.refused.push((entry.id.clone(), error)),
        }
    }
    Ok(assembly)
}

struct Assembler<'a> {
    task: &'a Task,
    loader: Loader<'a>,
    engine: &'a prep_sql::Session,
    chosen: &'a Chosen<'a>,
}

impl Assembler<'_> {
    fn competition(&self, entry: &CatalogEntry) -> Result<(Graph, Competition), Error> {
        let (options, settings) = (&self.task.options, &self.task.settings);
        let mut loaded = LoadedCompetition::load(entry, options, &self.loader)?;
        let view = options.view.as_ref();
        let preview = view
            .map(|view| view.apply(&mut loaded, self.engine))
            .transpose()?;
        let locked = loaded.to_lock_entry();
        let trees = match &self.chosen.lock {
            Some(lock) => Some(lock::require(lock, &entry.id, &options.variant, &locked)?),
            None => None,
        };
        let found = FoundSources::find(&loaded, self.task)?;
        let path = found.bundle.location();
        let given = description::user_text(options, &entry.id)?;
        let data_dir = self.task.data_dir();
        let build_options = BuildOptions {
            data_dir: &data_dir,
            boot: settings.boot.as_deref(),
            session: self.engine,
            checksums: loaded.checksums.as_ref(),
            description: given
                .as_deref()
                .or(entry.description.as_deref())
                .unwrap_or(""),
            metric: loaded.metric(),
            variant: &options.variant,
            expand: options.expand,
            locked: trees,
            remove_unpublished: options.remove_unpublished,
            link_mode: options.link_mode.unwrap_or(LinkMode::HardLink),
            complete_description: given.is_none(),
        };
        let sources = Sources {
            bundle: found.bundle,
            further: found.further.sources,
        };
        let mut graph = Graph::new();
        let pipeline = &loaded.pipeline;
        let built = match preview {
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
            md5: found.md5,
            members: found.members,
            part: found.part,
            without_checksum: loaded.without_checksum(),
            kaggle: loaded.pipeline.bundle.kaggle,
            published_md5: loaded.pipeline.bundle.md5,
            entry: loaded.entry,
            locked,
        };
        Ok((graph, competition))
    }
}
