//! Tests of the crate `prep-conformance`: its conformance tests accept correct implementations of steps, sinks, sources and
//! tiers, and find the defect of each wrong implementation.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use prep_cache::{Digest, LedgerEntry, Offer, Store, Tier};
use prep_conformance::{
    SinkCase, SourceCase, TierCase, Violation, check_sink, check_source, check_step, check_tier,
};
use prep_core::{
    Context, FileValue, Inputs, Outputs, Sink, Source, SourceState, Step, StepError, Value,
};

/// A step that copies its input, with at most one defect.
#[derive(Clone, Copy, PartialEq)]
enum Copying {
    Correctly,
    DependsOnThreads,
    /// The output contains the number of earlier runs.
    Counts,
    ForgetsObject,
    LeavesFile,
    NeverStops,
    /// Fails if it has less than this many bytes of memory.
    NeedsMemory(u64),
}

thread_local! {
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

impl Step for Copying {
    fn kind(&self) -> &'static str {
        "copy"
    }
    fn version(&self) -> u32 {
        1
    }
    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        if *self != Copying::NeverStops {
            context.check()?;
        }
        if *self == Copying::LeavesFile {
            fs::write(context.temp_dir().join("left"), "x").map_err(StepError::machine)?;
        }
        if let Copying::NeedsMemory(bytes) = self
            && context.limits.memory < *bytes
        {
            return Err(StepError::machine("too little memory"));
        }
        let extra = match self {
            Copying::DependsOnThreads => context.limits.jobs as u64,
            Copying::Counts => RUNS.replace(RUNS.get() + 1),
            _ => 0,
        };
        let text = format!("{} {extra}", inputs["text"].body);
        let object = match self {
            Copying::ForgetsObject => Digest::of_bytes(text.as_bytes()),
            _ => context.store.put(text.as_bytes())?,
        };
        let value = Value::new(text.into(), vec![object]);
        Ok(Outputs::from([("text".to_owned(), value)]))
    }
}

/// Returns the violated guarantee, or an empty text if there is no violation.
fn guarantee(result: Result<(), Violation>) -> &'static str {
    result.map_or_else(|violation| violation.guarantee, |()| "")
}

#[test]
fn check_step_finds_each_defect() {
    let inputs = |_: &Context| {
        let value = Value::new("word".into(), Vec::new());
        Ok(Inputs::from([("text".to_owned(), value)]))
    };
    for (step, expected) in [
        (Copying::Correctly, ""),
        (Copying::NeedsMemory(1 << 30), ""),
        (
            Copying::NeedsMemory(2 << 30),
            "the step succeeds if it has enough memory",
        ),
        (Copying::DependsOnThreads, "outputs depend on inputs only"),
        (Copying::Counts, "outputs depend on inputs only"),
        (
            Copying::ForgetsObject,
            "objects of outputs are in the cache",
        ),
        (Copying::LeavesFile, "no temporary files are left"),
        (
            Copying::NeverStops,
            "a step stops when the run was cancelled",
        ),
    ] {
        assert_eq!(guarantee(check_step(&step, inputs)), expected);
    }
}

/// A sink that writes its key into a file, with at most one defect.
struct Writing {
    target: PathBuf,
    defect: SinkDefect,
}

#[derive(Clone, Copy, PartialEq)]
enum SinkDefect {
    None,
    AlwaysCurrent,
    IgnoresKey,
    NeverStops,
    Appends,
    DoesNotRepair,
}

impl Writing {
    fn text(&self, key: &Digest) -> String {
        match self.defect {
            SinkDefect::IgnoresKey => "written".to_owned(),
            _ => key.to_string(),
        }
    }
}

impl Sink for Writing {
    fn kind(&self) -> &'static str {
        "write"
    }
    fn version(&self) -> u32 {
        1
    }
    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
    fn difference(&self, _: &Context, key: &Digest) -> Result<Option<String>, StepError> {
        if self.defect == SinkDefect::AlwaysCurrent {
            return Ok(None);
        }
        let found = fs::read_to_string(self.target.join("key")).unwrap_or_default();
        let is_long = self.defect == SinkDefect::Appends && found.starts_with(&self.text(key));
        let is_current = is_long || found == self.text(key);
        Ok((!is_current).then_some(found))
    }
    fn run(&self, context: &Context, key: &Digest, _: &Inputs) -> Result<(), StepError> {
        if self.defect != SinkDefect::NeverStops {
            context.check()?;
        }
        let path = self.target.join("key");
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        match self.defect {
            SinkDefect::Appends => text += &self.text(key),
            SinkDefect::DoesNotRepair if !text.is_empty() => {}
            _ => text = self.text(key),
        }
        fs::write(path, text).map_err(StepError::machine)
    }
}

fn damage(target: &Path) -> io::Result<()> {
    fs::write(target.join("key"), "damaged")
}

#[test]
fn check_sink_finds_each_defect() {
    let current = "a target is current only after a complete run with its key";
    for (defect, expected) in [
        (SinkDefect::None, ""),
        (SinkDefect::AlwaysCurrent, current),
        (SinkDefect::IgnoresKey, current),
        (
            SinkDefect::NeverStops,
            "a sink stops when the run was cancelled",
        ),
        (SinkDefect::Appends, "a repeated run changes no byte"),
        (SinkDefect::DoesNotRepair, current),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().to_owned();
        let sink = Writing {
            target: target.clone(),
            defect,
        };
        let found = check_sink(&SinkCase {
            sink: &sink,
            target: &target,
            inputs: &|_| Ok(Inputs::new()),
            damage: &|| damage(&target),
        });
        assert_eq!(guarantee(found), expected);
    }
}

/// A source that reads a file, with at most one defect.
#[derive(Clone)]
struct Reading {
    path: PathBuf,
    defect: SourceDefect,
}

#[derive(Clone, Copy, PartialEq)]
enum SourceDefect {
    None,
    WritesInState,
    ForgetsContent,
    IgnoresChange,
    InventsContent,
    Guesses,
}

impl Reading {
    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

impl Source for Reading {
    fn kind(&self) -> &'static str {
        "file"
    }
    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        if self.defect == SourceDefect::WritesInState {
            context.store.put(b"written")?;
        }
        let Ok(content) = fs::read(&self.path) else {
            return Ok(SourceState::Missing);
        };
        let known = context.store.named_sources(&self.name())?;
        let is_read = match self.defect {
            SourceDefect::ForgetsContent => false,
            SourceDefect::Guesses if known.is_empty() => {
                let value = Digest::of_bytes(b"a guess");
                return Ok(SourceState::Known { value });
            }
            SourceDefect::IgnoresChange => !known.is_empty(),
            _ => known
                .iter()
                .any(|one| one.digest == Digest::of_bytes(&content)),
        };
        let digest = match (self.defect, known.first()) {
            (SourceDefect::IgnoresChange, Some(first)) => first.digest,
            _ => Digest::of_bytes(&content),
        };
        Ok(match is_read {
            true => SourceState::Known {
                value: FileValue::outside(digest, content.len() as u64)
                    .into_value()
                    .digest(),
            },
            false => SourceState::Unread {
                bytes: content.len() as u64,
            },
        })
    }
    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if self.defect == SourceDefect::InventsContent && !self.path.exists() {
            return Ok(Value::new("nothing".into(), Vec::new()));
        }
        let record = context.store.ingest(&self.path, false, &|_| Ok(()))?;
        context.store.name_source(&self.name(), &record)?;
        Ok(FileValue::outside(record.digest, record.len()).into_value())
    }
    fn location(&self) -> Option<PathBuf> {
        Some(self.path.clone())
    }
}

#[test]
fn check_source_finds_each_defect() {
    for (defect, expected) in [
        (SourceDefect::None, ""),
        (
            SourceDefect::WritesInState,
            "checking the state of a source writes only records of sources",
        ),
        (
            SourceDefect::ForgetsContent,
            "a known state has the digest of the value",
        ),
        (
            SourceDefect::IgnoresChange,
            "the state of a changed source does not have the old digest",
        ),
        (
            SourceDefect::InventsContent,
            "a missing source cannot be read",
        ),
        (
            SourceDefect::Guesses,
            "a known state has the digest of the value",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "one").unwrap();
        let source = Reading {
            path: path.clone(),
            defect,
        };
        let found = check_source(&SourceCase {
            source: &|| Box::new(source.clone()),
            change: &|| fs::write(&path, "two").unwrap(),
            remove: &|| fs::remove_file(&path).unwrap(),
        });
        assert_eq!(guarantee(found), expected);
    }
}

/// A tier, which is a cache that machines share. It is in memory, and has at most one defect.
#[derive(Debug, Clone)]
struct Shared {
    results: Arc<Mutex<Results>>,
    store: Store,
    defect: TierDefect,
}

#[derive(Debug, Default)]
struct Results {
    entries: HashMap<Digest, LedgerEntry>,
    objects: HashMap<Digest, Vec<u8>>,
    damaged: HashSet<Digest>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum TierDefect {
    None,
    LosesEntries,
    LosesObjects,
    ForgetsEntries,
    ChangesBytes,
    InventsEntries,
    FailsForUnknownObjects,
    IgnoresDamage,
}

impl Tier for Shared {
    fn entry(&self, key: &Digest, _: &str) -> Option<LedgerEntry> {
        let results = self.results.lock().unwrap();
        match self.defect {
            TierDefect::LosesEntries => None,
            TierDefect::InventsEntries => results.entries.values().next().cloned(),
            _ => results.entries.get(key).cloned(),
        }
    }
    fn expect(&self, _: &Digest, _: u64) {}
    fn may_have(&self, object: &Digest) -> bool {
        !self.results.lock().unwrap().damaged.contains(object)
    }
    fn fetch(&self, object: &Digest, to: &mut dyn Write) -> io::Result<bool> {
        let results = self.results.lock().unwrap();
        match (results.objects.get(object), self.defect) {
            (None, TierDefect::FailsForUnknownObjects) => Err(io::ErrorKind::NotFound.into()),
            (None, _) | (_, TierDefect::LosesObjects) => Ok(false),
            (Some(_), TierDefect::ChangesBytes) => to.write_all(b"changed").map(|()| true),
            (Some(bytes), _) => to.write_all(bytes).map(|()| true),
        }
    }
    fn report_damaged(&self, object: &Digest) {
        if self.defect != TierDefect::IgnoresDamage {
            self.results.lock().unwrap().damaged.insert(*object);
        }
    }
    fn offer(&self, offer: Offer) {
        let mut results = self.results.lock().unwrap();
        for object in offer.entry.objects() {
            let bytes = self.store.read(object).unwrap();
            results.objects.insert(*object, bytes);
        }
        let before = results.entries.insert(offer.key, offer.entry);
        if self.defect == TierDefect::ForgetsEntries && before.is_some() {
            results.entries.clear();
        }
    }
}

#[test]
fn check_tier_finds_each_defect() {
    let found = "an offered result is found on another machine";
    for (defect, expected) in [
        (TierDefect::None, ""),
        (TierDefect::LosesEntries, found),
        (TierDefect::LosesObjects, found),
        (TierDefect::ForgetsEntries, found),
        (TierDefect::ChangesBytes, found),
        (TierDefect::InventsEntries, "an unknown key has no entry"),
        (
            TierDefect::FailsForUnknownObjects,
            "an unknown object is missing",
        ),
        (TierDefect::IgnoresDamage, "a damaged object is missing"),
    ] {
        let results: Arc<Mutex<Results>> = Arc::default();
        let machine = |store: &Store| {
            store.with_tier(Arc::new(Shared {
                results: results.clone(),
                store: store.clone(),
                defect,
            }))
        };
        let violation = check_tier(&TierCase {
            writer: &machine,
            reader: &machine,
            flush: &|| {},
            damage: &|object| {
                let bytes = b"damaged".to_vec();
                results.lock().unwrap().objects.insert(*object, bytes);
            },
        });
        assert_eq!(guarantee(violation), expected, "{defect:?}");
    }
}
