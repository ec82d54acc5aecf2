//! The facts that determine whether scores are comparable: the digests of a competition, and how its data were
//! prepared.

use serde::{Deserialize, Serialize};

use crate::sha256::Sha256;
use crate::tree::{TreeDigest, Trees};

/// The digests of everything that determines a competition's scores. Two datasets with equal digests give every
/// submission the same score.
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
    /// The section `grade` of the pipeline: answers, sample submission, rules, metric. `None` if it has no such
    /// section.
    pub rules: Option<Sha256>,
    /// The file `description.md` of `prepared/public`, which agents read. The digest of `public` covers it, so it is
    /// not part of [`DatasetDigests::lines`].
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

    /// Sets the digest of the description.
    #[must_use]
    pub fn with_description(self, description: Option<Sha256>) -> DatasetDigests {
        DatasetDigests {
            description,
            ..self
        }
    }

    /// Returns the name and value of each digest and of the variant, sorted by name. A missing digest has the value
    /// `none`.
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

    /// The SHA-256 of the lines `name value`, one for each of [`DatasetDigests::lines`].
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

/// The SHA-256 of the lines `id digest` of several competitions, sorted by id.
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
    /// Every output with a published checksum matches. Outputs whose bytes depend on the version of the library that
    /// wrote them are not compared.
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
    /// Merges `self` with the earlier record `before` of the same data, so that a verification is not lost when a later
    /// run skips it.
    ///
    /// A comparison with a user's own pipeline does not replace a comparison with the built-in pipeline.
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
