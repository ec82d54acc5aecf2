//! `prep audit`: explains why data differ from the published ones.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Catalog, Settings};
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::{SourceArg, VariantArg};
use crate::output::audit;
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Explain why files differ from the published ones
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep audit icecube-neutrinos-in-deep-ice
  prep audit spaceship-titanic --tree ~/.cache/mle-bench/data
  prep audit --lite --json | jq '.competitions[] | {id, verdict}'

The audit compares bundles and prepared files with their published MD5s, and a tree with the prepared files. For each \
cause it shows the files, the harm (none, form, content, answers), the proof and the action to take; docs/audit.md \
describes the causes. Without an ID it covers every competition that the data directory or the tree has.

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
        let sources: Vec<&Path> = self.source.or_setting(session).into_iter().collect();
        let audits = session.for_each_id(&ids, |id| {
            let entry = catalog.get(id)?;
            let audit = prep_app::audit(entry, settings, &sources, self.tree.as_deref())?;
            if !session.printer.json {
                session.printer.result(&audit::text(&audit))?;
            }
            Ok(audit)
        });
        audits.print_json(&session.printer, |_, audit| json!(audit))?;
        let verdicts = audits
            .results()
            .map(|(_, audit)| audit::exit(audit.verdict));
        Ok(Exit::combine(verdicts.chain([audits.exit()])))
    }

    /// Returns the competitions that are in the tree, or in the data directory if no tree is given.
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
                .help("name a competition; `prep list` lists them")),
            false => Ok(ids),
        }
    }
}
