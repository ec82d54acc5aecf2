//! Compares two runs in a competition's history: the key records of its steps, then their outputs.
//!
//! The history has the keys of the steps of earlier runs. The ledger has the record and outputs of each key until
//! garbage collection removes them. Therefore the comparison runs no step.

mod trees;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use prep_cache::{Digest, EarlierRun, LedgerEntry, Store};
use prep_contents::ContentsError;
use prep_core::{Cancel, Context, Failure, FileValue, KeyRecord, Value, chain};
use prep_diff::{DiffOptions, FileDifference, two_files};
use prep_steps::value::Tree;

use super::diff::{DataDifferences, PipelineDifference};
use crate::catalog::Catalog;
use crate::error::{Error, failure_of};
use crate::prepared;
use crate::settings::Settings;

/// A step of an earlier run.
struct EarlierStep {
    record: KeyRecord,
    entry: LedgerEntry,
}

type Steps = BTreeMap<String, EarlierStep>;

/// Compares two runs of a competition by their numbers: 0 is the last run, 1 the run before it.
///
/// # Errors
/// Returns an error if the history has no such run, if the run is no longer in the cache, or if a file cannot be read.
pub fn diff_runs(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    variant: &str,
    [old, new]: [usize; 2],
) -> Result<DataDifferences, Error> {
    catalog.get(id)?;
    let none = || {
        let data_dir = settings.data_dir_of(variant);
        let message = format!(
            "there is no record of a run of `{id}` ({variant}) into {}",
            data_dir.display()
        );
        Error::new(Failure::Input, message)
    };
    let store = Store::open_existing(&settings.store_dir)?.ok_or_else(none)?;
    let history = prepared::last_runs(&store, settings, variant).history(id)?;
    if history.steps.is_empty() {
        return Err(none());
    }
    let mut runs = vec![history.as_earlier_run()];
    runs.extend(history.earlier.iter().cloned());
    let before = steps(&store, id, run(&runs, id, old)?)?;
    let after = steps(&store, id, run(&runs, id, new)?)?;
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let context = Context::new(store, settings.limits(), Cancel::default());
    let mut found = DataDifferences {
        pipeline: Vec::new(),
        outputs: Some(Vec::new()),
    };
    let temp = settings.temp_dir();
    let options = DiffOptions {
        threads: settings.jobs,
        resources: settings.resources(&temp),
    };
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        found.pipeline.extend(step_differences(name, old, new));
        let is_output = name.starts_with("public/") || name.starts_with("private/");
        let is_inside = |steps: &Steps| {
            let mut outer = name.match_indices('/').map(|(at, _)| name.get(..at));
            outer.any(|outer| outer.is_some_and(|outer| steps.contains_key(outer)))
        };
        if is_output && !is_inside(&before) && !is_inside(&after) {
            let outputs = output(&context, name, old, new, &options)?;
            found.outputs.get_or_insert_default().extend(outputs);
        }
    }
    Ok(found)
}

fn run<'a>(runs: &'a [EarlierRun], id: &str, number: usize) -> Result<&'a EarlierRun, Error> {
    runs.get(number).ok_or_else(|| {
        let shown = runs.iter().enumerate().map(|(number, run)| {
            let time = i64::try_from(run.recorded)
                .ok()
                .and_then(|seconds| Timestamp::from_second(seconds).ok());
            let time = time.map_or_else(|| "?".to_owned(), |time| time.to_string());
            format!("@{number} {time}")
        });
        let message = format!("there is no run @{number} of `{id}`");
        let help = format!(
            "the recorded runs are {}",
            shown.collect::<Vec<_>>().join(", ")
        );
        Error::new(Failure::Input, message).help(help)
    })
}

/// Reads the ledger's entries of a run's steps. The step `publish` has no entry.
fn steps(store: &Store, id: &str, run: &EarlierRun) -> Result<Steps, Error> {
    let mut steps = Steps::new();
    let mut lost = 0_usize;
    for (name, key) in &run.steps {
        if name == "publish" {
            continue;
        }
        let Some(entry) = store.lookup(key)? else {
            lost += 1;
            continue;
        };
        if let Ok(record) = serde_json::from_value(entry.record.clone()) {
            steps.insert(name.clone(), EarlierStep { record, entry });
        }
    }
    if steps.is_empty() && lost > 0 {
        let message = format!("that run of `{id}` is no longer in the cache");
        return Err(Error::new(Failure::Input, message));
    }
    Ok(steps)
}

/// Returns the differences between a step's key records.
fn step_differences(
    name: &str,
    old: Option<&EarlierStep>,
    new: Option<&EarlierStep>,
) -> Vec<PipelineDifference> {
    let (Some(before), Some(after)) = (old, new) else {
        let kind = |step: Option<&EarlierStep>| step.map(|step| step.record.step.clone());
        return vec![PipelineDifference {
            path: name.to_owned(),
            old: kind(old),
            new: kind(new),
        }];
    };
    let (before, after) = (&before.record, &after.record);
    let mut found = Vec::new();
    let mut differ = |path: String, old: Option<String>, new: Option<String>| {
        if old != new {
            found.push(PipelineDifference { path, old, new });
        }
    };
    differ(
        format!("{name}: version"),
        Some(before.version.to_string()),
        Some(after.version.to_string()),
    );
    let empty = serde_json::Map::new();
    let params = |record: &KeyRecord| record.params.as_object().unwrap_or(&empty).clone();
    let (before, after) = (params(before), params(after));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let text = |params: &serde_json::Map<String, serde_json::Value>| {
            params.get(key).map(|value| match value {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        };
        differ(format!("{name}: {key}"), text(&before), text(&after));
    }
    found
}

/// Returns the differences between a step's outputs.
fn output(
    context: &Context,
    path: &str,
    old: Option<&EarlierStep>,
    new: Option<&EarlierStep>,
    options: &DiffOptions<'_>,
) -> Result<Vec<FileDifference>, Error> {
    let made = |step: Option<&EarlierStep>| {
        step.and_then(|step| step.entry.outputs.values().next().copied())
    };
    let (old, new) = (made(old), made(new));
    if old == new {
        return Ok(Vec::new());
    }
    let store = &context.store;
    let (before, after) = (value(store, old), value(store, new));
    let failed = |error: ContentsError| {
        let message = format!("cannot compare the two runs' `{path}`: {}", chain(&error));
        Error::new(failure_of(&error), message)
    };
    let tree = |value: &Option<Value>| Tree::load(context, value.as_ref()?).ok();
    if let (Some(before), Some(after)) = (tree(&before), tree(&after)) {
        return trees::differences(context, path, &before, &after, options).map_err(failed);
    }
    let bytes = |value: &Option<Value>| value.as_ref()?.body.get("bytes")?.as_u64();
    let whole = vec![FileDifference::new(path, [bytes(&before), bytes(&after)])];
    let (Some(before), Some(after)) = (file(store, &before), file(store, &after)) else {
        return Ok(whole);
    };
    two_files(path, before.path(), after.path(), options).map_err(failed)
}

/// Reads the value of an output, if it is still in the cache.
fn value(store: &Store, digest: Option<Digest>) -> Option<Value> {
    Value::load(store, &digest?).ok()
}

fn file(store: &Store, value: &Option<Value>) -> Option<prep_cache::Object> {
    let file = FileValue::from_value(value.as_ref()?).ok()?;
    store.open_object(&file.digest).ok()
}
