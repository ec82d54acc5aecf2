//! A bundle in the mirror meets the common requirements of sources.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use prep_cache::{Content, Digest, SourceRecord};
use prep_conformance::{SourceCase, check_source};
use prep_core::{Context, FileValue, Source, SourceState, StepError, Value};
use prep_remote::{Link, MirroredSource, Remote, SigningKey, SourceOutcome};

/// The bundle on this machine.
struct LocalFile(PathBuf);

fn value(record: &SourceRecord) -> Value {
    FileValue::outside(record.digest, record.len()).into_value()
}

impl Source for LocalFile {
    fn kind(&self) -> &'static str {
        "bundle"
    }
    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        let Ok(found) = self.0.metadata() else {
            return Ok(SourceState::Missing);
        };
        Ok(match context.store.source(&self.0)? {
            Some(record) => SourceState::Known {
                value: value(&record).digest(),
            },
            None => SourceState::Unread { bytes: found.len() },
        })
    }
    fn run(&self, context: &Context) -> Result<Value, StepError> {
        Ok(value(&context.store.ingest(&self.0, false, &|_| Ok(()))?))
    }
    fn location(&self) -> Option<PathBuf> {
        self.0.is_file().then(|| self.0.clone())
    }
}

#[test]
fn a_mirrored_bundle_meets_the_requirements_of_a_source() {
    let shared: RefCell<Arc<dyn ObjectStore>> = RefCell::new(Arc::new(InMemory::new()));
    let key = SigningKey::generate("a").unwrap();
    let public = key.public();
    let link = |key| {
        let remote = Remote::with_store(shared.borrow().clone(), "r", key, &[public]);
        Link::with_remote(remote, false, Arc::new(|_| {})).unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let (path, original) = (dir.path().join("c.zip"), dir.path().join("original"));
    fs::write(&original, "one").unwrap();
    let content = Content {
        digest: Digest::of_bytes(b"one"),
        bytes: 3,
        md5: None,
        sha256: None,
    };
    let file = File::open(&original).unwrap();
    let is_mirrored = link(Some(key)).send_source("c", &content, Some(file));
    assert_eq!(
        is_mirrored.unwrap(),
        SourceOutcome::Recorded { mirrored: true }
    );
    check_source(&SourceCase {
        source: &|| {
            let inner = Box::new(LocalFile(path.clone()));
            Box::new(MirroredSource::new(inner, "c", None, None, link(None)))
        },
        change: &|| fs::write(&path, "two").unwrap(),
        remove: &|| {
            fs::remove_file(&path).unwrap();
            *shared.borrow_mut() = Arc::new(InMemory::new());
        },
    })
    .unwrap();
}
