//! First stage: finds the catalog entries of a task's competitions. Loads and checks their pipelines, reads
//! published checksums, and compares the pipelines with `prep.lock`.
//!
//! A pipeline is parsed every time, which takes about a millisecond. Planning its queries takes much longer. Therefore
//! queries are planned only once: the cache records that a build of the program found no mistakes in the text of a
//! pipeline. Later runs of the same build skip the planning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use prep_cache::{Content, Digest, LedgerEntry, Store, unix_seconds};
use prep_core::{Failure, KeyRecord};
use prep_digests::{LockedDataset, Lockfile, Sha256, Trees};
use prep_fetch::{Members, PartOfBundle};
use prep_grade::metrics::Direction;
use prep_grade::{GradeSpecError, Grader, PathSegment, Problem};
use prep_spec::model::{Grade, Spanned};
use prep_spec::{
    Diagnostic, Diagnostics, Pipeline, Reading, Severity, Span, help_if_cut, is_typing_error,
    nearest,
};
use prep_sql::{CheckedQueries, PUBLISHED, Session};
use prep_steps::{PreviewRequest, PublishedChecksums, RememberedOptions, SubmissionFacts, Verify};
use serde::Serialize;

use crate::bundles::BorrowedBundle;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::packs::check::{NOT_REPRODUCIBLE, SILENT_FAILURE};
use crate::stages::contents::StatedContents;
use crate::stages::lock;
use crate::task::{PreparationOptions, RecalledOption, Task, ViewOptions};
use crate::{digests, grading, task};

/// The code of diagnostics about the section `grade`.
pub(crate) const GRADE: &str = "grade";

/// The selected competitions.
pub(crate) struct Chosen<'a> {
    /// The catalog entries, in the order of the ids.
    pub entries: Vec<&'a CatalogEntry>,
    /// `prep.lock`, if the prepared data must agree with it.
    pub lock: Option<Lockfile>,
}

impl<'a> Chosen<'a> {
    /// Finds the catalog entries of the competitions `ids`. Reads `prep.lock` if the data must match it.
    ///
    /// # Errors
    /// Returns an error if a competition does not exist, or if the user's directory of bundles does not exist. Also
    /// returns an error if `prep.lock` cannot be read.
    pub(super) fn choose(task: &'a Task, ids: &[String]) -> Result<Chosen<'a>, Error> {
        task.options.require_source()?;
        let lock = match task.options.locked {
            true => Some(lock::read(&task.settings.data_dir)?),
            false => None,
        };
        let entries = ids.iter().map(|id| task.catalog.get(id));
        Ok(Chosen {
            entries: entries.collect::<Result<_, _>>()?,
            lock,
        })
    }
}

/// How the outputs are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Outputs are compared with published checksums.
    Checked,
    /// No checksums are published for this variant.
    NotPublished,
    /// The user disabled the comparison.
    Skipped,
}

/// A competition, its checked pipeline, and its sources.
pub struct Competition {
    pub id: String,
    pub(crate) entry: CatalogEntry,
    pub(crate) pipeline: Pipeline,
    pub verification: Verification,
    /// The published checksums that the outputs must have.
    pub(super) checksums: Option<PublishedChecksums>,
    /// The entry of this competition in `prep.lock`. The digests of `public` and `private` are missing in this entry,
    /// because they are known only after the competition is prepared.
    pub(crate) locked: LockedDataset,
    /// The digests of the outputs in `prep.lock`, if the outputs must match them.
    pub(super) trees: Option<Trees>,
    /// The query that replaces the outputs.
    pub(super) preview: Option<PreviewRequest>,
    /// The options of the task, completed with those of the last run.
    pub options: PreparationOptions,
    /// The options that have the value of the last run.
    pub(crate) recalled: RememberedOptions,
    /// The members of the bundle that the pipeline reads.
    pub(crate) members: Members,
    /// The recorded contents (digests and lengths) of sources whose files do not exist.
    pub(crate) contents: StatedContents,
    /// The path of the bundle, if it exists.
    pub bundle: Option<PathBuf>,
    /// The part of the bundle that is used instead of the complete bundle, if the user requested a partial download.
    pub(crate) part: Option<PartOfBundle>,
    /// Sources in addition to the bundle.
    pub sources: Vec<FurtherSource>,
    /// The bundle from which cached or remote results were computed, if this competition uses these results. It uses
    /// them only if the bundle is neither on this machine nor recorded in the data directory.
    pub borrowed: Option<BorrowedBundle>,
    /// The bundle from which the data directory was prepared, if it is known to differ from `bundle`.
    pub replaced: Option<Content>,
}

/// A source in addition to the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FurtherSource {
    pub name: String,
    /// The URL of the source's file. `None` for a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of the source's file. `None` for a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The path of the file or directory. `None` if it does not exist.
    pub path: Option<PathBuf>,
    /// The name under which the cache and the remote record the source's file.
    #[serde(skip)]
    pub record_name: Option<String>,
    /// Length of the source's file, if the pipeline declares it.
    #[serde(skip)]
    pub published_bytes: Option<u64>,
}

impl FurtherSource {
    /// Returns the URL and the name of the source's file. Returns `None` for a directory.
    pub fn remote(&self) -> Option<(&str, &str)> {
        Some((self.url.as_deref()?, self.file.as_deref()?))
    }
}

impl Competition {
    /// Returns the size of the bundle: the size of its file or, if it has no file, the published size.
    pub(super) fn bundle_bytes(&self) -> Option<u64> {
        let file = self.bundle.as_ref().and_then(|path| path.metadata().ok());
        let file = file.filter(std::fs::Metadata::is_file);
        let borrowed = || self.borrowed.as_ref().map(|bundle| bundle.bytes);
        file.map(|file| file.len())
            .or_else(borrowed)
            .or_else(|| self.entry.size())
    }

    /// Loads the pipeline of a catalog entry. The stage `assemble` finds the bundle and the other sources later.
    ///
    /// # Errors
    /// Returns an error if the entry has no pipeline, or if a file of the entry has mistakes. With the option `locked`,
    /// also returns an error if the competition does not match `prep.lock`.
    pub(super) fn load(
        entry: &CatalogEntry,
        chosen: &Chosen<'_>,
        options: PreparationOptions,
        engine: &Session,
        loader: &Loader,
    ) -> Result<Competition, Error> {
        let mut pipeline = loader.load(entry, &options.variant)?;
        // Checksums are published only for the base variant.
        let published = match pipeline.variant.differs {
            true => None,
            false => entry.published_checksums()?,
        };
        let (checksums, verification) = match published {
            _ if options.verify() == Verify::Nothing => (None, Verification::Skipped),
            Some(checksums) => (Some(checksums), Verification::Checked),
            None => (None, Verification::NotPublished),
        };
        let view = options.view.as_ref();
        let preview = view.map(|view| replace_outputs(view, &mut pipeline, engine));
        let preview = preview.transpose()?;
        let locked = to_lock_entry(entry, &pipeline);
        let lock = chosen.lock.as_ref();
        let trees = lock.map(|lock| lock::require(lock, &entry.id, &options.variant, &locked));
        Ok(Competition {
            id: entry.id.clone(),
            entry: entry.clone(),
            members: Members::new(prep_steps::members(&pipeline))?,
            pipeline,
            verification,
            checksums: checksums.filter(|_| preview.is_none()),
            locked,
            trees: trees.transpose()?,
            preview,
            options,
            recalled: RememberedOptions::default(),
            contents: StatedContents::default(),
            bundle: None,
            part: None,
            sources: Vec::new(),
            borrowed: None,
            replaced: None,
        })
    }

    /// Returns the MD5 that the bundle must have, if it is published and compared.
    pub(crate) fn expected_md5(&self) -> Option<&str> {
        self.options.expected_md5(self.pipeline.bundle.as_ref())
    }

    /// Returns whether only a part of the bundle was downloaded. The file with this part may have been deleted since.
    pub(crate) fn is_partial(&self) -> bool {
        let is_deleted = || self.bundle.is_none() && self.contents.part.is_some();
        let part = self.part.as_ref();
        part.is_some_and(|part| part.is_part() || is_deleted())
    }

    /// Returns the further source with this name.
    pub(crate) fn source(&self, name: &str) -> Option<&FurtherSource> {
        self.sources.iter().find(|one| one.name == name)
    }

    /// Returns the directory of bundles to record for later runs. If the user named a directory, returns it only if it
    /// contains a source of this competition. Otherwise returns the directory of the last run.
    pub(crate) fn used_source(&self) -> Option<&Path> {
        let dir = self.options.remembered.source.as_deref()?;
        let further = self.sources.iter().filter_map(|one| one.path.as_deref());
        let mut paths = self.bundle.as_deref().into_iter().chain(further);
        let is_recalled = self.recalled.source.is_some();
        (paths.any(|path| path.starts_with(dir)) || is_recalled).then_some(dir)
    }

    /// Returns the warnings about the pipeline.
    pub fn warnings(&self) -> Option<&Diagnostics> {
        self.pipeline.warnings.as_ref()
    }

    /// Returns the options that have the value of the last run.
    pub fn recalled(&self) -> impl Iterator<Item = RecalledOption> {
        task::describe(&self.recalled).into_iter()
    }

    /// Returns whether the description must not change, because it is the published description of a built-in
    /// competition or of a pack.
    fn has_published_description(&self) -> bool {
        self.entry.pack.is_some() || self.entry.is_built_in()
    }

    /// Returns the parts of the description about grading: a sentence about the metric, and facts about submissions. The
    /// facts are `None` if the description must not change.
    pub(crate) fn grading_facts(&self) -> (Option<String>, Option<SubmissionFacts>) {
        let grade = self.pipeline.grade.as_ref();
        // Does not fail, because the section was checked when the pipeline was loaded.
        let grader = grade.and_then(|grade| Grader::parse(&grade.value.rules).ok());
        let is_published = self.has_published_description();
        let Some(grader) = grader else {
            return (None, (!is_published).then(SubmissionFacts::default));
        };
        if !is_published {
            let ids = grader.identifiers().into_iter();
            let graded = grader.true_columns(None);
            let mut computed = self.computed_answers();
            computed.retain(|name, _| graded.contains(name));
            let facts = SubmissionFacts {
                requirements: grader.requirements(),
                meaning: grader.meaning().map(str::to_owned),
                computed,
                graded,
                ids: ids.map(str::to_owned).collect(),
            };
            return (Some(grader.description_of_metric()), Some(facts));
        }
        let better = match grader.direction() {
            Direction::HigherIsBetter => "Higher",
            Direction::LowerIsBetter => "Lower",
        };
        let definition = &grader.metric().definition;
        let (name, summary) = (definition.name, definition.summary);
        (
            Some(format!("`{name}`: {summary} {better} is better.")),
            None,
        )
    }

    /// Returns the columns that the query of the answers computes, with their SQL expressions.
    fn computed_answers(&self) -> BTreeMap<String, String> {
        let grade = self.pipeline.grade.as_ref();
        let answers = grade.and_then(|grade| grade.value.answers.value.strip_prefix("private/"));
        let mut outputs = self.pipeline.private.iter();
        let output = outputs.find(|output| Some(output.path.value.as_str()) == answers);
        let query = output.and_then(|output| output.declaration.rows_query());
        query.map_or_else(BTreeMap::new, |query| query.tree().computed_items())
    }

    /// Returns the outputs for which no checksum is published.
    pub(crate) fn without_checksum(&self) -> Vec<String> {
        let pipeline = &self.pipeline;
        let sections = [("public", &pipeline.public), ("private", &pipeline.private)];
        let paths = sections.iter().flat_map(|(section, outputs)| {
            let paths = outputs.iter().map(|output| &output.path.value);
            paths.map(move |path| format!("{section}/{path}"))
        });
        let sums = self.checksums.as_ref();
        paths
            .filter(|path| sums.is_none_or(|sums| sums.of_output(path).is_none()))
            .collect()
    }
}

/// Returns the part of the entry of `prep.lock` that is known before the competition is prepared.
fn to_lock_entry(entry: &CatalogEntry, pipeline: &Pipeline) -> LockedDataset {
    let text = entry.pipeline.as_deref().unwrap_or_default();
    LockedDataset::new(digests::leaderboard(entry), digests::rules(pipeline))
        .with_origin(Sha256::of_bytes(text.as_bytes()), crate::VERSION)
}

/// The name of the query in errors.
const QUERY_NAME: &str = "rows";

/// Replaces the outputs of a pipeline with the query in `view`. Returns the request to run this query.
///
/// # Errors
/// Returns an error if the query is invalid for the pipeline's tables.
fn replace_outputs(
    view: &ViewOptions,
    pipeline: &mut Pipeline,
    engine: &Session,
) -> Result<PreviewRequest, Error> {
    let reading = reading(pipeline, &view.query)?;
    let source = Arc::clone(&reading.pipeline.source);
    let found = prep_sql::check_before_files(engine, &reading);
    if let Some(found) = Diagnostics::new(Arc::clone(&source), found) {
        return Err(found.into());
    }
    // Errors about tables have positions in the pipeline's file, not in the query.
    let file = Arc::clone(&pipeline.source);
    *pipeline = Pipeline {
        source: file,
        ..reading.pipeline
    };
    let query = pipeline.checks.pop().map(|check| check.query);
    Ok(PreviewRequest {
        query: query.ok_or_else(|| Error::new(Failure::Internal, "a view without a query"))?,
        source,
        limit: view.limit,
        result: Arc::clone(&view.result),
    })
}

/// Returns a pipeline that contains the tables of `pipeline` and the query.
pub(crate) fn reading(pipeline: &Pipeline, query: &str) -> Result<Reading, Error> {
    let pipeline =
        prep_spec::query_pipeline(pipeline, prep_steps::vocabulary(), QUERY_NAME, query)?;
    Ok(Reading {
        pipeline,
        unread: BTreeSet::new(),
    })
}

/// Loads and checks pipelines. Records in the cache which pipelines were checked, so that later runs skip the check.
pub struct Loader<'a> {
    store: Option<&'a Store>,
    program: &'a str,
    planner: OnceLock<prep_sql::Session>,
}

impl<'a> Loader<'a> {
    /// Creates a loader that records successful checks in `store`, if the store can be written. `program` identifies the
    /// build of the running program.
    pub fn new(store: &'a Store, program: &'a str) -> Loader<'a> {
        Loader {
            store: Some(store),
            program,
            planner: OnceLock::new(),
        }
    }

    /// Creates a loader that records nothing and checks a pipeline each time.
    pub fn without_notes() -> Loader<'a> {
        Loader {
            store: None,
            program: "",
            planner: OnceLock::new(),
        }
    }

    /// Loads the pipeline of a competition. Checks the queries and the section `grade` of all variants, and the
    /// leaderboard.
    ///
    /// # Errors
    /// Returns an error that lists all mistakes in the file. Also returns an error if the leaderboard is invalid or the
    /// competition has no pipeline. Warnings are part of the returned pipeline.
    pub fn load(&self, entry: &CatalogEntry, variant: &str) -> Result<Pipeline, Error> {
        let text = entry.pipeline()?;
        let (vocabulary, id, file) = (prep_steps::vocabulary(), &entry.id, &entry.file_name);
        let check_record = self.check_record(entry, text);
        if let Some(store) = self.store
            && store.lookup_result(&check_record.key())?.is_some()
            && let Some(pipeline) = prep_spec::load_checked(vocabulary, id, file, text, variant)
        {
            return Ok(pipeline);
        }
        let mut draft = prep_spec::read(vocabulary, id, file, text);
        let mut findings = Vec::new();
        for reading in draft.readings() {
            let planner = self.planner.get_or_init(prep_sql::Session::planner);
            let mut checked = CheckedQueries::new(planner, reading);
            findings.extend_from_slice(checked.findings());
            findings.extend(check_grading(&reading.pipeline, &mut checked));
            findings.extend(misspelled_reasons(&reading.pipeline));
        }
        draft.report(findings);
        let pipeline = draft.finish(variant)?;
        grading::parse_leaderboard(entry, grading::direction(&pipeline))?;
        // A pipeline with warnings is checked each time, so that each run shows them.
        let is_clean = pipeline.warnings.is_none();
        let store = self.store.filter(|store| is_clean && !store.is_read_only());
        if let Some(store) = store {
            let entry = LedgerEntry {
                record: check_record.to_json(),
                created: unix_seconds(),
                ..LedgerEntry::default()
            };
            store.record(&check_record.key(), &entry)?;
        }
        Ok(pipeline)
    }

    fn check_record(&self, entry: &CatalogEntry, text: &str) -> KeyRecord {
        KeyRecord {
            step: "pipeline-check".to_owned(),
            version: 4,
            params: serde_json::json!({
                "competition": entry.id,
                "text": Digest::of_bytes(text.as_bytes()),
                "leaderboard": entry.leaderboard.as_deref().map(|text| Digest::of_bytes(text.as_bytes())),
                "program": self.program,
            }),
            inputs: BTreeMap::new(),
        }
    }
}

/// Returns the mistakes in the section `grade`, each with its position in the file: wrong keys and values, columns that
/// neither the answers nor the sample submission have, and public outputs that contain the answers.
fn check_grading(pipeline: &Pipeline, checked: &mut CheckedQueries<'_>) -> Vec<Diagnostic> {
    let Some(grade) = &pipeline.grade else {
        return Vec::new();
    };
    let grader = match Grader::parse(&grade.value.rules) {
        Ok(grader) => grader,
        Err(found) => {
            let found = found.0.iter();
            return found
                .map(|error| mistake_in_grading(pipeline, grade, error))
                .collect();
        }
    };
    let Grade {
        answers, sample, ..
    } = &grade.value;
    // In a pipeline with mistakes, columns may be missing only because of these mistakes. Therefore the checks that need
    // the columns are skipped.
    let mut found = checked.findings().iter();
    if found.any(|one| one.severity == Severity::Error) {
        return check_metric_queries(pipeline, grade, &grader, [None, None]);
    }
    let columns = checked.output_columns(&answers.value);
    let columns = columns.filter(|_| !grader.answers_are_json());
    let of_sample = checked.output_columns(&sample.value);
    let of_tables = [columns.as_deref(), of_sample.as_deref()];
    let mut found = check_metric_queries(pipeline, grade, &grader, of_tables);
    let missing = grader.missing_columns(columns.as_deref(), of_sample.as_deref());
    let missing = missing.iter();
    found.extend(missing.map(|error| mistake_in_grading(pipeline, grade, error)));
    let mut accepted = pipeline.accepted.iter();
    if !accepted.any(|(name, _)| name.value == PUBLISHED) {
        let mut scored = grader.true_columns(columns.as_deref());
        // If a query is the metric, participants predict the columns that it reads, except those by which it pairs rows.
        if let (false, Some(columns), Some(sample)) =
            (grader.queries().is_empty(), &columns, &of_sample)
        {
            let (ids, queries) = (grader.identifiers(), grader.queries());
            let is_read = |name: &str| {
                let mut read = queries.iter().map(|query| query.tree().computed_columns());
                read.any(|names| names.is_none_or(|names| names.contains(name)))
            };
            let predicted = columns
                .iter()
                .filter(|one| sample.contains(one) && !ids.contains(&one.as_str()) && is_read(one));
            scored.extend(predicted.cloned());
        }
        found.extend(checked.published_answers(&answers.value, &sample.value, &scored));
    }
    found
}

/// Returns a warning for each name in `accepted` that is one edit away from a name with a meaning. Other names are valid,
/// because they declare leaks that no detector finds.
fn misspelled_reasons(pipeline: &Pipeline) -> Vec<Diagnostic> {
    let known = [PUBLISHED, NOT_REPRODUCIBLE, SILENT_FAILURE];
    let known = || prep_leaks::NAMES.iter().copied().chain(known);
    let names = pipeline.accepted.iter().map(|(name, _)| name);
    let names = names.filter(|name| known().all(|known| known != name.value));
    let warnings = names.filter_map(|name| {
        let near =
            nearest(&name.value, known()).filter(|near| is_typing_error(&name.value, near))?;
        let message = format!(
            "no detector has the name `{}`; with this name, the pipeline declares a leak that no detector finds",
            name.value
        );
        Some(Diagnostic::warning("unknown-detector", name.span, message).suggest(Some(near)))
    });
    warnings.collect()
}

/// Returns the mistakes in the queries of a metric. `columns` contains the columns of the answers and of the sample
/// submission. An element is `None` if the columns of that table are not known.
fn check_metric_queries(
    pipeline: &Pipeline,
    grade: &Spanned<Grade>,
    grader: &Grader,
    columns: [Option<&[String]>; 2],
) -> Vec<Diagnostic> {
    let place = |query: &str, place| {
        let located = grade.value.locate(&pipeline.source, query, place);
        located.unwrap_or(grade.span)
    };
    let mut found = Vec::new();
    for query in grader.queries() {
        if let Err(failure) = grading::metric_query::check_query(query, columns) {
            let message = format!("grade.metric: the query of the metric: {}", failure.message);
            let span = place(&failure.query, failure.place);
            let mistake = Diagnostic::error(GRADE, span, message);
            found.push(match failure.help {
                Some(help) => mistake.help(help),
                None => mistake,
            });
        } else if !query.tables.contains("submission") {
            let message = "grade.metric: the query of the metric does not read `submission`, so its result is the same for all \
                           submissions";
            found.push(Diagnostic::warning(
                GRADE,
                place(&query.text, None),
                message,
            ));
        }
    }
    found
}

/// Searches a value of the section `grade` for the name of a column, and returns the position of the name in the pipeline.
/// `pointer` is the JSON pointer of the value.
fn place_of_column(
    pipeline: &Pipeline,
    grade: &Spanned<Grade>,
    (pointer, column): (&str, &str),
) -> Option<Span> {
    let mut places = grade.value.places.range(pointer.to_owned()..);
    let inside = places
        .by_ref()
        .take_while(|(place, _)| place.starts_with(pointer));
    let mut spans = inside.map(|(_, span)| *span);
    spans.find(|span| pipeline.source.slice(*span).trim_matches(['"', '\'']) == column)
}

fn mistake_in_grading(
    pipeline: &Pipeline,
    grade: &Spanned<Grade>,
    error: &GradeSpecError,
) -> Diagnostic {
    let mut pointer = String::new();
    for segment in &error.path.0 {
        pointer.push('/');
        match segment {
            PathSegment::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
            PathSegment::Index(index) => pointer.push_str(&index.to_string()),
        }
    }
    // A missing key has no position, so the position of its section is used.
    let mut place = pointer.as_str();
    let span = loop {
        match (grade.value.places.get(place), place.rfind('/')) {
            (Some(span), _) => break *span,
            (None, Some(end)) => place = &place[..end],
            (None, None) => break grade.span,
        }
    };
    let text = || grade.value.rules.pointer(&pointer)?.as_str();
    let located = match &error.problem {
        Problem::NoColumn { column, .. } => place_of_column(pipeline, grade, (&pointer, column)),
        Problem::Query(error) => {
            let place = Some(error.place);
            text().and_then(|text| grade.value.locate(&pipeline.source, text, place))
        }
        _ => None,
    };
    let cut = match &error.problem {
        Problem::Query(error) if error.message.starts_with("unterminated") => {
            help_if_cut(&pipeline.source, span)
        }
        _ => None,
    };
    let span = located.unwrap_or(span);
    let message = format!("grade.{}: {}", error.path, error.problem);
    let message = message.replace("grade.: ", "grade: ");
    let mistake = Diagnostic::error(GRADE, span, message);
    match cut.map(str::to_owned).or(error.help()) {
        Some(help) => mistake.help(help),
        None => mistake,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> CatalogEntry {
        CatalogEntry::of_text("a", "a.yaml", text.to_owned())
    }

    const TEXT: &str = "\
name: A
category: Tabular
bundle: { kaggle: a }
tables:
  all: { read: all.csv, columns: { id: integer, y: inferred } }
public:
  train.csv: SELECT id, y FROM all
private:
  test.csv: SELECT id, y FROM all
grade:
  answers: private/test.csv
  sample: public/train.csv
  metric: { accuracy: y }
";

    /// Loads a pipeline without a cache.
    fn load(text: &str) -> Result<Pipeline, Error> {
        let nowhere = Store::open_or_empty(std::path::Path::new("/not-there")).unwrap();
        Loader::new(&nowhere, "p").load(&entry(text), "v1")
    }

    #[test]
    fn a_mistake_in_grade_is_reported_with_its_position() {
        let text = TEXT.replace("accuracy", "acuracy");
        let error = load(&text).unwrap_err();
        let shown = error.to_string();
        assert!(shown.starts_with("a.yaml:13:"), "{shown}");
        assert!(shown.contains("did you mean `accuracy`?"), "{shown}");
    }

    #[test]
    fn mistakes_in_the_query_of_a_metric_are_reported() {
        let with = |query: &str, direction: &str| {
            let metric = format!("metric: {{ sql: \"{query}\"{direction} }}");
            load(&TEXT.replace("metric: { accuracy: y }", &metric))
        };
        let direction = ", direction: lower_is_better";
        for (query, message) in [
            ("SELECT avg(a.y FROM answers a", "a.yaml:13:34: "),
            ("SELECT avg(y) FROM answer", "there is no table `answer`"),
            ("SELECT avg_of(y) FROM answers", "avg_of"),
            ("SELECT avg(y), max(y) FROM answers", "2 columns"),
            ("SELECT 'a' || id FROM answers LIMIT 1", "expected a number"),
            ("SELECT t.z FROM (SELECT y FROM answers) t", "z"),
            (
                "SELECT avg(yy) FROM answers",
                "a.yaml:13:30: error: grade.metric: the query of the metric: there is no column `yy` [grade]\n  help: `answers` has id, y",
            ),
            (
                "SELECT abs(a.y) FROM answers a JOIN submission s USING (id)",
                "one row for each row of a table",
            ),
            (
                "SELECT avg(y) FROM answers GROUP BY id",
                "one row for each group",
            ),
            (
                "SELECT y FROM answers a JOIN submission s ON a.id = s.id LIMIT 1",
                "`y` is a column of several tables",
            ),
            ("SELECT avg(y) FROM submission ORDER BY", "a.yaml:13:5"),
            (
                "SELECT avg(s.score) FROM submission s",
                "a.yaml:13:30: error: grade.metric: the query of the metric: table `s` has no column `score` [grade]\n  help: `submission` has id, y",
            ),
        ] {
            let shown = with(query, direction).unwrap_err().to_string();
            assert!(shown.starts_with("a.yaml:13:"), "{query}: {shown}");
            assert!(shown.contains(message), "{query}: {shown}");
        }
        let without = with("SELECT avg(y) FROM answers", "")
            .unwrap_err()
            .to_string();
        assert!(without.contains("`direction` is missing"), "{without}");
        for query in [
            "SELECT avg(abs(a.y - s.y)) FROM answers a JOIN submission s USING (id)",
            "SELECT avg(CASE WHEN y = 'x' THEN id ELSE 0 END) FROM (SELECT * FROM submission) t",
            "SELECT count(*) FROM answers WHERE strpos(y, 'x') > 0 AND id > 1",
        ] {
            with(query, direction).unwrap();
        }
    }

    /// For example, the answers can be computed from a JSON column that contains them.
    #[test]
    fn a_public_column_that_determines_the_answers_is_a_warning() {
        let text = "\
name: A
category: Tabular
bundle: { kaggle: a }
lists: { tags: [x, y] }
tables:
  all: { read: all.jsonl, columns: { id: integer, note: json } }
  flat: SELECT id, note, record, json_get(note, 'of.label') AS label FROM all
  train, test: { split: flat, method: shuffle, test_size: 0.5, seed: 0 }
public:
  train.csv: SELECT id, label FROM train
  test.csv: SELECT COLUMNS FROM test
private:
  test.csv: SELECT id, ANSWERS FROM test
grade:
  answers: private/test.csv
  sample: public/train.csv
  rules: [{ align: id }]
  metric: { accuracy: METRIC }
";
        for (columns, is_published) in [
            ("id", false),
            ("id, label AS other", true),
            ("id, note", true),
            ("id, json_get(note, 'of') AS other", true),
            ("id, json_get(note, 'length') AS length", false),
            ("id, json_without(note, 'of') AS note", false),
            ("id, CAST(record AS VARCHAR) AS record", true),
        ] {
            for (answers, metric) in [("label", "label"), ("one_hot(label, tags)", "x")] {
                let text = text.replace("COLUMNS", columns).replace("ANSWERS", answers);
                let warnings = load(&text.replace("METRIC", metric)).unwrap().warnings;
                let shown = warnings.map_or_else(String::new, |warnings| warnings.to_string());
                let found = shown.contains("`public/test.csv`");
                assert_eq!(found, is_published, "{columns}, {answers}: {shown}");
            }
        }
    }

    /// The table `part` lacks the hidden column `record`, so the error suggests to select it.
    #[test]
    fn a_lost_record_has_a_remedy() {
        let text = TEXT.replace("read: all.csv", "read: all.jsonl").replace(
            "public:",
            "  part: SELECT id, y FROM all\npublic:\n  test.jsonl: SELECT record FROM part",
        );
        let shown = load(&text).unwrap_err().to_string();
        assert!(shown.contains("write `SELECT *, record`"), "{shown}");
    }

    /// The rules of the language, queries, grading and variants are checked separately. Their mistakes form one list,
    /// sorted by position.
    #[test]
    fn all_mistakes_of_a_file_are_reported_together() {
        let text = TEXT
            .replace("category", "categroy")
            .replace("train.csv: SELECT id, y", "train.csv: SELECT id, z")
            .replace("private/test.csv", "private/tset.csv")
            .replace("{ accuracy: y }", "{ acuracy: y }")
            + "variants:\n  fixed:\n    63:\n      public:\n        train.csv: SELECT idd FROM all\n";
        let error = load(&text).unwrap_err();
        let shown = error.to_string();
        let found: Vec<(&str, &str)> = shown
            .lines()
            .filter(|line| line.starts_with("a.yaml:"))
            .filter_map(|line| {
                let place = line.split(':').nth(1)?;
                let code = line.rsplit_once('[')?.1.trim_end_matches(']');
                Some((place, code))
            })
            .collect();
        let expected = [
            ("2", "unknown-key"),
            ("7", "query"),
            ("11", "unknown-output"),
            ("13", "grade"),
            ("18", "query"),
        ];
        assert_eq!(found, expected, "{shown}");
    }

    /// A misspelled column type is one mistake. Queries that use the column do not add further mistakes.
    #[test]
    fn consequences_of_a_mistake_are_not_reported() {
        let text = TEXT
            .replace("id: integer", "id: intger")
            .replace("SELECT id, y FROM all", "SELECT id + 1 AS id, y FROM all");
        let error = load(&text).unwrap_err();
        let count = error.diagnostics.as_ref().unwrap().iter().count();
        assert_eq!(count, 1, "{error}");
    }

    /// With the opposite order, the worst submissions would get medals.
    #[test]
    fn a_leaderboard_must_begin_with_the_best_score() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let lower = TEXT.replace("accuracy", "root_mean_squared_error");
        let other_way = lower.clone() + "  direction: higher_is_better\n";
        for (text, scores, wrong) in [
            (TEXT, "0.9 0.8 0.8 0.5", None),
            (TEXT, "0.5", None),
            (TEXT, "0.5 0.9", Some("rank 2")),
            (TEXT, "0.9 0.5 0.8", Some("rank 3")),
            (lower.as_str(), "0.5 0.9", None),
            (
                lower.as_str(),
                "1.1 0.95 0.8",
                Some("lower scores are better"),
            ),
            (other_way.as_str(), "1.1 0.95 0.8", None),
            (TEXT, "0.9 x", Some("`x` is not a number")),
        ] {
            let leaderboard = format!("score\n{}\n", scores.replace(' ', "\n"));
            let entry = CatalogEntry {
                leaderboard: Some(leaderboard.into()),
                ..entry(text)
            };
            let found = Loader::new(&store, "p").load(&entry, "v1");
            match (found, wrong) {
                (Ok(_), None) => {}
                (Err(error), Some(wrong)) => {
                    assert!(error.message.contains(wrong), "{scores}: {error}");
                    assert_eq!(error.failure, prep_core::Failure::Pipeline);
                }
                (found, _) => panic!("{scores}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_valid_pipeline_is_recorded_per_build() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let loader = Loader::new(&store, "p");
        // A pipeline with a warning is checked each time.
        let warned = loader.load(&entry(TEXT), "v1").unwrap();
        assert!(warned.warnings.is_some());
        assert_eq!(store.stat().unwrap().ledger.files, 0);
        let text = &TEXT.replace("train.csv: SELECT id, y", "train.csv: SELECT id, 0 AS y");
        loader.load(&entry(text), "v1").unwrap();
        assert_eq!(store.stat().unwrap().ledger.files, 1);
        let check_record = loader.check_record(&entry(text), text);
        assert!(store.lookup_result(&check_record.key()).unwrap().is_some());
        let other = Loader::new(&store, "q").check_record(&entry(text), text);
        assert_ne!(check_record.key(), other.key());
    }

    #[test]
    fn a_pipeline_with_mistakes_is_not_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let text = TEXT.replace("SELECT id, y", "SELECT id, z");
        assert!(Loader::new(&store, "p").load(&entry(&text), "v1").is_err());
        assert_eq!(store.stat().unwrap().ledger.files, 0);
    }
}
