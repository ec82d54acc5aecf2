//! Converts answers to numbers, so that predictions can be measured by the variance that they explain.

use std::collections::HashMap;

use crate::cells::Cells;
use crate::statistics::{counts, finite, ranks};
use crate::world::Label;

/// Maximum number of classes with a column. Rarer classes have 0 in all columns.
const MAX_CLASSES: usize = 6;

/// Answers as rows of numbers. Classes have a column of 1 and 0 for each of the most frequent classes. Numbers have one
/// column with their normal scores, so that outliers do not dominate.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    pub width: usize,
    /// The answers of test items.
    pub test: Vec<Vec<f64>>,
    classes: Option<Vec<String>>,
    /// The test answers as sorted numbers, to find the rank of a training answer.
    sorted: Vec<f64>,
}

impl Targets {
    /// Converts the answers of test items. `None` if they are neither classes nor numbers, or all equal.
    pub(crate) fn new(label: &Label) -> Option<Targets> {
        if label.is_class() {
            let mut frequent: Vec<(&str, usize)> =
                counts(label.values.iter()).into_iter().collect();
            frequent.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
            let most = match frequent.len() {
                2 => 1,
                _ => MAX_CLASSES,
            };
            let classes = frequent.into_iter().take(most);
            let classes: Vec<String> = classes.map(|(class, _)| class.to_owned()).collect();
            let mut targets = Targets {
                width: classes.len(),
                test: Vec::new(),
                classes: Some(classes),
                sorted: Vec::new(),
            };
            targets.test = targets.encode(&label.values)?;
            return Some(targets);
        }
        let numbers = label.numbers.as_ref()?;
        let mut sorted = finite(numbers);
        sorted.sort_by(f64::total_cmp);
        if sorted.first() == sorted.last() {
            return None;
        }
        let scores = ranks(numbers).into_iter();
        let scores = scores.map(|rank| vec![score(rank, numbers.len())]);
        Some(Targets {
            width: 1,
            test: scores.collect(),
            classes: None,
            sorted,
        })
    }

    /// Converts further answers in the same way, for example those of training items. `None` if most of them are
    /// neither known classes nor numbers.
    pub(crate) fn encode(&self, answers: &Cells) -> Option<Vec<Vec<f64>>> {
        if let Some(classes) = &self.classes {
            let places: HashMap<&str, usize> =
                classes.iter().map(String::as_str).zip(0..).collect();
            let mut known = 0_usize;
            let encode = |answer: &str| {
                let mut row = vec![0.0; classes.len()];
                if let Some(cell) = places.get(answer).and_then(|place| row.get_mut(*place)) {
                    *cell = 1.0;
                    known += 1;
                }
                row
            };
            let rows: Vec<Vec<f64>> = answers.iter().map(encode).collect();
            return (known > 0).then_some(rows);
        }
        let place = |answer: &str| {
            let number: f64 = answer.trim().parse().ok()?;
            let below = self.sorted.partition_point(|one| *one < number);
            let upto = self.sorted.partition_point(|one| *one <= number);
            Some(vec![score((below + upto) as f64 / 2.0, self.sorted.len())])
        };
        let rows: Vec<Option<Vec<f64>>> = answers.iter().map(place).collect();
        let known = rows.iter().flatten().count();
        (known * 10 >= rows.len() * 9 && known > 0).then(|| {
            let fill = |row: Option<Vec<f64>>| row.unwrap_or_else(|| vec![0.0]);
            rows.into_iter().map(fill).collect()
        })
    }
}

/// Returns the normal score of a rank, by an approximation of the normal quantile that is exact to three digits.
fn score(rank: f64, count: usize) -> f64 {
    let share = ((rank + 0.5) / (count as f64 + 1.0)).clamp(1e-6, 1.0 - 1e-6);
    let tail = share.min(1.0 - share);
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + 0.802_853 * t + 0.010_328 * t * t;
    let below = 1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t;
    let quantile = t - above / below;
    if share < 0.5 { -quantile } else { quantile }
}
