//! The input of detectors that predict answers: the test items or an even sample of them, their answers as numbers, and
//! the training rows.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};

use prep_failure::QuotedValue;

use crate::facts::{Channel, FactKey, FactValues, ItemFacts};
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Gain, Intended, Prediction, Targets, gain, predict_from_intended};
use crate::statistics::{Tests, mean};
use crate::table::{CellTexts, ColumnTable};
use crate::whole_groups;
use crate::world::{AnswerColumn, World};

/// Only the first answer columns, up to this number, are measured.
const MAX_LABELS: usize = 6;

pub(crate) struct View<'a> {
    pub world: &'a World,
    pub facts: &'a ItemFacts,
    /// Whether the baseline has features from the content of the items' files.
    pub has_content_features: bool,
    labels: Vec<(AnswerColumn, Targets)>,
    /// The baseline of each label. It is computed when a detector first needs it.
    baselines: Vec<OnceCell<Option<Prediction>>>,
}

/// If the intended features explain at least this fraction of the variance of the answers, most other facts cannot be
/// measured.
pub(crate) const MAX_MEASURABLE: f64 = 0.9;

/// If fewer test items than this are related to a training item, there is no finding.
const MIN_RELATED: usize = 15;

impl<'a> View<'a> {
    pub(crate) fn new(world: &'a World, facts: &'a ItemFacts) -> View<'a> {
        let mut labels = Vec::new();
        let divisions = whole_groups::divisions(world, facts);
        let orders = whole_groups::orders(world, facts);
        for label in &world.labels {
            let label = label.of_items(&world.chosen);
            let targets = Targets::new(&label).filter(|_| labels.len() < MAX_LABELS);
            if let Some(mut targets) = targets {
                targets.has_known_classes = has_known_classes(world, &label);
                targets.folds = whole_groups::folds(&divisions, &orders, &targets);
                labels.push((label, targets));
            }
        }
        let of_content = ["packed whole", "samples", "the length"];
        let has_features = facts.all.keys().any(|(channel, name)| {
            *channel == Channel::Look && of_content.iter().any(|start| name.starts_with(start))
        });
        View {
            world,
            facts,
            has_content_features: has_features,
            baselines: labels.iter().map(|_| OnceCell::new()).collect(),
            labels,
        }
    }

    pub(crate) fn targets(&self) -> impl Iterator<Item = (&AnswerColumn, &Targets)> {
        self.labels.iter().map(|(label, targets)| (label, targets))
    }

    pub(crate) fn cells<'b>(&self, values: &'b FactValues) -> Vec<Option<&'b str>> {
        let chosen = self.world.chosen.iter();
        chosen.map(|item| values.get(*item)).collect()
    }

    pub(crate) fn answer<'b>(&self, label: &'b AnswerColumn, place: usize) -> &'b str {
        label.values.get(place).unwrap_or_default()
    }

    pub(crate) fn id(&self, place: usize) -> &str {
        let item = self.world.chosen.get(place);
        item.and_then(|item| self.world.ids.get(*item))
            .map_or("", String::as_str)
    }

    /// Returns for up to three answers an item with this answer, if possible one whose cell is not empty.
    pub(crate) fn examples(&self, label: &AnswerColumn, cells: &[Option<&str>]) -> Vec<String> {
        let (mut seen, mut examples) = (HashSet::new(), Vec::new());
        let (full, empty): (Vec<_>, Vec<_>) = (cells.iter().enumerate())
            .partition(|(_, cell)| cell.is_some_and(|cell| !cell.trim().is_empty()));
        for (place, cell) in full.into_iter().chain(empty) {
            let answer = self.answer(label, place);
            if examples.len() < 3 && seen.insert(answer) {
                let quoted = |cell: &str| {
                    let start: String = cell.chars().take(60).collect();
                    QuotedValue(&start).to_string()
                };
                let cell = cell.map_or("none".to_owned(), quoted);
                examples.push(format!("{}: {cell}, answer {answer}", self.id(place)));
            }
        }
        examples
    }

    pub(crate) fn training(
        &self,
        label: &AnswerColumn,
        targets: &Targets,
    ) -> Option<(&'a ColumnTable, Vec<Vec<f64>>)> {
        let train = self.world.train_table(label)?;
        let rows = targets.encode(train.column(&label.name)?)?;
        Some((train, rows))
    }

    /// Measures how much a prediction improves on the baseline, and records the p-value.
    pub(crate) fn measure(
        &self,
        label: &AnswerColumn,
        targets: &Targets,
        prediction: &Prediction,
        tests: &mut Tests,
    ) -> Gain {
        let measured = gain(targets, self.baseline(label, targets), prediction);
        tests.record(measured.p);
        measured
    }

    /// Reports test items that are related to a training item, if the answers of these training items explain at least
    /// the fraction `min_gain` of the variance that the baseline leaves unexplained.
    ///
    /// `rows` contains, for each chosen test item, the row of the related training item. `what` describes the relation,
    /// for example `test rows are almost equal to a training row`.
    pub(crate) fn related(
        &self,
        detector: &'static str,
        what: &str,
        rows: &[Option<usize>],
        min_gain: f64,
        tests: &mut Tests,
    ) -> Option<LeakFinding> {
        let count = rows.iter().flatten().count();
        if count < MIN_RELATED {
            return None;
        }
        let (label, targets) = self.targets().next()?;
        let (train, answers) = self.training(label, targets)?;
        let answer = |row: &Option<usize>| answers.get((*row)?).cloned();
        let prediction = rows.iter().map(answer).collect();
        let measured = self.measure(label, targets, &prediction, tests);
        if measured.beyond < min_gain {
            return None;
        }
        let what = format!(
            "{count} of {} {what}; the answers of these training items explain {:.0} % of the variance of `{}` that the intended features leave unexplained",
            self.world.chosen.len(),
            100.0 * measured.beyond,
            label.name
        );
        let ids = self.world.train_ids(train);
        let name = |row: &Option<usize>| {
            let row = (*row)?;
            let id = ids.and_then(|ids| ids.get(row)).map(str::to_owned);
            Some(id.unwrap_or_else(|| format!("row {} of train", row + 1)))
        };
        let names: Vec<Option<String>> = rows.iter().map(name).collect();
        let cells: Vec<Option<&str>> = names.iter().map(Option::as_deref).collect();
        let finding = LeakFinding::new(LeakLevel::Risk, detector, what);
        let finding = finding.evidence(self.examples(label, &cells));
        Some(finding.p_value(measured.p))
    }

    /// Predicts the answer column `label` from the intended features. The prediction of each column is computed only once.
    pub(crate) fn baseline(&self, label: &AnswerColumn, targets: &Targets) -> Option<&Prediction> {
        let mut labels = self.labels.iter();
        let place = labels.position(|(known, _)| std::ptr::eq(known, label))?;
        let baseline = self.baselines.get(place)?;
        let baseline = baseline.get_or_init(|| self.predict_from(&|_| true, label, targets));
        baseline.as_ref()
    }

    /// Predicts the answer column `label` from the intended features for which `is_used` returns true.
    pub(crate) fn predict_from(
        &self,
        is_used: &dyn Fn(&FactKey) -> bool,
        label: &AnswerColumn,
        targets: &Targets,
    ) -> Option<Prediction> {
        let (train, rows) = self.training(label, targets).unzip();
        let mut intended = Vec::new();
        for (key, values) in &self.facts.all {
            let (channel, name) = key;
            if !channel.is_intended() || values.len() < 20 || !is_used(key) {
                continue;
            }
            let test = self.cells(values);
            if is_code(&test) {
                continue;
            }
            let column = column_of(*channel, name).and_then(|column| train?.column(column));
            let train = column.into_iter().flat_map(CellTexts::iter);
            let train = train.map(Some).collect();
            intended.push(Intended { test, train });
        }
        predict_from_intended(&intended, targets, &rows.unwrap_or_default())
    }
}

/// Returns the column of a test table whose cells are the values of a fact.
pub(crate) fn column_of(channel: Channel, name: &str) -> Option<&str> {
    let mut quoted = name.split('`').skip(1);
    quoted.next().filter(|_| channel == Channel::Column)
}

/// Returns whether at least half of the different answers also occur in the training part. Also returns true if no
/// training table contains this label.
fn has_known_classes(world: &World, label: &AnswerColumn) -> bool {
    let train = world
        .train_table(label)
        .and_then(|train| train.column(&label.name));
    train.is_none_or(|train| {
        let train: HashSet<&str> = train.iter().collect();
        let test: HashSet<&str> = label.values.iter().collect();
        test.intersection(&train).count() * 2 >= test.len()
    })
}

/// Returns whether the cells are codes, for example numbers of tickets, and not quantities. The first digits of codes
/// are uniformly distributed, but the first digits of quantities are mostly small. Therefore the mean first digit of
/// codes is larger. The mean is computed separately for each length of the cells.
fn is_code(cells: &[Option<&str>]) -> bool {
    let cells: Vec<&str> = cells.iter().flatten().map(|cell| cell.trim()).collect();
    let mut lengths: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for cell in &cells {
        let first = cell.chars().next().and_then(|c| c.to_digit(10));
        let firsts = lengths.entry(cell.len()).or_default();
        firsts.extend(first.map(f64::from));
    }
    let is_number = |cell: &&str| cell.len() >= 5 && cell.bytes().all(|byte| byte.is_ascii_digit());
    let different = cells.iter().collect::<HashSet<_>>().len();
    lengths.retain(|_, firsts| firsts.len() >= 20);
    cells.iter().all(is_number)
        && different * 10 >= cells.len() * 9
        && lengths.len() > 1
        && lengths.values().all(|firsts| mean(firsts) > 3.4)
}
