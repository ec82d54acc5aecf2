//! `prep verify-report`: checks signed grading reports, and prints the claim that each of them proves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Claim, Error, Expectations, Lockfile, ReadLog};
use prep_core::units;
use prep_experiments::reports_in;
use prep_remote::{SigningKey, TrustedSigner};
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::session::{CliSession, VerbResult};

/// Check signed grading reports, and print what they prove
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep verify-report reports --key ed25519:...
  prep verify-report report.json --key laptop --log DATA/grades.jsonl
  prep verify-report report.json --lock published/prep.lock

A line of the result is the claim of a report: score, data, rules, number of gradings, signer. Digests of data, rules and \
leaderboard are compared with the file of --lock. Without it, they are compared with the program's own competitions, and \
with the prepared data if there are any.

With --log, the hash chain of the log is checked, and each report must have its line in the log. If lines are missing \
at the end of the log, this is detected only if one of the reports belongs to a missing line.

The exit code is 0 if all reports are valid, 1 if they are valid and a score is not comparable with MLE-bench, and 5 if a \
report or the log is not valid.")]
pub struct VerifyReportArgs {
    /// Grading reports, outputs of `prep grade --json`, or directories of reports
    #[arg(value_name = "REPORT.json|DIR", required = true)]
    reports: Vec<PathBuf>,
    /// Public key of the grader, or name of your key [default: trusted keys]
    ///
    /// By default, the keys in `trusted` in `[remote]` of prep.toml are accepted.
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// Published digests: the prep.lock of another data directory
    #[arg(long, value_name = "PREP.LOCK")]
    lock: Option<PathBuf>,
    /// The log of gradings that the reports belong to
    #[arg(long, value_name = "GRADES.jsonl")]
    log: Option<PathBuf>,
}

impl VerifyReportArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let trusted = self.trusted(session)?;
        let lock = self.lock.as_deref().map(read_lock).transpose()?;
        let log = self.log.as_deref().map(read).transpose()?;
        let log = log.map(|bytes| ReadLog::parse(&bytes));
        let catalog = session.catalog()?;
        let expectations = Expectations {
            catalog: &catalog,
            settings: &session.settings,
            lock: lock.as_ref(),
            log: log.as_ref(),
            trusted: &trusted,
        };
        let mut claims = Vec::new();
        let mut paths = Vec::new();
        for path in &self.reports {
            match path.is_dir() {
                true => paths.extend(reports_in(path).map_err(CliError::of_experiments)?),
                false => paths.push(path.clone()),
            }
        }
        for path in &paths {
            for claim in claims_of(path, &expectations)? {
                claims.push((path.as_path(), claim));
            }
        }
        let faults = log.iter().flat_map(|log| &log.faults);
        let faults: Vec<String> = faults.map(|fault| format!("the log: {fault}")).collect();
        show(session, &claims, &faults)?;
        for line in log.iter().flat_map(|log| &log.partial) {
            session.printer.warning(format!(
                "the log: line {line} is partially written, because a process was killed or the system lost power; \
                 a grading may be missing"
            ));
        }
        if let Some(unchained @ 1..) = log.as_ref().map(|log| log.unchained) {
            let lines = units::count(unchained as u64, "line");
            let text = format!(
                "the log has no hash chain in its first {lines}, because an earlier version of prep wrote this part"
            );
            session.printer.message(text);
        }
        Ok(match () {
            () if !faults.is_empty() || claims.iter().any(|(_, claim)| !claim.holds()) => {
                Exit::Check
            }
            () if claims
                .iter()
                .any(|(_, claim)| !claim.not_comparable_because.is_empty()) =>
            {
                Exit::No
            }
            () => Exit::Success,
        })
    }

    /// Returns the keys whose reports are accepted.
    fn trusted(&self, session: &CliSession) -> Result<Vec<TrustedSigner>, CliError> {
        if self.key.is_empty() {
            let data_dir = &session.settings.data_dir;
            let remote =
                RemoteSettings::resolve(&RemoteArgs::default(), &session.places, data_dir)?;
            let keys = remote.trusted.iter().map(|(key, _)| Ok(key.parse()?));
            let keys: Vec<TrustedSigner> = keys.collect::<Result<_, CliError>>()?;
            return match keys.is_empty() {
                true => Err(CliError::usage("there is no key to check signatures with").help(
                    "pass the grader's public key with --key, or add it to `trusted` in `[remote]` of prep.toml",
                )),
                false => Ok(keys),
            };
        }
        let key = |text: &String| match text.starts_with("ed25519:") {
            true => Ok(TrustedSigner::from(text.parse::<prep_remote::PublicKey>()?)),
            false => Ok(SigningKey::load(&session.keys()?, text)?.public().into()),
        };
        self.key.iter().map(key).collect()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    Ok(std::fs::read(path).map_err(|error| Error::reading("read", path, &error))?)
}

fn read_lock(path: &Path) -> Result<Lockfile, CliError> {
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    let lock = Lockfile::parse(&text);
    lock.map_err(|error| CliError::new(Exit::Input, format!("{}: {error}", path.display())))
}

fn claims_of(path: &Path, expectations: &Expectations<'_>) -> Result<Vec<Claim>, CliError> {
    let bytes = read(path)?;
    let wrong = |problem: &str| {
        let message = format!("{} is not a grading report: {problem}", path.display());
        CliError::new(Exit::Input, message)
    };
    let document = prep_app::parse_report(&bytes).map_err(|error| wrong(&error))?;
    let reports = prep_app::reports_of(&document).ok_or_else(|| wrong("it contains no report"))?;
    let mut claims: Vec<Claim> = reports
        .into_iter()
        .map(|one| expectations.claim(one))
        .collect();
    if let Some(problem) = expectations.problem_of_list(&document) {
        claims
            .iter_mut()
            .for_each(|claim| claim.problems.push(problem.clone()));
    }
    Ok(claims)
}

fn show(
    session: &CliSession,
    claims: &[(&Path, Claim)],
    faults: &[String],
) -> Result<(), CliError> {
    let json = || {
        let competitions = claims.iter().map(|(path, claim)| {
            let mut entry = json!(claim);
            entry["file"] = json!(path);
            entry["holds"] = json!(claim.holds());
            entry["claim"] = json!(claim.text());
            entry
        });
        json!({ "competitions": competitions.collect::<Vec<_>>(), "log_faults": faults })
    };
    let text = || {
        let lines = claims.iter().map(|(_, claim)| claim.text() + "\n");
        lines.collect::<String>()
    };
    session.printer.show(json, text)?;
    for fault in faults {
        session
            .printer
            .error(&CliError::new(Exit::Check, fault.clone()));
    }
    let logs = claims.iter().filter_map(|(_, claim)| claim.log.as_deref());
    let ids: BTreeSet<&str> = logs.collect();
    if ids.len() > 1 {
        session.printer.warning(format!(
            "the reports belong to {} logs, and each report counts only the gradings of its own log",
            ids.len()
        ));
    }
    Ok(())
}
