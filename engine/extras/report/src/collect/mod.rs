//! Collects the content of the page from the data directory, the cache and grading reports.

mod graded;
mod images;
mod labels;
mod tables;

use prep_app::{
    Comparability, Error, FailedRun, Plan, PreparedData, PreparedState, Runs, Task, reasons,
};
use prep_cache::{Digest, Store};
use prep_grade::report::medals::Leaderboard;
use prep_spec::{BASE_VARIANT, CompetitionFacts, Pipeline, variant_directory};
use prep_steps::Manifest;

use crate::graph::Drawing;

pub use graded::{Experiments, SubmissionScore};
pub use images::{ImageSize, Images};
pub use labels::{LabelChart, Shares, Spread, bin_of};
pub use tables::{FileSample, MissingCells, OutputComparison, OutputFile};

/// Maximum size of all thumbnails in bytes, which keeps a page of all competitions below 10 MB.
const MAX_THUMBNAIL_BYTES: usize = 3_000_000;

pub struct ReportSubject<'a> {
    /// Competitions, in the order of the page.
    pub ids: &'a [String],
    /// `None` for all prepared variants.
    pub variant: Option<&'a str>,
    pub graded: &'a [GradedExperiment],
}

#[derive(Debug, Clone)]
pub struct GradedExperiment {
    pub name: String,
    /// Sorted by time.
    pub runs: prep_experiments::Runs,
}

pub struct PageContent {
    /// Time at which the report was created.
    pub now: String,
    pub competitions: Vec<CompetitionPage>,
    pub experiments: Experiments,
    /// Number of graded submissions whose competition or variant the page does not show.
    pub left_out: usize,
}

pub struct CompetitionPage {
    pub id: String,
    pub name: String,
    pub category: String,
    /// Sets of the benchmark that contain the competition.
    pub sets: Vec<String>,
    pub dates: Option<String>,
    pub state: PreparedState,
    pub comparability: Option<Comparability>,
    /// Reason why the pipeline cannot be used.
    pub problem: Option<String>,
    /// How the last run ended, if it failed or was stopped.
    pub failed: Option<String>,
    pub variant: String,
    pub bundle_md5: Option<String>,
    /// In seconds since 1970.
    pub prepared_at: Option<i64>,
    pub files: Vec<OutputFile>,
    pub steps: Vec<StepRow>,
    pub drawing: Option<Drawing>,
    pub contents: FileContents,
    pub leaderboard: Option<Leaderboard>,
    pub scores: Vec<SubmissionScore>,
}

impl CompetitionPage {
    pub fn file_count(&self) -> u64 {
        self.files.iter().map(|file| file.output.files).sum()
    }

    pub fn is_other_variant(&self) -> bool {
        self.variant != BASE_VARIANT
    }

    pub fn anchor(&self) -> String {
        match self.is_other_variant() {
            true => format!("{}-{}", self.id, variant_directory(&self.variant)),
            false => self.id.clone(),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.output.bytes).sum()
    }
}

/// Collects the content of the page. Calls `progress` with the position and the id of each competition before reading it.
pub fn collect(
    task: &Task,
    wanted: &ReportSubject<'_>,
    mut progress: impl FnMut(usize, &str),
) -> Result<PageContent, Error> {
    let store = Store::open_or_empty(&task.settings.store_dir)?;
    let mut chosen = Vec::new();
    for (place, id) in wanted.ids.iter().enumerate() {
        let variants = variants(task, wanted, id);
        chosen.extend(variants.into_iter().map(|variant| (place, id, variant)));
    }
    let bytes_each = MAX_THUMBNAIL_BYTES / chosen.len().max(1);
    let competitions = chosen.iter().map(|(place, id, variant)| {
        progress(*place, id);
        let mut task = task.clone();
        variant.clone_into(&mut task.options.variant);
        competition(&task, &store, wanted.graded, id, bytes_each)
    });
    let competitions: Vec<CompetitionPage> = competitions.collect::<Result<_, _>>()?;
    let graded: usize = wanted.graded.iter().map(|one| one.runs.graded.len()).sum();
    let shown: usize = competitions.iter().map(|one| one.scores.len()).sum();
    Ok(PageContent {
        now: jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string(),
        experiments: graded::experiments(wanted.graded, &competitions),
        competitions,
        left_out: graded.saturating_sub(shown),
    })
}

/// Returns the variants of a competition that the page shows: all prepared ones, or the base if none is prepared.
fn variants(task: &Task, wanted: &ReportSubject<'_>, id: &str) -> Vec<String> {
    if let Some(variant) = wanted.variant {
        return vec![variant.to_owned()];
    }
    let mut variants = Vec::new();
    for variant in task.settings.variants() {
        let data_dir = task.settings.data_dir_of(&variant);
        let manifest = prep_app::manifest(&data_dir, id).ok().flatten();
        if manifest.is_some_and(|manifest| manifest.variant == variant) {
            variants.push(variant);
        }
    }
    if variants.is_empty() {
        variants.push(BASE_VARIANT.to_owned());
    }
    variants
}

fn competition(
    task: &Task,
    store: &Store,
    graded: &[GradedExperiment],
    id: &str,
    thumbnails: usize,
) -> Result<CompetitionPage, Error> {
    let entry = task.catalog.get(id)?;
    let data_dir = task.settings.data_dir_of(&task.options.variant);
    let manifest = prep_app::manifest(&data_dir, id);
    let unreadable = manifest.as_ref().err().map(|error| error.message.clone());
    let manifest = manifest.ok().flatten();
    let prepared = prep_app::prepared_dir(&data_dir, id);
    let state = PreparedData::new(manifest.as_ref(), &data_dir, &task.settings)?.state;
    let variant = match &manifest {
        Some(manifest) => manifest.variant.clone(),
        None => task.options.variant.clone(),
    };
    let (pipeline, mut problem) = match entry.load(&variant) {
        Ok(pipeline) => (Some(pipeline), unreadable),
        Err(error) => (None, Some(error.message)),
    };
    let mut plan = match pipeline {
        Some(_) => Some(plan(task, id, &variant)?),
        None => None,
    };
    if let Some((_, error)) = plan.as_mut().and_then(|plan| plan.refused.pop()) {
        problem = Some(error.message);
        plan = None;
    }
    let preparation = manifest.as_ref().and_then(|one| one.preparation.as_ref());
    let prepared_at = preparation.and_then(|one| i64::try_from(one.at).ok());
    let contents = match (&manifest, &pipeline) {
        (Some(manifest), Some(pipeline)) if state.is_complete() => {
            FileContents::read(&prepared, manifest, pipeline, thumbnails)
        }
        _ => FileContents::default(),
    };
    let drawing = match &plan {
        Some(plan) => Some(Drawing::new(&plan.all.graph, &plan.all.graph.order()?)),
        None => None,
    };
    let leaderboard = prep_app::leaderboard(entry).ok();
    Ok(CompetitionPage {
        id: id.to_owned(),
        name: pipeline.as_ref().map_or(id, |one| &one.name).to_owned(),
        category: pipeline.as_ref().map_or("", |one| &one.category).to_owned(),
        sets: match &entry.pack {
            Some(_) => Vec::new(),
            None => entry
                .sets()
                .into_iter()
                .filter(|set| !["all", "scored"].contains(&set.as_str()))
                .collect(),
        },
        dates: dates(&entry.dates()),
        state,
        comparability: manifest
            .as_ref()
            .and_then(|manifest| Comparability::of_prepared(entry, manifest).ok()),
        problem,
        failed: FailedRun::read(&data_dir, id).map(|run| run.to_string()),
        bundle_md5: pipeline
            .as_ref()
            .and_then(|one| one.bundle.as_ref()?.md5.clone()),
        files: match &manifest {
            Some(manifest) => tables::files(manifest, pipeline.as_ref(), entry),
            None => Vec::new(),
        },
        steps: match &plan {
            Some(plan) => steps(plan, id, store, prepared_at)?,
            None => Vec::new(),
        },
        prepared_at,
        drawing,
        contents,
        scores: graded::scores(graded, id, &variant, leaderboard.as_ref()),
        leaderboard,
        variant,
    })
}

/// Describes when a competition took place, for comparing this time with the training cut-off of a model.
fn dates(facts: &CompetitionFacts) -> Option<String> {
    match (&facts.launched, &facts.closed) {
        (Some(launched), Some(closed)) => Some(format!("{launched} to {closed}")),
        (Some(launched), None) => Some(format!("launched {launched}")),
        (None, closed) => closed.as_ref().map(|closed| format!("closed {closed}")),
    }
}

/// The parts of prepared files that the page shows. The tables that they come from are dropped, because these need more
/// memory.
#[derive(Default)]
pub struct FileContents {
    pub missing: MissingCells,
    pub samples: Vec<FileSample>,
    pub labels: Vec<LabelChart>,
    pub images: Images,
}

impl FileContents {
    fn read(
        prepared: &std::path::Path,
        manifest: &Manifest,
        pipeline: &Pipeline,
        thumbnails: usize,
    ) -> FileContents {
        let tables = tables::tables(prepared, manifest);
        FileContents {
            missing: MissingCells::of(&tables),
            samples: tables::samples(prepared, manifest, &tables),
            labels: labels::labels(prepared, pipeline, &tables),
            images: images::images(&prepared.join("public"), thumbnails),
        }
    }
}

fn plan(task: &Task, id: &str, variant: &str) -> Result<Plan, Error> {
    let mut task = task.clone();
    variant.clone_into(&mut task.options.variant);
    Plan::preview(&task, &[id.to_owned()])
}

#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    pub name: String,
    pub kind: &'static str,
    /// Time at which the step's result was computed, in seconds since 1970. `None` if the result is not in the cache. For
    /// the step that publishes the outputs, this is the time of the last publication.
    pub when: Option<i64>,
    pub millis: Option<u64>,
    /// Reason why the step last ran. `None` if no run is recorded.
    pub why: Option<String>,
    /// Reason why the step would run now. `None` if the step is up to date, or runs only if an earlier result changes.
    pub now: Option<String>,
}

/// Returns the steps of a competition with their last runs. `at` is the time of the last publication, in seconds since 1970.
pub fn steps(plan: &Plan, id: &str, store: &Store, at: Option<i64>) -> Result<Vec<StepRow>, Error> {
    let history = plan.history(id)?;
    let last = plan.last_runs(id)?;
    let planned = plan.steps(id)?.into_iter();
    let steps = planned.map(|step| {
        let recorded = history.steps.get(&step.step);
        let made = recorded.and_then(|recorded| creation(store, &recorded.key));
        let when = made.map(|(when, _)| when);
        let why = last.get(&step.step);
        let why = why.map(|last| match &last.reason {
            Some(reason) => reasons::short(reason),
            None => "its result was found in the cache or the remote".to_owned(),
        });
        let now = match (step.runs, &step.reason) {
            (Runs::No | Runs::Maybe, _) | (_, None) => None,
            (Runs::Yes, Some(reason)) => Some(reasons::short(reason)),
        };
        StepRow {
            kind: step.kind,
            // The publication has no result in the cache.
            when: when.or(at.filter(|_| step.kind == prep_app::PUBLISH_STEP)),
            millis: made.map(|(_, millis)| millis),
            why,
            now,
            name: step.step,
        }
    });
    Ok(steps.collect())
}

/// Returns when a result was computed, in seconds since 1970, and how many milliseconds that took.
fn creation(store: &Store, key: &Digest) -> Option<(i64, u64)> {
    // If an entry cannot be read, the next run computes the result again.
    let entry = store.lookup_result(key).ok().flatten()?;
    Some((i64::try_from(entry.created).ok()?, entry.millis))
}
