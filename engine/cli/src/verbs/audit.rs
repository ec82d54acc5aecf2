//! `prep audit`: why data are not what was published.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Audit, Catalog, Settings};

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::Which;
use crate::output::audit;
use crate::select::Selection;
use crate::session::{Ended, Session};

/// Explain every mismatch: of bundles, of prepared files with their published checksums, of somebody else's tree
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep audit icecube-neutrinos-in-deep-ice
  prep audit spaceship-titanic --tree ~/.cache/mle-bench/data
  prep audit --lite --json | jq '.[] | {id, verdict}'

A bundle is held against its published MD5, prepared files against theirs, and a tree against what is \
prepared here. One block per cause: how much it touches, its harm (none, form, content, answers), its \
proof, what to do. docs/audit.md describes every cause. Without an ID: all of which there is something.

Exit codes: 0 when nothing but bytes or spelling differs, 5 when content or answers do.")]
pub struct AuditArgs {
    #[command(flatten)]
    selection: Selection,
    /// A prepared tree of somebody else: a folder with `public` and `private`, or one with ID/prepared in it
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
    /// Folder with bundles: DIR/ID.zip or DIR/ID/ID.zip; the data folder is searched next
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

impl AuditArgs {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = session.catalog()?;
        let settings = &self.which.settings(session);
        let ids = self.selection.ids_or(|| self.found(&catalog, settings))?;
        for id in &ids {
            catalog.get(id)?;
        }
        let sources: Vec<&Path> = self.source.iter().map(PathBuf::as_path).collect();
        let (audits, failed) = session.each(&ids, |id| {
            let entry = catalog.get(id)?;
            let audit = prep_app::audit(entry, settings, &sources, self.tree.as_deref())?;
            if !session.printer.json {
                session.printer.result(&audit::text(&audit))?;
            }
            Ok(audit)
        });
        let audits: Vec<Audit> = audits.into_iter().map(|(_, audit)| audit).collect();
        if session.printer.json {
            session.printer.json(&audits)?;
        }
        let exits = audits.iter().map(|audit| audit::exit(audit.verdict));
        Ok(Exit::combine(exits.chain([failed])))
    }

    /// The competitions of which the data directory or the tree has something.
    fn found(&self, catalog: &Catalog, settings: &Settings) -> Result<Vec<String>, CliError> {
        let data = &settings.data_dir;
        let there = |id: &str| match &self.tree {
            Some(tree) => tree.join(id).join("prepared").is_dir(),
            None => data.join(id).is_dir(),
        };
        let ids: Vec<String> = catalog
            .iter()
            .map(|entry| entry.id.clone())
            .filter(|id| there(id))
            .collect();
        match ids.is_empty() {
            true => Err(CliError::usage("there is nothing to audit")
                .help("name a competition; `prep list` lists them")),
            false => Ok(ids),
        }
    }
}
