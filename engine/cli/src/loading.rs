//! From a competition's id to a pipeline that is known to be sound.
//!
//! A pipeline is parsed every time, which takes about a millisecond. Planning its queries takes much longer, so the
//! store keeps a note once text, variant and program were found to go together, and the planning is left out.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use prep_cache::{Digest, LedgerEntry, Store};
use prep_core::KeyRecord;
use prep_grade::{Grader, PathSegment};
use prep_spec::diagnostic::Severity;
use prep_spec::{Diagnostic, Diagnostics, Pipeline};

use crate::catalog::Entry;
use crate::error::CliError;

/// Loads pipelines.
pub struct Loader<'a> {
    store: Option<&'a Store>,
    program: &'a str,
    planner: OnceCell<prep_sql::Session>,
}

impl<'a> Loader<'a> {
    /// Notes go to `store` if it can be written. `program` identifies this build.
    pub fn new(store: Option<&'a Store>, program: &'a str) -> Loader<'a> {
        Loader {
            store,
            program,
            planner: OnceCell::new(),
        }
    }

    /// The pipeline of a competition, with every query and the grading section checked.
    ///
    /// # Errors
    /// All findings in the file; or that there is no pipeline.
    pub fn load(&self, entry: &Entry, variant: &str) -> Result<Pipeline, CliError> {
        let text = entry.pipeline()?;
        let pipeline = prep_spec::load(&entry.id, &entry.file_name, text, variant)?;
        let note = self.note(entry, text, variant);
        if let Some(store) = self.store
            && store.lookup(&note.key())?.is_some()
        {
            return Ok(pipeline);
        }
        let planner = self.planner.get_or_init(prep_sql::Session::planner);
        let mut findings = prep_sql::check(planner, &pipeline);
        findings.extend(check_grading(&pipeline));
        findings.retain(|finding| finding.severity == Severity::Error);
        if let Some(found) = Diagnostics::new(pipeline.source.clone(), findings) {
            return Err(found.into());
        }
        if let Some(store) = self.store.filter(|store| !store.is_read_only()) {
            let entry = LedgerEntry {
                record: note.to_json(),
                outputs: BTreeMap::new(),
                references: Vec::new(),
                created: SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |since| since.as_secs()),
                millis: 0,
            };
            store.record(&note.key(), &entry)?;
        }
        Ok(pipeline)
    }

    fn note(&self, entry: &Entry, text: &str, variant: &str) -> KeyRecord {
        KeyRecord {
            step: "pipeline-check".to_owned(),
            version: 1,
            params: serde_json::json!({
                "competition": entry.id,
                "text": Digest::of(text.as_bytes()),
                "variant": variant,
                "program": self.program,
            }),
            inputs: BTreeMap::new(),
        }
    }
}

/// What prep-grade finds wrong with the section `grade`, at its place in the file.
fn check_grading(pipeline: &Pipeline) -> Option<Diagnostic> {
    let grade = pipeline.grade.as_ref()?;
    let error = Grader::parse(&grade.value.rules).err()?;
    let mut pointer = String::new();
    for segment in &error.path.0 {
        pointer.push('/');
        match segment {
            PathSegment::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
            PathSegment::Index(index) => pointer.push_str(&index.to_string()),
        }
    }
    // A key that is missing has no place of its own: its section has.
    let mut place = pointer.as_str();
    let span = loop {
        match (grade.value.places.get(place), place.rfind('/')) {
            (Some(span), _) => break *span,
            (None, Some(end)) => place = &place[..end],
            (None, None) => break grade.span,
        }
    };
    let message = format!("grade.{}: {}", error.path, error.problem);
    let message = message.replace("grade.: ", "grade: ");
    Some(Diagnostic::error("grade", span, message).suggest(error.suggestion.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        Entry {
            id: "a".into(),
            file_name: "a.yaml".into(),
            pipeline: Some(text.to_owned().into()),
            description: None,
            leaderboard: None,
            checksums: None,
        }
    }

    const TEXT: &str = "\
name: A
category: Tabular
bundle: { kaggle: a }
tables:
  all: { read: all.csv, columns: { id: integer, y: } }
public:
  train.csv: SELECT id, y FROM all
private:
  test.csv: SELECT id, y FROM all
grade:
  answers: private/test.csv
  sample: public/train.csv
  metric: { accuracy: y }
";

    #[test]
    fn a_mistake_in_the_grading_section_is_found_at_its_place() {
        let text = TEXT.replace("accuracy", "acuracy");
        let error = Loader::new(None, "p")
            .load(&entry(&text), "v1")
            .unwrap_err();
        let shown = error.to_string();
        assert!(shown.starts_with("a.yaml:13:"), "{shown}");
        assert!(shown.contains("did you mean `accuracy`?"), "{shown}");
    }

    #[test]
    fn a_sound_pipeline_is_noted_and_a_note_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let loader = Loader::new(Some(&store), "p");
        loader.load(&entry(TEXT), "v1").unwrap();
        assert_eq!(store.stat().unwrap().ledger.files, 1);
        let note = loader.note(&entry(TEXT), TEXT, "v1");
        assert!(store.lookup(&note.key()).unwrap().is_some());
        let other = Loader::new(Some(&store), "q").note(&entry(TEXT), TEXT, "v1");
        assert_ne!(note.key(), other.key());
    }

    #[test]
    fn nothing_is_noted_of_a_pipeline_with_mistakes() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let text = TEXT.replace("SELECT id, y", "SELECT id, z");
        assert!(
            Loader::new(Some(&store), "p")
                .load(&entry(&text), "v1")
                .is_err()
        );
        assert_eq!(store.stat().unwrap().ledger.files, 0);
    }
}
