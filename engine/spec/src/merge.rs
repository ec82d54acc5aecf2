//! Variants: a pipeline with differences laid over it.

use crate::yaml::{Kind, Node};

/// Lays `patch` over `base`: mappings are merged key by key, everything else is replaced, and null removes the key
/// (but not among columns, where it stands for a column without a type). New keys come last, in the patch's order.
pub fn merge(base: &mut Node, patch: &Node) {
    overlay(base, patch, true);
}

fn overlay(base: &mut Node, patch: &Node, removes: bool) {
    let (Kind::Mapping(entries), Kind::Mapping(changes)) = (&mut base.kind, &patch.kind) else {
        *base = patch.clone();
        return;
    };
    for change in changes {
        let place = entries.iter().position(|entry| entry.key == change.key);
        match place {
            Some(place) if removes && change.value.is_null() => {
                entries.remove(place);
            }
            Some(place) => {
                let columns = matches!(change.key.as_str(), "columns" | "features");
                if let Some(entry) = entries.get_mut(place) {
                    overlay(&mut entry.value, &change.value, !columns);
                }
            }
            None => entries.push(change.clone()),
        }
    }
}
