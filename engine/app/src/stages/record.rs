//! Eighth stage: after a run, records facts about the prepared data in the cache, the data directory and `prep.lock`.
//! Also renews the time of the record of data that are up to date, which programs such as Make compare.

use std::collections::HashMap;
use std::path::Path;

use prep_cache::Digest;
use prep_core::LastRuns;
use prep_digests::{DataOrigin, LockedDataset, Trees};
use prep_steps::{Expand, Manifest, PathSummary, PreparationRecord};

use super::assemble::Competition;
use super::ended::{Ended, State};
use super::origins::{self, Origin};
use super::{lock, provenance, recorded};
use crate::bundles;
use crate::error::Error;
use crate::grading::comparable::Comparability;
use crate::prepared;

/// Records the origin of complete data. Returns facts about the published data, by competition.
///
/// # Errors
/// Returns an error if a manifest, the history or `prep.lock` cannot be read, or `prep.lock` cannot be written.
pub(super) fn record(ended: &Ended) -> Result<HashMap<String, Published>, Error> {
    let (task, data_dir) = (&ended.task, &ended.task.data_dir());
    let ids: Vec<String> = ended
        .competitions
        .iter()
        .map(|one| one.id.clone())
        .collect();
    let published = prepared::each_manifest(data_dir, &ids, &ended.context, |_, manifest| {
        Some(Published::from_manifest(manifest))
    })?;
    let published = published.into_iter();
    let published: HashMap<String, Published> =
        published.map(|(id, one)| (id.to_owned(), one)).collect();
    // Read again, because the run has changed them.
    let (store, variant) = (&ended.context.store, &task.options.variant);
    let last = prepared::last_runs(store, &task.settings, variant);
    let mut locked = Vec::new();
    for competition in ended.competitions.iter() {
        let state = ended.state_of(&competition.id);
        let published = published.get(&competition.id);
        let published = published.filter(|_| state.is_complete());
        if published.is_some() {
            prep_steps::renew_record(data_dir, &competition.id);
        }
        if let Some((published, trees)) = published.and_then(|one| Some((one, one.trees.as_ref()?)))
        {
            let origins = origins::of_run(ended, competition)?;
            published.note_preparation(data_dir, competition, &origins);
            let facts = origin(ended, competition, published, &origins, &last)?;
            // The lockfile describes outputs with packed archives.
            if competition.options.expand_archives() == Expand::No {
                locked.push((&*competition.id, facts.with_trees(trees)));
            }
        }
        // After the record, because the tree depends on a bundle that nothing records.
        finish_bundle(ended, competition, state);
    }
    if !task.options.locked {
        lock::update(&task.settings.data_dir, variant, &locked)?;
    }
    Ok(published)
}

/// Removes the bundle if bundles are not kept. Records the members of a bundle with the published MD5, for audits.
fn finish_bundle(ended: &Ended, competition: &Competition, state: State) {
    let (settings, options) = (&ended.task.settings, &competition.options);
    // If steps ran, the bundle was already removed when the competition was complete.
    if !options.keep_bundles && state == State::UpToDate {
        prep_fetch::discard(&settings.data_dir, &competition.id);
    }
    if let Some(md5) = &competition.md5
        && state.is_complete()
        && competition.part.is_none()
    {
        bundles::remember(settings, &competition.id, &options.source_dirs(), md5);
    }
}

/// Records the origin of a competition's data. Returns the competition's entry of `prep.lock`.
fn origin(
    ended: &Ended,
    competition: &Competition,
    published: &Published,
    origins: &[Origin],
    last: &LastRuns,
) -> Result<LockedDataset, Error> {
    let bundle = provenance::bundle(competition, origins);
    let origin = provenance::origin(ended, competition, bundle.as_ref(), last)?;
    let origin = published.note(&ended.task.data_dir(), &competition.id, origin);
    let variant = &ended.task.options.variant;
    let comparable = Comparability::of_data(&competition.entry, variant, Some(&origin))?;
    let locked = competition.locked.clone();
    Ok(locked
        .with_bundle(bundle.as_ref())
        .with_comparability(&comparable.obstacles()))
}

/// The facts about a publication that the record and the summary need.
pub(super) struct Published {
    pub files: u64,
    pub bytes: u64,
    /// Digests of a complete publication.
    trees: Option<Trees>,
    key: Digest,
    origin: Option<DataOrigin>,
    preparation: Option<PreparationRecord>,
    pub unpublished: PathSummary,
}

impl Published {
    fn from_manifest(manifest: Manifest) -> Published {
        Published {
            files: manifest.files,
            bytes: manifest.bytes,
            trees: manifest.trees.filter(|_| manifest.complete),
            key: manifest.key,
            origin: manifest.origin,
            preparation: manifest.preparation,
            unpublished: manifest.unpublished,
        }
    }

    /// Records how the tree was prepared.
    fn note_preparation(&self, data_dir: &Path, competition: &Competition, origins: &[Origin]) {
        let record = recorded::record(competition, origins, self.preparation.as_ref());
        if self.preparation.as_ref() != Some(&record) {
            // Errors are ignored. Without a record, the next run needs the bundle and its options again.
            let change = |_| record;
            let key = Some(&self.key);
            let _ = prep_steps::record_preparation(data_dir, &competition.id, key, change);
        }
    }

    /// Merges the origin with the origin that was recorded earlier, and records the result. Returns the merged origin.
    fn note(&self, data_dir: &Path, id: &str, origin: DataOrigin) -> DataOrigin {
        let known = match &self.origin {
            Some(before) => origin.or(before),
            None => origin,
        };
        if self.origin.as_ref() != Some(&known) {
            // Errors are ignored. If the origin cannot be recorded, it is unknown, and scores on the data are not
            // comparable.
            let _ = prep_steps::record_origin(data_dir, id, &self.key, known.clone());
        }
        known
    }
}
