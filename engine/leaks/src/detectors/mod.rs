//! All detectors, one file each.

mod answers_elsewhere;
mod column;
mod equal_files;
mod exact;
mod facts;
mod families;
mod formula;
mod groups;
mod kin;
mod links;
mod near;
mod near_cells;
mod near_files;
mod near_rows;
mod near_shifted;
mod neighbours;
mod other_rows;
mod patterns;
mod rows;
mod shown_before;

pub(crate) use kin::stem;
pub(crate) use patterns::{is_train, pattern};

use prep_contents::{DecodingLimits, Result};

use crate::facts::Facts;
use crate::finding::{LeakFinding, LeakLevel};
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
    "combined",
];

/// The p-values of all statistical tests of the run, including those without a finding.
#[derive(Debug, Default)]
pub(crate) struct Tests {
    pub p_values: Vec<f64>,
}

impl Tests {
    /// Adds the p-value of a test, and returns it.
    pub(crate) fn record(&mut self, p: f64) -> f64 {
        self.p_values.push(p);
        p
    }
}

/// Runs all detectors, the fastest ones first, and returns their findings. `seen` contains the facts that were
/// collected while the files were read.
///
/// # Errors
/// If an array cannot be read.
pub(crate) fn all(
    world: &World,
    seen: Facts,
    tests: &mut Tests,
    limits: &DecodingLimits,
) -> Result<Vec<LeakFinding>> {
    let mut found = answers_elsewhere::find(world);
    found.extend(rows::find(world, tests));
    found.extend(near::find(world, tests));
    found.extend(neighbours::find(world, limits)?);
    let facts = world.all_facts(seen, limits);
    let view = View::new(world, &facts);
    found.extend(shown_before::find(&view, tests));
    found.extend(facts::find(&view, tests));
    found.extend(kin::find(&view, tests));
    found.extend(links::find(&view, tests));
    found.extend(other_rows::find(&view, tests));
    if !found.iter().any(|one| one.detector == "groups") {
        found.extend(families::find(&view, tests));
    }
    found.extend(near_rows::find(&view, tests));
    found.extend(near_cells::find(&view, tests));
    found.extend(equal_files::find(world));
    let copies = near_files::find(world, tests);
    if !copies.iter().any(|one| one.level > LeakLevel::Note) {
        found.extend(near_shifted::find(&view, tests));
    }
    found.extend(copies);
    found.extend(groups::find(world, tests));
    let columns = column::find(world, tests);
    found.retain(|one| !columns.iter().any(|column| is_of_column(one, column)));
    found.extend(columns);
    Ok(found)
}

/// Returns whether a finding about cells concerns a column that is already reported because of its values.
fn is_of_column(one: &LeakFinding, column: &LeakFinding) -> bool {
    let name = column.what.split('`').nth(1).unwrap_or_default();
    matches!(one.detector, "cells" | "combined") && one.what.contains(&format!("`{name}`"))
}
