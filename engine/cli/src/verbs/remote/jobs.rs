//! `prep remote jobs`: prints a script or manifest that prepares competitions on a cluster.

use clap::{Args, Subcommand};
use prep_app::{JobPlan, kubernetes, slurm};

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::OutputArg;
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};
use crate::values::at_least_one;

/// Print a script or manifest for a cluster
#[derive(Debug, Args)]
pub struct JobsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
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
    },
    /// Print a manifest for Kubernetes
    #[command(after_help = "\
Examples:
  prep remote jobs k8s --lite --remote s3://bucket/team --image registry.lab.org/prep:1 -o prepare.yaml
  kubectl apply -f prepare.yaml

The manifest has two indexed jobs; start the second one by hand. docs/clusters.md explains the set-up of a cluster.")]
    K8s {
        #[command(flatten)]
        common: Common,
        /// A container image with `prep`
        #[arg(long, value_name = "IMAGE")]
        image: String,
        /// The volume claim of the data directory
        #[arg(long, value_name = "NAME", default_value = "prep-data")]
        claim: String,
    },
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    remote: RemoteArgs,
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
    /// Do not require a mirror and a key here
    ///
    /// Use it if the jobs have their own prep.toml.
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    output: OutputArg,
}

/// Default memory of a worker, in bytes.
const DEFAULT_MEMORY_BYTES: u64 = 16 << 30;

impl JobsArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let (text, output) = match &self.verb {
            Verb::Slurm {
                common,
                partition,
                account,
                qos,
            } => {
                let options = prep_app::Slurm {
                    partition: partition.clone(),
                    account: account.clone(),
                    qos: qos.clone(),
                };
                (slurm(&common.plan(session)?, &options), &common.output)
            }
            Verb::K8s {
                common,
                image,
                claim,
            } => (
                kubernetes(&common.plan(session)?, image, claim),
                &common.output,
            ),
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
            CliError::usage("no remote is configured")
                .help("name one with --remote URL; jobs share their results through it")
        })?;
        if !self.no_check {
            require_mirror_and_key(session, &remote)?;
        }
        let address = prep_remote::Address::parse(&url.value)?;
        let largest = ids.iter().filter_map(|id| catalog.find(id)?.size()).max();
        let has_memory_setting = session.places.origin("memory") != "default";
        Ok(JobPlan {
            ids,
            // The address contains no secrets. The jobs find credentials on the machines on which they run.
            remote: address.without_secrets(),
            data_dir: session.settings.data_dir.clone(),
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

/// Checks that the remote has a mirror and a signing key. Without a mirror, the jobs that prepare could not get the
/// downloaded bundles. Without a key, other machines would not accept the results of the jobs.
fn require_mirror_and_key(session: &CliSession, remote: &RemoteSettings) -> Result<(), CliError> {
    let elsewhere = "; if the jobs have their own prep.toml, use --no-check";
    if !remote.mirror.as_ref().is_some_and(|mirror| mirror.value) {
        let message = "the remote has no mirror, through which the jobs share bundles";
        let help = format!("set `mirror = true` in [remote] of prep.toml{elsewhere}");
        return Err(CliError::usage(message).help(help));
    }
    if remote.signing(&session.places)?.is_none() {
        let message = "there is no key to sign the results of the jobs";
        let help = format!(
            "run `prep remote key new NAME`, and set `key` in prep.toml if there are several{elsewhere}"
        );
        return Err(CliError::usage(message).help(help));
    }
    Ok(())
}
