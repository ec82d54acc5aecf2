//! Errors and warnings about a pipeline file. Positions are byte ranges.
//!
//! Displayed lines and columns start at 1. Columns are counted in characters.

use super::short::shortened;
use std::fmt;
use std::sync::Arc;

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The name of the file in messages.
    pub name: String,
    /// The content.
    pub text: String,
    /// Byte offset of the first character of each line.
    lines: Vec<usize>,
}

impl SourceFile {
    /// Creates a file from its name and content.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        Self {
            name: name.into(),
            text,
            lines,
        }
    }

    /// Returns the line and column of a byte offset, both from 1.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index));
        let start = start.copied().unwrap_or(0);
        let before = self.text.as_bytes().get(start..offset).unwrap_or_default();
        // Counts only the first byte of each character.
        let column = before.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        (line, column + 1)
    }

    /// Returns the text of a span. Empty if the span is invalid.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }
}

/// A byte range of a [`SourceFile`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The first byte after the range.
    pub end: usize,
}

impl Span {
    /// Creates a span. If `end` is before `start`, the span is empty.
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }
}

/// A value and its position in the pipeline file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The position of the value.
    pub span: Span,
}

/// A second position that explains a diagnostic, for example the first use of a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// The position.
    pub span: Span,
    /// The explanation.
    pub message: String,
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The pipeline cannot be used.
    Error,
    /// The pipeline can be used, but probably has a mistake.
    Warning,
}

impl Severity {
    /// Returns the word for messages.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// An error or a warning about a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Diagnostic {
    // The first field, so that diagnostics are ordered by position.
    /// The position.
    pub span: Span,
    /// Whether the diagnostic is an error or a warning.
    pub severity: Severity,
    /// The name of the rule in kebab case, for example `unknown-key`.
    pub code: &'static str,
    /// The description of the mistake.
    pub message: String,
    /// Other positions that explain the diagnostic.
    pub labels: Vec<Label>,
    /// A suggestion for a correction.
    pub help: Option<String>,
}

/// Maximum number of characters of a message, which may quote long parts of the pipeline.
const MAX_MESSAGE: usize = 4000;

fn limited(message: impl Into<String>) -> String {
    shortened(&message.into(), MAX_MESSAGE)
}

impl Diagnostic {
    /// Creates a warning without labels and without help.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// Creates an error without labels and without help.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            severity: Severity::Error,
            code,
            message: limited(message),
            labels: Vec::new(),
            help: None,
        }
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        let message = limited(message);
        self.labels.push(Label { span, message });
        self
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(limited(help));
        self
    }

    /// Adds the help "did you mean", if `name` is given.
    #[must_use]
    pub fn suggest(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Adds the help "did you mean" if `name` is given, otherwise `help`.
    #[must_use]
    pub(crate) fn suggest_or(self, name: Option<&str>, help: impl Into<String>) -> Self {
        match name {
            Some(_) => self.suggest(name),
            None => self.help(help),
        }
    }
}

/// Maximum number of diagnostics that are kept for a file. The others are only counted, because printing many of them
/// could take quadratic time.
const MAX_DIAGNOSTICS: usize = 20;

/// At least one diagnostic of a file, ordered by position. All are errors, or all are warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics {
    source: Arc<SourceFile>,
    list: Vec<Diagnostic>,
    /// The number of diagnostics that are not kept.
    more: usize,
}

impl Diagnostics {
    /// Sorts the diagnostics, removes duplicates, and keeps the first 20. Returns `None` if `list` is empty.
    pub fn new(source: Arc<SourceFile>, mut list: Vec<Diagnostic>) -> Option<Self> {
        list.sort();
        list.dedup();
        let more = list.len().saturating_sub(MAX_DIAGNOSTICS);
        list.truncate(MAX_DIAGNOSTICS);
        (!list.is_empty()).then_some(Self { source, list, more })
    }

    /// Creates a value with a single diagnostic.
    pub fn single(source: Arc<SourceFile>, one: Diagnostic) -> Self {
        let list = vec![one];
        let more = 0;
        Self { source, list, more }
    }

    /// Returns the file.
    pub fn source(&self) -> &Arc<SourceFile> {
        &self.source
    }

    /// Returns the number of diagnostics, including those that are not kept.
    pub fn count(&self) -> usize {
        self.list.len() + self.more
    }

    /// Returns a phrase such as `3 more errors` for the diagnostics that are not kept, if any.
    pub fn rest(&self) -> Option<String> {
        let noun = self.list.first()?.severity.name();
        let end = if self.more == 1 { "" } else { "s" };
        (self.more > 0).then(|| format!("{} more {noun}{end}", self.more))
    }

    /// Returns the kept diagnostics, ordered by position.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.source.name;
        for (index, one) in self.list.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            let (line, column) = self.source.position(one.span.start);
            let (severity, message, code) = (one.severity.name(), &one.message, one.code);
            write!(f, "{file}:{line}:{column}: {severity}: {message} [{code}]")?;
            for label in &one.labels {
                let (line, column) = self.source.position(label.span.start);
                write!(f, "\n  {file}:{line}:{column}: {}", label.message)?;
            }
            if let Some(help) = &one.help {
                for (index, line) in help.lines().enumerate() {
                    let lead = if index == 0 { "help: " } else { "      " };
                    write!(f, "\n  {lead}{line}")?;
                }
            }
        }
        match self.rest() {
            Some(rest) => write!(f, "\n{file}: {rest}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostics {}
