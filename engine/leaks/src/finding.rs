//! Findings of detectors, with their levels.

use serde::Serialize;

/// Levels of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeakLevel {
    /// Worth knowing; honest data have such things, too.
    Note,
    /// The parts are not apart: groups on both sides, copies, order.
    Risk,
    /// Answers can be read off.
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
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeakFinding {
    pub level: LeakLevel,
    /// The detector's name: part of the interface.
    pub detector: &'static str,
    /// The finding, in one sentence.
    pub what: String,
    /// A few examples, with exact values.
    pub evidence: Vec<String>,
    /// The chance of as much in data without a leak, where that was tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// Why the pipeline's authors accept it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
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
            accepted: None,
        }
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
