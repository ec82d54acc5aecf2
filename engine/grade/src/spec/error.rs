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

/// One mistake in a `grade:` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("grade.{path}: {problem}{}", suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
pub struct GradeSpecError {
    /// The key at fault, from the section's root.
    pub path: KeyPath,
    pub problem: Problem,
    /// A name that exists and is spelled alike.
    pub suggestion: Option<String>,
}

impl GradeSpecError {
    /// The way out, where there is one: the name that may have been meant, else all names that there are.
    pub fn help(&self) -> Option<String> {
        if let Some(name) = &self.suggestion {
            return Some(format!("did you mean `{name}`?"));
        }
        match &self.problem {
            Problem::Unknown { what, known, .. } if !known.is_empty() => {
                Some(format!("the {what}s are `{}`", known.join("`, `")))
            }
            _ => None,
        }
    }

    /// Whether this is a mistyped `key`, which then need not be called missing.
    pub(crate) fn suggests(&self, key: &str) -> bool {
        self.suggestion.as_deref() == Some(key)
    }
}

/// Everything that is wrong with a `grade:` section, in the order in which it is read; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct GradeSpecErrors(pub Vec<GradeSpecError>);

/// The kinds of mistakes in a `grade:` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("there is no {what} `{name}`")]
    Unknown {
        what: &'static str,
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    #[error("`{key}` is missing")]
    Missing { key: &'static str },
    #[error("expected {expected}, found {found}")]
    Shape { expected: String, found: String },
    #[error("{0}")]
    Value(String),
}
