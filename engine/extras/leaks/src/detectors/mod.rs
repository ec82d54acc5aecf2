//! All detectors, by the kind of relation that they search for.

mod copies;
mod exact;
mod facts;
mod groups;
mod item_files;
mod kin;
mod near_files;
mod near_rows;
mod other_rows;
mod shown_before;

use crate::facts::ItemFacts;
use crate::finding::{LeakFinding, LeakLevel};
use crate::statistics::Tests;
use crate::view::View;
use crate::world::World;

/// The names of all detectors.
pub const NAMES: &[&str] = &[
    "shown-before",
    "answers-elsewhere",
    "rows",
    "near",
    "neighbours",
    "sample",
    "order",
    "size",
    "equal-files",
    "near-files",
    "groups",
    "column",
    "cells",
    "metadata",
    "names",
    "times",
    "packing",
    "ids",
    "masked",
];

/// Runs all detectors, the fastest ones first. `seen` contains the facts that were collected while the
/// files were read.
pub(crate) fn all(world: &World, seen: ItemFacts, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = item_files::find(world);
    found.extend(copies::find(world, tests));
    let facts = crate::facts::collect::collect(world, seen);
    let view = View::new(world, &facts);
    found.extend(shown_before::find(&view, tests));
    let verbatim = exact::find_verbatim(&view);
    found.extend(facts::find(&view, tests));
    found.extend(kin::find(&view, tests));
    found.extend(other_rows::find(&view, tests));
    if !found.iter().any(|one| one.detector == "groups") {
        found.extend(groups::find_families(&view, tests));
    }
    found.extend(near_rows::find(&view, tests));
    let copies = near_files::find(world, tests);
    if !copies.iter().any(|one| one.level > LeakLevel::Note) {
        found.extend(near_files::find_shifted(&view, tests));
    }
    found.extend(copies);
    found.extend(groups::find_hidden_names(world));
    found.extend(verbatim);
    found
}
