//! Applies the differences of a variant to a pipeline.

use crate::text::yaml::{Kind, YamlNode};

/// Applies `patch` to `base`. Mappings are merged key by key, other values are replaced, and null removes a key. New
/// keys are appended in the order of the patch.
pub fn merge(base: &mut YamlNode, patch: &YamlNode) {
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
