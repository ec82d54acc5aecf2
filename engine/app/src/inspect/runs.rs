//! Compares two publications in a competition's history: their outputs, and the key records of their steps. A key record
//! contains everything on which the result of a step depends.
//!
//! The cache contains these outputs and records until garbage collection removes them. Therefore no step has to run.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use prep_cache::{Digest, EarlierRun, History, LedgerEntry, Store};
use prep_contents::read::each_chunk;
use prep_contents::{ContentsError, Result};
use prep_core::{Cancel, Context, Failure, FileValue, KeyRecord, Value, chain};
use prep_diff::{DiffOptions, FileDifference, two_files};
use prep_steps::DESCRIPTION_STEP;
use prep_steps::value::{ContentRef, Opener, Tree, TreeFile};

use crate::catalog::Catalog;
use crate::error::{Error, failure_of};
use crate::inspect::diff::{DataDifferences, PipelineDifference};
use crate::prepared;
use crate::reasons::print_queries;
use crate::run_log::local_time;
use crate::settings::Settings;
use crate::stages::run::PUBLISH_STEP;

/// A step of a publication, with its entry in the cache.
struct PublishedStep {
    record: KeyRecord,
    entry: LedgerEntry,
}

type Steps = BTreeMap<String, PublishedStep>;

/// Compares two publications of a competition. A publication has an index: 0 is the last one, and 1 is the one before it. Runs
/// that published nothing new have no index.
///
/// # Errors
/// Returns an error if the history has no such publication, if it is no longer in the cache, or if a file cannot be read.
pub fn diff_publications(
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
            "no publication of `{id}`, variant `{variant}`, into the data directory {} is recorded",
            data_dir.display()
        );
        Error::new(Failure::Input, message)
    };
    let store = Store::open_existing(&settings.store_dir)?.ok_or_else(none)?;
    let history = prepared::last_runs(&store, settings, variant).history(id)?;
    let all = publications(&history);
    if all.is_empty() {
        return Err(none());
    }
    let [old, new] = [find(&all, id, old)?, find(&all, id, new)?];
    let published = Some([old.recorded, new.recorded]);
    let (before, after) = (steps(&store, id, old)?, steps(&store, id, new)?);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let influential = &influential(&before) | &influential(&after);
    let context = Context::new(store, settings.limits(), Cancel::default());
    let mut found = DataDifferences {
        published,
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
        if influential.contains(name.as_str()) {
            found.pipeline.extend(step_differences(name, old, new));
        }
        // An output inside another output is compared as a part of that output.
        let is_inside = |steps: &Steps| {
            let mut outer = name.match_indices('/').map(|(at, _)| name.get(..at));
            outer.any(|outer| outer.is_some_and(|outer| steps.contains_key(outer)))
        };
        let path = match name.as_str() {
            DESCRIPTION_STEP => "public/description.md",
            name => name,
        };
        if is_output(path) && !is_inside(&before) && !is_inside(&after) {
            let outputs = output_differences(&context, path, old, new, &options)?;
            found.outputs.get_or_insert_default().extend(outputs);
        }
    }
    Ok(found)
}

fn is_output(name: &str) -> bool {
    name.starts_with("public/") || name.starts_with("private/")
}

/// Returns the recorded publications, the latest first. Consecutive runs whose step `publish` has the same key
/// published the same data. Only the earliest of these runs is a publication.
fn publications(history: &History) -> Vec<EarlierRun> {
    let mut runs = vec![history.as_earlier_run()];
    runs.extend(history.earlier.iter().cloned());
    let key = |run: &EarlierRun| run.steps.get(PUBLISH_STEP).copied();
    let keys: Vec<Option<Digest>> = runs.iter().map(key).skip(1).chain([None]).collect();
    let with_next = runs.into_iter().zip(keys);
    let new = with_next.filter(|(run, before)| key(run).is_some() && key(run) != *before);
    new.map(|(run, _)| run).collect()
}

/// Returns the publication with this number. If there is no such publication, the error lists all publications.
fn find<'a>(all: &'a [EarlierRun], id: &str, number: usize) -> Result<&'a EarlierRun, Error> {
    all.get(number).ok_or_else(|| {
        let shown = all.iter().enumerate();
        let shown = shown.map(|(number, run)| format!("@{number} {}", local_time(run.recorded)));
        let message = format!("there is no publication @{number} of `{id}`");
        let help = format!(
            "the recorded publications are {}",
            shown.collect::<Vec<_>>().join(", ")
        );
        Error::new(Failure::Input, message).help(help)
    })
}

/// Reads the ledger's entries of a publication's steps. The step `publish` and sources have no entry.
fn steps(store: &Store, id: &str, run: &EarlierRun) -> Result<Steps, Error> {
    let mut steps = Steps::new();
    for (name, key) in &run.steps {
        let Some(entry) = store.lookup(key)? else {
            continue;
        };
        if let Ok(record) = serde_json::from_value(entry.record.clone()) {
            steps.insert(name.clone(), PublishedStep { record, entry });
        }
    }
    if steps.is_empty() {
        let message = format!("the requested publication of `{id}` is no longer in the cache");
        return Err(Error::new(Failure::Input, message));
    }
    Ok(steps)
}

/// Returns the steps whose results the outputs depend on. Checks and trial gradings are not among them.
fn influential(steps: &Steps) -> BTreeSet<&str> {
    let mut producers: HashMap<Digest, Vec<&str>> = HashMap::new();
    for (name, step) in steps {
        for output in step.entry.outputs.values() {
            producers.entry(*output).or_default().push(name);
        }
    }
    let mut found = BTreeSet::new();
    let outputs = steps.keys().map(String::as_str);
    let mut open: Vec<&str> = outputs.filter(|name| is_output(name)).collect();
    while let Some(name) = open.pop() {
        if found.insert(name)
            && let Some(step) = steps.get(name)
        {
            let inputs = step.record.inputs.values();
            open.extend(inputs.filter_map(|input| producers.get(input)).flatten());
        }
    }
    found
}

/// Returns the differences between the key records of a step in two publications. `old` or `new` is `None` if that
/// publication does not contain the step.
fn step_differences(
    name: &str,
    old: Option<&PublishedStep>,
    new: Option<&PublishedStep>,
) -> Vec<PipelineDifference> {
    let (Some(before), Some(after)) = (old, new) else {
        let kind = |step: Option<&PublishedStep>| step.map(|step| step.record.step.clone());
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
            let mut value = params.get(key)?.clone();
            print_queries(&mut value);
            Some(match value {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            })
        };
        differ(format!("{name}: {key}"), text(&before), text(&after));
    }
    found
}

/// Compares the output `path` of two publications. `old` or `new` is `None` if that publication does not have the output.
fn output_differences(
    context: &Context,
    path: &str,
    old: Option<&PublishedStep>,
    new: Option<&PublishedStep>,
    options: &DiffOptions<'_>,
) -> Result<Vec<FileDifference>, Error> {
    let made = |step: Option<&PublishedStep>| {
        step.and_then(|step| step.entry.outputs.values().next().copied())
    };
    let (old, new) = (made(old), made(new));
    if old == new {
        return Ok(Vec::new());
    }
    let store = &context.store;
    let (before, after) = (load_value(store, old), load_value(store, new));
    let failed = |error: ContentsError| {
        let message = format!(
            "cannot compare `{path}` of the two publications: {}",
            chain(&error)
        );
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
