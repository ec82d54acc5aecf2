//! How labels are distributed in train and test.
//!
//! Labels are the columns that the pipeline's metric names. The test labels come from the answers. The train labels come from a
//! column of the same name in a table of `public`. If the answers are one-hot, they come from a column whose values are the names
//! of the answers' columns. The page has only fractions of the answers, and only for values that occur in `public`.

use std::collections::BTreeMap;
use std::path::Path;

use prep_formats::pandas::{ColumnData, Frame, FrameColumn, ObjectValue};
use prep_spec::Pipeline;
use serde_json::Value;

use super::csv::{self, PublicTable};

/// Maximum labels of one competition that are drawn.
const LABELS: usize = 4;
/// Maximum classes that are drawn by name.
const CLASSES: usize = 10;
/// Numbers with at most this number of values are treated as classes.
const MAX_CLASS_VALUES: usize = 12;
/// Number of bars of a histogram.
const BINS: usize = 24;

/// One label.
pub struct LabelChart {
    pub name: String,
    /// The table with the train labels, for example `train.csv`. `None` if no table has them.
    pub train: Option<String>,
    pub spread: Spread,
}

/// The distribution of a label.
pub enum Spread {
    /// The most frequent classes with their fractions of train and test, and the fraction of all others.
    Classes(Vec<Shares>),
    /// Equal bins from `low` to `high`.
    Numbers {
        low: f64,
        high: f64,
        bins: Vec<Shares>,
    },
}

/// A class or bin with its fraction of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    pub name: String,
    pub train: Option<f64>,
    pub test: f64,
}

/// Returns the labels of a prepared competition. There are none if the answers are not a table or have free text.
pub fn labels(prepared: &Path, pipeline: &Pipeline, tables: &[PublicTable]) -> Vec<LabelChart> {
    let Some(grade) = &pipeline.grade else {
        return Vec::new();
    };
    let answers = &grade.value.answers.value;
    let sample = &grade.value.sample.value;
    let Some((answers, _)) = csv::frame(&prepared.join(answers)) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    if let Some(metric) = grade.value.rules.get("metric") {
        words(metric, pipeline, &mut names);
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
    labels.take(LABELS).collect()
}

/// Returns all texts of a setting, which include names of columns. A list of the pipeline is replaced by its texts.
fn words(value: &Value, pipeline: &Pipeline, names: &mut Vec<String>) {
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
            .for_each(|value| words(value, pipeline, names)),
        Value::Object(values) => values
            .values()
            .for_each(|value| words(value, pipeline, names)),
        _ => {}
    }
}

/// Returns the label of one-hot columns, whose names are the values of a column of `public`.
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
        (None | Some(Some(_)), Some(own)) if !is_few(&own) => {
            histogram(train.and_then(numbers).as_deref(), &own)?
        }
        // A single odd cell can make a column text in one part and numbers in the other. Both are then compared as text.
        _ => classes(train.map(counts)?.as_ref(), &counts(test)?)?,
    };
    Some(LabelChart {
        name: name.to_owned(),
        train: found.map(|(table, _)| table.name().to_owned()),
        spread,
    })
}

fn is_few(values: &[f64]) -> bool {
    let mut seen: Vec<f64> = Vec::new();
    for value in values {
        if !seen.contains(value) {
            seen.push(*value);
        }
        if seen.len() > MAX_CLASS_VALUES {
            return false;
        }
    }
    // In a small table, every number may be different.
    values.iter().all(|value| value.fract() == 0.0) || values.len() > 4 * MAX_CLASS_VALUES
}

/// Returns a column as numbers, without missing ones. `None` if it has text.
#[allow(clippy::cast_precision_loss)] // for a picture
fn numbers(column: &FrameColumn) -> Option<Vec<f64>> {
    let of = |cell: ObjectValue<'_>| match cell {
        ObjectValue::Int(value) => Some(Some(value as f64)),
        ObjectValue::UInt(value) => Some(Some(value as f64)),
        ObjectValue::Float(value) => Some(Some(value)),
        ObjectValue::Missing => Some(None),
        ObjectValue::Bool(_) | ObjectValue::Text(_) => None,
    };
    let values: Vec<f64> = match &column.data {
        ColumnData::Int64(values) => values.iter().map(|value| value as f64).collect(),
        ColumnData::UInt64(values) => values.iter().map(|value| *value as f64).collect(),
        ColumnData::Float64(values) => values.iter().collect(),
        ColumnData::Bool(_) => return None,
        ColumnData::Object(cells) => {
            let cells: Option<Vec<Option<f64>>> = cells.iter().map(of).collect();
            cells?.into_iter().flatten().collect()
        }
    };
    let values: Vec<f64> = values
        .into_iter()
        .filter(|value| value.is_finite())
        .collect();
    (!values.is_empty()).then_some(values)
}

/// Counts each value. `None` if nearly every row has a value of its own.
fn counts(column: &FrameColumn) -> Option<BTreeMap<String, f64>> {
    let rows = match &column.data {
        ColumnData::Int64(values) => values.len(),
        ColumnData::UInt64(values) => values.len(),
        ColumnData::Float64(values) => values.len(),
        ColumnData::Bool(values) => values.len(),
        ColumnData::Object(cells) => cells.len(),
    };
    let mut counts = BTreeMap::new();
    for row in 0..rows {
        let value = csv::text(column, row).unwrap_or_else(|| "missing".to_owned());
        *counts.entry(value).or_insert(0.0) += 1.0;
        if counts.len() > 20_000 {
            return None;
        }
    }
    (counts.len() <= MAX_CLASS_VALUES || counts.len() * 2 <= rows).then_some(counts)
}

fn classes(train: Option<&BTreeMap<String, f64>>, test: &BTreeMap<String, f64>) -> Option<Spread> {
    let total = |counts: &BTreeMap<String, f64>| counts.values().sum::<f64>();
    let of_test = total(test);
    let of_train = train.map(total);
    if of_test <= 0.0 || of_train.is_some_and(|sum| sum <= 0.0) {
        return None;
    }
    let Some((train, of_train)) = train.zip(of_train) else {
        return without_names(test, of_test);
    };
    let mut order: Vec<(&String, f64)> = train.iter().map(|(name, count)| (name, *count)).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let shown = if order.len() <= MAX_CLASS_VALUES {
        MAX_CLASS_VALUES
    } else {
        CLASSES
    };
    let mut classes = Vec::new();
    let (mut seen_train, mut seen_test) = (0.0, 0.0);
    for (name, count) in order.iter().take(shown) {
        let in_test = test.get(*name).copied().unwrap_or(0.0);
        seen_train += count;
        seen_test += in_test;
        classes.push(Shares {
            name: super::samples::shortened(name),
            train: Some(count / of_train),
            test: in_test / of_test,
        });
    }
    let (rest_train, rest_test) = (of_train - seen_train, of_test - seen_test);
    if rest_train > 0.5 || rest_test > 0.5 {
        let name = match order.len().saturating_sub(shown) {
            0 => "not in train".to_owned(),
            more => format!("{more} others"),
        };
        classes.push(Shares {
            name,
            train: Some(rest_train / of_train),
            test: rest_test / of_test,
        });
    }
    Some(Spread::Classes(classes))
}

/// If no table of `public` has the classes, the answers' classes are counted but not named.
fn without_names(test: &BTreeMap<String, f64>, of_test: f64) -> Option<Spread> {
    let mut order: Vec<f64> = test.values().copied().collect();
    order.sort_by(|a, b| b.total_cmp(a));
    let classes = order
        .iter()
        .take(CLASSES)
        .enumerate()
        .map(|(at, count)| Shares {
            name: format!("class {}", at + 1),
            train: None,
            test: count / of_test,
        });
    let classes: Vec<Shares> = classes.collect();
    (classes.len() > 1).then_some(Spread::Classes(classes))
}

/// Returns the range between the quantiles 0.001 and 0.999.
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
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let at =
                ((value - low) / (high - low) * BINS as f64).clamp(0.0, BINS as f64 - 1.0) as usize;
            if let Some(bin) = bins.get_mut(at) {
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
        test,
    });
    Some(Spread::Numbers {
        low,
        high,
        bins: bins.collect(),
    })
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
    fn a_class_that_is_not_public_is_not_named() {
        let train = table("id,y\n1,a\n2,a\n3,b\n4,b\n");
        let found = label("y", &frame("id,y\n5,a\n6,secret\n"), &[&train]).unwrap();
        let Spread::Classes(classes) = found.spread else {
            panic!("classes");
        };
        let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "not in train"]);
        assert_eq!((classes[2].train, classes[2].test), (Some(0.0), 0.5));
    }

    #[test]
    fn one_hot_answers_meet_the_column_of_names() {
        let train = table("id,author\n1,A\n2,B\n3,A\n4,A\n");
        let names = ["A".to_owned(), "B".to_owned()];
        let found = one_hot(&names, &frame("id,A,B\n5,1,0\n6,0,1\n"), &[&train]).unwrap();
        assert_eq!(found.name, "author");
        let Spread::Classes(classes) = found.spread else {
            panic!("classes");
        };
        assert_eq!((classes[0].train, classes[0].test), (Some(0.75), 0.5));
    }

    #[test]
    fn many_numbers_make_a_histogram_and_free_text_nothing() {
        let rows: String = (0..100)
            .map(|at| format!("{at},{}.5,t{at}\n", at % 50))
            .collect();
        let train = table(&format!("id,y,z\n{rows}"));
        let answers = frame(&format!("id,y,z\n{rows}"));
        let found = label("y", &answers, &[&train]).unwrap();
        let Spread::Numbers { low, high, bins } = found.spread else {
            panic!("numbers");
        };
        assert_eq!((low, high), (0.5, 49.5));
        let sum: f64 = bins.iter().map(|bin| bin.test).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert!(label("z", &answers, &[&train]).is_none());
    }
}
