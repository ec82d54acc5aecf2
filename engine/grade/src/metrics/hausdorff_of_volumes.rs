//! `hausdorff_of_volumes`: distance between volumes that are stacks of run-length encoded masks.

use std::collections::HashMap;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::mean_of_present;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::shapes::mask::{
    COLUMN, EMPTY, HEIGHT, Mask, MaskColumns, MaskSize, SURPLUS_ROWS, TRUTH, WIDTH,
};
use crate::shapes::volume::{MAX_VOXELS, Volume, hausdorff};
use crate::spec::definition::{Definition, column, optional, required};
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "hausdorff_of_volumes",
        summary: "Mean Hausdorff distance of stacks of run-length encoded masks, where 1 is the diagonal of a volume.",
        details: "In each table, the masks with the same identifier are combined to a slice. Slices whose identifiers \
                  are equal up to the text `stacked_by` form a volume, in the order of the identifiers. The volumes of \
                  both tables are paired in the order of their identifiers, and surplus volumes are left out. The \
                  distance is the larger of the two directed Hausdorff distances between the voxels' positions, \
                  divided along each axis by the size of the true volume, and then by the square root of 3. Pairs of \
                  empty volumes are left out. If only one volume is empty, or if the predicted volume has more than \
                  `most_times` as many voxels as the true volume, the distance is 1. If no pairs remain, the score is \
                  NaN. Masks are written as in `f_beta_of_masks`, column by column.",
        source: "scipy.spatial.distance.directed_hausdorff",
        shorthand: None,
        parameters: &[
            COLUMN,
            TRUTH,
            WIDTH,
            HEIGHT,
            EMPTY,
            column("slice", "The identifier of a slice, in both tables."),
            required(
                "stacked_by",
                KeyType::String,
                "The text in an identifier that ends the part that identifies the volume.",
            ),
            optional(
                "most_times",
                KeyType::Number,
                "If the predicted volume has more than this many times as many voxels as the true volume, the distance \
                 is 1 and is not computed; default: no limit.",
            ),
            SURPLUS_ROWS,
        ],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<HausdorffOfVolumes>,
};

#[derive(Debug, Deserialize)]
struct HausdorffOfVolumes {
    #[serde(flatten)]
    masks: MaskColumns,
    slice: String,
    stacked_by: String,
    most_times: Option<f64>,
}

impl Metric for HausdorffOfVolumes {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let masks = self.masks.read(pair)?;
        let predicted = pair.submission.column(&self.slice)?;
        let predicted = self.stack(&predicted, masks.predicted, &masks.sizes)?;
        let truth = self.stack(
            &pair.answers.column(&self.slice)?,
            masks.truth,
            &masks.sizes,
        )?;
        let distances = predicted
            .iter()
            .zip(&truth)
            .map(|(predicted, truth)| self.distance(predicted, truth))
            .collect::<Result<Vec<Option<f64>>, Refusal>>()?;
        Ok(Score::numpy(mean_of_present(&distances)))
    }

    fn rows(&self) -> RowPolicy {
        self.masks.rows()
    }
}

impl HausdorffOfVolumes {
    fn distance(&self, predicted: &Volume, truth: &Volume) -> Result<Option<f64>, Refusal> {
        let (found, expected) = (predicted.voxels(), truth.voxels());
        if found == 0 && expected == 0 {
            return Ok(None);
        }
        if predicted == truth {
            return Ok(Some(0.0));
        }
        let too_large = self
            .most_times
            .is_some_and(|times| found as f64 > times * expected as f64);
        if found == 0 || expected == 0 || too_large {
            return Ok(Some(1.0));
        }
        let distance = hausdorff(truth, predicted, truth).ok_or_else(|| {
            let message = format!("a volume spans more than {MAX_VOXELS} voxels");
            Refusal::new(RefusalKind::Ids, message).in_column(&self.slice)
        })?;
        Ok(Some(distance / 3f64.sqrt()))
    }

    fn stack(
        &self,
        ids: &GradedColumn<'_>,
        masks: Vec<Mask>,
        sizes: &[MaskSize],
    ) -> Result<Vec<Volume>, Refusal> {
        let mut rows: Vec<(&str, usize, Mask)> = Vec::with_capacity(masks.len());
        for (position, mask) in masks.into_iter().enumerate() {
            match ids.value(position) {
                CellValue::Text(id) => rows.push((id, position, mask)),
                CellValue::Missing => {
                    return Err(ids.refuse(RefusalKind::Missing, position, "the name of a slice"));
                }
                _ => return Err(ids.refuse(RefusalKind::Type, position, "the name of a slice")),
            }
        }
        rows.sort_by(|a, b| a.0.cmp(b.0));
        let mut volumes: Vec<Volume> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        // Several rows can contain masks of the same slice.
        for slice in rows.chunk_by(|one, other| one.0 == other.0) {
            let Some(&(id, _, _)) = slice.first() else {
                continue;
            };
            let name = id.split(self.stacked_by.as_str()).next().unwrap_or(id);
            let place = *places.entry(name).or_insert(volumes.len());
            for &(_, position, _) in slice {
                let size = sizes.get(position).copied().unwrap_or(MaskSize {
                    width: 0,
                    height: 0,
                });
                if place == volumes.len() {
                    let slices = Vec::new();
                    volumes.push(Volume { size, slices });
                }
                if volumes.get(place).is_some_and(|volume| volume.size != size) {
                    let expected = "slices of a volume to be of one size";
                    return Err(ids.refuse(RefusalKind::Ids, position, expected));
                }
            }
            let mask = Mask::union(slice.iter().map(|(_, _, mask)| mask));
            if let Some(volume) = volumes.get_mut(place) {
                volume.slices.push(mask);
            }
        }
        Ok(volumes)
    }
}
