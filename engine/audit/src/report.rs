//! Groups findings by cause.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::causes::{Cause, Harm};
use crate::finding::{AuditFinding, MAX_EXAMPLES};

/// All findings of one cause with one harm.
#[derive(Debug, Clone, Serialize)]
pub struct Block {
    #[serde(rename = "kind")]
    pub cause: &'static str,
    pub harm: Harm,
    pub rules: Vec<&'static str>,
    #[serde(rename = "message")]
    pub meaning: &'static str,
    pub advice: &'static str,
    pub paths: Vec<String>,
    pub rows: u64,
    pub cells: u64,
    /// Proofs of the cause. If the block has several paths, a proof of one file begins with its path.
    pub proof: Vec<String>,
    #[serde(skip)]
    proofs: Vec<Proof>,
    pub examples: Vec<String>,
}

/// The worst harm among the findings of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
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

/// A proof, and the path of its file if it is a proof of one file only.
#[derive(Debug, Clone)]
struct Proof {
    path: Option<String>,
    text: String,
}

const MAX_PROOFS: usize = 3;

impl AuditReport {
    /// Replaces the advice in all blocks of `cause`.
    pub fn advise(&mut self, cause: Cause, advice: &'static str) {
        let blocks = self.blocks.iter_mut();
        for block in blocks.filter(|block| block.cause == cause.id()) {
            block.advice = advice;
        }
    }

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
                proofs: Vec::new(),
                examples: Vec::new(),
            });
            if !block.rules.contains(&finding.rule) {
                block.rules.push(finding.rule);
            }
            block.rows += finding.rows;
            block.cells += finding.cells;
            if let Some(proof) = finding.proof {
                // A proof of several files is shown once, without their paths.
                let mut known = block.proofs.iter_mut();
                if let Some(known) = known.find(|known| known.text == proof) {
                    known.path = None;
                } else if block.proofs.len() < MAX_PROOFS {
                    block.proofs.push(Proof {
                        path: Some(finding.path.clone()),
                        text: proof,
                    });
                }
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
            let is_one = block.paths.len() == 1;
            let proofs = std::mem::take(&mut block.proofs).into_iter();
            let text = |proof: Proof| match proof.path {
                Some(path) if !is_one && !proof.text.contains(&path) => {
                    format!("{path}: {}", proof.text)
                }
                _ => proof.text,
            };
            block.proof = proofs.map(text).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_name_their_files_if_there_are_several() {
        let finding =
            |path: &str, proof: &str| AuditFinding::new(Cause::NotClassified, path).proof(proof);
        let proofs = |findings: &[AuditFinding]| {
            let report = AuditReport::new(findings.to_vec());
            report.blocks.into_iter().next().unwrap().proof
        };
        let all = [finding("a", "1"), finding("b", "2"), finding("c", "1")];
        assert_eq!(proofs(&all[..1]), ["1"]);
        assert_eq!(proofs(&all[..2]), ["a: 1", "b: 2"]);
        assert_eq!(proofs(&all), ["1", "b: 2"]);
        assert_eq!(
            proofs(&[all[0].clone(), finding("b", "in b")]),
            ["a: 1", "in b"]
        );
    }
}
