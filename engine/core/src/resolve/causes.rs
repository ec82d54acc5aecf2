//! Finds what changed since the last publication: the fields in which key records differ, and the steps that caused
//! these differences.
//!
//! A step *causes* a difference if its own kind, version or parameters changed, or if it is a source with other content. The
//! other steps differ only because their inputs do.

use std::collections::HashSet;

use prep_cache::{Content, Digest, History, SourceRecord, Store};
use serde::Serialize;
use serde_json::json;

use super::work;
use crate::graph::{Action, Graph, NodeId, Source};
use crate::{Change, FileValue, KeyRecord, LastSteps, NodeState, Reason, Resolution, Value};

/// A step that changed, and not only because of its inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// Name of the step.
    pub step: String,
    /// The fields that changed. The field `step` is the kind. For an added step, the old value of this field is
    /// `null`. For a removed step, the new value is `null`.
    pub changes: Vec<Change>,
}

/// The [`Change::field`] of a change of a source. The values describe the file or directory of the source.
pub const CONTENT: &str = "content";

impl Cause {
    /// Returns `None` if only inputs of the step changed.
    fn new(step: &str, mut changes: Vec<Change>) -> Option<Cause> {
        changes.retain(|change| !change.field.starts_with("inputs."));
        (!changes.is_empty()).then(|| Cause {
            step: step.to_owned(),
            changes,
        })
    }

    fn added_or_removed(step: &str, old: Option<&str>, new: Option<&str>) -> Cause {
        let change = Change {
            field: "step".to_owned(),
            old: json!(old),
            new: json!(new),
        };
        Cause {
            step: step.to_owned(),
            changes: vec![change],
        }
    }
}

/// A publication, and why it differs from the publication before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Publication {
    /// Time of the publication, in seconds since 1970.
    pub at: u64,
    /// Time of the publication before, if any.
    pub before: Option<u64>,
    /// Why the target was updated.
    pub reason: Option<Reason>,
    /// The steps that caused the differences. Empty if nothing differs, or if the only change is that a step was
    /// removed.
    pub causes: Vec<Cause>,
}

/// Returns the fields in which two key records differ.
pub(crate) fn changes(old: &KeyRecord, new: &KeyRecord) -> Vec<Change> {
    let mut found = Vec::new();
    if !new.is_source() {
        work::compare("", &old.to_json(), &new.to_json(), &mut found);
    } else if old.inputs != new.inputs {
        found.push(Change {
            field: CONTENT.to_owned(),
            old: old.params.clone(),
            new: new.params.clone(),
        });
    }
    found
}

/// Returns the change of a source that was not read yet, if its length changed.
fn unread(before: &KeyRecord, source: &dyn Source, reason: &Reason) -> Option<Change> {
    let Reason::Unread { bytes } = reason else {
        return None;
    };
    let path = source.location().map(|path| path.display().to_string());
    let new = json!({ "path": path, "bytes": bytes });
    (before.params.get("bytes") != new.get("bytes")).then(|| Change {
        field: CONTENT.to_owned(),
        old: before.params.clone(),
        new,
    })
}

/// The version in the record of a source. The versions of steps and sinks start at 1.
const SOURCE_VERSION: u32 = 0;

impl KeyRecord {
    /// Returns whether this record describes a source. A source has no key. In its record, `inputs` contains the digest
    /// of its value. `params` contains what the cache knows about the file (`path`, `bytes`, `blake3`, `md5`) or about
    /// the directory (`path`, `digest`).
    pub fn is_source(&self) -> bool {
        self.version == SOURCE_VERSION
    }

    /// Describes the file of a source. `value` is the digest of the source's value.
    pub(crate) fn of_source(
        store: &Store,
        source: &dyn Source,
        value: Option<Digest>,
    ) -> KeyRecord {
        let path = source.location();
        let known = path.as_ref();
        let known = known.and_then(|path| store.source(path).ok().flatten());
        // The file at the path may have changed after the source was read.
        let has_value = |known: &SourceRecord| {
            let file = FileValue::outside(known.digest, known.len());
            value == Some(file.into_value().digest())
        };
        let params = match known.filter(has_value) {
            Some(known) => {
                let Content {
                    digest, bytes, md5, ..
                } = known.content();
                json!({ "path": known.path, "bytes": bytes, "blake3": digest, "md5": md5 })
            }
            None => {
                let file = value.and_then(|value| Value::load(store, &value).ok());
                let file = file.and_then(|value| FileValue::from_value(&value).ok());
                let path = path.map(|path| path.display().to_string());
                match file {
                    Some(file) => json!({ "bytes": file.bytes, "blake3": file.digest }),
                    None => json!({ "path": path, "digest": value }),
                }
            }
        };
        KeyRecord {
            step: source.kind().to_owned(),
            version: SOURCE_VERSION,
            params,
            inputs: value
                .map(|value| ("value".to_owned(), value))
                .into_iter()
                .collect(),
        }
    }
}

impl Resolution {
    /// Returns the fields in which the key record of a node differs from that of the last publication. If the inputs of
    /// the node are not known yet, leaves out the fields of the inputs.
    pub fn changes(&self, graph: &Graph, id: NodeId, published: &LastSteps) -> Vec<Change> {
        let node = graph.node(id);
        let Some(before) = published.get(&node.name) else {
            return Vec::new();
        };
        let now = match (self.states.get(&id), &node.action) {
            (Some(NodeState::Known { outputs, .. }), Action::Source(source)) => {
                let value = outputs.get("value").copied();
                let store = self.last.store();
                store.map(|store| KeyRecord::of_source(store, &**source, value))
            }
            (Some(NodeState::Stale { reason, .. }), Action::Source(source)) => {
                return unread(&before.record, &**source, reason)
                    .into_iter()
                    .collect();
            }
            (_, Action::Source(_)) => None,
            (Some(NodeState::Known { record, .. } | NodeState::Stale { record, .. }), _) => {
                record.clone()
            }
            (Some(NodeState::Current { record }), _) => Some(record.clone()),
            (_, Action::Step(step)) => {
                let inputs = before.record.inputs.clone();
                Some(KeyRecord::of_step(&**step, inputs))
            }
            (_, Action::Sink(sink)) => {
                let inputs = before.record.inputs.clone();
                Some(KeyRecord::of_sink(&**sink, inputs))
            }
        };
        now.map_or_else(Vec::new, |now| changes(&before.record, &now))
    }

    /// Returns why results of a competition differ from its last publication. `nodes` are the nodes of the competition.
    pub fn causes(&self, graph: &Graph, nodes: &[NodeId], published: &LastSteps) -> Vec<Cause> {
        if published.is_empty() {
            return Vec::new();
        }
        let names: HashSet<&str> = nodes.iter().map(|id| &*graph.node(*id).name).collect();
        let removed = published
            .iter()
            .filter(|(name, _)| !names.contains(name.as_str()))
            .map(|(name, last)| Cause::added_or_removed(name, Some(&last.record.step), None));
        let of_node = |id: &NodeId| {
            let node = graph.node(*id);
            match node.action {
                Action::Step(_) if !published.contains_key(&node.name) => {
                    let kind = Some(node.action.kind());
                    Some(Cause::added_or_removed(&node.name, None, kind))
                }
                Action::Sink(_) => None,
                _ => Cause::new(&node.name, self.changes(graph, *id, published)),
            }
        };
        nodes.iter().filter_map(of_node).chain(removed).collect()
    }

    /// Returns the last publication of a competition. `None` if nothing was published yet. `nodes` are the nodes of the
    /// competition.
    pub fn publication(
        &self,
        graph: &Graph,
        nodes: &[NodeId],
        (history, published): (&History, &LastSteps),
    ) -> Option<Publication> {
        let is_sink = |id: &&NodeId| matches!(graph.node(**id).action, Action::Sink(_));
        let name = &graph.node(*nodes.iter().find(is_sink)?).name;
        let sink = published.get(name)?;
        // Records that earlier versions of the program wrote have no time.
        let at = Some(sink.at).filter(|at| *at > 0);
        // A run that did not change the target is not a publication.
        let key = Some(sink.record.key());
        let mut earlier = history.earlier.iter();
        let before = earlier.find(|run| run.steps.get(name).copied() != key);
        let before = before.map(|run| run.recorded);
        let of_node = |id: &NodeId| {
            let node = graph.node(*id);
            let last = published
                .get(&node.name)
                .filter(|last| Some(last.at) == at)?;
            match (&last.reason, &node.action) {
                (_, Action::Sink(_)) => None,
                (Some(Reason::Changed { changes }), _) => Cause::new(&node.name, changes.clone()),
                (None | Some(Reason::FirstRun), Action::Step(_)) if before.is_some() => {
                    let kind = Some(node.action.kind());
                    Some(Cause::added_or_removed(&node.name, None, kind))
                }
                _ => None,
            }
        };
        Some(Publication {
            at: at.map_or(history.recorded, |at| at / 1000),
            before,
            reason: sink.reason.clone(),
            causes: nodes.iter().filter_map(of_node).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn changes_list_each_field_with_both_values() {
        let record = |sql: &str, input: &[u8]| KeyRecord {
            step: "csv".into(),
            version: 1,
            params: serde_json::json!({ "sql": sql, "quoting": "minimal" }),
            inputs: BTreeMap::from([("test".to_owned(), Digest::of_bytes(input))]),
        };
        assert_eq!(
            changes(&record("SELECT 1", b"a"), &record("SELECT 1", b"a")),
            []
        );
        let found = changes(&record("SELECT 1", b"a"), &record("SELECT 2", b"b"));
        let fields: Vec<&str> = found.iter().map(|change| change.field.as_str()).collect();
        assert_eq!(fields, ["inputs.test", "params.sql"]);
        assert_eq!(found[1].old, "SELECT 1");
        assert_eq!(found[1].new, "SELECT 2");
    }
}
