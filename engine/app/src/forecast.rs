//! What downloads are going to move, and the disk that they take, before any begins.

use std::collections::HashMap;

use prep_core::{Cancel, units};
use prep_fetch::LazyNetwork;
use serde::Serialize;

use crate::ask::ask_all;
use crate::assemble::Competition;
use crate::disk::{Need, Peak};
use crate::error::Error;
use crate::prepared;
use crate::settings::{Options, Settings};

/// What downloading a bundle moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Download {
    /// Bytes of the whole bundle.
    bytes: Option<u64>,
    /// Bytes of what the pipeline reads of it: what `--partial` moves.
    partial_bytes: Option<u64>,
    /// The size is the published one; Kaggle was not asked.
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

    /// In a few words.
    pub fn text(&self) -> String {
        let bytes = self.bytes.map(units::bytes);
        match (&self.error, bytes, self.partial_bytes) {
            (Some(error), ..) => {
                let cause = error.lines().next().unwrap_or_default();
                format!("the bundle is not there: {cause}")
            }
            (None, Some(bytes), Some(part)) => {
                let part = units::bytes(part);
                format!("{bytes} to download, {part} of them with --partial")
            }
            (None, Some(bytes), None) => {
                format!("the bundle is not there, its published size is {bytes}")
            }
            (None, None, _) => "the bundle is not there".to_owned(),
        }
    }
}

/// Lists the bundles on Kaggle; published sizes where it cannot be asked.
pub fn ask(competitions: &[&Competition], network: &LazyNetwork) -> HashMap<String, Download> {
    if competitions.is_empty() {
        return HashMap::new();
    }
    let network = network.get();
    let downloads = ask_all(competitions, |member| match &network {
        Ok(network) => match network.list(&member.kaggle, &Cancel::default()) {
            Ok(remote) => Download {
                bytes: Some(remote.bytes),
                partial_bytes: Some(member.members.bytes(&remote.entries)),
                estimated: false,
                error: None,
            },
            Err(error) => published(member, Some(error.to_string())),
        },
        Err(_) => published(member, None),
    });
    let ids = competitions.iter().map(|one| one.id.clone());
    ids.zip(downloads).collect()
}

fn published(member: &Competition, error: Option<String>) -> Download {
    Download {
        bytes: member.published_bytes,
        partial_bytes: None,
        estimated: true,
        error,
    }
}

/// Disk that a run takes at its peak which downloads the bundles of these competitions; `bytes` tells how much each moves.
///
/// # Errors
/// When it cannot be told what is prepared already.
pub fn peak(
    settings: &Settings,
    options: &Options,
    competitions: &[&Competition],
    bytes: impl Fn(&Competition) -> Option<u64>,
) -> Result<Peak, Error> {
    let mut needs = Vec::new();
    for competition in competitions {
        let bundle = bytes(competition).unwrap_or(0);
        needs.push(need(settings, competition, bundle)?);
    }
    let kept = options.keep_bundles;
    Ok(Peak::of(&needs, kept, settings.jobs, &settings.data_dir))
}

/// What a competition takes whose bundle of so many bytes is downloaded.
fn need(settings: &Settings, competition: &Competition, bundle: u64) -> Result<Need, Error> {
    let data_dir = &settings.data_dir;
    let prepared = match prepared::manifest(data_dir, &competition.id)? {
        // They are there already, and replaced file by file.
        Some(_) => 0,
        // As large as the bundle is said to be: images keep their size, tables that inflate are small.
        None => competition.published_bytes.unwrap_or(bundle),
    };
    // What an interrupted download has written takes its space already.
    let there = prep_fetch::partial_bytes(data_dir, &competition.id);
    Ok(Need {
        bundle: bundle.saturating_sub(there),
        prepared,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (download(None, None, None), "the bundle is not there"),
            (
                download(Some(1), None, Some("rules\nhelp")),
                "the bundle is not there: rules",
            ),
        ] {
            assert_eq!(download.text(), expected);
        }
    }
}
