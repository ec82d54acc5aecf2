//! Adds directories to the kinds of files in findings: `test/.../ID.png` instead of `ID.png`.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::files::kind;
use crate::finding::LeakFinding;
use crate::world::{World, named_in};

/// If files of a kind are in more top-level directories than this, a finding contains only the kind, for example `ID.png`.
const MAX_NAMED: usize = 3;

/// Replaces `ID.png` and other kinds of items' files in the texts of findings with their paths.
pub(crate) fn add(world: &World, findings: &mut [LeakFinding]) {
    let is_kind = |one: &&mut LeakFinding| one.what.contains("ID.");
    let mut findings: Vec<&mut LeakFinding> = findings.iter_mut().filter(is_kind).collect();
    if findings.is_empty() {
        return;
    }
    let mut directories: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &world.public.files {
        let item = world.item_of_path(&file.path);
        let Some(id) = item.and_then(|item| world.ids.get(item)) else {
            continue;
        };
        let named = named_in(&file.path, id);
        let kind = kind(&file.path, named);
        let first = file.path.split_once('/').map_or("", |(first, _)| first);
        let first = if first.contains(named) { "ID" } else { first };
        let places = directories.entry(kind).or_default();
        places.insert(first.to_owned());
    }
    directories.retain(|kind, first| kind.starts_with("ID.") && first.len() <= MAX_NAMED);
    for (kind, first) in directories {
        let paths = first.iter().filter(|first| !first.is_empty());
        let paths: Vec<String> = paths.map(|first| format!("`{first}/.../{kind}`")).collect();
        for finding in findings.iter_mut().filter(|_| !paths.is_empty()) {
            let quoted = format!("`{kind}`");
            finding.what = finding.what.replace(&quoted, &paths.join(" or "));
        }
    }
}
