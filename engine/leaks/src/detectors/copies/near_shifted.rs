//! `near-files`: finds pictures and sounds of test items that share a section with a training file, for example cropped
//! pictures, frames of the same film, or sections of the same recording.
//!
//! Two files share a section if several of their fingerprints are equal and shifted by the same distance. Files can
//! also share a form or a background without a leak. So the detector reports the variance that the answers of these
//! training files explain beyond the intended features.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::finding::{LeakFinding, LeakLevel};
use crate::paths::stem;
use crate::sketch::{Medium, Sketched};
use crate::statistics::Tests;
use crate::view::View;

/// Minimum number of test files that share a section with a training file.
const MIN_FILES: usize = 15;

/// Minimum number of equal fingerprints with the same shift.
const MIN_EQUAL: usize = 6;

/// Maximum number of files with the same fingerprint. A more frequent fingerprint proves nothing.
const MAX_FILES: usize = 20;

/// Number of pixels by which equal shifts may differ.
const SHIFT_TOLERANCE: i64 = 8;

/// Minimum fraction of the remaining variance that the answers of these training files explain beyond the baseline.
const MIN_VARIANCE: f64 = 0.05;

/// For each fingerprint, the training files that have it, by their index, and its position in them.
type FilesOfFingerprint = HashMap<u32, Vec<(usize, (u32, u16))>>;

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let media = [Medium::Picture, Medium::Sound];
    media
        .into_iter()
        .filter_map(|medium| find_sharing(view, medium, tests))
        .collect()
}

/// Finds files of this kind that share a section.
fn find_sharing(view: &View<'_>, medium: Medium, tests: &mut Tests) -> Option<LeakFinding> {
    let (label, targets) = view.targets().next()?;
    let world = view.world;
    let (train, rows) = view.training(label, targets)?;
    let ids = world.train_ids(train)?;
    let row_of: HashMap<&str, usize> = ids.iter().map(stem).zip(0..).collect();
    let known = world.public.gallery.train.of_medium(medium);
    let equal: BTreeSet<(u64, u32)> = known.iter().map(|file| file.content).collect();
    let mut files_of = FilesOfFingerprint::new();
    for (number, file) in known.iter().enumerate() {
        for print in &file.prints {
            let files = files_of.entry(print.hash).or_default();
            if files.len() <= MAX_FILES {
                files.push((number, print.place));
            }
        }
    }
    let place_of: HashMap<usize, usize> = view.chosen.iter().copied().zip(0..).collect();
    let mut near: Vec<Option<(usize, &Sketched)>> = vec![None; view.chosen.len()];
    let mut count = 0_usize;
    for file in world.public.gallery.test.of_medium(medium) {
        let place = world.item_of_path(&file.path);
        let place = place.and_then(|item| place_of.get(&item));
        let Some(place) = place.filter(|_| !equal.contains(&file.content)) else {
            continue;
        };
        let Some(other) = sharing(file, &files_of, medium).and_then(|other| known.get(other))
        else {
            continue;
        };
        let row = row_of.get(stem(&other.path)).copied();
        if let Some((row, cell)) = row.zip(near.get_mut(*place)) {
            count += usize::from(cell.is_none());
            *cell = Some((row, other));
        }
    }
    if count < MIN_FILES {
        return None;
    }
    let answer = |one: &Option<(usize, &Sketched)>| rows.get(one.as_ref()?.0).cloned();
    let prediction = near.iter().map(answer).collect();
    let measured = view.measure(label, targets, &prediction, tests);
    if measured.beyond < MIN_VARIANCE {
        return None;
    }
    let what = format!(
        "{count} of {} {} of test items share a section with a training file, and the answers of these training files explain {:.0} % of the variance of `{}` that the intended features leave",
        view.chosen.len(),
        medium.name(),
        100.0 * measured.beyond,
        label.name
    );
    let files = near.iter().map(|one| Some(one.as_ref()?.1));
    let cells = files.map(|file| Some(file?.path.as_str()));
    let cells: Vec<Option<&str>> = cells.collect();
    let finding = LeakFinding::new(LeakLevel::Risk, "near-files", what);
    let finding = finding.evidence(view.examples(label, &cells));
    Some(finding.p_value(measured.p))
}

/// Returns the training file that shares the most fingerprints with the same shift.
fn sharing(file: &Sketched, files_of: &FilesOfFingerprint, medium: Medium) -> Option<usize> {
    let cell = match medium {
        Medium::Sound => 1,
        _ => SHIFT_TOLERANCE,
    };
    let mut votes: BTreeMap<(usize, i64, i64), usize> = BTreeMap::new();
    for print in &file.prints {
        let others = files_of.get(&print.hash);
        let others = others.filter(|others| others.len() <= MAX_FILES);
        for (other, place) in others.into_iter().flatten() {
            let across = i64::from(place.0) - i64::from(print.place.0);
            let down = i64::from(place.1) - i64::from(print.place.1);
            let distance = (*other, across.div_euclid(cell), down.div_euclid(cell));
            *votes.entry(distance).or_default() += 1;
        }
    }
    let best = votes.into_iter().max_by_key(|(_, count)| *count);
    best.filter(|(_, count)| *count >= MIN_EQUAL)
        .map(|((other, ..), _)| other)
}
