//! Sixth stage: after a run, records facts about the prepared data in the cache, the data directory and `prep.lock`.
//!
//! Also renews the modification time of the manifest of each complete competition, even if nothing changed. Otherwise Make,
//! which compares the times of files, would run `prep` again each time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use prep_cache::Digest;
use prep_core::LastRuns;
use prep_digests::{BundleDigest, BundleStatus, ChecksumStatus, DataOrigin, LockedDataset};
use prep_steps::{Expand, FailedRun, Manifest, PreparationRecord};

use crate::error::Error;
use crate::grading::comparable::Comparability;
use crate::stages::load::{Competition, Verification};
use crate::stages::origins::{Origin, UsedValue};
use crate::stages::run::{CompetitionState, Ended};
use crate::stages::summary::StepFailure;
use crate::stages::{lock, origins, summary};
use crate::{bundles, prepared};

/// The name of this stage in failures.
pub(super) const RECORD_STEP: &str = "record";

/// Errors of this stage by id. They fail only their competitions, because the others are prepared.
pub(super) type RecordErrors = HashMap<String, Error>;

/// Records how each completely prepared competition was prepared, and updates `prep.lock`. Returns the published manifests by
/// id. Adds an error for each competition that cannot be recorded to `errors`.
pub(super) fn record(
    ended: &Ended,
    errors: &mut RecordErrors,
) -> Result<HashMap<String, Manifest>, Error> {
    let (task, competitions) = (&ended.task, &ended.all.competitions);
    // The last runs are read again, because this run has changed them.
    let last = prepared::last_runs(&ended.context.store, &task.settings, &task.options.variant);
    let record = |competition| Ok(record_competition(ended, competition, &last));
    let recorded = ended.context.map_in_order(competitions, 0, record)?;
    let mut published = HashMap::new();
    let mut locked = Vec::new();
    for (competition, recorded) in competitions.iter().zip(recorded) {
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                errors.entry(competition.id.clone()).or_insert(error);
                continue;
            }
        };
        locked.extend(recorded.locked.map(|one| (&*competition.id, one)));
        published.extend(recorded.published.map(|one| (competition.id.clone(), one)));
    }
    if !task.options.locked
        && let Err(error) = lock::update(&task.settings.data_dir, &task.options.variant, &locked)
    {
        for (id, _) in &locked {
            let errors = errors.entry((*id).to_owned());
            errors.or_insert_with(|| error.clone());
        }
    }
    for competition in competitions {
        if let Some(error) = errors.get(&competition.id) {
            // Ignores an error, because the summary shows the first error.
            let _ = note_failure(ended, competition, Some(error));
        }
    }
    Ok(published)
}

/// The manifest of a competition, and its new entry of `prep.lock`. Each is `None` if it does not exist.
struct Recorded {
    published: Option<Manifest>,
    locked: Option<LockedDataset>,
}

fn record_competition(
    ended: &Ended,
    competition: &Competition,
    last: &LastRuns,
) -> Result<Recorded, Error> {
    let data_dir = &ended.task.data_dir();
    let state = ended.state_of(&competition.id);
    // Planning reports a manifest that cannot be read. The results of this run are recorded only if no other process has
    // published other results in the meantime.
    let published = Manifest::read(data_dir, &competition.id).ok().flatten();
    let key = ended.published_key(&competition.id);
    let own = published.as_ref().filter(|one| key == Some(one.key));
    let mut locked = None;
    if let Some(published) = own.filter(|_| state.is_complete()) {
        prep_steps::renew_record(data_dir, &competition.id);
        FailedRun::remove(data_dir, &competition.id);
        if let (true, Some(trees)) = (published.complete, &published.trees) {
            let origins = origins_of_run(ended, competition)?;
            note_preparation(published, data_dir, competition, &origins);
            let facts = lock_entry(ended, competition, published, &origins, last)?;
            // `prep.lock` contains the digests of outputs whose archives are not unpacked.
            let is_locked = competition.options.expand_archives() == Expand::No;
            locked = is_locked.then(|| facts.with_trees(trees));
        }
    }
    if !state.is_complete() {
        note_failure(ended, competition, None)?;
    }
    // Deletes the bundle only after recording, because without a record the next run needs the bundle again.
    finish_bundle(ended, competition, state);
    Ok(Recorded { published, locked })
}

/// Deletes the bundle if bundles are not kept. If the bundle has its published MD5, also records which files the bundle
/// contains, for later audits.
fn finish_bundle(ended: &Ended, competition: &Competition, state: CompetitionState) {
    let (settings, options) = (&ended.task.settings, &competition.options);
    // If steps ran, the bundle was removed when the competition was published.
    if !options.keep_bundles && state == CompetitionState::UpToDate {
        prep_fetch::discard(&settings.data_dir, &competition.id);
    }
    if let Some(md5) = competition.expected_md5()
        && state.is_complete()
        && competition.part.is_none()
    {
        bundles::remember(settings, &competition.id, &options.source_dirs(), md5);
    }
}

/// Records the origin of a competition's data. Returns the competition's entry of `prep.lock`.
fn lock_entry(
    ended: &Ended,
    competition: &Competition,
    published: &Manifest,
    origins: &[Origin],
    last: &LastRuns,
) -> Result<LockedDataset, Error> {
    let bundle = bundle_digest(competition, origins);
    let origin = origin(ended, competition, bundle.as_ref(), last)?;
    let origin = note_origin(published, &ended.task.data_dir(), &competition.id, origin);
    let variant = &ended.task.options.variant;
    let comparable = Comparability::of_data(&competition.entry, variant, Some(&origin))?;
    let locked = competition.locked.clone();
    Ok(locked
        .with_bundle(bundle.as_ref())
        .with_comparability(&comparable.obstacles()))
}

fn note_preparation(
    published: &Manifest,
    data_dir: &Path,
    competition: &Competition,
    origins: &[Origin],
) {
    let before = published.preparation.as_ref();
    let record = origins::record(competition, origins, before);
    if before != Some(&record) {
        // Errors are ignored. Without a record, the next run needs the bundle and the user's options again.
        let change = |_| record;
        let _ = prep_steps::record_preparation(data_dir, &competition.id, &published.key, change);
    }
}

/// Records that a competition failed or was stopped. Records nothing if the run left out the competition. Also records
/// nothing if no bundle was found and no step ran, unless the run was stopped, or if another process has published the
/// competition since this run began. Ignores errors of writing. `error` is the
/// error of this stage, if any.
fn note_failure(
    ended: &Ended,
    competition: &Competition,
    error: Option<&Error>,
) -> Result<(), Error> {
    let id = &competition.id;
    let failures = summary::failures(ended, id);
    let of_stage = error.map(|error| format!("{RECORD_STEP}: {}", error.message));
    let is_left_out = |step: &StepFailure| {
        let name = step.step.as_deref();
        name.is_some_and(|name| ended.watch.is_optional(id, name))
    };
    let has_started = competition.bundle.is_some() || ended.run_and_reused(id).0 > 0;
    // The next run continues a stopped run, so it needs the options for all competitions.
    if !(has_started || ended.is_interrupted()) || failures.iter().any(is_left_out) {
        return Ok(());
    }
    let published = Manifest::read(&ended.task.data_dir(), id).ok().flatten();
    let preparation = published.and_then(|one| one.preparation);
    if ended.published_key(id).is_none() && preparation.is_some_and(|one| one.at > ended.began) {
        return Ok(());
    }
    let record = origins::record(competition, &origins_of_run(ended, competition)?, None);
    let run = FailedRun {
        message: failures.first().map(StepFailure::line).or(of_stage),
        preparation: PreparationRecord {
            compared_at: None,
            ..record
        },
    };
    let _ = run.write(&ended.task.data_dir(), &competition.id);
    Ok(())
}

/// Records and returns `origin`, or the origin that an earlier run recorded (see [`DataOrigin::or`]).
fn note_origin(published: &Manifest, data_dir: &Path, id: &str, origin: DataOrigin) -> DataOrigin {
    let known = match &published.origin {
        Some(before) => origin.or(before),
        None => origin,
    };
    if published.origin.as_ref() != Some(&known) {
        // Errors are ignored. If the origin is not recorded, scores on the data are not comparable.
        let _ = prep_steps::record_origin(data_dir, id, &published.key, known.clone());
    }
    known
}

/// Returns the digest of the bundle from which the data were prepared, if it is known.
fn bundle_digest(competition: &Competition, origins: &[Origin]) -> Option<BundleDigest> {
    let origin = origins.iter().find(|origin| origin.is_bundle())?;
    let digest = &origin.record.digest;
    if origin.name.is_none() {
        return Some(blake3(digest, BundleStatus::Part));
    }
    let Some(md5) = origin.record.md5.clone() else {
        return Some(blake3(digest, BundleStatus::NotVerified));
    };
    let declared = competition.pipeline.bundle.as_ref();
    let status = match declared.and_then(|bundle| bundle.md5.as_deref()) {
        Some(published) if published.eq_ignore_ascii_case(&md5) => BundleStatus::Verified,
        Some(_) => BundleStatus::Differs,
        None => BundleStatus::NotVerified,
    };
    Some(BundleDigest {
        algorithm: "md5",
        digest: md5,
        status,
    })
}

fn blake3(digest: &Digest, status: BundleStatus) -> BundleDigest {
    BundleDigest {
        algorithm: "blake3",
        digest: digest.to_string(),
        status,
    }
}

/// Returns the origin of the data: whether a built-in pipeline prepared them, and whether they match their published
/// checksums.
///
/// The data must be complete. `last` contains the last run of each step, including the run that has just ended.
fn origin(
    ended: &Ended,
    competition: &Competition,
    bundle: Option<&BundleDigest>,
    last: &LastRuns,
) -> Result<DataOrigin, Error> {
    let checksums = match competition.verification {
        // If checksums had not matched, the data would not be complete.
        Verification::Checked => ChecksumStatus::Passed,
        Verification::Skipped => match known_to_differ(ended, competition, last)? {
            outputs if outputs.is_empty() => ChecksumStatus::Skipped,
            outputs => ChecksumStatus::Differ { outputs },
        },
        Verification::NotPublished => {
            let is_verified = bundle.is_some_and(|one| one.status == BundleStatus::Verified);
            let declared = competition.pipeline.bundle.as_ref();
            match is_verified || declared.is_none_or(|bundle| bundle.md5.is_none()) {
                true => ChecksumStatus::NotPublished,
                false => ChecksumStatus::Skipped,
            }
        }
    };
    // A user may replace the leaderboard of a built-in competition, because the data do not depend on it.
    let own = competition.entry.own_files();
    let is_built_in = own.is_some_and(|files| files.iter().all(|file| *file == "leaderboard.csv"));
    Ok(DataOrigin {
        is_built_in,
        checksums,
    })
}

/// Returns the outputs that failed the last comparison with their published checksum and have not changed since.
fn known_to_differ(
    ended: &Ended,
    competition: &Competition,
    last: &LastRuns,
) -> Result<Vec<String>, Error> {
    let sums = competition.entry.published_checksums().ok().flatten();
    let sums = sums.unwrap_or_default();
    let last = last.failed(&competition.id)?;
    let outputs = ended.all.nodes_of(&competition.id).iter();
    let outputs = outputs.filter_map(|node| ended.report.outputs.get(node));
    let made: HashSet<&Digest> = outputs.flat_map(BTreeMap::values).collect();
    let differ = last.iter().filter_map(|(name, last)| {
        let output = name.strip_prefix("checksum/")?;
        let md5 = last.record.params.get("md5")?.as_str()?;
        let is_same = last
            .record
            .inputs
            .values()
            .all(|input| made.contains(input));
        let is_published = sums.of_output(output) == Some(md5);
        (is_same && is_published).then(|| output.to_owned())
    });
    Ok(differ.collect())
}

/// Returns the files that the steps of a competition used in a run.
pub(super) fn origins_of_run(
    ended: &Ended,
    competition: &Competition,
) -> Result<Vec<Origin>, Error> {
    let (report, store) = (&ended.report, &ended.context.store);
    let value = |id| {
        let outputs = report.outputs.get(&id);
        outputs.map_or(UsedValue::NotUsed, UsedValue::of_outputs)
    };
    origins::origins(&ended.all, competition, store, value)
}

/// Records in the cache and the remote from which source files this run computed its results. Returns the errors.
pub(super) fn confirm(ended: &Ended) -> RecordErrors {
    let competitions = ended.all.competitions.iter();
    let prepared = competitions
        .filter(|competition| ended.state_of(&competition.id) == CompetitionState::Prepared);
    let failed = prepared.filter_map(|competition| {
        let error = confirm_competition(ended, competition).err()?;
        Some((competition.id.clone(), error))
    });
    failed.collect()
}

fn confirm_competition(ended: &Ended, competition: &Competition) -> Result<(), Error> {
    let link = ended.task.settings.remote.as_ref();
    for origin in origins_of_run(ended, competition)? {
        let Some(name) = &origin.name else { continue };
        ended.context.store.confirm_source(name, &origin.record)?;
        if let Some(link) = link.filter(|link| link.remote().is_writable()) {
            link.offer_source(name, &origin.record.content());
        }
    }
    Ok(())
}
