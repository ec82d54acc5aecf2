//! Checks the competitions of a pack: prepares each one twice, with different memory and threads, and compares the results.
//!
//! The competitions are prepared in scratch directories, so neither the data directory nor the cache changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_core::{Cancel, Failure, NullReporter};
use prep_digests::DatasetDigests;
use prep_fetch::bundle_stem;
use prep_leaks::{LeakLevel, LeakReport};
use prep_remote::{SigningKey, TrustedSigner};
use prep_sql::PUBLISHED;
use prep_steps::{Manifest, RememberedOptions};
use serde::Serialize;

use super::lock::{LOCK_FILE, LockComparison, PackLock};
use super::{installed_packs, no_pack};
use crate::catalog::CatalogEntry;
use crate::check::warnings;
use crate::error::Error;
use crate::inspect::audit::leaks;
use crate::inspect::rerun::{MEMORY_DIVISOR, different_jobs, scratch};
use crate::settings::Settings;
use crate::stages::assemble::further_sources;
use crate::stages::contents::StatedContents;
use crate::stages::load::Loader;
use crate::stages::run::Run;
use crate::task::{PreparationOptions, Task};
use crate::{bundles, digests, prepared};

/// Names under `accepted` that describe upstream's script instead of a leak.
pub const NOT_REPRODUCIBLE: &str = "not-reproducible";
pub const SILENT_FAILURE: &str = "silent-failure";

/// The result of checking one competition. A part is `None` if it could not be checked.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PackCheck {
    pub id: String,
    pub variant: String,
    /// The mistakes in the pipeline. `None` if there are no mistakes.
    pub mistake: Option<String>,
    /// The warnings that `pipeline check` and a run of the competition show.
    pub warnings: Vec<String>,
    /// Whether one of the warnings is about a public output that reveals the answers.
    #[serde(skip)]
    pub publishes_answers: bool,
    /// `None` if the bundle is not on this machine, or if the competition has none.
    pub bundle: Option<PathBuf>,
    /// Why the preparation failed. `None` if the competition was prepared. Also `None` if no preparation was attempted,
    /// because the bundle is missing or the pipeline has mistakes.
    pub failure: Option<String>,
    /// Whether both preparations gave the same digests.
    pub is_reproducible: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    pub leaks: Option<LeakReport>,
    pub is_sample_valid: Option<bool>,
    pub lock: Option<LockComparison>,
    /// The reasons in the section `accepted` of the pipeline.
    pub accepted: BTreeMap<String, String>,
    pub digests: Option<DatasetDigests>,
}

impl PackCheck {
    /// Returns the kind of failure, if the check found one. A missing bundle is not a failure.
    pub fn failure(&self) -> Option<Failure> {
        let worst_leak = self.leaks.as_ref().and_then(LeakReport::worst);
        let has_wrong_result = self.is_reproducible == Some(false)
            || self.is_sample_valid == Some(false)
            || self.publishes_answers
            || worst_leak >= Some(LeakLevel::Risk)
            || self
                .lock
                .as_ref()
                .is_some_and(|lock| lock.is_equal == Some(false));
        match (&self.mistake, &self.failure) {
            (Some(_), _) => Some(Failure::Pipeline),
            (_, Some(_)) => Some(Failure::Input),
            _ => has_wrong_result.then_some(Failure::Check),
        }
    }
}

/// The inputs for checking the competitions of a pack.
pub struct PackChecks<'a> {
    /// The task of a run. Its options name the variant and the directory with bundles.
    pub task: &'a Task,
    /// The name of the pack.
    pub pack: &'a str,
    /// The keys with which a trusted `pack.lock` is signed.
    pub trusted: &'a [TrustedSigner],
    /// The place from which the pack was added temporarily. Messages name it instead of the temporary directory.
    pub origin: Option<&'a str>,
}

impl PackChecks<'_> {
    /// Returns the ids of all competitions of the pack.
    ///
    /// # Errors
    /// Returns an error if the pack is not installed, or damaged.
    pub fn competitions(&self) -> Result<Vec<String>, Error> {
        self.lock_file()?;
        self.task.catalog.set(self.pack)
    }

    /// Checks competitions, and calls `done` with each result.
    ///
    /// # Errors
    /// Returns an error if the pack or the directory of bundles does not exist, the pack's `pack.lock` is damaged, a write
    /// fails, or `cancel` is set.
    pub fn run(
        &self,
        ids: &[String],
        cancel: &Cancel,
        done: &mut dyn FnMut(&PackCheck),
    ) -> Result<Vec<PackCheck>, Error> {
        self.task.options.require_source()?;
        let lock_file = self.lock_file()?;
        let directory = lock_file.parent().unwrap_or(&lock_file);
        let directory = directory.display().to_string();
        let lock = PackLock::read(&lock_file, self.pack)?;
        let parent = self.task.settings.temp_dir();
        fs::create_dir_all(&parent).map_err(|error| Error::writing("create", &parent, &error))?;
        let mut all = Vec::new();
        for id in ids {
            cancel.check()?;
            let entry = self.task.catalog.get(id)?;
            let mut check = PackCheck {
                id: id.clone(),
                variant: self.task.options.variant.clone(),
                ..PackCheck::default()
            };
            let (scratch, _lock) = scratch(&parent, "pack-")?;
            if let Err(error) = self.prepare(entry, scratch.path(), cancel, &mut check) {
                check.failure = Some(error.message);
            }
            // If the run was cancelled, its failure shows nothing about the competition.
            cancel.check()?;
            if let Some(origin) = self.origin {
                let texts = [&mut check.mistake, &mut check.failure]
                    .into_iter()
                    .flatten();
                for text in texts.chain(&mut check.warnings) {
                    *text = text.replace(&directory, origin);
                }
            }
            let digests = check.digests.as_ref();
            check.lock = digests.map(|facts| lock.compare(id, facts, self.trusted));
            done(&check);
            all.push(check);
        }
        Ok(all)
    }

    /// Compares the results of checks with `file`, a `pack.lock`.
    ///
    /// # Errors
    /// Returns an error if `file` cannot be read.
    pub fn compare(&self, file: &Path, checks: &mut [PackCheck]) -> Result<(), Error> {
        let lock = PackLock::read(file, self.pack)?;
        for check in checks {
            let digests = check.digests.as_ref();
            check.lock = digests.map(|facts| lock.compare(&check.id, facts, self.trusted));
        }
        Ok(())
    }

    /// Returns the new text of `file`, a `pack.lock`, with the digests of the competitions that `checks` found reproducible.
    ///
    /// Copies the digests of other competitions from the old text of `file`, or from the installed `pack.lock` if `file` does
    /// not exist.
    ///
    /// # Errors
    /// Returns an error if the existing `pack.lock` is damaged.
    pub fn lock_text(
        &self,
        file: &Path,
        checks: &[PackCheck],
        key: Option<&SigningKey>,
    ) -> Result<String, Error> {
        let found = checks
            .iter()
            .filter(|check| check.is_reproducible == Some(true));
        let found = found
            .filter_map(|check| Some((bundle_stem(&check.id).to_owned(), check.digests.clone()?)));
        let lock = match file.exists() {
            true => PackLock::read(file, self.pack)?,
            false => PackLock::read(&self.lock_file()?, self.pack)?,
        };
        Ok(lock.text_with(self.pack, &found.collect(), key))
    }

    /// Returns the path of the `pack.lock` of the installed pack.
    fn lock_file(&self) -> Result<PathBuf, Error> {
        let packs = installed_packs(&self.task.settings)?;
        let found = packs.iter().find(|pack| pack.name == self.pack);
        let found = found.ok_or_else(|| no_pack(self.pack, &packs))?;
        Ok(found.directory.join(LOCK_FILE))
    }

    /// Checks the pipeline, and everything else if the bundle is on this machine.
    fn prepare(
        &self,
        entry: &CatalogEntry,
        scratch: &Path,
        cancel: &Cancel,
        check: &mut PackCheck,
    ) -> Result<(), Error> {
        let (task, id) = (self.task, &entry.id);
        check.bundle = bundles::path(&task.settings, id, &task.options.source_dirs());
        let pipeline = match Loader::without_notes().load(entry, &task.options.variant) {
            Ok(pipeline) => pipeline,
            Err(error) => {
                check.mistake = Some(error.to_string());
                return Ok(());
            }
        };
        let directory = entry.directory.as_deref().unwrap_or(Path::new(""));
        let warnings = warnings(&pipeline, directory);
        for warning in warnings.iter().flatten() {
            check.publishes_answers |= warning.code == PUBLISHED;
            let (line, _) = pipeline.source.position(warning.span.start);
            let (file, message, code) = (&pipeline.source.name, &warning.message, warning.code);
            let help = warning.help.iter().map(|help| format!("; {help}"));
            let help: String = help.collect();
            check
                .warnings
                .push(format!("{file}:{line}: {message} [{code}]{help}"));
        }
        let accepted = pipeline.accepted.iter();
        check.accepted = accepted
            .map(|(name, why)| (name.value.clone(), why.clone()))
            .collect();
        if check.bundle.is_none() && pipeline.bundle.is_some() {
            return Ok(());
        }
        let bundle = check.bundle.iter();
        let bundle = bundle.map(|path| (format!("{}.zip", bundle_stem(id)), path.clone()));
        let mut links: Vec<(String, PathBuf)> = bundle.collect();
        let (_, further) = further_sources(entry, &pipeline, task, &mut StatedContents::default())?;
        let further = further.into_iter();
        let further = further.filter_map(|one| Some((format!("sources/{}", one.file?), one.path?)));
        links.extend(further);
        let settings = &task.settings;
        let limits = [
            (settings.jobs, settings.memory),
            (
                different_jobs(settings.jobs),
                settings.memory / MEMORY_DIVISOR,
            ),
        ];
        let mut found = Vec::new();
        for (number, (jobs, memory)) in limits.into_iter().enumerate() {
            let home = scratch.join(number.to_string());
            let run = Task {
                settings: Settings {
                    data_dir: home.join("data"),
                    store_dir: home.join("cache"),
                    jobs,
                    memory,
                    remote: None,
                    ..settings.clone()
                },
                options: PreparationOptions {
                    variant: task.options.variant.clone(),
                    download: false,
                    remembered: RememberedOptions {
                        verify: task.options.remembered.verify,
                        ..RememberedOptions::default()
                    },
                    ..PreparationOptions::default()
                },
                ..task.clone()
            };
            for (name, path) in &links {
                link(path, &run.settings.data_dir.join(id).join(name))?;
            }
            match prepare_once(&run, id, cancel, check)? {
                Some(data) => found.push((data, run)),
                None => return Ok(()),
            }
        }
        let [
            ((digests, manifest), run),
            ((digests_again, manifest_again), _),
        ] = &found[..]
        else {
            return Ok(());
        };
        check.differences = differences(manifest, manifest_again);
        check.is_reproducible = Some(digests.digest() == digests_again.digest());
        check.digests = Some(digests.clone());
        check.leaks = Some(leaks(
            &run.catalog,
            &run.settings,
            &run.options.variant,
            id,
            Some(&run.settings.data_dir),
        )?);
        Ok(())
    }
}

/// Creates `link`, a link to `path`.
fn link(path: &Path, link: &Path) -> Result<(), Error> {
    let created = fs::create_dir_all(link.parent().unwrap_or(link));
    let created = created.and_then(|()| symlink(std::path::absolute(path)?, link));
    created.map_err(|error| Error::writing("create the link", link, &error))
}

/// The digests of prepared data, and the record of their publication.
type Prepared = (DatasetDigests, Manifest);

/// Prepares a competition. Returns `None` if that fails, with the reason in `check`.
fn prepare_once(
    task: &Task,
    id: &str,
    cancel: &Cancel,
    check: &mut PackCheck,
) -> Result<Option<Prepared>, Error> {
    let run = Run::begin(task, &[id.to_owned()], cancel, &|_| {})?;
    let preparation = run.execute(Arc::new(NullReporter))?;
    let refused = preparation
        .refused
        .into_iter()
        .map(|(_, error)| error.message);
    let summary = preparation.summaries.into_iter().next().unwrap_or_default();
    let failures = summary
        .failures
        .into_iter()
        .map(|failure| match failure.step {
            Some(step) => format!("{step}: {}", failure.message),
            None => failure.message,
        });
    if let Some(failure) = failures.chain(refused).next() {
        // The trial is the step that grades the sample submission.
        check.is_sample_valid = failure.starts_with(prep_steps::TRIAL_STEP).then_some(false);
        check.failure = Some(failure);
        return Ok(None);
    }
    let trial = summary.trial.unwrap_or_default();
    check.is_sample_valid = trial["sample"]["valid"].as_bool();
    for warning in trial["warnings"].as_array().into_iter().flatten() {
        let warning = warning.as_str().unwrap_or_default().to_owned();
        if !check.warnings.contains(&warning) {
            check.warnings.push(warning);
        }
    }
    let settings = task.settings.of_variant(&task.options.variant);
    let (facts, _) = digests::facts(&task.catalog, &settings, id)?;
    let manifest = prepared::manifest(&settings.data_dir, id)?;
    Ok(manifest.map(|manifest| (facts, manifest)))
}

/// Returns the paths of the outputs that differ between two preparations.
fn differences(one: &Manifest, other: &Manifest) -> Vec<String> {
    let of = |manifest: &Manifest| -> BTreeMap<String, _> {
        let outputs = manifest.outputs.iter();
        outputs
            .map(|output| (output.path.clone(), (output.digest, output.bytes)))
            .collect()
    };
    let (one, other) = (of(one), of(other));
    let paths = one
        .keys()
        .chain(other.keys().filter(|path| !one.contains_key(*path)));
    paths
        .filter(|path| one.get(*path) != other.get(*path))
        .cloned()
        .collect()
}
