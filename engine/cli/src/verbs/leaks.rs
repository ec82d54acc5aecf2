//! `prep leaks`: searches prepared data for hints at the answers.

use clap::Args;
use prep_app::{LeakLevel, LeakReport};
use prep_core::units;
use serde_json::json;

use crate::exit::Exit;
use crate::options::{SourceArg, VariantArg};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Search prepared data for hints at the answers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep leaks random-acts-of-pizza --source ~/bundles
  prep leaks --lite --json | jq '.competitions[] | select(.worst == \"leak\") | .id'

A leak gives answers away. A risk is a group, copy or order that train and test share. A note also occurs in sound data. \
The detectors know the place of the answers and nothing else about a competition. If you have the bundle, they also \
compare the test part with the test part of the bundle.

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
        let settings = self.variant.settings(session);
        let mut directories = Vec::new();
        directories.extend(self.source.or_setting(session));
        directories.push(&session.settings.data_dir);
        let ids = self.selection.ids(session)?;
        let reports = session.for_each_id(&ids, |id| {
            Ok(prep_app::leaks(&catalog, &settings, id, &directories)?)
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
            true => ": too few to judge statistics",
            false => "",
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
