//! Fourth stage: computes the sizes of downloads before they begin, and checks that there is enough disk space.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use prep_core::{Action, Cancel, Failure, NodeError, Reason, Remedy, chain, units};
use prep_fetch::{FetchError, Network};
use serde::Serialize;

use crate::bundles::Note;
use crate::error::Error;
use crate::prepared;
use crate::reasons::StatedReason;
use crate::stages::load::{Competition, FurtherSource};
use crate::stages::resolve::{Plan, require_credentials};
use crate::task::Task;
use crate::writable::require_writable;

/// A missing bundle, or the missing file of a further source.
#[derive(Clone, Copy)]
pub struct MissingInput<'p> {
    pub competition: &'p Competition,
    /// The further source. `None` for the bundle.
    pub source: Option<&'p FurtherSource>,
}

impl MissingInput<'_> {
    /// Returns the id of the competition and the name of the source.
    pub fn key(&self) -> (String, Option<String>) {
        let source = self.source.map(|source| source.name.clone());
        (self.competition.id.clone(), source)
    }

    /// Returns the published length in bytes.
    pub fn published_bytes(&self) -> Option<u64> {
        match self.source {
            None => self.competition.entry.size(),
            Some(source) => source.published_bytes,
        }
    }
}

/// The size of a download of a bundle, or of the file of a further source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Download {
    /// Bytes of the entire file.
    pub bytes: Option<u64>,
    /// Bytes of a partial download, which has only the members that the pipeline reads.
    pub partial_bytes: Option<u64>,
    /// Whether the size is the published one, because the server was not queried or did not answer.
    pub estimated: bool,
    /// The reason why the file cannot be downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<StatedReason>,
    /// The kind of the error, if a run must fail because of it.
    #[serde(skip)]
    pub failure: Option<Failure>,
}

impl Download {
    /// Returns the number of bytes to download, if it is known.
    pub fn moves(&self, partial: bool) -> Option<u64> {
        match partial {
            true => self.partial_bytes,
            false => self.bytes,
        }
    }
}

impl Plan {
    /// Returns the missing bundles, and the missing files of further sources.
    pub fn missing(&self) -> Vec<MissingInput<'_>> {
        let mut missing = Vec::new();
        for competition in &self.all.competitions {
            for node in self.all.nodes_of(&competition.id) {
                let is_missing = self.resolution.work.get(node) == Some(&Reason::Missing);
                let node = self.all.graph.node(*node);
                if !is_missing || !matches!(node.action, Action::Source(_)) {
                    continue;
                }
                let mut sources = competition.sources.iter();
                let source = match node.name.strip_prefix("source/") {
                    None => None,
                    // A directory cannot be downloaded.
                    Some(name) => match sources.find(|source| source.name == name) {
                        Some(source) if source.url.is_some() => Some(source),
                        _ => continue,
                    },
                };
                missing.push(MissingInput {
                    competition,
                    source,
                });
            }
        }
        missing
    }

    /// Returns the errors with which a run ends because bundles or sources are missing, and because they can certainly not
    /// be downloaded. Returns no errors if nothing is downloaded on request.
    ///
    /// # Errors
    /// Returns an error if the cache cannot be read.
    pub fn obstacles(&self, task: &Task) -> Result<Vec<Error>, Error> {
        if !task.options.download {
            return Ok(Vec::new());
        }
        let context = Plan::preview_context(task)?;
        if let Err(error) = require_credentials(task, self, &context.store) {
            return Ok(vec![error]);
        }
        let missing = self.resolution.work.iter();
        let missing = missing.filter(|(_, reason)| **reason == Reason::Missing);
        let errors = missing.filter_map(|(id, _)| {
            let node = self.all.graph.node(*id);
            let Action::Source(source) = &node.action else {
                return None;
            };
            let error = NodeError {
                competition: node.competition.clone(),
                step: node.name.clone(),
                cause: source.obstacle(&context)?,
            };
            Some(error.into())
        });
        Ok(errors.collect())
    }

    /// Returns whether the steps to run of the competition `id` include a source, such as the bundle, whose file or
    /// directory is not on this machine.
    pub(crate) fn runs_absent_source(&self, id: &str) -> bool {
        let mut nodes = self.all.nodes_of(id).iter();
        nodes.any(|id| {
            let is_absent = matches!(&self.all.graph.node(*id).action, Action::Source(source) if source.location().is_none());
            is_absent && self.resolution.work.contains_key(id)
        })
    }

    /// Returns the competitions with a missing bundle or source, including sources that are directories.
    pub fn without_sources(&self) -> HashSet<&str> {
        let missing = self.resolution.work.iter();
        let missing = missing.filter(|(_, reason)| **reason == Reason::Missing);
        let nodes = missing.map(|(id, _)| self.all.graph.node(*id));
        nodes.map(|node| node.competition.as_str()).collect()
    }

    /// Returns the competitions that have steps to run, and whose bundle is not on this machine but in the remote's mirror.
    pub fn mirrored(&self, task: &Task) -> HashSet<String> {
        let Some(link) = &task.settings.remote else {
            return HashSet::new();
        };
        let work = self.work();
        let work: HashSet<&str> = work.iter().map(|step| step.competition.as_str()).collect();
        let absent = self.all.competitions.iter();
        let absent = absent.filter(|competition| {
            let is_absent = competition.pipeline.bundle.is_some() && competition.bundle.is_none();
            is_absent && work.contains(competition.id.as_str())
        });
        let absent: Vec<&str> = absent.map(|competition| competition.id.as_str()).collect();
        // If the remote does not answer, this was already reported when the plan was created.
        let are_mirrored = ask_all(&absent, |id| {
            let known = link.source(id).ok().flatten();
            known.is_some_and(|known| link.has_bundle(&known.content).unwrap_or(false))
        });
        let mirrored = absent.into_iter().zip(are_mirrored);
        let mirrored = mirrored.filter(|(_, is_mirrored)| *is_mirrored);
        mirrored.map(|(id, _)| id.to_owned()).collect()
    }

    /// Returns the size of each missing bundle or file, by competition and source. Requests lengths and listings from the
    /// servers, and uses published sizes if the servers do not answer.
    pub fn downloads(&self, task: &Task) -> HashMap<(String, Option<String>), Download> {
        let missing = self.missing();
        if missing.is_empty() {
            return HashMap::new();
        }
        // Credentials are resolved once, so that an error is reported once.
        let for_bundles = missing.iter().any(|input| input.source.is_none());
        let kaggle = for_bundles.then(|| task.network.get());
        let network = task.network.any();
        // After the first error "too many requests", no request is sent to Kaggle.
        let is_limited = AtomicBool::new(false);
        let downloads = ask_all(&missing, |input| match input.source {
            None => match &kaggle {
                Some(Ok(network)) if !is_limited.load(Ordering::Relaxed) => {
                    listed_size(input, network, &is_limited)
                }
                Some(Err(error)) if task.options.download => published(input, Some(error)),
                _ => published(input, None),
            },
            Some(source) => match (&network, source.remote()) {
                (Ok(network), Some((url, file))) => {
                    match network.file_length(file, url, &Cancel::default()) {
                        Ok(bytes) => Download {
                            bytes: Some(bytes),
                            partial_bytes: Some(bytes),
                            ..Download::default()
                        },
                        Err(error) => published(input, Some(&error)),
                    }
                }
                _ => published(input, None),
            },
        });
        missing
            .iter()
            .map(MissingInput::key)
            .zip(downloads)
            .collect()
    }

    /// Returns the disk space that downloads and new prepared files need. `bytes` returns the size of a download, if it is known.
    /// Returns `None` if nothing is downloaded and no new files are prepared.
    ///
    /// # Errors
    /// Returns an error if a manifest cannot be read.
    pub fn peak(
        &self,
        task: &Task,
        bytes: impl Fn(&MissingInput<'_>) -> Option<u64>,
    ) -> Result<Option<Peak>, Error> {
        self.peak_if(task, task.options.download, bytes)
    }

    /// Same as [`peak`](Self::peak), but leaves out competitions with missing files unless `downloads` is true.
    fn peak_if(
        &self,
        task: &Task,
        downloads: bool,
        bytes: impl Fn(&MissingInput<'_>) -> Option<u64>,
    ) -> Result<Option<Peak>, Error> {
        let missing = self.missing();
        let mut needs = Vec::new();
        for competition in &self.all.competitions {
            let missing = missing.iter();
            let missing = missing.filter(|input| input.competition.id == competition.id);
            let missing: Vec<&MissingInput<'_>> = missing.collect();
            if !missing.is_empty() && !downloads {
                continue;
            }
            let rest = |input| Some(remaining_bytes(task, input, bytes(input)?));
            let bundle: Option<u64> = missing.into_iter().map(rest).sum();
            let prepared = match self.creates_files(task, competition)? {
                // The prepared files need about as much space as the bundle. Images have the same size in both, and tables
                // need more space when they are unpacked, but are small.
                true => competition
                    .bundle_bytes()
                    .or(bundle.filter(|bytes| *bytes > 0)),
                false => Some(0),
            };
            needs.push(Need { bundle, prepared });
        }
        needs.retain(|need| *need != Need::default());
        let (kept, settings) = (task.options.keep_bundles, &task.settings);
        let peak = Peak::new(&needs, kept, settings.jobs, &settings.data_dir);
        Ok((!needs.is_empty()).then_some(peak))
    }

    /// Returns whether the run publishes files of a competition that has no published files yet. Existing files are replaced one
    /// by one, so they need no further space.
    fn creates_files(&self, task: &Task, competition: &Competition) -> Result<bool, Error> {
        let manifest = || prepared::replaceable_manifest(&task.data_dir(), &competition.id);
        Ok(self.publishes(competition) && manifest()?.is_none())
    }

    /// Returns whether the run publishes files of a competition, unless its results turn out to be equal to the published
    /// files.
    fn publishes(&self, competition: &Competition) -> bool {
        self.all.nodes_of(&competition.id).iter().any(|node| {
            let is_sink = matches!(self.all.graph.node(*node).action, Action::Sink(_));
            is_sink && self.resolution.work.contains_key(node)
        })
    }

    /// Checks that the user can write the directories of competitions that the run publishes.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be created or written. If the run may continue with other competitions, only
    /// the data directory is checked.
    pub(crate) fn require_writable(&self, task: &Task) -> Result<(), Error> {
        let data_dir = task.data_dir();
        let may_continue = task.options.keep_going && self.all.competitions.len() > 1;
        let published = self.all.competitions.iter();
        let published = published.filter(|competition| self.publishes(competition));
        for (place, competition) in published.enumerate() {
            let own = data_dir.join(&competition.id);
            if own.exists() && !may_continue {
                require_writable(&own)?;
            }
            if place == 0 {
                require_writable(&data_dir)?;
            }
        }
        Ok(())
    }

    /// Checks that the disk has space for the downloads.
    ///
    /// # Errors
    /// Returns an error if the bundles alone do not fit.
    pub(crate) fn require_disk(&self, task: &Task, notes: &dyn Fn(Note)) -> Result<(), Error> {
        // If none of the missing files can be downloaded, for example without credentials, they need no disk space. The run
        // continues, and the step of each missing bundle reports the reason.
        let network = |input: &MissingInput<'_>| match input.source {
            None => task.network.get(),
            Some(_) => task.network.any(),
        };
        let downloads = self.missing().iter().any(|input| network(input).is_ok());
        // The size of a partial download is unknown until Kaggle lists the bundle.
        let peak = self.peak_if(task, downloads, |input| {
            let is_part = input.source.is_none() && input.competition.part.is_some();
            input.published_bytes().filter(|_| !is_part)
        })?;
        if let Some(peak) = peak
            && let Some(warning) = peak.check(&task.settings.data_dir)?
        {
            notes(Note::LittleDisk(&warning));
        }
        Ok(())
    }
}

/// Returns the size of a bundle from Kaggle's listing. If the bundle cannot be listed and has no published size, uses the
/// total size of its files. Kaggle returns this total size even to accounts that have not accepted the competition's rules.
fn listed_size(input: &MissingInput<'_>, network: &Network, is_limited: &AtomicBool) -> Download {
    let competition = input.competition;
    let cancel = Cancel::default();
    let Some(bundle) = &competition.pipeline.bundle else {
        return published(input, None);
    };
    match network.list(&bundle.kaggle, &cancel) {
        Ok(remote) => Download {
            bytes: Some(remote.bytes),
            partial_bytes: Some(competition.members.bytes(&remote.entries)),
            ..Download::default()
        },
        Err(error) => {
            let mut download = published(input, Some(&error));
            let is_final = matches!(
                error,
                FetchError::RulesNotAccepted { .. }
                    | FetchError::Forbidden { .. }
                    | FetchError::MayNotParticipate { .. }
                    | FetchError::NoSuchCompetition { .. }
            );
            download.failure = is_final.then(|| error.failure());
            match error {
                FetchError::Quota { .. } => is_limited.store(true, Ordering::Relaxed),
                FetchError::RulesNotAccepted { .. }
                | FetchError::Forbidden { .. }
                | FetchError::MayNotParticipate { .. }
                | FetchError::Listing { .. }
                    if download.bytes.is_none() =>
                {
                    let files = network.summary(&bundle.kaggle, &cancel);
                    download.bytes = files.ok().map(|files| files.bytes);
                }
                _ => {}
            }
            download
        }
    }
}

fn published(input: &MissingInput<'_>, error: Option<&FetchError>) -> Download {
    Download {
        bytes: input.published_bytes(),
        partial_bytes: input.source.and_then(|source| source.published_bytes),
        estimated: true,
        error: error.map(|error| StatedReason::new(error.failure().name(), chain(error))),
        failure: None,
    }
}

/// Returns how many of the `bytes` of a download still need disk space. An interrupted download has already written some.
fn remaining_bytes(task: &Task, input: &MissingInput<'_>, bytes: u64) -> u64 {
    let file = input.source.and_then(|source| source.file.as_deref());
    let id = &input.competition.id;
    bytes.saturating_sub(prep_fetch::partial_bytes(&task.settings.data_dir, id, file))
}

/// The disk space that one competition needs, in bytes. A value is `None` if it is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Need {
    /// Bytes to download.
    bundle: Option<u64>,
    /// Estimated additional bytes of the prepared files.
    prepared: Option<u64>,
}

impl Default for Need {
    fn default() -> Need {
        Need {
            bundle: Some(0),
            prepared: Some(0),
        }
    }
}

/// The maximum disk space that a run needs at any time, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Peak {
    /// Bytes of bundles to download.
    pub bundles: u64,
    /// Bytes of new prepared files.
    pub prepared: u64,
    /// Number of competitions whose need is not included, because the size of their bundle is unknown.
    pub unknown: usize,
    /// Free bytes on the disk of the data directory, if known.
    pub free: Option<u64>,
}

impl Peak {
    /// Estimates the disk space that competitions need. If `kept` is true, no bundle is deleted, so the space includes all
    /// bundles. Otherwise at most `side_by_side` bundles exist at the same time, so the space includes only the
    /// `side_by_side` largest bundles.
    fn new(needs: &[Need], kept: bool, side_by_side: usize, data_dir: &Path) -> Peak {
        let mut bundles: Vec<u64> = needs.iter().filter_map(|need| need.bundle).collect();
        bundles.sort_unstable_by(|a, b| b.cmp(a));
        if !kept {
            bundles.truncate(side_by_side.max(1));
        }
        let is_unknown = |need: &&Need| need.bundle.is_none() || need.prepared.is_none();
        Peak {
            bundles: bundles.iter().sum(),
            prepared: needs.iter().filter_map(|need| need.prepared).sum(),
            unknown: needs.iter().filter(is_unknown).count(),
            free: prep_fetch::free_space(data_dir),
        }
    }

    /// Compares the needed disk space with the free disk space. If the bundles fit, but not together with the prepared
    /// files, returns a warning. This is not an error, because the sizes of prepared files are estimates.
    ///
    /// # Errors
    /// Returns an error if the bundles alone do not fit.
    pub fn check(&self, data_dir: &Path) -> Result<Option<String>, Error> {
        let Some(free) = self.free else {
            return Ok(None);
        };
        let total = self.bundles.saturating_add(self.prepared);
        if total <= free {
            return Ok(None);
        }
        let message = format!(
            "not enough disk space: the run needs {}; {} has {} free",
            self.need(),
            data_dir.display(),
            units::bytes(free)
        );
        if self.bundles > free {
            return Err(Error::new(Failure::Machine, message)
                .help(Remedy::DiscardBundles.or(Remedy::NameDataDir)));
        }
        Ok(Some(message))
    }

    /// Describes the space, for example `12.3 GB of bundles and about 20 GB of prepared files, 100 GB free`.
    pub fn text(&self) -> String {
        match self.free {
            Some(free) => format!("{}, {} free", self.need(), units::bytes(free)),
            None => self.need(),
        }
    }

    fn need(&self) -> String {
        let prepared = format!("about {} of prepared files", units::bytes(self.prepared));
        let mut parts = Vec::new();
        if self.bundles + self.prepared > 0 {
            parts.push(match self.bundles {
                0 => prepared,
                bundles => format!("{} of bundles and {prepared}", units::bytes(bundles)),
            });
        }
        if self.unknown > 0 {
            let bundles = units::count(self.unknown, "bundle");
            parts.push(format!("{bundles} of unknown size"));
        }
        parts.join(", and ")
    }
}

/// Maximum number of concurrent network requests.
const MAX_REQUESTS: usize = 8;

/// Calls `ask` with each of `items`. `ask` sends a request, and several requests run at the same time. Returns the results
/// in the order of `items`.
pub fn ask_all<I: Sync, T: Send>(items: &[I], ask: impl Fn(&I) -> T + Sync) -> Vec<T> {
    prep_contents::parallel::map(items, MAX_REQUESTS, ask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_depends_on_whether_bundles_are_kept() {
        let need = |bundle, prepared| Need {
            bundle: Some(bundle),
            prepared: Some(prepared),
        };
        let needs = [need(10, 20), need(30, 5), need(20, 0)];
        let dir = tempfile::tempdir().unwrap();
        let kept = Peak::new(&needs, true, 1, dir.path());
        assert_eq!((kept.bundles, kept.prepared), (60, 25));
        assert!(kept.free.is_some());
        for (side_by_side, bundles) in [(0, 30), (1, 30), (2, 50), (9, 60)] {
            let peak = Peak::new(&needs, false, side_by_side, dir.path());
            assert_eq!(peak.bundles, bundles);
        }
    }

    #[test]
    fn only_bundles_that_do_not_fit_are_an_error() {
        let peak = |bundles, prepared, free| Peak {
            bundles,
            prepared,
            unknown: 0,
            free,
        };
        let check = |peak: Peak| peak.check(Path::new("/data"));
        assert!(check(peak(10, 10, None)).unwrap().is_none());
        assert!(check(peak(10, 10, Some(20))).unwrap().is_none());
        assert!(check(peak(0, 10, Some(5))).unwrap().is_some());
        let warning = check(peak(10, 10, Some(19))).unwrap().unwrap();
        assert!(warning.contains("/data has 19 B free"), "{warning}");
        let error = check(peak(10, 10, Some(9))).unwrap_err();
        assert_eq!(error.failure, Failure::Machine);
        assert!(matches!(error.help, Some(Remedy::AnyOf(_))));
    }

    #[test]
    fn unknown_sizes_are_not_zero() {
        let need = |bundle, prepared| Need { bundle, prepared };
        let dir = tempfile::tempdir().unwrap();
        let unknown = need(None, None);
        for (needs, expected) in [
            (vec![unknown], "1 bundle of unknown size"),
            (vec![need(Some(0), Some(5))], "about 5 B of prepared files"),
            (
                vec![need(Some(10), Some(5)), unknown, unknown],
                "10 B of bundles and about 5 B of prepared files, and 2 bundles of unknown size",
            ),
        ] {
            assert_eq!(Peak::new(&needs, true, 1, dir.path()).need(), expected);
        }
    }
}
