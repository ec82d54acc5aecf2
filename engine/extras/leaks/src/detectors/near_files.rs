//! `near-files`: finds pictures and sounds of test items that are almost copies of training files, for example compressed
//! again, scaled, brighter or louder.
//!
//! A test file is near a training file if the distance to its nearest training file meets the limits [`MAX_OF_MEAN`],
//! [`MAX_OF_NEAREST`] and [`MIN_RATIO`]. The limits are relative to the distances in the data, because X-rays, for
//! example, are more similar to each other than photos are.
//!
//! Random points in k dimensions meet [`MAX_OF_NEAREST`] with a probability of 2.3 times 0.05^k: 0.6 % for two
//! dimensions, 0.03 % for three. The p-value is the tail of the binomial distribution for a probability of 1 %.
//!
//! Test files that share a section with a training file are also found, for example cropped pictures, or frames of the
//! same film. Two files share a section if several fingerprints of both files are equal and shifted by the same distance.
//! Files can also share a background without a leak. Therefore these files are reported only if the answers of the
//! training files explain variance that the intended features leave unexplained.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use prep_contents::parallel;

use crate::finding::{LeakFinding, LeakLevel};
use crate::sketch::{ContentDigest, Medium, Sketch, Sketched};
use crate::statistics::{SplitMix, Tests, nearest, tail_of_binomial};
use crate::text::stem;
use crate::view::View;
use crate::world::World;

const NAME: &str = "near-files";

/// An even sample of at most this number of test files is also compared after rotating, mirroring and inverting.
const MAX_ROTATED: usize = 400;

/// The distance of a near file is at most this fraction of the mean distance between two files.
const MAX_OF_MEAN: f64 = 0.03;
/// The distance of a near file is also at most this fraction of the 90th percentile of nearest-neighbour distances.
const MAX_OF_NEAREST: f64 = 0.05;
/// The twentieth nearest training file must be at least this number of times as far away as the nearest one. Otherwise
/// many training files are about equally near, for example because they are frames of one recording.
const MIN_RATIO: f64 = 4.0;
const TWENTIETH: usize = 20;
/// Assumed probability that a file is near by chance.
const CHANCE: f64 = 0.01;
/// If one of the parts has fewer files than this, files are not compared, because typical distances are unknown.
const MIN_FILES: usize = 2 * TWENTIETH;

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

/// Finds test files that are near a training file. If `rotated` is true, rotated, mirrored and inverted variants of test
/// pictures are compared, too.
fn find_near(
    world: &World,
    medium: Medium,
    rotated: bool,
    tests: &mut Tests,
) -> Option<LeakFinding> {
    let gallery = &world.public.gallery;
    let (test, train) = (
        gallery.test.of_medium(medium),
        gallery.train.of_medium(medium),
    );
    if test.len() < MIN_FILES || train.len() < MIN_FILES {
        return None;
    }
    // If `rotated` is true, each picture has fifteen variants, so fewer pictures are compared.
    let step = match rotated {
        true => test.len().div_ceil(MAX_ROTATED),
        false => 1,
    };
    let test: Vec<&Sketched> = test.into_iter().step_by(step).collect();
    let equal: BTreeSet<ContentDigest> = train.iter().map(|file| file.content).collect();
    let other = test.iter().filter(|file| !equal.contains(&file.content));
    let other: Vec<&Sketched> = other.copied().collect();
    let nearest = parallel::map(&other, gallery.threads, |file| {
        Neighbour::find(file, &train, rotated)
    });
    let nearest: Vec<Neighbour> = nearest.into_iter().flatten().collect();
    let mut distances: Vec<f64> = nearest.iter().map(|near| near.apart).collect();
    distances.sort_by(f64::total_cmp);
    let usual = *distances.get(distances.len() * 9 / 10)?;
    let most = (MAX_OF_MEAN * average(&test, &train)).min(MAX_OF_NEAREST * usual);
    let near: Vec<&Neighbour> = nearest
        .iter()
        .filter(|near| near.apart <= most && near.apart * MIN_RATIO <= near.twentieth)
        .collect();
    let fraction = near.len() as f64 / test.len() as f64;
    if near.is_empty() {
        return None;
    }
    let p = tests.record(tail_of_binomial(test.len(), near.len(), CHANCE));
    let items = near.iter().map(|near| world.item_of_path(&near.test.path));
    let items: BTreeSet<Option<usize>> = items.collect();
    let others: BTreeSet<&str> = near.iter().map(|near| near.train.path.as_str()).collect();
    let is_strong = items.len() >= 10 && others.len() >= 5 && fraction >= 2.0 * CHANCE;
    let level = LeakLevel::Risk.if_strong(is_strong);
    let (compared, trained) = (test.len(), train.len());
    let examined = match gallery.test.is_sample() || gallery.train.is_sample() {
        true => format!(
            "; an even sample of {compared} test files and {trained} training files was examined"
        ),
        false => String::new(),
    };
    let how = match rotated {
        true => " after rotating, mirroring or inverting",
        false => "",
    };
    let what = format!(
        "{} of {} {} of test items ({:.1} %) are almost equal to a training file{}{examined}",
        near.len(),
        test.len(),
        medium.name(),
        100.0 * fraction,
        how
    );
    let examples = near.iter().map(|near| {
        let (test, train) = (&near.test.path, &near.train.path);
        format!(
            "{test}{} is near {train}: the distance is {:.4}, a typical distance is {usual:.4}",
            near.transformation, near.apart
        )
    });
    let finding = LeakFinding::new(level, NAME, what).evidence(examples);
    Some(finding.p_value(p))
}

impl<'a> Neighbour<'a> {
    /// Finds the training file that is nearest to a test file. If `rotated` is true, finds the training file that is nearest
    /// to any rotated, mirrored or inverted variant of a test picture.
    fn find(test: &'a Sketched, train: &[&'a Sketched], rotated: bool) -> Option<Neighbour<'a>> {
        let variants = match rotated {
            true => test.sketch.variants(),
            false => vec![("", test.sketch.clone())],
        };
        let sketches: Vec<&Sketch> = variants.iter().map(|(_, variant)| variant).collect();
        let bounds = match rotated {
            true => Sketch::lower_bounds(&sketches, train.iter().map(|file| &file.sketch)),
            false => vec![0.0],
        };
        let mut best: Option<Neighbour<'a>> = None;
        for ((transformation, variant), bound) in variants.iter().zip(bounds) {
            let limit = best.as_ref().map_or(f64::INFINITY, |best| best.apart);
            if bound >= limit {
                continue;
            }
            let distance = |place: usize, most| variant.distance(&train.get(place)?.sketch, most);
            // For most variants, no training file is nearer than the best one so far. Skip these variants without a search
            // for the twentieth nearest file.
            if rotated && (0..train.len()).all(|place| distance(place, limit).is_none()) {
                continue;
            }
            let (place, apart, twentieth) = nearest(train.len(), distance)?;
            best = Some(Neighbour {
                test,
                train: train.get(place)?,
                apart,
                twentieth,
                transformation,
            });
        }
        best
    }
}

/// Estimates the mean distance between two files as the median distance of random pairs.
fn average(test: &[&Sketched], train: &[&Sketched]) -> f64 {
    let mut random = SplitMix::new(0xfade);
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

/// Two files share a section if at least this number of their fingerprints are equal and have the same shift.
const MIN_EQUAL: usize = 6;

/// A fingerprint in more training files than this is ignored, because it proves nothing.
const MAX_FILES: usize = 20;

/// Shifts between two pictures are rounded to multiples of this number, so that nearly equal shifts are equal.
const SHIFT_TOLERANCE: i64 = 8;

/// For each hash of a fingerprint: the index of each training file with this fingerprint, and the fingerprint's position
/// in the file.
type FilesOfFingerprint = HashMap<u32, Vec<(usize, (u32, u16))>>;

pub(crate) fn find_shifted(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let media = [Medium::Picture, Medium::Sound];
    media
        .into_iter()
        .filter_map(|medium| find_sharing(view, medium, tests))
        .collect()
}

fn find_sharing(view: &View<'_>, medium: Medium, tests: &mut Tests) -> Option<LeakFinding> {
    let world = view.world;
    let (label, _) = view.targets().next()?;
    let ids = world.train_ids(world.train_table(label)?)?;
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
    let place_of: HashMap<usize, usize> = view.world.chosen.iter().copied().zip(0..).collect();
    let mut rows: Vec<Option<usize>> = vec![None; view.world.chosen.len()];
    for file in world.public.gallery.test.of_medium(medium) {
        let place = world.item_of_path(&file.path);
        let place = place.and_then(|item| place_of.get(&item));
        let Some(place) = place.filter(|_| !equal.contains(&file.content)) else {
            continue;
        };
        let other = sharing(file, &files_of, medium).and_then(|other| known.get(other));
        let row = other.and_then(|other| row_of.get(stem(&other.path)).copied());
        if let Some(cell) = rows.get_mut(*place).filter(|_| row.is_some()) {
            *cell = row;
        }
    }
    let media = medium.name();
    let what = format!("{media} of test items share a section with a training file");
    view.related(NAME, &what, &rows, 0.05, tests)
}

/// Returns the index of the training file that has the most fingerprints in common with `file`. Only fingerprints with
/// the same shift are counted together.
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
