//! Parses the sets of columns that rules and metrics name in a pipeline.

use serde::Deserialize;

use crate::table::pair::{Pair, Side};

/// One column, a list of columns, or all columns except some.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ColumnSelection {
    One(String),
    Many(Vec<String>),
    AllExcept {
        /// The excluded columns.
        all_except: Names,
        /// The table that has the columns.
        #[serde(default)]
        of: ColumnSide,
    },
}

/// The table whose columns are meant.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnSide {
    #[default]
    Answers,
    Submission,
}

/// One name or several names.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Names::One(other) => other == name,
            Names::Many(names) => names.iter().any(|other| other == name),
        }
    }
}

impl Default for ColumnSelection {
    /// All columns of the answers.
    fn default() -> Self {
        ColumnSelection::AllExcept {
            all_except: Names::Many(Vec::new()),
            of: ColumnSide::Answers,
        }
    }
}

impl ColumnSelection {
    /// Returns the names in order.
    pub fn select<'s>(&'s self, pair: &'s Pair<'_>) -> Vec<&'s str> {
        match self {
            ColumnSelection::AllExcept {
                of: ColumnSide::Submission,
                ..
            } => self.resolve(&pair.submission),
            _ => self.resolve(&pair.answers),
        }
    }

    /// Returns the names in order. For `all_except`, returns the remaining columns of `side`.
    pub fn resolve<'s>(&'s self, side: &'s Side<'_>) -> Vec<&'s str> {
        match self {
            ColumnSelection::One(name) => vec![name],
            ColumnSelection::Many(names) => names.iter().map(String::as_str).collect(),
            ColumnSelection::AllExcept { all_except, .. } => side
                .names()
                .filter(|name| !all_except.contains(name))
                .collect(),
        }
    }

    /// Returns owned names, for rules that change the pair.
    pub fn resolve_owned(&self, pair: &Pair<'_>) -> Vec<String> {
        self.select(pair).into_iter().map(str::to_owned).collect()
    }
}
