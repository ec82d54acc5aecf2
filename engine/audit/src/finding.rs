//! Findings: one cause in one file.

use crate::causes::{Cause, Harm};
use crate::harm::{HarmRule, OF_CAUSE};

/// Maximum examples of a finding.
pub const EXAMPLES: usize = 3;

/// One cause in one file.
#[derive(Debug, Clone)]
pub struct AuditFinding {
    pub cause: &'static Cause,
    /// The harm of the cause. Higher if answers are affected.
    pub harm: Harm,
    /// The rule that decided the harm.
    pub rule: HarmRule,
    /// `public/train.csv`, or the bundle's name.
    pub path: String,
    pub rows: u64,
    pub cells: u64,
    /// The proof of this cause.
    pub proof: Option<String>,
    /// The first few differences, with exact values.
    pub examples: Vec<String>,
}

impl AuditFinding {
    pub fn new(cause: &'static Cause, path: impl Into<String>) -> AuditFinding {
        AuditFinding {
            cause,
            harm: cause.harm,
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
        if self.examples.len() < EXAMPLES {
            self.examples.push(example.into());
        }
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

    /// Raises the harm to `harm`, for the reason `rule`. If the present harm is higher, nothing changes.
    pub fn raise(&mut self, harm: Harm, rule: HarmRule) {
        if harm > self.harm {
            (self.harm, self.rule) = (harm, rule);
        }
    }

    /// As [`raise`](Self::raise), for a chain of calls.
    #[must_use]
    pub fn raised(mut self, harm: Harm, rule: HarmRule) -> AuditFinding {
        self.raise(harm, rule);
        self
    }
}
