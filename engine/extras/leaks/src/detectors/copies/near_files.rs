//! `near-files`: finds pictures and sounds of test items that are almost copies of training files, for example
//! compressed again, scaled, brighter or louder.
//!
//! The thresholds are relative to the distances in the data, because X-rays, for example, are more similar to each
//! other than photos are. A test file is near if the distance to its nearest training file is
//!
//! - at most 3 % of the mean distance between two files,
//! - at most 5 % of the 90th percentile of nearest-neighbour distances, so the detector finds nothing if nine of ten test
//!   files are copies,
//! - at most a quarter of the distance to the twentieth training file: many similar files are a template, or frames of one
//!   recording.
//!
//! Random points of k dimensions pass the second test with a probability of 2.3 times 0.05^k: 0.6 % for two dimensions,
//! 0.03 % for three. The detector assumes 1 %, and the p-value is the tail of the binomial distribution. Pictures that
//! one number describes, for example an object at different angles, pass by chance more often.
//!
//! It also finds pictures and sounds of test items that share a section with a training file, for example cropped
//! pictures, frames of the same film, or sections of the same recording.
//!
//! Two files share a section if several of their fingerprints are equal and shifted by the same distance. Files can
//! also share a form or a background without a leak. So the detector reports the variance that the answers of these
//! training files explain beyond the intended features.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::finding::{LeakFinding, LeakLevel};
use crate::paths::stem;
use crate::sketch::{Medium, Sketch, Sketched};
use crate::statistics::{Random, Tests, tail_of_binomial};
use crate::view::View;
use crate::world::{ContentDigest, World};

const NAME: &str = "near-files";

/// Maximum number of test files that are compared rotated, mirrored and inverted.
const MAX_ROTATED: usize = 400;

/// Maximum distance as a fraction of the mean distance between two files.
const MAX_OF_MEAN: f64 = 0.03;
/// Maximum distance as a fraction of the 90th percentile of nearest-neighbour distances.
const MAX_OF_NEAREST: f64 = 0.05;
/// Minimum ratio of the distance to the twentieth file and the distance to the nearest file.
const MIN_RATIO: f64 = 4.0;
const TWENTIETH: usize = 20;
/// Assumed probability that a file is near by chance.
const CHANCE: f64 = 0.01;
/// Minimum number of files in each part. With fewer files, typical distances are unknown.
const MIN_FILES: usize = 2 * TWENTIETH;

/// A test file and its nearest training file.
struct Neighbour<'a> {
    test: &'a Sketched,
    train: &'a Sketched,
    apart: f64,
    twentieth: f64,
    /// The transformation of the test file, for the message.
    transformation: &'static str,
}

pub(crate) fn find(world: &World, tests: &mut Tests) -> Vec<LeakFinding> {
    let media = [Medium::Picture, Medium::Sound, Medium::Series];
    let mut found: Vec<LeakFinding> = Vec::new();
    for medium in media {
        let as_it_is = find_near(world, medium, false, tests);
        let level = as_it_is.as_ref().map(|one| one.level);
        let is_found = level > Some(LeakLevel::Note);
        found.extend(as_it_is);
        if medium == Medium::Picture && !is_found {
            found.extend(find_near(world, medium, true, tests));
        }
    }
    found
}

/// Finds near files. If `rotated` is set, pictures are compared rotated, mirrored and inverted.
fn find_near(
    world: &World,
    medium: Medium,
    rotated: bool,
    tests: &mut Tests,
) -> Option<LeakFinding> {
    let (test, train) = (
        world.public.gallery.test.of_medium(medium),
        world.public.gallery.train.of_medium(medium),
    );
    if test.len() < MIN_FILES || train.len() < MIN_FILES {
        return None;
    }
    // Each picture has fifteen variants, so fewer pictures are compared.
    let step = match rotated {
        true => test.len().div_ceil(MAX_ROTATED),
        false => 1,
    };
    let test: Vec<&Sketched> = test.into_iter().step_by(step).collect();
    let equal: BTreeSet<ContentDigest> = train.iter().map(|file| file.content).collect();
    let other = test.iter().filter(|file| !equal.contains(&file.content));
    let nearest = other.filter_map(|file| match rotated {
        true => nearest_rotated(file, &train),
        false => nearest(file, &file.sketch, &train, f64::INFINITY),
    });
    let nearest: Vec<Neighbour> = nearest.collect();
    let mut distances: Vec<f64> = nearest.iter().map(|near| near.apart).collect();
    distances.sort_by(f64::total_cmp);
    let usual = *distances.get(distances.len() * 9 / 10)?;
    let most = (MAX_OF_MEAN * average(&test, &train)).min(MAX_OF_NEAREST * usual);
    let near: Vec<&Neighbour> = nearest
        .iter()
        .filter(|near| near.apart <= most && near.apart * MIN_RATIO <= near.twentieth)
        .collect();
    let share = near.len() as f64 / test.len() as f64;
    if near.is_empty() {
        return None;
    }
    let p = tests.record(tail_of_binomial(test.len(), near.len(), CHANCE));
    let items = near.iter().map(|near| world.item_of_path(&near.test.path));
    let items: BTreeSet<Option<usize>> = items.collect();
    let others: BTreeSet<&str> = near.iter().map(|near| near.train.path.as_str()).collect();
    let is_strong = items.len() >= 10 && others.len() >= 5 && share >= 2.0 * CHANCE;
    let level = LeakLevel::Risk.if_strong(is_strong);
    let examined =
        match world.public.gallery.test.is_sample() || world.public.gallery.train.is_sample() {
            true => format!(
                "; an even sample of {} test files and {} training files was examined",
                test.len(),
                train.len()
            ),
            false => String::new(),
        };
    let how = match rotated {
        true => ", rotated, mirrored or inverted",
        false => "",
    };
    let what = format!(
        "{} of {} {} of test items ({:.1} %) are almost equal to a training file{}{examined}",
        near.len(),
        test.len(),
        medium.name(),
        100.0 * share,
        how
    );
    let examples = near.iter().map(|near| {
        let (test, train) = (&near.test.path, &near.train.path);
        format!(
            "{test} is near {train}{}: the distance is {:.4}, typical is {usual:.4}",
            near.transformation, near.apart
        )
    });
    let finding = LeakFinding::new(level, NAME, what).evidence(examples);
    Some(finding.p_value(p))
}

/// Returns the training file that is nearest to any variant of a picture.
fn nearest_rotated<'a>(test: &'a Sketched, train: &[&'a Sketched]) -> Option<Neighbour<'a>> {
    let mut best: Option<Neighbour<'a>> = None;
    for (name, variant) in test.sketch.variants() {
        let most = best.as_ref().map_or(f64::INFINITY, |best| best.apart);
        if let Some(near) = nearest(test, &variant, train, most) {
            best = Some(Neighbour {
                transformation: name,
                ..near
            });
        }
    }
    best.map(|near| Neighbour {
        transformation: match near.transformation {
            "inverted" => " if it is inverted",
            "mirrored" => " if it is mirrored",
            "upside down" => " if it is upside down",
            _ => " if it is rotated",
        },
        ..near
    })
}

/// Returns the training file that is nearest to a sketch of a test file. `None` if no file is within `limit`.
fn nearest<'a>(
    test: &'a Sketched,
    sketch: &Sketch,
    train: &[&'a Sketched],
    limit: f64,
) -> Option<Neighbour<'a>> {
    let mut best: Vec<(f64, &Sketched)> = Vec::with_capacity(TWENTIETH + 1);
    let mut most = f64::INFINITY;
    // Most variants have no near file, so their twentieth neighbour is not computed.
    if limit < f64::INFINITY
        && !train
            .iter()
            .any(|other| sketch.distance(&other.sketch, limit).is_some())
    {
        return None;
    }
    for other in train {
        let Some(apart) = sketch.distance(&other.sketch, most) else {
            continue;
        };
        let place = best.partition_point(|(known, _)| *known <= apart);
        best.insert(place, (apart, other));
        best.truncate(TWENTIETH);
        if best.len() == TWENTIETH {
            most = best.last().map_or(most, |(last, _)| *last);
        }
    }
    let ((apart, train), (twentieth, _)) = (*best.first()?, *best.last()?);
    Some(Neighbour {
        test,
        train,
        apart,
        twentieth,
        transformation: "",
    })
}

/// Estimates the mean distance between two files as the median of some pairs.
fn average(test: &[&Sketched], train: &[&Sketched]) -> f64 {
    let mut random = Random::new(0xfade);
    let pair = |_| {
        let (one, other) = (
            test.get(random.below(test.len()))?,
            train.get(random.below(train.len()))?,
        );
        one.sketch.distance(&other.sketch, f64::INFINITY)
    };
    let mut distances: Vec<f64> = (0..999).filter_map(pair).collect();
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(0.0)
}

/// Minimum number of test files that share a section with a training file.
const MIN_SHIFTED_FILES: usize = 15;

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

pub(crate) fn find_shifted(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
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
    let equal: BTreeSet<ContentDigest> = known.iter().map(|file| file.content).collect();
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
    if count < MIN_SHIFTED_FILES {
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
