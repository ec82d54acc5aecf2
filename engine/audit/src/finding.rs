//! The type of a finding: one cause in one file.

use crate::causes::{Cause, Harm};
use crate::harm::{HarmRule, OF_CAUSE};

/// Maximum number of examples in a finding.
pub const MAX_EXAMPLES: usize = 3;

/// One cause in one file.
#[derive(Debug, Clone)]
pub struct AuditFinding {
    pub cause: Cause,
    /// The minimum harm of the cause, or a higher one if `rule` raised it.
    pub harm: Harm,
    /// The rule that determined the harm.
    pub rule: HarmRule,
    /// Path in the tree, for example `public/train.csv`, or the name of the bundle.
    pub path: String,
    /// Number of affected rows and cells, or 0 if they are not counted.
    pub rows: u64,
    pub cells: u64,
    /// Why this is the cause.
    pub proof: Option<String>,
    /// The first few differences, with both values. At most `MAX_EXAMPLES`.
    pub examples: Vec<String>,
}

impl AuditFinding {
    pub fn new(cause: Cause, path: impl Into<String>) -> AuditFinding {
        AuditFinding {
            cause,
            harm: cause.harm(),
            rule: OF_CAUSE,
            path: path.into(),
            rows: 0,
            cells: 0,
            proof: None,
            examples: Vec::new(),
        }
    }

    #[must_use]
    pub fn proof(mut self, proof: impl Into<String>) -> AuditFinding {
        self.proof = Some(proof.into());
        self
    }

    #[must_use]
    pub fn example(mut self, example: impl Into<String>) -> AuditFinding {
        if self.examples.len() < MAX_EXAMPLES {
            self.examples.push(example.into());
        }
        self
    }

    #[must_use]
    pub fn examples(mut self, examples: impl IntoIterator<Item = String>) -> AuditFinding {
        let left = MAX_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(examples.into_iter().take(left));
        self
    }

    #[must_use]
    pub fn rows(mut self, rows: u64) -> AuditFinding {
        self.rows = rows;
        self
    }

    #[must_use]
    pub fn cells(mut self, cells: u64) -> AuditFinding {
        self.cells = cells;
        self
    }

    #[must_use]
    pub fn harm(mut self, harm: Harm) -> AuditFinding {
        self.harm = harm;
        self
    }

    /// Raises the harm to `harm` because of `rule`. Does nothing if the harm is already as high.
    pub fn raise(&mut self, harm: Harm, rule: HarmRule) {
        if harm > self.harm {
            (self.harm, self.rule) = (harm, rule);
        }
    }

    /// Same as [`raise`](Self::raise), but returns the finding.
    #[must_use]
    pub fn raised(mut self, harm: Harm, rule: HarmRule) -> AuditFinding {
        self.raise(harm, rule);
        self
    }
}
