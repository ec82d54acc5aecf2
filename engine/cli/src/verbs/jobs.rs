//! `prep jobs`: a script or manifest that prepares many competitions on a cluster. It is printed, and nothing else is done.

use clap::{Args, Subcommand};
use prep_app::{JobPlan, kubernetes, slurm};

use crate::error::CliError;
use crate::exit::Exit;
use crate::remote::{InForce, RemoteArgs};
use crate::select::Selection;
use crate::session::{Ended, Session};
use crate::values::at_least_one;

/// Print a script or manifest that prepares competitions on a cluster; does nothing else
#[derive(Debug, Args)]
pub struct Jobs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// A script for Slurm: an array that downloads bundles into the mirror, and one that prepares
    #[command(after_help = "\
Examples:
  prep jobs slurm --lite --remote s3://bucket/team --data-dir /shared/mle-bench > prepare.sh
  bash prepare.sh

docs/clusters.md tells how a cluster is set up.")]
    Slurm {
        #[command(flatten)]
        common: Common,
    },
    /// A manifest for Kubernetes: two indexed jobs, the second of which is started by hand
    #[command(after_help = "\
Examples:
  prep jobs k8s --lite --remote s3://bucket/team --image registry.lab.org/prep:1 > prepare.yaml
  kubectl apply -f prepare.yaml

docs/clusters.md tells how a cluster is set up.")]
    K8s {
        #[command(flatten)]
        common: Common,
        /// The container image that has `prep` in it
        #[arg(long, value_name = "IMAGE")]
        image: String,
        /// The volume claim that is mounted as data folder
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
    /// Downloads side by side; Kaggle serves an account no faster with more
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one)]
    downloads: usize,
    /// Competitions that are prepared side by side
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = at_least_one)]
    workers: usize,
    /// Processors of a worker
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = at_least_one)]
    processors: usize,
    /// Hours after which a job is taken for stuck
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = at_least_one)]
    hours: usize,
}

/// Memory of a worker where none is asked for.
const MEMORY: u64 = 16 << 30;

impl Jobs {
    pub fn call(&self, session: &Session) -> Ended {
        let text = match &self.verb {
            Verb::Slurm { common } => slurm(&common.plan(session)?),
            Verb::K8s {
                common,
                image,
                claim,
            } => kubernetes(&common.plan(session)?, image, claim),
        };
        session.printer.result(&text)?;
        Ok(Exit::Success)
    }
}

impl Common {
    fn plan(&self, session: &Session) -> Result<JobPlan, CliError> {
        let catalog = session.catalog()?;
        let ids = self.selection.ids()?;
        for id in &ids {
            catalog.get(id)?;
        }
        let force = InForce::of(&self.remote, &session.places, &session.settings.data_dir)?;
        let url = force.url.ok_or_else(|| {
            CliError::usage("no remote is named")
                .help("jobs share what they make through a remote: --remote URL")
        })?;
        let address = prep_remote::Address::parse(&url.value).map_err(prep_app::Error::from)?;
        let largest = ids.iter().filter_map(|id| catalog.find(id)?.size()).max();
        let asked = session.places.said_by("memory") != "default";
        Ok(JobPlan {
            ids,
            // Without what may be a secret: credentials come from where jobs run.
            remote: address.shown(),
            data_dir: session.settings.data_dir.clone(),
            downloads: self.downloads,
            workers: self.workers,
            processors: self.processors,
            memory: if asked {
                session.settings.memory
            } else {
                MEMORY
            },
            disk: largest.unwrap_or(0),
            hours: self.hours,
        })
    }
}
