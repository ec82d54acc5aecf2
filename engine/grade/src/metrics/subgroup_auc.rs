//! `subgroup_auc`: area under the ROC curve, overall and for groups that must not be disadvantaged.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::roc_auc::{labels_and_scores, roc_auc};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, columns, required};
use crate::table::numbers::{ColumnSelection, floats};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "subgroup_auc",
        summary: "Mean of the overall area under the ROC curve and of three power means of such areas over groups.",
        details: "For each group, the area is computed for three sets of rows: all rows of the group; its negative \
                  rows and the positive rows outside of it (BPSN); its positive rows and the negative rows outside of \
                  it (BNSP). Each of these three areas is averaged over the groups with the power mean \
                  (mean(area^p))^(1/p). A row is positive if its label in the answers is 1. It belongs to a group if \
                  the group's column in the answers is 1. Each set needs positive and negative rows.",
        source: "Borkan et al. (2019), Nuanced Metrics for Measuring Unintended Bias",
        shorthand: None,
        parameters: &[
            column(
                "column",
                "The column with the label in the answers and the score in the submission.",
            ),
            columns("groups", "The answers' columns that define the groups."),
            required("power", KeyType::Number, "The power p of the means."),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<SubgroupAuc>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubgroupAuc {
    column: String,
    groups: ColumnSelection,
    power: f64,
}

impl Metric for SubgroupAuc {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (positive, scores) = labels_and_scores(pair, &self.column)?;
        let overall =
            area(&positive, &scores, |_| true).ok_or_else(|| needs_both_labels(&self.column))?;
        let groups = self.groups.resolve(&pair.answers);
        let mut sums = [0.0; 3];
        for name in &groups {
            let members = floats(&pair.answers.column(name)?)?;
            let member = |row: usize| members.get(row) == Some(&1.0);
            let is_positive = |row: usize| positive.get(row) == Some(&true);
            let areas = [
                area(&positive, &scores, member),
                area(&positive, &scores, |row| member(row) != is_positive(row)),
                area(&positive, &scores, |row| member(row) == is_positive(row)),
            ];
            for (sum, area) in sums.iter_mut().zip(areas) {
                let area = area.ok_or_else(|| needs_both_labels(name))?;
                *sum += area.powf(self.power);
            }
        }
        let means = sums.map(|sum| 0.25 * (sum / groups.len() as f64).powf(1.0 / self.power));
        Ok(Score::numpy(0.25 * overall + means.iter().sum::<f64>()))
    }
}

fn needs_both_labels(group: &str) -> Refusal {
    let message = "the answers need positive and negative rows inside and outside of the group";
    Refusal::new(RefusalKind::Answers, message).in_column(group)
}

/// Returns the area for the selected rows. `None` unless they include positive and negative rows.
fn area(positive: &[bool], scores: &[f64], selected: impl Fn(usize) -> bool) -> Option<f64> {
    let rows = positive.iter().copied().zip(scores.iter().copied());
    let rows = rows.enumerate().filter(|(row, _)| selected(*row));
    let (positive, scores): (Vec<bool>, Vec<f64>) = rows.map(|(_, row)| row).unzip();
    let both = positive.contains(&true) && positive.contains(&false);
    both.then(|| roc_auc(&positive, &scores))
}
