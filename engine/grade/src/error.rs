//! What is wrong with a `grade:` section.

use std::fmt;

/// A step from the section's root to the key at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    Key(String),
    Index(usize),
}

/// The way to a key: `rules[2].range.min`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyPath(pub Vec<PathSegment>);

impl KeyPath {
    #[must_use]
    pub(crate) fn key(&self, key: &str) -> Self {
        let mut path = self.clone();
        path.0.push(PathSegment::Key(key.to_owned()));
        path
    }

    #[must_use]
    pub(crate) fn index(&self, index: usize) -> Self {
        let mut path = self.clone();
        path.0.push(PathSegment::Index(index));
        path
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            match segment {
                PathSegment::Key(key) if index == 0 => write!(f, "{key}")?,
                PathSegment::Key(key) => write!(f, ".{key}")?,
                PathSegment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A `grade:` section that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("grade.{path}: {problem}{}", suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
pub struct GradeSpecError {
    /// The key at fault, from the section's root.
    pub path: KeyPath,
    pub problem: Problem,
    /// A name that exists and is spelled alike.
    pub suggestion: Option<String>,
}

/// The kinds of mistakes in a `grade:` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("there is no {what} `{name}`")]
    Unknown { what: &'static str, name: String },
    #[error("`{key}` is missing")]
    Missing { key: &'static str },
    #[error("expected {expected}, found {found}")]
    Shape { expected: String, found: String },
    #[error("{0}")]
    Value(String),
}
