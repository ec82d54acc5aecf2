//! Reads `expected.json` of a case and compares results with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::compare::{ExpectedContent, differs};
use crate::support::Snapshot;

/// Upstream generates this file, so the recorded data do not contain it.
const DESCRIPTION: &str = "public/description.md";

#[derive(Deserialize)]
pub struct Expected {
    prepared: BTreeMap<String, ExpectedContent>,
    grades: Vec<Grade>,
    /// Files whose content differs between runs of upstream.
    nondeterministic: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Grade {
    submission: String,
    #[serde(deserialize_with = "score")]
    score: Option<f64>,
    /// Upstream's score on a processor without AVX-512, if the processor's order of equal keys changes the score.
    #[serde(default, deserialize_with = "score")]
    score_without_avx512: Option<f64>,
}

/// Parses a number, or one of the strings `inf`, `-inf` and `nan`, because JSON has no such numbers.
pub fn score<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text.parse().map_err(D::Error::custom)?),
        number => number.as_f64(),
    })
}

impl Expected {
    pub fn read(path: &Path) -> Expected {
        let text = std::fs::read(path).expect("expected.json");
        serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn submissions(&self) -> impl Iterator<Item = &str> {
        self.grades.iter().map(|grade| grade.submission.as_str())
    }

    pub fn differing_files(&self, prepared: &Path) -> Vec<String> {
        let snapshot = Snapshot::of(prepared);
        let found = snapshot.contents();
        let mut wrong = Vec::new();
        for (path, expected) in &self.prepared {
            match found.get(path.trim_end_matches('/')) {
                None => wrong.push(format!("{path} is missing")),
                Some(_) if self.nondeterministic.contains(path) => {}
                Some(content) => {
                    if let Some(how) = differs(&prepared.join(path), content, expected) {
                        wrong.push(format!("{path} {how}"));
                    }
                }
            }
        }
        let surplus = snapshot
            .files()
            .filter(|path| *path != DESCRIPTION && !self.prepared.contains_key(*path));
        wrong.extend(surplus.map(|path| format!("{path} is surplus")));
        wrong
    }

    /// Returns submissions whose score differs from upstream's, or that only one of the programs scores.
    pub fn differing_scores(
        &self,
        directory: &Path,
        scores: &BTreeMap<PathBuf, Option<f64>>,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        for grade in &self.grades {
            let found = scores.get(&directory.join("submissions").join(&grade.submission));
            let right = found.is_some_and(|score| {
                is_same(*score, grade.score)
                    || grade.score_without_avx512.is_some()
                        && is_same(*score, grade.score_without_avx512)
            });
            if !right {
                let (name, expected) = (&grade.submission, grade.score);
                wrong.push(format!("{name} has score {found:?}, not {expected:?}"));
            }
        }
        wrong
    }
}

/// Compares five decimals, or the first eight digits of large scores.
fn is_same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) if a.is_finite() && b.is_finite() => {
            (a - b).abs() <= 1.01e-5 * (b.abs() * 1e-3).max(1.0)
        }
        (Some(a), Some(b)) => a == b || a.is_nan() && b.is_nan(),
        (None, None) => true,
        _ => false,
    }
}
