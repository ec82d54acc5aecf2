//! Variants: a pipeline with differences laid over it.

use crate::yaml::{Kind, Node};

/// Lays `patch` over `base`: mappings are merged key by key, everything else is replaced, and null removes the
/// key. New keys come last, in the patch's order.
pub fn merge(base: &mut Node, patch: &Node) {
    let (Kind::Mapping(entries), Kind::Mapping(changes)) = (&mut base.kind, &patch.kind) else {
        *base = patch.clone();
        return;
    };
    for change in changes {
        let place = entries.iter().position(|entry| entry.key == change.key);
        match place {
            Some(place) if change.value.is_null() => {
                entries.remove(place);
            }
            Some(place) => {
                if let Some(entry) = entries.get_mut(place) {
                    merge(&mut entry.value, &change.value);
                }
            }
            None => entries.push(change.clone()),
        }
    }
}
