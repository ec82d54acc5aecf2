//! Facts that a score depends on.

use serde::{Deserialize, Serialize};

use crate::sha256::Sha256;
use crate::tree::{TreeDigest, Trees};

/// Digests of all that a score of a competition depends on. Equal facts give equal scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub variant: String,
    /// Digest of all files of `prepared/public`, for participants.
    pub public: TreeDigest,
    /// Digest of all files of `prepared/private`, for the grader.
    pub answers: TreeDigest,
    /// Digest of the file `leaderboard.csv`, which decides on medals. `None` without a leaderboard.
    pub leaderboard: Option<Sha256>,
    /// Digest of the section `grade`: answers, sample, rules, metric.
    pub rules: Option<Sha256>,
}

impl Facts {
    pub fn new(
        variant: &str,
        trees: &Trees,
        leaderboard: Option<Sha256>,
        rules: Option<Sha256>,
    ) -> Facts {
        Facts {
            variant: variant.to_owned(),
            public: trees.public,
            answers: trees.private,
            leaderboard,
            rules,
        }
    }

    /// Returns name and value of each fact, sorted by name.
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

    /// Returns the digest of all facts: SHA-256 of the lines `name value`, sorted by name.
    pub fn digest(&self) -> Sha256 {
        let lines = self.lines().into_iter();
        let lines: String = lines
            .map(|(name, value)| format!("{name} {value}\n"))
            .collect();
        Sha256::of(lines.as_bytes())
    }
}

fn none() -> String {
    "none".to_owned()
}

/// Returns the digest of several competitions: SHA-256 of the lines `id digest`, sorted by id.
pub fn root_of<'a>(digests: impl IntoIterator<Item = (&'a str, Sha256)>) -> Sha256 {
    let mut lines: Vec<String> = digests
        .into_iter()
        .map(|(id, digest)| format!("{id} {digest}\n"))
        .collect();
    lines.sort();
    Sha256::of(lines.concat().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_lines_and_each_of_them_counts() {
        let tree = |text: &[u8]| TreeDigest {
            sha256: Sha256::of(text),
            files: 1,
            bytes: 2,
        };
        let trees = Trees {
            public: tree(b"public"),
            private: tree(b"private"),
        };
        let facts = Facts::new("v1", &trees, Some(Sha256::of(b"l")), None);
        let text = format!(
            "answers {}\nleaderboard {}\npublic {}\nrules none\nvariant v1\n",
            Sha256::of(b"private"),
            Sha256::of(b"l"),
            Sha256::of(b"public"),
        );
        assert_eq!(facts.digest(), Sha256::of(text.as_bytes()));
        let other = [
            Facts::new("fixed", &trees, facts.leaderboard, None),
            Facts::new("v1", &trees, None, None),
            Facts::new("v1", &trees, facts.leaderboard, facts.leaderboard),
        ];
        for one in other {
            assert_ne!(one.digest(), facts.digest());
        }
        let (a, b) = (Sha256::of(b"a"), Sha256::of(b"b"));
        assert_eq!(root_of([("x", a), ("y", b)]), root_of([("y", b), ("x", a)]));
        assert_ne!(root_of([("x", a), ("y", b)]), root_of([("x", b), ("y", a)]));
    }
}
