//! `prep cache stat | verify | log | gc`: inspects, verifies and cleans the cache.

mod log;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use prep_app::reasons::{self, StatedReason};
use prep_app::{Difference, Rerun, RerunPlace, RerunResult, RerunStep};
use prep_cache::{Amount, GcOptions, GcReport, Store, StoreStat, VerifyReport, ownership};
use prep_core::{Failure, chain, units};
use serde_json::{Value, json};

use self::log::RunLogArgs;
use crate::error::{CliError, Exit};
use crate::global::integer;
use crate::options::PreparationArgs;
use crate::output::table::PrintedTable;
use crate::process;
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Inspect, verify and clean the cache
#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the size of the cache
    #[command(after_help = "Examples:\n  prep cache stat\n  prep cache stat --json")]
    Stat,
    /// Verify the content of the cache
    Verify(Box<Verify>),
    Log(RunLogArgs),
    /// Remove unused results
    #[command(
        after_help = "Examples:\n  prep cache gc --dry-run --keep-days 30\n  prep cache gc --max-size 200GB"
    )]
    Gc {
        /// Remove the least recently used results until the cache has this size
        #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
        max_size: Option<u64>,
        /// Remove results that were not used for this number of days
        #[arg(long, value_name = "DAYS", value_parser = integer::<u32>)]
        keep_days: Option<u32>,
        /// Show what would be removed, and remove nothing
        #[arg(long, short = 'n')]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
struct Verify {
    /// Move damaged objects to quarantine, remove broken entries, mark damaged files
    #[arg(long, conflicts_with = "rerun")]
    repair: bool,
    #[command(flatten)]
    rerun: RerunArgs,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  prep cache verify
  prep cache verify --repair
  prep cache verify --rerun --lite --memory 800MB --scratch /scratch

The command hashes all objects and compares the digests with their names. A published file may be a hard link to a damaged \
object: the command names such files of this data directory, and after --repair, the next run writes them again. With --rerun, it runs the steps of competitions \
again, and compares the results with those of the cache and of the remote. The steps run with a quarter of --memory, half of \
--jobs, and in another order. The rerun downloads and publishes nothing, and only reads the cache. It uses the options with which \
the competitions were prepared, unless you give others. Without an ID, it runs all prepared competitions.

The exit code is 1 if a result differs, and 6 if an object is damaged.";

impl CacheArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let root = &session.settings.store_dir;
        let Some(store) = Store::open_existing(root)? else {
            let printer = &session.printer;
            printer.message(format!("there is no cache in {} yet", root.display()));
            if printer.json {
                printer.json(&json!({ "path": root, "exists": false }))?;
            }
            return Ok(Exit::Success);
        };
        // Actions that change the cache open the cache again, for writing.
        match &self.action {
            Action::Stat => stat(session, &store),
            Action::Log(log) => log.call(session),
            Action::Verify(args) => match args.rerun.rerun {
                true => args.rerun.call(session),
                false => {
                    args.rerun.reject_selection()?;
                    let store = if args.repair {
                        Store::open(root)?
                    } else {
                        store
                    };
                    verify(session, &store, args.repair)
                }
            },
            Action::Gc {
                max_size,
                keep_days,
                dry_run,
            } => {
                let store = if *dry_run { store } else { Store::open(root)? };
                let options = GcOptions {
                    max_size: *max_size,
                    keep_days: *keep_days,
                    dry_run: *dry_run,
                };
                gc(session, &store, &options)
            }
        }
    }
}

fn amount(amount: Amount) -> Value {
    json!({ "files": amount.files, "bytes": amount.bytes })
}

fn stat(session: &CliSession, store: &Store) -> VerbResult {
    let stat = store.stat()?;
    let json = || {
        json!({
            "path": store.root(),
            "exists": true,
            "objects": amount(stat.objects),
            "ledger": amount(stat.ledger),
            "history": amount(stat.history),
            "sources": amount(stat.sources),
            "bundles": amount(stat.bundles),
            "temporary": amount(stat.temporary),
            "quarantine": amount(stat.quarantine),
            "free": stat.free,
        })
    };
    let text = || format!("{}\n\n{}", store.root().display(), stat_table(&stat));
    session.printer.show(json, text)?;
    if let Some(first) = stat.unreadable.first() {
        let described = ownership(first).unwrap_or_else(|| first.display().to_string());
        session.printer.warning(format!(
            "directories that you may not list, whose files are not counted: {}; {described}",
            stat.unreadable.len()
        ));
    }
    Ok(Exit::Success)
}

fn stat_table(stat: &StoreStat) -> String {
    let mut table = PrintedTable::with_header("  >files  >size");
    for (name, amount) in [
        ("objects", stat.objects),
        ("entries", stat.ledger),
        ("last runs", stat.history),
        ("records of sources", stat.sources),
        ("member lists", stat.bundles),
        ("temporary", stat.temporary),
        ("quarantine", stat.quarantine),
    ] {
        table.row(vec![
            name.to_owned(),
            amount.files.to_string(),
            units::bytes(amount.bytes),
        ]);
    }
    if let Some(free) = stat.free {
        table.row(vec![
            "free on disk".to_owned(),
            String::new(),
            units::bytes(free),
        ]);
    }
    table.render()
}

fn verify(session: &CliSession, store: &Store, repair: bool) -> VerbResult {
    let report = store.verify(repair, &|_| {})?;
    // A run may have moved a damaged object to quarantine, and published files may still share its bytes.
    let mut damaged = store.quarantined_objects()?;
    damaged.extend(&report.damaged);
    let published = match damaged.is_empty() {
        true => Vec::new(),
        false => prep_app::damaged_files(&session.settings, &session.catalog()?, &damaged, repair)?,
    };
    let json = || verify_json(&report, &published);
    session
        .printer
        .show(json, || verify_text(&report, &published))?;
    let is_clean = report.is_clean() && published.is_empty();
    Ok(if is_clean || repair && report.failed.is_empty() {
        Exit::Success
    } else {
        Exit::Machine
    })
}

fn failures(errors: &[prep_cache::StoreError]) -> Vec<StatedReason> {
    let failure = |error| StatedReason::new(Failure::Machine.name(), chain(error));
    errors.iter().map(|error| failure(error)).collect()
}

fn verify_json(report: &VerifyReport, published: &[PathBuf]) -> Value {
    json!({
        "clean": report.is_clean(),
        "repaired": report.repaired,
        "checked": amount(report.checked),
        "entries": report.entries,
        "damaged": report.damaged,
        "missing": report.missing,
        "dangling": report.dangling,
        "garbled": report.garbled,
        "foreign": report.foreign,
        "published": published,
        "failed": failures(&report.failed),
    })
}

fn verify_text(report: &VerifyReport, published: &[PathBuf]) -> String {
    let objects = units::count(report.checked.files, "object");
    let mut text = format!(
        "{objects} ({}) and {} entries read\n",
        units::bytes(report.checked.bytes),
        report.entries
    );
    let mut line = |what: &str, name: String| text.push_str(&format!("{what}: {name}\n"));
    for digest in &report.damaged {
        line("damaged", digest.to_string());
    }
    for digest in &report.missing {
        line("missing", digest.to_string());
    }
    for key in &report.dangling {
        line("entry without its objects", key.to_string());
    }
    for path in &report.garbled {
        line("damaged record", path.display().to_string());
    }
    for path in &report.foreign {
        line("foreign file", path.display().to_string());
    }
    for path in published {
        line("damaged published file", path.display().to_string());
    }
    for error in &report.failed {
        line("not readable", chain(error));
    }
    text.push_str(match (report.is_clean(), report.repaired) {
        (true, true) if !published.is_empty() => {
            "the cache is intact; the next run writes the damaged published files again\n"
        }
        (true, false) if !published.is_empty() => {
            "the cache is intact; after `prep cache verify --repair`, the next run writes the damaged published files again\n"
        }
        (true, _) => "the cache is intact\n",
        (false, true) => {
            "the damaged objects and entries were removed; the next run computes the missing results and writes the damaged files again\n"
        }
        (false, false) => {
            "run `prep cache verify --repair` to remove the damaged objects and entries; the next run computes the missing results and writes the damaged files again\n"
        }
    });
    text
}

fn gc(session: &CliSession, store: &Store, options: &GcOptions) -> VerbResult {
    let report = store.gc(options)?;
    let json = || {
        json!({
            "dry_run": options.dry_run,
            "objects": report.removed_objects(),
            "entries": report.entries.len(),
            "records": report.records.len(),
            "leftovers": report.leftovers,
            "removed_bytes": report.removed_bytes,
            "freed_bytes": report.freed_bytes,
            "kept": amount(report.kept),
            "failed": failures(&report.failed),
        })
    };
    let text = || gc_text(&report, options.dry_run);
    session.printer.show(json, text)?;
    if options.max_size.is_none() && options.keep_days.is_none() {
        let text = "without --max-size or --keep-days, only files that no result uses are removed";
        session.printer.message(text);
    }
    for error in &report.failed {
        let error = CliError::new(Exit::Machine, chain(error));
        session.printer.error(&error);
    }
    Ok(if report.failed.is_empty() {
        Exit::Success
    } else {
        Exit::Machine
    })
}

fn gc_text(report: &GcReport, dry_run: bool) -> String {
    let verb = if dry_run { "would remove" } else { "removed" };
    let objects = units::count(report.removed_objects() as u64, "object");
    let entries = report.entries.len() + report.records.len();
    let entries = units::count(entries as u64, "record");
    format!(
        "{verb} {objects} ({}, of which {} are freed on disk) and {entries}; {} kept ({})\n",
        units::bytes(report.removed_bytes),
        units::bytes(report.freed_bytes),
        units::count(report.kept.files, "object"),
        units::bytes(report.kept.bytes),
    )
}

/// Options of `--rerun`.
#[derive(Debug, Args)]
pub struct RerunArgs {
    /// Run the steps of competitions again, and compare the results
    #[arg(long)]
    pub rerun: bool,
    /// Directory for the results of a rerun [default: in the cache]
    #[arg(long, value_name = "DIR", requires = "rerun")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    preparation: PreparationArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl RerunArgs {
    /// Rejects a selection of competitions, which has an effect only with `--rerun`.
    pub fn reject_selection(&self) -> Result<(), CliError> {
        match self.selection.is_empty() {
            true => Ok(()),
            false => Err(
                CliError::usage("competitions can only be selected with --rerun")
                    .help("without --rerun, the entire cache is verified"),
            ),
        }
    }

    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &session.linked(&self.remote)?;
        let task = session.local_task(&self.preparation)?;
        let prepared = || Ok(prep_app::prepared_ids(&task.catalog, &task.data_dir()));
        let ids = self.selection.ids_or(session, prepared)?;
        let scratch = match &self.scratch {
            Some(directory) => directory.clone(),
            None => session.settings.temp_dir(),
        };
        let (_watching, cancel) = process::watched(&session.printer)?;
        let done = |rerun: &Rerun| session.printer.message(line(rerun));
        let all = prep_app::rerun(&task, &ids, &scratch, &cancel, &done)?;
        let json = || {
            let mut competitions = json!(all);
            for rerun in competitions.as_array_mut().into_iter().flatten() {
                let steps = rerun["steps"].as_array_mut();
                steps.into_iter().flatten().for_each(reasons::join_failure);
            }
            json!({
                "competitions": competitions,
                "equal": sum(&all, is_equal),
                "differs": sum(&all, differs),
                "unrecorded": sum(&all, is_unrecorded),
                "failed": sum(&all, is_without_result),
            })
        };
        session.printer.show(json, || text(&all))?;
        Ok(exit(&all))
    }
}

fn is_equal(result: &RerunResult) -> bool {
    *result == RerunResult::Equal
}

fn differs(result: &RerunResult) -> bool {
    matches!(result, RerunResult::Differs { .. })
}

fn is_unrecorded(result: &RerunResult) -> bool {
    *result == RerunResult::Unrecorded
}

fn is_without_result(result: &RerunResult) -> bool {
    matches!(
        result,
        RerunResult::Failed { .. } | RerunResult::Skipped { .. }
    )
}

fn sum(all: &[Rerun], wanted: fn(&RerunResult) -> bool) -> usize {
    all.iter().map(|rerun| rerun.count(wanted)).sum()
}

/// Returns for example `spaceship-titanic: 14 steps equal, 1 differs`.
fn line(rerun: &Rerun) -> String {
    let steps = |wanted: fn(&RerunResult) -> bool| rerun.count(wanted);
    let mut text = format!(
        "{}: {} equal",
        rerun.id,
        units::count(steps(is_equal) as u64, "step")
    );
    for (count, state) in [
        (steps(differs), "differ"),
        (steps(is_unrecorded), "not in the cache"),
        (steps(is_without_result), "could not run"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {state}"));
        }
    }
    text
}

/// Lists all steps whose results differ or could not be compared, and the totals.
fn text(all: &[Rerun]) -> String {
    let mut text = String::new();
    for rerun in all {
        for step in &rerun.steps {
            text.push_str(&step_text(&rerun.id, step));
        }
    }
    let differing = sum(all, differs);
    let compared = sum(all, is_equal) + differing;
    text.push_str(&match compared {
        0 => {
            "no step could be compared: the cache has no results of these competitions\n".to_owned()
        }
        _ => format!(
            "{} compared, {differing} differ\n",
            units::count(compared as u64, "step")
        ),
    });
    text
}

fn step_text(id: &str, step: &RerunStep) -> String {
    let name = format!("{id}/{}", step.step);
    match &step.result {
        RerunResult::Equal => String::new(),
        RerunResult::Differs { differences } => {
            let lines = differences
                .iter()
                .map(|difference| difference_text(&name, difference));
            lines.collect()
        }
        RerunResult::Unrecorded => format!("not in the cache: {name}\n"),
        RerunResult::Failed { message, .. } => format!("could not run: {name}: {message}\n"),
        RerunResult::Skipped { because } => {
            format!("could not run: {name}, because `{because}` did not run\n")
        }
    }
}

fn difference_text(name: &str, difference: &Difference) -> String {
    let place = match difference.recorded_in {
        RerunPlace::Cache => "cache",
        RerunPlace::Remote => "remote",
    };
    let digest = |digest: Option<prep_cache::Digest>| {
        digest.map_or_else(|| "nothing".to_owned(), |digest| digest.to_string())
    };
    format!(
        "differs: {name}: output `{}`: {place} {}, rerun {}\n",
        difference.output,
        digest(difference.recorded),
        digest(difference.made)
    )
}

/// Returns the exit code of a rerun. A difference takes precedence over steps that could not run.
fn exit(all: &[Rerun]) -> Exit {
    if sum(all, differs) > 0 {
        return Exit::No;
    }
    let steps = all.iter().flat_map(|rerun| &rerun.steps);
    Exit::combine(steps.filter_map(|step| match &step.result {
        RerunResult::Failed { failure, .. } => Some(Exit::from_failure(*failure)),
        _ => None,
    }))
}
