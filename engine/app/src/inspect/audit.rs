//! Audits data: finds out why they differ from the published data. Also searches for leaks of answers.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use prep_audit::bundle::{Expected, known};
use prep_audit::published::FileCheck;
use prep_audit::tree::{Roles, SplitSearch};
use prep_audit::{
    AuditError, AuditFinding, AuditReport, BUNDLE_NOT_VERIFIED, Cause, OUTPUTS_VERIFIED, Verdict,
    bundle, published, tree,
};
use prep_contents::Resources;
use prep_core::{Failure, Remedy, chain};
use prep_formats::pandas::{CsvDialect, CsvWriter, Quoting};
use prep_leaks::{LeakInput, LeakReport, LeaksError};
use prep_spec::model::TableOrigin;
use prep_spec::{BASE_VARIANT, Pipeline};
use prep_steps::{ExaminedFiles, FailedRun, Manifest, PublishedChecksums};
use serde::Serialize;
use serde_json::Value;
use tempfile::TempPath;

use crate::catalog::{Catalog, CatalogEntry};
use crate::error::{Error, failure_of};
use crate::inspect::unpublished;
use crate::packs::check::{NOT_REPRODUCIBLE, SILENT_FAILURE};
use crate::settings::{Settings, prepared_dir};
use crate::stages::contents;
use crate::task::Task;
use crate::{bundles, grading, prepared, sealed};

/// The audit of one competition: of its bundle, its outputs, and a tree that another program prepared.
#[derive(Debug, Clone, Serialize)]
pub struct Audit {
    pub id: String,
    /// The worst verdict of the parts.
    pub verdict: Verdict,
    /// A sentence that names the part that differs, if the audit can determine it.
    pub conclusion: String,
    /// `None` if there is no bundle.
    pub bundle: Option<BundleAudit>,
    /// `None` if the competition is not prepared.
    pub outputs: Option<OutputsAudit>,
    /// `None` if no tree was passed.
    pub tree: Option<TreeAudit>,
}

/// The comparison of the bundle with its published MD5, and with the members of the published bundle. These members are
/// known only if this machine recorded them earlier.
#[derive(Debug, Clone, Serialize)]
pub struct BundleAudit {
    pub path: PathBuf,
    pub bytes: u64,
    pub md5: String,
    pub published: Option<String>,
    pub report: AuditReport,
}

impl BundleAudit {
    /// Returns whether the bundle is known to have the members of the published bundle.
    fn is_published_content(&self) -> bool {
        let other = |block: &prep_audit::Block| block.cause == Cause::BundleOtherMd5.id();
        self.report.verdict <= Verdict::SameContent && !self.report.blocks.iter().any(other)
    }
}

/// The advice if an output differs without a known cause, and the bundle is not the published one.
const OTHER_BUNDLE: &str =
    "prepare from the published bundle first, because the difference may come from the bundle";

/// The comparison of prepared files with their published checksums.
#[derive(Debug, Clone, Serialize)]
pub struct OutputsAudit {
    pub variant: String,
    /// Whether the files are only in the cache, because the last run published nothing.
    pub is_unpublished: bool,
    /// Files whose published checksum matches.
    pub equal: Vec<String>,
    /// Number of files that have a published checksum.
    pub published: usize,
    pub report: AuditReport,
}

impl OutputsAudit {
    fn all_match(&self) -> bool {
        self.published > 0 && self.equal.len() == self.published
    }
}

/// The comparison of another program's tree with the prepared data.
#[derive(Debug, Clone, Serialize)]
pub struct TreeAudit {
    pub path: PathBuf,
    /// Number of files that have the same bytes in both trees.
    pub equal: u64,
    /// Number of files that exist in both trees.
    pub common: u64,
    /// The competition whose published checksum a file of the tree has. Only known if no file is equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_competition: Option<String>,
    pub report: AuditReport,
}

/// Audits one competition. `tree` is a directory with data that another program prepared.
///
/// If the last run failed because a checksum differs, its outputs are only in the cache. In this case, audits them there.
///
/// # Errors
/// Returns an error if there is neither a bundle nor prepared data, or if a file cannot be read. Also returns an error if
/// `tree` is given, but the competition is not prepared.
pub fn audit(task: &Task, entry: &CatalogEntry, tree: Option<&Path>) -> Result<Audit, Error> {
    let settings = &task.settings.of_variant(&task.options.variant);
    let failed = FailedRun::read(&settings.data_dir, &entry.id);
    let record = match &failed {
        Some(run) => run.preparation.clone(),
        None => contents::read(task, &entry.id)?,
    };
    let (options, _) = task.options.recalling(&record.options);
    let sources = &options.source_dirs();
    let pipeline = entry.load(BASE_VARIANT)?;
    let sums = entry.published_checksums()?;
    let unpublished = match failed {
        Some(run) => unpublished::publish(task, &entry.id, run.preparation)?,
        None => None,
    };
    let data_dir = unpublished
        .as_ref()
        .map_or(&*settings.data_dir, |scratch| scratch.path());
    let home = prepared_dir(data_dir, &entry.id);
    let manifest = prepared::manifest(data_dir, &entry.id)?;
    let variant = manifest
        .as_ref()
        .map_or(BASE_VARIANT, |manifest| manifest.variant.as_str());
    let has_outputs = home.is_dir();
    let edited = edited_files(manifest.as_ref(), data_dir, settings)?;
    let mut outputs = match (has_outputs, &sums) {
        (true, Some(sums)) if variant == BASE_VARIANT => Some(audit_outputs(
            &home,
            sums,
            &edited,
            split_search(&pipeline).as_ref(),
            &bundles::all(&task.settings, &entry.id, sources),
            &Resources {
                limits: settings.inspection_limits(1),
                temp: &settings.temp_dir(),
            },
        )?),
        (true, _) => Some(OutputsAudit {
            variant: variant.to_owned(),
            is_unpublished: false,
            equal: Vec::new(),
            published: 0,
            report: AuditReport::new(edited_findings(&edited)),
        }),
        (false, _) => None,
    };
    if let Some(outputs) = &mut outputs {
        outputs.is_unpublished = unpublished.is_some();
    }
    let all_match = outputs.as_ref().is_some_and(OutputsAudit::all_match);
    let bundle = audit_bundle(entry, &pipeline, &task.settings, sources, all_match)?;
    if let (Some(outputs), Some(bundle)) = (&mut outputs, &bundle)
        && !bundle.is_published_content()
    {
        outputs.report.advise(Cause::NotClassified, OTHER_BUNDLE);
    }
    let tree = match tree {
        None => None,
        Some(_) if !has_outputs => return Err(nothing_to_compare(&entry.id)),
        Some(tree) => Some(audit_tree(
            &prepared_in(tree, &entry.id),
            &home,
            (&task.catalog, entry),
            &pipeline,
            settings,
        )?),
    };
    if bundle.is_none() && outputs.is_none() {
        let message = format!(
            "there is neither a bundle of `{}` nor prepared data",
            entry.id
        );
        return Err(Error::new(Failure::Input, message).help(Remedy::Prepare {
            id: entry.id.clone(),
        }));
    }
    let reports = [
        bundle.as_ref().map(|part| &part.report),
        outputs.as_ref().map(|part| &part.report),
        tree.as_ref().map(|part| &part.report),
    ];
    let verdict = reports.iter().flatten().map(|report| report.verdict).max();
    Ok(Audit {
        id: entry.id.clone(),
        verdict: verdict.unwrap_or(Verdict::Equal),
        conclusion: conclusion(bundle.as_ref(), outputs.as_ref(), tree.as_ref()),
        bundle,
        outputs,
        tree,
    })
}

fn nothing_to_compare(id: &str) -> Error {
    let message = format!(
        "cannot compare the tree with the prepared data: `{id}` is not prepared in the data directory"
    );
    Error::new(Failure::Input, message).help(Remedy::Prepare { id: id.to_owned() })
}

fn failed(error: AuditError) -> Error {
    let failure = match &error {
        AuditError::Read { cause, .. } => failure_of(cause),
        AuditError::NotADirectory { .. } => Failure::Input,
    };
    Error::new(failure, chain(&error))
}

fn audit_bundle(
    entry: &CatalogEntry,
    pipeline: &Pipeline,
    settings: &Settings,
    sources: &[&Path],
    outputs_match: bool,
) -> Result<Option<BundleAudit>, Error> {
    let Some(path) = bundles::path(settings, &entry.id, sources) else {
        return Ok(None);
    };
    let lists = bundles::member_lists(settings);
    let declared = pipeline.bundle.as_ref();
    let published = declared.and_then(|bundle| bundle.md5.clone());
    let has_no_wildcard = |path: &String| !path.contains(['*', '?', '[', '{']);
    let members = match &published {
        Some(md5) => known::recall(&lists, md5).map_err(failed)?,
        None => None,
    };
    let expected = Expected {
        md5: published.clone(),
        size: entry.size(),
        members,
        paths: prep_steps::members(pipeline)
            .into_iter()
            .filter(has_no_wildcard)
            .collect(),
    };
    let mut checked =
        bundle::check(&path, &expected, &settings.inspection_limits(1)).map_err(failed)?;
    // If all outputs have their published checksums, a bundle that is not verified is less harmful.
    for finding in checked.findings.iter_mut().filter(|_| outputs_match) {
        if finding.rule == BUNDLE_NOT_VERIFIED {
            (finding.harm, finding.rule) = (finding.cause.harm(), OUTPUTS_VERIFIED);
            let proof = finding.proof.take().unwrap_or_default();
            finding.proof = Some(format!(
                "{proof}; nevertheless, all prepared files have their published checksums"
            ));
        }
    }
    if published
        .as_ref()
        .is_some_and(|md5| md5.eq_ignore_ascii_case(&checked.md5))
    {
        bundles::remember(settings, &entry.id, sources, &checked.md5);
    }
    Ok(Some(BundleAudit {
        path,
        bytes: checked.bytes,
        md5: checked.md5,
        published,
        report: AuditReport::new(checked.findings),
    }))
}

/// Returns paths of files that were changed or removed after they were prepared: at most 20 paths of public files, and at
/// most 20 paths of private files.
fn edited_files(
    manifest: Option<&Manifest>,
    data_dir: &Path,
    settings: &Settings,
) -> Result<BTreeSet<String>, Error> {
    let Some(manifest) = manifest.filter(|manifest| manifest.complete) else {
        return Ok(BTreeSet::new());
    };
    let tree = prepared::examine(manifest, data_dir, settings, ExaminedFiles::All)?;
    Ok(&tree.public.paths | &tree.private.paths)
}

fn edited_findings(edited: &BTreeSet<String>) -> impl Iterator<Item = AuditFinding> {
    edited.iter().map(|path| {
        let mut finding = AuditFinding::new(Cause::FilesEdited, path.as_str());
        finding.raise_if_private();
        finding
    })
}

/// Compares the outputs of `v1` with their published checksums. The files in `edited` were changed after they were
/// prepared, so they are reported without a comparison.
fn audit_outputs(
    home: &Path,
    sums: &PublishedChecksums,
    edited: &BTreeSet<String>,
    search: Option<&SplitSearch>,
    bundles: &[PathBuf],
    resources: &Resources<'_>,
) -> Result<OutputsAudit, Error> {
    let limits = &resources.limits;
    let mut equal = Vec::new();
    let mut findings: Vec<AuditFinding> = edited_findings(edited).collect();
    // Files that differ without a known cause: the index of the finding, and the published MD5 of the file.
    let mut unknown: Vec<(usize, String)> = Vec::new();
    let mut count = 0;
    for (path, md5) in sums.outputs() {
        count += 1;
        if edited.contains(&path) {
            continue;
        }
        let place = home.join(&path);
        if !place.is_file() {
            findings.push(AuditFinding::new(Cause::FilesMissing, path.as_str()).example(path));
            continue;
        }
        match published::check(&path, &place, md5, limits).map_err(failed)? {
            FileCheck::Equal => equal.push(path),
            FileCheck::Other(finding) => {
                let read = AuditError::reading(&place);
                let other = match (search, finding.cause) {
                    (Some(search), Cause::NotClassified) => {
                        published::search_split(home, &path, md5, search, limits)
                            .map_err(read)
                            .map_err(failed)?
                    }
                    _ => None,
                };
                let finding = other.unwrap_or(finding);
                if finding.cause == Cause::NotClassified {
                    unknown.push((findings.len(), md5.to_owned()));
                }
                findings.push(finding);
            }
        }
    }
    for bundle in bundles {
        let wanted = unknown.iter().map(|(_, md5)| md5.clone()).collect();
        if unknown.is_empty() {
            break;
        }
        // An unreadable bundle proves nothing about outputs. The part `bundle` of the audit reports it.
        let found = match published::members(bundle, resources, &wanted) {
            Ok(found) => found,
            Err(error) if error.is_of_the_system() => {
                return Err(failed(AuditError::reading(bundle)(error)));
            }
            Err(_) => continue,
        };
        unknown.retain(|(place, md5)| {
            let (Some(name), Some(finding)) = (found.get(md5), findings.get_mut(*place)) else {
                return true;
            };
            let proof = format!("`{name}` of {} has the published MD5", bundle.display());
            *finding = AuditFinding::new(Cause::BundleMember, finding.path.as_str()).proof(proof);
            false
        });
    }
    findings.iter_mut().for_each(AuditFinding::raise_if_private);
    Ok(OutputsAudit {
        variant: BASE_VARIANT.to_owned(),
        is_unpublished: false,
        equal,
        published: count,
        report: AuditReport::new(findings),
    })
}

/// Finds the prepared directory of a competition in a tree of another program.
fn prepared_in(tree: &Path, id: &str) -> PathBuf {
    let places = [prepared_dir(tree, id), tree.join("prepared"), tree.join(id)];
    let found = places.into_iter().find(|place| is_prepared(place));
    found.unwrap_or_else(|| tree.to_owned())
}

fn is_prepared(place: &Path) -> bool {
    place.join("public").is_dir() || place.join("private").is_dir()
}

fn audit_tree(
    theirs: &Path,
    ours: &Path,
    (catalog, entry): (&Catalog, &CatalogEntry),
    pipeline: &Pipeline,
    settings: &Settings,
) -> Result<TreeAudit, Error> {
    if !is_prepared(theirs) {
        let message = format!(
            "{} has no prepared data of `{}`",
            theirs.display(),
            entry.id
        );
        let help = "name a directory that contains `public` and `private`, or a data directory with `ID/prepared`";
        return Err(Error::new(Failure::Input, message).help(help));
    }
    let roles = roles(pipeline);
    let search = split_search(pipeline);
    let temp = settings.temp_dir();
    let options = tree::TreeOptions {
        threads: settings.jobs,
        roles: &roles,
        split: search.as_ref(),
        resources: settings.resources(&temp),
    };
    let compared = tree::compare(theirs, ours, &options).map_err(failed)?;
    let other = (compared.equal == 0).then(|| competition_of(catalog, &entry.id, theirs));
    Ok(TreeAudit {
        path: theirs.to_owned(),
        other_competition: other.flatten(),
        equal: compared.equal,
        common: compared.common,
        report: AuditReport::new(compared.findings),
    })
}

/// Larger files of a tree are not compared with the checksums of other competitions.
const MAX_COMPARED_BYTES: u64 = 64 << 20;

/// Returns the competition, other than `id`, whose published checksum a file of the tree has.
fn competition_of(catalog: &Catalog, id: &str, tree: &Path) -> Option<String> {
    let md5 = |path: &String| {
        let file = tree.join(path);
        let is_short = file.metadata().ok()?.len() <= MAX_COMPARED_BYTES;
        is_short.then(|| prep_audit::md5(&file).ok())?
    };
    let mut sums: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut is_known = |(path, sum): (String, &str)| {
        sums.entry(path).or_insert_with_key(md5).as_deref() == Some(sum)
    };
    let mut others = catalog.iter().filter(|entry| entry.id != id);
    let found = others.find(|entry| match entry.published_checksums() {
        Ok(Some(published)) => published.outputs().any(&mut is_known),
        _ => false,
    });
    found.map(|entry| entry.id.clone())
}

/// The grading rules that pair each row of a submission with the row of the answers that has the same id. Without one of
/// these rules, the order of the rows matters.
const PAIR_BY_NAME: [&str; 2] = ["align", "join"];

/// Returns whether a rule or metric in the section `grade` contains `match: position`.
fn pairs_columns_by_position(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(pairs_columns_by_position),
        Value::Object(members) => members.iter().any(|(key, value)| {
            key == "match" && value.as_str() == Some("position") || pairs_columns_by_position(value)
        }),
        _ => false,
    }
}

/// Returns the id column of submissions, and the other columns. Returns `None` if the section `grade` does not state them.
fn ids_and_labels(grade: &Value) -> Option<(HashSet<String>, HashSet<String>)> {
    let id = aligned_column(grade, "align")?;
    let mut rules = grade.get("rules")?.as_array()?.iter();
    let columns = rules.find_map(|rule| rule.get("columns")?.as_array())?;
    let names = columns.iter().map(|name| Some(name.as_str()?.to_owned()));
    let mut labels = names.collect::<Option<HashSet<String>>>()?;
    labels
        .remove(id)
        .then(|| (HashSet::from([id.to_owned()]), labels))
}

fn roles(pipeline: &Pipeline) -> Roles {
    let Some(grade) = &pipeline.grade else {
        return Roles::default();
    };
    let grade = &grade.value;
    let rules = grade.rules.get("rules").and_then(|rules| rules.as_array());
    // Metrics of bounding boxes have a key `image`. They pair rows by the name of the image, not by position.
    let metric = grade.rules.get("metric").and_then(Value::as_object);
    let by_image =
        metric.is_some_and(|metric| metric.values().any(|one| one.get("image").is_some()));
    let name = |rule: &Value| match rule {
        Value::String(name) => Some(name.clone()),
        rule => rule.as_object()?.keys().next().cloned(),
    };
    let mut names = rules.into_iter().flatten().filter_map(name);
    let (ids, labels) = ids_and_labels(&grade.rules).unwrap_or_default();
    Roles {
        ids,
        labels,
        answers: Some(grade.answers.value.clone()),
        sample: Some(grade.sample.value.clone()),
        columns_by_position: pairs_columns_by_position(&grade.rules),
        rows_by_position: !names.any(|name| PAIR_BY_NAME.contains(&name.as_str())) && !by_image,
    }
}

/// Returns the parameters of the split if it is a plain shuffle. An audit cannot undo other splits.
fn split_search(pipeline: &Pipeline) -> Option<SplitSearch> {
    let mut tables = pipeline.tables.iter();
    let declaration = tables.find_map(|table| match &table.made {
        TableOrigin::Declared(declaration) => {
            let method = declaration.method?;
            let mut keys = ["groups", "stratify", "within"].iter();
            let is_keyed = keys.any(|key| declaration.has(key));
            (method.name == "shuffle" && !is_keyed).then_some(declaration)
        }
        _ => None,
    })?;
    let public = |stem: &str| {
        let mut paths = pipeline
            .public
            .iter()
            .map(|output| output.path.value.as_str());
        let found = paths.find(|path| path.split_once('.').is_some_and(|(name, _)| name == stem));
        found.map(|path| format!("public/{path}"))
    };
    Some(SplitSearch {
        id: None,
        train: public("train")?,
        test: public("test")?,
        seed: declaration.seed("seed")?,
        test_size: declaration.share("test_size"),
        answers: pipeline
            .grade
            .as_ref()
            .map(|grade| grade.value.answers.value.clone()),
    })
}

/// Returns a sentence that names the parts that differ, if the results of the audit determine them: first the tree, which the
/// user named.
fn conclusion(
    bundle: Option<&BundleAudit>,
    outputs: Option<&OutputsAudit>,
    tree: Option<&TreeAudit>,
) -> String {
    // `good_bundle` and `outputs_match` are each `None` if there is nothing to compare.
    let good_bundle = bundle.map(BundleAudit::is_published_content);
    let is_published = bundle.is_some_and(|part| part.published.as_ref() == Some(&part.md5));
    let depends_on_writer = |block: &prep_audit::Block| {
        [
            Cause::ParquetVersions.id(),
            Cause::ParquetUnknownVersions.id(),
        ]
        .contains(&block.cause)
    };
    let outputs_match = outputs
        .filter(|part| part.published > 0)
        .map(|part| part.report.blocks.iter().all(depends_on_writer));
    let is_edited = |block: &prep_audit::Block| block.cause == Cause::FilesEdited.id();
    let of_data = match (good_bundle, outputs_match) {
        _ if outputs.is_some_and(|part| part.report.blocks.iter().any(is_edited)) => {
            "prepared files were changed or removed after they were prepared"
        }
        (Some(false), Some(true)) => {
            "the bundle is not the published one, but all outputs have their published checksums, so the members that the pipeline reads are the published ones"
        }
        (Some(false), Some(false)) => {
            "the bundle is not the published one, which may be why outputs differ"
        }
        (Some(false), None) => "the bundle is not the published one",
        (Some(true), Some(false)) if is_published => {
            "the bundle is the published one, so either the published checksums depend on the environment, or prep has a bug"
        }
        (Some(true), Some(false)) if bundle.is_some_and(|part| part.published.is_some()) => {
            "the bundle has another MD5 but the published files, so either the published checksums depend on the environment, or prep has a bug"
        }
        (_, Some(false)) => {
            "outputs do not have their published checksums; the bundle was not checked"
        }
        (_, Some(true)) => "the prepared data have the published content",
        (Some(true), None) if is_published => "the bundle is the published one",
        _ => "there is no published checksum to compare the data with",
    };
    let of_tree = tree.map(|part| {
        if let Some(other) = &part.other_competition {
            return format!("the tree contains files of another competition, `{other}`");
        }
        if part.common == 0 {
            return "none of the files in the tree has the name of a prepared file".to_owned();
        }
        let words = match part.report.verdict {
            Verdict::Equal => "the tree is identical to the prepared data",
            Verdict::SameContent => "the tree has the same content as the prepared data",
            Verdict::ContentDiffers => "the content of the tree differs",
            Verdict::AnswersDiffer => "the answers in the tree differ",
        };
        let worst = part.report.blocks.first();
        let cause = worst.map_or(String::new(), |worst| format!(" ({})", worst.cause));
        format!("{words}{cause}")
    });
    of_tree.map_or(of_data.to_owned(), |of_tree| {
        format!("{of_tree}; {of_data}")
    })
}

/// Searches for leaks of answers in the prepared data and the bundle of a competition.
///
/// Searches for the bundle in `source` and in the data directory of `base`. If `source` is `None`, the directory of bundles
/// that the last run used takes its place.
///
/// # Errors
/// Returns an error if the competition is not completely prepared, has no section `grade`, or a file cannot be read.
pub fn leaks(
    catalog: &Catalog,
    base: &Settings,
    variant: &str,
    id: &str,
    source: Option<&Path>,
) -> Result<LeakReport, Error> {
    let (entry, settings) = (catalog.get(id)?, &base.of_variant(variant));
    let manifest = prepared::complete_manifest(&settings.data_dir, id)?;
    let (variant, recorded) = manifest.map_or_else(
        || (BASE_VARIANT.to_owned(), None),
        |one| {
            (
                one.variant,
                one.preparation.and_then(|record| record.options.source),
            )
        },
    );
    let directories: Vec<&Path> = source.or(recorded.as_deref()).into_iter().collect();
    let pipeline = entry.load(&variant)?;
    let directory = settings.prepared_dir(id);
    if !directory.is_dir() {
        return Err(prepared::not_prepared(id));
    }
    sealed::require_plain(settings, id)?;
    let no_grading = || {
        let message = format!("the pipeline of `{id}` has no section `grade`");
        Error::new(Failure::Pipeline, message)
    };
    let grade = &pipeline.grade.as_ref().ok_or_else(no_grading)?.value;
    let answers = directory.join(&grade.answers.value);
    for path in [&answers, &directory.join(&grade.sample.value)] {
        if let Err(error) = path.metadata() {
            let prepare = Remedy::Prepare { id: id.to_owned() };
            return Err(Error::reading("read the prepared file", path, &error).help(prepare));
        }
    }
    let (rows, scored_rows) = graded_rows(settings, entry, &pipeline, &answers)?;
    let input = LeakInput {
        public: directory.join("public"),
        answers: rows.as_ref().map_or(answers, |rows| rows.to_path_buf()),
        sample: directory.join(&grade.sample.value),
        id: ["align", "align_groups"]
            .iter()
            .find_map(|rule| aligned_column(&grade.rules, rule))
            .map(str::to_owned),
        scored_rows,
        bundle: bundles::path(base, id, &directories),
        temp: settings.temp_dir(),
        limits: settings.inspection_limits(1),
        memory: settings.memory,
        threads: settings.jobs,
    };
    let accepted = pipeline.accepted.iter();
    // `accepted` also contains notes about upstream's script, which are not leaks.
    let is_leak = |name: &str| ![NOT_REPRODUCIBLE, SILENT_FAILURE].contains(&name);
    let accepted: BTreeMap<String, String> = accepted
        .filter(|(name, _)| is_leak(&name.value))
        .map(|(name, why)| (name.value.clone(), why.clone()))
        .collect();
    prep_leaks::find(&input, &accepted).map_err(|error| {
        let failure = match &error {
            LeaksError::Read { cause, .. } => failure_of(cause),
            LeaksError::NoIds(_) => Failure::Input,
        };
        Error::new(failure, chain(&error))
    })
}

/// The rows of answers that are JSON records as a CSV file, and the indices of the scored rows unless all are scored.
type GradedRows = (Option<TempPath>, Option<Vec<u32>>);

/// Reads the answers as grading does, if they are JSON records or if rules drop rows of them.
fn graded_rows(
    settings: &Settings,
    entry: &CatalogEntry,
    pipeline: &Pipeline,
    answers: &Path,
) -> Result<GradedRows, Error> {
    // If the section `grade` has mistakes, the answers are treated as a table whose rows are all scored.
    let Ok((grader, _)) = grading::grader(entry, pipeline) else {
        return Ok((None, None));
    };
    if !grader.answers_are_json() && !grader.drops_answers() {
        return Ok((None, None));
    }
    let limits = settings.inspection_limits(1);
    let bytes = prep_contents::read::read_file(answers, &limits);
    let bytes = bytes.map_err(|error| Error::new(failure_of(&error), chain(&error)))?;
    let frame = grading::read(&grader, &bytes, answers)?;
    // Grading reports answers to which a rule cannot be applied.
    let scored_rows = grader.scored_rows(&frame).ok();
    if !grader.answers_are_json() {
        return Ok((None, scored_rows));
    }
    let temp = settings.temp_dir();
    let write = || -> io::Result<TempPath> {
        std::fs::create_dir_all(&temp)?;
        let file = tempfile::Builder::new().suffix(".csv").tempfile_in(&temp)?;
        let mut out = CsvWriter::with_dialect(
            file,
            CsvDialect {
                quoting: Quoting::NonNumeric,
                ..CsvDialect::PLAIN
            },
        );
        let names = frame.columns.iter().map(|column| column.name.as_str());
        out.header(names).map_err(io::Error::other)?;
        for row in 0..frame.rows {
            for column in &frame.columns {
                out.text(&column.text(row).unwrap_or_default());
            }
            out.end_row().map_err(io::Error::other)?;
        }
        let file = out.finish().map_err(io::Error::other)?;
        Ok(file.into_temp_path())
    };
    let written =
        write().map_err(|error| Error::writing("write the answers' rows in", &temp, &error))?;
    Ok((Some(written), scored_rows))
}

/// Returns the column by which `rule` (`align` or `align_groups`) pairs rows in the section `grade`.
fn aligned_column<'a>(grade: &'a Value, rule: &str) -> Option<&'a str> {
    let mut rules = grade.get("rules")?.as_array()?.iter();
    let by = rules.find_map(|one| one.get(rule))?;
    by.as_str().or_else(|| by.get("by")?.as_str())
}
