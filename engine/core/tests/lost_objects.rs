//! If an object of a tier (a second cache, such as a remote) cannot be read, this is treated as a cache miss. For any set
//! of unreadable objects, the run succeeds with the same results as without a tier.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use prep_cache::{Digest, LedgerEntry, Offer, Store, Tier};
use prep_core::{
    Action, Cancel, Context, Graph, Inputs, NodeId, NullReporter, Outputs, Port, RunLimits,
    RunOptions, RunReport, Sink, Step, StepError, StepOutcome, Value, resolve, run,
};

use crate::last_runs;

/// A simple generator of pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    /// Creates two objects.
    Make,
    /// Passes on the objects of all inputs without opening them.
    Pass,
    /// Opens the objects of all inputs, and creates an object from them.
    Join,
    /// Opens one object, passes it on, and creates an object from it.
    Extend,
}

struct Node {
    name: String,
    work: Work,
    is_shared: bool,
}

fn objects(inputs: &Inputs) -> Vec<Digest> {
    let objects = inputs.values().flat_map(|value| value.objects.clone());
    objects.collect()
}

impl Step for Node {
    fn kind(&self) -> &'static str {
        "node"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        self.name.clone().into()
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let given = objects(inputs);
        let put = |text: Vec<u8>| Ok::<_, StepError>(context.store.put(&text)?);
        let objects = match self.work {
            Work::Make => vec![
                put(format!("{}-1", self.name).into())?,
                put(format!("{}-2", self.name).into())?,
            ],
            Work::Pass => given,
            Work::Join => {
                let mut text = self.name.clone().into_bytes();
                for object in &given {
                    text.extend(context.store.read(object)?);
                }
                vec![put(text)?]
            }
            Work::Extend => {
                let first = given[0];
                let mut text = context.store.read(&first)?;
                text.extend(self.name.as_bytes());
                vec![first, put(text)?]
            }
        };
        let value = Value::new(self.name.clone().into(), objects);
        Ok(Outputs::from([("value".to_owned(), value)]))
    }
}

/// For each sink, by its name, the bytes of all objects that it read.
type Published = Arc<Mutex<BTreeMap<String, Vec<Vec<u8>>>>>;

struct Publish {
    name: String,
    published: Published,
}

impl Sink for Publish {
    fn kind(&self) -> &'static str {
        "publish"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn difference(&self, _context: &Context, _key: &Digest) -> Result<Option<String>, StepError> {
        Ok(Some(String::new()))
    }

    fn run(&self, context: &Context, _key: &Digest, inputs: &Inputs) -> Result<(), StepError> {
        let objects = objects(inputs);
        let read = objects.iter().map(|object| context.store.read(object));
        let read = read.collect::<Result<Vec<_>, _>>()?;
        self.published
            .lock()
            .unwrap()
            .insert(self.name.clone(), read);
        Ok(())
    }
}

/// Creates a random graph of two competitions, each with a sink that uses some of its nodes.
fn graph(seed: u64, published: &Published) -> Arc<Graph> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut graph = Graph::new();
    let port = |node: NodeId| Port {
        node,
        output: "value".to_owned(),
    };
    for competition in ["x", "y"] {
        let mut nodes: Vec<NodeId> = Vec::new();
        for number in 0..3 + random.below(7) {
            let work = match nodes.len() {
                0 => Work::Make,
                _ => [Work::Make, Work::Pass, Work::Join, Work::Extend][random.below(4)],
            };
            let name = format!("{competition}{number}");
            let mut given = BTreeMap::new();
            for input in 0..if work == Work::Make {
                0
            } else {
                1 + random.below(3)
            } {
                given.insert(input.to_string(), port(nodes[random.below(nodes.len())]));
            }
            let step = Node {
                name: name.clone(),
                work,
                is_shared: random.below(5) > 0,
            };
            let action = Action::Step(Box::new(step));
            let inputs = given.into_iter().collect();
            nodes.push(graph.add(competition, &name, action, inputs).unwrap());
        }
        let sink = Publish {
            name: competition.to_owned(),
            published: published.clone(),
        };
        let mut given = vec![("last".to_owned(), port(nodes[nodes.len() - 1]))];
        let other = nodes[random.below(nodes.len())];
        given.push(("other".to_owned(), port(other)));
        let action = Action::Sink(Box::new(sink));
        graph.add(competition, "publish", action, given).unwrap();
    }
    Arc::new(graph)
}

/// The behaviour of the tier if an object cannot be read.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Deleted,
    Damaged,
    /// The tier fails, and then does not answer the next queries. The field is the number of these queries.
    Away(usize),
}

#[derive(Debug)]
struct Shared {
    store: Store,
    unreadable: HashSet<Digest>,
    fault: Fault,
    /// Objects that the tier reports as missing, because they could not be read.
    absent: Mutex<HashSet<Digest>>,
    /// How many of the next queries the tier does not answer.
    paused: AtomicUsize,
}

impl Shared {
    /// Returns whether the tier answers this query. A paused tier counts down the queries that it does not answer.
    fn answers(&self) -> bool {
        let next = |paused: usize| paused.checked_sub(1);
        self.paused
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, next)
            .is_err()
    }
}

impl Tier for Shared {
    fn entry(&self, key: &Digest, _competition: &str) -> Option<LedgerEntry> {
        self.answers().then(|| self.store.lookup(key).unwrap())?
    }

    fn expect(&self, _object: &Digest, _length: u64) {}

    fn may_have(&self, object: &Digest) -> bool {
        self.answers() && !self.absent.lock().unwrap().contains(object)
    }

    fn fetch(&self, object: &Digest, to: &mut dyn Write) -> io::Result<bool> {
        if !self.unreadable.contains(object) {
            to.write_all(&self.store.read(object).unwrap())?;
            return Ok(true);
        }
        self.absent.lock().unwrap().insert(*object);
        match self.fault {
            Fault::Deleted => Ok(false),
            Fault::Damaged => {
                to.write_all(b"wrong")?;
                Ok(true)
            }
            Fault::Away(queries) => {
                self.paused.store(queries, Ordering::SeqCst);
                Ok(false)
            }
        }
    }

    fn report_damaged(&self, object: &Digest) {
        self.absent.lock().unwrap().insert(*object);
    }

    fn offer(&self, _offer: Offer) {}
}

fn run_graph(graph: &Arc<Graph>, store: Store, jobs: usize) -> RunReport {
    let limits = RunLimits {
        jobs,
        memory: 1 << 30,
    };
    let context = Context::new(store, limits, Cancel::default());
    let resolution = resolve(graph, &context, &last_runs(&context.store)).unwrap();
    let options = RunOptions {
        keep_going: true,
        oldest_first: false,
    };
    run(
        graph.clone(),
        context,
        resolution,
        options,
        Arc::new(NullReporter),
    )
    .unwrap()
}

fn all_objects(store: &Store, report: &RunReport) -> Vec<Digest> {
    let values = report.outputs.values().flat_map(BTreeMap::values);
    let mut all = Vec::new();
    for digest in values {
        all.push(*digest);
        all.extend(Value::load(store, digest).unwrap().objects);
    }
    all.sort();
    all.dedup();
    all
}

#[test]
fn unreadable_objects_of_a_tier_are_computed_again() {
    let faults = [
        Fault::Deleted,
        Fault::Damaged,
        Fault::Away(3),
        Fault::Away(25),
        Fault::Away(usize::MAX),
    ];
    for seed in 1..13 {
        let published = Published::default();
        let graph = graph(seed, &published);
        let directory = tempfile::tempdir().unwrap();
        let first = Store::open(&directory.path().join("first")).unwrap();
        let report = run_graph(&graph, first.clone(), 2);
        let expected = std::mem::take(&mut *published.lock().unwrap());
        let objects = all_objects(&first, &report);
        let mut random = Random(seed);
        for case in 0..8 {
            // Case 0 makes all objects unreadable, cases 1 to 3 about one, and the others about half.
            let chosen = |random: &mut Random| match case {
                0 => true,
                1..4 => random.below(objects.len()) == 0,
                _ => random.below(2) == 0,
            };
            let unreadable: HashSet<Digest> = objects
                .iter()
                .filter(|_| chosen(&mut random))
                .copied()
                .collect();
            let fault = faults[random.below(faults.len())];
            let second = Store::open(&directory.path().join(case.to_string())).unwrap();
            let store = second.with_tier(Arc::new(Shared {
                store: first.clone(),
                unreadable,
                fault,
                absent: Mutex::default(),
                paused: AtomicUsize::new(0),
            }));
            let report = run_graph(&graph, store, 1 + case % 2);
            let bad = report.outcomes.iter().find(|(_, outcome)| {
                !matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused)
            });
            let place = format!("seed {seed}, case {case}, {fault:?}");
            assert!(bad.is_none(), "{place}: {bad:?}");
            assert!(
                *published.lock().unwrap() == expected,
                "{place}: the published objects differ"
            );
        }
    }
}
