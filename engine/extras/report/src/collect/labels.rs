//! Computes the distributions of labels in train and test.
//!
//! Labels are the columns that are named in the settings of the pipeline's metric. They come from several tables:
//!
//! - Test labels come from the answers.
//! - Train labels come from a column of the same name in a table of `public`.
//! - If the answers have one column per class (one-hot), the names of these columns are the labels. Train labels then come
//!   from a column of `public` with these names as values.
//!
//! The HTML page shows only which fraction of the answers has each label. It names only values that occur in `public`.

use std::collections::BTreeMap;
use std::path::Path;

use prep_formats::pandas::{CellValue, Frame, FrameColumn};
use prep_grade::Grader;
use prep_spec::{Pipeline, one_line};
use serde_json::Value;

use crate::collect::tables;
use crate::collect::tables::PublicTable;

const MAX_LABELS: usize = 4;
/// Only this number of the most frequent classes have their own bar. One bar shows the total of the others.
const MAX_CLASSES: usize = 10;
/// A column of numbers with at most this number of different values is treated as classes.
const MAX_CLASS_VALUES: usize = 12;
const BINS: usize = 24;

pub struct LabelChart {
    pub name: String,
    /// The table with the train labels, for example `train.csv`. `None` if there is no such table in `public`.
    pub train: Option<String>,
    pub spread: Spread,
}

pub enum Spread {
    /// The most frequent classes. If there are other classes, the last entry is their total.
    Classes(Vec<Shares>),
    /// A histogram with bins of equal width.
    Numbers {
        range: (f64, f64),
        bins: Vec<Shares>,
    },
}

/// A class or bin, with its fractions of the rows of train and test.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    pub name: String,
    pub train: Option<f64>,
    pub test: Option<f64>,
}

/// Returns the labels of a competition. If the answers are free text or not a table, returns no labels.
pub fn labels(prepared: &Path, pipeline: &Pipeline, tables: &[PublicTable]) -> Vec<LabelChart> {
    let Some(grade) = &pipeline.grade else {
        return Vec::new();
    };
    let answers = &grade.value.answers.value;
    let sample = &grade.value.sample.value;
    let Some((answers, _)) = tables::frame(&prepared.join(answers)) else {
        return Vec::new();
    };
    let mut names = true_columns(&grade.value.rules, &answers);
    if let (true, Some(metric)) = (names.is_empty(), grade.value.rules.get("metric")) {
        collect_texts(metric, pipeline, &mut names);
    }
    names.retain(|name| answers.column(name).is_some());
    names.dedup();
    let public: Vec<&PublicTable> = tables
        .iter()
        .filter(|table| table.path != *sample && !table.is_test())
        .collect();
    if let Some(one) = one_hot(&names, &answers, &public) {
        return vec![one];
    }
    let labels = names
        .iter()
        .filter_map(|name| label(name, &answers, &public));
    labels.take(MAX_LABELS).collect()
}

/// Returns the columns of the answers that contain the true values. If the metric is a query, returns no columns.
fn true_columns(rules: &Value, answers: &Frame) -> Vec<String> {
    let columns = answers.columns.iter().map(|column| column.name.clone());
    let columns: Vec<String> = columns.collect();
    Grader::parse(rules).map_or(Vec::new(), |grader| grader.true_columns(Some(&columns)))
}

/// Adds all strings in `value`, the setting of the metric, to `names`, because some of these strings name columns. If a
/// string is the name of a list in the pipeline, adds the strings in that list instead.
fn collect_texts(value: &Value, pipeline: &Pipeline, names: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let lists = pipeline.lists.iter();
            match lists.clone().find(|(name, _)| name.value == *text) {
                Some((_, list)) => names.extend(list.iter().cloned()),
                None => names.push(text.clone()),
            }
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect_texts(value, pipeline, names)),
        Value::Object(values) => values
            .values()
            .for_each(|value| collect_texts(value, pipeline, names)),
        _ => {}
    }
}

/// Returns the distribution of one-hot answers, which have a column for each class. Returns `None` unless the values of a
/// column in `public` are the names of these columns.
fn one_hot(names: &[String], answers: &Frame, public: &[&PublicTable]) -> Option<LabelChart> {
    if names.len() < 2 {
        return None;
    }
    let mut test = BTreeMap::new();
    for name in names {
        let sum: f64 = numbers(answers.column(name)?)?.iter().sum();
        test.insert(name.clone(), sum);
    }
    let (table, column, train) = public.iter().find_map(|table| {
        table.frame.columns.iter().find_map(|column| {
            let counts = counts(column)?;
            let all = counts.len() <= names.len() && counts.keys().all(|key| names.contains(key));
            all.then_some((table, column, counts))
        })
    })?;
    Some(LabelChart {
        name: column.name.clone(),
        train: Some(table.name().to_owned()),
        spread: classes(Some(&train), &test)?,
    })
}

fn label(name: &str, answers: &Frame, public: &[&PublicTable]) -> Option<LabelChart> {
    let test = answers.column(name)?;
    let found = public
        .iter()
        .find_map(|table| Some((table, table.frame.column(name)?)));
    let train = found.map(|(_, column)| column);
    let spread = match (train.map(numbers), numbers(test)) {
        (None | Some(Some(_)), Some(own)) if !has_few_values(&own) => {
            histogram(train.and_then(numbers).as_deref(), &own)?
        }
        // If the column of train or of test contains text, both columns are treated as text.
        _ => classes(train.map(counts)?.as_ref(), &counts(test)?)?,
    };
    Some(LabelChart {
        name: name.to_owned(),
        train: found.map(|(table, _)| table.name().to_owned()),
        spread,
    })
}

fn has_few_values(values: &[f64]) -> bool {
    let mut seen: Vec<f64> = Vec::new();
    for value in values {
        if !seen.contains(value) {
            seen.push(*value);
        }
        if seen.len() > MAX_CLASS_VALUES {
            return false;
        }
    }
    // Few different integers are classes. Few different fractional numbers are classes only if the column has many rows,
    // because a short column cannot contain many different numbers.
    values.iter().all(|value| value.fract() == 0.0) || values.len() > 4 * MAX_CLASS_VALUES
}

/// Returns the finite numbers of a column. Returns `None` if the column contains text or booleans, or no finite number.
#[allow(clippy::cast_precision_loss)] // precise enough for a picture
fn numbers(column: &FrameColumn) -> Option<Vec<f64>> {
    let mut numbers = Vec::new();
    for cell in column.data.values() {
        numbers.extend(match cell {
            CellValue::Int(value) => Some(value as f64),
            CellValue::UInt(value) => Some(value as f64),
            CellValue::Float(value) => Some(value).filter(|value| value.is_finite()),
            CellValue::Missing => None,
            CellValue::Bool(_) | CellValue::Text(_) => return None,
        });
    }
    (!numbers.is_empty()).then_some(numbers)
}

/// Counts the occurrences of each value. Returns `None` if there are too many different values for classes.
fn counts(column: &FrameColumn) -> Option<BTreeMap<String, f64>> {
    let rows = column.data.len();
    let mut counts = BTreeMap::new();
    for row in 0..rows {
        let value = column.text(row).unwrap_or_else(|| "missing".to_owned());
        *counts.entry(value).or_insert(0.0) += 1.0;
        if counts.len() > 20_000 {
            return None;
        }
    }
    (counts.len() <= MAX_CLASS_VALUES || counts.len() * 2 <= rows).then_some(counts)
}

/// Returns the classes with their fractions, sorted by frequency in train.
///
/// If `train` is `None`, the names of the classes are secret. The classes are numbered and sorted by frequency in test.
fn classes(train: Option<&BTreeMap<String, f64>>, test: &BTreeMap<String, f64>) -> Option<Spread> {
    let total = |counts: &BTreeMap<String, f64>| counts.values().sum::<f64>();
    let (train_total, test_total) = (train.map(total), total(test));
    if test_total <= 0.0 || train_total.is_some_and(|sum| sum <= 0.0) {
        return None;
    }
    let mut order: Vec<(&String, f64)> = train
        .unwrap_or(test)
        .iter()
        .map(|(name, count)| (name, *count))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let shown = match train.is_some() && order.len() <= MAX_CLASS_VALUES {
        true => MAX_CLASS_VALUES,
        false => MAX_CLASSES,
    };
    let shares = |name, in_train: f64, in_test: f64| Shares {
        name,
        train: train_total.map(|total| in_train / total),
        test: Some(in_test / test_total),
    };
    let mut classes = Vec::new();
    let (mut rest_train, mut rest_test) = (train_total.unwrap_or(0.0), test_total);
    for (at, (name, count)) in order.iter().take(shown).enumerate() {
        let in_test = test.get(*name).copied().unwrap_or(0.0);
        rest_train -= count;
        rest_test -= in_test;
        let name = match train {
            Some(_) => one_line(name, tables::MAX_CHARACTERS),
            None => format!("class {}", at + 1),
        };
        classes.push(shares(name, *count, in_test));
    }
    if train.is_some() && rest_train.max(rest_test) > 0.5 {
        let name = match order.len().saturating_sub(shown) {
            0 => "not in train".to_owned(),
            more => format!("{more} others"),
        };
        classes.push(shares(name, rest_train, rest_test));
    }
    (train.is_some() || classes.len() > 1).then_some(Spread::Classes(classes))
}

/// Returns a histogram of the range between the quantiles 0.001 and 0.999. The first and the last bin also contain the
/// values outside of this range.
fn histogram(train: Option<&[f64]>, test: &[f64]) -> Option<Spread> {
    let mut all: Vec<f64> = train.unwrap_or(test).to_vec();
    all.sort_by(f64::total_cmp);
    let cut = all.len() / 1000;
    let low = *all.get(cut)?;
    let high = *all.get(all.len() - 1 - cut)?;
    if high <= low {
        return None;
    }
    let shares = |values: &[f64]| {
        let mut bins = vec![0.0; BINS];
        for value in values {
            if let Some(bin) = bins.get_mut(bin_of(*value, (low, high), BINS)) {
                *bin += 1.0;
            }
        }
        #[allow(clippy::cast_precision_loss)]
        let total = values.len() as f64;
        bins.into_iter().map(move |bin: f64| bin / total)
    };
    let train = train.map(|values| shares(values).collect::<Vec<f64>>());
    let bins = shares(test).enumerate().map(|(at, test)| Shares {
        name: String::new(),
        train: train.as_ref().and_then(|train| train.get(at).copied()),
        test: Some(test),
    });
    Some(Spread::Numbers {
        range: (low, high),
        bins: bins.collect(),
    })
}

/// Returns the index of the bin that contains `value`. `count` bins of equal width cover the range from `low` to
/// `high`.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
pub fn bin_of(value: f64, (low, high): (f64, f64), count: usize) -> usize {
    let count = count as f64;
    ((value - low) / (high - low) * count).clamp(0.0, count - 1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_formats::pandas::{ReadOptions, read_frame};

    fn frame(text: &str) -> Frame {
        read_frame(text.as_bytes(), &ReadOptions::default()).unwrap()
    }

    fn table(text: &str) -> PublicTable {
        PublicTable {
            path: "public/train.csv".into(),
            rows: None,
            frame: frame(text),
            is_complete: true,
        }
    }

    #[test]
    fn classes_that_are_not_public_are_not_named() {
        let train = table("id,y\n1,a\n2,a\n3,b\n4,b\n");
        let found = label("y", &frame("id,y\n5,a\n6,secret\n"), &[&train]).unwrap();
        let Spread::Classes(classes) = found.spread else {
            panic!("classes");
        };
        let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "not in train"]);
        assert_eq!((classes[2].train, classes[2].test), (Some(0.0), Some(0.5)));
    }

    #[test]
    fn one_hot_answers_are_matched_with_the_column_of_class_names() {
        let train = table("id,author\n1,A\n2,B\n3,A\n4,A\n");
        let rules = serde_json::json!({ "metric": { "log_loss": { "all_except": "id" } } });
        let answers = frame("id,A,B\n5,1,0\n6,0,1\n");
        let names = true_columns(&rules, &answers);
        let found = one_hot(&names, &answers, &[&train]).unwrap();
        assert_eq!(found.name, "author");
        let Spread::Classes(classes) = found.spread else {
            panic!("classes");
        };
        assert_eq!((classes[0].train, classes[0].test), (Some(0.75), Some(0.5)));
    }

    #[test]
    fn numbers_become_a_histogram_and_free_text_is_skipped() {
        let rows: String = (0..100)
            .map(|at| format!("{at},{}.5,t{at}\n", at % 50))
            .collect();
        let train = table(&format!("id,y,z\n{rows}"));
        let answers = frame(&format!("id,y,z\n{rows}"));
        let found = label("y", &answers, &[&train]).unwrap();
        let Spread::Numbers { range, bins } = found.spread else {
            panic!("numbers");
        };
        assert_eq!(range, (0.5, 49.5));
        let sum: f64 = bins.iter().filter_map(|bin| bin.test).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert!(label("z", &answers, &[&train]).is_none());
    }
}
