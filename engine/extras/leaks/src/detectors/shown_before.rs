//! `shown-before`: finds information that is in the prepared test part, but not in the bundle's original test part.
//!
//! The authors of a competition decided what participants see about test items. A test part that is made from training
//! data must show nothing else, for example no column that only training data has.
//!
//! A finding needs no statistics, because the bundle is the proof. If the bundle has no test part, or only a stub,
//! nothing is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::facts;
use crate::facts::Channel;
use crate::finding::{LeakFinding, LeakLevel};
use crate::statistics::Tests;
use crate::text::{ContentKind, is_test, is_train, pattern};
use crate::view::View;
use crate::world::{PublicFile, World};

const NAME: &str = "shown-before";

/// If a group has fewer files, no name in them is recognized as an id, see [`NamesOfFiles::is_id`].
const MIN_ID_FILES: u64 = 10;

/// A finding lists at most this number of names, and counts the others.
const MAX_NAMES: usize = 20;

pub(super) fn find(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let world = view.world;
    let bundle = world.bundle.iter();
    let (own, train): (Vec<&PublicFile>, Vec<&PublicFile>) = bundle
        .filter(|file| is_test(&file.path) || is_train(&file.path))
        .partition(|file| is_test(&file.path));
    let shown = world.public.files.iter().filter(|file| {
        let path = &file.path;
        let is_item = !is_train(path) && world.item_of_path(path).is_some();
        (is_test(path) || is_item) && !world.is_sample(path)
    });
    let shown: Vec<&PublicFile> = shown.collect();
    if own.is_empty() || shown.is_empty() {
        return Vec::new();
    }
    let mut found = kinds(world, &own, &train, &shown);
    found.extend(names(view, tests, &own, &train, &shown));
    found
}

/// A value predicts the answers only if it explains at least this fraction of their variance.
const MIN_VARIANCE: f64 = 0.05;

/// Returns whether one of the fields or columns `names` predicts the answers. Also returns true if predictions cannot be
/// measured.
fn predicts(view: &View<'_>, tests: &mut Tests, names: &[String]) -> bool {
    let quoted = names
        .iter()
        .map(|name| name.rsplit('.').next().unwrap_or(name));
    let quoted: Vec<String> = quoted.map(|name| format!("`{name}`")).collect();
    let mut is_measurable = false;
    for (_, targets) in view.targets() {
        is_measurable = true;
        for ((channel, what), values) in &view.facts.all {
            let is_value = matches!(channel, Channel::Column | Channel::Field);
            if !is_value || !quoted.iter().any(|name| what.contains(name)) {
                continue;
            }
            let best = facts::best(*channel, &view.cells(values), targets, None);
            if let Some(best) = best {
                let (gain, p) = (best.gain, tests.record(best.gain.p));
                if gain.alone >= MIN_VARIANCE && p < 1e-4 {
                    return true;
                }
            }
        }
    }
    !is_measurable
}

fn patterns<'a>(files: &[&'a PublicFile]) -> BTreeMap<String, Vec<&'a PublicFile>> {
    let mut patterns: BTreeMap<String, Vec<&PublicFile>> = BTreeMap::new();
    for file in files {
        patterns.entry(pattern(&file.path)).or_default().push(file);
    }
    patterns
}

/// Finds kinds of files that are not in the original test part of the bundle.
fn kinds(
    world: &World,
    own: &[&PublicFile],
    train: &[&PublicFile],
    shown: &[&PublicFile],
) -> Vec<LeakFinding> {
    let (own, train, shown) = (patterns(own), patterns(train), patterns(shown));
    let mut found = Vec::new();
    // Files with the same pattern of names are of one kind. If no kind is in both test parts, the original test part is
    // a stub, or its files are named differently. Kinds with a single file are ignored.
    let counts = |(kind, files): (&String, &Vec<&PublicFile>)| {
        let is_single = files.len() < 2 && ContentKind::from_path(kind) != ContentKind::Records;
        shown.contains_key(kind) && !is_single
    };
    if !own.iter().any(counts) {
        return found;
    }
    for (kind, files) in &shown {
        if own.contains_key(kind) || !train.contains_key(kind) {
            continue;
        }
        let extension = |kind: &str| Path::new(kind).extension().map(ToOwned::to_owned);
        let mut same_end = own
            .keys()
            .filter(|other| extension(other) == extension(kind));
        if same_end.any(|other| !shown.contains_key(other)) {
            continue;
        }
        let items = files
            .iter()
            .filter_map(|file| world.item_of_path(&file.path));
        let items: BTreeSet<usize> = items.collect();
        let is_strong = items.len() * 2 >= world.ids.len() || files.len() >= 3;
        let level = LeakLevel::Leak.if_strong(is_strong);
        let what = format!(
            "test items have {} files `{kind}`; the original test part of the bundle has none, its training part has {}",
            files.len(),
            train.get(kind).map_or(0, Vec::len)
        );
        let examples = files.iter().map(|file| file.path.clone());
        found.push(LeakFinding::new(level, NAME, what).evidence(examples));
    }
    found
}

/// A format, and for text formats a pattern of file names. The columns and keys in files of a group are compared
/// between both test parts. The preparation may rename files in other formats, so their pattern is empty.
type FileGroup = (ContentKind, String);

/// The names of columns and keys in the files of a group.
#[derive(Default)]
struct NamesOfFiles<'a> {
    files: u64,
    /// For each name, the number of files that contain it.
    files_of: BTreeMap<&'a str, u64>,
}

impl<'a> NamesOfFiles<'a> {
    fn by_group(files: &[&'a PublicFile]) -> BTreeMap<FileGroup, NamesOfFiles<'a>> {
        let mut groups: BTreeMap<FileGroup, NamesOfFiles<'a>> = BTreeMap::new();
        for file in files.iter().filter(|file| !file.names.is_empty()) {
            let kind = ContentKind::from_path(&file.path);
            let pattern = if kind.is_text() {
                pattern(&file.path)
            } else {
                String::new()
            };
            let group = groups.entry((kind, pattern)).or_default();
            group.files += 1;
            for name in &file.names {
                *group.files_of.entry(name.as_str()).or_default() += 1;
            }
        }
        groups
    }

    fn has(&self, name: &str) -> bool {
        self.files_of.contains_key(name)
    }

    /// Returns whether a name that occurs in `files` files is an id. An id occurs in less than a tenth of all files,
    /// because different files contain different ids.
    fn is_id(&self, files: u64) -> bool {
        self.files >= MIN_ID_FILES && files * 10 < self.files
    }
}

/// Finds columns and keys that no file in the original test part of the bundle contains.
fn names(
    view: &View<'_>,
    tests: &mut Tests,
    own: &[&PublicFile],
    train: &[&PublicFile],
    shown: &[&PublicFile],
) -> Vec<LeakFinding> {
    let (own, shown_names) = (NamesOfFiles::by_group(own), NamesOfFiles::by_group(shown));
    let trained = train.iter().flat_map(|file| &file.names);
    let trained: BTreeSet<&str> = trained.map(String::as_str).collect();
    let mut found = Vec::new();
    for (group, names) in shown_names {
        // A stub has completely different names, or a single name.
        let is_stub = |before: &NamesOfFiles<'_>| {
            before.files_of.len() < 2 || !before.files_of.keys().any(|name| names.has(name))
        };
        let Some(before) = own.get(&group).filter(|before| !is_stub(before)) else {
            continue;
        };
        // If a list or object is empty in the original test part, its possible keys are unknown.
        let is_empty = |name: &str| {
            name.rsplit_once('.').is_some_and(|(parent, _)| {
                let prefix = format!("{parent}.");
                let mut names = before.files_of.keys();
                before.has(parent) && !names.any(|one| one.starts_with(&prefix))
            })
        };
        let new = names.files_of.iter().filter(|(name, files)| {
            !before.has(name) && trained.contains(*name) && !names.is_id(**files) && !is_empty(name)
        });
        let new: Vec<String> = new.map(|(name, _)| (*name).to_owned()).collect();
        if new.is_empty() {
            continue;
        }
        let some = new.iter().take(MAX_NAMES).map(|name| format!("`{name}`"));
        let mut listed = some.collect::<Vec<_>>().join(", ");
        if let Some(more) = new.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
            listed.push_str(&format!(" and {more} more"));
        }
        let what = format!(
            "test files show {listed} that the original test part of the bundle does not have"
        );
        let first = new.first().cloned().unwrap_or_default();
        let examples = shown
            .iter()
            .filter(|file| file.names.contains(&first))
            .map(|file| format!("{}: {first}", file.path));
        // Tables and JSON may contain additional harmless values, for example the size of a picture.
        let level = match group.0.is_text() {
            true if predicts(view, tests, &new) => LeakLevel::Risk,
            true => LeakLevel::Note,
            false => LeakLevel::Leak,
        };
        found.push(LeakFinding::new(level, NAME, what).evidence(examples));
    }
    found
}
