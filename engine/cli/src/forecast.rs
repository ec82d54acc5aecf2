//! What downloads are going to move, and the disk that they take, before any begins.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use prep_core::Cancel;
use prep_fetch::LazyNetwork;
use serde::Serialize;

use crate::assemble::Member;
use crate::disk::{Need, Peak};
use crate::downloads::ask_all;
use crate::error::CliError;
use crate::verbs::run::Conduct;
use crate::{Session, prepared, units};

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
pub fn ask(members: &[&Member], network: &LazyNetwork) -> HashMap<String, Download> {
    if members.is_empty() {
        return HashMap::new();
    }
    let network = network.get();
    let downloads = ask_all(members, |member| match &network {
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
    let ids = members.iter().map(|member| member.id.clone());
    ids.zip(downloads).collect()
}

fn published(member: &Member, error: Option<String>) -> Download {
    Download {
        bytes: member.published_bytes,
        partial_bytes: None,
        estimated: true,
        error,
    }
}

/// Disk that a run takes at its peak which downloads the bundles of `members`; `bytes` tells how much each moves.
///
/// # Errors
/// When it cannot be told what is prepared already.
pub fn peak(
    session: &Session,
    members: &[&Member],
    bytes: impl Fn(&Member) -> Option<u64>,
    conduct: &Conduct,
) -> Result<Peak, CliError> {
    let settings = &session.settings;
    let mut needs = Vec::new();
    for member in members {
        needs.push(need(session, member, bytes(member).unwrap_or(0))?);
    }
    let kept = !conduct.discard_bundle;
    Ok(Peak::of(&needs, kept, settings.jobs, &settings.data_dir))
}

/// What a competition takes whose bundle of so many bytes is downloaded.
fn need(session: &Session, member: &Member, bundle: u64) -> Result<Need, CliError> {
    let data_dir = &session.settings.data_dir;
    let prepared = match prepared::manifest(data_dir, &member.id)? {
        // They are there already, and replaced file by file.
        Some(_) => 0,
        // As large as the bundle is said to be: images keep their size, tables that inflate are small.
        None => member.published_bytes.unwrap_or(bundle),
    };
    // What an interrupted download has written takes its space already.
    let name = format!("{}.zip.partial", member.id);
    let partial = data_dir.join(&member.id).join(name).metadata();
    let there = partial.map_or(0, |file| file.blocks() * 512);
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
