//! What is wrong with a pipeline file, and where.
//!
//! Positions are byte ranges of the file; lines and columns (both from 1, columns in characters) are worked out only
//! when a diagnostic is shown. [`Display`](fmt::Display) of [`Diagnostics`] is plain text, one line per finding and
//! indented lines for what goes with it; a terminal may render the same data with the source beside it.

use std::fmt;
use std::sync::Arc;

/// A text file, by the name under which the user knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    pub name: String,
    pub text: String,
    /// Byte offset of the first character of every line.
    lines: Vec<usize>,
}

impl SourceFile {
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

    /// Line and column, both from 1, of a byte offset. An offset behind the end counts as the end.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line
            .checked_sub(1)
            .and_then(|index| self.lines.get(index))
            .copied()
            .unwrap_or(0);
        let before = self.text.as_bytes().get(start..offset).unwrap_or_default();
        // Bytes that continue a character are not counted.
        let column = before.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        (line, column + 1)
    }

    /// The text in a span; empty where the span does not fit.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }
}

/// A range of bytes of a [`SourceFile`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    pub start: usize,
    /// First byte behind the range.
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }
}

/// A second place that explains a diagnostic, for example where a name was first used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    pub span: Span,
    pub message: String,
}

/// One finding. A pipeline with any cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Diagnostic {
    // First, so that diagnostics are ordered by place.
    pub span: Span,
    /// Short name of the rule, in kebab case: `unknown-key`.
    pub code: &'static str,
    pub message: String,
    pub labels: Vec<Label>,
    /// The way out.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            code,
            message: message.into(),
            labels: Vec::new(),
            help: None,
        }
    }

    #[must_use]
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        self.labels.push(Label { span, message });
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a suggestion where one was found.
    #[must_use]
    pub fn suggest(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }
}

/// All findings in one file: never empty, ordered by place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics {
    source: Arc<SourceFile>,
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// `None` when there is nothing to report. Findings that are equal are reported once.
    pub fn new(source: Arc<SourceFile>, mut list: Vec<Diagnostic>) -> Option<Self> {
        list.sort();
        list.dedup();
        (!list.is_empty()).then_some(Self { source, list })
    }

    /// A single finding.
    pub fn of(source: Arc<SourceFile>, one: Diagnostic) -> Self {
        let list = vec![one];
        Self { source, list }
    }

    pub fn source(&self) -> &Arc<SourceFile> {
        &self.source
    }

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
            let (message, code) = (&one.message, one.code);
            write!(f, "{file}:{line}:{column}: error: {message} [{code}]")?;
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
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
