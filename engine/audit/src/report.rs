//! Groups findings by cause.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::causes::Harm;
use crate::finding::{AuditFinding, MAX_EXAMPLES};

/// All findings of one cause with one harm.
#[derive(Debug, Clone, Serialize)]
pub struct Block {
    pub cause: &'static str,
    pub harm: Harm,
    /// The rules that determined the harm.
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

/// The findings of one comparison: of the bundle, the outputs, or a tree.
#[derive(Debug, Clone, Serialize)]
pub struct AuditReport {
    pub verdict: Verdict,
    /// Findings by cause, the most harmful first.
    pub blocks: Vec<Block>,
}

/// Maximum number of proofs in a block.
const MAX_PROOFS: usize = 3;

impl AuditReport {
    pub fn new(findings: impl IntoIterator<Item = AuditFinding>) -> AuditReport {
        let mut blocks: BTreeMap<(std::cmp::Reverse<Harm>, &'static str), Block> = BTreeMap::new();
        for finding in findings {
            let key = (std::cmp::Reverse(finding.harm), finding.cause.id());
            let block = blocks.entry(key).or_insert_with(|| Block {
                cause: finding.cause.id(),
                harm: finding.harm,
                rules: Vec::new(),
                meaning: finding.cause.text().meaning,
                advice: finding.cause.text().advice,
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
                && block.proof.len() < MAX_PROOFS
                && !block.proof.contains(&proof)
            {
                block.proof.push(proof);
            }
            for example in finding.examples {
                if block.examples.len() < MAX_EXAMPLES {
                    // Examples from the first file of a block do not repeat the file's path.
                    let is_named = example.contains(&finding.path) || block.paths.is_empty();
                    block.examples.push(if is_named {
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
