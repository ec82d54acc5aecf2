//! `subgroup_auc`: area under the ROC curve, overall and for groups that must not be disadvantaged.

use serde::Deserialize;

use super::roc_auc::roc_auc;
use super::{Direction, Metric, MetricKind, Score, parse};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, Parameter, ParameterKind};
use crate::table::columns::ColumnSelection;
use crate::table::numbers::floats;
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
            Parameter::required(
                "column",
                ParameterKind::Column,
                "The column with the label in the answers and the score in the submission.",
            ),
            Parameter::required(
                "groups",
                ParameterKind::Columns,
                "The answers' columns that define the groups.",
            ),
            Parameter::required("power", ParameterKind::Number, "The power p of the means."),
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
        let (answers, prediction) = pair.cells(&self.column)?;
        let scores = floats(&prediction)?;
        let positive: Vec<bool> = floats(&answers)?
            .iter()
            .map(|label| *label == 1.0)
            .collect();
        let rows = Rows {
            positive: &positive,
            scores: &scores,
        };
        let overall = rows
            .area(|_| true)
            .ok_or_else(|| self.needs_both_labels(&self.column))?;
        let groups = self.groups.resolve(&pair.answers);
        let mut sums = [0.0; 3];
        for name in &groups {
            let members = floats(&pair.answers.column(name)?)?;
            let member = |row: usize| members.get(row) == Some(&1.0);
            let positive = |row: usize| positive.get(row) == Some(&true);
            let areas = [
                rows.area(member),
                rows.area(|row| member(row) != positive(row)),
                rows.area(|row| member(row) == positive(row)),
            ];
            for (sum, area) in sums.iter_mut().zip(areas) {
                *sum += area
                    .ok_or_else(|| self.needs_both_labels(name))?
                    .powf(self.power);
            }
        }
        let means = sums.map(|sum| 0.25 * (sum / groups.len() as f64).powf(1.0 / self.power));
        Ok(Score::numpy(0.25 * overall + means.iter().sum::<f64>()))
    }
}

impl SubgroupAuc {
    fn needs_both_labels(&self, group: &str) -> Refusal {
        let message = "the answers need positive and negative rows inside and outside of the group";
        Refusal::new(RefusalKind::Answers, message).in_column(group)
    }
}

struct Rows<'a> {
    positive: &'a [bool],
    scores: &'a [f64],
}

impl Rows<'_> {
    /// Returns the area for the selected rows. `None` unless they include positive and negative rows.
    fn area(&self, selected: impl Fn(usize) -> bool) -> Option<f64> {
        let (positive, scores): (Vec<bool>, Vec<f64>) = self
            .positive
            .iter()
            .zip(self.scores)
            .enumerate()
            .filter(|(row, _)| selected(*row))
            .map(|(_, (positive, score))| (*positive, *score))
            .unzip();
        let both = positive.contains(&true) && positive.contains(&false);
        both.then(|| roc_auc(&positive, &scores))
    }
}
