//! Compares two runs in a competition's history: their outputs, and the key records of their steps. A key record contains
//! everything on which the result of a step depends.
//!
//! The cache contains these outputs and records until garbage collection removes them. Therefore no step has to run.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use jiff::Timestamp;
use prep_cache::{Digest, EarlierRun, LedgerEntry, Store};
use prep_contents::read::each_chunk;
use prep_contents::{ContentsError, Result};
use prep_core::{Cancel, Context, Failure, FileValue, KeyRecord, Value, chain};
use prep_diff::{DiffOptions, FileDifference, two_files};
use prep_steps::value::{ContentRef, Opener, Tree, TreeFile};

use crate::catalog::Catalog;
use crate::error::{Error, failure_of};
use crate::inspect::diff::{DataDifferences, PipelineDifference};
use crate::prepared;
use crate::settings::Settings;

/// A step of an earlier run, with its entry in the cache.
struct EarlierStep {
    record: KeyRecord,
    entry: LedgerEntry,
}

type Steps = BTreeMap<String, EarlierStep>;

/// Compares two runs of a competition. A run has an index: 0 is the last run, and 1 is the run before the last one.
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
    let no_run = || {
        let data_dir = settings.data_dir_of(variant);
        let message = format!(
            "no run of `{id}`, variant `{variant}`, into the data directory {} is recorded",
            data_dir.display()
        );
        Error::new(Failure::Input, message)
    };
    let store = Store::open_existing(&settings.store_dir)?.ok_or_else(no_run)?;
    let history = prepared::last_runs(&store, settings, variant).history(id)?;
    if history.steps.is_empty() {
        return Err(no_run());
    }
    let mut runs = vec![history.as_earlier_run()];
    runs.extend(history.earlier.iter().cloned());
    let before = steps(&store, id, find_run(&runs, id, old)?)?;
    let after = steps(&store, id, find_run(&runs, id, new)?)?;
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
        // An output inside another output is compared as a part of that output.
        let is_inside = |steps: &Steps| {
            let mut outer = name.match_indices('/').map(|(at, _)| name.get(..at));
            outer.any(|outer| outer.is_some_and(|outer| steps.contains_key(outer)))
        };
        if is_output && !is_inside(&before) && !is_inside(&after) {
            let outputs = output_differences(&context, name, old, new, &options)?;
            found.outputs.get_or_insert_default().extend(outputs);
        }
    }
    Ok(found)
}

/// Returns the run with this number. The error lists the recorded runs.
fn find_run<'a>(runs: &'a [EarlierRun], id: &str, number: usize) -> Result<&'a EarlierRun, Error> {
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
        let message = format!("the requested run of `{id}` is no longer in the cache");
        return Err(Error::new(Failure::Input, message));
    }
    Ok(steps)
}

/// Returns the differences between the key records of a step in two runs. `old` or `new` is `None` if that run does not
/// contain the step.
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

/// Compares the output `path` of two runs. `old` or `new` is `None` if that run does not have the output.
fn output_differences(
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
    let (before, after) = (load_value(store, old), load_value(store, new));
    let failed = |error: ContentsError| {
        let message = format!("cannot compare `{path}` of the two runs: {}", chain(&error));
        Error::new(failure_of(&error), message)
    };
    let tree = |value: &Option<Value>| Tree::load(context, value.as_ref()?).ok();
    if let (Some(before), Some(after)) = (tree(&before), tree(&after)) {
        return tree_differences(context, path, &before, &after, options).map_err(failed);
    }
    let bytes = |value: &Option<Value>| value.as_ref()?.body.get("bytes")?.as_u64();
    let without_details = vec![FileDifference::new(path, [bytes(&before), bytes(&after)])];
    let (Some(before), Some(after)) = (open_file(store, &before), open_file(store, &after)) else {
        return Ok(without_details);
    };
    two_files(path, before.path(), after.path(), options).map_err(failed)
}

/// Returns the value with a digest, or `None` if the cache no longer has it.
fn load_value(store: &Store, digest: Option<Digest>) -> Option<Value> {
    Value::load(store, &digest?).ok()
}

fn open_file(store: &Store, value: &Option<Value>) -> Option<prep_cache::Object> {
    let file = FileValue::from_value(value.as_ref()?).ok()?;
    store.open_object(&file.digest).ok()
}

/// Returns the differences between two versions of the directory `path`.
fn tree_differences(
    context: &Context,
    path: &str,
    old: &Tree,
    new: &Tree,
    options: &DiffOptions<'_>,
) -> Result<Vec<FileDifference>> {
    let opener = Opener::new(context);
    let inner = |file: &TreeFile<'_>| format!("{}/{}", path.trim_end_matches('/'), file.path());
    let mut found = Vec::new();
    let (mut before, mut after) = (old.files().peekable(), new.files().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return Ok(found),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.path().cmp(other.path()),
        };
        let one = before.next_if(|_| order.is_le());
        let other = after.next_if(|_| order.is_ge());
        match (&one, &other) {
            (Some(one), Some(other)) => {
                let contents = (one.content(), other.content());
                if is_equal(&opener, &contents)? {
                    continue;
                }
                let path = inner(one);
                let (Some(one), Some(other)) = contents else {
                    found.push(FileDifference::new(path, [None, None]));
                    continue;
                };
                // Only objects of the cache are separate files, which can be compared in detail.
                let object = |content: &ContentRef| match content {
                    ContentRef::Object { digest, .. } => context.store.open_object(digest).ok(),
                    ContentRef::Slice { .. } | ContentRef::Member { .. } => None,
                };
                match (object(&one), object(&other)) {
                    (Some(one), Some(other)) => {
                        found.extend(two_files(&path, one.path(), other.path(), options)?);
                    }
                    _ => {
                        let bytes = [Some(one.bytes()), Some(other.bytes())];
                        found.push(FileDifference::new(path, bytes));
                    }
                }
            }
            (Some(file), None) => {
                found.push(FileDifference::new(inner(file), [Some(file.bytes()), None]));
            }
            (None, Some(file)) => {
                found.push(FileDifference::new(inner(file), [None, Some(file.bytes())]));
            }
            (None, None) => {}
        }
    }
}

/// Returns whether two files have the same content. Compares two objects of the cache by their digests, and other files by
/// their lengths and CRC-32. The content of an empty directory is `None`.
fn is_equal(opener: &Opener, contents: &(Option<ContentRef>, Option<ContentRef>)) -> Result<bool> {
    let (Some(one), Some(other)) = contents else {
        return Ok(contents.0.is_none() && contents.1.is_none());
    };
    if one == other {
        return Ok(true);
    }
    let by_digest = matches!(
        (one, other),
        (ContentRef::Object { .. }, ContentRef::Object { .. })
    );
    if one.bytes() != other.bytes() || by_digest {
        return Ok(false);
    }
    match (crc32(opener, one), crc32(opener, other)) {
        (Ok(one), Ok(other)) => Ok(one == other),
        (Err(error), _) | (_, Err(error)) => match ContentsError::from(error) {
            // If the file no longer exists, it is treated as different.
            ContentsError::System { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Ok(false)
            }
            error if error.is_of_the_system() => Err(error),
            _ => Ok(false),
        },
    }
}

fn crc32(opener: &Opener, content: &ContentRef) -> io::Result<u32> {
    if let ContentRef::Member { entry, .. } = content {
        return Ok(entry.crc32);
    }
    let opened = opener.open(content).map_err(io::Error::other)?;
    let mut reader = opened.reader().map_err(io::Error::other)?;
    let mut hasher = crc32fast::Hasher::new();
    each_chunk(&mut reader, |bytes| hasher.update(bytes))?;
    Ok(hasher.finalize())
}
