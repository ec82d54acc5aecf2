//! `prep.lock`: what the prepared data of a folder are.
//!
//! ```text
//! # comments, to be skipped
//! version 1
//! spaceship-titanic v1 answers sha256:9f2c... 1 file 12345 bytes
//! spaceship-titanic v1 bundle md5:4c8b...
//! spaceship-titanic v1 leaderboard sha256:...
//! spaceship-titanic v1 pipeline sha256:...
//! spaceship-titanic v1 program 0.1.0
//! spaceship-titanic v1 public sha256:... 4 files 1234567 bytes
//! spaceship-titanic v1 rules sha256:...
//! ```
//!
//! One fact per line, sorted, so that a change is a small difference and two changes of different competitions never
//! conflict. It names no machine, time or path. `bundle`, `pipeline` and `program` tell how the data came to be;
//! what a score rests on is the rest, and that is what must not change.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use crate::facts::Facts;
use crate::sha256::Sha256;
use crate::tree::{TreeDigest, Trees};

/// The newest form of the file that this program understands.
const VERSION: u32 = 1;

const HEAD: &str = "\
# What the prepared data of this folder are. Written by `prep run`; with --locked it refuses anything else.
";

/// Facts that tell how data came to be. Others may give the same data.
const ORIGINS: [&str; 3] = ["bundle", "pipeline", "program"];

/// Why a lock file cannot be used.
#[derive(Debug, Error)]
pub enum LockError {
    #[error(
        "it has version {found}, and this program understands up to version {VERSION}: a newer prep is needed"
    )]
    Newer { found: String },
    #[error("line {line} cannot be understood: `{text}`")]
    Line { line: usize, text: String },
    #[error("it has no line `version {VERSION}`")]
    NoVersion,
}

/// All competitions of a data folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// By competition and variant: facts by name.
    entries: BTreeMap<(String, String), BTreeMap<String, String>>,
}

/// What is noted of one competition in one variant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locked(BTreeMap<String, String>);

/// A fact that is not what the lock says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub fact: String,
    pub locked: Option<String>,
    pub found: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = || "none".to_owned();
        let (locked, found) = (self.locked.clone(), self.found.clone());
        let (locked, found) = (locked.unwrap_or_else(none), found.unwrap_or_else(none));
        write!(f, "{}: {found}, but locked is {locked}", self.fact)
    }
}

impl Locked {
    /// What is known before anything runs.
    pub fn new(leaderboard: Option<Sha256>, rules: Option<Sha256>) -> Locked {
        let mut locked = Locked::default();
        for (fact, digest) in [("leaderboard", leaderboard), ("rules", rules)] {
            if let Some(digest) = digest {
                locked.0.insert(fact.to_owned(), format!("sha256:{digest}"));
            }
        }
        locked
    }

    /// Adds what was prepared.
    #[must_use]
    pub fn with_trees(mut self, trees: &Trees) -> Locked {
        for (fact, tree) in [("answers", &trees.private), ("public", &trees.public)] {
            self.0.insert(fact.to_owned(), tree_text(tree));
        }
        self
    }

    /// Adds how it came to be: the bundle's published MD5, the digest of the pipeline's file, the program's version.
    #[must_use]
    pub fn with_origin(mut self, bundle: Option<&str>, pipeline: Sha256, program: &str) -> Locked {
        if let Some(md5) = bundle {
            self.0.insert("bundle".to_owned(), format!("md5:{md5}"));
        }
        let pipeline = format!("sha256:{pipeline}");
        self.0.insert("pipeline".to_owned(), pipeline);
        self.0.insert("program".to_owned(), program.to_owned());
        self
    }

    /// The trees, if both are known.
    pub fn trees(&self) -> Option<Trees> {
        let tree = |fact: &str| tree_of(self.0.get(fact)?);
        Some(Trees {
            public: tree("public")?,
            private: tree("answers")?,
        })
    }

    /// Of the facts that a score rests on and that are known of `found`, those that are others.
    pub fn differences(&self, found: &Locked) -> Vec<Difference> {
        let names = self.0.keys().chain(found.0.keys());
        let names: std::collections::BTreeSet<&String> = names.collect();
        let is_tree = |name: &str| matches!(name, "answers" | "public");
        names
            .into_iter()
            .filter(|name| !ORIGINS.contains(&name.as_str()))
            .filter(|name| found.0.contains_key(*name) || !is_tree(name))
            .filter(|name| self.0.get(*name) != found.0.get(*name))
            .map(|name| Difference {
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

impl Lock {
    /// Reads a lock file.
    ///
    /// # Errors
    /// When it is of a newer version, or a line cannot be understood.
    pub fn parse(text: &str) -> Result<Lock, LockError> {
        let mut lock = Lock::default();
        let mut version = None;
        for (place, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || LockError::Line {
                line: place + 1,
                text: line.to_owned(),
            };
            if version.is_none() {
                let found = line.strip_prefix("version ").ok_or(LockError::NoVersion)?;
                if found.parse() != Ok(VERSION) {
                    let found = found.to_owned();
                    return Err(LockError::Newer { found });
                }
                version = Some(VERSION);
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
        version.map(|_| lock).ok_or(LockError::NoVersion)
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}version {VERSION}\n");
        for ((id, variant), facts) in &self.entries {
            for (fact, value) in facts {
                text.push_str(&format!("{id} {variant} {fact} {value}\n"));
            }
        }
        text
    }

    /// What is noted of a competition.
    pub fn find(&self, id: &str, variant: &str) -> Option<Locked> {
        let entry = self.entries.get(&(id.to_owned(), variant.to_owned()));
        entry.cloned().map(Locked)
    }

    /// Notes a competition, in the place of what was noted of it. How it came to be stays as it was noted where what a score
    /// rests on is the same: another program that makes the same data changes nothing.
    pub fn set(&mut self, id: &str, variant: &str, locked: &Locked) {
        let key = (id.to_owned(), variant.to_owned());
        let before = self.entries.get(&key).cloned().map(Locked);
        if before.is_some_and(|before| {
            before.differences(locked).is_empty() && before.trees() == locked.trees()
        }) {
            return;
        }
        self.entries.insert(key, locked.0.clone());
    }
}

impl Facts {
    /// The facts as a lock file holds them.
    pub fn locked(&self) -> Locked {
        let trees = Trees {
            public: self.public,
            private: self.answers,
        };
        Locked::new(self.leaderboard, self.rules).with_trees(&trees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trees(public: &[u8]) -> Trees {
        let tree = |text: &[u8], files| TreeDigest {
            sha256: Sha256::of(text),
            files,
            bytes: 10,
        };
        Trees {
            public: tree(public, 4),
            private: tree(b"private", 1),
        }
    }

    fn locked(public: &[u8]) -> Locked {
        Locked::new(Some(Sha256::of(b"l")), Some(Sha256::of(b"r")))
            .with_trees(&trees(public))
            .with_origin(Some("00"), Sha256::of(b"p"), "0.1.0")
    }

    #[test]
    fn a_lock_is_read_as_it_is_written() {
        let mut lock = Lock::default();
        lock.set("b", "v1", &locked(b"1"));
        lock.set("a", "fixed", &locked(b"2"));
        let text = lock.text();
        assert_eq!(Lock::parse(&text).unwrap(), lock);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        let mut sorted = lines.clone();
        sorted.sort_unstable();
        assert_eq!(lines, sorted);
        assert_eq!(lines.len(), 14);
        assert_eq!(lock.find("b", "v1").unwrap().trees(), Some(trees(b"1")));
        assert_eq!(lock.find("b", "fixed"), None);
    }

    #[test]
    fn newer_and_broken_files_are_refused() {
        for (text, expected) in [
            ("version 2\n", "it has version 2, and this program"),
            ("", "it has no line"),
            ("a v1 public x\n", "it has no line"),
            ("version 1\na v1 public\n", "line 2 cannot"),
            ("version 1\na v1 rules x\na v1 rules y\n", "line 3 cannot"),
        ] {
            let error = Lock::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn only_what_a_score_rests_on_is_compared() {
        let one = locked(b"1");
        let other = locked(b"1").with_origin(None, Sha256::of(b"q"), "0.2.0");
        assert_eq!(one.differences(&other), []);
        // Before anything ran the trees are not known.
        let early = Locked::new(Some(Sha256::of(b"l")), None);
        let facts: Vec<String> = one
            .differences(&early)
            .into_iter()
            .map(|one| one.fact)
            .collect();
        assert_eq!(facts, ["rules"]);
        let found = one.differences(&locked(b"2"));
        assert_eq!(found.len(), 1);
        let said = found[0].to_string();
        assert!(said.starts_with("public: sha256:d473"), "{said}");
        assert!(said.contains("but locked is sha256:6b86"), "{said}");
    }

    #[test]
    fn the_same_data_of_another_program_change_nothing() {
        let mut lock = Lock::default();
        lock.set("a", "v1", &locked(b"1"));
        let before = lock.text();
        let newer = locked(b"1").with_origin(None, Sha256::of(b"q"), "0.2.0");
        lock.set("a", "v1", &newer);
        assert_eq!(lock.text(), before);
        lock.set("a", "v1", &locked(b"2"));
        assert_ne!(lock.text(), before);
    }
}
