//! Decides whether scores are comparable with scores of upstream, the benchmark MLE-bench.
//!
//! A score is comparable if all of these conditions are known to hold:
//!
//! - The competition's files (pipeline, description, leaderboard, checksums) are the built-in ones, both when the data are
//!   prepared and when a submission is graded.
//! - Every output that has a published checksum matches it. Answers are checked again when they are read.
//! - The public files did not change after they were prepared.
//! - The variant has the test rows, answers, rules and metric of `v1` (see `has_same_grading`).
//!
//! For data that another program prepared, only the answers are checked.

use std::fmt;

use md5::{Digest as _, Md5};
use prep_digests::{ChecksumStatus, DataOrigin};
use prep_grade::report::GradedData;
use prep_spec::{BASE_VARIANT, Pipeline};
use prep_steps::Manifest;

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::outline::outline;

/// The reasons why scores are not comparable with upstream's. Empty if scores are comparable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparability(Vec<Obstacle>);

/// A reason why scores are not comparable with upstream's.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Obstacle {
    OwnCompetition,
    OwnFiles(Vec<&'static str>),
    PreparedWithOwnFiles,
    GivenLeaderboard,
    ChangedPublicFiles(String),
    Differ(Vec<String>),
    AnswersDiffer,
    NotCompared,
    NotRecorded,
    /// No checksum of the answers is published. Occurs only for [`Answers::Foreign`].
    NoPublishedChecksum,
    Variant(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::OwnCompetition => {
                write!(f, "the competition does not belong to the benchmark")
            }
            Obstacle::OwnFiles(names) => {
                write!(f, "custom pipeline: {} not built in", is_or_are(names))
            }
            Obstacle::PreparedWithOwnFiles => {
                write!(f, "the data were prepared with a custom pipeline")
            }
            Obstacle::GivenLeaderboard => write!(f, "the leaderboard is not the built-in one"),
            Obstacle::ChangedPublicFiles(paths) => {
                write!(f, "public files changed after they were prepared: {paths}")
            }
            Obstacle::Differ(outputs) => {
                let names = is_or_are(outputs);
                write!(f, "checksums differ: {names} not as published")
            }
            Obstacle::AnswersDiffer => {
                write!(f, "the answers do not have their published checksum")
            }
            Obstacle::NotCompared => write!(
                f,
                "the outputs were not compared with their published checksums"
            ),
            Obstacle::NotRecorded => {
                write!(
                    f,
                    "there is no record of whether the outputs have their published checksums"
                )
            }
            Obstacle::NoPublishedChecksum => {
                write!(f, "the answers have no published checksum to compare with")
            }
            Obstacle::Variant(variant) => {
                write!(
                    f,
                    "`{variant}` has other test rows, answers or rules than `{BASE_VARIANT}`"
                )
            }
        }
    }
}

/// The name of the variant in reports about data of a custom pipeline.
pub(crate) const OWN_VARIANT: &str = "own";
const DIFFERS: &str = "-differs";
const CHANGED: &str = "-changed";
const UNVERIFIED: &str = "-unverified";
/// The suffixes that reports append to the name of a variant.
pub(crate) const MARKS: [&str; 3] = [DIFFERS, CHANGED, UNVERIFIED];

/// Joins names with the verb, for example `a, b are` or `a is`.
fn is_or_are(names: &[impl AsRef<str>]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    format!("{} {verb}", names.join(", "))
}

pub(crate) enum Answers<'a> {
    /// Answers that this program prepared: the record of their publication, and their bytes.
    Prepared(&'a Manifest, &'a [u8]),
    /// The bytes of answers that another program or the user provided.
    Foreign(&'a [u8]),
}

impl Comparability {
    /// Determines whether scores on prepared data are comparable with scores of MLE-bench, and the reasons if they are
    /// not. Reads no prepared file.
    ///
    /// # Errors
    /// Returns an error if the pipeline has mistakes.
    pub fn of_prepared(entry: &CatalogEntry, manifest: &Manifest) -> Result<Comparability, Error> {
        Comparability::of_data(entry, &manifest.variant, manifest.origin.as_ref())
    }

    /// Determines whether scores on data of `variant` are comparable. `origin` records how the data were prepared.
    pub(crate) fn of_data(
        entry: &CatalogEntry,
        variant: &str,
        origin: Option<&DataOrigin>,
    ) -> Result<Comparability, Error> {
        let mut found = Comparability::of_files(entry);
        found.judge_variant(entry, variant)?;
        found.judge_origin(origin);
        Ok(found)
    }

    fn of_files(entry: &CatalogEntry) -> Comparability {
        Comparability(match entry.own_files() {
            None => vec![Obstacle::OwnCompetition],
            Some(files) if files.is_empty() => Vec::new(),
            Some(files) => vec![Obstacle::OwnFiles(files)],
        })
    }

    /// Determines whether a score that was computed from `answers` is comparable. `path` is the path of the answers,
    /// such as `private/test.csv`.
    pub(crate) fn of_grading(
        entry: &CatalogEntry,
        path: &str,
        answers: &Answers<'_>,
    ) -> Result<Comparability, Error> {
        let (mut found, bytes) = match answers {
            Answers::Prepared(manifest, bytes) => {
                (Comparability::of_prepared(entry, manifest)?, bytes)
            }
            Answers::Foreign(bytes) => (Comparability::of_files(entry), bytes),
        };
        match (has_published_checksum(bytes, entry, path), answers) {
            // The published checksum does not apply to a variant that changes the answers.
            (Some(false), _) if !found.is_other_variant() => found.0.push(Obstacle::AnswersDiffer),
            (None, Answers::Foreign(_)) => found.0.push(Obstacle::NoPublishedChecksum),
            _ => {}
        }
        Ok(found)
    }

    pub(super) fn add_given_leaderboard(&mut self) {
        self.0.push(Obstacle::GivenLeaderboard);
    }

    pub(super) fn add_changed_public_files(&mut self, paths: String) {
        self.0.push(Obstacle::ChangedPublicFiles(paths));
    }

    /// Adds an obstacle if `variant` is graded differently than `v1`. Skips custom pipelines, which are never comparable.
    fn judge_variant(&mut self, entry: &CatalogEntry, variant: &str) -> Result<(), Error> {
        if variant == BASE_VARIANT || self.is_own() {
            return Ok(());
        }
        if !has_same_grading(entry, &entry.load(variant)?)? {
            self.0.push(Obstacle::Variant(variant.to_owned()));
        }
        Ok(())
    }

    /// Adds the obstacles that result from how the data were prepared.
    fn judge_origin(&mut self, origin: Option<&DataOrigin>) {
        let Some(origin) = origin else {
            self.0.push(Obstacle::NotRecorded);
            return;
        };
        if !origin.is_built_in && !self.is_own() {
            self.0.push(Obstacle::PreparedWithOwnFiles);
        }
        match &origin.checksums {
            ChecksumStatus::Passed | ChecksumStatus::NotPublished => {}
            ChecksumStatus::Skipped => self.0.push(Obstacle::NotCompared),
            ChecksumStatus::Differ { outputs } => self.0.push(Obstacle::Differ(outputs.clone())),
        }
    }

    pub fn is_comparable(&self) -> bool {
        self.0.is_empty()
    }

    pub fn obstacles(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// Returns whether a file that the score depends on is not the built-in one.
    pub fn is_own(&self) -> bool {
        self.0.iter().any(|obstacle| {
            matches!(
                obstacle,
                Obstacle::OwnCompetition
                    | Obstacle::OwnFiles(_)
                    | Obstacle::PreparedWithOwnFiles
                    | Obstacle::GivenLeaderboard
            )
        })
    }

    /// Returns whether an output or the answers differ from their published checksum.
    pub fn differs(&self) -> bool {
        let mut obstacles = self.0.iter();
        obstacles.any(|obstacle| matches!(obstacle, Obstacle::Differ(_) | Obstacle::AnswersDiffer))
    }

    /// Returns whether the data were not compared with published checksums, or the answers have no published checksum.
    pub fn is_unverified(&self) -> bool {
        let unknown = |obstacle: &Obstacle| {
            matches!(
                obstacle,
                Obstacle::NotCompared | Obstacle::NotRecorded | Obstacle::NoPublishedChecksum
            )
        };
        self.0.iter().any(unknown)
    }

    fn has_changed_public_files(&self) -> bool {
        let mut obstacles = self.0.iter();
        obstacles.any(|obstacle| matches!(obstacle, Obstacle::ChangedPublicFiles(_)))
    }

    fn is_other_variant(&self) -> bool {
        let mut obstacles = self.0.iter();
        obstacles.any(|obstacle| matches!(obstacle, Obstacle::Variant(_)))
    }

    /// Returns the remark about prepared data in listings, such as `not verified`. Returns `None` for verified data of a
    /// built-in pipeline.
    pub fn mark(&self) -> Option<&'static str> {
        match self {
            _ if self.is_own() => Some("own pipeline"),
            _ if self.differs() => Some("checksums differ"),
            _ if self.is_unverified() => Some("not verified"),
            _ => None,
        }
    }

    /// Returns the name of the variant for reports, and the reasons why scores are not comparable.
    ///
    /// The parameter `prepared` is the variant of the data. Verified data of a built-in pipeline keep this name, for example
    /// "v1". Changed or unverified data get a suffix, as in "v1-changed". The name of data of a custom pipeline is "own".
    pub(crate) fn variant(&self, prepared: &str) -> GradedData {
        let name = match self {
            _ if self.is_own() => OWN_VARIANT.to_owned(),
            _ if self.differs() => format!("{prepared}{DIFFERS}"),
            _ if self.has_changed_public_files() => format!("{prepared}{CHANGED}"),
            _ if self.is_unverified() => format!("{prepared}{UNVERIFIED}"),
            _ => prepared.to_owned(),
        };
        GradedData {
            name,
            not_comparable_because: self.obstacles(),
        }
    }
}

/// Returns whether `answers` have the published checksum of the file `path`. Returns `None` if the benchmark publishes no
/// checksum of this file.
pub(crate) fn has_published_checksum(
    answers: &[u8],
    entry: &CatalogEntry,
    path: &str,
) -> Option<bool> {
    let sums = entry.published_checksums().ok()??;
    let expected = sums.private.get(path.strip_prefix("private/")?)?;
    let found = prep_cache::hex(&Md5::digest(answers));
    Some(expected.eq_ignore_ascii_case(&found))
}

/// Returns whether the variant `other` has the test rows, answers, rules and metric of `v1`.
///
/// Compares three parts of both pipelines: the section `grade` without `sample`, the output with the answers, and every
/// table of `v1`. If a correction changes a table of `v1`, scores on the corrected data are not comparable. Therefore
/// the author of a correction that only concerns public files must add tables instead of changing them.
fn has_same_grading(entry: &CatalogEntry, other: &Pipeline) -> Result<bool, Error> {
    if !other.variant.differs {
        return Ok(true);
    }
    let base = entry.load(BASE_VARIANT)?;
    let tables = base.tables.iter().map(|table| {
        let names: Vec<&str> = table.names.iter().map(|name| name.value.as_str()).collect();
        format!("tables/{}", names.join(", "))
    });
    let answers = base
        .grade
        .iter()
        .map(|grade| grade.value.answers.value.clone());
    let parts: Vec<String> = tables.chain(answers).collect();
    let is_part_of_grading = |path: &String| {
        let is_rule = path.starts_with("grade/") && path != "grade/sample";
        let mut parts = parts
            .iter()
            .filter_map(|part| path.strip_prefix(part.as_str()));
        is_rule || parts.any(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    };
    let grading = |pipeline: &Pipeline| {
        let mut outline = outline(pipeline);
        outline.retain(|path, _| is_part_of_grading(path));
        outline
    };
    Ok(grading(&base) == grading(other))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn only_corrections_that_keep_the_split_are_comparable() {
        let catalog = Catalog::embedded();
        for (id, expected) in [
            ("siim-isic-melanoma-classification", true),
            ("spooky-author-identification", true),
            ("ranzcr-clip-catheter-line-classification", false),
            ("movie-review-sentiment-analysis-kernels-only", false),
            ("nomad2018-predict-transparent-conductors", false),
        ] {
            let entry = catalog.get(id).unwrap();
            let comparable =
                |variant: &str| has_same_grading(entry, &entry.load(variant).unwrap()).unwrap();
            assert_eq!(comparable("fixed"), expected, "{id}");
            assert!(comparable("v1"), "{id}");
        }
    }

    /// Compares the last column of the tables in docs/variants.md with the pipelines.
    #[test]
    fn the_documentation_states_which_corrections_keep_scores_comparable() {
        let catalog = Catalog::embedded();
        let mut checked = 0;
        for line in include_str!("../../../../docs/variants.md").lines() {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let (Some(ids), Some(name), Some(&expected @ ("yes" | "no"))) =
                (cells.first(), cells.get(3), cells.get(5))
            else {
                continue;
            };
            // An entry such as `-russian-language` abbreviates an id.
            for id in ids.split(", ").filter(|id| !id.starts_with('-')) {
                let entry = catalog.get(id).unwrap();
                let variant = format!("fixed:{}", name.trim_matches('`'));
                let found = has_same_grading(entry, &entry.load(&variant).unwrap()).unwrap();
                assert_eq!(found, expected == "yes", "{id} {variant}");
                checked += 1;
            }
        }
        assert!(checked > 15, "{checked}");
    }

    const ID: &str = "spooky-author-identification";

    fn example(entry: &CatalogEntry, variant: &str, origin: Option<DataOrigin>) -> Comparability {
        Comparability::of_data(entry, variant, origin.as_ref()).unwrap()
    }

    fn origin(is_built_in: bool, checksums: ChecksumStatus) -> Option<DataOrigin> {
        Some(DataOrigin {
            is_built_in,
            checksums,
        })
    }

    #[test]
    fn only_verified_data_of_the_built_in_pipeline_are_v1() {
        let catalog = Catalog::embedded();
        let built_in = catalog.get(ID).unwrap();
        let differ = ChecksumStatus::Differ {
            outputs: vec!["public/train.csv".to_owned()],
        };
        for (variant, origin, mark, expected) in [
            ("v1", origin(true, ChecksumStatus::Passed), None, "v1"),
            ("v1", origin(true, ChecksumStatus::NotPublished), None, "v1"),
            (
                "fixed",
                origin(true, ChecksumStatus::NotPublished),
                None,
                "fixed",
            ),
            (
                "v1",
                origin(true, ChecksumStatus::Skipped),
                Some("not verified"),
                "v1-unverified",
            ),
            ("v1", None, Some("not verified"), "v1-unverified"),
            (
                "v1",
                origin(true, differ),
                Some("checksums differ"),
                "v1-differs",
            ),
            (
                "v1",
                origin(false, ChecksumStatus::Passed),
                Some("own pipeline"),
                "own",
            ),
        ] {
            let found = example(built_in, variant, origin);
            assert_eq!(found.mark(), mark, "{found:?}");
            assert_eq!(found.variant(variant).name, expected);
            assert_eq!(found.is_comparable(), mark.is_none(), "{found:?}");
            assert_eq!(found.obstacles().is_empty(), mark.is_none());
        }
    }

    #[test]
    fn any_changed_file_makes_a_custom_pipeline() {
        let catalog = Catalog::embedded();
        let built_in = catalog.get(ID).unwrap();
        let same = |text: &Option<Cow<'static, str>>| {
            text.clone().map(|text| Cow::Owned(text.into_owned()))
        };
        let copy = CatalogEntry {
            directory: Some("there".into()),
            pipeline: same(&built_in.pipeline),
            ..built_in.clone()
        };
        let passed = || origin(true, ChecksumStatus::Passed);
        assert!(example(&copy, "v1", passed()).is_comparable());
        let changed = |change: fn(&mut CatalogEntry)| {
            let mut entry = copy.clone();
            change(&mut entry);
            entry
        };
        let other_seed = |entry: &mut CatalogEntry| {
            let text = entry.pipeline.take().unwrap();
            assert!(text.contains("seed: 0"));
            entry.pipeline = Some(text.replace("seed: 0", "seed: 1").into());
        };
        for (own, file) in [
            (changed(other_seed), "pipeline.yaml"),
            (
                changed(|entry| entry.leaderboard = Some("score\n1\n".into())),
                "leaderboard.csv",
            ),
            (
                changed(|entry| entry.description = Some("text".into())),
                "description.md",
            ),
            (changed(|entry| entry.checksums = None), "checksums.json"),
        ] {
            let found = example(&own, "v1", passed());
            assert_eq!(
                found.obstacles(),
                [format!("custom pipeline: {file} is not built in")]
            );
            assert_eq!(found.variant("v1").name, "own");
        }
        let new = CatalogEntry {
            id: "new".to_owned(),
            ..copy
        };
        assert_eq!(example(&new, "v1", passed()).mark(), Some("own pipeline"));
    }

    #[test]
    fn answers_without_a_manifest_need_the_published_checksum() {
        let catalog = Catalog::embedded();
        let built_in = catalog.get(ID).unwrap();
        let path = "private/test.csv";
        let sums = |md5: &str| {
            Some(Cow::Owned(format!(
                "{{\"private\":{{\"test.csv\":\"{md5}\"}}}}"
            )))
        };
        // The MD5 of `abc` in RFC 1321.
        let md5 = "900150983CD24FB0D6963F7D28E17F72";
        for (checksums, obstacle) in [
            (sums(md5), None),
            (sums(&"0".repeat(32)), Some(Obstacle::AnswersDiffer)),
            (None, Some(Obstacle::NoPublishedChecksum)),
        ] {
            let entry = CatalogEntry {
                checksums,
                ..built_in.clone()
            };
            let found = Comparability::of_grading(&entry, path, &Answers::Foreign(b"abc")).unwrap();
            let files = Obstacle::OwnFiles(vec!["checksums.json"]);
            let expected: Vec<Obstacle> = std::iter::once(files).chain(obstacle).collect();
            assert_eq!(found.0, expected);
        }
    }
}
