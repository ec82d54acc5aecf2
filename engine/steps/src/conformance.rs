//! Tests that the steps of the pipelines in `tests/end_to_end/kinds` give the guarantees of a step. These pipelines use
//! every kind of table and output.
//!
//! `kinds/publish/conformance.rs` tests the sink that publishes. The sink of previews cannot give the guarantees of a
//! sink, because it has no target: it returns its result to the caller.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use prep_cache::{Digest, LinkMode, Store};
use prep_conformance::check_step;
use prep_core::{
    Action, Cancel, Context, FileValue, Graph, Inputs, Outputs, Port, RunLimits, Source,
    SourceState, StepError, Value,
};
use prep_formats::zip::{ZipMethod, ZipWriter};
use prep_sql::Session;

use crate::value::VALUE_OUTPUT;
use crate::{BuildOptions, Expand, Sources, build, vocabulary};

type TestResult = Result<(), Box<dyn Error>>;

/// A bundle outside of the cache.
#[derive(Clone)]
struct Bundle {
    path: PathBuf,
    digest: Digest,
    bytes: u64,
}

impl Bundle {
    /// Writes a bundle with the files of a directory. Every second file is deflated.
    fn create(path: PathBuf, directory: &Path) -> Result<Bundle, Box<dyn Error>> {
        let mut files = Vec::new();
        add_files(&mut files, directory, "")?;
        files.sort();
        let mut zip = ZipWriter::new(Vec::new());
        let methods = [ZipMethod::Stored, ZipMethod::Deflate].into_iter().cycle();
        for ((name, file), method) in files.into_iter().zip(methods) {
            zip.add_file(&name, method, fs::read(file)?.as_slice())?;
        }
        let content = zip.finish()?;
        fs::write(&path, &content)?;
        Ok(Bundle {
            path,
            digest: Digest::of_bytes(&content),
            bytes: content.len() as u64,
        })
    }
}

/// Adds the files below a directory with their paths.
fn add_files(files: &mut Vec<(String, PathBuf)>, directory: &Path, prefix: &str) -> TestResult {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().display());
        if entry.path().is_dir() {
            add_files(files, &entry.path(), &format!("{name}/"))?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}

impl Source for Bundle {
    fn kind(&self) -> &'static str {
        "bundle"
    }

    fn state(&self, _: &Context) -> Result<SourceState, StepError> {
        Ok(SourceState::Unread { bytes: self.bytes })
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        context.outside.set_path(self.digest, self.path.clone());
        Ok(FileValue::outside(self.digest, self.bytes).into_value())
    }

    fn location(&self) -> Option<PathBuf> {
        Some(self.path.clone())
    }
}

/// Makes the inputs of a step available in the cache of a different context.
fn copy_inputs(inputs: &Inputs, from: &Context, to: &Context) -> Result<Inputs, StepError> {
    for object in inputs.values().flat_map(|value| &value.objects) {
        to.store.put(&from.store.read(object)?)?;
    }
    Ok(inputs.clone())
}

/// Runs the steps of the pipeline in a directory, and tests one step of each kind, format and method. Adds these to `tested`.
fn check_steps(directory: &Path, tested: &mut BTreeSet<String>) -> TestResult {
    let text = fs::read_to_string(directory.join("pipeline.yaml"))?;
    let pipeline = prep_spec::load(vocabulary(), "kinds", "pipeline.yaml", &text, "v1")?;
    let temp = tempfile::tempdir()?;
    let bundle = Bundle::create(temp.path().join("bundle.zip"), &directory.join("bundle"))?;
    let session = Session::new(temp.path());
    let sources = Sources {
        bundle: Box::new(bundle.clone()),
        further: BTreeMap::new(),
    };
    let options = BuildOptions {
        data_dir: temp.path(),
        boot: None,
        session: &session,
        checksums: None,
        description: "",
        metric: None,
        variant: "v1",
        expand: Some(Expand::Beside),
        locked: None,
        link_mode: LinkMode::Copy,
        complete_description: true,
        remove_unpublished: false,
    };
    let mut graph = Graph::new();
    build(&mut graph, &pipeline, sources, &options)?;

    let store = Store::open(&temp.path().join("store"))?;
    let limits = RunLimits {
        jobs: 2,
        memory: 1 << 30,
    };
    let context = Context::new(store, limits, Cancel::default());
    let mut tested_here = BTreeSet::new();
    let mut values: HashMap<Port, Value> = HashMap::new();
    for node in graph.order()? {
        let outputs = match &graph.node(node).action {
            Action::Source(source) => {
                Outputs::from([(VALUE_OUTPUT.to_owned(), source.run(&context)?)])
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
                        bundle.run(other)?;
                        copy_inputs(&inputs, &context, other)
                    });
                    let name = &graph.node(node).name;
                    found.map_err(|violation| format!("{name}: {violation}"))?;
                }
                step.run(&context, &inputs)?
            }
            Action::Sink(_) => continue,
        };
        let outputs = outputs.into_iter();
        values.extend(outputs.map(|(output, value)| (Port { node, output }, value)));
    }
    tested.append(&mut tested_here);
    Ok(())
}

#[test]
fn steps_give_the_guarantees_of_a_step() -> TestResult {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/kinds");
    let mut tested = BTreeSet::new();
    for entry in fs::read_dir(root)? {
        let directory = entry?.path();
        if directory.join("pipeline.yaml").exists() {
            let checked = check_steps(&directory, &mut tested);
            checked.map_err(|error| format!("{}: {error}", directory.display()))?;
        }
    }
    let kinds = tested.iter().filter_map(|what| what.split(' ').next());
    let kinds: BTreeSet<&str> = kinds.collect();
    // The remaining kinds are those of published checksums and of further sources, which these pipelines do not have.
    assert!(kinds.len() >= 25, "{kinds:?}");
    Ok(())
}
