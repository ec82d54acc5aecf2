//! Bundles whose results are used although they are neither on this machine nor recorded in the data directory: results
//! that the user requests from the cache or from a remote. They are described, so that it is clear whose they are.

use prep_core::NodeState;

use super::assemble::Competition;
use super::resolve::Plan;
use crate::bundles::{BorrowedBundle, Lender};
use crate::task::Task;

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
