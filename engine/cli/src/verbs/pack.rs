//! `prep pack add | list | remove | check`: competitions that others wrote.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use prep_app::{
    InstalledPack, LockComparison, NOT_REPRODUCIBLE, PackCheck, PackChecks, PackOrigin,
    PreparationOptions, RememberedOptions, SILENT_FAILURE, add_pack, installed_packs, remove_pack,
};
use prep_core::units;
use prep_remote::TrustedSigner;
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::options::{SourceArg, VariantArg};
use crate::output::printer::write_atomically;
use crate::output::table::{PrintedTable, one_line};
use crate::process;
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::request::{DownloadLimits, Purpose, network};
use crate::session::{CliSession, VerbResult};

/// Add packs of competitions, and check them
#[derive(Debug, Args)]
pub struct PackVerbs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Add(AddArgs),
    List(ListArgs),
    Remove(RemoveArgs),
    Check(CheckArgs),
}

impl PackVerbs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        if session.settings.packs.is_none() {
            return Err(CliError::usage("the directory of packs is not set")
                .help("set PREP_PACKS, or `packs` in prep.toml"));
        }
        match &self.verb {
            Verb::Add(verb) => verb.call(session),
            Verb::List(verb) => verb.call(session),
            Verb::Remove(verb) => verb.call(session),
            Verb::Check(verb) => verb.call(session),
        }
    }
}

/// Add a pack from a directory, an archive or a URL
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pack add packs/mle-dojo
  prep pack add lab-pack.tar.gz
  prep pack add https://example.org/lab-pack.zip@sha256:DIGEST

The command copies the files of the pack and runs nothing. The competitions then have the ids PACK/ID.")]
pub struct AddArgs {
    /// Directory or archive with a pack.yaml, or URL@sha256:DIGEST
    #[arg(value_name = "PACK")]
    origin: String,
}

impl AddArgs {
    fn call(&self, session: &CliSession) -> VerbResult {
        let origin = PackOrigin::parse(&self.origin)?;
        let limits = DownloadLimits::default();
        let network = network(session, &limits, Purpose::Download);
        let (_watching, cancel) = process::watched(&session.printer)?;
        let pack = add_pack(&session.settings, &origin, &network, &cancel)?;
        let count = units::count(pack.competitions.len() as u64, "competition");
        let text = || {
            let set = &pack.name;
            format!(
                "added {} {}: {count}; `prep list --set {set}` lists them\n",
                pack.name, pack.version
            )
        };
        session.printer.show(|| json!({ "pack": *pack }), text)?;
        Ok(Exit::Success)
    }
}

/// List the installed packs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pack list
  prep pack list --json")]
pub struct ListArgs {}

impl ListArgs {
    #[expect(clippy::unused_self, reason = "the verbs have the same form")]
    fn call(&self, session: &CliSession) -> VerbResult {
        let packs = installed_packs(&session.settings)?;
        let is_bad = packs.iter().any(|pack| pack.pack.is_err());
        if session.printer.json {
            let packs: Vec<Value> = packs.iter().map(to_json).collect();
            session.printer.json(&json!({ "packs": packs }))?;
        } else if packs.is_empty() {
            session.printer.message("no pack is installed");
        } else {
            session.printer.table(&table(&packs))?;
        }
        Ok(if is_bad {
            Exit::Pipeline
        } else {
            Exit::Success
        })
    }
}

fn to_json(installed: &InstalledPack) -> Value {
    let mut members = json!({ "name": installed.name, "directory": installed.directory });
    let further = match &installed.pack {
        Ok(pack) => json!(**pack),
        Err(error) => json!({ "problem": error.message }),
    };
    if let (Some(members), Value::Object(further)) = (members.as_object_mut(), further) {
        members.extend(further);
    }
    members
}

fn table(packs: &[InstalledPack]) -> PrintedTable {
    let mut table = PrintedTable::with_header("pack  version  >competitions  upstream");
    for installed in packs {
        table.row(match &installed.pack {
            Ok(pack) => vec![
                pack.name.clone(),
                pack.version.clone(),
                pack.competitions.len().to_string(),
                pack.repository.clone().unwrap_or_else(|| "-".to_owned()),
            ],
            Err(error) => vec![
                installed.name.clone(),
                "-".to_owned(),
                "-".to_owned(),
                format!("cannot be used: {}", error.message),
            ],
        });
    }
    table
}

/// Remove a pack, but not its prepared data
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pack remove mle-dojo

To remove the prepared data, too, run `prep remove --set PACK` first.")]
pub struct RemoveArgs {
    /// Name of the pack
    #[arg(value_name = "PACK")]
    name: String,
}

impl RemoveArgs {
    fn call(&self, session: &CliSession) -> VerbResult {
        remove_pack(&session.settings, &self.name)?;
        let text = || format!("removed {}\n", self.name);
        session
            .printer
            .show(|| json!({ "removed": self.name }), text)?;
        Ok(Exit::Success)
    }
}

/// Check a pack: prepare each competition twice
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pack check mle-dojo --source bundles
  prep pack check mle-dojo DontGetKicked --json
  prep pack check mle-dojo --markdown
  prep pack check lab --write packs/lab/pack.lock

For each competition, the command checks the pipeline. If the bundle is on this machine, it also prepares the competition \
twice, with different memory and threads, and compares the digests with each other and with pack.lock. It searches for \
leaks and grades the sample submission. The data directory and the cache do not change.")]
pub struct CheckArgs {
    /// Name of the pack
    #[arg(value_name = "PACK")]
    name: String,
    /// Competitions of the pack, with or without PACK/ [default: all]
    #[arg(value_name = "COMPETITION")]
    ids: Vec<String>,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    variant: VariantArg,
    /// Write the digests of reproducible competitions to this pack.lock, and sign it
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print a Markdown table for documentation
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl CheckArgs {
    fn call(&self, session: &CliSession) -> VerbResult {
        let options = PreparationOptions {
            variant: self.variant.variant.clone(),
            remembered: RememberedOptions {
                source: self.source.or_setting(session).map(PathBuf::from),
                ..session.remembered.clone()
            },
            ..PreparationOptions::default()
        };
        let task = session.task(options, &DownloadLimits::default(), Purpose::Unused)?;
        let remote = RemoteSettings::resolve(
            &RemoteArgs::default(),
            &session.places,
            &session.settings.data_dir,
        )?;
        let trusted = remote.trusted.iter().map(|(key, _)| key.parse());
        let trusted: Vec<TrustedSigner> = trusted.collect::<Result<_, _>>()?;
        let checks = PackChecks {
            task: &task,
            pack: &self.name,
            trusted: &trusted,
        };
        let all = task.catalog.set(&self.name)?;
        let prefix = format!("{}/", self.name);
        let named = self.ids.iter().map(|id| match id.starts_with(&prefix) {
            true => id.clone(),
            false => format!("{prefix}{id}"),
        });
        let ids: Vec<String> = match self.ids.is_empty() {
            true => all,
            false => named.collect(),
        };
        let (_watching, cancel) = process::watched(&session.printer)?;
        let mut done = |check: &PackCheck| session.printer.message(one_line(&status(check)));
        let found = checks.run(&ids, &cancel, &mut done)?;
        if let Some(path) = &self.write {
            let key = remote.signing(&session.places)?;
            let text = checks.lock_text(&found, key.as_ref())?;
            write_atomically(path, |out| out.write_all(text.as_bytes()))?;
            session.printer.message(match key {
                Some(key) => format!("{} is signed by {}", path.display(), key.public()),
                None => format!("{} is not signed, because there is no key", path.display()),
            });
        }
        if session.printer.json {
            session.printer.json(&json!({ "competitions": found }))?;
        } else if self.markdown {
            session.printer.result(&markdown(&found))?;
        } else {
            session.printer.table(&checks_table(&found))?;
        }
        let failures = found.iter().filter_map(PackCheck::failure);
        Ok(Exit::combine(failures.map(Exit::from_failure)))
    }
}

/// Describes the result of a competition in one line.
fn status(check: &PackCheck) -> String {
    let id = &check.id;
    match (&check.mistake, &check.failure, &check.bundle) {
        (Some(mistake), ..) => format!("{id}: {mistake}"),
        (_, Some(failure), _) => format!("{id}: {failure}"),
        (_, _, None) => {
            format!("{id}: no bundle on this machine, so only the pipeline was checked")
        }
        _ => match check.is_reproducible {
            Some(false) => format!("{id}: not reproducible: {}", check.differences.join(", ")),
            _ => format!("{id}: prepared twice"),
        },
    }
}

fn yes_or_no(value: Option<bool>, yes: &'static str, no: &'static str) -> String {
    let word = match value {
        Some(true) => yes,
        Some(false) => no,
        None => "-",
    };
    word.to_owned()
}

fn lock_text(lock: Option<&LockComparison>) -> String {
    let Some(lock) = lock else {
        return "-".to_owned();
    };
    let equal = yes_or_no(lock.is_equal, "equal", "differs");
    match (lock.is_equal, &lock.signed_by, lock.is_trusted) {
        (None, ..) => "not listed".to_owned(),
        (_, None, _) => format!("{equal}, not signed"),
        (_, _, true) => format!("{equal}, signed"),
        (_, _, false) => format!("{equal}, signed by an unknown key"),
    }
}

fn leaks_text(check: &PackCheck) -> String {
    let Some(leaks) = check.leaks else {
        return "-".to_owned();
    };
    let counts = [
        (leaks.leaks, "leak"),
        (leaks.risks, "risk"),
        (leaks.accepted, "accepted"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match counts.is_empty() {
        true => "none".to_owned(),
        false => counts.join(", "),
    }
}

fn checks_table(found: &[PackCheck]) -> PrintedTable {
    let mut table =
        PrintedTable::with_header("competition  pipeline  bundle  twice  leaks  sample  pack.lock");
    for check in found {
        table.row(vec![
            check.id.clone(),
            yes_or_no(Some(check.mistake.is_none()), "valid", "mistakes"),
            yes_or_no(Some(check.bundle.is_some()), "here", "missing"),
            match &check.failure {
                Some(_) => "failed".to_owned(),
                None => yes_or_no(check.is_reproducible, "equal", "differs"),
            },
            leaks_text(check),
            yes_or_no(check.is_sample_valid, "valid", "invalid"),
            lock_text(check.lock.as_ref()),
        ]);
    }
    table
}

/// Returns a table for documentation. What upstream's script does wrong is in the section `accepted` of a pipeline.
fn markdown(found: &[PackCheck]) -> String {
    let mut text = "| competition | leaks | not reproducible | silent failure | prepared twice | pack.lock |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    for check in found {
        let is_leak = |name: &str| ![NOT_REPRODUCIBLE, SILENT_FAILURE].contains(&name);
        let accepted = check.accepted.iter().filter(|(name, _)| is_leak(name));
        let mut leaks: Vec<&str> = accepted.map(|(_, why)| why.as_str()).collect();
        leaks.sort_unstable();
        leaks.dedup();
        let found = leaks_text(check);
        let leaks = match leaks.is_empty() {
            true => found.as_str().to_owned(),
            false => leaks.join("; "),
        };
        let reason = |name: &str| {
            check
                .accepted
                .get(name)
                .map_or("-", String::as_str)
                .to_owned()
        };
        let twice = match (&check.mistake, &check.failure, &check.bundle) {
            (Some(_), ..) => "the pipeline has mistakes".to_owned(),
            (_, Some(_), _) => "failed".to_owned(),
            (_, _, None) => "no bundle".to_owned(),
            _ => yes_or_no(check.is_reproducible, "equal", "differs"),
        };
        let cells = [
            check.id.clone(),
            leaks,
            reason(NOT_REPRODUCIBLE),
            reason(SILENT_FAILURE),
            twice,
            lock_text(check.lock.as_ref()),
        ];
        let cells = cells.map(|cell| one_line(&cell).replace('|', "\\|"));
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}
