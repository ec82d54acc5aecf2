//! Parses lists of boxes from text cells: `label confidence x_min y_min x_max y_max ...`. The pipeline defines the
//! order of the fields.

use prep_spec::words::{KeyType, SectionKey};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::python::{python_float, words};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{optional, required};
use crate::table::column::{CellValue, GradedColumn};

pub const FIELDS: SectionKey = required(
    "fields",
    KeyType::Strings,
    "The words that describe a box, in their order.",
);

pub const SEPARATED_BY: SectionKey = optional(
    "separated_by",
    KeyType::Choice(&["blanks", "single_blanks"]),
    "Whether words are separated by any white space (default), or by exactly one space.",
);

/// How words are separated.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeparatedBy {
    #[default]
    Blanks,
    /// Exactly one space. Two consecutive spaces, or a space at the start or end, create an empty word.
    SingleBlanks,
}

impl SeparatedBy {
    fn split(self, text: &str) -> Vec<&str> {
        match self {
            SeparatedBy::Blanks => words(text).collect(),
            SeparatedBy::SingleBlanks if words(text).next().is_none() => Vec::new(),
            SeparatedBy::SingleBlanks => text.split(' ').collect(),
        }
    }
}

/// A box with its label. Each numeric field has a fixed index in `numbers`.
#[derive(Debug, Clone)]
pub struct Labelled<const N: usize> {
    pub label: String,
    /// The first one is the confidence.
    pub numbers: [f64; N],
}

impl<const N: usize> Labelled<N> {
    pub fn confidence(&self) -> f64 {
        self.numbers.first().copied().unwrap_or_default()
    }
}

/// The order of the label and the numbers of a box.
#[derive(Debug)]
pub struct Layout<const N: usize> {
    /// For each word of a box, its index in `numbers`, or `None` for the label.
    places: Vec<Option<usize>>,
}

impl<const N: usize> Layout<N> {
    /// Parses the names of the fields.
    ///
    /// # Errors
    /// If the fields are not `label` and the names in `numbers`, each once.
    pub fn parse<'de, D: Deserializer<'de>>(
        fields: D,
        numbers: [&str; N],
    ) -> Result<Self, D::Error> {
        let fields = Vec::<String>::deserialize(fields)?;
        let place = |field: &String| numbers.iter().position(|number| number == field);
        let places: Vec<Option<usize>> = fields.iter().map(place).collect();
        let known = fields
            .iter()
            .all(|field| field == "label" || place(field).is_some());
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if known && sorted.len() == fields.len() && fields.len() == N + 1 {
            Ok(Layout { places })
        } else {
            Err(D::Error::custom(format!(
                "expected the fields label, {}, each once",
                numbers.join(", ")
            )))
        }
    }

    /// Parses the boxes of each cell.
    ///
    /// # Errors
    /// If a cell is not text, if its number of words is not a multiple of the number of fields, or if a word is not a
    /// number.
    pub fn read(
        &self,
        column: &GradedColumn<'_>,
        separated_by: SeparatedBy,
    ) -> Result<Vec<Vec<Labelled<N>>>, Refusal> {
        let rows = 0..column.len();
        rows.map(|row| self.read_cell(column, row, separated_by))
            .collect()
    }

    /// Parses the boxes of one cell.
    ///
    /// # Errors
    /// Same as [`read`](Self::read).
    pub fn read_cell(
        &self,
        column: &GradedColumn<'_>,
        position: usize,
        separated_by: SeparatedBy,
    ) -> Result<Vec<Labelled<N>>, Refusal> {
        match column.value(position) {
            CellValue::Text(text) => self
                .parse_boxes(&separated_by.split(text))
                .map_err(|expected| column.refuse(RefusalKind::Type, position, &expected)),
            CellValue::Missing => Err(column.refuse(RefusalKind::Missing, position, "boxes")),
            _ => Err(column.refuse(RefusalKind::Type, position, "boxes, as text")),
        }
    }

    fn parse_boxes(&self, words: &[&str]) -> Result<Vec<Labelled<N>>, String> {
        let size = self.places.len();
        if !words.len().is_multiple_of(size) {
            return Err(format!(
                "{size} words for each box; there are {} words in total",
                words.len()
            ));
        }
        words
            .chunks_exact(size)
            .map(|words| self.labelled(words))
            .collect()
    }

    fn labelled(&self, words: &[&str]) -> Result<Labelled<N>, String> {
        let mut label = String::new();
        let mut numbers = [0.0; N];
        for (word, place) in words.iter().zip(&self.places) {
            match place.and_then(|place| numbers.get_mut(place)) {
                None => (*word).clone_into(&mut label),
                Some(number) => {
                    *number =
                        python_float(word).ok_or_else(|| format!("a number, not `{word}`"))?;
                }
            }
        }
        Ok(Labelled { label, numbers })
    }
}
