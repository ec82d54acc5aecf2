//! Samples of several overlapping sets, drawn by one Python generator, that keep the same share of each.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::SplitError;
use crate::python_random::PythonRandom;

/// Which members of a layer may still be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exclude {
    /// Not the members of earlier layers, drawn or not.
    Seen,
    /// Not the rows that earlier layers drew.
    Drawn,
}

/// One set of rows to be sampled.
#[derive(Debug, Clone, Copy)]
pub struct Layer<'a> {
    /// Members, each once, in the order from which Python draws.
    pub rows: &'a [u32],
    /// Which of them are candidates.
    pub exclude: Exclude,
}

/// Draws from every layer, in order, so that `fraction` of its members (halves to even) are drawn, counting those that
/// earlier layers drew. Gives the rows that each layer added, in the order drawn.
///
/// # Errors
/// [`SplitError::OutOfRange`] for a fraction outside 0..=1; [`SplitError::Quota`] for a layer without enough candidates,
/// or of which too many are drawn already.
pub fn nested_sample(
    fraction: f64,
    layers: &[Layer],
    seed: u64,
) -> Result<Vec<Vec<u32>>, SplitError> {
    if !(0.0..=1.0).contains(&fraction) {
        return Err(SplitError::OutOfRange {
            name: "fraction",
            value: fraction,
            low: 0.0,
            high: 1.0,
        });
    }
    let mut generator = PythonRandom::new(seed);
    let mut seen = HashSet::new();
    let mut drawn = HashSet::new();
    let mut added = Vec::with_capacity(layers.len());
    for (number, layer) in layers.iter().enumerate() {
        let excluded = match layer.exclude {
            Exclude::Seen => &seen,
            Exclude::Drawn => &drawn,
        };
        let candidates: Vec<u32> = layer
            .rows
            .iter()
            .copied()
            .filter(|row| !excluded.contains(row))
            .collect();
        let wanted = (fraction * layer.rows.len() as f64).round_ties_even() as i64;
        let quota = wanted - layer.rows.iter().filter(|row| drawn.contains(*row)).count() as i64;
        let refused = || SplitError::Quota {
            layer: number,
            quota,
            candidates: candidates.len(),
        };
        let population = u32::try_from(candidates.len()).map_err(|_| refused())?;
        let count = u32::try_from(quota)
            .ok()
            .filter(|count| *count <= population)
            .ok_or_else(refused)?;
        let places = generator.sample(population, count)?;
        let rows: Vec<u32> = places
            .into_iter()
            .map(|at| candidates[at as usize])
            .collect();
        seen.extend(layer.rows.iter().copied());
        drawn.extend(rows.iter().copied());
        added.push(rows);
    }
    Ok(added)
}
