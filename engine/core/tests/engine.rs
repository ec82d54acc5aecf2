//! Tests the engine's guarantees with small steps that count their executions.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use prep_cache::{Digest, HistoryScope, Store};
use prep_core::{
    Action, Cancel, Context, Event, Failure, Graph, Inputs, LastRuns, NodeId, NodeState,
    NullReporter, Outputs, Port, Reason, Reporter, RunLimits, RunOptions, RunReport, Sink, Step,
    StepError, StepOutcome, Value, resolve, run,
};

use crate::last_runs;

/// A step that joins its inputs and its text, and counts its executions. The text `b@2` means the text `b` and version 2
/// of the step.
struct Join {
    text: String,
    runs: Arc<AtomicUsize>,
    fails: bool,
}

impl Step for Join {
    fn kind(&self) -> &'static str {
        "join"
    }

    fn version(&self) -> u32 {
        let version = self.text.split_once('@');
        version.map_or(1, |(_, version)| version.parse().unwrap())
    }

    fn params(&self) -> serde_json::Value {
        let text = self.text.split('@').next();
        serde_json::json!({ "text": text })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        if self.fails {
            return Err(StepError::new(Failure::Check, "no good"));
        }
        let mut text = String::new();
        for value in inputs.values() {
            text.push_str(value.body.as_str().unwrap_or_default());
        }
        // `-` drops the inputs, so different inputs give equal outputs.
        text = if self.text == "-" {
            "same".to_owned()
        } else {
            text + &self.text
        };
        let object = context.store.put(text.as_bytes())?;
        let value = Value::new(text.into(), vec![object]);
        Ok(Outputs::from([("value".to_owned(), value)]))
    }
}

/// A sink that stores the key of its last update.
struct Target {
    key: Arc<Mutex<Option<Digest>>>,
}

impl Sink for Target {
    fn kind(&self) -> &'static str {
        "target"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn difference(&self, _context: &Context, key: &Digest) -> Result<Option<String>, StepError> {
        let is_current = *self.key.lock().unwrap() == Some(*key);
        Ok((!is_current).then(|| "another key".to_owned()))
    }

    fn run(&self, _context: &Context, key: &Digest, _inputs: &Inputs) -> Result<(), StepError> {
        *self.key.lock().unwrap() = Some(*key);
        Ok(())
    }
}

/// A cache in its own directory, and a target that persists between runs.
struct TestEngine {
    _directory: tempfile::TempDir,
    store: Store,
    key: Arc<Mutex<Option<Digest>>>,
}

/// The chain of nodes a -> b -> c -> target. `a`, `b` and `c` are [`Join`] steps.
struct Chain {
    graph: Arc<Graph>,
    runs: Vec<Arc<AtomicUsize>>,
    nodes: Vec<NodeId>,
}

impl TestEngine {
    fn new() -> TestEngine {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store")).unwrap();
        TestEngine {
            _directory: directory,
            store,
            key: Arc::default(),
        }
    }

    fn chain(&self, texts: [&str; 3], fails: bool) -> Chain {
        let mut graph = Graph::new();
        let (mut runs, mut nodes) = (Vec::new(), Vec::new());
        let mut inputs = Vec::new();
        for (name, text) in ["a", "b", "c"].into_iter().zip(texts) {
            let count = Arc::new(AtomicUsize::new(0));
            let step = Join {
                text: text.to_owned(),
                runs: count.clone(),
                fails: fails && name == "c",
            };
            let node = graph
                .add("x", name, Action::Step(Box::new(step)), inputs)
                .unwrap();
            inputs = vec![(
                "before".to_owned(),
                Port {
                    node,
                    output: "value".to_owned(),
                },
            )];
            runs.push(count);
            nodes.push(node);
        }
        let target = Target {
            key: self.key.clone(),
        };
        nodes.push(
            graph
                .add("x", "target", Action::Sink(Box::new(target)), inputs)
                .unwrap(),
        );
        Chain {
            graph: Arc::new(graph),
            runs,
            nodes,
        }
    }

    fn context(&self) -> Context {
        let limits = RunLimits {
            jobs: 2,
            memory: 1 << 30,
        };
        Context::new(self.store.clone(), limits, Cancel::default())
    }

    fn run_with(&self, chain: &Chain, context: Context, reporter: Arc<dyn Reporter>) -> RunReport {
        let resolution = resolve(&chain.graph, &context, &last_runs(&context.store)).unwrap();
        let options = RunOptions {
            keep_going: true,
            oldest_first: false,
        };
        run(chain.graph.clone(), context, resolution, options, reporter).unwrap()
    }

    fn run(&self, chain: &Chain) -> RunReport {
        self.run_with(chain, self.context(), Arc::new(NullReporter))
    }
}

impl Chain {
    fn counts(&self) -> Vec<usize> {
        self.runs
            .iter()
            .map(|count| count.load(Ordering::SeqCst))
            .collect()
    }
}

#[test]
fn unchanged_steps_do_not_run_again() {
    let engine = TestEngine::new();
    let first = engine.chain(["1", "2", "3"], false);
    engine.run(&first);
    assert_eq!(first.counts(), [1, 1, 1]);
    let again = engine.chain(["1", "2", "3"], false);
    let report = engine.run(&again);
    assert_eq!(again.counts(), [0, 0, 0]);
    assert!(
        again
            .nodes
            .iter()
            .all(|node| report.outcomes[node] == StepOutcome::Reused)
    );
}

#[test]
fn changed_step_and_its_users_run_with_a_reason() {
    let engine = TestEngine::new();
    engine.run(&engine.chain(["1", "2", "3"], false));
    let changed = engine.chain(["1", "two", "3"], false);
    let resolution = resolve(&changed.graph, &engine.context(), &last_runs(&engine.store)).unwrap();
    let Some(Reason::Changed { changes }) = resolution.work.get(&changed.nodes[1]) else {
        panic!("{:?}", resolution.work);
    };
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].field, "params.text");
    assert_eq!(
        (changes[0].old.as_str(), changes[0].new.as_str()),
        (Some("2"), Some("two"))
    );
    assert!(matches!(
        resolution.states[&changed.nodes[2]],
        NodeState::Pending { .. }
    ));
    engine.run(&changed);
    assert_eq!(changed.counts(), [0, 1, 1]);
}

#[test]
fn equal_output_keeps_later_steps_from_running() {
    let engine = TestEngine::new();
    engine.run(&engine.chain(["1", "-", "3"], false));
    let changed = engine.chain(["one", "-", "3"], false);
    let report = engine.run(&changed);
    assert_eq!(
        changed.counts(),
        [1, 1, 0],
        "the output of `b` is the same for different inputs"
    );
    assert_eq!(report.outcomes[&changed.nodes[3]], StepOutcome::Reused);
}

#[test]
fn lost_object_is_computed_again_only_if_needed() {
    let engine = TestEngine::new();
    let first = engine.chain(["1", "2", "3"], false);
    let report = engine.run(&first);
    let value = report.outputs[&first.nodes[1]]["value"];
    let lost = Value::load(&engine.store, &value).unwrap().objects[0];
    std::fs::remove_file(engine.store.open_object(&lost).unwrap().path()).unwrap();
    let again = engine.chain(["1", "2", "3"], false);
    engine.run(&again);
    assert_eq!(again.counts(), [0, 0, 0], "nothing needs the lost object");
    let changed = engine.chain(["1", "2", "three"], false);
    engine.run(&changed);
    assert_eq!(changed.counts(), [0, 1, 1], "`c` needs the lost object");
}

#[test]
fn failed_step_skips_its_users_and_runs_again() {
    let engine = TestEngine::new();
    let failing = engine.chain(["1", "2", "3"], true);
    let report = engine.run(&failing);
    let failed = &report.outcomes[&failing.nodes[2]];
    assert!(
        matches!(failed, StepOutcome::Failed { failure: Failure::Check, message } if message == "no good")
    );
    let skipped = &report.outcomes[&failing.nodes[3]];
    assert!(matches!(skipped, StepOutcome::Skipped { because } if because == "c"));
    assert_eq!(
        *engine.key.lock().unwrap(),
        None,
        "the target was not updated"
    );
    let repaired = engine.chain(["1", "2", "3"], false);
    engine.run(&repaired);
    assert_eq!(
        repaired.counts(),
        [0, 0, 1],
        "the results of successful steps are kept"
    );
}

#[test]
fn a_failed_check_stays_recorded_after_runs_without_this_check() {
    let engine = TestEngine::new();
    let failing = engine.chain(["1", "2", "3"], true);
    engine.run(&failing);
    let reason = || {
        let resolution =
            resolve(&failing.graph, &engine.context(), &last_runs(&engine.store)).unwrap();
        resolution.work.get(&failing.nodes[2]).cloned()
    };
    let failed = Some(Reason::Failed {
        message: "no good".to_owned(),
    });
    assert_eq!(reason(), failed);
    let mut graph = Graph::new();
    let step = Join {
        text: "new".to_owned(),
        runs: Arc::default(),
        fails: false,
    };
    let node = graph.add("x", "a", Action::Step(Box::new(step)), Vec::new());
    engine.run(&Chain {
        graph: Arc::new(graph),
        runs: Vec::new(),
        nodes: vec![node.unwrap()],
    });
    assert_eq!(reason(), failed);
    let changed = engine.chain(["1", "2", "three"], false);
    let resolution = resolve(&changed.graph, &engine.context(), &last_runs(&engine.store)).unwrap();
    let reason = &resolution.work[&changed.nodes[2]];
    assert!(matches!(reason, Reason::Changed { .. }), "{reason:?}");
    engine.run(&changed);
    let last = last_runs(&engine.store).load("x").unwrap();
    assert_eq!(last["c"].failed, None);
}

/// A run that publishes nothing does not replace the key records of the publication, although its results are in the cache.
#[test]
fn changes_are_relative_to_the_last_publication() {
    let engine = TestEngine::new();
    engine.run(&engine.chain(["1", "2", "3"], false));
    engine.run(&engine.chain(["one", "2", "3"], true));
    let last = last_runs(&engine.store);
    let history = last.history("x").unwrap();
    assert!(history.unpublished.is_some() && history.earlier.is_empty());
    let changed = engine.chain(["one", "2", "3"], false);
    let resolution = resolve(&changed.graph, &engine.context(), &last).unwrap();
    assert!(!resolution.work.contains_key(&changed.nodes[0]));
    let published = last.published("x").unwrap();
    let names = |causes: &[prep_core::Cause]| -> Vec<String> {
        causes.iter().map(|cause| cause.step.clone()).collect()
    };
    let causes = resolution.causes(&changed.graph, &changed.nodes, &published);
    assert_eq!(names(&causes), ["a"]);
    engine.run(&changed);
    let last = last_runs(&engine.store);
    let resolution = resolve(&changed.graph, &engine.context(), &last).unwrap();
    let published = last.published("x").unwrap();
    let history = last.history("x").unwrap();
    assert!(history.unpublished.is_none() && history.earlier.len() == 1);
    let records = (&*history, &published);
    let publication = resolution.publication(&changed.graph, &changed.nodes, records);
    assert_eq!(
        publication.map(|one| names(&one.causes)),
        Some(vec!["a".to_owned()])
    );
    assert!(published["a"].reused && matches!(published["a"].reason, Some(Reason::Changed { .. })));
    assert_eq!(
        resolution.causes(&changed.graph, &changed.nodes, &published),
        []
    );
}

/// A user can replace a target directory by another one at the same path. Then the directory records a publication that
/// the history does not contain, and the history is not used.
#[test]
fn history_belongs_to_a_target_directory() {
    let engine = TestEngine::new();
    engine.run(&engine.chain(["1", "2", "3"], false));
    let published = last_runs(&engine.store).load("x").unwrap()["target"]
        .record
        .key();
    let other = Digest::of_bytes(b"another publication");
    for (directory, key, expected) in [
        ("/data", None, true),
        ("/data", Some(published), true),
        ("/data", Some(other), false),
        ("/other", None, false),
        ("/other", Some(published), false),
    ] {
        let scope = HistoryScope::new("v1", Path::new(directory));
        let last = LastRuns::new(&engine.store, scope, move |_| key);
        let is_known = !last.load("x").unwrap().is_empty();
        assert_eq!(is_known, expected, "{directory} {key:?}");
    }
    let none = LastRuns::without_history();
    assert!(none.load("x").unwrap().is_empty());
}

#[test]
fn changed_target_is_restored_without_running_steps() {
    let engine = TestEngine::new();
    engine.run(&engine.chain(["1", "2", "3"], false));
    let last = last_runs(&engine.store).load("x").unwrap();
    assert_eq!(last["target"].reason, Some(Reason::FirstRun));
    *engine.key.lock().unwrap() = None;
    let again = engine.chain(["1", "2", "3"], false);
    let resolution = resolve(&again.graph, &engine.context(), &last_runs(&engine.store)).unwrap();
    let difference = "another key".to_owned();
    assert_eq!(
        resolution.work[&again.nodes[3]],
        Reason::NotCurrent { difference }
    );
    let report = engine.run(&again);
    assert_eq!(again.counts(), [0, 0, 0]);
    assert!(matches!(
        report.outcomes[&again.nodes[3]],
        StepOutcome::Done { .. }
    ));
}

#[test]
fn cancelling_stops_before_the_next_step() {
    struct CancelAtFirst(Cancel, AtomicBool);
    impl Reporter for CancelAtFirst {
        fn event(&self, event: &Event) {
            if matches!(event, Event::StepEnded { .. }) && !self.1.swap(true, Ordering::SeqCst) {
                self.0.cancel();
            }
        }
    }
    let engine = TestEngine::new();
    let chain = engine.chain(["1", "2", "3"], false);
    let context = engine.context();
    let reporter = CancelAtFirst(context.cancel.clone(), AtomicBool::new(false));
    let report = engine.run_with(&chain, context, Arc::new(reporter));
    assert_eq!(chain.counts(), [1, 0, 0]);
    assert_eq!(report.outcomes[&chain.nodes[3]], StepOutcome::Cancelled);
    let again = engine.chain(["1", "2", "3"], false);
    engine.run(&again);
    assert_eq!(
        again.counts(),
        [0, 1, 1],
        "the result of the completed step is kept"
    );
}

#[test]
fn raised_version_runs_the_step_again_and_is_the_reason() {
    let engine = TestEngine::new();
    engine.run(&engine.chain(["1", "2", "3"], false));
    let raised = engine.chain(["1", "2@2", "3"], false);
    let context = engine.context();
    let resolution = resolve(&raised.graph, &context, &last_runs(&context.store)).unwrap();
    let NodeState::Stale { reason, .. } = &resolution.states[&raised.nodes[1]] else {
        panic!("{:?}", resolution.states);
    };
    let Reason::Changed { changes } = reason else {
        panic!("{reason:?}");
    };
    let fields: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
    assert_eq!(fields, ["version"]);
    engine.run(&raised);
    // The output of `Join` contains the version (`2@2`), so it has changed, and the next step also runs.
    assert_eq!(raised.counts(), [0, 1, 1]);
    let again = engine.chain(["1", "2@2", "3"], false);
    engine.run(&again);
    assert_eq!(again.counts(), [0, 0, 0]);
    // The result of the old version is still in the cache.
    let before = engine.chain(["1", "2", "3"], false);
    engine.run(&before);
    assert_eq!(before.counts(), [0, 0, 0]);
}

#[test]
fn panic_fails_only_its_step() {
    struct Panics;
    impl Step for Panics {
        fn kind(&self) -> &'static str {
            "panics"
        }
        fn version(&self) -> u32 {
            1
        }
        fn params(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
        fn run(&self, _context: &Context, _inputs: &Inputs) -> Result<Outputs, StepError> {
            panic!("ouch")
        }
    }
    let engine = TestEngine::new();
    let mut graph = Graph::new();
    let node = graph
        .add("x", "p", Action::Step(Box::new(Panics)), Vec::new())
        .unwrap();
    let chain = Chain {
        graph: Arc::new(graph),
        runs: Vec::new(),
        nodes: vec![node],
    };
    let report = engine.run(&chain);
    let outcome = &report.outcomes[&node];
    assert!(
        matches!(outcome, StepOutcome::Failed { failure: Failure::Internal, message } if message.contains("ouch"))
    );
}

#[test]
fn duplicate_step_names_in_a_competition_are_errors() {
    let engine = TestEngine::new();
    let chain = engine.chain(["1", "2", "3"], false);
    assert_eq!(chain.graph.len(), 4);
    let mut graph = Graph::new();
    let step = || {
        let runs = Arc::default();
        Action::Step(Box::new(Join {
            text: String::new(),
            runs,
            fails: false,
        }))
    };
    graph.add("x", "a", step(), Vec::new()).unwrap();
    assert!(graph.add("x", "a", step(), Vec::new()).is_err());
    assert!(graph.add("y", "a", step(), Vec::new()).is_ok());
}

/// A cancellation during the last step has no effect, because this step does not check for a cancellation afterwards.
#[test]
fn run_cancelled_during_its_last_step_is_complete() {
    struct CancelsAtLastStep(Cancel);
    impl Reporter for CancelsAtLastStep {
        fn event(&self, event: &Event) {
            if matches!(event, Event::StepStarted { step, .. } if step == "target") {
                self.0.cancel();
            }
        }
    }
    let engine = TestEngine::new();
    let chain = engine.chain(["1", "2", "3"], false);
    let cancel = Cancel::default();
    let limits = engine.context().limits;
    let context = Context::new(engine.store.clone(), limits, cancel.clone());
    let report = engine.run_with(&chain, context, Arc::new(CancelsAtLastStep(cancel.clone())));
    assert!(cancel.is_cancelled());
    for node in &chain.nodes {
        let outcome = &report.outcomes[node];
        assert!(matches!(outcome, StepOutcome::Done { .. }), "{outcome:?}");
    }
}

#[test]
fn independent_steps_run_after_a_failure_only_with_keep_going() {
    for (keep_going, expected) in [(false, 1), (true, 2)] {
        let engine = TestEngine::new();
        let mut graph = Graph::new();
        for competition in ["x", "y"] {
            let step = Join {
                text: competition.to_owned(),
                runs: Arc::default(),
                fails: true,
            };
            graph
                .add(
                    competition,
                    "step",
                    Action::Step(Box::new(step)),
                    Vec::new(),
                )
                .unwrap();
        }
        let mut context = engine.context();
        context.limits.jobs = 1;
        let graph = Arc::new(graph);
        let resolution = resolve(&graph, &context, &last_runs(&context.store)).unwrap();
        let options = RunOptions {
            keep_going,
            oldest_first: false,
        };
        let reporter = Arc::new(NullReporter);
        let report = run(graph, context, resolution, options, reporter).unwrap();
        let failed = report
            .outcomes
            .values()
            .filter(|outcome| matches!(outcome, StepOutcome::Failed { .. }));
        assert_eq!(failed.count(), expected);
    }
}

#[test]
fn node_with_the_largest_inputs_starts_first() {
    struct StartedSteps(Mutex<Vec<String>>);
    impl Reporter for StartedSteps {
        fn event(&self, event: &Event) {
            if let Event::StepStarted { step, .. } = event {
                self.0.lock().unwrap().push(step.clone());
            }
        }
    }
    for sizes in [[1, 5000, 70], [5000, 70, 1], [70, 1, 5000]] {
        let engine = TestEngine::new();
        let mut graph = Graph::new();
        let mut add = |name: &str, text: String, inputs: &[NodeId]| {
            let step = Join {
                text,
                runs: Arc::default(),
                fails: false,
            };
            let inputs = inputs.iter().map(|node| {
                let output = "value".to_owned();
                (
                    format!("{node:?}"),
                    Port {
                        node: *node,
                        output,
                    },
                )
            });
            let action = Action::Step(Box::new(step));
            graph.add("x", name, action, inputs.collect()).unwrap()
        };
        let made = sizes.map(|size| add(&format!("made of {size}"), "x".repeat(size), &[]));
        let last = add("last", String::new(), &made);
        for (node, size) in made.into_iter().zip(sizes) {
            add(&format!("user of {size}"), String::new(), &[node, last]);
        }
        let graph = Arc::new(graph);
        let nodes = Vec::new();
        let chain = Chain {
            graph,
            runs: Vec::new(),
            nodes,
        };
        let mut context = engine.context();
        context.limits.jobs = 1;
        let began = Arc::new(StartedSteps(Mutex::default()));
        engine.run_with(&chain, context, began.clone());
        let began = began.0.lock().unwrap();
        let users: Vec<&str> = began
            .iter()
            .filter_map(|step| step.strip_prefix("user of "))
            .collect();
        assert_eq!(users, ["5000", "70", "1"]);
    }
}
