//! `prep doctor`: checks everything that a run needs.

use std::io::Error;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::Path;
use std::time::{Duration, SystemTime};

use clap::Args;
use prep_app::doctor::{CheckResult, Health};
use prep_app::{Permission, PermissionCheck, Remedy, RememberedOptions, doctor};
use prep_core::{Cancel, Failure, units};
use prep_fetch::{
    Account, CertificateVariable, ENDPOINT_VARIABLE, FetchError, LazyNetwork, Network,
    check_endpoint,
};
use prep_remote::{Address, Link, SigningKey};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

use crate::error::{CliError, Exit, raise_open_files, system_action};
use crate::options::SourceArg;
use crate::output::table::PrintedTable;
use crate::remedy::words;
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::request::{DownloadLimits, Purpose};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult, not_a_directory};
use crate::settings::{MemoryLimit, open_files_of, unknown_variables, usable_memory};
use crate::{process, request};

/// Check credentials, rules, disk and directories
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep doctor
  prep doctor --lite
  prep doctor --offline --json

With an ID or a set, prep also checks the rules of the competitions and the disk space that they need. This takes one or two \
seconds per competition; `prep fetch --check-rules` shows the details.

The state `unverified` means that prep found a setting, but no request has used it successfully, for example with --offline.

The exit code is 0 if there is no error, even if there are warnings.")]
pub struct DoctorArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    source: SourceArg,
    /// Send no request to Kaggle or to a remote
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Pause between two requests to Kaggle.
const REQUEST_INTERVAL: Duration = Duration::from_millis(1500);

/// A larger difference between the clocks of this system and of the server causes a warning.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(120);

/// With less memory for steps, in bytes, large competitions may be slow or fail.
const MIN_MEMORY_BYTES: u64 = 2 << 30;

#[derive(Default)]
struct Findings {
    all: Vec<CheckResult>,
    exits: Vec<Exit>,
}

impl Findings {
    fn add(&mut self, finding: CheckResult) {
        if finding.health == Health::Error {
            self.exits.push(Exit::from_failure(finding.failure));
        }
        self.all.push(finding);
    }

    /// Marks checks as successful that only found a setting, because a request with this setting succeeded. An error of
    /// the server proves only that the proxy works.
    fn verify(&mut self, is_error: bool) {
        let unverified = self.all.iter_mut();
        let unverified = unverified.filter(|finding| {
            finding.health == Health::Unverified && (finding.check == "proxy" || !is_error)
        });
        unverified.for_each(|finding| finding.health = Health::Ok);
    }

    /// Adds a failed check with the error's suggested action.
    fn failed(&mut self, check: &'static str, error: impl Into<CliError>) {
        self.add_error(check, Health::Error, error);
    }

    fn add_error(&mut self, check: &'static str, health: Health, error: impl Into<CliError>) {
        let error: CliError = error.into();
        let finding = CheckResult {
            help: error.help.map(Remedy::from),
            ..CheckResult::new(check, health, error.message)
        };
        if health == Health::Error {
            self.exits.push(error.exit);
        }
        self.all.push(finding);
    }
}

impl DoctorArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let (_watching, cancel) = process::watched(&session.printer)?;
        let mut findings = Findings::default();
        let ids = match self.selection.is_empty() {
            true => Vec::new(),
            false => self.selection.ids(session)?,
        };
        let purpose = Purpose::request_unless(self.offline);
        let network = request::network(session, &DownloadLimits::default(), purpose);
        if let Some(error) = &session.unusable {
            findings.failed("settings", error.clone());
        }
        for text in unknown_variables() {
            findings.add(CheckResult::new("settings", Health::Warning, text));
        }
        let mut of_remote = Findings::default();
        let linked = self.remote(session, &mut of_remote);
        let (inputs, needs_download) = match ids.is_empty() {
            // A remote may have the bundles and results, so a machine that uses one may need no credentials of Kaggle.
            true => (Vec::new(), linked.is_none()),
            false => match self.inputs(linked.as_ref().unwrap_or(session), &ids, purpose) {
                // The selection contains a mistake.
                Err(error) if error.exit == Exit::Usage => return Err(error),
                Err(error) => {
                    findings.failed("bundles", error);
                    (Vec::new(), true)
                }
                Ok(found) => found,
            },
        };
        credentials(session, self.offline || !needs_download, &mut findings);
        connection(session, &mut findings);
        if !self.offline {
            self.kaggle(session, &network, &ids, &cancel, &mut findings)?;
        }
        for mut finding in doctor::file_systems(&session.settings) {
            let origin = match finding.check {
                "cache" => session.places.origin("cache_dir"),
                "data" => session.places.origin("data_dir"),
                _ => "default",
            };
            if finding.health == Health::Error && !matches!(origin, "default" | "option") {
                finding.text.push_str(&format!(" (set in {origin})"));
            }
            findings.add(finding);
        }
        self.directories(session, &mut findings);
        match session.catalog() {
            Ok(catalog) => {
                for finding in doctor::prepared_data(&session.settings, &catalog) {
                    findings.add(finding);
                }
            }
            Err(error) => findings.failed("pipelines", error),
        }
        if ids.is_empty() {
            findings.add(doctor::free_space(&session.settings));
        }
        findings.all.extend(doctor::quarantine(&session.settings));
        for finding in inputs {
            findings.add(finding);
        }
        findings.add(open_files(session));
        findings.add(memory(session));
        findings.all.append(&mut of_remote.all);
        findings.exits.append(&mut of_remote.exits);
        show(session, &findings.all)?;
        Ok(match cancel.is_cancelled() {
            true => Exit::Interrupted,
            false => Exit::combine(findings.exits),
        })
    }

    /// Checks that the directories of the settings can be read. The directories that `prep` creates need not exist.
    fn directories(&self, session: &CliSession, findings: &mut Findings) {
        let places = &session.places;
        let origin = match self.source.dir() {
            Some(_) => "option",
            None => places.origin("source"),
        };
        let descriptions = session.remembered.descriptions.as_deref();
        let packs = session.settings.packs.as_deref();
        for (name, dir, origin) in [
            ("source", self.source.or_setting(session), origin),
            ("descriptions", descriptions, places.origin("descriptions")),
            ("packs", packs, places.origin("packs")),
        ] {
            // A missing path is an error only if the user set it.
            let read = dir.map(Path::read_dir).and_then(Result::err);
            let is_missing = |error: &Error| matches!(error.kind(), NotFound | NotADirectory);
            if let Some((dir, error)) = dir.zip(read.filter(|error| !is_missing(error))) {
                let error = prep_app::Error::reading("read the directory", dir, &error);
                findings.add(CheckResult::failed(name, error));
            } else if let Some(text) = not_a_directory(dir, origin) {
                let finding = CheckResult::new(name, Health::Error, text).failure(Failure::Input);
                findings.add(finding.help("create the directory, or correct the setting"));
            }
        }
    }

    /// Checks the bundles and the disk space. Also returns whether a bundle has to be downloaded.
    fn inputs(
        &self,
        session: &CliSession,
        ids: &[String],
        purpose: Purpose,
    ) -> Result<(Vec<CheckResult>, bool), CliError> {
        let remembered = RememberedOptions {
            source: self.source.or_setting(session).map(Path::to_path_buf),
            ..RememberedOptions::default()
        };
        let options = session.options_with(remembered);
        let task = session.task(options, &DownloadLimits::default(), purpose)?;
        Ok(doctor::inputs(&task, ids)?)
    }

    /// Runs the checks that send requests to Kaggle: account, clock, rules.
    fn kaggle(
        &self,
        session: &CliSession,
        network: &LazyNetwork,
        ids: &[String],
        cancel: &Cancel,
        findings: &mut Findings,
    ) -> Result<(), CliError> {
        // Earlier checks report these errors.
        let network = match network.get() {
            Ok(network) => network,
            Err(
                FetchError::Credentials(_)
                | FetchError::Endpoint { .. }
                | FetchError::ProxyAddress { .. }
                | FetchError::CertificateFile { .. },
            ) => return Ok(()),
            Err(error) => {
                findings.failed("kaggle", error);
                return Ok(());
            }
        };
        match network.account(cancel) {
            Ok(account) => {
                findings.verify(false);
                findings.add(account_check(&account));
                findings.all.extend(clock(&account));
            }
            Err(error) => {
                if network.has_answer() {
                    findings.verify(true);
                }
                findings.failed("kaggle", error);
                return Ok(());
            }
        }
        if !ids.is_empty() {
            rules(session, &network, ids, cancel, findings)?;
        }
        Ok(())
    }

    /// Checks the remote and the keys. Returns the session with the remote if the remote has answered.
    fn remote(&self, session: &CliSession, findings: &mut Findings) -> Option<CliSession> {
        let check = "remote";
        let remote =
            RemoteSettings::resolve(&self.remote, &session.places, &session.settings.data_dir);
        let remote = match remote {
            Ok(remote) => remote,
            Err(error) => {
                let shown = session.unusable.as_ref();
                // The row of the settings already shows an error of a `prep.toml`.
                if !shown.is_some_and(|shown| shown.message.starts_with(&error.message)) {
                    findings.failed(check, error);
                }
                return None;
            }
        };
        if remote.url.is_none() {
            findings.add(CheckResult::ok(check, "not configured"));
            // Users sign reports without a remote, too. Without a remote, several keys are not an error.
            let all = session.places.keys();
            let all = all.map(|directory| SigningKey::all(&directory));
            for error in all.into_iter().flatten().filter_map(Result::err) {
                findings.failed("key", prep_app::Error::from(error));
            }
            return None;
        }
        // A key is needed only for sending. Without a usable key, the remote can still be read.
        let key = remote.signing(&session.places).unwrap_or_else(|error| {
            findings.add_error("key", Health::Warning, prep_app::Error::from(error));
            None
        });
        let signing = match &key {
            Some(key) => format!("results are signed with `{}`", key.name()),
            None => "no key, so results are not sent".to_owned(),
        };
        if let Ok(catalog) = session.catalog() {
            let named = remote.trusted.iter();
            let named = named.flat_map(|(trusted, origin)| {
                let ids = trusted.competitions.iter().flatten();
                ids.map(move |id| (id, origin))
            });
            for (id, origin) in named.filter(|(id, _)| catalog.find(id).is_none()) {
                let text =
                    format!("`trusted` in {origin} names `{id}`, which is not a competition");
                let finding = CheckResult::new("trusted", Health::Warning, text);
                findings.add(finding.help(Remedy::ListCompetitions));
            }
        }
        let trusted = units::count(remote.trusted.len() as u64, "trusted key");
        let linked = session.linked(&self.remote);
        let linked = linked.map_err(|error| findings.failed(check, error)).ok()?;
        let link = linked.settings.remote.as_ref();
        // A web server may be unable to list its files, so one file is requested.
        let ask = |link: &Link| link.source(check);
        let (health, mut state) = match link.filter(|_| !self.offline).map(ask) {
            Some(Ok(_)) => (Health::Ok, "reachable".to_owned()),
            Some(Err(error)) => {
                findings.add(CheckResult::failed(check, error.into()));
                return None;
            }
            None => (Health::Unverified, "not contacted".to_owned()),
        };
        if let Ok(Some(proxy)) = remote.proxy(&session.places) {
            state.push_str(&format!(", proxy {} ({})", proxy.address, proxy.variable));
        }
        let url = remote.url.as_ref().map_or("", |(url, _)| url);
        let found = Address::parse(url).map(|address| address.unwritable());
        // Without a key, the program only reads the remote.
        if let (Some(_), Ok(found)) = (&key, &found)
            && let Some(finding) = doctor::unwritable(check, found)
        {
            findings.add(finding);
            return None;
        }
        let text = format!("{state}; {signing}, {trusted}");
        findings.add(CheckResult::new(check, health, text));
        (health == Health::Ok).then_some(linked)
    }
}

/// Reports which credentials `prep` uses, and which other credentials exist. Missing credentials are an error unless
/// they are optional.
fn credentials(session: &CliSession, are_optional: bool, findings: &mut Findings) {
    let check = "credentials";
    match session.kaggle.credentials() {
        Err(error) => {
            let health = match are_optional {
                true => Health::Warning,
                false => Health::Error,
            };
            findings.add_error(check, health, FetchError::from(error));
        }
        Ok(found) => {
            let mut text = format!("{} (account {})", found.origin, found.credentials.account());
            if !found.others.is_empty() {
                let others: Vec<String> = found.others.iter().map(ToString::to_string).collect();
                text.push_str(&format!("; not used: {}", others.join(", ")));
            }
            let finding = match found.warnings.is_empty() {
                true => CheckResult::new(check, Health::Unverified, text),
                false => {
                    CheckResult::new(check, Health::Warning, text).help(found.warnings.join("; "))
                }
            };
            findings.add(finding);
        }
    }
}

/// Reports the proxy of connections to Kaggle, and the server in place of Kaggle. Checks whether their addresses and the
/// certificates are valid.
fn connection(session: &CliSession, findings: &mut Findings) {
    match session.places.proxies().find(&session.kaggle.endpoint) {
        Ok(Some(proxy)) => {
            let text = format!("{} ({})", proxy.address, proxy.variable);
            findings.add(CheckResult::new("proxy", Health::Unverified, text));
        }
        Ok(None) => {}
        Err(error) => findings.failed("proxy", error),
    }
    if let Some(endpoint) = session.places.text(ENDPOINT_VARIABLE) {
        match check_endpoint(&endpoint) {
            Ok(()) => {
                let text = format!("{endpoint} ({ENDPOINT_VARIABLE})");
                findings.add(CheckResult::new("endpoint", Health::Unverified, text));
            }
            Err(error) => findings.failed("endpoint", error),
        }
    }
    match session.places.usable_certificates() {
        Ok(Some(CertificateVariable { name, value })) => {
            let text = format!("{value} ({name}) replaces the certificates of the system");
            findings.add(CheckResult::ok("certificates", text));
        }
        Ok(None) => {}
        Err(error) => findings.failed("certificates", error),
    }
}

fn account_check(account: &Account) -> CheckResult {
    let host = &account.host;
    CheckResult::ok(
        "kaggle",
        match &account.user {
            Some(user) => format!("{host} accepts the credentials of {user}"),
            None => format!("{host} accepts the credentials"),
        },
    )
}

/// Compares this machine's clock with the server's. Returns `None` if the server did not state its time.
fn clock(account: &Account) -> Option<CheckResult> {
    let server = account.server_time?;
    let now = SystemTime::now();
    let difference = now
        .duration_since(server)
        .or_else(|_| server.duration_since(now));
    let difference = difference.unwrap_or_default();
    Some(match difference <= CLOCK_TOLERANCE {
        true => CheckResult::ok("clock", "matches the server's clock"),
        false => CheckResult::new(
            "clock",
            Health::Warning,
            format!(
                "differs from the server's clock by {}",
                units::approximate_duration(difference)
            ),
        )
        .help("set the clock, for example with NTP; otherwise logins and download addresses may expire too early"),
    })
}

/// Checks whether the account may download the bundles of the competitions.
fn rules(
    session: &CliSession,
    network: &Network,
    ids: &[String],
    cancel: &Cancel,
    findings: &mut Findings,
) -> Result<(), CliError> {
    let catalog = session.catalog()?;
    let mut competitions = Vec::new();
    for id in ids {
        competitions.push(catalog.get(id)?.kaggle());
    }
    let check = PermissionCheck {
        settings: &session.settings,
        network,
        pause: REQUEST_INTERVAL,
        again: false,
        cancel,
    };
    let answers = check.run(&competitions, |_| {})?;
    let mut refused = Vec::new();
    let (mut granted, mut not_checked) = (0, 0);
    let mut failure = Failure::Input;
    for (id, answer) in ids.iter().zip(&answers) {
        match answer {
            Permission::Granted { .. } => granted += 1,
            Permission::NotRequested => not_checked += 1,
            Permission::Refused(error) => {
                failure = error.failure();
                refused.push(id.as_str());
            }
        }
    }
    let mut text = format!("{granted} of {} may be downloaded", ids.len());
    if not_checked > 0 {
        text.push_str(&format!(", {not_checked} not checked"));
    }
    let finding = match refused.is_empty() {
        true => CheckResult::ok("rules", text),
        false => {
            text.push_str(&format!("; not {}", refused.join(", ")));
            CheckResult::new("rules", Health::Error, text)
                .failure(failure)
                .help("run `prep fetch --check-rules` with the same selection")
        }
    };
    findings.add(finding);
    Ok(())
}

/// Checks that the limit of open files suffices for the number of jobs.
fn open_files(session: &CliSession) -> CheckResult {
    let check = "open files";
    let jobs = session.settings.jobs as u64;
    let Some(limit) = getrlimit(Resource::Nofile).current else {
        return CheckResult::ok(check, "not limited");
    };
    let needed = open_files_of(jobs);
    let text = format!(
        "{limit} files may be open at once, and {needed} files are needed for {}",
        units::count(jobs, "job")
    );
    match limit >= needed {
        true => CheckResult::ok(check, text),
        // Fewer jobs do not help: the settings have already lowered the number of jobs, and one job remains.
        false => CheckResult::new(check, Health::Error, text).help(raise_open_files!()),
    }
}

fn memory(session: &CliSession) -> CheckResult {
    memory_within(session.settings.memory, usable_memory())
}

/// Checks the memory for steps, `memory`. `usable` is the memory that the process can use, and what limits it.
fn memory_within(memory: u64, usable: Option<(u64, MemoryLimit)>) -> CheckResult {
    let text = format!("{} for steps", units::bytes(memory));
    let warning = |text, help| CheckResult::new("memory", Health::Warning, text).help(help);
    let (usable, limit) = usable.unwrap_or((u64::MAX, MemoryLimit::Ram));
    if memory > usable {
        let text = format!("{text}, but prep can use only {}", units::bytes(usable));
        return warning(text, Remedy::from("lower --memory"));
    }
    if memory >= MIN_MEMORY_BYTES {
        return CheckResult::ok("memory", text);
    }
    let wanted = units::bytes(MIN_MEMORY_BYTES);
    let text = format!("{text}, but large competitions may need {wanted}");
    let help = match limit {
        MemoryLimit::AddressSpace => "raise the limit of the address space (`ulimit -v`)".into(),
        _ if usable >= MIN_MEMORY_BYTES => Remedy::RaiseMemory,
        MemoryLimit::ControlGroup => "raise the memory limit of the container or job".into(),
        MemoryLimit::Ram => "prepare large competitions on a machine with more memory".into(),
    };
    warning(text, help)
}

/// Returns the finding's suggested action, otherwise an action for the system's message in the finding.
fn action(finding: &CheckResult) -> Option<String> {
    let of_system = || system_action(&finding.text).map(str::to_owned);
    let suggested = finding.help.as_ref().and_then(words);
    suggested.or_else(of_system)
}

fn show(session: &CliSession, findings: &[CheckResult]) -> Result<(), CliError> {
    if session.printer.json {
        let checks: Vec<Value> = findings
            .iter()
            .map(|finding| {
                let mut check = json!(finding);
                if let (Some(check), Some(help)) = (check.as_object_mut(), action(finding)) {
                    check.insert("help".to_owned(), help.into());
                }
                check
            })
            .collect();
        return session.printer.json(&json!({ "checks": checks }));
    }
    let mut table = PrintedTable::with_header("check  state  found");
    for finding in findings {
        let state = match finding.health {
            Health::Ok => "ok",
            Health::Warning => "warning",
            Health::Error => "error",
            Health::Unverified => "unverified",
        };
        table.row(vec![
            finding.check.to_owned(),
            state.to_owned(),
            finding.text.clone(),
        ]);
    }
    session.printer.result(&table.render())?;
    for finding in findings {
        if let Some(help) = action(finding) {
            session
                .printer
                .result(&format!("\n{}: {help}\n", finding.check))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The advice names what limits the memory: RAM, the control group or `ulimit -v`. If `--memory` exceeds the usable
    /// memory, the advice is to lower it.
    #[test]
    fn advice_about_memory_depends_on_the_limit() {
        const GB: u64 = 1 << 30;
        for (memory, usable, limit, advice) in [
            (8 * GB, 16 * GB, MemoryLimit::Ram, None),
            (GB, 16 * GB, MemoryLimit::Ram, Some("raise --memory")),
            (GB / 2, GB, MemoryLimit::Ram, Some("more memory")),
            (GB / 2, GB, MemoryLimit::ControlGroup, Some("container")),
            (GB / 2, GB, MemoryLimit::AddressSpace, Some("ulimit -v")),
            (GB, 3 * GB, MemoryLimit::AddressSpace, Some("ulimit -v")),
            (8 * GB, GB, MemoryLimit::Ram, Some("lower --memory")),
        ] {
            let found = memory_within(memory, Some((usable, limit)));
            let help = action(&found).unwrap_or_default();
            assert!(help.contains(advice.unwrap_or("")), "{found:?}");
            assert_eq!(help.is_empty(), advice.is_none(), "{found:?}");
        }
    }
}
