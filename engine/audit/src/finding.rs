//! The type of a finding: one cause of a difference, in one file.
//!
//! Every cause has a minimum level of harm. The role of a file, for example as answers, can raise this level. Every finding
//! names the rule that determined its harm. You can compare this rule with the section `grade` of the pipeline.

use crate::causes::{Cause, Harm};

pub const MAX_EXAMPLES: usize = 3;

#[derive(Debug, Clone)]
pub struct AuditFinding {
    pub cause: Cause,
    /// The minimum harm of the cause, or a higher one if `rule` raised it.
    pub harm: Harm,
    /// The rule that determined the harm.
    pub rule: HarmRule,
    /// Path in the tree, for example `public/train.csv`, or the name of the bundle.
    pub path: String,
    /// Numbers of affected rows and cells, or 0 if they are not counted.
    pub rows: u64,
    pub cells: u64,
    /// The evidence for the cause, if there is any.
    pub proof: Option<String>,
    /// The first differences, at most `MAX_EXAMPLES`. Each example shows the values of both sides.
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

    /// Raises the harm to `harm` because of `rule`, unless it is already as high.
    pub fn raise(&mut self, harm: Harm, rule: HarmRule) {
        if harm > self.harm {
            (self.harm, self.rule) = (harm, rule);
        }
    }

    /// Raises the harm to `Answers` if the content of a file in `private` differs.
    pub fn raise_if_private(&mut self) {
        if self.harm >= Harm::Content && self.path.starts_with("private/") {
            self.raise(Harm::Answers, PRIVATE);
        }
    }

    /// Same as [`raise`](Self::raise), but returns the finding.
    #[must_use]
    pub fn raised(mut self, harm: Harm, rule: HarmRule) -> AuditFinding {
        self.raise(harm, rule);
        self
    }
}

/// The text of a rule in the report.
pub type HarmRule = &'static str;

/// No rule raised the harm.
pub const OF_CAUSE: HarmRule = "the minimum harm of this cause";

/// No member list of the published bundle is recorded, and an output may differ.
pub const BUNDLE_NOT_VERIFIED: HarmRule =
    "nothing shows that the members are those of the published bundle";

/// The outputs show that the pipeline read members of the published bundle.
pub const OUTPUTS_VERIFIED: HarmRule =
    "the minimum harm of this cause, because all prepared files have their published checksums";

pub const PRIVATE: HarmRule = "submissions are graded with files in `private`";

/// The column is in the answers, but not in the public test table.
pub const LABELS: HarmRule = "the column contains answers, which the public test items do not have";

/// Grading pairs rows by their ids, compared as text.
pub const IDS: HarmRule =
    "rows are paired by the ids in this column, so a different spelling is a different id";

pub const ROWS_BY_PLACE: HarmRule =
    "no rule of `grade` pairs rows by an id, so the order of rows matters";

pub const COLUMNS_BY_PLACE: HarmRule =
    "`grade` pairs columns by position, so the order of columns matters";

pub const ANSWERS_SHOWN: HarmRule = "public data contain answers of test items";

/// A test item has the file of a different item.
pub const TEST_ITEMS: HarmRule = "the file belongs to a test item, so the item to predict differs";
