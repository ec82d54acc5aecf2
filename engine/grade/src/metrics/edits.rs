//! Metrics of the edit distance (Levenshtein distance) between two sequences: the minimum number of elements to insert,
//! delete or replace.
//!
//! The algorithm needs memory only for one sequence, the *pattern*. The pattern is the answer, so a huge cell of a
//! submission takes little memory.
//!
//! The algorithm processes 64 elements of the pattern at once: Myers, "A fast bit-vector algorithm for approximate string
//! matching based on dynamic programming" (1999), with Hyyrö's extension (2003) to patterns of any length.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Metric, MetricKind, Score};
use crate::python::{BigInteger, mean, words};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, optional, required};
use crate::table::column::{GradedColumn, text};
use crate::table::pair::Pair;
use crate::table::target::OtherCells;

pub(super) const MEAN_EDIT_DISTANCE: MetricKind = MetricKind::lower::<MeanEditDistance>(
    Definition {
        name: "mean_edit_distance",
        summary: "Mean Levenshtein distance of true and predicted text.",
        details: "Inserting, deleting or replacing a character costs 1. Characters are Unicode code points; case and \
              whitespace matter.",
        source: "Levenshtein (1966)",
        shorthand: Some("column"),
        parameters: &[
            column("column", "The column of texts."),
            optional(
                "other",
                KeyType::Choice(&["refuse", "print"]),
                "`refuse` (default): a cell that is not text is invalid. `print`: such a cell is converted to text, for \
                 example `1.0`, `True`, or `nan` for a missing cell.",
            ),
        ],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeanEditDistance {
    column: String,
    #[serde(default)]
    other: OtherCells,
}

impl Metric for MeanEditDistance {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        if self.other == OtherCells::Refuse {
            prediction.check_text()?;
            answers.check_text()?;
        }
        let distances: Vec<f64> = answers
            .values()
            .zip(prediction.values())
            .map(|(truth, predicted)| edit_distance(&text(truth), &text(predicted)) as f64)
            .collect();
        Ok(Score::numpy(mean(&distances)))
    }
}

pub(super) const TOKEN_ERROR_RATE: MetricKind = MetricKind::lower::<TokenErrorRate>(Definition {
    name: "token_error_rate",
    summary: "The number of edits that turn the predicted sequences into the true sequences, divided by the length \
              of the true sequences.",
    details: "The score is the sum of the Levenshtein distances between the predicted and the true sequence of each \
              row, divided by the number of elements of all true sequences. The score can exceed 1.\n\n\
              A cell lists elements, separated by whitespace. A missing cell is the text `nan`. With `tokens: \
              integers`, the elements are parsed as in Python: a sign, leading zeros and `_` between digits are valid, \
              but `5.0` is not. Integers that are equal modulo 2^61 - 1 are treated as equal, because Python gives \
              them the same hash.",
    source: "Word error rate; Levenshtein.distance on lists",
    shorthand: None,
    parameters: &[
        column("column", "The column of sequences."),
        required(
            "tokens",
            KeyType::Choice(&["words", "integers"]),
            "The type of the elements.",
        ),
    ],
});

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TokenSequences {
    Words,
    Integers,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenErrorRate {
    column: String,
    tokens: TokenSequences,
}

impl Metric for TokenErrorRate {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let (mut edits, mut length) = (0, 0);
        for row in 0..answers.len() {
            let (truth, predicted) = (text(answers.value(row)), text(prediction.value(row)));
            match self.tokens {
                TokenSequences::Words => {
                    let truth: Vec<&str> = words(&truth).collect();
                    length += truth.len();
                    edits += sequence_distance(&truth, words(&predicted));
                }
                TokenSequences::Integers => {
                    let truth = integers(&answers, row, &truth)?;
                    length += truth.len();
                    let predicted = integers(&prediction, row, &predicted)?;
                    edits += sequence_distance(&truth, predicted.into_iter());
                }
            }
        }
        Ok(Score::numpy(edits as f64 / length as f64))
    }
}

fn integers(column: &GradedColumn<'_>, row: usize, text: &str) -> Result<Vec<i64>, Refusal> {
    words(text)
        .map(|word| BigInteger::parse(word).map(|integer| integer.hash()))
        .collect::<Option<Vec<i64>>>()
        .ok_or_else(|| column.refuse(RefusalKind::Type, row, "integers, separated by whitespace"))
}

/// Returns the edit distance between two strings, in code points.
pub fn edit_distance(pattern: &str, text: &str) -> usize {
    if pattern == text {
        return 0;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    sequence_distance(&pattern, text.chars())
}

/// The values of 64 consecutive rows in one column of the distance matrix. Adjacent values differ by at most one, so two bit
/// masks store the differences.
///
/// A bit of `plus` is set if the value in the bit's row is one more than the value in the row above. A bit of `minus` is set
/// if the value is one less.
#[derive(Clone)]
struct Column {
    plus: u64,
    minus: u64,
}

/// Returns the edit distance between two sequences.
pub fn sequence_distance<T: Ord>(pattern: &[T], text: impl Iterator<Item = T>) -> usize {
    let words = pattern.len().div_ceil(64);
    if words == 0 {
        return text.count();
    }
    // `places` has a bit mask of positions for each distinct element of the pattern.
    let mut alphabet: Vec<&T> = pattern.iter().collect();
    alphabet.sort_unstable();
    alphabet.dedup();
    let mut places = vec![0_u64; alphabet.len() * words];
    for (place, element) in pattern.iter().enumerate() {
        let row = alphabet.partition_point(|other| *other < element) * words;
        if let Some(word) = places.get_mut(row + place / 64) {
            *word |= 1 << (place % 64);
        }
    }
    let no_matches = vec![0; words];
    let last = 1 << ((pattern.len() - 1) % 64);
    let all = Column {
        plus: u64::MAX,
        minus: 0,
    };
    let mut columns = vec![all; words];
    let mut distance = pattern.len();
    for element in text {
        let found = alphabet.binary_search(&&element).ok();
        let matches = found.and_then(|row| places.get(row * words..(row + 1) * words));
        // In the row above the current 64 rows, `add` is 1 if the value increases by one from the previous column to this
        // column, and `less` is 1 if the value decreases by one. In the row above the first row, the value always increases.
        let (mut add, mut less) = (1, 0);
        let mut ends = (0, 0);
        for (column, matches) in columns.iter_mut().zip(matches.unwrap_or(&no_matches)) {
            let Column { plus, minus } = *column;
            let vertical = matches | minus;
            let matches = matches | less;
            let horizontal = ((matches & plus).wrapping_add(plus) ^ plus) | matches;
            ends = (minus | !(horizontal | plus), plus & horizontal);
            let (up, down) = (ends.0 << 1 | add, ends.1 << 1 | less);
            (add, less) = (ends.0 >> 63, ends.1 >> 63);
            column.plus = down | !(vertical | up);
            column.minus = up & vertical;
        }
        distance += usize::from(ends.0 & last != 0);
        distance -= usize::from(ends.1 & last != 0);
    }
    distance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference implementation: computes the matrix of distances row by row.
    fn matrix_distance(a: &[u8], b: &[u8]) -> usize {
        let mut costs: Vec<usize> = (0..=b.len()).collect();
        for (row, from) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut costs[0], row + 1);
            for (column, to) in b.iter().enumerate() {
                let replaced = diagonal + usize::from(from != to);
                diagonal = costs[column + 1];
                costs[column + 1] = replaced.min(costs[column] + 1).min(diagonal + 1);
            }
        }
        costs[b.len()]
    }

    proptest! {
        #[test]
        fn distances_equal_those_of_the_matrix(
            a in prop::collection::vec(0..4_u8, 0..300),
            b in prop::collection::vec(0..5_u8, 0..300),
        ) {
            prop_assert_eq!(sequence_distance(&a, b.iter().copied()), matrix_distance(&a, &b));
        }
    }

    #[test]
    fn known_distances_are_computed() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("\u{e4}\u{1f600}", "a\u{1f600}\u{1f600}", 2),
        ] {
            assert_eq!(edit_distance(a, b), expected, "{a} {b}");
            assert_eq!(edit_distance(b, a), expected, "{b} {a}");
        }
    }

    /// Compares a cell of 8 MB with an answer of 300 characters.
    #[test]
    fn long_cells_take_linear_time() {
        let (answer, cell) = ("ab".repeat(150), "abcd".repeat(2 << 20));
        let started = std::time::Instant::now();
        assert_eq!(edit_distance(&answer, &cell), cell.len() - answer.len());
        // The matrix would have 2.5 billion cells.
        assert!(started.elapsed().as_secs() < 5);
    }
}
