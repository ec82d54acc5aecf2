//! The answers that are predicted, and the contents of the public files.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use tempfile::TempPath;

use crate::cells::Cells;
use crate::facts::Facts;
use crate::facts::collect::Trained;
use crate::sketch::Gallery;
use crate::table::{Table, numbers};

/// A column of answers.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub name: String,
    /// The answer of each item. If an item has several rows, the first one.
    pub values: Cells,
    /// The answers in all rows of the chosen items, with their item.
    pub rows: Vec<(usize, String)>,
    pub numbers: Option<Vec<f64>>,
}

impl Label {
    /// Returns the label of these items only, in their order.
    pub(crate) fn of_items(&self, items: &[usize]) -> Label {
        let pick = |item: &usize| self.values.get(*item).unwrap_or_default();
        let values: Cells = items.iter().map(pick).collect();
        Label {
            name: self.name.clone(),
            numbers: numbers(&values),
            rows: values.iter().map(str::to_owned).enumerate().collect(),
            values,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_numbers(name: &str, numbers: &[f64]) -> Label {
        let values: Cells = numbers.iter().map(f64::to_string).collect();
        Label {
            name: name.to_owned(),
            rows: values.iter().map(str::to_owned).enumerate().collect(),
            values,
            numbers: Some(numbers.to_vec()),
        }
    }

    #[cfg(test)]
    pub(crate) fn of_classes(name: &str, classes: &[i32]) -> Label {
        let numbers: Vec<f64> = classes.iter().copied().map(f64::from).collect();
        Label::of_numbers(name, &numbers)
    }

    /// Returns whether the answers are classes: few different values, each of them frequent.
    pub(crate) fn is_class(&self) -> bool {
        let different: HashSet<&str> = self.values.iter().collect();
        different.len() > 1 && different.len() * 4 <= self.values.len()
    }
}

/// The contents of the public files.
#[derive(Default)]
pub(crate) struct PublicContent {
    pub tables: Vec<PublicTableFile>,
    pub arrays: Vec<PublicArray>,
    /// Lists in documents and MATLAB files with one value per test item: a description of their position, and their
    /// values.
    pub vectors: Vec<(String, Cells)>,
    /// Other texts, as path and content.
    pub texts: Vec<(String, String)>,
    pub files: Vec<PublicFile>,
    /// Files that were not read entirely, with the reason.
    pub unread: Vec<String>,
    /// Times and metadata of training files.
    pub trained: Trained,
    /// Sketches of pictures, sounds and series.
    pub gallery: Gallery,
    /// Facts from items' own files.
    pub facts: Facts,
    /// Series in files of test and training items.
    pub series: Vec<Series>,
}

/// The BLAKE3 digest of a file's content.
pub(crate) type ContentDigest = [u8; 32];

/// A public file, or a member of an archive.
#[derive(Debug, Clone, Default)]
pub(crate) struct PublicFile {
    pub path: String,
    pub bytes: u64,
    pub content: ContentDigest,
    /// Names of columns, keys, features or variables in the file.
    pub names: BTreeSet<String>,
    /// Width and height of an image.
    pub pixels: Option<(u64, u64)>,
}

/// A public table.
#[derive(Debug, Clone)]
pub(crate) struct PublicTableFile {
    pub path: String,
    pub table: Table,
    /// The column with the ids of test items, and the item of each row.
    pub items: Option<(usize, Vec<Option<usize>>)>,
}

/// A public array. It is read row by row.
#[derive(Debug)]
pub(crate) struct PublicArray {
    pub path: String,
    pub place: PathBuf,
    /// The temporary copy, if the array is an archive member.
    pub _taken: Option<TempPath>,
}

/// The numbers in an item's file, column by column, as bit patterns.
#[derive(Debug)]
pub(crate) struct Series {
    pub is_item: bool,
    pub numbers: Vec<u64>,
}
