//! Bundles whose results are used although they are neither on this machine nor recorded in the data directory: results
//! that the user requests from the cache or from a remote. They are described, so that it is clear whose they are.

use std::fmt;

use prep_cache::Digest;
use prep_core::{NodeState, units};
use serde::Serialize;

use super::assemble::Competition;
use super::resolve::Plan;
use crate::run_log::local_time;
use crate::task::Task;

/// A bundle that the user does not have and from which the data directory was not prepared, but whose results are used
/// on request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BorrowedBundle {
    pub blake3: Digest,
    pub md5: Option<String>,
    pub bytes: u64,
    #[serde(flatten)]
    pub lender: Lender,
}

/// Where the results of a [`BorrowedBundle`] are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Lender {
    /// In the cache.
    Cache {
        /// When they were computed, in seconds since 1970.
        at: Option<u64>,
        /// The path of the bundle at that time.
        path: Option<String>,
    },
    /// In the remote.
    Remote {
        /// The remote.
        remote: String,
    },
}

impl BorrowedBundle {
    pub fn is_remote(&self) -> bool {
        matches!(self.lender, Lender::Remote { .. })
    }
}

impl fmt::Display for BorrowedBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.md5 {
            Some(md5) => write!(f, "MD5 {md5}")?,
            None => write!(f, "BLAKE3 {}", self.blake3)?,
        }
        write!(f, ", {}", units::bytes(self.bytes))?;
        match &self.lender {
            Lender::Cache { at, path } => {
                f.write_str(", in the cache")?;
                if let Some(at) = at {
                    write!(f, " since {}", local_time(*at))?;
                }
                match path {
                    Some(path) => write!(f, ", from {path}"),
                    None => Ok(()),
                }
            }
            Lender::Remote { remote } => write!(f, ", in the remote {remote}"),
        }
    }
}

impl Plan {
    /// Describes the bundles whose results are used although they are neither on this machine nor recorded in the data
    /// directory.
    pub(super) fn describe_borrowed(&mut self, task: &Task) {
        let borrowed = self.competitions.iter().map(|one| self.borrowed(task, one));
        let borrowed: Vec<Option<BorrowedBundle>> = borrowed.collect();
        for (competition, borrowed) in self.competitions.iter_mut().zip(borrowed) {
            competition.borrowed = borrowed;
        }
    }

    fn borrowed(&self, task: &Task, competition: &Competition) -> Option<BorrowedBundle> {
        let mut nodes = self.nodes_of(&competition.id).iter();
        let node = nodes.find(|node| self.graph.node(**node).name == "bundle")?;
        let state = self.resolution.states.get(node);
        if competition.bundle.is_some() || !matches!(state, Some(NodeState::Known { .. })) {
            return None;
        }
        let contents = &competition.contents;
        let (content, lender) = match (&contents.cached, &contents.bundle, &contents.part) {
            (Some(record), ..) => {
                let path = Some(record.path.clone()).filter(|path| !path.is_empty());
                let at = record.named_at();
                (record.content(), Lender::Cache { at, path })
            }
            (None, None, None) => {
                let link = task.settings.remote.as_ref()?;
                let remote = link.remote().name().to_owned();
                (contents.of_source(None).next()?, Lender::Remote { remote })
            }
            _ => return None,
        };
        Some(BorrowedBundle {
            blake3: content.digest,
            md5: content.md5,
            bytes: content.bytes,
            lender,
        })
    }
}
