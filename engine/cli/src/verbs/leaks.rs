//! `prep leaks`: what of prepared data gives the answers away.

use std::path::PathBuf;

use clap::Args;
use prep_app::Catalog;
use prep_core::units;
use prep_leaks::{Level, Report};
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::Which;
use crate::select::Selection;
use crate::{Ended, Session};

/// Look at prepared data as an attacker would: what of it gives the answers away
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep leaks random-acts-of-pizza --source ~/bundles
  prep leaks --lite --json | jq '.[] | select(.worst == \"leak\") | .competition'

Findings are leaks (answers can be read off), risks (groups, copies or order on both sides) or notes (honest data have them, \
too). Where the bundle is at hand, what the test part shows is compared with what the bundle's own test part shows. Nothing \
is known of the competition but where its answers are. Ends with 5 where there is a leak, with 1 where there is a risk.")]
pub struct Leaks {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    which: Which,
    /// Folder with bundles: DIR/ID.zip or DIR/ID/ID.zip; the data folder is searched next
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
}

impl Leaks {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = Catalog::of(&session.settings)?;
        let settings = self.which.settings(session);
        let mut folders = Vec::new();
        folders.extend(self.source.as_deref());
        folders.push(&session.settings.data_dir);
        let (mut reports, mut exits, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for id in self.selection.ids()? {
            let report = match prep_app::leaks(&catalog, &settings, &id, &folders) {
                Ok(report) => report,
                Err(error) => {
                    let error = CliError::from(error);
                    session.printer.error(&error);
                    failed.push(error.exit);
                    continue;
                }
            };
            exits.push(match report.worst() {
                Some(Level::Leak) => Exit::Check,
                Some(Level::Risk) => Exit::Failed,
                Some(Level::Note) | None => Exit::Success,
            });
            reports.push((id, report));
        }
        if session.printer.json {
            let all: Vec<serde_json::Value> = reports
                .iter()
                .map(|(id, report)| {
                    json!({
                        "competition": id,
                        "worst": report.worst(),
                        "items": report.items,
                        "bundle": report.bundle,
                        "findings": report.findings,
                    })
                })
                .collect();
            session.printer.json(&all)?;
        } else {
            for (id, report) in &reports {
                session.printer.result(&text(id, report))?;
            }
        }
        // The worst of all.
        let has = |exit| exits.contains(&exit);
        Ok(match (has(Exit::Check), has(Exit::Failed)) {
            (true, _) => Exit::Check,
            (_, true) => Exit::Failed,
            _ => Exit::combine(failed),
        })
    }
}

fn text(id: &str, report: &Report) -> String {
    let count = |level| {
        report
            .findings
            .iter()
            .filter(|one| one.level == level)
            .count() as u64
    };
    let mut text = format!(
        "{id}: {}, {}, {}; {}{}\n",
        units::count(count(Level::Leak), "leak"),
        units::count(count(Level::Risk), "risk"),
        units::count(count(Level::Note), "note"),
        units::count(report.items as u64, "test item"),
        match report.bundle {
            true => "",
            false => "; the bundle is not at hand, so nothing was compared with it",
        }
    );
    for finding in &report.findings {
        text.push_str(&format!(
            "  {:<4}  {}: {}\n",
            finding.level.name(),
            finding.detector,
            finding.what
        ));
        for one in &finding.evidence {
            text.push_str(&format!("          {one}\n"));
        }
        if let Some(why) = &finding.accepted {
            text.push_str(&format!("        accepted: {why}\n"));
        }
    }
    text
}
