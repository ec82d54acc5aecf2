//! `prep remote push | pull | key | jobs`: shares results between machines.

use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};
use prep_app::{AnswersState, JobPlan, Plan, PodOptions, PushResult, kubernetes, remote_of, slurm};
use prep_core::{Failure, Remedy, units};
use prep_remote::{Link, SigningKey};
use prep_spec::BASE_VARIANT;
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::global::at_least_one;
use crate::options::{OutputArg, PreparationArgs, SourceArg, VariantArg};
use crate::output::progress::state::TransferDisplay;
use crate::output::summary;
use crate::output::table::PrintedTable;
use crate::prep_toml::FILE;
use crate::process;
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Share results between machines
#[derive(Debug, Args)]
pub struct RemoteVerbs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Push(PushArgs),
    Pull(PullArgs),
    Key(KeyArgs),
    Jobs(JobsArgs),
}

impl RemoteVerbs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        match &self.verb {
            Verb::Push(verb) => verb.call(session),
            Verb::Pull(verb) => verb.call(session),
            Verb::Key(verb) => verb.call(session),
            Verb::Jobs(verb) => verb.call(session),
        }
    }
}

/// Send prepared competitions to the remote
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep remote push --remote s3://bucket/team
  prep remote push spaceship-titanic --remote s3://bucket/team

Without an ID, the command sends all prepared competitions. It does not send results that the remote already has, so \
you can interrupt and repeat the command. Results are signed with the key of `prep remote key`. Bundles are sent if \
`[remote]` in prep.toml has `mirror = true`. The options are those of the last run in this data directory, unless you \
give others.")]
pub struct PushArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    preparation: PreparationArgs,
    /// Send everything again, even if the remote has it; repairs a damaged remote
    ///
    /// Also replaces results and records that are signed with keys that you do not trust. Users who trust these keys and not
    /// yours can then no longer pull the competition.
    #[arg(long)]
    replace: bool,
    /// Also send sealed competitions, whose answers the remote then has unencrypted
    #[arg(long)]
    unseal: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl PushArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &session.linked(&self.remote)?;
        let link = remote_of(&session.settings)?;
        let task = session.local_task(&self.preparation)?;
        let prepared = || Ok(prep_app::prepared_ids(&task.catalog, &task.data_dir()));
        let selected = self.selection.ids_or(session, prepared)?;
        let prepared = prepared()?;
        let (ids, absent): (Vec<String>, Vec<String>) =
            selected.into_iter().partition(|id| prepared.contains(id));
        // A set may contain competitions that are not prepared. A competition that the user names must be prepared.
        let (mut named, others): (Vec<String>, Vec<String>) = absent
            .into_iter()
            .partition(|id| self.selection.ids.contains(id));
        if ids.is_empty() && named.is_empty() {
            named.extend(others.first().cloned());
        }
        let mut errors = Vec::new();
        for id in &named {
            task.catalog.get(id)?;
            errors.push((vec![id.clone()], prep_app::not_prepared(id).into()));
        }
        if !others.is_empty() {
            let count = units::count(others.len() as u64, "competition");
            session
                .printer
                .message(format!("nothing is sent for {count} without prepared data"));
        }
        let data_dir = task.data_dir();
        let must_not_be_sent =
            |id: &String| !self.unseal && AnswersState::of(&data_dir, id) != AnswersState::Plain;
        let (sealed, ids): (Vec<String>, Vec<String>) = ids.into_iter().partition(must_not_be_sent);
        if !sealed.is_empty() {
            let message = format!(
                "the answers of {} are sealed, and the remote would contain them unencrypted",
                sealed.join(", ")
            );
            let error = CliError::new(Exit::Input, message);
            let error = error.help("--unseal sends the plain answers");
            errors.push((sealed, error));
        }
        let mut failed = Vec::new();
        let left_out = show_unless_last(session, errors, &ids, &mut failed)?;
        link.remote().require_writable()?;
        if self.replace {
            link.replace_all();
        }
        let (_watching, cancel) = process::watched(&session.printer)?;
        let done = |pushed: &PushResult| {
            session.printer.message(format!(
                "{}: {} sent, {} already in the remote; {} transferred so far",
                pushed.id,
                units::count(pushed.new as u64, "result"),
                pushed.there,
                units::bytes(link.remote().sent())
            ));
            if let Some(error) = failure(pushed) {
                session.printer.error(&error);
            } else if !pushed.not_here.is_empty() {
                session.printer.warning(format!(
                    "{}: the remote does not record the bundle, because this machine lacks {}; prepare the competition, then push again",
                    pushed.id,
                    units::count(pushed.not_here.len() as u64, "result")
                ));
            }
        };
        let progress = Arc::default();
        let moving = TransferDisplay::new(&session.printer, link, &progress);
        let (all, refused) = prep_app::push(&task, &ids, link, &cancel, &progress, &done)?;
        drop(moving);
        let refused = refused.into_iter().map(|(id, error)| {
            let error = CliError::from(error).for_competition(&id);
            (vec![id], error)
        });
        let refused = show_unless_last(session, refused.collect(), &all, &mut failed)?;
        if session.printer.json {
            let sent = all.iter().map(|pushed| {
                let mut one = json!(pushed);
                if let Some(error) = failure(pushed) {
                    one["error"] = error.json();
                }
                one
            });
            let competitions: Vec<Value> = sent.chain(failed).collect();
            let bytes = link.remote().sent();
            session
                .printer
                .json(&json!({ "competitions": competitions, "bytes": bytes }))?;
        } else {
            session.printer.table(&table(&all))?;
        }
        if let Some(advice) = self.advice_for_pull(&all, link.mirrors()) {
            session.printer.message(advice);
        }
        Ok(Exit::combine([left_out, refused, exit(&all)]))
    }
}

/// An error about some of the selected competitions.
type IdsError = (Vec<String>, CliError);

/// Prints errors about competitions that are left out, and returns their exit code. Adds the competitions to `json`, each
/// with its error. If `left`, the list of the remaining competitions, is empty, returns the last error instead of printing
/// it.
fn show_unless_last<T>(
    session: &CliSession,
    mut errors: Vec<IdsError>,
    left: &[T],
    json: &mut Vec<Value>,
) -> Result<Exit, CliError> {
    let last = if left.is_empty() { errors.pop() } else { None };
    for (ids, error) in &errors {
        session.printer.error(error);
        let failed = ids.iter();
        json.extend(failed.map(|id| json!({ "id": id, "error": error.json() })));
    }
    match last {
        Some((_, error)) => Err(error),
        None => Ok(Exit::combine(errors.iter().map(|(_, error)| error.exit))),
    }
}

impl PushArgs {
    /// Returns a message with the options that `prep remote pull` needs, and the bundles that the mirror lacks.
    /// Returns `None` if a pull needs no options and the mirror lacks no bundle. `mirrors` states whether bundles are sent.
    fn advice_for_pull(&self, all: &[PushResult], mirrors: bool) -> Option<String> {
        let is_sent =
            |result: &&PushResult| result.not_here.is_empty() && failure(result).is_none();
        let sent: Vec<&PushResult> = all.iter().filter(is_sent).collect();
        let mut options = Vec::new();
        if self.preparation.variant.variant != BASE_VARIANT {
            options.push(format!("--variant {}", self.preparation.variant.variant));
        }
        if sent.iter().any(|result| result.skips_verification) {
            options.push("--skip-verification".to_owned());
        } else if sent.iter().any(|result| result.skips_bundle_verification) {
            options.push("--skip-bundle-verification".to_owned());
        }
        let without = sent.iter().filter(|result| !result.mirrored);
        let without: Vec<&str> = without.map(|result| result.id.as_str()).collect();
        let mut text = Vec::new();
        if !sent.is_empty() && !options.is_empty() {
            text.push(format!(
                "`prep remote pull` needs the same options: {}",
                options.join(" ")
            ));
        }
        if !without.is_empty() {
            let advice = match mirrors {
                true => format!(
                    "to download and send it, run `prep fetch {}`",
                    without.join(" ")
                ),
                false => format!("to send bundles, set `mirror = true` in `[remote]` of {FILE}"),
            };
            text.push(format!(
                "the mirror does not contain the bundle of {}; a machine without the bundle cannot pull outputs that are files of the bundle; {advice}",
                without.join(", ")
            ));
        }
        (!text.is_empty()).then(|| text.join("\n"))
    }
}

/// Returns whether this machine has no result of the competition.
fn is_empty(pushed: &PushResult) -> bool {
    pushed.new + pushed.there == 0 && !pushed.not_here.is_empty()
}

fn table(all: &[PushResult]) -> PrintedTable {
    let mut table = PrintedTable::with_header("id  >sent  >in the remote  >missing  bundle");
    for result in all {
        table.row(vec![
            result.id.clone(),
            result.new.to_string(),
            result.there.to_string(),
            result.not_here.len().to_string(),
            if result.mirrored { "mirrored" } else { "" }.to_owned(),
        ]);
    }
    table
}

/// Returns the error of a push that sent nothing because this machine has no results, or that results or records of the
/// remote prevented.
fn failure(pushed: &PushResult) -> Option<CliError> {
    let (id, steps) = (&pushed.id, pushed.refused.len() as u64);
    if is_empty(pushed) {
        let message = format!("{id}: this data directory has no results for these options");
        return Some(CliError::new(Exit::Input, message).help(format!(
            "use the options with which it was prepared (--source, --variant, --skip-bundle-verification ...); \
             `prep why {id}` shows the missing results"
        )));
    }
    let cause = match &pushed.rejection {
        Some(rejection) if steps == 0 => {
            format!("the remote's record of the bundle is not replaced: {rejection}")
        }
        Some(rejection) => format!(
            "the remote has {} that you do not trust (the first one: {rejection})",
            units::count(steps, "result")
        ),
        None if steps == 0 => return None,
        None => format!(
            "the remote has different results of {}: {}",
            units::count(steps, "step"),
            pushed.refused.join(", ")
        ),
    };
    let message = format!("{id}: {cause}; other users still get the earlier results");
    let error = prep_app::Error::new(Failure::Check, message);
    Some(CliError::from(match &pushed.rejection {
        None => error,
        Some(rejection) => {
            let replace = "--replace replaces results and records of keys that you do not trust";
            let trust = rejection.remedy().into_iter();
            error.help(Remedy::AnyOf(trust.chain([replace.into()]).collect()))
        }
    }))
}

fn exit(all: &[PushResult]) -> Exit {
    Exit::combine(all.iter().filter_map(failure).map(|error| error.exit))
}

/// Get prepared competitions from the remote
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep remote pull --remote s3://bucket/team
  prep remote pull spaceship-titanic --remote s3://bucket/team

Without an ID, the command gets all competitions that the remote knows. No step runs except checks, and published \
checksums are verified here. You can interrupt and repeat the command. You must accept the rules of each competition, \
even if somebody else downloaded its data: `prep fetch --check-rules` lists the rules.")]
pub struct PullArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    preparation: PreparationArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl PullArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &session.linked(&self.remote)?;
        let link = remote_of(&session.settings)?;
        let task = session.local_task(&self.preparation)?;
        let ids = self.selection.ids_or(session, || {
            let known = link.sources().map_err(|error| match error.remedy() {
                Some(_) => error.into(),
                None => CliError::from(error)
                    .help("name the competitions, if the server cannot list files"),
            });
            let known = known?.into_iter();
            Ok(known.filter(|id| task.catalog.find(id).is_some()).collect())
        })?;
        if ids.is_empty() {
            let message = format!("the remote {} has no competition", link.remote().name());
            return Err(CliError::new(Exit::Input, message)
                .help("run `prep remote push` on a machine where competitions are prepared"));
        }
        // If the remote cannot be reached, this request fails. The plan would only warn, and continue without the remote.
        if let Some(id) = ids.first() {
            link.source(id)?;
        }
        let plan = Plan::preview(&task, &ids)?;
        let missing = plan.without_sources();
        let (absent, ids): (Vec<String>, Vec<String>) = ids
            .into_iter()
            .partition(|id| missing.contains(id.as_str()));
        let (errors, mut failed) = (absent_errors(link, &absent)?, Vec::new());
        let left_out = show_unless_last(session, errors, &ids, &mut failed)?;
        session.printer.message(
            "you must accept the rules of each competition; `prep fetch --check-rules` lists the rules",
        );
        let preparation = session.prepare(&task, &ids, true)?;
        summary::show(&session.printer, &preparation, failed)?;
        session.printer.message(format!(
            "{} received from the remote",
            units::bytes(link.remote().received())
        ));
        Ok(Exit::combine([left_out, summary::exit(&preparation)]))
    }
}

/// Returns the errors for competitions that cannot be pulled, because the remote has no trusted record of their bundle and
/// this machine has no bundle: one error for each reason.
fn absent_errors(link: &Link, absent: &[String]) -> Result<Vec<IdsError>, CliError> {
    if absent.is_empty() {
        return Ok(Vec::new());
    }
    // A remote on a web server cannot list its records, so an error is treated as an empty list.
    let listed = link.sources().unwrap_or_default();
    let (mut without_checksum, mut untrusted, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for id in absent {
        // The plan treats errors of the remote as missing records. This request returns such an error.
        let ids = match link.source(id)? {
            Some(_) => &mut without_checksum,
            None if listed.contains(id) => &mut untrusted,
            None => &mut unknown,
        };
        ids.push(id.as_str());
    }
    let remote = link.remote().name();
    let mut errors = Vec::new();
    let mut add = |ids: &[&str], message: String, help: String| {
        if !ids.is_empty() {
            let ids = ids.iter().map(|&id| id.to_owned()).collect();
            errors.push((ids, CliError::new(Exit::Input, message).help(help)));
        }
    };
    add(
        &without_checksum,
        format!(
            "the remote {remote} has results of {}, but their bundle does not have the published checksum",
            without_checksum.join(", ")
        ),
        "pull with --skip-verification if the data were pushed with this option".to_owned(),
    );
    let no_results =
        |ids: &[&str]| format!("the remote {remote} has no results of {}", ids.join(", "));
    // A warning has already stated the reason.
    add(
        &untrusted,
        format!("{} that you trust", no_results(&untrusted)),
        "`[remote] trusted` in prep.toml lists the keys whose results you trust".to_owned(),
    );
    add(
        &unknown,
        no_results(&unknown),
        format!(
            "run `prep remote push {}` on a machine where the competition is prepared",
            unknown.join(" ")
        ),
    );
    Ok(errors)
}

/// Create and list keys that sign results and reports
#[derive(Debug, Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    verb: KeyVerb,
}

#[derive(Debug, Subcommand)]
enum KeyVerb {
    /// Create a key and print its public part
    #[command(after_help = "\
Examples:
  prep remote key new laptop

Users who trust your results add the public part to `trusted` in `[remote]` of their prep.toml. The key also signs \
grading reports (`prep grade --sign`).")]
    New {
        /// Name of the key: letters, digits, - and _
        name: String,
    },
    /// List the keys with their public parts
    #[command(after_help = "\
Examples:
  prep remote key list
  prep remote key list --json")]
    List,
}

impl KeyArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let directory = session.keys()?;
        match &self.verb {
            KeyVerb::New { name } => {
                let made = SigningKey::generate(name)?;
                let path = made.save(&directory)?;
                let public = made.public().to_string();
                session
                    .printer
                    .message(format!("keep {} secret", path.display()));
                let json = || json!({ "name": name, "public": public, "path": path });
                session.printer.show(json, || format!("{public}\n"))?;
                Ok(Exit::Success)
            }
            KeyVerb::List => {
                let mut keys = Vec::new();
                let mut exit = Exit::Success;
                for signing_key in SigningKey::all(&directory) {
                    match signing_key {
                        Ok(signing_key) => keys.push((
                            signing_key.name().to_owned(),
                            signing_key.public().to_string(),
                        )),
                        Err(error) => {
                            exit = Exit::Machine;
                            session.printer.error(&error.into());
                        }
                    }
                }
                if session.printer.json {
                    let keys: Vec<_> = keys
                        .iter()
                        .map(|(name, public)| json!({ "name": name, "public": public }))
                        .collect();
                    session.printer.json(&json!({ "keys": keys }))?;
                } else {
                    let mut table = PrintedTable::with_header("name  public");
                    for (name, public) in keys {
                        table.row(vec![name, public]);
                    }
                    session.printer.table(&table)?;
                }
                Ok(exit)
            }
        }
    }
}

/// Print a script or manifest for a cluster
#[derive(Debug, Args)]
pub struct JobsArgs {
    #[command(subcommand)]
    verb: JobsVerb,
}

#[derive(Debug, Subcommand)]
enum JobsVerb {
    /// Print a script for Slurm
    #[command(after_help = "\
Examples:
  prep remote jobs slurm --lite --remote s3://bucket/team --data-dir /shared/mle-bench -o prepare.sh
  bash prepare.sh

The script submits a job array that downloads bundles into the mirror, and one that prepares. docs/clusters.md explains the \
set-up of a cluster.")]
    Slurm {
        #[command(flatten)]
        common: Common,
        /// Partition of the jobs
        #[arg(long, value_name = "NAME")]
        partition: Option<String>,
        /// Account that is charged for the jobs
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Quality of service of the jobs
        #[arg(long, value_name = "NAME")]
        qos: Option<String>,
        /// Free space that a node must have in its temporary directory, such as 200GB
        ///
        /// Slurm rejects jobs with this option if its configuration does not state the space of the nodes (`TmpDisk`).
        #[arg(long, value_name = "SIZE", value_parser = prep_core::units::parse_bytes)]
        tmp: Option<u64>,
    },
    /// Print a manifest for Kubernetes
    #[command(after_help = "\
Examples:
  prep remote jobs k8s --lite --remote s3://bucket/team --image registry.lab.org/prep:1 -o prepare.yaml
  kubectl apply -f prepare.yaml

The manifest has two indexed jobs; start the second job by hand. docs/clusters.md explains the set-up of a cluster.")]
    K8s {
        #[command(flatten)]
        common: Common,
        /// A container image with `prep`
        #[arg(long, value_name = "IMAGE")]
        image: String,
        /// The volume claim of the data directory
        #[arg(long, value_name = "NAME", default_value = "prep-data")]
        claim: String,
        /// The numeric user and group that run prep in the container; not root
        #[arg(long, value_name = "UID", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
        user: u32,
    },
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    variant: VariantArg,
    /// Do not compare bundles and outputs with published checksums
    #[arg(long)]
    skip_verification: bool,
    /// Number of simultaneous downloads; more are not faster on Kaggle
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one)]
    downloads: usize,
    /// Number of competitions that are prepared at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = at_least_one)]
    workers: usize,
    /// Processors per competition
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = at_least_one)]
    processors: usize,
    /// Time limit of a job in hours
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = at_least_one)]
    hours: usize,
    /// Do not check that a mirror and a key are configured on this machine
    ///
    /// Use it if the jobs have their own prep.toml.
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    output: OutputArg,
}

const DEFAULT_MEMORY_BYTES: u64 = 16 << 30;

impl JobsArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let (text, output) = match &self.verb {
            JobsVerb::Slurm {
                common,
                partition,
                account,
                qos,
                tmp,
            } => {
                let options = prep_app::Slurm {
                    partition: partition.clone(),
                    account: account.clone(),
                    qos: qos.clone(),
                    tmp: *tmp,
                };
                (slurm(&common.plan(session)?, &options), &common.output)
            }
            JobsVerb::K8s {
                common,
                image,
                claim,
                user,
            } => {
                let plan = common.plan(session)?;
                if !common.no_check {
                    require_no_local_files(session, &plan)?;
                }
                let pod = PodOptions {
                    image: image.clone(),
                    claim: claim.clone(),
                    user: *user,
                };
                (kubernetes(&plan, &pod), &common.output)
            }
        };
        output.write(session, &text)?;
        Ok(Exit::Success)
    }
}

impl Common {
    fn plan(&self, session: &CliSession) -> Result<JobPlan, CliError> {
        let catalog = session.catalog()?;
        let ids = self.selection.ids(session)?;
        for id in &ids {
            catalog.get(id)?;
        }
        let remote =
            RemoteSettings::resolve(&self.remote, &session.places, &session.settings.data_dir)?;
        let url = remote.url.clone().ok_or_else(|| {
            CliError::usage("no remote is configured").help(
                "name a remote with --remote URL; jobs share their results through this remote",
            )
        })?;
        if !self.no_check {
            require_mirror_and_key(session, &remote)?;
        }
        let address = prep_remote::Address::parse(&url.0)?;
        let largest = ids.iter().filter_map(|id| catalog.find(id)?.size()).max();
        let absolute =
            |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let has_memory_setting = session.places.origin("memory") != "default";
        Ok(JobPlan {
            ids,
            // The address contains no secrets. The jobs find credentials on their own machines.
            remote: address.without_secrets(),
            data_dir: absolute(&session.settings.data_dir),
            pipelines: session.settings.pipelines.as_deref().map(absolute),
            source: self.source.or_setting(session).map(absolute),
            variant: (self.variant.variant != BASE_VARIANT).then(|| self.variant.variant.clone()),
            skips_verification: self.skip_verification,
            downloads: self.downloads,
            workers: self.workers,
            processors: self.processors,
            memory: if has_memory_setting {
                session.settings.memory
            } else {
                DEFAULT_MEMORY_BYTES
            },
            disk: largest.unwrap_or(0),
            hours: self.hours,
        })
    }
}

/// Rejects directories of this machine, because pods see only the volume of the data directory.
fn require_no_local_files(session: &CliSession, plan: &JobPlan) -> Result<(), CliError> {
    let catalog = session.catalog()?;
    let is_own = |id: &String| {
        catalog
            .find(id)
            .is_some_and(|entry| entry.directory.is_some())
    };
    let pipelines = plan
        .pipelines
        .as_ref()
        .filter(|_| plan.ids.iter().any(is_own));
    let needed = [("pipelines", pipelines), ("source", plan.source.as_ref())];
    match needed.iter().find_map(|(key, dir)| Some((key, (*dir)?))) {
        None => require_remote_of_pods(&plan.remote),
        Some((key, dir)) => Err(CliError::usage(format!("pods cannot read {}", dir.display()))
            .help(format!(
                "copy this directory into the volume of the data directory, set `{key} = \"/data/...\"` in the prep.toml of \
                 the secret prep-config, and skip this check with --no-check"
            ))),
    }
}

/// Rejects a remote in a directory, unless the directory is in the volume of the data directory.
fn require_remote_of_pods(remote: &str) -> Result<(), CliError> {
    let directory = remote.strip_prefix("file://");
    match directory.is_some_and(|directory| !Path::new(directory).starts_with("/data")) {
        false => Ok(()),
        true => Err(CliError::usage(format!("pods cannot read {remote}")).help(
            "name a bucket, or a directory in the volume of the data directory, which pods see as /data: \
             --remote file:///data/remote",
        )),
    }
}

/// Checks that the remote has a mirror, through which jobs share bundles, and that there is a key to sign results.
/// Other machines reject unsigned results.
fn require_mirror_and_key(session: &CliSession, remote: &RemoteSettings) -> Result<(), CliError> {
    let elsewhere = "; if the jobs have their own prep.toml, use --no-check";
    if !remote.has_mirror() {
        let message = "the remote has no mirror, through which the jobs share bundles";
        let help = format!("set `mirror = true` in [remote] of prep.toml{elsewhere}");
        return Err(CliError::usage(message).help(help));
    }
    if remote.signing(&session.places)?.is_none() {
        let message = "there is no key to sign the results of the jobs";
        let help = format!(
            "run `prep remote key new NAME`, and set `key` in prep.toml if there are several keys{elsewhere}"
        );
        return Err(CliError::usage(message).help(help));
    }
    Ok(())
}
