//! The input of the detectors that measure facts: the chosen test items, their answers as numbers, and the training
//! rows.

use crate::facts::{Channel, Facts, Values};
use crate::model::{Baseline, Intended, Targets};
use crate::world::{Label, World};

/// Maximum number of answer columns that are measured.
const MAX_LABELS: usize = 6;

/// The chosen items with their facts, answers and training rows.
pub(crate) struct View<'a> {
    pub world: &'a World,
    pub facts: &'a Facts,
    /// Indices of the chosen test items.
    pub chosen: &'a [usize],
    /// Whether the baseline has features from the content of the items' files.
    pub has_content_features: bool,
    labels: Vec<(Label, Targets)>,
}

impl<'a> View<'a> {
    pub(crate) fn new(world: &'a World, facts: &'a Facts) -> View<'a> {
        let mut labels = Vec::new();
        for label in &world.labels {
            let label = label.of_items(&world.chosen);
            if let Some(targets) = Targets::new(&label).filter(|_| labels.len() < MAX_LABELS) {
                labels.push((label, targets));
            }
        }
        let has_features = facts.all.keys().any(|(channel, name)| {
            *channel == Channel::Look
                && (name.starts_with("packed whole")
                    || name.starts_with("samples")
                    || name.starts_with("the length"))
        });
        View {
            world,
            facts,
            chosen: &world.chosen,
            has_content_features: has_features,
            labels,
        }
    }

    pub(crate) fn targets(&self) -> impl Iterator<Item = (&Label, &Targets)> {
        self.labels.iter().map(|(label, targets)| (label, targets))
    }

    /// Returns the values of a fact for the chosen items.
    pub(crate) fn cells<'b>(&self, values: &'b Values) -> Vec<Option<&'b str>> {
        self.chosen.iter().map(|item| values.get(*item)).collect()
    }

    /// Returns the answer of the chosen item with this index.
    pub(crate) fn answer<'b>(&self, label: &'b Label, place: usize) -> &'b str {
        label.values.get(place).map_or("", String::as_str)
    }

    pub(crate) fn answers<'b>(&self, label: &'b Label) -> Vec<&'b str> {
        label.values.iter().map(String::as_str).collect()
    }

    pub(crate) fn id(&self, place: usize) -> &str {
        let item = self.chosen.get(place);
        item.and_then(|item| self.world.ids.get(*item))
            .map_or("", String::as_str)
    }

    /// Predicts the answers from the intended features.
    pub(crate) fn baseline(&self, label: &Label, targets: &Targets) -> Baseline {
        let train = self.world.train_table(label);
        let answers = train.and_then(|table| table.column(&label.name));
        let rows = answers.and_then(|answers| targets.encode(answers));
        let train = train.filter(|_| rows.is_some());
        let mut intended = Vec::new();
        for ((channel, name), values) in &self.facts.all {
            if !channel.is_intended() || values.len() < 20 {
                continue;
            }
            let test = self.cells(values);
            if is_code(&test) {
                continue;
            }
            let column = (*channel == Channel::Column)
                .then(|| name.split('`').nth(1))
                .flatten();
            let column = column.and_then(|column| train.and_then(|table| table.column(column)));
            intended.push(Intended {
                test,
                train: column.map_or(Vec::new(), |cells| {
                    cells.iter().map(|cell| Some(cell.as_str())).collect()
                }),
            });
        }
        Baseline::new(&intended, targets, &rows.unwrap_or_default())
    }
}

/// Returns whether numbers are codes of different lengths, for example of tickets. The first digits of codes are
/// uniformly distributed. The first digits of quantities are small, at least those of the longest numbers.
fn is_code(cells: &[Option<&str>]) -> bool {
    let mut lengths: std::collections::BTreeMap<usize, (f64, f64)> =
        std::collections::BTreeMap::new();
    let mut different = std::collections::HashSet::new();
    let mut count = 0_usize;
    for cell in cells.iter().flatten() {
        let cell = cell.trim();
        let Some(first) = cell.chars().next().and_then(|c| c.to_digit(10)) else {
            return false;
        };
        if cell.len() < 5 || !cell.chars().all(|c| c.is_ascii_digit()) {
            return false;
        }
        let (sum, number) = lengths.entry(cell.len()).or_default();
        *sum += f64::from(first);
        *number += 1.0;
        different.insert(cell);
        count += 1;
    }
    let large: Vec<&(f64, f64)> = lengths
        .values()
        .filter(|(_, number)| *number >= 20.0)
        .collect();
    different.len() * 10 >= count * 9
        && large.len() > 1
        && large.iter().all(|(sum, number)| sum / number > 3.4)
}
