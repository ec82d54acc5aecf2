//! `prep remove`: deletes the files of competitions on this machine.

use std::io::IsTerminal;

use clap::Args;
use prep_app::{Removal, RemovalResult, remove};
use prep_core::units;
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::options::variant_name;
use crate::output::summary::unpublished;
use crate::output::table::{PrintedTable, freed};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Remove prepared data, bundles and cached results
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep remove spaceship-titanic --dry-run
  prep remove --set dev --keep-bundle --yes

The command shows the disk space that it frees, and asks before it removes anything. A published file that is a hard \
link to a cached result frees space only if both are removed. The command removes all variants. With --variant, it removes \
only the prepared data of one variant.

Bundles outside of the data directory stay, and so do linked files, files that no run published, and cached results that \
other competitions or data directories use. If you lack the permission to remove some data of a competition, nothing of \
this competition is removed. The others are removed.")]
pub struct RemoveArgs {
    #[command(flatten)]
    selection: Selection,
    /// Show what would be removed, and remove nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Remove only the prepared data of this variant; keep bundles and the cache
    #[arg(long, value_name = "NAME", value_parser = variant_name)]
    variant: Option<String>,
    /// Keep bundles and further sources in the data directory
    #[arg(long)]
    keep_bundle: bool,
    /// Keep cached results
    #[arg(long)]
    keep_cache: bool,
    /// Also remove files in DATA/ID/prepared that no run published
    #[arg(long)]
    remove_unpublished: bool,
}

impl RemoveArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let ids = self.selection.ids(session)?;
        let catalog = session.catalog()?;
        let removal = |dry_run| Removal {
            variant: self.variant.clone(),
            bundles: !self.keep_bundle && self.variant.is_none(),
            cache: !self.keep_cache && self.variant.is_none(),
            unpublished: self.remove_unpublished,
            dry_run,
        };
        let remove = |dry_run| remove(&session.settings, &catalog, &ids, &removal(dry_run));
        let planned = remove(true)?;
        let bytes = units::bytes(planned.freed_bytes());
        for one in &planned.competitions {
            if let Some(line) = unpublished(&one.id, &one.unpublished) {
                session.printer.message(line);
            }
        }
        if planned.competitions.is_empty() {
            return Ok(errors(session, planned.errors));
        }
        if !self.dry_run && !self.yes {
            session.printer.message(text(&planned).trim_end());
            if !confirmed(session, &bytes)? {
                session.printer.message("nothing was removed");
                return Ok(Exit::No);
            }
        }
        let removed = match self.dry_run {
            true => planned,
            false => remove(false)?,
        };
        if session.printer.json {
            let cache = removed.cache.as_ref().map(|cache| {
                json!({
                    "objects": cache.objects.len(),
                    "bytes": cache.removed_bytes,
                    "freed_bytes": cache.freed_bytes,
                    "shared": cache.shared,
                })
            });
            session.printer.json(&json!({
                "competitions": removed.competitions,
                "cache": cache,
                "dry_run": self.dry_run,
            }))?;
        } else if self.dry_run || self.yes {
            session.printer.result(&text(&removed))?;
        }
        if !self.dry_run {
            let bytes = units::bytes(removed.freed_bytes());
            session.printer.message(format!("freed {bytes} on disk"));
        }
        Ok(errors(session, removed.errors))
    }
}

fn errors(session: &CliSession, errors: Vec<prep_app::Error>) -> Exit {
    let errors: Vec<CliError> = errors.into_iter().map(CliError::from).collect();
    session.printer.errors(&errors);
    Exit::combine(errors.iter().map(|error| error.exit))
}

/// Asks for confirmation. Returns an error if stdin is not a terminal.
fn confirmed(session: &CliSession, bytes: &str) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        let message = "nothing was removed, because stdin is not a terminal";
        return Err(
            CliError::new(Exit::No, message).help("use --yes to remove without confirmation")
        );
    }
    let question = format!("remove these data and free {bytes} on disk? [y/N]");
    session.printer.message(question);
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|error| CliError::new(Exit::Machine, format!("cannot read stdin: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Returns a row per competition with files, followed by the total of the cached results. Sizes are freed disk space.
fn text(removed: &RemovalResult) -> String {
    let mut table = PrintedTable::with_header("competition  variants  >prepared  >bundle");
    let competitions = removed.competitions.iter();
    for one in competitions.filter(|one| one.prepared.files + one.bundle.files > 0) {
        table.row(vec![
            one.id.clone(),
            one.variants.join(" "),
            freed(one.prepared),
            freed(one.bundle),
        ]);
    }
    let mut text = table.render();
    if let Some(cache) = &removed.cache {
        let objects = units::count(cache.objects.len() as u64, "cached result");
        let bytes = units::bytes(cache.freed_bytes);
        text.push_str(&format!("{objects}, {bytes}\n"));
        if cache.shared > 0 {
            let shared = units::count(cache.shared as u64, "cached result");
            text.push_str(&format!(
                "{shared} stay, because other competitions or data directories use them\n"
            ));
        }
    }
    text
}
