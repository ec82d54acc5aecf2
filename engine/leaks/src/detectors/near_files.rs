//! `near-files`: finds pictures and sounds of test items that are almost copies of training files: saved again, scaled,
//! lighter, louder.
//!
//! The thresholds are relative to the distances in the data, because X-rays, for example, are more similar to each other
//! than photos are. A test file is near if the distance to its nearest training file is
//!
//! - at most 3 % of the mean distance of two files,
//! - at most 5 % of the 90th percentile of nearest-neighbour distances, so the detector finds nothing if nine of ten test
//!   files are copies,
//! - at most a quarter of the distance to the twentieth training file: many similar files are a template, or frames of one
//!   recording.
//!
//! Random points of k dimensions pass the second test with a probability of 2.3 times 0.05^k: 0.6 % for two dimensions,
//! 0.03 % for three. The detector assumes 1 %, and the p-value is the tail of the binomial distribution. Pictures that one
//! number describes, for example an object at different angles, pass by chance more often.

use std::collections::BTreeSet;

use super::Tests;
use crate::finding::{LeakFinding, LeakLevel};
use crate::sketch::{Medium, Sketch, Sketched};
use crate::statistics::{Random, tail_of_binomial};
use crate::world::World;

const NAME: &str = "near-files";

/// Test files that are compared turned, mirrored and inverted.
const MAX_TURNED: usize = 400;

/// Fraction of the mean distance of two files.
const OF_ALL: f64 = 0.03;
/// Fraction of the 90th percentile of nearest-neighbour distances.
const OF_NEAREST: f64 = 0.05;
/// Minimum ratio of the distance to the twentieth file.
const NEARER: f64 = 4.0;
const TWENTIETH: usize = 20;
/// Assumed probability that a file which is not a copy is near.
const CHANCE: f64 = 0.01;
/// Minimum files of either part. With fewer, usual distances are unknown.
const FEWEST: usize = 2 * TWENTIETH;

/// A test file and the training file that is nearest.
struct Neighbour<'a> {
    test: &'a Sketched,
    train: &'a Sketched,
    apart: f64,
    twentieth: f64,
    /// The change that makes the test file equal.
    how: &'static str,
}

pub(super) fn find(world: &World, tests: &mut Tests) -> Vec<LeakFinding> {
    let media = [Medium::Picture, Medium::Sound, Medium::Series];
    let mut found: Vec<LeakFinding> = Vec::new();
    for medium in media {
        let as_it_is = of(world, medium, false, tests);
        let is_found = as_it_is
            .as_ref()
            .is_some_and(|one| one.level > LeakLevel::Note);
        found.extend(as_it_is);
        if medium == Medium::Picture && !is_found {
            found.extend(of(world, medium, true, tests));
        }
    }
    found
}

/// With `turned`, pictures are compared turned, mirrored and inverted.
fn of(world: &World, medium: Medium, turned: bool, tests: &mut Tests) -> Option<LeakFinding> {
    let (test, train) = (
        world.gallery.test.of_medium(medium),
        world.gallery.train.of_medium(medium),
    );
    if test.len() < FEWEST || train.len() < FEWEST {
        return None;
    }
    // Each picture has fifteen variants, so fewer of them are compared.
    let step = match turned {
        true => test.len().div_ceil(MAX_TURNED),
        false => 1,
    };
    let test: Vec<&Sketched> = test.into_iter().step_by(step).collect();
    let equal: BTreeSet<(u64, u32)> = train.iter().map(|file| file.content).collect();
    let nearest = test
        .iter()
        .filter(|file| !equal.contains(&file.content))
        .filter_map(|file| match turned {
            true => nearest_turned(file, &train),
            false => nearest(file, &file.sketch, &train, f64::INFINITY),
        });
    let nearest: Vec<Neighbour> = nearest.collect();
    let mut distances: Vec<f64> = nearest.iter().map(|near| near.apart).collect();
    distances.sort_by(f64::total_cmp);
    let usual = *distances.get(distances.len() * 9 / 10)?;
    let most = (OF_ALL * average(&test, &train)).min(OF_NEAREST * usual);
    let near: Vec<&Neighbour> = nearest
        .iter()
        .filter(|near| near.apart <= most && near.apart * NEARER <= near.twentieth)
        .collect();
    let share = near.len() as f64 / test.len() as f64;
    if near.is_empty() {
        return None;
    }
    let p = tests.record(tail_of_binomial(test.len(), near.len(), CHANCE));
    let items: BTreeSet<Option<usize>> = near
        .iter()
        .map(|near| world.item_of_path(&near.test.path))
        .collect();
    let others: BTreeSet<&str> = near.iter().map(|near| near.train.path.as_str()).collect();
    let level = match items.len() >= 10 && others.len() >= 5 && share >= 2.0 * CHANCE {
        true => LeakLevel::Risk,
        false => LeakLevel::Note,
    };
    let looked = match world.gallery.test.is_sample() || world.gallery.train.is_sample() {
        true => format!(
            "; looked at: {} of the test and {} of the training part, drawn evenly",
            test.len(),
            train.len()
        ),
        false => String::new(),
    };
    let what = format!(
        "{} of {} {} of test items ({:.1} %) are nearly one of the training part{}{looked}",
        near.len(),
        test.len(),
        medium.name(),
        100.0 * share,
        if turned {
            ", turned, mirrored or inverted"
        } else {
            ""
        }
    );
    let examples = near.iter().map(|near| {
        let (test, train) = (&near.test.path, &near.train.path);
        format!(
            "{test} is near {train}{}: {:.4} apart, usual is {usual:.4}",
            near.how, near.apart
        )
    });
    Some(
        LeakFinding::new(level, NAME, what)
            .evidence(examples)
            .p_value(p),
    )
}

/// The nearest file to any variant of a picture.
fn nearest_turned<'a>(test: &'a Sketched, train: &[&'a Sketched]) -> Option<Neighbour<'a>> {
    let mut best: Option<Neighbour<'a>> = None;
    for (name, variant) in test.sketch.variants() {
        let most = best.as_ref().map_or(f64::INFINITY, |best| best.apart);
        if let Some(near) = nearest(test, &variant, train, most) {
            best = Some(Neighbour { how: name, ..near });
        }
    }
    best.map(|near| Neighbour {
        how: match near.how {
            "inverted" => " if it is inverted",
            "mirrored" => " if it is mirrored",
            "upside down" => " if it is upside down",
            _ => " if it is turned",
        },
        ..near
    })
}

/// The training file that is nearest to a sketch of a test file. `None` if it is not within `limit`.
fn nearest<'a>(
    test: &'a Sketched,
    sketch: &Sketch,
    train: &[&'a Sketched],
    limit: f64,
) -> Option<Neighbour<'a>> {
    let mut best: Vec<(f64, &Sketched)> = Vec::with_capacity(TWENTIETH + 1);
    let mut most = f64::INFINITY;
    // Most variants are near to nothing: they are given up without their twentieth neighbour.
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
        how: "",
    })
}

/// Returns the mean distance of two files: the median of some pairs.
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
