//! What downloads are going to move, and the disk that they take, before any begins.

use std::collections::HashMap;
use std::path::Path;

use prep_core::{Cancel, units};
use prep_fetch::{LazyNetwork, Network};
use serde::Serialize;

use crate::ask::ask_all;
use crate::disk::{Need, Peak};
use crate::error::Error;
use crate::prepared;
use crate::settings::{Options, Settings};
use crate::sources::Missing;

/// What downloading a bundle, or the file of a further source, moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Download {
    /// Bytes of the whole.
    bytes: Option<u64>,
    /// Bytes of what the pipeline reads of it: what `--partial` moves.
    partial_bytes: Option<u64>,
    /// The size is the published one; no server was asked.
    estimated: bool,
    /// Why it cannot be downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Download {
    /// Bytes that are downloaded, as far as that is known.
    pub fn moves(&self, partial: bool) -> Option<u64> {
        match partial {
            true => self.partial_bytes,
            false => self.bytes,
        }
    }

    /// In a few words, of `what`: the bundle, or a source.
    pub fn text(&self, what: &str) -> String {
        let bytes = self.bytes.map(units::bytes);
        match (&self.error, bytes, self.partial_bytes) {
            (Some(error), ..) => {
                let cause = error.lines().next().unwrap_or_default();
                format!("{what} is not there: {cause}")
            }
            (None, Some(bytes), Some(part)) if Some(part) == self.bytes => {
                format!("{bytes} to download")
            }
            (None, Some(bytes), Some(part)) => {
                let part = units::bytes(part);
                format!("{bytes} to download, {part} of them with --partial")
            }
            (None, Some(bytes), None) => {
                format!("{what} is not there, its published size is {bytes}")
            }
            (None, None, _) => format!("{what} is not there"),
        }
    }
}

/// Asks for the lengths of what is missing, of bundles for their listings; published sizes where that is not possible.
pub fn ask(
    missing: &[Missing<'_>],
    network: &LazyNetwork,
) -> HashMap<(String, Option<String>), Download> {
    if missing.is_empty() {
        return HashMap::new();
    }
    // Who asks is found out, and said, once.
    let for_bundles = missing.iter().any(|one| one.source.is_none());
    let kaggle = for_bundles.then(|| network.get());
    let network = network.any();
    let downloads = ask_all(missing, |one| match one.source {
        None => match &kaggle {
            Some(Ok(network)) => listed(one, network),
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

/// A bundle as Kaggle lists it.
fn listed(one: &Missing<'_>, network: &Network) -> Download {
    let competition = one.competition;
    match network.list(&competition.kaggle, &Cancel::default()) {
        Ok(remote) => Download {
            bytes: Some(remote.bytes),
            partial_bytes: Some(competition.members.bytes(&remote.entries)),
            estimated: false,
            error: None,
        },
        Err(error) => published(one, Some(error.to_string())),
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

/// Disk that a run takes at its peak which downloads what is missing; `bytes` tells how much each moves.
///
/// # Errors
/// When it cannot be told what is prepared already.
pub fn peak(
    settings: &Settings,
    options: &Options,
    missing: &[Missing<'_>],
    bytes: impl Fn(&Missing<'_>) -> Option<u64>,
) -> Result<Peak, Error> {
    let mut needs: Vec<Need> = Vec::new();
    let mut last = None;
    // Those of one competition follow each other.
    for one in missing {
        let prepared_in = settings.folder_of(&options.variant);
        let need = need(settings, &prepared_in, one, bytes(one).unwrap_or(0))?;
        let id = &one.competition.id;
        match needs.last_mut().filter(|_| last == Some(id)) {
            Some(before) => before.bundle += need.bundle,
            None => needs.push(need),
        }
        last = Some(id);
    }
    let kept = options.keep_bundles;
    Ok(Peak::of(&needs, kept, settings.jobs, &settings.data_dir))
}

/// What a competition takes of which so many bytes are downloaded.
fn need(
    settings: &Settings,
    prepared_in: &Path,
    one: &Missing<'_>,
    download: u64,
) -> Result<Need, Error> {
    let data_dir = &settings.data_dir;
    let competition = one.competition;
    let prepared = match prepared::manifest(prepared_in, &competition.id)? {
        // They are there already, and replaced file by file.
        Some(_) => 0,
        // As large as the bundle is said to be: images keep their size, tables that inflate are small.
        None => competition.published_bytes.unwrap_or(download),
    };
    // What an interrupted download has written takes its space already.
    let file = one.source.and_then(|source| source.file.as_deref());
    let there = prep_fetch::partial_bytes(data_dir, &competition.id, file);
    Ok(Need {
        bundle: download.saturating_sub(there),
        prepared,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn what_a_download_moves_is_told_as_well_as_it_is_known() {
        let download = |bytes, partial_bytes, error: Option<&str>| Download {
            bytes,
            partial_bytes,
            estimated: partial_bytes.is_none(),
            error: error.map(str::to_owned),
        };
        for (download, expected) in [
            (
                download(Some(2_000_000), Some(1000), None),
                "2.00 MB to download, 1.00 kB of them with --partial",
            ),
            (
                download(Some(2_000_000), None, None),
                "the bundle is not there, its published size is 2.00 MB",
            ),
            (
                download(Some(1000), Some(1000), None),
                "1.00 kB to download",
            ),
            (download(None, None, None), "the bundle is not there"),
            (
                download(Some(1), None, Some("rules\nhelp")),
                "the bundle is not there: rules",
            ),
        ] {
            assert_eq!(download.text("the bundle"), expected);
        }
    }
}
