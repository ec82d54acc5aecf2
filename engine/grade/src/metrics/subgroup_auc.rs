//! `subgroup_auc`: area under the ROC curve, overall and for groups that must not be disadvantaged.

use serde::Deserialize;

use super::roc_auc::roc_auc;
use super::{Direction, Metric, MetricKind, Score, parse};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, Parameter, ParameterKind};
use crate::table::columns::ColumnSelection;
use crate::table::numbers::floats;
use crate::table::pair::Pair;

pub(super) static KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "subgroup_auc",
        summary: "Mean of four areas under the ROC curve: the overall one and three power means over groups.",
        details: "For each group, the area of three sets of rows: the group; its negative rows and the positive rows \
                  outside of it (BPSN); its positive rows and the negative rows outside of it (BNSP). Each is \
                  averaged over the groups by the power mean (mean(area^p))^(1/p). Rows are positive if the answer is \
                  1, and in a group if the group's column in the answers is 1. Each set needs positive and negative \
                  rows.",
        source: "Borkan et al. (2019), Nuanced Metrics for Measuring Unintended Bias",
        shorthand: None,
        parameters: &[
            Parameter::required(
                "column",
                ParameterKind::Column,
                "The label in the answers; the score in the submission.",
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
            .ok_or_else(|| self.one_sided(&self.column))?;
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
                *sum += area.ok_or_else(|| self.one_sided(name))?.powf(self.power);
            }
        }
        let means = sums.map(|sum| 0.25 * (sum / groups.len() as f64).powf(1.0 / self.power));
        Ok(Score::numpy(0.25 * overall + means.iter().sum::<f64>()))
    }
}

impl SubgroupAuc {
    fn one_sided(&self, group: &str) -> Refusal {
        let message = "the answers need positive and negative rows inside and outside of the group";
        Refusal::new(RefusalKind::Answers, message).in_column(group)
    }
}

struct Rows<'a> {
    positive: &'a [bool],
    scores: &'a [f64],
}

impl Rows<'_> {
    /// Returns the area for the selected rows; `None` unless there are positive and negative ones.
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
