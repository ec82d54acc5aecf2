//! The state of a competition as a coloured label.

use maud::{Markup, html};
use prep_app::PreparedState;

use crate::collect::{CompetitionPage, OutputComparison};

/// The state of a competition. The most urgent one is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompetitionStatus {
    Bad,
    Fair,
    Good,
    /// Nothing is prepared.
    Empty,
}

/// A state with its text.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    pub level: CompetitionStatus,
    words: &'static str,
    /// A remark on good data, for example that nothing is published to compare it with.
    mark: Option<&'static str>,
}

impl Status {
    pub fn new(one: &CompetitionPage) -> Status {
        let (level, words) = match one.state {
            PreparedState::Prepared => return of_complete_data(one),
            PreparedState::NotPrepared if one.problem.is_some() => {
                (CompetitionStatus::Bad, "pipeline has mistakes")
            }
            PreparedState::NotPrepared => (CompetitionStatus::Empty, "not prepared"),
            state @ PreparedState::Unchecked => {
                (CompetitionStatus::Fair, state.problem().unwrap_or_default())
            }
            state => (CompetitionStatus::Bad, state.problem().unwrap_or_default()),
        };
        Status {
            level,
            words,
            mark: None,
        }
    }

    pub fn needs_attention(self) -> bool {
        matches!(self.level, CompetitionStatus::Bad | CompetitionStatus::Fair)
    }

    pub fn show(self) -> Markup {
        let class = match self.level {
            CompetitionStatus::Bad => "bad",
            CompetitionStatus::Fair => "fair",
            CompetitionStatus::Good => "good",
            CompetitionStatus::Empty => "none",
        };
        html! {
            span.state.(class) { (self.words) @if let Some(mark) = self.mark { ", " (mark) } }
        }
    }
}

/// Returns the state of complete data. Data of the user's own pipeline is good, unless the pipeline has an id of the
/// benchmark. Then readers could confuse it with the benchmark's data.
fn of_complete_data(one: &CompetitionPage) -> Status {
    // For other variants no checksums are published, so there is nothing to verify.
    if one.is_other_variant()
        && one
            .files
            .iter()
            .all(|file| file.compared == OutputComparison::OtherVariant)
    {
        return Status {
            level: CompetitionStatus::Good,
            words: "prepared",
            mark: None,
        };
    }
    let level = match &one.comparability {
        None => CompetitionStatus::Fair,
        Some(comparability) => match comparability.mark() {
            None => CompetitionStatus::Good,
            Some(_) if comparability.is_own() && one.sets.is_empty() => CompetitionStatus::Good,
            Some(_) if !comparability.is_own() && comparability.differs() => CompetitionStatus::Bad,
            Some(_) => CompetitionStatus::Fair,
        },
    };
    Status {
        level,
        words: "prepared",
        mark: match &one.comparability {
            None => Some("not verified"),
            Some(comparability) => comparability.mark(),
        },
    }
}
