//! Results that are kept in memory: one step creates a result, the next passes it on, and two others use it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use prep_cache::{Digest, GcOptions, Store, Stored};
use prep_core::{
    Action, Cancel, Context, Graph, Inputs, NodeId, NodeState, NullReporter, Outputs, Port, Reason,
    RunLimits, RunOptions, RunReport, Step, StepError, StepOutcome, Value, resolve, run,
};

use crate::last_runs;

/// The text that `Work::Make` created, if it is still in memory.
type Seen = Arc<Mutex<Weak<String>>>;

#[derive(Clone)]
enum Work {
    /// Creates [`TEXT`]. The text stays in memory if there is room, and is written to the cache otherwise.
    Make(Seen),
    /// Passes on its input.
    Pass,
    /// Uses the text. Creates an object that contains the step's parameter.
    Use,
    /// Does not use the text, and checks whether it still exists.
    Late(Seen, Arc<AtomicUsize>),
}

struct Node {
    name: &'static str,
    work: Work,
    params: String,
    runs: Arc<AtomicUsize>,
}

const TEXT: &str = "text";

impl Step for Node {
    fn kind(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        self.params.clone().into()
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let given = inputs.values().next();
        let objects = match &self.work {
            Work::Make(seen) => {
                let object = Stored {
                    digest: Digest::of_bytes(TEXT.as_bytes()),
                    len: TEXT.len() as u64,
                };
                match context.objects.try_claim_for_result(object.len) {
                    Some(claim) => {
                        let text = Arc::new(TEXT.to_owned());
                        *seen.lock().unwrap() = Arc::downgrade(&text);
                        context.objects.hold(object, text, claim);
                    }
                    None => {
                        context.store.put(TEXT.as_bytes())?;
                    }
                }
                vec![object.digest]
            }
            Work::Pass => given.unwrap().objects.clone(),
            Work::Use => {
                let object = given.unwrap().objects[0];
                let text = match context.objects.get::<String>(&object) {
                    Some(text) => text.to_string(),
                    None => String::from_utf8(context.store.read(&object)?).unwrap(),
                };
                assert_eq!(text, TEXT);
                vec![context.store.put(self.params.as_bytes())?]
            }
            Work::Late(seen, found) => {
                found.fetch_add(seen.lock().unwrap().strong_count(), Ordering::SeqCst);
                Vec::new()
            }
        };
        let value = Value::new(self.params.clone().into(), objects);
        Ok(Outputs::from([("value".to_owned(), value)]))
    }
}

/// The graph make -> pass -> one, two -> late.
struct Fan {
    graph: Arc<Graph>,
    nodes: Vec<NodeId>,
    runs: Vec<Arc<AtomicUsize>>,
    seen: Seen,
    /// Number of references to the text when the step `late` ran.
    found_late: Arc<AtomicUsize>,
}

const NAMES: [&str; 5] = ["make", "pass", "one", "two", "late"];

impl Fan {
    /// `two` is the parameter of the step `two`.
    fn new(two: &str) -> Fan {
        let (seen, found_late) = (Seen::default(), Arc::default());
        let works = [
            (Work::Make(Arc::clone(&seen)), &[][..], ""),
            (Work::Pass, &[0], ""),
            (Work::Use, &[1], "one"),
            (Work::Use, &[1], two),
            (
                Work::Late(Arc::clone(&seen), Arc::clone(&found_late)),
                &[2, 3],
                "",
            ),
        ];
        let mut graph = Graph::new();
        let (mut nodes, mut runs) = (Vec::<NodeId>::new(), Vec::new());
        for (name, (work, given, params)) in NAMES.into_iter().zip(works) {
            let count = Arc::new(AtomicUsize::new(0));
            let step = Node {
                name,
                work,
                params: params.to_owned(),
                runs: Arc::clone(&count),
            };
            let given = given.iter().map(|input: &usize| {
                let (node, output) = (nodes[*input], "value".to_owned());
                (NAMES[*input].to_owned(), Port { node, output })
            });
            let inputs = given.collect();
            let action = Action::Step(Box::new(step));
            nodes.push(graph.add("x", name, action, inputs).unwrap());
            runs.push(count);
        }
        Fan {
            graph: Arc::new(graph),
            nodes,
            runs,
            seen,
            found_late,
        }
    }

    /// Returns how often each step ran, in the order of `NAMES`.
    fn counts(&self) -> [usize; 5] {
        let mut counts = self.runs.iter().map(|count| count.load(Ordering::SeqCst));
        std::array::from_fn(|_| counts.next().unwrap())
    }

    fn run(&self, store: &Store, room: Option<u64>) -> RunReport {
        let context = context(store, room);
        let resolution = resolve(&self.graph, &context, &last_runs(&context.store)).unwrap();
        let options = RunOptions {
            keep_going: false,
            oldest_first: false,
        };
        let reporter = Arc::new(NullReporter);
        let report = run(self.graph.clone(), context, resolution, options, reporter).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        report
    }
}

fn context(store: &Store, room: Option<u64>) -> Context {
    let limits = RunLimits {
        jobs: 1,
        memory: 1 << 30,
    };
    let context = Context::new(store.clone(), limits, Cancel::default());
    match room {
        Some(bytes) => context.with_memory_results(bytes),
        None => context,
    }
}

const ROOM: Option<u64> = Some(1 << 20);

fn fresh() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("store")).unwrap();
    (directory, store)
}

fn object() -> Digest {
    Digest::of_bytes(TEXT.as_bytes())
}

#[test]
fn result_in_memory_is_dropped_after_its_last_user() {
    let (_directory, store) = fresh();
    let fan = Fan::new("two");
    fan.run(&store, ROOM);
    assert_eq!(fan.counts(), [1; 5]);
    assert_eq!(store.len_of(&object()), None, "the result was not stored");
    assert_eq!(fan.seen.lock().unwrap().strong_count(), 0);
    assert_eq!(fan.found_late.load(Ordering::SeqCst), 0);
    let again = Fan::new("two");
    again.run(&store, ROOM);
    assert_eq!(again.counts(), [0; 5]);
}

#[test]
fn step_of_an_unstored_result_runs_again_for_a_later_user() {
    let (_directory, store) = fresh();
    Fan::new("two").run(&store, ROOM);
    for room in [ROOM, None] {
        let changed = Fan::new(if room.is_some() { "second" } else { "third" });
        let resolution =
            resolve(&changed.graph, &context(&store, room), &last_runs(&store)).unwrap();
        let make = &resolution.work[&changed.nodes[0]];
        let object = object();
        assert_eq!(*make, Reason::Unstored { object });
        assert!(
            matches!(&resolution.states[&changed.nodes[1]], NodeState::Pending { step } if step == "make")
        );
        assert_eq!(resolution.work.len(), 4);
        let report = changed.run(&store, room);
        assert_eq!(changed.counts(), [1, 0, 0, 1, 1]);
        assert_eq!(report.outcomes[&changed.nodes[1]], StepOutcome::Reused);
        assert_eq!(store.len_of(&object).is_some(), room.is_none());
    }
    let last = Fan::new("fourth");
    last.run(&store, ROOM);
    assert_eq!(last.counts(), [0, 0, 0, 1, 1]);
}

#[test]
fn cache_without_the_unstored_result_is_valid() {
    let (_directory, store) = fresh();
    Fan::new("two").run(&store, ROOM);
    let verified = store.verify(false, &|_| {}).unwrap();
    assert!(verified.is_clean(), "{verified:?}");
    let collected = store.gc(&GcOptions::default()).unwrap();
    assert!(collected.entries.is_empty() && collected.objects.is_empty());
    let again = Fan::new("two");
    again.run(&store, ROOM);
    assert_eq!(again.counts(), [0; 5]);
}

#[test]
fn lost_object_is_computed_by_the_step_that_produced_it() {
    let (_directory, store) = fresh();
    Fan::new("two").run(&store, None);
    let path = store.open_object(&object()).unwrap().path().to_owned();
    std::fs::remove_file(path).unwrap();
    let changed = Fan::new("second");
    let resolution = resolve(&changed.graph, &context(&store, None), &last_runs(&store)).unwrap();
    let make = &resolution.work[&changed.nodes[0]];
    assert_eq!(*make, Reason::OutputMissing { object: object() });
    changed.run(&store, None);
    assert_eq!(changed.counts(), [1, 0, 0, 1, 1]);
}

#[test]
fn results_in_memory_do_not_exceed_the_budget() {
    let (_directory, store) = fresh();
    assert!(
        context(&store, None)
            .objects
            .try_claim_for_result(1)
            .is_none()
    );
    let two = context(&store, Some(2 << 20));
    let first = two.objects.try_claim_for_result(1 << 20).unwrap();
    assert!(two.objects.try_claim_for_result(2 << 20).is_none());
    drop(first);
    assert!(two.objects.try_claim_for_result(2 << 20).is_some());
}
