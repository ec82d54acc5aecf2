//! `prep pack add | list | remove | check`: installs, lists, removes and checks packs. A pack contains competitions that
//! are not built in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prep_app::reasons;
use prep_app::{
    LeakLevel, NOT_REPRODUCIBLE, PackCheck, PackChecks, PackOrigin, PreparationOptions,
    RememberedOptions, SILENT_FAILURE, add_pack, add_pack_temporarily, installed_packs,
    remove_pack,
};
use prep_core::{Cancel, Failure, units};
use prep_remote::{SigningKey, TrustedSigner};
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::options::{SourceArg, VariantArg};
use crate::output::printer::{check_writable, write_atomically};
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
  prep pack add --replace packs/mle-dojo
  prep pack add lab-pack.tar.gz
  prep pack add https://example.org/lab-pack.zip@sha256:DIGEST

The command copies the files of the pack and runs nothing. The competitions then have the ids PACK/ID.")]
pub struct AddArgs {
    /// Directory or archive with a pack.yaml, FILE@sha256:DIGEST or URL@sha256:DIGEST
    #[arg(value_name = "PACK")]
    origin: String,
    /// Replace an installed pack of this name, if the new one is valid
    #[arg(long)]
    replace: bool,
}

impl AddArgs {
    fn call(&self, session: &CliSession) -> VerbResult {
        let origin = PackOrigin::parse(&self.origin)?;
        let limits = DownloadLimits::default();
        let network = network(session, &limits, Purpose::Download);
        let (_watching, cancel) = process::watched(&session.printer)?;
        let pack = add_pack(&session.settings, &origin, self.replace, &network, &cancel)?;
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
    fn call(&self, session: &CliSession) -> VerbResult {
        let packs = installed_packs(&session.settings)?;
        let (mut all, mut table) = (Vec::new(), PrintedTable::with_header(HEADER));
        let mut exit = Exit::Success;
        for installed in &packs {
            let (pack, error) = (installed.pack.as_ref().ok(), installed.pack.as_ref().err());
            let problem = error.map(|error| &error.message);
            all.push(json!({
                "name": installed.name,
                "directory": installed.directory,
                "pack": pack.map(|pack| json!(**pack)),
                "error": error.map(|error| CliError::from(error.clone()).json()),
            }));
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let repository = pack.and_then(|pack| pack.repository.clone());
            table.row(vec![
                installed.name.clone(),
                or_dash(pack.map(|pack| pack.version.clone())),
                or_dash(pack.map(|pack| pack.competitions.len().to_string())),
                or_dash(repository.or(problem.map(|problem| format!("cannot be used: {problem}")))),
            ]);
            if let Some(error) = error {
                exit = Exit::from_failure(error.failure);
            }
        }
        match () {
            () if session.printer.json => session.printer.json(&json!({ "packs": all }))?,
            () if packs.is_empty() => session.printer.message("no pack is installed"),
            () => session.printer.table(&table)?,
        }
        Ok(exit)
    }
}

/// Maximum length in characters of a line about a mistake in a pipeline.
const MAX_PROBLEM: usize = 1000;
const HEADER: &str = "pack  version  >competitions  upstream";

/// Remove a pack, but not its prepared data
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pack remove mle-dojo

To remove the prepared data, too, run `prep remove --set PACK` first.")]
pub struct RemoveArgs {
    /// Name of the pack
    #[arg(value_name = "PACK", id = "pack")]
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
  prep pack check ./lab --write lab/pack.lock

For each competition, the command checks the pipeline. Public files that reveal the answers are a failure. If the bundle is on this machine, it also prepares the competition \
twice, with different memory and threads, and compares the digests with each other and with pack.lock. It searches for \
leaks and grades the sample submission. The data directory and the cache do not change.")]
pub struct CheckArgs {
    /// Name of an installed pack, or a directory with a pack.yaml
    #[arg(value_name = "PACK", id = "pack")]
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
        let installed = installed_packs(&session.settings)?;
        let is_installed = installed.iter().any(|pack| pack.name == self.name);
        let is_path = || self.name.contains('/') || Path::new(&self.name).is_dir();
        if is_installed || !is_path() {
            return self.check(session, &self.name, None);
        }
        let origin = PackOrigin::Path {
            path: self.name.clone().into(),
            sha256: None,
        };
        let network = network(session, &DownloadLimits::default(), Purpose::Unused);
        let cancel = Cancel::default();
        let settings = &session.settings;
        let (pack, settings, _directory) =
            add_pack_temporarily(settings, &origin, &network, &cancel)?;
        let session = CliSession {
            settings,
            ..session.clone()
        };
        let path = self.name.trim_end_matches('/');
        self.check(&session, &pack.name, Some(path))
    }

    /// Checks the installed pack `pack`. `origin` is the place from which it was added temporarily.
    fn check(&self, session: &CliSession, pack: &str, origin: Option<&str>) -> VerbResult {
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
        let mut trusted: Vec<TrustedSigner> = trusted.collect::<Result<_, _>>()?;
        // The user's own keys are always trusted.
        let own = session.places.keys().map(|keys| SigningKey::all(&keys));
        let own = own.unwrap_or_default().into_iter().flatten();
        trusted.extend(own.map(|key| TrustedSigner::from(key.public())));
        let checks = PackChecks {
            task: &task,
            pack,
            trusted: &trusted,
            origin,
        };
        let all = checks.competitions()?;
        let name = |id: &String| id.rsplit('/').next().unwrap_or_default().to_owned();
        let named = self.ids.iter().map(|id| format!("{pack}/{}", name(id)));
        let ids = if self.ids.is_empty() {
            all
        } else {
            named.collect()
        };
        if let Some(path) = &self.write {
            check_writable(path)?;
        }
        let (_watching, cancel) = process::watched(&session.printer)?;
        let mut done = |check: &PackCheck| {
            session.printer.message(status(check));
            for warning in &check.warnings {
                session.printer.warning(format!("{}: {warning}", check.id));
            }
        };
        let mut found = checks.run(&ids, &cancel, &mut done)?;
        if let Some(path) = &self.write {
            let key = remote.signing(&session.places)?;
            let text = checks.lock_text(path, &found, key.as_ref())?;
            write_atomically(path, |out| out.write_all(text.as_bytes()))?;
            session.printer.message(match key {
                Some(key) => format!("wrote {}, signed by {}", path.display(), key.public()),
                None => format!(
                    "wrote {}, not signed, because there is no key",
                    path.display()
                ),
            });
            checks.compare(path, &mut found)?;
        }
        if session.printer.json {
            let mut competitions = json!(found);
            for check in competitions.as_array_mut().into_iter().flatten() {
                reasons::state(check, "mistake", Failure::Pipeline.name());
                reasons::state(check, "failure", Failure::Input.name());
            }
            session
                .printer
                .json(&json!({ "competitions": competitions }))?;
        } else if self.markdown {
            session.printer.result(&markdown(&found))?;
        } else {
            let mut table = PrintedTable::with_header(
                "competition  pipeline  bundle  twice  leaks  sample  pack.lock",
            );
            found
                .iter()
                .for_each(|check| table.row(cells(check).into()));
            session.printer.table(&table)?;
            found
                .iter()
                .flat_map(reasons)
                .for_each(|reason| session.printer.message(one_line(&reason)));
        }
        let failures = found.iter().filter_map(PackCheck::failure);
        Ok(Exit::combine(failures.map(Exit::from_failure)))
    }
}

/// Describes the result of a competition: in one line, or with the mistakes of its pipeline, one per line.
fn status(check: &PackCheck) -> String {
    let what = match (
        check.mistake.as_ref().or(check.failure.as_ref()),
        &check.bundle,
    ) {
        (Some(problem), _) => {
            let lines = problem
                .lines()
                .map(|line| prep_spec::one_line(line, MAX_PROBLEM));
            lines.collect::<Vec<_>>().join("\n")
        }
        (_, None) if check.is_reproducible.is_none() => {
            "no bundle on this machine, so only the pipeline was checked".to_owned()
        }
        _ if check.is_reproducible == Some(false) => {
            format!("not reproducible: {}", check.differences.join(", "))
        }
        _ => "prepared twice".to_owned(),
    };
    format!("{}: {what}", check.id)
}

/// Returns the first word for true, the second for false, and `-` for a fact that was not checked.
fn word(fact: Option<bool>, words: [&str; 2]) -> String {
    let [yes, no] = words;
    fact.map_or("-", |fact| if fact { yes } else { no })
        .to_owned()
}

/// Returns the cells of the table: id, pipeline, bundle, both preparations, leaks, sample, `pack.lock`.
fn cells(check: &PackCheck) -> [String; 7] {
    let leaks = check.leaks.as_ref().map(|report| {
        let worst = report.worst().filter(|level| *level > LeakLevel::Note);
        let none = match report.has_few_items {
            true => "too few items",
            false => "none",
        };
        let worst = worst.map_or(none, LeakLevel::name);
        let accepted = report.findings.iter().filter(|one| one.accepted.is_some());
        match accepted.count() {
            0 => worst.to_owned(),
            count => format!("{worst}, {count} accepted"),
        }
    });
    let lock = check.lock.as_ref().map(|lock| {
        let signature = match (&lock.signed_by, lock.is_trusted) {
            (None, _) => "not signed",
            (_, true) => "signed",
            (_, false) => "signed by an unknown key",
        };
        match lock.is_equal {
            None => "not listed".to_owned(),
            equal => format!("{}, {signature}", word(equal, ["equal", "differs"])),
        }
    });
    [
        check.id.clone(),
        match (&check.mistake, check.warnings.len()) {
            (Some(_), _) => "mistakes".to_owned(),
            (None, 0) => "valid".to_owned(),
            (None, count) => units::count(count as u64, "warning"),
        },
        word(
            Some(check.bundle.is_some())
                .filter(|is_here| *is_here || check.is_reproducible.is_none()),
            ["here", "missing"],
        ),
        match &check.failure {
            Some(_) => "failed".to_owned(),
            None => word(check.is_reproducible, ["equal", "differs"]),
        },
        leaks.unwrap_or_else(|| "-".to_owned()),
        word(check.is_sample_valid, ["valid", "invalid"]),
        lock.unwrap_or_else(|| "-".to_owned()),
    ]
}

/// Returns a line for each leak or risk that is not accepted, and one for the differences from `pack.lock`.
fn reasons(check: &PackCheck) -> Vec<String> {
    let findings = check.leaks.iter().flat_map(|report| &report.findings);
    let findings = findings.filter(|one| one.accepted.is_none() && one.level > LeakLevel::Note);
    let leaks = findings.map(|one| {
        let (level, detector, what) = (one.level.name(), one.detector, &one.what);
        format!("{}: {level}: {detector}: {what}", check.id)
    });
    let lock = check
        .lock
        .iter()
        .filter(|lock| !lock.differences.is_empty());
    let lock = lock.map(|lock| {
        let differences = lock.differences.join("; ");
        let id = &check.id;
        format!("{id}: differs from pack.lock (`--write FILE` accepts the new data): {differences}")
    });
    leaks.chain(lock).collect()
}

/// Returns a Markdown table for documentation. The columns `leaks`, `not reproducible` and `silent failure` show mistakes
/// of upstream's script, with the explanations from the section `accepted` of each pipeline.
fn markdown(found: &[PackCheck]) -> String {
    let mut text = "| competition | leaks | not reproducible | silent failure | prepared twice | pack.lock |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    for check in found {
        let [id, pipeline, bundle, twice, leaks, _, lock] = cells(check);
        let is_leak = |name: &str| ![NOT_REPRODUCIBLE, SILENT_FAILURE].contains(&name);
        let accepted = check.accepted.iter().filter(|(name, _)| is_leak(name));
        // Several detectors can find the same leak.
        let accepted: BTreeSet<&str> = accepted.map(|(_, why)| why.as_str()).collect();
        let accepted = Vec::from_iter(accepted).join("; ");
        let reason = |name: &str| {
            check
                .accepted
                .get(name)
                .map_or("-", String::as_str)
                .to_owned()
        };
        let twice = match (&check.mistake, &check.bundle) {
            (Some(_), _) => format!("pipeline: {pipeline}"),
            (_, None) if check.is_reproducible.is_none() => format!("bundle: {bundle}"),
            _ => twice,
        };
        let leaks = if accepted.is_empty() { leaks } else { accepted };
        let cells = [
            id,
            leaks,
            reason(NOT_REPRODUCIBLE),
            reason(SILENT_FAILURE),
            twice,
            lock,
        ];
        let cells = cells.map(|cell| one_line(&cell).replace('|', "\\|"));
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}
