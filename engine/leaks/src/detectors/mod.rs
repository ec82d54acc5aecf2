//! One file per detector.

mod answers_elsewhere;
mod column;
mod equal_files;
mod groups;
mod near;
mod near_files;
mod neighbours;
mod order;
mod patterns;
mod rows;
mod sample;
mod shown_before;
mod size;

pub(crate) use patterns::is_train;

use prep_contents::{Limits, Result};

use crate::finding::Finding;
use crate::world::World;

/// What a detector is called.
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
];

/// All tests that were made, whatever they came to.
#[derive(Debug, Default)]
pub(crate) struct Tests {
    pub p_values: Vec<f64>,
}

impl Tests {
    /// Notes a test.
    pub(crate) fn made(&mut self, p: f64) -> f64 {
        self.p_values.push(p);
        p
    }
}

/// Everything that is found, the cheapest detectors first.
///
/// # Errors
/// When an array cannot be read.
pub(crate) fn all(world: &World, tests: &mut Tests, limits: &Limits) -> Result<Vec<Finding>> {
    let mut found = shown_before::find(world);
    found.extend(answers_elsewhere::find(world));
    found.extend(rows::find(world));
    found.extend(near::find(world, tests));
    found.extend(neighbours::find(world, limits)?);
    found.extend(sample::find(world));
    found.extend(order::find(world, tests));
    found.extend(size::find(world, tests));
    found.extend(equal_files::find(world));
    found.extend(near_files::find(world, tests));
    found.extend(groups::find(world, tests));
    found.extend(column::find(world, tests));
    Ok(found)
}
