//! `prep.lock`: a text file with the digests of the prepared data in a data directory.
//!
//! ```text
//! # Lines that begin with `#` are comments.
//! version 2
//! spaceship-titanic v1 answers sha256:9f2c... 1 file 12345 bytes
//! spaceship-titanic v1 bundle md5:4c8b... verified
//! spaceship-titanic v1 comparable_with_v1 yes
//! spaceship-titanic v1 leaderboard sha256:...
//! spaceship-titanic v1 pipeline sha256:...
//! spaceship-titanic v1 program 0.1.0
//! spaceship-titanic v1 public sha256:... 4 files 1234567 bytes
//! spaceship-titanic v1 rules sha256:...
//! ```
//!
//! Each fact is a line `ID VARIANT FACT VALUE`. The lines are sorted, so changes to two competitions rarely conflict in
//! version control. The file contains no host names, times or paths.
//!
//! `prep run --locked` compares the facts `answers`, `leaderboard`, `public` and `rules`, because they determine scores.
//! The other facts record how the data were prepared.
//!
//! In version 1 of the format, `bundle` contained the published MD5 even if the bundle had a different MD5, and the fact
//! `comparable_with_v1` did not exist.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::tree::{Sha256, TreeDigest, Trees};

/// The version of the format that this program writes. It also reads all earlier versions.
const VERSION: u32 = 2;

const HEAD: &str = "\
# The prepared data of this directory, written by `prep run`. `prep run --locked` publishes only data that match.
";

/// Facts that are not compared, because a different program or pipeline may produce the same data.
const ORIGINS: [&str; 4] = [BUNDLE, COMPARABLE, "pipeline", "program"];

const BUNDLE: &str = "bundle";
/// Name of the fact that states whether scores are comparable with the benchmark's `v1`.
const COMPARABLE: &str = "comparable_with_v1";

/// A lockfile that cannot be used.
#[derive(Debug, Error)]
pub enum LockfileError {
    /// A newer program wrote the file.
    #[error(
        "the lock file has version {found}, but this program reads at most version {VERSION}: a newer prep is needed"
    )]
    Newer {
        /// The version in the file.
        found: u32,
    },
    /// A line is malformed, or repeats a fact.
    #[error(
        "line {line} does not have the form `ID VARIANT FACT VALUE`, or repeats an earlier fact: `{text}`"
    )]
    Line {
        /// Number of the line, counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// The first line that is not a comment is not the version.
    #[error("the line `version {VERSION}` is missing")]
    NoVersion,
}

/// The content of a lockfile: the facts of all competitions in a data directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lockfile {
    /// The facts by name, for each pair of competition id and variant.
    entries: BTreeMap<(String, String), BTreeMap<String, String>>,
}

/// The facts of one competition in one variant, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedDataset(BTreeMap<String, String>);

/// The digest of the bundle from which the data were prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleDigest {
    /// `md5` or `blake3`.
    pub algorithm: &'static str,
    /// The digest in hexadecimal.
    pub digest: String,
    /// The result of comparing the digest with the published MD5.
    pub status: BundleStatus,
}

/// Whether the bundle has the checksum that the benchmark published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundleStatus {
    /// Its MD5 is the published one.
    Verified,
    /// No MD5 is published, or the MD5 was not compared.
    NotVerified,
    /// Its MD5 differs from the published one.
    Differs,
    /// Only the members that the pipeline reads were downloaded.
    Part,
}

impl fmt::Display for BundleDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            BundleStatus::Verified => VERIFIED,
            BundleStatus::NotVerified => "not verified",
            BundleStatus::Differs => "not the published one",
            BundleStatus::Part => "part of the published one, not verified",
        };
        write!(f, "{}:{} {status}", self.algorithm, self.digest)
    }
}

const VERIFIED: &str = "verified";

/// Returns whether `value`, the value of a fact `bundle`, has the status `verified`.
fn is_verified(value: &str) -> bool {
    value
        .split_once(' ')
        .is_some_and(|(_, status)| status == VERIFIED)
}

/// A fact whose value differs from the locked one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockDifference {
    /// Name of the fact.
    pub fact: String,
    /// The value in the lockfile, if any.
    pub locked: Option<String>,
    /// The actual value, if any.
    pub found: Option<String>,
}

impl fmt::Display for LockDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = || "none".to_owned();
        let (locked, found) = (self.locked.clone(), self.found.clone());
        let (locked, found) = (locked.unwrap_or_else(none), found.unwrap_or_else(none));
        write!(f, "{}: {found}, but the lock file has {locked}", self.fact)
    }
}

impl LockedDataset {
    /// Creates an entry with the digests of the leaderboard and the rules, which are known before preparing. A digest is
    /// `None` if the competition has no leaderboard or no rules.
    pub fn new(leaderboard: Option<Sha256>, rules: Option<Sha256>) -> LockedDataset {
        let mut locked = LockedDataset::default();
        for (fact, digest) in [("leaderboard", leaderboard), ("rules", rules)] {
            if let Some(digest) = digest {
                locked.0.insert(fact.to_owned(), format!("sha256:{digest}"));
            }
        }
        locked
    }

    /// Adds the digests of the prepared files.
    #[must_use]
    pub fn with_trees(mut self, trees: &Trees) -> LockedDataset {
        for (fact, tree) in [("answers", &trees.private), ("public", &trees.public)] {
            self.0.insert(fact.to_owned(), tree_text(tree));
        }
        self
    }

    /// Adds the bundle's digest, if it is known.
    #[must_use]
    pub fn with_bundle(mut self, bundle: Option<&BundleDigest>) -> LockedDataset {
        if let Some(bundle) = bundle {
            self.0.insert(BUNDLE.to_owned(), bundle.to_string());
        }
        self
    }

    /// Records whether scores are comparable with the benchmark's: they are, unless there are `obstacles`.
    #[must_use]
    pub fn with_comparability(mut self, obstacles: &[String]) -> LockedDataset {
        let text = match obstacles {
            [] => "yes".to_owned(),
            obstacles => format!("no: {}", obstacles.join("; ")),
        };
        self.0.insert(COMPARABLE.to_owned(), text);
        self
    }

    /// Adds the SHA-256 of the pipeline file and the version of the program.
    #[must_use]
    pub fn with_origin(mut self, pipeline: Sha256, program: &str) -> LockedDataset {
        let pipeline = format!("sha256:{pipeline}");
        self.0.insert("pipeline".to_owned(), pipeline);
        self.0.insert("program".to_owned(), program.to_owned());
        self
    }

    /// Returns the digest of one of the facts `answers`, `public`, `leaderboard`, `rules` and `pipeline`.
    pub fn digest(&self, fact: &str) -> Option<&str> {
        self.0.get(fact)?.split(' ').next()
    }

    /// Returns the digests of the prepared files, if those of both directories are recorded.
    pub fn trees(&self) -> Option<Trees> {
        let tree = |fact: &str| tree_of(self.0.get(fact)?);
        Some(Trees {
            public: tree("public")?,
            private: tree("answers")?,
        })
    }

    /// Returns the facts that determine scores and differ between two entries. `self` is the entry of the lockfile, and
    /// `found` describes the current data.
    ///
    /// If `found` does not contain `answers` and `public`, the data are not prepared yet. These facts are then ignored.
    pub fn differences(&self, found: &LockedDataset) -> Vec<LockDifference> {
        let names = self.0.keys().chain(found.0.keys());
        let names: std::collections::BTreeSet<&String> = names.collect();
        let is_tree = |name: &str| matches!(name, "answers" | "public");
        names
            .into_iter()
            .filter(|name| !ORIGINS.contains(&name.as_str()))
            .filter(|name| found.0.contains_key(*name) || !is_tree(name))
            .filter(|name| self.0.get(*name) != found.0.get(*name))
            .map(|name| LockDifference {
                fact: name.clone(),
                locked: self.0.get(name).cloned(),
                found: found.0.get(name).cloned(),
            })
            .collect()
    }
}

fn tree_text(tree: &TreeDigest) -> String {
    let plural = if tree.files == 1 { "" } else { "s" };
    format!(
        "sha256:{} {} file{plural} {} bytes",
        tree.sha256, tree.files, tree.bytes
    )
}

fn tree_of(text: &str) -> Option<TreeDigest> {
    let words: Vec<&str> = text.split(' ').collect();
    let [sha256, files, "file" | "files", bytes, "bytes"] = words.as_slice() else {
        return None;
    };
    Some(TreeDigest {
        sha256: sha256.strip_prefix("sha256:")?.parse().ok()?,
        files: files.parse().ok()?,
        bytes: bytes.parse().ok()?,
    })
}

impl Lockfile {
    /// Parses a lockfile.
    ///
    /// # Errors
    /// [`LockfileError`] if a newer `prep` wrote the file, or if a line is malformed or repeats a fact.
    pub fn parse(text: &str) -> Result<Lockfile, LockfileError> {
        let mut lock = Lockfile::default();
        let mut version = None;
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || LockfileError::Line {
                line: index + 1,
                text: line.to_owned(),
            };
            if version.is_none() {
                let found = line
                    .strip_prefix("version ")
                    .ok_or(LockfileError::NoVersion)?;
                match found.parse::<u32>() {
                    Ok(1..=VERSION) => {}
                    Ok(0) | Err(_) => return Err(LockfileError::NoVersion),
                    Ok(found) => return Err(LockfileError::Newer { found }),
                }
                version = Some(());
                continue;
            }
            let mut words = line.splitn(4, ' ');
            let (Some(id), Some(variant), Some(fact), Some(value)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                return Err(wrong());
            };
            let entry = lock.entries.entry((id.to_owned(), variant.to_owned()));
            let before = entry.or_default().insert(fact.to_owned(), value.to_owned());
            if before.is_some() {
                return Err(wrong());
            }
        }
        version.map(|()| lock).ok_or(LockfileError::NoVersion)
    }

    /// Returns the text of the file: a comment, the version, the facts.
    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}version {VERSION}\n");
        for ((id, variant), facts) in &self.entries {
            for (fact, value) in facts {
                text.push_str(&format!("{id} {variant} {fact} {value}\n"));
            }
        }
        text
    }

    /// Returns the facts of a competition in a variant, if recorded.
    pub fn find(&self, id: &str, variant: &str) -> Option<LockedDataset> {
        let entry = self.entries.get(&(id.to_owned(), variant.to_owned()));
        entry.cloned().map(LockedDataset)
    }

    /// Records the facts of a competition.
    ///
    /// If a fact that determines scores has changed, all facts are replaced. Otherwise the recorded facts stay, so that a new
    /// version of the program does not change the file. Two facts are exceptions: a verified bundle replaces an unverified
    /// one, and `comparable_with_v1` is always replaced.
    pub fn set(&mut self, id: &str, variant: &str, locked: &LockedDataset) {
        let key = (id.to_owned(), variant.to_owned());
        let Some(before) = self.entries.get_mut(&key) else {
            self.entries.insert(key, locked.0.clone());
            return;
        };
        let noted = LockedDataset(before.clone());
        if !noted.differences(locked).is_empty() || noted.trees() != locked.trees() {
            before.clone_from(&locked.0);
            return;
        }
        let is_better = |old: &String, new: &String| {
            // Format version 1 always recorded the published MD5, without a status. A value without a status is replaced,
            // because it does not show which bundle was used.
            !old.contains(' ') || is_verified(new) && !is_verified(old)
        };
        for fact in [BUNDLE, COMPARABLE] {
            let Some(new) = locked.0.get(fact) else {
                continue;
            };
            let old = before.get(fact);
            if fact == COMPARABLE || old.is_none_or(|old| is_better(old, new)) {
                before.insert(fact.to_owned(), new.clone());
            }
        }
    }
}

impl DatasetDigests {
    /// Converts the digests to an entry of a lock file.
    pub fn to_lock_entry(&self) -> LockedDataset {
        let trees = Trees {
            public: self.public,
            private: self.answers,
        };
        LockedDataset::new(self.leaderboard, self.rules).with_trees(&trees)
    }
}

/// The digests of everything that determines the scores of a competition's submissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetDigests {
    /// Variant of the pipeline: `v1` or `fixed`.
    pub variant: String,
    /// All files of `prepared/public`, which participants receive.
    pub public: TreeDigest,
    /// All files of `prepared/private`, which only the grader reads.
    pub answers: TreeDigest,
    /// The file `leaderboard.csv`, which determines medals. `None` if the competition has no leaderboard.
    pub leaderboard: Option<Sha256>,
    /// Digest of the pipeline's section `grade`: the rules, the metric, and the paths of the answers and of the sample
    /// submission. `None` if the pipeline has no such section.
    pub rules: Option<Sha256>,
    /// Digest of `prepared/public/description.md`, which is also a part of `public`.
    #[serde(default)]
    pub description: Option<Sha256>,
}

impl DatasetDigests {
    /// Collects the digests of a competition in one variant.
    pub fn new(
        variant: &str,
        trees: &Trees,
        leaderboard: Option<Sha256>,
        rules: Option<Sha256>,
    ) -> DatasetDigests {
        DatasetDigests {
            variant: variant.to_owned(),
            public: trees.public,
            answers: trees.private,
            leaderboard,
            rules,
            description: None,
        }
    }

    /// Sets the digest of the description. `None` removes it.
    #[must_use]
    pub fn with_description(self, description: Option<Sha256>) -> DatasetDigests {
        DatasetDigests {
            description,
            ..self
        }
    }

    /// Returns the names and values of the variant and of all digests, sorted by name. A missing digest is `none`.
    /// Leaves out `description`, because the digest `public` includes the description's file.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let or_none = |digest: &Option<Sha256>| digest.map_or_else(none, |one| one.to_string());
        vec![
            ("answers", self.answers.sha256.to_string()),
            ("leaderboard", or_none(&self.leaderboard)),
            ("public", self.public.sha256.to_string()),
            ("rules", or_none(&self.rules)),
            ("variant", self.variant.clone()),
        ]
    }

    /// Returns the SHA-256 of the lines `name value`, one for each of [`DatasetDigests::lines`].
    pub fn digest(&self) -> Sha256 {
        let lines = self.lines().into_iter();
        let lines: String = lines
            .map(|(name, value)| format!("{name} {value}\n"))
            .collect();
        Sha256::of_bytes(lines.as_bytes())
    }
}

fn none() -> String {
    "none".to_owned()
}

/// Returns the SHA-256 of the lines `id digest` of several competitions, sorted by id.
pub fn combined_digest<'a>(digests: impl IntoIterator<Item = (&'a str, Sha256)>) -> Sha256 {
    let mut lines: Vec<String> = digests
        .into_iter()
        .map(|(id, digest)| format!("{id} {digest}\n"))
        .collect();
    lines.sort();
    Sha256::of_bytes(lines.concat().as_bytes())
}

/// The pipeline that prepared the data, and whether the data match its published checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataOrigin {
    /// Whether pipeline, description and checksums are the ones built into the program.
    pub is_built_in: bool,
    /// The result of comparing checksums.
    #[serde(flatten)]
    pub checksums: ChecksumStatus,
}

/// The result of comparing prepared data with the published checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "checksums", rename_all = "snake_case")]
pub enum ChecksumStatus {
    /// Every output has its published checksum, except outputs whose bytes depend on the version of a library.
    Passed,
    /// No checksums of outputs are published, and the bundle is not known to differ from the published one.
    NotPublished,
    /// The checksums were not compared.
    Skipped,
    /// The checksums of these outputs differ.
    Differ {
        /// Paths of the outputs, for example `public/train.csv`.
        outputs: Vec<String>,
    },
}

impl DataOrigin {
    /// Returns the origin to record for the data. `self` describes this run, and `before` an earlier run with the same data.
    ///
    /// If only one of the runs used the built-in pipeline, its origin is returned. Otherwise, `before` is returned only if
    /// this run did not compare checksums.
    #[must_use]
    pub fn or(self, before: &DataOrigin) -> DataOrigin {
        match (self.is_built_in, before.is_built_in) {
            (true, false) => self,
            (false, true) => before.clone(),
            _ if self.checksums == ChecksumStatus::Skipped => before.clone(),
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trees(public: &[u8]) -> Trees {
        let tree = |text: &[u8], files| TreeDigest {
            sha256: Sha256::of_bytes(text),
            files,
            bytes: 10,
        };
        Trees {
            public: tree(public, 4),
            private: tree(b"private", 1),
        }
    }

    fn lock_entry(public: &[u8]) -> LockedDataset {
        LockedDataset::new(Some(Sha256::of_bytes(b"l")), Some(Sha256::of_bytes(b"r")))
            .with_trees(&trees(public))
            .with_bundle(Some(&bundle(BundleStatus::NotVerified)))
            .with_comparability(&[])
            .with_origin(Sha256::of_bytes(b"p"), "0.1.0")
    }

    fn bundle(status: BundleStatus) -> BundleDigest {
        BundleDigest {
            algorithm: "md5",
            digest: "00".to_owned(),
            status,
        }
    }

    #[test]
    fn lock_file_round_trips() {
        let mut lock = Lockfile::default();
        lock.set("b", "v1", &lock_entry(b"1"));
        lock.set("a", "fixed", &lock_entry(b"2"));
        let text = lock.text();
        assert_eq!(Lockfile::parse(&text).unwrap(), lock);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        let mut sorted = lines.clone();
        sorted.sort_unstable();
        assert_eq!(lines, sorted);
        assert_eq!(lines.len(), 16);
        assert_eq!(lock.find("b", "v1").unwrap().trees(), Some(trees(b"1")));
        assert_eq!(lock.find("b", "fixed"), None);
    }

    #[test]
    fn newer_and_malformed_lock_files_are_errors() {
        for (text, expected) in [
            ("version 3\n", "the lock file has version 3"),
            ("", "the line `version 2` is missing"),
            ("a v1 public x\n", "the line `version 2` is missing"),
            ("version 1\na v1 public\n", "line 2 does not"),
            ("version 1\na v1 rules x\na v1 rules y\n", "line 3 does not"),
        ] {
            let error = Lockfile::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn only_facts_that_determine_scores_are_compared() {
        let one = lock_entry(b"1");
        let other = lock_entry(b"1").with_origin(Sha256::of_bytes(b"q"), "0.2.0");
        assert_eq!(one.differences(&other), []);
        // Before anything is prepared, the digests of the directories are unknown, so they are not compared.
        let early = LockedDataset::new(Some(Sha256::of_bytes(b"l")), None);
        let facts: Vec<String> = one
            .differences(&early)
            .into_iter()
            .map(|one| one.fact)
            .collect();
        assert_eq!(facts, ["rules"]);
        let found = one.differences(&lock_entry(b"2"));
        assert_eq!(found.len(), 1);
        let message = found[0].to_string();
        assert!(message.starts_with("public: sha256:d473"), "{message}");
        assert!(
            message.contains("but the lock file has sha256:6b86"),
            "{message}"
        );
    }

    #[test]
    fn same_data_from_another_program_do_not_change_the_lock() {
        let mut lock = Lockfile::default();
        lock.set("a", "v1", &lock_entry(b"1"));
        let before = lock.text();
        let newer = lock_entry(b"1").with_origin(Sha256::of_bytes(b"q"), "0.2.0");
        lock.set("a", "v1", &newer);
        assert_eq!(lock.text(), before);
        lock.set("a", "v1", &lock_entry(b"2"));
        assert_ne!(lock.text(), before);
    }

    #[test]
    fn verified_bundle_is_not_replaced_by_an_unverified_one() {
        let mut lock = Lockfile::parse("version 1\na v1 bundle md5:11\n").unwrap();
        let fact = |lock: &Lockfile, fact: &str| lock.find("a", "v1").unwrap().0.get(fact).cloned();
        // A fact `bundle` in format version 1 has no status, so any new value replaces it.
        let no_trees = LockedDataset::default();
        let other = no_trees
            .clone()
            .with_bundle(Some(&bundle(BundleStatus::Differs)));
        lock.set("a", "v1", &other);
        let text = "md5:00 not the published one";
        assert_eq!(fact(&lock, BUNDLE).as_deref(), Some(text));
        for (status, expected) in [
            (BundleStatus::NotVerified, "md5:00 not the published one"),
            (BundleStatus::Verified, "md5:00 verified"),
            (BundleStatus::NotVerified, "md5:00 verified"),
        ] {
            let again = no_trees.clone().with_bundle(Some(&bundle(status)));
            lock.set("a", "v1", &again);
            assert_eq!(fact(&lock, BUNDLE).as_deref(), Some(expected));
        }
        for obstacles in [vec!["own pipeline".to_owned()], vec![]] {
            lock.set("a", "v1", &no_trees.clone().with_comparability(&obstacles));
            let expected = match obstacles.is_empty() {
                true => "yes",
                false => "no: own pipeline",
            };
            assert_eq!(fact(&lock, COMPARABLE).as_deref(), Some(expected));
        }
    }
}

#[cfg(test)]
mod facts_tests {
    use super::*;

    #[test]
    fn digest_covers_each_line() {
        let tree = |text: &[u8]| TreeDigest {
            sha256: Sha256::of_bytes(text),
            files: 1,
            bytes: 2,
        };
        let trees = Trees {
            public: tree(b"public"),
            private: tree(b"private"),
        };
        let facts = DatasetDigests::new("v1", &trees, Some(Sha256::of_bytes(b"l")), None);
        let text = format!(
            "answers {}\nleaderboard {}\npublic {}\nrules none\nvariant v1\n",
            Sha256::of_bytes(b"private"),
            Sha256::of_bytes(b"l"),
            Sha256::of_bytes(b"public"),
        );
        assert_eq!(facts.digest(), Sha256::of_bytes(text.as_bytes()));
        let other = [
            DatasetDigests::new("fixed", &trees, facts.leaderboard, None),
            DatasetDigests::new("v1", &trees, None, None),
            DatasetDigests::new("v1", &trees, facts.leaderboard, facts.leaderboard),
        ];
        for one in other {
            assert_ne!(one.digest(), facts.digest());
        }
        let (a, b) = (Sha256::of_bytes(b"a"), Sha256::of_bytes(b"b"));
        assert_eq!(
            combined_digest([("x", a), ("y", b)]),
            combined_digest([("y", b), ("x", a)])
        );
        assert_ne!(
            combined_digest([("x", a), ("y", b)]),
            combined_digest([("x", b), ("y", a)])
        );
    }

    #[test]
    fn skipping_checksums_keeps_the_earlier_result() {
        let origin = |is_built_in, checksums| DataOrigin {
            is_built_in,
            checksums,
        };
        let differ = ChecksumStatus::Differ {
            outputs: vec!["public/a.csv".to_owned()],
        };
        let skipped = || origin(true, ChecksumStatus::Skipped);
        for before in [
            ChecksumStatus::Passed,
            ChecksumStatus::Skipped,
            differ,
            ChecksumStatus::NotPublished,
        ] {
            let before = origin(true, before);
            assert_eq!(skipped().or(&before), before);
            // The same bytes, prepared by a user's own pipeline.
            let own = origin(false, ChecksumStatus::Skipped);
            assert_eq!(own.or(&before), before);
        }
        let passed = origin(true, ChecksumStatus::Passed);
        assert_eq!(passed.clone().or(&skipped()), passed);
        let own = origin(false, ChecksumStatus::Passed);
        assert_eq!(skipped().or(&own), skipped());
    }
}
