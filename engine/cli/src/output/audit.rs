//! Formats an audit as text: the verdict, the three parts, and one block per cause.

use prep_app::{Audit, AuditReport, Block, BundleAudit, OutputsAudit, TreeAudit, Verdict};
use prep_core::units;

use crate::exit::Exit;
use crate::output::table::one_line_within;

/// Returns the exit code of a verdict. Content that differs is a failed check.
pub fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Equal | Verdict::SameContent => Exit::Success,
        Verdict::ContentDiffers | Verdict::AnswersDiffer => Exit::Check,
    }
}

pub fn text(audit: &Audit) -> String {
    let mut text = format!(
        "{}: {}; {}\n",
        audit.id,
        verdict(audit.verdict),
        audit.conclusion
    );
    text.push_str(&format!(
        "  bundle   {}\n",
        audit
            .bundle
            .as_ref()
            .map_or_else(|| "not found".to_owned(), bundle)
    ));
    text.push_str(&format!(
        "  outputs  {}\n",
        audit
            .outputs
            .as_ref()
            .map_or_else(|| "not prepared".to_owned(), outputs)
    ));
    if let Some(tree_part) = &audit.tree {
        text.push_str(&format!("  tree     {}\n", tree(tree_part)));
    }
    let reports: [Option<&AuditReport>; 3] = [
        audit.bundle.as_ref().map(|part| &part.report),
        audit.outputs.as_ref().map(|part| &part.report),
        audit.tree.as_ref().map(|part| &part.report),
    ];
    for report in reports.into_iter().flatten() {
        for cause in &report.blocks {
            text.push_str(&block(cause));
        }
    }
    text
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Equal => "nothing differs",
        Verdict::SameContent => "the same content",
        Verdict::ContentDiffers => "content differs",
        Verdict::AnswersDiffer => "answers differ",
    }
}

fn bundle(part: &BundleAudit) -> String {
    let size = units::bytes(part.bytes);
    match &part.published {
        Some(published) if *published == part.md5 => format!("has its published MD5, {size}"),
        Some(published) => format!("MD5 {}, published is {published}, {size}", part.md5),
        None => format!("no MD5 is published, {size}"),
    }
}

fn outputs(part: &OutputsAudit) -> String {
    match part.published {
        0 => format!("no checksums are published for {}", part.variant),
        count => format!("{} of {count} have their published MD5", part.equal.len()),
    }
}

fn tree(part: &TreeAudit) -> String {
    format!(
        "{} of {} files have equal bytes in {}",
        part.equal,
        part.common,
        part.path.display()
    )
}

/// Maximum length of a line that quotes names and values of others, in characters.
const MAX_LINE: usize = 4_000;

/// Maximum number of paths that a block shows.
const MAX_PATHS: usize = 3;

fn block(block: &Block) -> String {
    let mut paths: Vec<&str> = block
        .paths
        .iter()
        .take(MAX_PATHS)
        .map(String::as_str)
        .collect();
    let more = format!("and {} more", block.paths.len().saturating_sub(MAX_PATHS));
    if block.paths.len() > MAX_PATHS {
        paths.push(&more);
    }
    let mut text = format!("\n  {}   harm: {}\n", block.cause, block.harm);
    let mut line = |label: &str, words: &str| {
        let words = one_line_within(words, MAX_LINE);
        text.push_str(&format!("      {label:<7} {words}\n"));
    };
    line("what", block.meaning);
    line("rule", &block.rules.join("; "));
    line("where", &paths.join(", "));
    let counts = [(block.rows, "row"), (block.cells, "cell")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| units::count(*count, unit))
        .collect();
    if !counts.is_empty() {
        line("count", &counts.join(", "));
    }
    for proof in &block.proof {
        line("proof", proof);
    }
    for example in &block.examples {
        line("example", example);
    }
    line("do", block.advice);
    text
}
