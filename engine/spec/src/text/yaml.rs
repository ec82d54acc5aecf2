//! Parses YAML into a tree of nodes with positions. Only this module uses the YAML parser.
//!
//! Scalars are kept as text, because the meaning of a scalar depends on its key. Anchors, aliases, tags, multiple documents
//! and keys that are not scalars are errors.

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::diagnostic::{Diagnostic, SourceFile, Span, Spanned};

/// Maximum nesting, which limits all recursions over a tree.
const MAX_DEPTH: usize = 32;

/// A scalar, list or mapping, and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlNode {
    /// The position.
    pub span: Span,
    /// The content.
    pub kind: Kind,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A text, number, boolean or null.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<YamlNode>),
    /// The entries in file order. A key may occur twice. The code that reads the mapping reports such a key.
    Mapping(Vec<MappingEntry>),
}

/// The text of a scalar without quotes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// The text.
    pub text: String,
    /// How the file writes the text.
    pub style: Style,
}

/// How a file writes a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// `'text'`.
    SingleQuoted,
    /// `"text"`.
    DoubleQuoted,
    /// Style `|` or `>`. The node's span begins at the first character after the header.
    Block,
}

/// A key of a mapping, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct MappingEntry {
    /// The key.
    pub key: String,
    /// The position of the key.
    pub key_span: Span,
    /// The value.
    pub value: YamlNode,
}

impl MappingEntry {
    /// Returns the key with its position.
    pub fn name(&self) -> Spanned<String> {
        Spanned {
            value: self.key.clone(),
            span: self.key_span,
        }
    }
}

impl YamlNode {
    /// Returns whether the node is empty or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(scalar) if scalar.style == Style::Plain && matches!(scalar.text.as_str(), "" | "~" | "null"))
    }

    /// Returns the kind of the node for messages, for example `a list`.
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Mapping(_) => "a mapping",
            Kind::Sequence(_) => "a list",
            Kind::Scalar(_) if self.is_null() => "nothing",
            Kind::Scalar(_) => "a string",
        }
    }
}

/// A collection whose end has not been parsed.
enum OpenCollection {
    Sequence(Span, Vec<YamlNode>),
    /// The last field is a key whose value has not been parsed.
    Mapping(Span, Vec<MappingEntry>, Option<(String, Span)>),
}

/// Parses the single document of a file. An empty file is an empty mapping. Returns the first error.
pub fn parse(source: &SourceFile) -> Result<YamlNode, Diagnostic> {
    let text = source.text.as_str();
    let offsets = Offsets::new(text);
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<OpenCollection> = Vec::new();
    let mut root: Option<YamlNode> = None;
    while let Some(event) = parser.next_event() {
        let (event, range) = event.map_err(|error| {
            let at = offsets.byte(error.marker().index());
            // An error at the end of the text is reported at the end of the last line with content.
            let at = match text.get(at..) {
                Some(rest) if rest.trim().is_empty() => text.trim_end().len(),
                _ => at,
            };
            let info = error.info().to_lowercase();
            let start = text
                .get(..at)
                .and_then(|before| before.rfind('\n'))
                .map_or(0, |end| end + 1);
            let line = text.get(start..at).unwrap_or_default();
            let at = match text.get(start..).and_then(tab_of_indentation) {
                Some(tab) if info.contains("tab") => start + tab,
                _ => at,
            };
            // The parser's message calls every quoted scalar double-quoted.
            let before = text.get(..at).unwrap_or_default().trim_end();
            let message = match before.ends_with('\'') {
                true => error.info().replace("double-quoted", "single-quoted"),
                false => error.info().to_owned(),
            };
            let found = Diagnostic::error("yaml-syntax", Span::new(at, at), message);
            if info.contains("mapping values") && !line.contains(": ") {
                return found.help("indent all keys of a mapping equally");
            }
            let mut helps = YAML_HELP.iter();
            match helps.find(|(words, _)| info.contains(words)) {
                Some((_, help)) => found.help(*help),
                None => found,
            }
        })?;
        let span = Span::new(
            offsets.byte(range.start.index()),
            offsets.byte(range.end.index()),
        );
        let node = match event {
            Event::Scalar(text, style, anchor, tag) => {
                reject_anchor_and_tag(anchor, tag.is_some(), span)?;
                Some(scalar(source, text.into_owned(), style, span))
            }
            Event::SequenceStart(anchor, tag) => {
                reject_anchor_and_tag(anchor, tag.is_some(), span)?;
                open.push(OpenCollection::Sequence(span, Vec::new()));
                None
            }
            Event::MappingStart(anchor, tag) => {
                reject_anchor_and_tag(anchor, tag.is_some(), span)?;
                open.push(OpenCollection::Mapping(span, Vec::new(), None));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|done| close(done, span)),
            Event::Alias(_) => return Err(unsupported("aliases", span)),
            Event::DocumentStart(_) if root.is_some() => {
                return Err(unsupported("several documents in one file", span));
            }
            Event::StreamEnd => break,
            _ => None,
        };
        if open.len() > MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(Diagnostic::error("yaml-syntax", span, message));
        }
        let Some(node) = node else { continue };
        match open.last_mut() {
            None => root = Some(node),
            Some(OpenCollection::Sequence(_, items)) => items.push(node),
            Some(OpenCollection::Mapping(_, entries, key)) => match (key.take(), node.kind) {
                (Some((key, key_span)), kind) => {
                    let mut span = node.span;
                    if span.start == span.end {
                        // The parser sometimes reports an empty value on the next line.
                        span = Span::new(key_span.end, key_span.end);
                    }
                    let value = YamlNode { span, kind };
                    entries.push(MappingEntry {
                        key,
                        key_span,
                        value,
                    });
                }
                (None, Kind::Scalar(scalar)) => *key = Some((scalar.text, node.span)),
                (None, _) => return Err(unsupported("keys that are not strings", node.span)),
            },
        }
    }
    Ok(root.unwrap_or(YamlNode {
        span: Span::default(),
        kind: Kind::Mapping(Vec::new()),
    }))
}

/// Returns the position of the first tab in an indentation.
fn tab_of_indentation(text: &str) -> Option<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indentation = line.len() - line.trim_start().len();
        if let Some(tab) = line.get(..indentation).and_then(|spaces| spaces.find('\t')) {
            return Some(start + tab);
        }
        start += line.len();
    }
    None
}

/// Words in messages of the YAML parser, each with the help for these messages.
const YAML_HELP: [(&str, &str); 7] = [
    (
        "mapping values",
        "put a string that contains `: ` in quotes, or write it as a block scalar: `|` and the string on the next lines",
    ),
    ("tab", "indent with spaces instead of tabs"),
    (
        "unexpected character",
        "put the value in quotes, because a value without quotes cannot begin with this character",
    ),
    (
        "cannot start any token",
        "put the value in quotes, because a value without quotes cannot begin with this character",
    ),
    (
        "simple key",
        "write `key: value`, indented like the keys around it",
    ),
    (
        "quoted scalar",
        "close the quote; inside of single quotes, a quote is written twice",
    ),
    (
        "did not find expected",
        "indent all keys of a mapping equally, and close each bracket",
    ),
];

/// Returns the help for an incomplete value at `span`, if the value has no quotes and a YAML comment follows it.
pub fn help_if_cut(source: &SourceFile, span: Span) -> Option<&'static str> {
    let value = source.slice(span);
    let rest = source.text.get(span.end..).unwrap_or_default();
    let is_plain = !value.starts_with(['"', '\'', '|', '>']);
    (is_plain && rest.trim_start_matches(' ').starts_with('#')).then_some(
        "YAML ends the value before ` #`, which begins a comment; put the query in quotes, or write it as a block scalar: `|` \
         and the query on the next lines",
    )
}

/// Creates the node of a scalar. Its span excludes spaces and line breaks at the end.
fn scalar(source: &SourceFile, text: String, style: ScalarStyle, mut span: Span) -> YamlNode {
    let style = match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
    };
    let trimmed = source.slice(span).trim_end().len();
    span.end = span.start + trimmed;
    YamlNode {
        span,
        kind: Kind::Scalar(Scalar { text, style }),
    }
}

/// Creates the node of a collection whose end was parsed at `end`.
fn close(done: OpenCollection, end: Span) -> YamlNode {
    // Only flow collections have an explicit end. A block ends with its last item.
    let until = |last: Option<Span>, start: Span| match last {
        Some(last) if end.start == end.end => last.end,
        _ => end.end.max(start.end),
    };
    let (start, last, kind) = match done {
        OpenCollection::Sequence(start, items) => {
            let last = items.last().map(|node| node.span);
            (start, last, Kind::Sequence(items))
        }
        OpenCollection::Mapping(start, entries, _) => {
            let last = entries.last().map(|entry| entry.value.span);
            (start, last, Kind::Mapping(entries))
        }
    };
    let span = Span::new(start.start, until(last, start));
    YamlNode { span, kind }
}

fn reject_anchor_and_tag(anchor: usize, tag: bool, span: Span) -> Result<(), Diagnostic> {
    match (anchor, tag) {
        (_, true) => Err(unsupported("tags", span)),
        (0, false) => Ok(()),
        (_, false) => Err(unsupported("anchors", span)),
    }
}

fn unsupported(what: &str, span: Span) -> Diagnostic {
    let message = format!("{what} are not supported in pipelines");
    let found = Diagnostic::error("yaml-feature", span, message);
    found.help("write the value where it is needed")
}

/// Byte offsets of characters, because the parser counts characters.
enum Offsets {
    /// All characters have one byte. The field is the length of the text in bytes.
    Ascii(usize),
    Table(Vec<usize>),
}

impl Offsets {
    fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Offsets::Ascii(text.len());
        }
        let starts = text.char_indices().map(|(at, _)| at);
        Offsets::Table(starts.chain([text.len()]).collect())
    }

    /// Converts the index of a character to the offset of its first byte.
    fn byte(&self, character: usize) -> usize {
        match self {
            Offsets::Ascii(len) => character.min(*len),
            Offsets::Table(starts) => {
                let last = starts.last().copied().unwrap_or(0);
                starts.get(character).copied().unwrap_or(last)
            }
        }
    }
}
