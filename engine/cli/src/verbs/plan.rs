//! `prep plan`: what `run` would do, and why. Writes nothing, not even a store.

use std::collections::{BTreeMap, HashSet};

use clap::Args;
use prep_cache::Store;
use prep_core::{Action, Cancel, Context, Graph, NodeId, Reason, State, resolve};
use serde::Serialize;

use super::look;
use super::run::{Conduct, limits, nodes_by_competition};
use crate::assemble::{Assembly, How, Member};
use crate::downloads::{self, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::forecast::{self, Download};
use crate::printer::Level;
use crate::select::Selection;
use crate::table::{Align, Table};
use crate::{Ended, Session, prepared, reasons, units};

/// Show what `run` would do and why; writes nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep plan --lite
  prep plan -c spaceship-titanic --source ~/bundles
  prep plan --all --json | jq '.competitions[] | {id, read_bytes, download}'

Bundles that are not there are listed on Kaggle, which moves some kilobytes, to tell what a download
would move, as a whole and with --partial. With --no-download, or without credentials, published
sizes stand in.")]
pub struct Plan {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    how: How,
}

impl Plan {
    pub fn call(&self, session: &Session) -> Ended {
        show(session, &self.selection, &self.how, &Conduct::default())
    }
}

/// Whether a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    Yes,
    /// If something before it gives another result than last time.
    Maybe,
    No,
}

/// A step and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    pub step: String,
    pub kind: &'static str,
    pub runs: Runs,
    #[serde(flatten)]
    pub reason: Option<Reason>,
}

#[derive(Debug, Serialize)]
struct Planned {
    id: String,
    variant: String,
    /// The bundle's place; none when it is not there.
    bundle: Option<std::path::PathBuf>,
    /// Bytes of the bundle that have to be read to know its content.
    read_bytes: u64,
    /// What downloading the bundle takes, if it is not there and wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    download: Option<Download>,
    /// Bytes of the data folder after the last run; none when that is not known.
    prepared_bytes: Option<u64>,
    steps: Vec<PlannedStep>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Plans the selection and shows it. Also `run --dry-run`.
pub fn show(session: &Session, selection: &Selection, how: &How, conduct: &Conduct) -> Ended {
    let ids = selection.ids()?;
    let purpose = Purpose::question_unless(how.no_download);
    let network = downloads::network(session, &conduct.limits, purpose);
    let (assembly, store) = look(session, &ids, how, &network)?;
    let mut steps = match &store {
        Some(store) => with_store(session, &assembly, store, &how.variant)?,
        None => without_store(&assembly.graph)?,
    };
    let wanted: Vec<&Member> = assembly
        .members
        .iter()
        .filter(|member| wants_bundle(steps.get(&member.id)))
        .collect();
    let mut downloads = forecast::ask(&wanted, &network);
    let peak = match wanted.is_empty() || how.no_download {
        true => None,
        false => {
            let bytes = |member: &Member| downloads.get(&member.id)?.moves(how.partial);
            Some(forecast::peak(session, &wanted, bytes, conduct)?)
        }
    };
    let mut plans = Vec::new();
    for member in &assembly.members {
        let steps = steps.remove(&member.id).unwrap_or_default();
        let download = downloads.remove(&member.id);
        plans.push(planned(session, member, how, steps, download)?);
    }
    for (id, error) in &assembly.refused {
        plans.push(Planned {
            id: id.clone(),
            variant: how.variant.clone(),
            bundle: None,
            read_bytes: 0,
            download: None,
            prepared_bytes: None,
            steps: Vec::new(),
            error: Some(error.to_string()),
        });
    }
    plans.sort_by_key(|plan| ids.iter().position(|id| *id == plan.id));
    if session.printer.json {
        session
            .printer
            .json(&serde_json::json!({ "competitions": plans, "disk": peak }))?;
    } else {
        let all = session.printer.level == Level::Verbose;
        let text: Vec<String> = plans.iter().map(|plan| plan.text(all)).collect();
        session.printer.result(&text.join(""))?;
        if let Some(peak) = peak {
            session
                .printer
                .message(format!("disk at the peak: {}", peak.text()));
        }
    }
    for (_, error) in &assembly.refused {
        session.printer.error(error);
    }
    Ok(Exit::combine(
        assembly.refused.iter().map(|(_, error)| error.exit),
    ))
}

/// Whether the bundle has to be brought.
fn wants_bundle(steps: Option<&Vec<PlannedStep>>) -> bool {
    steps
        .into_iter()
        .flatten()
        .any(|step| step.reason == Some(Reason::Missing))
}

fn planned(
    session: &Session,
    member: &Member,
    how: &How,
    steps: Vec<PlannedStep>,
    download: Option<Download>,
) -> Result<Planned, CliError> {
    let read_bytes = steps.iter().filter_map(|step| match step.reason {
        Some(Reason::Unread { bytes }) => Some(bytes),
        _ => None,
    });
    let manifest = prepared::manifest(&session.settings.data_dir, &member.id)?;
    Ok(Planned {
        id: member.id.clone(),
        variant: how.variant.clone(),
        bundle: member.bundle.clone(),
        read_bytes: read_bytes.sum(),
        download,
        prepared_bytes: manifest.map(|manifest| manifest.bytes),
        steps,
        error: None,
    })
}

/// Steps of every competition, as the engine resolves them.
pub fn with_store(
    session: &Session,
    assembly: &Assembly,
    store: &Store,
    variant: &str,
) -> Result<BTreeMap<String, Vec<PlannedStep>>, CliError> {
    let context = Context::new(store.clone(), limits(session), Cancel::default());
    let graph = &assembly.graph;
    let resolution = resolve(graph, &context, variant)?;
    let mut plan = BTreeMap::new();
    for (id, nodes) in nodes_by_competition(graph, &resolution) {
        let ran: HashSet<String> = store
            .last_run(&id, variant)?
            .map(|history| history.steps.into_keys().collect())
            .unwrap_or_default();
        let steps = nodes.iter().map(|node| {
            let reason = resolution.work.get(node).cloned();
            step(graph, *node, resolution.states.get(node), reason, &ran)
        });
        plan.insert(id, steps.collect());
    }
    Ok(plan)
}

fn step(
    graph: &Graph,
    id: NodeId,
    state: Option<&State>,
    reason: Option<Reason>,
    ran: &HashSet<String>,
) -> PlannedStep {
    let node = graph.node(id);
    let (runs, reason) = match (state, reason) {
        (_, None) => (Runs::No, None),
        // Without an earlier run there is nothing that its result could agree with.
        (Some(State::Pending { .. }), Some(_)) if !ran.contains(&node.name) => {
            (Runs::Yes, Some(Reason::FirstRun))
        }
        (Some(State::Pending { .. }), reason) => (Runs::Maybe, reason),
        (_, reason) => (Runs::Yes, reason),
    };
    PlannedStep {
        step: node.name.clone(),
        kind: node.action.kind(),
        runs,
        reason,
    }
}

/// Where nothing was ever stored, everything runs for the first time.
pub fn without_store(graph: &Graph) -> Result<BTreeMap<String, Vec<PlannedStep>>, CliError> {
    let order = graph
        .order()
        .map_err(|error| CliError::new(Exit::Pipeline, error.to_string()))?;
    let mut plan: BTreeMap<String, Vec<PlannedStep>> = BTreeMap::new();
    for node in order.into_iter().map(|id| graph.node(id)) {
        let reason = match &node.action {
            Action::Source(source) => match source.location().and_then(|path| path.metadata().ok())
            {
                Some(file) => Reason::Unread { bytes: file.len() },
                None => Reason::Missing,
            },
            _ => Reason::FirstRun,
        };
        let step = PlannedStep {
            step: node.name.clone(),
            kind: node.action.kind(),
            runs: Runs::Yes,
            reason: Some(reason),
        };
        plan.entry(node.competition.clone()).or_default().push(step);
    }
    Ok(plan)
}

impl Planned {
    /// A line for the competition, and one for every step that runs or may run (all of them with `all`).
    fn text(&self, all: bool) -> String {
        // Why, is an error of its own.
        if self.error.is_some() {
            return format!("{}: cannot be prepared\n", self.id);
        }
        let count = |runs: Runs| self.steps.iter().filter(|step| step.runs == runs).count();
        let (yes, maybe) = (count(Runs::Yes), count(Runs::Maybe));
        let mut facts = Vec::new();
        if yes + maybe == 0 {
            facts.push("up to date".to_owned());
        } else {
            facts.push(format!(
                "{yes} of {} run",
                units::count(self.steps.len() as u64, "step")
            ));
        }
        if maybe > 0 {
            facts.push(format!("{maybe} more may run"));
        }
        if let Some(download) = &self.download {
            facts.push(download.text());
        } else if self.bundle.is_none() && yes + maybe > 0 {
            facts.push("the bundle is gone and downloaded again if it is needed".to_owned());
        }
        if self.read_bytes > 0 {
            facts.push(format!("{} to read", units::bytes(self.read_bytes)));
        }
        if let Some(bytes) = self.prepared_bytes {
            facts.push(format!("{} when last prepared", units::bytes(bytes)));
        }
        let mut text = format!("{}: {}\n", self.id, facts.join(", "));
        for line in step_table(
            self.steps
                .iter()
                .filter(|step| all || step.runs != Runs::No),
        )
        .lines()
        .skip(1)
        {
            text.push_str(&format!("  {line}\n"));
        }
        text
    }
}

/// Steps with their kinds and reasons.
pub fn step_table<'a>(steps: impl Iterator<Item = &'a PlannedStep>) -> String {
    let mut table = Table::new(&[
        ("step", Align::Left),
        ("kind", Align::Left),
        ("why", Align::Left),
    ]);
    for step in steps {
        let reason = match (&step.reason, step.runs) {
            (None, _) => "up to date".to_owned(),
            (Some(reason), Runs::Maybe) => format!("may run: {}", reasons::short(reason)),
            (Some(reason), _) => reasons::short(reason),
        };
        table.row(vec![step.step.clone(), step.kind.to_owned(), reason]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(steps: Vec<PlannedStep>) -> Planned {
        Planned {
            id: "a".into(),
            variant: "v1".into(),
            bundle: Some("/b/a.zip".into()),
            read_bytes: 1_900_000,
            download: None,
            prepared_bytes: None,
            steps,
            error: None,
        }
    }

    #[test]
    fn the_text_counts_steps_and_gives_reasons() {
        let step = |step: &str, runs, reason| PlannedStep {
            step: step.into(),
            kind: "csv",
            runs,
            reason,
        };
        let plan = planned(vec![
            step(
                "bundle",
                Runs::Yes,
                Some(Reason::Unread { bytes: 1_900_000 }),
            ),
            step(
                "t",
                Runs::Maybe,
                Some(Reason::InputPending {
                    step: "bundle".into(),
                }),
            ),
            step("u", Runs::No, None),
        ]);
        assert_eq!(
            plan.text(false),
            "a: 1 of 3 steps run, 1 more may run, 1.90 MB to read\n  \
               bundle  csv   not read yet, 1.90 MB\n  \
               t       csv   may run: depends on what `bundle` gives\n"
        );
        assert!(plan.text(true).ends_with("u       csv   up to date\n"));
        let json = serde_json::to_value(&plan).unwrap();
        assert_eq!(json["steps"][0]["reason"], "unread");
        assert_eq!(json["steps"][2].get("reason"), None);
    }

    #[test]
    fn nothing_to_do_is_said() {
        let plan = Planned {
            read_bytes: 0,
            ..planned(Vec::new())
        };
        assert_eq!(plan.text(false), "a: up to date\n");
    }
}
