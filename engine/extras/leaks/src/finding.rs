//! The findings of detectors and their levels, and the errors of a search.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use prep_contents::ContentsError;
use serde::Serialize;
use thiserror::Error;

use crate::facts::Channel;

/// The level of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeakLevel {
    /// Worth knowing, but also possible in data without a leak.
    Note,
    /// A side channel predicts many answers, for example the order of items, or copies or groups of test items in the
    /// training part.
    Risk,
    /// The answers can be read from public files.
    Leak,
}

impl LeakLevel {
    pub fn name(self) -> &'static str {
        match self {
            LeakLevel::Note => "note",
            LeakLevel::Risk => "risk",
            LeakLevel::Leak => "leak",
        }
    }

    /// Returns this level if the evidence is strong, otherwise a note.
    pub(crate) fn if_strong(self, is_strong: bool) -> LeakLevel {
        match is_strong {
            true => self,
            false => LeakLevel::Note,
        }
    }
}

/// A finding of a detector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeakFinding {
    pub level: LeakLevel,
    /// The detector's name. Pipelines use it under `accepted`, so it is part of the interface.
    pub detector: &'static str,
    /// Describes the finding in one sentence.
    pub what: String,
    /// Up to three examples, with exact values.
    pub evidence: Vec<String>,
    /// The probability of this finding in data without a leak, if that was tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// Suggests what to do.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub advice: &'static str,
    /// The reason why the pipeline accepts the finding. `None` if the pipeline does not accept it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// The channel of the fact, the fact, and the answer column, if the finding is about a single fact.
    #[serde(skip)]
    fact: Option<(Channel, String, String)>,
}

impl LeakFinding {
    pub(crate) fn new(
        level: LeakLevel,
        detector: &'static str,
        what: impl Into<String>,
    ) -> LeakFinding {
        LeakFinding {
            level,
            detector,
            what: what.into(),
            evidence: Vec::new(),
            p_value: None,
            advice: match level {
                LeakLevel::Note => "",
                _ => advice(detector),
            },
            accepted: None,
            fact: None,
        }
    }

    /// Adds the fact and the answer column that the finding is about.
    #[must_use]
    pub(crate) fn about(mut self, channel: Channel, fact: &str, label: &str) -> LeakFinding {
        self.fact = Some((channel, fact.to_owned(), label.to_owned()));
        match channel {
            _ if self.level == LeakLevel::Note => {}
            Channel::Code => {
                self.advice = "replace the codes with new random ones, or leave them out";
            }
            Channel::Missing => {
                self.advice =
                    "remove the column, or fill its missing cells, independently of the answer";
            }
            _ => {}
        }
        self
    }

    /// Returns the answer column, and the column, file or ids that reveal it. Two findings with the same result have the
    /// same cause. Returns `None` if the finding is not about a single fact.
    fn cause(&self) -> Option<(&str, &str, Vec<&str>)> {
        let (_, fact, label) = self.fact.as_ref()?;
        let is_place = |word: &&str| *word == "ids" || word.contains(['`', '.', '/']);
        let kind = match self.detector {
            "cells" | "groups" | "neighbours" => "column",
            "order" => "answers-elsewhere",
            other => other,
        };
        Some((label, kind, fact.split(' ').filter(is_place).collect()))
    }

    /// Returns the column and the file whose missing cells the finding is about. Returns only the file if the finding is about
    /// their number in a row. Empty for other findings.
    fn gaps(&self) -> Vec<&str> {
        let is_about = matches!(self.fact, Some((Channel::Missing, ..)));
        let cause = self.cause().filter(|_| is_about);
        cause.map_or(Vec::new(), |(.., places)| places)
    }

    /// Returns whether another finding has the same cause. The number of missing cells in a row results from the columns
    /// that lack cells.
    fn explains(&self, other: &LeakFinding) -> bool {
        let (own, others) = (self.gaps(), other.gaps());
        let is_part = !others.is_empty() && others.iter().all(|place| own.contains(place));
        let label = |one: &LeakFinding| one.cause().map(|(label, ..)| label.to_owned());
        self.cause() == other.cause() || is_part && label(self) == label(other)
    }

    #[must_use]
    pub(crate) fn evidence<T: Into<String>>(
        mut self,
        some: impl IntoIterator<Item = T>,
    ) -> LeakFinding {
        self.evidence
            .extend(some.into_iter().take(3).map(Into::into));
        self
    }

    #[must_use]
    pub(crate) fn p_value(mut self, p: f64) -> LeakFinding {
        self.p_value = Some(p);
        self
    }
}

/// The start of the line of evidence that names another fact with the same cause.
const ALSO: &str = "also: ";

/// At most this number of findings of a detector about facts is reported for each answer column.
const MAX_OF_DETECTOR: usize = 2;

/// Merges findings with the same cause, for example about two characters of the same code. Keeps the finding with the
/// highest level, and adds one of the other facts to its evidence. Findings of equal level are expected in the order of
/// their strength.
pub(crate) fn merge(mut findings: Vec<LeakFinding>) -> Vec<LeakFinding> {
    // If the values of a column or file are a leak, or the items that have a value, their spelling and order add nothing.
    findings.sort_by_key(|one| {
        let is_value = matches!(one.detector, "column" | "answers-elsewhere");
        (Reverse(one.level), !is_value, Reverse(one.gaps().len()))
    });
    let mut merged: Vec<LeakFinding> = Vec::new();
    for finding in findings {
        let Some((_, fact, label)) = &finding.fact else {
            merged.push(finding);
            continue;
        };
        let mut known = merged.iter_mut();
        if let Some(same) = known.find(|one| one.explains(&finding)) {
            let is_named = same.evidence.iter().any(|line| line.starts_with(ALSO));
            if !is_named && same.fact != finding.fact {
                same.evidence.push(format!("{ALSO}{fact}"));
            }
            continue;
        }
        let similar = merged.iter().filter(|one| one.detector == finding.detector);
        let labels = similar.filter_map(|one| Some(&one.fact.as_ref()?.2));
        if labels.filter(|own| *own == label).count() < MAX_OF_DETECTOR {
            merged.push(finding);
        }
    }
    merged
}

fn advice(detector: &str) -> &'static str {
    match detector {
        "shown-before" | "answers-elsewhere" => {
            "do not publish this file, column or field for test items"
        }
        "column" => {
            "remove the column, or its file if it has no other data, or derive the column without the answer"
        }
        "rows" | "near" | "near-files" | "equal-files" => {
            "put equal and similar items into the same part"
        }
        "groups" | "neighbours" => {
            "split by group or by time, so that related items are in the same part"
        }
        "sample" => "write the same value for all items into the sample submission",
        "order" => "shuffle the test items, and write all files in this order",
        "names" | "ids" => "give test items random ids and names",
        "times" | "packing" => "write files and archives again, with the same times and properties",
        "metadata" | "size" => {
            "write the files again with the same program and settings, without metadata"
        }
        "cells" => "write all cells in the same way, independently of the answer",
        "masked" => "make sure that in practice the feature is known before the answer",
        _ => "",
    }
}

/// An error that prevents a search.
#[derive(Debug, Error)]
pub enum LeaksError {
    #[error("cannot {} {}", cause.action(), path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: ContentsError,
    },
    #[error(
        "{0} is not a table with an id column that is in both the answers and the sample submission"
    )]
    NoIds(PathBuf),
}

pub(crate) fn failed(path: &Path, cause: ContentsError) -> LeaksError {
    let path = path.to_path_buf();
    LeaksError::Read { path, cause }
}
