//! The state of a competition as a sign with its words.

use maud::{Markup, html};
use prep_app::PreparedState;

use crate::collect::{Compared, Competition};

/// How a competition is doing. The order is that of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Bad,
    Fair,
    Good,
    /// Nothing is prepared.
    Empty,
}

/// A level with its words.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    pub level: Level,
    words: &'static str,
    /// What is special about good data.
    mark: Option<&'static str>,
}

impl Status {
    pub fn of(one: &Competition) -> Status {
        let (level, words) = match one.state {
            PreparedState::Prepared => return prepared(one),
            PreparedState::NotPrepared if one.problem.is_some() => {
                (Level::Bad, "pipeline has mistakes")
            }
            PreparedState::NotPrepared => (Level::Empty, "not prepared"),
            state @ PreparedState::Unchecked => (Level::Fair, state.problem().unwrap_or_default()),
            state => (Level::Bad, state.problem().unwrap_or_default()),
        };
        Status {
            level,
            words,
            mark: None,
        }
    }

    pub fn needs_attention(self) -> bool {
        matches!(self.level, Level::Bad | Level::Fair)
    }

    pub fn show(self) -> Markup {
        let class = match self.level {
            Level::Bad => "bad",
            Level::Fair => "fair",
            Level::Good => "good",
            Level::Empty => "none",
        };
        html! {
            span.state.(class) { (self.words) @if let Some(mark) = self.mark { ", " (mark) } }
        }
    }
}

/// The state of complete data. Those of an own pipeline are as good as any, unless its id is one of the benchmark's: then
/// they may be confused with the benchmark's data.
fn prepared(one: &Competition) -> Status {
    // For other variants no checksums are published, so there is nothing to verify.
    if one.is_other_variant()
        && one
            .files
            .iter()
            .all(|file| file.compared == Compared::OtherVariant)
    {
        return Status {
            level: Level::Good,
            words: "prepared",
            mark: None,
        };
    }
    let level = match &one.comparability {
        None => Level::Fair,
        Some(comparability) => match comparability.mark() {
            None => Level::Good,
            Some(_) if comparability.is_own() && one.sets.is_empty() => Level::Good,
            Some(_) if !comparability.is_own() && comparability.differs() => Level::Bad,
            Some(_) => Level::Fair,
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
