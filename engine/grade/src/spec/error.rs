//! Errors in a `grade:` section.

use std::fmt;

/// A step from the section's root to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    /// A key of a map.
    Key(String),
    /// An index of a list.
    Index(usize),
}

/// The path to a key: `rules[2].range.min`.
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

/// One error in a `grade:` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("grade.{path}: {problem}{}", suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
pub struct GradeSpecError {
    /// The path of the key, from the section's root.
    pub path: KeyPath,
    /// The error.
    pub problem: Problem,
    /// A known name with a similar spelling.
    pub suggestion: Option<String>,
}

impl GradeSpecError {
    pub(crate) fn new(path: &KeyPath, problem: Problem) -> Self {
        GradeSpecError {
            path: path.clone(),
            problem,
            suggestion: None,
        }
    }

    /// Returns the help for the error: the similar name, or otherwise all known names. `None` for other errors.
    pub fn help(&self) -> Option<String> {
        if let Some(name) = &self.suggestion {
            return Some(format!("did you mean `{name}`?"));
        }
        match &self.problem {
            Problem::Unknown {
                category, known, ..
            } if !known.is_empty() => Some(format!("the {category}s are `{}`", known.join("`, `"))),
            _ => None,
        }
    }

    /// Whether this error suggests that an unknown key is a mistyped `key`. In that case, `key` is not also reported as
    /// missing.
    pub(crate) fn suggests(&self, key: &str) -> bool {
        self.suggestion.as_deref() == Some(key)
    }
}

/// All errors of a `grade:` section, in the order in which they were found. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct GradeSpecErrors(pub Vec<GradeSpecError>);

/// The kinds of errors in a `grade:` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum Problem {
    /// An unknown name.
    #[error("there is no {category} `{name}`")]
    Unknown {
        /// The kind of the name: a key, a rule, a metric ...
        category: &'static str,
        /// The unknown name.
        name: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// A required key is missing.
    #[error("`{key}` is missing")]
    Missing { key: &'static str },
    /// A value has an unexpected type.
    #[error("expected {expected}, found {found}")]
    Shape { expected: String, found: String },
    /// A value is not valid.
    #[error("{0}")]
    Value(String),
}
