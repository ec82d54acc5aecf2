//! Sixth stage: the bytes that downloads move, and the disk that they take, before any of them begins.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use prep_core::{Action, Cancel, Reason};
use prep_fetch::{FetchError, Network};
use serde::Serialize;

use super::assemble::Competition;
use super::disk::{Need, Peak};
use super::resolve::Plan;
use super::sources::FurtherSource;
use crate::ask::ask_all;
use crate::error::Error;
use crate::note::Note;
use crate::prepared;
use crate::task::Task;

/// What is wanted and not there: a bundle, or the file of a further source.
#[derive(Clone, Copy)]
pub struct Missing<'p> {
    pub competition: &'p Competition,
    /// None: the bundle.
    pub source: Option<&'p FurtherSource>,
}

impl Missing<'_> {
    /// Competition and source.
    pub fn key(&self) -> (String, Option<String>) {
        let source = self.source.map(|source| source.name.clone());
        (self.competition.id.clone(), source)
    }

    /// Its length in bytes, where that is published.
    pub fn published_bytes(&self) -> Option<u64> {
        match self.source {
            None => self.competition.entry.size(),
            Some(source) => source.published_bytes,
        }
    }
}

/// What downloading a bundle, or the file of a further source, moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Download {
    /// Bytes of the whole.
    pub bytes: Option<u64>,
    /// Bytes of what the pipeline reads of it: what a partial download moves.
    pub partial_bytes: Option<u64>,
    /// The size is the published one; no server was asked.
    pub estimated: bool,
    /// Why it cannot be downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Download {
    /// Bytes that are downloaded, as far as that is known.
    pub fn moves(&self, partial: bool) -> Option<u64> {
        match partial {
            true => self.partial_bytes,
            false => self.bytes,
        }
    }
}

impl Plan {
    /// Bundles, and files of further sources, that are wanted and not there.
    pub fn missing(&self) -> Vec<Missing<'_>> {
        let mut missing = Vec::new();
        for competition in &self.competitions {
            for node in self.nodes_of(&competition.id) {
                let is_missing = self.resolution.work.get(node) == Some(&Reason::Missing);
                let node = self.graph.node(*node);
                if !is_missing || !matches!(node.action, Action::Source(_)) {
                    continue;
                }
                let mut sources = competition.sources.iter();
                let source = match node.name.strip_prefix("source/") {
                    None => None,
                    // A folder cannot be downloaded.
                    Some(name) => match sources.find(|one| one.name == name) {
                        Some(source) if source.url.is_some() => Some(source),
                        _ => continue,
                    },
                };
                missing.push(Missing {
                    competition,
                    source,
                });
            }
        }
        missing
    }

    /// Competitions with something to do whose bundle is not here but in the mirror. Asks the remote, if there is one.
    pub fn mirrored(&self, task: &Task) -> HashSet<String> {
        let Some(link) = &task.settings.remote else {
            return HashSet::new();
        };
        let work = self.work();
        let gone = self.competitions.iter();
        let gone = gone.filter(|one| one.bundle.is_none() && work.contains_key(&one.id));
        let gone: Vec<&str> = gone.map(|one| one.id.as_str()).collect();
        // A remote that does not answer has said so when the plan was made.
        let known = ask_all(&gone, |id| link.source(id).ok().flatten());
        let known = gone.into_iter().zip(known);
        let known = known.filter(|(_, known)| known.as_ref().is_some_and(|known| known.mirrored));
        known.map(|(id, _)| id.to_owned()).collect()
    }

    /// The bytes that each missing bundle or file moves, by competition and source. Asks the servers for lengths and
    /// listings; takes the published sizes where they do not answer.
    pub fn downloads(&self, task: &Task) -> HashMap<(String, Option<String>), Download> {
        let missing = self.missing();
        if missing.is_empty() {
            return HashMap::new();
        }
        // Who asks is found out, and said, once.
        let for_bundles = missing.iter().any(|one| one.source.is_none());
        let kaggle = for_bundles.then(|| task.network.get());
        let network = task.network.any();
        // After the first answer that there are too many requests, Kaggle is asked no more.
        let is_limited = AtomicBool::new(false);
        let downloads = ask_all(&missing, |one| match one.source {
            None => match &kaggle {
                Some(Ok(network)) if !is_limited.load(Ordering::Relaxed) => {
                    listed(one, network, &is_limited)
                }
                _ => published(one, None),
            },
            Some(source) => match (&network, source.remote()) {
                (Ok(network), Some((url, file))) => {
                    match network.length(file, url, &Cancel::default()) {
                        Ok(bytes) => Download {
                            bytes: Some(bytes),
                            partial_bytes: Some(bytes),
                            estimated: false,
                            error: None,
                        },
                        Err(error) => published(one, Some(error.to_string())),
                    }
                }
                _ => published(one, None),
            },
        });
        missing.iter().map(Missing::key).zip(downloads).collect()
    }

    /// The disk that downloading takes, where `bytes` returns how much each download moves; none if nothing is
    /// downloaded.
    ///
    /// # Errors
    /// If a manifest cannot be read.
    pub fn peak(
        &self,
        task: &Task,
        bytes: impl Fn(&Missing<'_>) -> Option<u64>,
    ) -> Result<Option<Peak>, Error> {
        let missing = self.missing();
        if missing.is_empty() || !task.options.download {
            return Ok(None);
        }
        let mut needs: Vec<Need> = Vec::new();
        let mut last = None;
        // Those of one competition follow each other.
        for one in &missing {
            let need = need(task, one, bytes(one).unwrap_or(0))?;
            let id = &one.competition.id;
            match needs.last_mut().filter(|_| last == Some(id)) {
                Some(before) => before.bundle += need.bundle,
                None => needs.push(need),
            }
            last = Some(id);
        }
        let (kept, settings) = (task.options.keep_bundles, &task.settings);
        Ok(Some(Peak::of(
            &needs,
            kept,
            settings.jobs,
            &settings.data_dir,
        )))
    }

    /// Checks that the disk has room for what is downloaded.
    ///
    /// # Errors
    /// If the bundles alone do not fit.
    pub(crate) fn require_disk(&self, task: &Task, notes: &dyn Fn(Note)) -> Result<(), Error> {
        // Where downloads are not wanted or not possible, none takes disk: every bundle's own step says what is in the way.
        let network = |one: &Missing<'_>| match one.source {
            None => task.network.get(),
            Some(_) => task.network.any(),
        };
        if !self.missing().iter().any(|one| network(one).is_ok()) {
            return Ok(());
        }
        // How much a part takes is not known before its listing.
        let peak = self.peak(task, |one| {
            let is_part = one.source.is_none() && one.competition.part.is_some();
            one.published_bytes().filter(|_| !is_part)
        })?;
        if let Some(peak) = peak
            && let Some(warning) = peak.check(&task.settings.data_dir)?
        {
            notes(Note::LittleDisk(&warning));
        }
        Ok(())
    }
}

/// A bundle as Kaggle lists it. If it cannot be listed and its size is not published, Kaggle's sum of its files stands in,
/// which it tells also to accounts that have not accepted the rules.
fn listed(one: &Missing<'_>, network: &Network, is_limited: &AtomicBool) -> Download {
    let competition = one.competition;
    let cancel = Cancel::default();
    match network.list(&competition.kaggle, &cancel) {
        Ok(remote) => Download {
            bytes: Some(remote.bytes),
            partial_bytes: Some(competition.members.bytes(&remote.entries)),
            estimated: false,
            error: None,
        },
        Err(error) => {
            let mut download = published(one, Some(error.to_string()));
            match error {
                FetchError::Quota { .. } => is_limited.store(true, Ordering::Relaxed),
                FetchError::RulesNotAccepted { .. }
                | FetchError::Forbidden { .. }
                | FetchError::MayNotParticipate { .. }
                | FetchError::Listing { .. }
                    if download.bytes.is_none() =>
                {
                    let files = network.summary(&competition.kaggle, &cancel);
                    download.bytes = files.ok().map(|files| files.bytes);
                }
                _ => {}
            }
            download
        }
    }
}

fn published(one: &Missing<'_>, error: Option<String>) -> Download {
    Download {
        bytes: one.published_bytes(),
        partial_bytes: one.source.and_then(|source| source.published_bytes),
        estimated: true,
        error,
    }
}

/// The disk that a competition takes, of which `download` bytes are downloaded.
fn need(task: &Task, one: &Missing<'_>, download: u64) -> Result<Need, Error> {
    let competition = one.competition;
    let prepared = match prepared::manifest(&task.data_dir(), &competition.id)? {
        // They are there already, and replaced file by file.
        Some(_) => 0,
        // As large as the bundle is said to be: images keep their size, tables that inflate are small.
        None => competition.entry.size().unwrap_or(download),
    };
    // What an interrupted download has written takes its space already.
    let file = one.source.and_then(|source| source.file.as_deref());
    let there = prep_fetch::partial_bytes(&task.settings.data_dir, &competition.id, file);
    Ok(Need {
        bundle: download.saturating_sub(there),
        prepared,
    })
}

#[cfg(test)]
mod tests {
    use prep_core::units;

    #[test]
    fn a_size_is_spelled_alike_in_every_message() {
        let mut size = 1_u64;
        while size < 1 << 60 {
            for size in [size - 1, size, size + size / 3, size / 1000 * 999] {
                let other = prep_formats::sniff::HumanSize(size).to_string();
                assert_eq!(units::bytes(size), other, "{size}");
            }
            size = size * 10 / 7 + 1;
        }
    }
}
