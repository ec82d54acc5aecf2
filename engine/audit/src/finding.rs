//! One cause, in one file.

use crate::causes::{Cause, Harm};

/// How many examples a block shows.
pub const EXAMPLES: usize = 3;

/// One cause in one file.
#[derive(Debug, Clone)]
pub struct Finding {
    pub cause: &'static Cause,
    /// The cause's own, or more where it touches answers.
    pub harm: Harm,
    /// `public/train.csv`, or the bundle's name.
    pub path: String,
    pub rows: u64,
    pub cells: u64,
    /// Why it is this cause and no other.
    pub proof: Option<String>,
    /// Exact values, the first few.
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
