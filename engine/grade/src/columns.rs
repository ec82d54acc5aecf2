//! A set of columns, as a pipeline names it.

use serde::Deserialize;

use crate::pair::{Pair, Side};

/// One column, a list, or the answers' columns with exceptions.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Columns {
    One(String),
    Many(Vec<String>),
    Others {
        /// The columns of the answers that are not meant.
        all_except: Names,
    },
}

/// One name or several.
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

impl Default for Columns {
    /// All columns of the answers.
    fn default() -> Self {
        Columns::Others {
            all_except: Names::Many(Vec::new()),
        }
    }
}

impl Columns {
    /// The names, in order.
    pub fn resolve<'s>(&'s self, answers: &'s Side<'_>) -> Vec<&'s str> {
        match self {
            Columns::One(name) => vec![name],
            Columns::Many(names) => names.iter().map(String::as_str).collect(),
            Columns::Others { all_except } => answers
                .names()
                .filter(|name| !all_except.contains(name))
                .collect(),
        }
    }

    /// The names, owned: for rules that change the pair.
    pub fn resolve_owned(&self, pair: &Pair<'_>) -> Vec<String> {
        self.resolve(&pair.answers)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// Names that are written down, for checks before any table is there.
    pub fn named(&self) -> Vec<&str> {
        match self {
            Columns::One(name) => vec![name],
            Columns::Many(names) => names.iter().map(String::as_str).collect(),
            Columns::Others {
                all_except: Names::One(name),
            } => vec![name],
            Columns::Others {
                all_except: Names::Many(names),
            } => names.iter().map(String::as_str).collect(),
        }
    }
}
