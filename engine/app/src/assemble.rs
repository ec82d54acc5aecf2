//! From selected competitions to one graph of all their steps.

use std::path::{Path, PathBuf};

use prep_core::{Context, Failure, Graph, Source};
use prep_digests::{Locked, Sha256, Trees};
use prep_fetch::{KaggleBundle, LazyNetwork, Members, PartOfBundle};
use prep_grade::Grader;
use prep_grade::metrics::Direction;
use prep_remote::Mirrored;
use prep_spec::Pipeline;
use prep_steps::{Checksums, Sources, Surroundings};

use crate::catalog::{Catalog, Entry};
use crate::digests;
use crate::error::Error;
use crate::loading::Loader;
use crate::lock;
use crate::settings::{Options, Settings};
use crate::sources::{self, Asked, FurtherSource};

/// What is known of the published checksums before anything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Outputs are compared.
    Checked,
    /// There are none for this variant.
    NotPublished,
    /// The user does not want them compared.
    Skipped,
}

/// A competition in the graph.
pub struct Competition {
    pub id: String,
    /// Kaggle's name of it.
    pub kaggle: String,
    pub verification: Verification,
    /// The bundle, if it is there.
    pub bundle: Option<PathBuf>,
    /// Published MD5 of the bundle, if it is held to it.
    pub md5: Option<String>,
    /// Published MD5 of the bundle.
    pub(crate) published_md5: Option<String>,
    /// Its files.
    pub(crate) entry: Entry,
    /// Length of the bundle in bytes, where it is published.
    pub published_bytes: Option<u64>,
    /// Sources beside the bundle.
    pub sources: Vec<FurtherSource>,
    /// What the pipeline reads of the bundle.
    pub members: Members,
    /// The part of the bundle that stands for it, if only that is wanted.
    pub part: Option<PartOfBundle>,
    /// Outputs for which no checksum is published.
    pub without_checksum: Vec<String>,
    /// What a lock file says of it besides the trees, which are known when it is prepared.
    pub locked: Locked,
}

/// All selected competitions.
pub struct Assembly {
    pub graph: Graph,
    pub competitions: Vec<Competition>,
    /// Those that cannot be prepared at all, and why.
    pub refused: Vec<(String, Error)>,
}

struct Part {
    entry: Entry,
    pipeline: Pipeline,
    /// Sentences about the metric, for the description.
    metric: Option<String>,
    checksums: Option<Checksums>,
    verification: Verification,
}

impl Part {
    /// What a lock file says of it before it is prepared.
    fn locked(&self) -> Locked {
        let text = self.entry.pipeline.as_deref().unwrap_or_default();
        Locked::new(
            digests::leaderboard(&self.entry),
            digests::rules(&self.pipeline),
        )
        .with_origin(Sha256::of(text.as_bytes()), crate::VERSION)
    }
}

/// What building a graph needs besides the competitions.
pub struct Around<'a> {
    pub settings: &'a Settings,
    pub loader: &'a Loader<'a>,
    pub engine: &'a prep_sql::Session,
    pub network: &'a LazyNetwork,
    pub context: &'a Context,
}

/// Builds the graph of all competitions `ids`. Reads pipelines, looks for bundles, writes nothing.
///
/// # Errors
/// Only when no competition has this id, or there is no folder `source`; what is wrong with a competition is in the
/// result.
pub fn assemble(
    ids: &[String],
    options: &Options,
    around: &Around<'_>,
    catalog: &Catalog,
) -> Result<Assembly, Error> {
    if let Some(source) = options.source.as_ref().filter(|source| !source.is_dir()) {
        let message = format!("--source {} is not a folder", source.display());
        return Err(Error::new(Failure::Input, message)
            .help("name the folder that holds ID.zip or ID/ID.zip, as Kaggle serves them"));
    }
    let lock = match options.locked {
        true => Some(lock::read(&around.settings.data_dir)?),
        false => None,
    };
    let mut assembly = Assembly {
        graph: Graph::new(),
        competitions: Vec::new(),
        refused: Vec::new(),
    };
    let entries = ids.iter().map(|id| catalog.get(id));
    let entries = entries.collect::<Result<Vec<&Entry>, Error>>()?;
    // Each for itself: the steps of one that is refused half-way stay out.
    let mut built = around.context.spread(
        entries.len(),
        0,
        || (),
        |(), number| {
            let built = entries.get(number).map(|entry| {
                let part = part(entry, options, around.loader)?;
                let locked = part.locked();
                let trees = match &lock {
                    Some(lock) => Some(lock::require(lock, &entry.id, &options.variant, &locked)?),
                    None => None,
                };
                let (graph, mut one) = add(&part, options, around, trees)?;
                one.locked = locked;
                Ok((graph, one))
            });
            Ok((number, built))
        },
    )?;
    built.sort_by_key(|(number, _)| *number);
    for (id, (_, built)) in ids.iter().zip(built) {
        match built {
            Some(Ok((graph, competition))) => {
                assembly.graph.append(graph)?;
                assembly.competitions.push(competition);
            }
            Some(Err(error)) => assembly.refused.push((id.clone(), error)),
            None => {}
        }
    }
    Ok(assembly)
}

fn part(entry: &Entry, options: &Options, loader: &Loader) -> Result<Part, Error> {
    let pipeline = loader.load(entry, &options.variant)?;
    let published = match &entry.checksums {
        // The published checksums are those of the base.
        Some(text) if !pipeline.variant.differs => {
            let wrong = |error| {
                Error::new(
                    Failure::Pipeline,
                    format!("checksums.json of `{}`: {error}", entry.id),
                )
            };
            Some(serde_json::from_str::<Checksums>(text).map_err(wrong)?)
        }
        _ => None,
    };
    let (checksums, verification) = match published {
        _ if !options.check_outputs => (None, Verification::Skipped),
        Some(checksums) => (Some(checksums), Verification::Checked),
        None => (None, Verification::NotPublished),
    };
    Ok(Part {
        entry: entry.clone(),
        metric: metric(&pipeline),
        pipeline,
        checksums,
        verification,
    })
}

/// What the grading section's metric is, and which way it runs.
fn metric(pipeline: &Pipeline) -> Option<String> {
    let grade = pipeline.grade.as_ref()?;
    // The section was checked when the pipeline was loaded.
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

fn add(
    part: &Part,
    options: &Options,
    around: &Around<'_>,
    locked: Option<Trees>,
) -> Result<(Graph, Competition), Error> {
    let id = &part.entry.id;
    let data_dir = &around.settings.data_dir;
    let folders: Vec<&Path> = options.source.iter().map(PathBuf::as_path).collect();
    let bundle = &part.pipeline.bundle;
    let checked = options.check_outputs && options.check_bundle;
    let md5 = bundle.md5.as_deref().filter(|_| checked);
    let network = around.network.clone();
    let whole = KaggleBundle::new(id, &bundle.kaggle, data_dir, &folders, md5, network);
    let members = Members::new(prep_steps::members(&part.pipeline))?;
    let wanted = options
        .partial
        .then(|| PartOfBundle::new(whole.clone(), members.clone()));
    let source: Box<dyn Source> = match wanted.clone() {
        Some(part) => Box::new(part),
        None => Box::new(whole),
    };
    let source = mirrored(around.settings, source, id, md5, None);
    let path = source.location();
    let surroundings = Surroundings {
        data_dir: &around.settings.folder_of(&options.variant),
        boot: around.settings.boot.as_deref(),
        session: around.engine,
        checksums: part.checksums.as_ref(),
        description: part.entry.description.as_deref().unwrap_or(""),
        metric: part.metric.clone(),
        variant: &options.variant,
        expand: options.expand,
        locked,
    };
    let asked = Asked {
        settings: around.settings,
        options,
        network: around.network,
    };
    let (further, sources) = sources::further(&part.entry, &part.pipeline, &asked)?;
    let brings = Sources {
        bundle: source,
        further,
    };
    let mut graph = Graph::new();
    prep_steps::build(&mut graph, &part.pipeline, brings, &surroundings)
        .map_err(|error| Error::new(Failure::Pipeline, format!("{id}: {error}")))?;
    let competition = Competition {
        id: id.clone(),
        kaggle: bundle.kaggle.clone(),
        verification: part.verification,
        bundle: path,
        md5: md5.map(str::to_owned),
        published_md5: bundle.md5.clone(),
        entry: part.entry.clone(),
        published_bytes: part.entry.size(),
        sources,
        members,
        part: wanted,
        without_checksum: without_checksum(part),
        locked: Locked::default(),
    };
    Ok((graph, competition))
}

/// A source with the mirror before it, if there is one. `name`: under which the store remembers what it held.
pub(crate) fn mirrored(
    settings: &Settings,
    source: Box<dyn Source>,
    name: &str,
    md5: Option<&str>,
    sha256: Option<&str>,
) -> Box<dyn Source> {
    match &settings.remote {
        Some(link) => Box::new(Mirrored::new(source, name, md5, sha256, link.clone())),
        None => source,
    }
}

fn without_checksum(part: &Part) -> Vec<String> {
    let none = Checksums::default();
    let sums = part.checksums.as_ref().unwrap_or(&none);
    let pipeline = &part.pipeline;
    let sections = [
        ("public", &pipeline.public, &sums.public),
        ("private", &pipeline.private, &sums.private),
    ];
    let outputs = sections.iter().flat_map(|(section, outputs, sums)| {
        let paths = outputs.iter().map(|output| output.path.value.as_str());
        paths
            .filter(|path| !sums.contains_key(*path))
            .map(move |path| format!("{section}/{path}"))
    });
    outputs.collect()
}
