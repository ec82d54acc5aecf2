//! The scheduler when lookups are slow, nodes cannot be resolved, or all threads are taken.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prep_cache::{Digest, LedgerEntry, Offer, Store, Tier};
use prep_core::{
    Action, Cancel, Context, Event, Graph, Inputs, NodeId, NullReporter, Outputs, Port, Reporter,
    RunLimits, RunOptions, RunReport, Sink, Step, StepError, StepOutcome, Value, resolve, run,
};

use crate::last_runs;

struct Name(&'static str);

impl Step for Name {
    fn kind(&self) -> &'static str {
        "name"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        self.0.into()
    }

    fn run(&self, _context: &Context, _inputs: &Inputs) -> Result<Outputs, StepError> {
        let value = Value::new(self.0.into(), Vec::new());
        Ok(Outputs::from([("value".to_owned(), value)]))
    }
}

/// A sink that cannot check whether it is up to date.
struct Unreadable;

impl Sink for Unreadable {
    fn kind(&self) -> &'static str {
        "unreadable"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn difference(&self, _context: &Context, _key: &Digest) -> Result<Option<String>, StepError> {
        Err(StepError::machine("the manifest cannot be read"))
    }

    fn run(&self, _context: &Context, _key: &Digest, _inputs: &Inputs) -> Result<(), StepError> {
        panic!("a sink that cannot be resolved does not run");
    }
}

/// An empty, slow remote. Counts concurrent requests.
#[derive(Debug, Default)]
struct Slow {
    now: AtomicUsize,
    max_requests: AtomicUsize,
}

impl Tier for Slow {
    fn entry(&self, _key: &Digest, _competition: &str) -> Option<LedgerEntry> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_requests.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        self.now.fetch_sub(1, Ordering::SeqCst);
        None
    }

    fn expect(&self, _object: &Digest, _length: u64) {}

    fn may_have(&self, _object: &Digest) -> bool {
        false
    }

    fn fetch(&self, _object: &Digest, _to: &mut dyn Write) -> io::Result<bool> {
        Ok(false)
    }

    fn report_damaged(&self, _object: &Digest) {}

    fn offer(&self, _offer: Offer) {}
}

struct TestEngine {
    _directory: tempfile::TempDir,
    store: Store,
    graph: Graph,
    jobs: usize,
    keep_going: bool,
    oldest_first: bool,
    /// Whether all threads are already taken when the run begins.
    without_threads: bool,
}

impl TestEngine {
    fn new(jobs: usize) -> TestEngine {
        let directory = tempfile::tempdir().unwrap();
        TestEngine {
            store: Store::open(&directory.path().join("store")).unwrap(),
            _directory: directory,
            graph: Graph::new(),
            jobs,
            keep_going: true,
            oldest_first: false,
            without_threads: false,
        }
    }

    fn add(&mut self, name: &'static str, after: &[NodeId]) -> NodeId {
        self.add_action(name, Action::Step(Box::new(Name(name))), after)
    }

    fn add_action(&mut self, name: &str, action: Action, after: &[NodeId]) -> NodeId {
        let inputs = after.iter().map(|node| {
            let port = Port {
                node: *node,
                output: "value".to_owned(),
            };
            (format!("{node:?}"), port)
        });
        self.graph.add("x", name, action, inputs.collect()).unwrap()
    }

    fn run(self, reporter: Arc<dyn Reporter>) -> RunReport {
        let limits = RunLimits {
            jobs: self.jobs,
            memory: 1 << 30,
        };
        let context = Context::new(self.store.clone(), limits, Cancel::default());
        let mut taken = Vec::new();
        if self.without_threads {
            taken.extend(std::iter::from_fn(|| context.threads.try_take()));
        }
        let graph = Arc::new(self.graph);
        let resolution = resolve(&graph, &context, &last_runs(&context.store)).unwrap();
        let options = RunOptions {
            keep_going: self.keep_going,
            oldest_first: self.oldest_first,
        };
        run(graph, context, resolution, options, reporter).unwrap()
    }
}

fn count(report: &RunReport, is_counted: fn(&StepOutcome) -> bool) -> usize {
    report
        .outcomes
        .values()
        .filter(|outcome| is_counted(outcome))
        .count()
}

fn is_done(outcome: &StepOutcome) -> bool {
    matches!(outcome, StepOutcome::Done { .. })
}

#[test]
fn nodes_query_a_slow_remote_concurrently() {
    let mut engine = TestEngine::new(4);
    let first = engine.add("first", &[]);
    for name in ["a", "b", "c", "d"] {
        engine.add(name, &[first]);
    }
    let slow = Arc::new(Slow::default());
    engine.store = engine.store.with_tier(slow.clone());
    let report = engine.run(Arc::new(NullReporter));
    assert_eq!(count(&report, is_done), 5);
    assert_eq!(slow.max_requests.load(Ordering::SeqCst), 4);
}

#[test]
fn node_that_cannot_be_resolved_fails() {
    for (keep_going, failed, skipped) in [(true, 2, 0), (false, 1, 2)] {
        let mut engine = TestEngine::new(1);
        engine.keep_going = keep_going;
        for name in ["a", "b"] {
            let step = engine.add(name, &[]);
            let sink = Action::Sink(Box::new(Unreadable));
            engine.add_action(&format!("publish {name}"), sink, &[step]);
        }
        let report = engine.run(Arc::new(NullReporter));
        let count = |is_counted| count(&report, is_counted);
        assert_eq!(
            count(|one| matches!(one, StepOutcome::Failed { .. })),
            failed
        );
        // Steps that did not run because of a failure are reported as skipped, not as cancelled.
        assert_eq!(
            count(|one| matches!(one, StepOutcome::Skipped { .. })),
            skipped
        );
        assert_eq!(count(|one| matches!(one, StepOutcome::Cancelled)), 0);
    }
}

#[test]
fn run_continues_while_all_threads_are_taken() {
    let mut engine = TestEngine::new(3);
    engine.without_threads = true;
    let first = engine.add("first", &[]);
    let second = engine.add("second", &[first]);
    engine.add("third", &[second]);
    engine.add("other", &[]);
    let report = engine.run(Arc::new(NullReporter));
    assert_eq!(count(&report, is_done), 4, "{:?}", report.outcomes);
}

#[test]
fn oldest_first_reverses_the_order_of_ready_nodes() {
    #[derive(Default)]
    struct StartedSteps(Mutex<Vec<String>>);
    impl Reporter for StartedSteps {
        fn event(&self, event: &Event) {
            if let Event::StepStarted { step, .. } = event {
                self.0.lock().unwrap().push(step.clone());
            }
        }
    }
    let began = [false, true].map(|oldest_first| {
        let mut engine = TestEngine::new(1);
        engine.oldest_first = oldest_first;
        for name in ["a", "b", "c"] {
            engine.add(name, &[]);
        }
        let began = Arc::new(StartedSteps::default());
        engine.run(began.clone());
        began.0.lock().unwrap().clone()
    });
    let [mut newest, oldest] = began;
    newest.reverse();
    assert_eq!(newest, oldest);
}

#[test]
fn panicking_step_fails_and_other_steps_run() {
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
            panic!("intended panic");
        }
    }
    let mut engine = TestEngine::new(2);
    let panics = engine.add_action("panics", Action::Step(Box::new(Panics)), &[]);
    engine.add("after", &[panics]);
    let other = engine.add("other", &[]);
    let report = engine.run(Arc::new(NullReporter));
    assert!(is_done(&report.outcomes[&other]));
    assert!(matches!(
        &report.outcomes[&panics],
        StepOutcome::Failed { message, .. } if message == "a step panicked: intended panic"
    ));
}
