//! All detectors. Files contain detectors that search for the same kind of relation.

mod answers;
mod copies;
mod relations;
mod shown_before;

use prep_contents::{DecodingLimits, Result};

use crate::facts::Facts;
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
    "combined",
    "masked",
];

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
    let mut found = answers::answers_elsewhere::find(world);
    found.extend(copies::rows::find(world, tests));
    found.extend(copies::near::find(world, tests));
    found.extend(relations::neighbours::find(world, limits)?);
    let facts = crate::facts::collect::collect(world, seen, limits);
    let view = View::new(world, &facts);
    found.extend(shown_before::find(&view, tests));
    let verbatim = answers::verbatim::find(&view);
    found.extend(answers::facts::find(&view, tests));
    found.extend(relations::kin::find(&view, tests));
    found.extend(relations::kin::find_links(&view, tests));
    found.extend(relations::other_rows::find(&view, tests));
    if !found.iter().any(|one| one.detector == "groups") {
        found.extend(relations::groups::find_families(&view, tests));
    }
    found.extend(copies::near_rows::find(&view, tests));
    found.extend(copies::near_rows::find_near_cells(&view, tests));
    found.extend(copies::rows::find_equal_files(world));
    let copies = copies::near_files::find(world, tests);
    if !copies.iter().any(|one| one.level > LeakLevel::Note) {
        found.extend(copies::near_files::find_shifted(&view, tests));
    }
    found.extend(copies);
    found.extend(relations::groups::find(world, tests));
    let columns = answers::column::find(world, tests);
    found.retain(|one| !columns.iter().any(|column| is_of_column(one, column)));
    found.extend(columns);
    found.extend(verbatim);
    Ok(found)
}

/// Returns whether a finding about cells concerns a column that is already reported because of its values.
fn is_of_column(one: &LeakFinding, column: &LeakFinding) -> bool {
    let name = column.what.split('`').nth(1).unwrap_or_default();
    matches!(one.detector, "cells" | "combined") && one.what.contains(&format!("`{name}`"))
}
