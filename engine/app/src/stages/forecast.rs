//! Sixth stage: computes the size and the disk space of downloads before they begin.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use prep_core::{Action, Cancel, Reason, chain};
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Download {
    /// Bytes of the entire file.
    pub bytes: Option<u64>,
    /// Bytes of a partial download, which has only the members that the pipeline reads.
    pub partial_bytes: Option<u64>,
    /// Whether the size is the published one, because the server was not queried or did not answer.
    pub estimated: bool,
    /// The reason why the file cannot be downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
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

    /// Returns the competitions with a missing bundle or source, also those with a missing directory.
    pub(crate) fn without_sources(&self) -> HashSet<&str> {
        let missing = self.resolution.work.iter();
        let missing = missing.filter(|(_, reason)| **reason == Reason::Missing);
        let nodes = missing.map(|(id, _)| self.graph.node(*id));
        nodes.map(|node| node.competition.as_str()).collect()
    }

    /// Returns the competitions that have steps to run and whose bundle is only in the mirror. Queries the remote, if
    /// one is configured.
    pub fn mirrored(&self, task: &Task) -> HashSet<String> {
        let Some(link) = &task.settings.remote else {
            return HashSet::new();
        };
        let work = self.work();
        let gone = self.competitions.iter();
        let gone = gone.filter(|competition| {
            competition.bundle.is_none() && work.contains_key(&competition.id)
        });
        let gone: Vec<&str> = gone.map(|competition| competition.id.as_str()).collect();
        // If the remote does not answer, this was already reported when the plan was created.
        let known = ask_all(&gone, |id| link.source(id).ok().flatten());
        let known = gone.into_iter().zip(known);
        let known = known.filter(|(_, known)| known.as_ref().is_some_and(|known| known.mirrored));
        known.map(|(id, _)| id.to_owned()).collect()
    }

    /// Returns the size of each missing bundle or file, by competition and source. Requests lengths and listings from the servers, and uses
    /// published sizes if they do not answer.
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
                _ => published(input, None),
            },
            Some(source) => match (&network, source.remote()) {
                (Ok(network), Some((url, file))) => {
                    match network.file_length(file, url, &Cancel::default()) {
                        Ok(bytes) => Download {
                            bytes: Some(bytes),
                            partial_bytes: Some(bytes),
                            estimated: false,
                            error: None,
                        },
                        Err(error) => published(input, Some(chain(&error))),
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

    /// Returns the disk space that the downloads and the prepared files need. `bytes` returns the size of a download.
    /// Returns `None` if nothing is downloaded.
    ///
    /// # Errors
    /// Returns an error if a manifest cannot be read.
    pub fn peak(
        &self,
        task: &Task,
        bytes: impl Fn(&MissingInput<'_>) -> Option<u64>,
    ) -> Result<Option<Peak>, Error> {
        let missing = self.missing();
        if missing.is_empty() || !task.options.download {
            return Ok(None);
        }
        let mut needs: Vec<Need> = Vec::new();
        let mut last = None;
        // The downloads of one competition are adjacent.
        for input in &missing {
            let need = need(task, input, bytes(input).unwrap_or(0))?;
            let id = &input.competition.id;
            match needs.last_mut().filter(|_| last == Some(id)) {
                Some(before) => before.bundle += need.bundle,
                None => needs.push(need),
            }
            last = Some(id);
        }
        let (kept, settings) = (task.options.keep_bundles, &task.settings);
        Ok(Some(Peak::new(
            &needs,
            kept,
            settings.jobs,
            &settings.data_dir,
        )))
    }

    /// Checks that the disk has space for the downloads.
    ///
    /// # Errors
    /// Returns an error if the bundles alone do not fit.
    pub(crate) fn require_disk(&self, task: &Task, notes: &dyn Fn(Note)) -> Result<(), Error> {
        // If downloads are turned off or impossible, they need no disk space. The step of each bundle then reports the reason.
        let network = |input: &MissingInput<'_>| match input.source {
            None => task.network.get(),
            Some(_) => task.network.any(),
        };
        if !self.missing().iter().any(|input| network(input).is_ok()) {
            return Ok(());
        }
        // The size of a partial download is unknown until Kaggle lists the bundle.
        let peak = self.peak(task, |input| {
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

/// Returns the size of a bundle from Kaggle's listing. If the bundle cannot be listed and has no published size, the
/// total size of its files is used. Kaggle returns that even to accounts that have not accepted the rules.
fn listed_size(input: &MissingInput<'_>, network: &Network, is_limited: &AtomicBool) -> Download {
    let competition = input.competition;
    let cancel = Cancel::default();
    match network.list(&competition.kaggle, &cancel) {
        Ok(remote) => Download {
            bytes: Some(remote.bytes),
            partial_bytes: Some(competition.members.bytes(&remote.entries)),
            estimated: false,
            error: None,
        },
        Err(error) => {
            let mut download = published(input, Some(chain(&error)));
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

fn published(input: &MissingInput<'_>, error: Option<String>) -> Download {
    Download {
        bytes: input.published_bytes(),
        partial_bytes: input.source.and_then(|source| source.published_bytes),
        estimated: true,
        error,
    }
}

/// Returns the disk space that a competition with `download` bytes to download needs.
fn need(task: &Task, input: &MissingInput<'_>, download: u64) -> Result<Need, Error> {
    let competition = input.competition;
    let prepared = match prepared::manifest(&task.data_dir(), &competition.id)? {
        // Existing files are replaced one by one.
        Some(_) => 0,
        // The size of the bundle is the estimate: images keep their size, and compressed tables are small.
        None => competition.entry.size().unwrap_or(download),
    };
    // The bytes of an interrupted download use space already.
    let file = input.source.and_then(|source| source.file.as_deref());
    let partial_bytes = prep_fetch::partial_bytes(&task.settings.data_dir, &competition.id, file);
    Ok(Need {
        bundle: download.saturating_sub(partial_bytes),
        prepared,
    })
}
