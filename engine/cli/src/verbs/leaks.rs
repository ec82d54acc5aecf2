//! `prep leaks`: what of prepared data gives the answers away.

use std::path::PathBuf;

use clap::Args;
use prep_core::units;
use prep_leaks::{Level, Report};
use serde_json::json;

use crate::exit::Exit;
use crate::options::Which;
use crate::select::Selection;
use crate::session::{Ended, Session};

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
        let catalog = session.catalog()?;
        let settings = self.which.settings(session);
        let mut folders = Vec::new();
        folders.extend(self.source.as_deref());
        folders.push(&session.settings.data_dir);
        let ids = self.selection.ids()?;
        let (reports, failed) = session.each(&ids, |id| {
            Ok(prep_app::leaks(&catalog, &settings, id, &folders)?)
        });
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
        let worst = reports.iter().filter_map(|(_, report)| report.worst());
        Ok(match worst.max() {
            Some(Level::Leak) => Exit::Check,
            Some(Level::Risk) => Exit::Failed,
            Some(Level::Note) | None => failed,
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
