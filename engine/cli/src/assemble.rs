//! From selected competitions to one graph of all their steps.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use prep_core::{Graph, Source};
use prep_fetch::{KaggleBundle, LazyNetwork, Members, PartOfBundle};
use prep_grade::Grader;
use prep_grade::metrics::Direction;
use prep_spec::{BASE_VARIANT, Pipeline, known_variants};
use prep_steps::{Checksums, Surroundings};

use crate::catalog::{Catalog, Entry};
use crate::error::CliError;
use crate::exit::Exit;
use crate::loading::Loader;
use crate::settings::Settings;

/// Options that decide what a pipeline's steps are.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Preparation")]
pub struct How {
    /// v1: byte-identical to the benchmark; fixed: with its known mistakes corrected
    #[arg(long, value_name = "NAME", default_value = BASE_VARIANT, value_parser = PossibleValuesParser::new(known_variants()))]
    pub variant: String,
    /// Folder with bundles that are there already: DIR/ID.zip or DIR/ID/ID.zip; the data folder is searched next, then
    /// the bundle is downloaded from Kaggle
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
    /// Download nothing: a bundle that is not there is an error
    #[arg(long)]
    pub no_download: bool,
    /// Download only the members of a bundle that the pipeline reads; its MD5 cannot be checked then
    #[arg(long)]
    pub partial: bool,
    /// Accept a bundle with another MD5 than the published one (one that was zipped anew, say); what is made of it must
    /// still have the published checksums
    #[arg(long)]
    pub skip_bundle_verification: bool,
    /// Compare neither bundles nor outputs with the published checksums
    #[arg(long)]
    pub skip_verification: bool,
}

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
pub struct Member {
    pub id: String,
    /// Kaggle's name of it.
    pub kaggle: String,
    pub verification: Verification,
    /// The bundle, if it is there.
    pub bundle: Option<PathBuf>,
    /// Length of the bundle in bytes, where it is published.
    pub published_bytes: Option<u64>,
    /// What the pipeline reads of the bundle.
    pub members: Members,
    /// The part of the bundle that stands for it, if only that is wanted.
    pub part: Option<PartOfBundle>,
    /// Outputs for which no checksum is published.
    pub without_checksum: Vec<String>,
}

/// All selected competitions.
pub struct Assembly {
    pub graph: Graph,
    pub members: Vec<Member>,
    /// Those that cannot be prepared at all, and why.
    pub refused: Vec<(String, CliError)>,
}

impl Assembly {
    /// The first refusal, as the error that ends a command.
    ///
    /// # Errors
    /// When a competition was refused.
    pub fn complete(mut self) -> Result<Assembly, CliError> {
        match self.refused.is_empty() {
            true => Ok(self),
            false => Err(self.refused.swap_remove(0).1),
        }
    }
}

struct Part {
    entry: Entry,
    pipeline: Pipeline,
    /// Sentences about the metric, for the description.
    metric: Option<String>,
    checksums: Option<Checksums>,
    verification: Verification,
}

/// What building a graph needs besides the competitions.
pub struct Around<'a> {
    pub settings: &'a Settings,
    pub loader: &'a Loader<'a>,
    pub engine: &'a prep_sql::Session,
    pub network: &'a LazyNetwork,
}

/// Builds the graph of all competitions `ids`. Reads pipelines, looks for bundles, writes nothing.
///
/// # Errors
/// Only when no competition has this id, or there is no folder `source`; what is wrong with a competition is in the
/// result.
pub fn assemble(
    ids: &[String],
    how: &How,
    around: &Around<'_>,
    catalog: &Catalog,
) -> Result<Assembly, CliError> {
    if let Some(source) = how.source.as_ref().filter(|source| !source.is_dir()) {
        let message = format!("--source {} is not a folder", source.display());
        return Err(CliError::new(Exit::Input, message)
            .help("name the folder that holds ID.zip or ID/ID.zip, as Kaggle serves them"));
    }
    let mut parts = Vec::new();
    let mut refused = Vec::new();
    for id in ids {
        let entry = catalog.get(id)?;
        match part(entry, how, around.loader) {
            Ok(part) => parts.push(part),
            Err(error) => refused.push((id.clone(), error)),
        }
    }
    loop {
        let mut graph = Graph::new();
        let mut members = Vec::new();
        let mut wrong = None;
        for (position, part) in parts.iter().enumerate() {
            match add(&mut graph, part, how, around) {
                Ok(member) => members.push(member),
                Err(error) => {
                    wrong = Some((position, error));
                    break;
                }
            }
        }
        match wrong {
            None => {
                return Ok(Assembly {
                    graph,
                    members,
                    refused,
                });
            }
            // Its first steps are in the graph, so the others get a new one.
            Some((position, error)) => refused.push((parts.remove(position).entry.id, error)),
        }
    }
}

fn part(entry: &Entry, how: &How, loader: &Loader) -> Result<Part, CliError> {
    let pipeline = loader.load(entry, &how.variant)?;
    let published = match &entry.checksums {
        // The published checksums are those of the base.
        Some(text) if !pipeline.variant.differs => {
            let wrong = |error| {
                CliError::new(
                    Exit::Pipeline,
                    format!("checksums.json of `{}`: {error}", entry.id),
                )
            };
            Some(serde_json::from_str::<Checksums>(text).map_err(wrong)?)
        }
        _ => None,
    };
    let (checksums, verification) = match published {
        _ if how.skip_verification => (None, Verification::Skipped),
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

fn add(graph: &mut Graph, part: &Part, how: &How, around: &Around<'_>) -> Result<Member, CliError> {
    let id = &part.entry.id;
    let data_dir = &around.settings.data_dir;
    let folders: Vec<&Path> = how.source.iter().map(PathBuf::as_path).collect();
    let bundle = &part.pipeline.bundle;
    let checked = !how.skip_verification && !how.skip_bundle_verification;
    let md5 = bundle.md5.as_deref().filter(|_| checked);
    let network = around.network.clone();
    let whole = KaggleBundle::new(id, &bundle.kaggle, data_dir, &folders, md5, network);
    let members = Members::new(prep_steps::members(&part.pipeline))?;
    let wanted = how
        .partial
        .then(|| PartOfBundle::new(whole.clone(), members.clone()));
    let source: Box<dyn Source> = match wanted.clone() {
        Some(part) => Box::new(part),
        None => Box::new(whole),
    };
    let path = source.location();
    let surroundings = Surroundings {
        data_dir,
        boot: around.settings.boot.as_deref(),
        session: around.engine,
        checksums: part.checksums.as_ref(),
        description: part.entry.description.as_deref().unwrap_or(""),
        metric: part.metric.clone(),
        variant: &how.variant,
    };
    prep_steps::build(graph, &part.pipeline, source, &surroundings)
        .map_err(|error| CliError::new(Exit::Pipeline, format!("{id}: {error}")))?;
    Ok(Member {
        id: id.clone(),
        kaggle: bundle.kaggle.clone(),
        verification: part.verification,
        bundle: path,
        published_bytes: part.entry.size(),
        members,
        part: wanted,
        without_checksum: without_checksum(part),
    })
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
