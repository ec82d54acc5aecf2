//! `prep run`: prepares competitions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use clap::Args;
use prep_cache::Store;
use prep_core::{
    Action, Cancel, Context, Graph, Limits, NodeId, Reason, Reporter, Resolution, RunOptions,
    RunReport, StepOutcome, resolve,
};
use prep_fetch::PartOfBundle;

use super::catalog;
use crate::assemble::{Around, Assembly, How, Member, assemble};
use crate::catalog::Catalog;
use crate::discard::{Discarding, discard};
use crate::downloads::{self, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::forecast;
use crate::loading::Loader;
use crate::progress::Display;
use crate::select::Selection;
use crate::summary::{Summary, table};
use crate::{Ended, Session, interrupt, prepared};

/// Prepare competitions: everything that is not up to date is made, nothing else
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    how: How,
    /// Show what would run, and write nothing (the same as `prep plan`)
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    conduct: Conduct,
}

/// How a run goes about its work.
#[derive(Debug, Default, Clone, Args)]
pub struct Conduct {
    /// Go on with the other competitions when one fails (this is the default)
    #[arg(long, short = 'k', overrides_with = "fail_fast")]
    pub keep_going: bool,
    /// Start nothing new once a competition has failed
    #[arg(long, overrides_with = "keep_going")]
    pub fail_fast: bool,
    #[command(flatten)]
    pub limits: downloads::Limits,
    /// Keep bundles in the data folder (this is the default)
    #[arg(long, overrides_with = "discard_bundle", help_heading = "Downloads")]
    pub keep_bundle: bool,
    /// Remove DATA/ID/ID.zip once its competition is prepared; it is downloaded again if its files are needed
    #[arg(long, overrides_with = "keep_bundle", help_heading = "Downloads")]
    pub discard_bundle: bool,
}

/// Stack of a thread, in bytes: plans of long queries are walked by recursion. What is not used costs nothing.
const STACK: usize = 16 << 20;

const EXAMPLES: &str = "\
Examples:
  prep run -c spaceship-titanic
  prep run --lite --source ~/bundles --no-download
  prep run --lite --partial --discard-bundle --max-rate 20MB
  prep run --set dev --variant fixed --data-dir /data/mle-bench
  prep run --list ids.txt --json > report.json

Bundles are ID.zip or ID/ID.zip in --source or in the data folder; what is in neither is downloaded
from Kaggle to DATA/ID/ID.zip. Credentials are those of Kaggle's own tools: KAGGLE_USERNAME and
KAGGLE_KEY, KAGGLE_API_TOKEN, ~/.kaggle/kaggle.json or ~/.kaggle/access_token. Outputs go to
DATA/ID/prepared.";

/// How a run over several competitions ended.
pub struct Preparation {
    /// One per competition, in the order in which they were asked for.
    pub summaries: Vec<Summary>,
    /// Competitions that could not be planned, and why.
    refused: Vec<(String, CliError)>,
    /// Stopped by a signal before everything was done.
    interrupted: bool,
}

impl Run {
    pub fn call(&self, session: &Session) -> Ended {
        if self.dry_run {
            return super::plan::show(session, &self.selection, &self.how, &self.conduct);
        }
        let ids = self.selection.ids()?;
        let catalog = catalog(&session.settings)?;
        let preparation = prepare(session, &catalog, &ids, &self.how, &self.conduct)?;
        preparation.show(session)?;
        Ok(preparation.exit())
    }
}

/// Brings competitions up to date.
///
/// # Errors
/// When nothing could be run at all; how single competitions ended is in the result.
pub fn prepare(
    session: &Session,
    catalog: &Catalog,
    ids: &[String],
    how: &How,
    conduct: &Conduct,
) -> Result<Preparation, CliError> {
    let settings = &session.settings;
    let store = Store::open(&settings.store_dir)?;
    prepared::settle(session, ids)?;
    let loader = Loader::new(Some(&store), &settings.program);
    // The rest is for what the other steps hold.
    let engine = prep_sql::Session::new(settings.memory / 2, &store.temp_dir())
        .map_err(|error| CliError::new(Exit::Machine, error.to_string()))?;
    let purpose = match how.no_download {
        true => Purpose::Nothing,
        false => Purpose::Download,
    };
    let network = downloads::network(session, &conduct.limits, purpose);
    let around = Around {
        settings,
        loader: &loader,
        engine: &engine,
        network: &network,
    };
    let mut assembly = assemble(ids, how, &around, catalog)?;
    if conduct.fail_fast {
        assembly = assembly.complete()?;
    }
    let cancel = Cancel::default();
    let context = Context::new(store, limits(session), cancel.clone());
    let resolution = resolve(&assembly.graph, &context, &how.variant)?;
    let nodes = nodes_by_competition(&assembly.graph, &resolution);
    let missing = missing_bundles(&assembly.graph, &resolution);
    if !missing.is_empty() {
        let members = assembly
            .members
            .iter()
            .filter(|one| missing.contains(&one.id));
        let members: Vec<&Member> = members.collect();
        // How much a part takes is not known before its listing.
        let bytes = |one: &Member| one.published_bytes.filter(|_| one.part.is_none());
        let peak = forecast::peak(session, &members, bytes, conduct)?;
        if let Some(warning) = peak.check(&settings.data_dir)? {
            session.printer.warning(warning);
        }
        // Says whose credentials are used, before bars are drawn. Without any, each bundle's step says so.
        let _ = network.get();
    }
    let Assembly {
        graph,
        members,
        refused,
    } = assembly;
    let graph = Arc::new(graph);
    let display = Display::new(&session.printer, &work_by_competition(&graph, &resolution));
    let options = RunOptions {
        keep_going: !conduct.fail_fast,
        variant: how.variant.clone(),
    };
    let mut reporter = display.reporter();
    if conduct.discard_bundle {
        reporter = Arc::new(Discarding {
            data_dir: settings.data_dir.clone(),
            next: reporter,
        });
    }
    let work = (resolution, options);
    let report = execute(
        graph.clone(),
        context,
        work,
        reporter,
        &display,
        cancel.clone(),
    )?;
    let mut summaries = Vec::new();
    for member in &members {
        let own = nodes.get(&member.id).map_or(&[][..], Vec::as_slice);
        let mut summary = Summary::of(
            &graph,
            own,
            &report,
            &member.id,
            &how.variant,
            member.verification,
        );
        summary.seconds = display.time_of(&member.id).as_secs_f64();
        if member.part.as_ref().is_some_and(PartOfBundle::is_part) {
            summary.fetched_in_part(&member.without_checksum);
        }
        if conduct.discard_bundle && summary.is_complete() {
            discard(&settings.data_dir, &member.id);
        }
        if summary.failures.is_empty()
            && let Some(manifest) = prepared::manifest(&settings.data_dir, &member.id)?
        {
            summary.files = Some(manifest.files);
            summary.bytes = Some(manifest.bytes);
        }
        summaries.push(summary);
    }
    drop(display);
    summaries.extend(
        refused
            .iter()
            .map(|(id, error)| Summary::refused(id, &how.variant, error)),
    );
    summaries.sort_by_key(|summary| ids.iter().position(|id| *id == summary.id));
    Ok(Preparation {
        summaries,
        refused,
        interrupted: cancel.is_cancelled() && unfinished(&report),
    })
}

/// Whether a step did not come to an end. A signal that arrives when all have is none: what was asked for is done.
fn unfinished(report: &RunReport) -> bool {
    let mut outcomes = report.outcomes.values();
    outcomes.any(|outcome| matches!(outcome, StepOutcome::Cancelled))
}

impl Preparation {
    /// The code of all endings together.
    pub fn exit(&self) -> Exit {
        match self.interrupted {
            true => Exit::Interrupted,
            false => Exit::combine(self.summaries.iter().map(Summary::exit)),
        }
    }

    /// The table to stdout, then every failure with its cause to stderr.
    pub fn show(&self, session: &Session) -> Result<(), CliError> {
        let printer = &session.printer;
        if printer.json {
            printer.json(&serde_json::json!({ "competitions": self.summaries }))?;
        } else {
            printer.result(&table(&self.summaries))?;
        }
        for (_, error) in &self.refused {
            printer.error(error);
        }
        for summary in &self.summaries {
            for failure in &summary.failures {
                let Some(step) = &failure.step else { continue };
                let message = format!("{}/{step}: {}", summary.id, failure.message);
                printer.error(&CliError::new(Exit::of(failure.failure), message));
            }
        }
        for summary in &self.summaries {
            if !summary.unverified.is_empty() {
                printer.message(format!(
                    "{}: not verified, because only a part of the bundle was downloaded: {}",
                    summary.id,
                    summary.unverified.join(", ")
                ));
            }
        }
        if self.interrupted {
            printer.message("stopped; what was finished is kept, the next run goes on from there");
        }
        Ok(())
    }
}

/// What running steps may use.
pub fn limits(session: &Session) -> Limits {
    let settings = &session.settings;
    Limits {
        jobs: settings.jobs,
        memory: settings.memory,
    }
}

/// Nodes of every competition, inputs first.
pub fn nodes_by_competition(
    graph: &Graph,
    resolution: &Resolution,
) -> HashMap<String, Vec<NodeId>> {
    let mut nodes: HashMap<String, Vec<NodeId>> = HashMap::new();
    for node in &resolution.order {
        nodes
            .entry(graph.node(*node).competition.clone())
            .or_default()
            .push(*node);
    }
    nodes
}

/// Competitions whose bundle a run is going to download.
pub fn missing_bundles(graph: &Graph, resolution: &Resolution) -> HashSet<String> {
    let missing = resolution.work.iter().filter(|(node, reason)| {
        **reason == Reason::Missing && matches!(graph.node(**node).action, Action::Source(_))
    });
    missing
        .map(|(node, _)| graph.node(*node).competition.clone())
        .collect()
}

fn work_by_competition(graph: &Graph, resolution: &Resolution) -> HashMap<String, usize> {
    let mut work = HashMap::new();
    for node in resolution.work.keys() {
        *work
            .entry(graph.node(*node).competition.clone())
            .or_default() += 1;
    }
    work
}

fn execute(
    graph: Arc<Graph>,
    context: Context,
    (resolution, options): (Resolution, RunOptions),
    reporter: Arc<dyn Reporter>,
    display: &Display,
    cancel: Cancel,
) -> Result<RunReport, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK)
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Exit::Machine, format!("cannot start threads: {error}")))?;
    let notice = display.notice();
    runtime.block_on(async {
        interrupt::watch(cancel, move || {
            notice("stopping; press Ctrl-C again to end at once")
        })?;
        Ok(prep_core::run(graph, context, resolution, options, reporter).await?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_unfinished_when_a_step_was_stopped() {
        let mut report = RunReport::default();
        let ends = [StepOutcome::Reused, StepOutcome::Done { millis: 1 }];
        for (number, outcome) in ends.into_iter().enumerate() {
            report.outcomes.insert(NodeId::new(number), outcome);
        }
        assert!(!unfinished(&report));
        report
            .outcomes
            .insert(NodeId::new(2), StepOutcome::Cancelled);
        assert!(unfinished(&report));
    }
}
