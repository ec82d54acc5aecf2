//! Shows the state of a competition as a coloured label.

use maud::{Markup, html};
use prep_app::PreparedState;

use crate::collect::{CompetitionPage, OutputComparison};

/// How urgent the state of a competition is. The most urgent level is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompetitionStatus {
    Bad,
    Fair,
    Good,
    /// Nothing is prepared.
    Empty,
}

/// The state of a competition: its level and its text.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    pub level: CompetitionStatus,
    words: &'static str,
    /// A remark on prepared data, for example `not verified`.
    mark: Option<&'static str>,
}

impl Status {
    pub fn new(competition: &CompetitionPage) -> Status {
        let (level, words) = match competition.state {
            PreparedState::Prepared => return complete_data_status(competition),
            PreparedState::NotPrepared if competition.problem.is_some() => {
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

/// Returns the state of complete data. Data of a custom pipeline are good, unless the pipeline has the id of a
/// benchmark competition. In that case, readers could confuse them with the benchmark's data.
fn complete_data_status(competition: &CompetitionPage) -> Status {
    // Other variants have no published checksums, so there is nothing to verify.
    if competition.is_other_variant()
        && competition
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
    let level = match &competition.comparability {
        None => CompetitionStatus::Fair,
        Some(comparability) => match comparability.mark() {
            None => CompetitionStatus::Good,
            Some(_) if comparability.is_own() && competition.sets.is_empty() => {
                CompetitionStatus::Good
            }
            Some(_) if !comparability.is_own() && comparability.differs() => CompetitionStatus::Bad,
            Some(_) => CompetitionStatus::Fair,
        },
    };
    Status {
        level,
        words: "prepared",
        mark: match &competition.comparability {
            None => Some("not verified"),
            Some(comparability) => comparability.mark(),
        },
    }
}
