//! Tests that the steps of the pipelines in `kinds` give the guarantees of a step.
//! These pipelines use every kind of table and output.
//!
//! A test in `prep-steps` checks the sink that publishes. The sink of previews returns its result to the caller, so it has
//! no target and cannot give the guarantees of a sink.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use prep_cache::{LinkMode, Store};
use prep_conformance::check_step;
use prep_core::{
    Action, Cancel, Context, Graph, Inputs, Outputs, Port, RunLimits, Source, StepError, Value,
};
use prep_fetch::LocalBundle;
use prep_sql::Session;
use prep_steps::{BuildOptions, Expand, Sources, build, vocabulary};

use crate::kinds;

/// Copies the inputs of a step into the cache of another context.
fn copy_inputs(inputs: &Inputs, from: &Context, to: &Context) -> Result<Inputs, StepError> {
    for object in inputs.values().flat_map(|value| &value.objects) {
        to.store.put(&from.store.read(object)?)?;
    }
    Ok(inputs.clone())
}

/// Runs the steps of the pipeline in a directory, and tests one step per kind, format and method.
/// Adds the tested kinds, formats and methods to `tested`.
fn check_steps(directory: &Path, tested: &mut BTreeSet<String>) {
    let text = fs::read_to_string(directory.join("pipeline.yaml")).expect("pipeline");
    let pipeline = prep_spec::load(vocabulary(), "kinds", "pipeline.yaml", &text, "v1");
    let pipeline = pipeline.expect("a valid pipeline");
    let temp = crate::temporary::directory();
    let content = kinds::archive(&kinds::members(directory)).bytes();
    fs::write(temp.path().join("kinds.zip"), content).expect("written");
    let bundle = || LocalBundle::new("kinds", &[temp.path()], None);
    let session = Session::new(temp.path());
    let sources = Sources {
        bundle: Some(Box::new(bundle())),
        further: BTreeMap::new(),
    };
    let options = BuildOptions {
        data_dir: temp.path(),
        boot: None,
        session: &session,
        checksums: None,
        description: "",
        metric: None,
        submissions: None,
        variant: "v1",
        expand: Expand::Beside,
        locked: None,
        link_mode: LinkMode::Copy,
        complete_description: true,
        remove_unpublished: false,
        trial: None,
        finds_members: false,
    };
    let mut graph = Graph::new();
    build(&mut graph, &pipeline, sources, &options).expect("a graph");

    let store = Store::open(&temp.path().join("store")).expect("a store");
    let limits = RunLimits {
        jobs: 2,
        memory: 1 << 30,
    };
    let context = Context::new(store, limits, Cancel::default());
    let mut tested_here = BTreeSet::new();
    let mut values: HashMap<Port, Value> = HashMap::new();
    for node in graph.order().expect("an order") {
        let outputs = match &graph.node(node).action {
            Action::Source(source) => {
                let value = source.run(&context).expect("the bundle");
                Outputs::from([("value".to_owned(), value)])
            }
            Action::Step(step) => {
                let inputs = graph.inputs(node).into_iter();
                let inputs: Inputs = inputs
                    .filter_map(|(name, port)| Some((name, values.get(&port)?.clone())))
                    .collect();
                let params = step.params();
                let what = format!("{} {} {}", step.kind(), params["format"], params["method"]);
                if tested_here.insert(what) {
                    let found = check_step(step.as_ref(), |other| {
                        bundle().run(other)?;
                        copy_inputs(&inputs, &context, other)
                    });
                    let name = &graph.node(node).name;
                    found
                        .unwrap_or_else(|error| panic!("{}: {name}: {error}", directory.display()));
                }
                step.run(&context, &inputs).expect("outputs")
            }
            Action::Sink(_) => continue,
        };
        let outputs = outputs.into_iter();
        values.extend(outputs.map(|(output, value)| (Port { node, output }, value)));
    }
    tested.append(&mut tested_here);
}

#[test]
fn steps_give_the_guarantees_of_a_step() {
    let mut tested = BTreeSet::new();
    for directory in kinds::directories() {
        check_steps(&directory, &mut tested);
    }
    let kinds = tested.iter().filter_map(|what| what.split(' ').next());
    let kinds: BTreeSet<&str> = kinds.collect();
    // The remaining kinds are for published checksums and further sources, which these pipelines do not have.
    assert!(kinds.len() >= 25, "{kinds:?}");
}
