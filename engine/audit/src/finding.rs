//! Findings: one cause in one file.

use crate::causes::{Cause, Harm};

/// Maximum examples of a finding.
pub const EXAMPLES: usize = 3;

/// One cause in one file.
#[derive(Debug, Clone)]
pub struct Finding {
    pub cause: &'static Cause,
    /// The harm of the cause, or more if answers are affected.
    pub harm: Harm,
    /// `public/train.csv`, or the bundle's name.
    pub path: String,
    pub rows: u64,
    pub cells: u64,
    /// The proof of this cause.
    pub proof: Option<String>,
    /// The first few exact values.
    pub examples: Vec<String>,
}

impl Finding {
    pub fn new(cause: &'static Cause, path: impl Into<String>) -> Finding {
        Finding {
            cause,
            harm: cause.harm,
            path: path.into(),
            rows: 0,
            cells: 0,
            proof: None,
            examples: Vec::new(),
        }
    }

    #[must_use]
    pub fn proof(mut self, proof: impl Into<String>) -> Finding {
        self.proof = Some(proof.into());
        self
    }

    #[must_use]
    pub fn example(mut self, example: impl Into<String>) -> Finding {
        if self.examples.len() < EXAMPLES {
            self.examples.push(example.into());
        }
        self
    }

    #[must_use]
    pub fn rows(mut self, rows: u64) -> Finding {
        self.rows = rows;
        self
    }

    #[must_use]
    pub fn cells(mut self, cells: u64) -> Finding {
        self.cells = cells;
        self
    }

    #[must_use]
    pub fn harm(mut self, harm: Harm) -> Finding {
        self.harm = harm;
        self
    }
}
