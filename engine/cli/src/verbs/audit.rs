//! `prep audit`: explains why data differ from the published data.
//! `prep leaks`: searches prepared data for hints at the answers.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{
    Audit, AuditReport, BUNDLE_NOT_VERIFIED, Block, BundleAudit, Catalog, Cause, LeakLevel,
    LeakReport, MIN_TEST_ITEMS, OutputsAudit, PreparationOptions, Remedy, RememberedOptions,
    Settings, TreeAudit, Verdict,
};
use prep_core::units;
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::options::{SourceArg, VariantArg};
use crate::remedy;
use crate::request::{DownloadLimits, Purpose};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};
use crate::verbs::audit;

/// Explain why files differ from the published ones
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep audit icecube-neutrinos-in-deep-ice
  prep audit spaceship-titanic --tree ~/.cache/mle-bench/data
  prep audit --lite --json | jq '.competitions[] | {id, verdict}'

The audit compares bundles and prepared files with their published MD5s, and a tree with the prepared files. For each \
cause it shows the files, the harm (none, form, content, answers), the proof and the action to take; docs/audit.md \
describes the causes. If a run published nothing because of a checksum, its outputs in the cache are compared. Without \
an ID, the audit covers the competitions in the tree or, without --tree, in the data directory.

The exit code is 0 if only bytes or spellings differ, and 5 if content or answers differ.")]
pub struct AuditArgs {
    #[command(flatten)]
    selection: Selection,
    /// Directory that another program prepared: with `public`, or with ID/prepared
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    variant: VariantArg,
}

impl AuditArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let settings = &self.variant.settings(session);
        let ids = self
            .selection
            .ids_or(session, || self.available_ids(&catalog, settings))?;
        for id in &ids {
            catalog.get(id)?;
        }
        let options = PreparationOptions {
            variant: self.variant.variant.clone(),
            remembered: RememberedOptions {
                source: self.source.or_setting(session).map(Path::to_path_buf),
                ..RememberedOptions::default()
            },
            recalls: true,
            ..PreparationOptions::default()
        };
        let task = session.task(options, &DownloadLimits::default(), Purpose::Unused)?;
        let audits = session.for_each_id_shown("auditing", &ids, |id| {
            let entry = catalog.get(id)?;
            let audit = prep_app::audit(&task, entry, self.tree.as_deref())?;
            if !session.printer.json {
                session.printer.result(&audit_text(&audit))?;
            }
            Ok(audit)
        });
        audits.print_json(&session.printer, |_, audit| json!(audit))?;
        let verdicts = audits
            .results()
            .map(|(_, audit)| audit::exit(audit.verdict));
        Ok(Exit::combine(verdicts.chain([audits.exit()])))
    }

    /// Returns the competitions in the tree, or without a tree, in the data directory.
    fn available_ids(
        &self,
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<Vec<String>, CliError> {
        let data = &settings.data_dir;
        let exists = |id: &str| match &self.tree {
            Some(tree) => prep_app::prepared_dir(tree, id).is_dir(),
            None => data.join(id).is_dir(),
        };
        let ids: Vec<String> = catalog
            .iter()
            .map(|entry| entry.id.clone())
            .filter(|id| exists(id))
            .collect();
        match ids.is_empty() {
            true => Err(CliError::usage("there is nothing to audit")
                .help("name a competition; `prep list` lists all competitions")),
            false => Ok(ids),
        }
    }
}

/// Returns the exit code for a verdict. Different content is a failed check.
pub fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Equal | Verdict::SameContent => Exit::Success,
        Verdict::ContentDiffers | Verdict::AnswersDiffer => Exit::Check,
    }
}

fn audit_text(audit: &Audit) -> String {
    // With a tree, the conclusion begins with the verdict about the tree.
    let mut text = match &audit.tree {
        Some(_) => format!("{}: {}\n", audit.id, audit.conclusion),
        None => format!("{}: {}; {}\n", audit.id, verdict(audit), audit.conclusion),
    };
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
    // The user named the tree, so its causes come first.
    let reports: [Option<&AuditReport>; 3] = [
        audit.tree.as_ref().map(|part| &part.report),
        audit.bundle.as_ref().map(|part| &part.report),
        audit.outputs.as_ref().map(|part| &part.report),
    ];
    for report in reports.into_iter().flatten() {
        for cause in &report.blocks {
            text.push_str(&block(cause, audit));
        }
    }
    text
}

fn verdict(audit: &Audit) -> &'static str {
    match audit.verdict {
        Verdict::Equal => "nothing differs",
        Verdict::SameContent => "the same content",
        Verdict::ContentDiffers if is_unproven(audit) => "content may differ",
        Verdict::ContentDiffers => "content differs",
        Verdict::AnswersDiffer => "answers differ",
    }
}

/// Returns whether the only difference is the MD5 of the bundle, and no member is known to differ.
fn is_unproven(audit: &Audit) -> bool {
    let outputs = audit.outputs.as_ref().map(|part| &part.report);
    let tree = audit.tree.as_ref().map(|part| &part.report);
    let mut others = [outputs, tree].into_iter().flatten();
    let mut bundle = audit.bundle.iter().flat_map(|part| &part.report.blocks);
    others.all(|report| report.verdict <= Verdict::SameContent)
        && bundle.all(|block| block.rules.contains(&BUNDLE_NOT_VERIFIED))
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
        count if part.is_unpublished => format!(
            "{} of {count} have their published MD5; the outputs are only in the cache",
            part.equal.len()
        ),
        count => format!("{} of {count} have their published MD5", part.equal.len()),
    }
}

fn tree(part: &TreeAudit) -> String {
    format!(
        "{} of {} files are identical to those in {}",
        part.equal,
        part.common,
        part.path.display()
    )
}

/// A line with more characters is shortened. Lines quote names and values from the audited files, which may be long.
const MAX_LINE: usize = 4_000;

/// Maximum number of paths per block.
const MAX_PATHS: usize = 3;

/// Formats a cause of differences, with examples and the action to take.
fn block(block: &Block, audit: &Audit) -> String {
    let mut paths: Vec<&str> = block.paths.iter().map(String::as_str).collect();
    let more = format!("and {} more", paths.len().saturating_sub(MAX_PATHS));
    // If only one path is left, it is also shown, because the text `and 1 more` would not be shorter.
    if paths.len() > MAX_PATHS + 1 {
        paths.truncate(MAX_PATHS);
        paths.push(&more);
    }
    let mut text = format!("\n  {}   harm: {}\n", block.cause, block.harm);
    let mut line = |label: &str, words: &str| {
        let words = prep_spec::one_line(words, MAX_LINE);
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
    match command_for(block, audit) {
        Some(command) => line("do", &format!("{}; {command}", block.advice)),
        None => line("do", block.advice),
    }
    text
}

/// Returns the command that carries out the advice of a block.
fn command_for(block: &Block, audit: &Audit) -> Option<String> {
    let is = |causes: &[Cause]| causes.iter().any(|cause| cause.id() == block.cause);
    if is(&[Cause::BundleOtherMd5, Cause::BundleRepacked]) {
        let (accept, result) = match &audit.outputs {
            // With `--skip-bundle-verification`, the run would fail, because outputs differ from their published checksums.
            Some(outputs) if outputs.equal.len() < outputs.published => (
                "--skip-verification",
                "accepts the bundle and the outputs, but scores are then not comparable with those of MLE-bench",
            ),
            _ => ("--skip-bundle-verification", "accepts the bundle"),
        };
        let command = remedy::command("run", &audit.id);
        return Some(format!("`{command} {accept}` {result}"));
    }
    if is(&[Cause::FilesEdited]) {
        let id = audit.id.clone();
        return remedy::words(&Remedy::Prepare { id });
    }
    // A run downloads a bundle only if the bundle does not exist.
    let bundle = audit.bundle.as_ref()?;
    let is_downloaded = block.cause.starts_with("bundle-") && block.advice.contains("download");
    is_downloaded.then(|| {
        let (command, path) = (remedy::command("fetch", &audit.id), bundle.path.display());
        format!("remove {path}, then run `{command}`")
    })
}

/// Search prepared data for hints at the answers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep leaks random-acts-of-pizza --source ~/bundles
  prep leaks --lite --json | jq '.competitions[] | select(.worst == \"leak\") | .id'

A leak gives answers away. A risk is a group, copy or order that train and test share. A note also occurs in sound \
data. The detectors know where the answers are, and nothing else about a competition. If you have the bundle, they \
also compare the test part with the test part of the bundle.

The exit code is 5 if there is a leak, and 1 if there is a risk and no leak.")]
pub struct LeaksArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    source: SourceArg,
}

impl LeaksArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let variant = &self.variant.variant;
        let source = self.source.or_setting(session);
        let ids = self.selection.ids(session)?;
        let data_dir = session.settings.data_dir_of(variant);
        let reports = session.for_each_id_shown("searching", &ids, |id| {
            if let Some(manifest) = prep_app::manifest(&data_dir, id)?
                && let Some(text) = prep_app::pipeline_change(catalog.get(id)?, &manifest)
            {
                session.printer.warning(format!("{id}: {text}"));
            }
            if let Some(warnings) = prep_app::pipeline_warnings(catalog.get(id)?, variant) {
                session.printer.pipeline_warnings(&warnings);
            }
            Ok(prep_app::leaks(
                &catalog,
                &session.settings,
                variant,
                id,
                source,
            )?)
        });
        reports.print_json(&session.printer, |id, report| {
            json!({
                "id": id,
                "worst": report.worst(),
                "items": report.items,
                "has_few_items": report.has_few_items,
                "bundle": report.bundle,
                "findings": report.findings,
            })
        })?;
        for (id, report) in reports.results().filter(|_| !session.printer.json) {
            session.printer.result(&text(id, report))?;
        }
        let worst = reports.results().filter_map(|(_, report)| report.worst());
        let found = match worst.max() {
            Some(LeakLevel::Leak) => Exit::Check,
            Some(LeakLevel::Risk) => Exit::No,
            Some(LeakLevel::Note) | None => Exit::Success,
        };
        Ok(Exit::combine([found, reports.exit()]))
    }
}

fn text(id: &str, report: &LeakReport) -> String {
    let count = |level| {
        report
            .findings
            .iter()
            .filter(|finding| finding.level == level)
            .count() as u64
    };
    let mut text = format!(
        "{id}: {}, {}, {}; {}{}{}\n",
        units::count(count(LeakLevel::Leak), "leak"),
        units::count(count(LeakLevel::Risk), "risk"),
        units::count(count(LeakLevel::Note), "note"),
        units::count(report.items as u64, "test item"),
        match report.has_few_items {
            true => format!(
                ": too few to judge statistics; use at least {MIN_TEST_ITEMS}, for example with a larger `test_size`"
            ),
            false => String::new(),
        },
        match report.bundle {
            true => "",
            false => "; the bundle was not found, so nothing was compared with it",
        }
    );
    for finding in &report.findings {
        text.push_str(&format!(
            "  {:<4}  {}: {}\n",
            finding.level.name(),
            finding.detector,
            finding.what
        ));
        for line in &finding.evidence {
            text.push_str(&format!("          {line}\n"));
        }
        match &finding.accepted {
            Some(why) => text.push_str(&format!("        accepted: {why}\n")),
            None if finding.advice.is_empty() => {}
            None => text.push_str(&format!("        help: {}\n", finding.advice)),
        }
    }
    text
}
