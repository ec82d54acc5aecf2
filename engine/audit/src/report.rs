//! Groups findings by cause.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::causes::Harm;
use crate::finding::{AuditFinding, EXAMPLES};

/// All findings of one cause with one harm.
#[derive(Debug, Clone, Serialize)]
pub struct Block {
    pub cause: &'static str,
    pub harm: Harm,
    /// The rules that decided the harm.
    pub rules: Vec<&'static str>,
    pub meaning: &'static str,
    pub advice: &'static str,
    pub paths: Vec<String>,
    pub rows: u64,
    pub cells: u64,
    /// Proofs of the cause, without duplicates.
    pub proof: Vec<String>,
    pub examples: Vec<String>,
}

/// The verdict: the worst harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing differs.
    Equal,
    /// Only bytes or spelling differ.
    SameContent,
    ContentDiffers,
    AnswersDiffer,
}

/// The result of an audit, or of one of its corners.
#[derive(Debug, Clone, Serialize)]
pub struct AuditReport {
    pub verdict: Verdict,
    /// Findings by cause, the most harmful first.
    pub blocks: Vec<Block>,
}

/// Maximum proofs of a block.
const PROOFS: usize = 3;

impl AuditReport {
    pub fn new(findings: impl IntoIterator<Item = AuditFinding>) -> AuditReport {
        let mut blocks: BTreeMap<(std::cmp::Reverse<Harm>, &'static str), Block> = BTreeMap::new();
        for finding in findings {
            let key = (std::cmp::Reverse(finding.harm), finding.cause.id);
            let block = blocks.entry(key).or_insert_with(|| Block {
                cause: finding.cause.id,
                harm: finding.harm,
                rules: Vec::new(),
                meaning: finding.cause.meaning,
                advice: finding.cause.advice,
                paths: Vec::new(),
                rows: 0,
                cells: 0,
                proof: Vec::new(),
                examples: Vec::new(),
            });
            if !block.rules.contains(&finding.rule) {
                block.rules.push(finding.rule);
            }
            block.rows += finding.rows;
            block.cells += finding.cells;
            if let Some(proof) = finding.proof
                && block.proof.len() < PROOFS
                && !block.proof.contains(&proof)
            {
                block.proof.push(proof);
            }
            for example in finding.examples {
                if block.examples.len() < EXAMPLES {
                    // A single file is named above.
                    let known = example.contains(&finding.path) || block.paths.is_empty();
                    block.examples.push(if known {
                        example
                    } else {
                        format!("{}: {example}", finding.path)
                    });
                }
            }
            block.paths.push(finding.path);
        }
        let mut report = AuditReport {
            verdict: Verdict::Equal,
            blocks: blocks.into_values().collect(),
        };
        for block in &mut report.blocks {
            block.paths.sort();
            block.paths.dedup();
        }
        report.verdict = match report.blocks.first().map(|block| block.harm) {
            None => Verdict::Equal,
            Some(Harm::None | Harm::Form) => Verdict::SameContent,
            Some(Harm::Content) => Verdict::ContentDiffers,
            Some(Harm::Answers) => Verdict::AnswersDiffer,
        };
        report
    }
}
