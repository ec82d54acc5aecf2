//! Shared resources of running steps: locks, threads, memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use prep_cache::{LockGuard, Store};
use prep_core::{
    Action, Cancel, Context, Event, Graph, Inputs, NodeId, NodeState, NullReporter, Outputs,
    Reporter, RunLimits, RunOptions, RunReport, Step, StepError, StepOutcome, Value, resolve, run,
};

use crate::last_runs;
use crate::until::wait_until;

type Work = dyn Fn(&Context) -> Result<(), StepError> + Send + Sync;

struct ClosureStep {
    name: &'static str,
    memory: u64,
    work: Arc<Work>,
}

impl Step for ClosureStep {
    fn kind(&self) -> &'static str {
        "does"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        self.name.into()
    }

    fn memory(&self, _inputs: &Inputs) -> u64 {
        self.memory
    }

    fn run(&self, context: &Context, _inputs: &Inputs) -> Result<Outputs, StepError> {
        (self.work)(context)?;
        Ok(Outputs::from([(
            "value".to_owned(),
            Value::new(self.name.into(), Vec::new()),
        )]))
    }
}

struct TestEngine {
    _directory: tempfile::TempDir,
    store: Store,
    graph: Graph,
    limits: RunLimits,
}

impl TestEngine {
    fn new(jobs: usize) -> TestEngine {
        let directory = tempfile::tempdir().unwrap();
        TestEngine {
            store: Store::open(&directory.path().join("store")).unwrap(),
            _directory: directory,
            graph: Graph::new(),
            limits: RunLimits {
                jobs,
                memory: 100 << 20,
            },
        }
    }

    fn add(
        &mut self,
        name: &'static str,
        work: impl Fn(&Context) -> Result<(), StepError> + Send + Sync + 'static,
    ) -> NodeId {
        let step = ClosureStep {
            name,
            memory: 1 << 20,
            work: Arc::new(work),
        };
        let action = Action::Step(Box::new(step));
        self.graph.add("x", name, action, Vec::new()).unwrap()
    }

    /// Takes the lock of a step, as another process would while it runs the step.
    fn hold(&self, node: NodeId) -> LockGuard {
        let context = Context::new(self.store.clone(), self.limits, Cancel::default());
        let resolution = resolve(&self.graph, &context, &last_runs(&context.store)).unwrap();
        let NodeState::Stale {
            record: Some(record),
            ..
        } = &resolution.states[&node]
        else {
            panic!("the step has to run");
        };
        let other = Store::open(self.store.root()).unwrap();
        other
            .try_lock(&format!("step-{}", record.key()))
            .unwrap()
            .unwrap()
    }

    fn run(self, cancel: Cancel) -> RunReport {
        self.run_with(cancel, Arc::new(NullReporter))
    }

    fn run_with(self, cancel: Cancel, reporter: Arc<dyn Reporter>) -> RunReport {
        let context = Context::new(self.store.clone(), self.limits, cancel);
        let graph = Arc::new(self.graph);
        let resolution = resolve(&graph, &context, &last_runs(&context.store)).unwrap();
        let options = RunOptions {
            keep_going: true,
            oldest_first: false,
        };
        run(graph, context, resolution, options, reporter).unwrap()
    }
}

/// The steps that waited for another process, with the description of that process.
#[derive(Default)]
struct WaitingSteps(std::sync::Mutex<Vec<(String, Option<String>)>>);

impl Reporter for WaitingSteps {
    fn event(&self, event: &Event) {
        if let Event::StepWaiting { step, holder, .. } = event {
            let mut waiting = self.0.lock().unwrap();
            waiting.push((step.clone(), holder.clone()));
        }
    }
}

#[test]
fn node_waiting_for_a_lock_frees_its_job_slot() {
    let mut engine = TestEngine::new(1);
    let lock = std::sync::Mutex::new(None);
    let lock = Arc::new(lock);
    let inner = Arc::clone(&lock);
    // The step `other` needs the only job slot. It releases the lock for which the step `waits` is waiting.
    let other = engine.add("other", move |_| {
        std::thread::sleep(Duration::from_millis(120));
        drop(inner.lock().unwrap().take());
        Ok(())
    });
    // The node that was added last starts first.
    let waits = engine.add("waits", |_| Ok(()));
    *lock.lock().unwrap() = Some(engine.hold(waits));
    let waiting = Arc::new(WaitingSteps::default());
    let report = engine.run_with(Cancel::default(), waiting.clone());
    for node in [waits, other] {
        assert!(matches!(report.outcomes[&node], StepOutcome::Done { .. }));
    }
    let waiting = waiting.0.lock().unwrap().clone();
    let [(step, holder)] = waiting.as_slice() else {
        panic!("one step waits, and its wait is reported once: {waiting:?}");
    };
    assert_eq!(step, "waits");
    let process = format!("process {} of user ", std::process::id());
    // Only Linux describes the process.
    let is_this_process = |holder: &String| holder.starts_with(&process);
    assert!(holder.as_ref().is_none_or(is_this_process), "{holder:?}");
    assert!(
        report.figures[&waits].waited.lock >= 50,
        "{:?}",
        report.figures
    );
    assert_eq!(report.figures[&other].waited.lock, 0);
}

#[test]
fn cancelling_the_run_ends_the_wait_for_a_lock() {
    let mut engine = TestEngine::new(2);
    let waits = engine.add("waits", |_| Ok(()));
    let _lock = engine.hold(waits);
    let cancel = Cancel::default();
    let stops = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stops.cancel();
    });
    let began = Instant::now();
    let report = engine.run(cancel);
    assert_eq!(report.outcomes[&waits], StepOutcome::Cancelled);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

/// Counts the values of this type that exist at the same time, and records the maximum of this count.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(now: &'a AtomicUsize, max: &AtomicUsize) -> Counted<'a> {
        max.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Counted(now)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn total_threads_exceed_the_jobs_by_at_most_four() {
    const JOBS: usize = 6;
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MAX_THREADS: AtomicUsize = AtomicUsize::new(0);
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let mut engine = TestEngine::new(JOBS);
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
        engine.add(name, |context| {
            let numbers = context.map_parallel(
                40,
                1 << 20,
                || (),
                |(), number| {
                    let _counted = Counted::new(&NOW, &MAX_THREADS);
                    wait_until("two threads", || MAX_THREADS.load(Ordering::SeqCst) >= 2);
                    DONE.fetch_add(1, Ordering::SeqCst);
                    Ok(number)
                },
            )?;
            let mut numbers = numbers;
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..40));
            Ok(())
        });
    }
    let report = engine.run(Cancel::default());
    assert_eq!(report.failures().count(), 0);
    assert_eq!(DONE.load(Ordering::SeqCst), 400);
    let max = MAX_THREADS.load(Ordering::SeqCst);
    // All steps together may use four threads more than `RunLimits::jobs`.
    assert!((2..=JOBS + 4).contains(&max), "{max} threads");
    let helped = report
        .figures
        .values()
        .filter(|figures| figures.memory > 1 << 20);
    assert!(helped.count() > 0, "further threads claim memory");
}

#[test]
fn threads_start_only_if_their_memory_is_free() {
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MAX_THREADS: AtomicUsize = AtomicUsize::new(0);
    let mut engine = TestEngine::new(8);
    engine.add("large", |context| {
        context.map_parallel(
            30,
            45 << 20,
            || (),
            |(), number| {
                let _counted = Counted::new(&NOW, &MAX_THREADS);
                // Before each number, the first thread starts another thread if possible.
                if number >= 2 {
                    wait_until("three threads", || MAX_THREADS.load(Ordering::SeqCst) >= 3);
                }
                Ok(())
            },
        )?;
        Ok(())
    });
    let report = engine.run(Cancel::default());
    assert_eq!(report.failures().count(), 0);
    // Of 100 MiB, the step claims 1 MiB, and two more threads claim 90 MiB.
    assert_eq!(MAX_THREADS.load(Ordering::SeqCst), 3);
}

#[test]
fn first_failure_ends_a_parallel_loop() {
    let tried = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tried);
    let mut engine = TestEngine::new(4);
    let fails = engine.add("fails", move |context| {
        let done = context.map_parallel(
            10_000,
            1,
            || (),
            |(), number| {
                count.fetch_add(1, Ordering::SeqCst);
                match number {
                    7 => Err(StepError::input("number 7")),
                    _ => {
                        std::thread::sleep(Duration::from_millis(1));
                        Ok(())
                    }
                }
            },
        );
        done.map(drop)
    });
    let report = engine.run(Cancel::default());
    assert!(
        matches!(&report.outcomes[&fails], StepOutcome::Failed { message, .. } if message == "number 7")
    );
    assert!(tried.load(Ordering::SeqCst) < 200);
}

#[test]
fn cancelling_the_run_stops_a_parallel_loop() {
    let cancel = Cancel::default();
    let stops = cancel.clone();
    let mut engine = TestEngine::new(2);
    let node = engine.add("long", move |context| {
        context.map_parallel(
            1_000_000,
            1,
            || (),
            |(), number| {
                if number == 50 {
                    stops.cancel();
                }
                std::thread::sleep(Duration::from_micros(100));
                Ok(())
            },
        )?;
        Ok(())
    });
    let report = engine.run(cancel);
    assert_eq!(report.outcomes[&node], StepOutcome::Cancelled);
}
