//! The state of the parser, and functions that parse single values and report their errors.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::Spanned;
use crate::paths::is_name;
use crate::text::diagnostic::{Diagnostic, SourceFile, Span};
use crate::text::suggest::nearest;
use crate::text::yaml::{Kind, MappingEntry, Style, YamlNode};
use crate::words::{KindSpec, Section, SectionKey, Vocabulary, Word};

/// A part of the pipeline that reads a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableUser {
    /// The table with this name, and the tables that are created together with it.
    Table(String),
    /// An output or a check.
    #[default]
    End,
}

pub struct ParseState {
    pub vocabulary: Vocabulary,
    pub source: Arc<SourceFile>,
    pub diagnostics: Vec<Diagnostic>,
    pub lists: DeclaredLists,
    pub sources: DeclaredSources,
    pub reads: TableReads,
    /// The default values of each kind, by the first key of the kind.
    pub defaults: BTreeMap<&'static str, KindDefaults>,
    /// Tables with errors. Errors that follow from these errors are not reported.
    pub unread: BTreeSet<String>,
    /// The byte offsets of unknown keys that are probably misspelled. The key of this map is a pair: the byte offset of
    /// the YAML mapping, and the known key that is suggested. The parser reads the value of the unknown key as the value
    /// of the known key.
    suggested: BTreeMap<(usize, &'static str), usize>,
    /// Paths of outputs with errors. If `grade` names one of them, it is not reported as missing.
    pub unread_outputs: BTreeSet<String>,
    /// Whether a declaration names fewer tables than it creates. If so, unknown tables are not reported, because they
    /// may be the created tables whose names are missing.
    pub lacks_names: bool,
    /// The number of comparisons that suggestions may still use.
    comparisons_left: Cell<usize>,
}

/// After this number of comparisons with other names, no further suggestions are searched for. Otherwise the time could
/// grow quadratically with the number of names.
const MAX_COMPARISONS: usize = 50_000;

/// The section `lists`.
#[derive(Default)]
pub struct DeclaredLists {
    /// The strings of each list.
    pub texts: Arc<BTreeMap<String, Vec<String>>>,
    /// The position of each list's name.
    pub places: BTreeMap<String, Span>,
    /// The names of the lists that were used so far.
    pub used: BTreeSet<String>,
}

/// The section `sources`.
#[derive(Default)]
pub struct DeclaredSources {
    /// The position of each source's name.
    pub places: BTreeMap<String, Span>,
    /// The file name of each source that consists of a single file.
    pub files: BTreeMap<String, String>,
    /// The names of the sources that were used so far.
    pub used: BTreeSet<String>,
    /// The position of the first path that refers to the bundle.
    pub in_bundle: Option<Span>,
}

/// The tables that the tables, outputs and checks of the pipeline read.
#[derive(Default)]
pub struct TableReads {
    /// Every mention of a table, with the part of the pipeline that reads the table.
    pub mentions: Vec<(TableUser, Spanned<String>)>,
    /// The part of the pipeline that is being parsed.
    pub reader: TableUser,
}

/// The values of the keys of a section, by key.
pub struct Fields<'n> {
    section: &'static Section,
    entries: BTreeMap<&'static str, &'n YamlNode>,
}

impl<'n> Fields<'n> {
    /// Returns the value of a key, if the key exists and the value is not null.
    pub fn get(&self, key: &str) -> Option<&'n YamlNode> {
        debug_assert!(
            self.section.key(key).is_some(),
            "`{key}` is not a key of {}",
            self.section.name
        );
        let entry = self.entries.get(key).copied();
        entry.filter(|node| !node.is_null())
    }
}

impl ParseState {
    pub fn new(vocabulary: &Vocabulary, source: Arc<SourceFile>) -> Self {
        Self {
            vocabulary: vocabulary.clone(),
            source,
            diagnostics: Vec::new(),
            lists: DeclaredLists::default(),
            sources: DeclaredSources::default(),
            reads: TableReads::default(),
            defaults: BTreeMap::new(),
            unread: BTreeSet::new(),
            suggested: BTreeMap::new(),
            unread_outputs: BTreeSet::new(),
            lacks_names: false,
            comparisons_left: Cell::new(MAX_COMPARISONS),
        }
    }

    /// Same as [`nearest`] for names in the file, but returns `None` after `MAX_COMPARISONS` comparisons.
    pub fn near<'a>(
        &self,
        word: &str,
        candidates: impl Iterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let left = self.comparisons_left.get();
        // Takes one name more than the remaining comparisons allow, to detect that there are too many names. In that
        // case, `comparisons_left` becomes 0.
        let candidates: Vec<&str> = candidates.take(left + 1).collect();
        let is_affordable = candidates.len() <= left;
        self.comparisons_left
            .set(left.saturating_sub(candidates.len()));
        is_affordable.then(|| nearest(word, candidates))?
    }

    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    pub fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    pub fn wrong_type(&mut self, node: &YamlNode, expected: &str) {
        self.report(wrong_type(node, expected));
    }

    /// Records that the part of the pipeline that is being parsed reads a table.
    pub fn read(&mut self, table: Spanned<String>) {
        let reads = &mut self.reads;
        reads.mentions.push((reads.reader.clone(), table));
    }

    /// Returns the entries of a mapping. Reports duplicate keys with the error code `code`.
    ///
    /// In messages, `expected` describes the mapping (`corrections by name`), and `what` describes a key (`the correction`).
    pub fn entries<'n>(
        &mut self,
        node: &'n YamlNode,
        expected: &str,
        code: &'static str,
        what: &str,
    ) -> Option<Vec<&'n MappingEntry>> {
        let Kind::Mapping(entries) = &node.kind else {
            self.wrong_type(node, expected);
            return None;
        };
        let mut first: BTreeMap<&str, Span> = BTreeMap::new();
        let mut unique = Vec::with_capacity(entries.len());
        for entry in entries {
            if let Some(span) = first.get(entry.key.as_str()) {
                let message = format!("{what} `{}` appears twice", entry.key);
                let found = Diagnostic::error(code, entry.key_span, message);
                self.report(found.label(*span, "first here"));
            } else {
                first.insert(&entry.key, entry.key_span);
                unique.push(entry);
            }
        }
        Some(unique)
    }

    /// Returns the entries of a mapping with fixed keys. Reports unknown, duplicate and missing keys.
    pub fn fields<'n>(
        &mut self,
        node: &'n YamlNode,
        section: &'static Section,
    ) -> Option<Fields<'n>> {
        if !matches!(node.kind, Kind::Mapping(_)) {
            let message = format!(
                "expected {} as a mapping, found {}",
                section.name,
                node.describe()
            );
            let found = Diagnostic::error("wrong-type", node.span, message);
            self.report(found.help(format!("for example `{}`", example_of(section))));
            return None;
        }
        let entries = self.keys(node, section.name)?;
        let known = self.known_entries(&entries, node, &[section], section.name);
        Some(self.select(&known, node, section, section.name))
    }

    /// Returns all entries of a mapping with fixed keys. Reports duplicate keys.
    pub fn keys<'n>(&mut self, node: &'n YamlNode, name: &str) -> Option<Vec<&'n MappingEntry>> {
        let expected = format!("{name} as a mapping");
        self.entries(node, &expected, "duplicate-key", "key")
    }

    /// Returns the entries with known keys or with suggested keys. Reports all unknown keys.
    pub fn known_entries<'n>(
        &mut self,
        entries: &[&'n MappingEntry],
        node: &YamlNode,
        sections: &[&'static Section],
        name: &str,
    ) -> Vec<&'n MappingEntry> {
        let keys = || {
            let keys = sections.iter().flat_map(|section| section.keys);
            keys.map(|key| key.name)
        };
        let mut known = Vec::with_capacity(entries.len());
        for entry in entries {
            if keys().any(|key| key == entry.key) {
                known.push(*entry);
                continue;
            }
            let message = format!("{name} has no key `{}`", entry.key);
            let found = Diagnostic::error("unknown-key", entry.key_span, message);
            let near = nearest(&entry.key, keys());
            if let Some(key) = near {
                if !entries.iter().any(|other| other.key == key) {
                    known.push(*entry);
                }
                let place = entry.key_span.start;
                self.suggested
                    .entry((node.span.start, key))
                    .or_insert(place);
            }
            self.report(match near {
                Some(key) => found.suggest(Some(key)),
                // A key with a space and without a value is usually the rest of a query after the query's first comma.
                None if entry.value.is_null() && entry.key.contains(' ') => found.help(
                    "inside `{ }`, a comma ends a value; put the query in quotes, or write the mapping on separate lines",
                ),
                None => {
                    let mut seen = BTreeSet::new();
                    let unique = keys().filter(|key| seen.insert(*key));
                    found.help(format!("its keys are {}", quoted(unique)))
                }
            });
        }
        known
    }

    /// Returns the entries of a section. Reports missing required keys.
    pub fn select<'n>(
        &mut self,
        entries: &[&'n MappingEntry],
        node: &YamlNode,
        section: &'static Section,
        name: &str,
    ) -> Fields<'n> {
        let mut fields = Fields {
            section,
            entries: BTreeMap::new(),
        };
        for key in section.keys {
            let unknown = self.suggested.get(&(node.span.start, key.name)).copied();
            let named = entries.iter().find(|entry| entry.key == key.name);
            let similar = || {
                entries
                    .iter()
                    .find(|entry| Some(entry.key_span.start) == unknown)
            };
            let entry = named.or_else(similar);
            if let Some(entry) = entry {
                fields.entries.insert(key.name, &entry.value);
            }
            if key.required && unknown.is_none() && entry.is_none_or(|entry| entry.value.is_null())
            {
                let span = entry.map_or(start_of(node), |entry| entry.key_span);
                let message = format!("{name} lacks `{}`", key.name);
                let example = format!("for example `{}: {}`", key.name, key.example);
                self.report(Diagnostic::error("missing-key", span, message).help(example));
            }
        }
        fields
    }

    /// Returns the text of a scalar. Any other node is an error. In its message, `expected` describes the text.
    pub fn text(&mut self, node: &YamlNode, expected: &str) -> Option<Spanned<String>> {
        let text = text(node);
        if text.is_none() {
            self.wrong_type(node, expected);
        }
        text
    }

    /// Same as [`text`](Self::text), but the error has the help `help`.
    pub fn text_or_help(
        &mut self,
        node: &YamlNode,
        expected: &str,
        help: &str,
    ) -> Option<Spanned<String>> {
        let text = text(node);
        if text.is_none() {
            self.report(wrong_type(node, expected).help(help));
        }
        text
    }

    pub fn list<'n>(&mut self, node: &'n YamlNode, expected: &str) -> Option<&'n [YamlNode]> {
        match &node.kind {
            Kind::Sequence(items) => Some(items),
            _ => {
                self.wrong_type(node, expected);
                None
            }
        }
    }

    /// Returns the strings of one of the pipeline's `lists`. `span` is the position of `{ list: NAME }`.
    pub fn texts_of_list(&mut self, name: &str, span: Span) -> Option<Vec<String>> {
        if let Some(texts) = self.lists.texts.get(name) {
            self.lists.used.insert(name.to_owned());
            return Some(texts.clone());
        }
        let message = format!("there is no list `{name}`");
        let near = self.near(name, self.lists.texts.keys().map(String::as_str));
        let found = Diagnostic::error("unknown-list", span, message);
        let found = found.suggest_or(near, "define it in `lists`");
        self.report(found);
        None
    }

    /// Returns the element of the fixed list `words` that a scalar contains. Any other text is an error.
    pub fn word(&mut self, node: &YamlNode, words: &'static [Word]) -> Option<&'static str> {
        let names = || words.iter().map(|word| word.name);
        let expected = format!("one of {}", quoted(names()));
        let text = self.text(node, &expected)?;
        if let Some(name) = names().find(|name| *name == text.value) {
            return Some(name);
        }
        let message = format!("expected {expected}, found `{}`", text.value);
        let suggestion = nearest(&text.value, names());
        self.report(Diagnostic::error("unknown-word", node.span, message).suggest(suggestion));
        None
    }

    /// Parses a delimiter: `tab`, or one ASCII character other than a quote or a line break.
    pub fn delimiter(&mut self, node: &YamlNode) -> Option<u8> {
        let text = self.text(node, "one character or `tab`")?;
        match text.value.as_bytes() {
            b"tab" => Some(b'\t'),
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r' | 0) => Some(*byte),
            _ => self.wrong_text(&text, "one ASCII character or `tab`"),
        }
    }

    pub fn natural(&mut self, node: &YamlNode) -> Option<usize> {
        let expected = "an integer";
        let text = self.text(node, expected)?;
        match (scalar_style(node), text.value.parse()) {
            (Some(Style::Plain), Ok(number)) => Some(number),
            _ => self.wrong_text(&text, expected),
        }
    }

    pub fn number(&mut self, node: &YamlNode) -> Option<f64> {
        let text = self.text(node, "a number")?;
        match text.value.parse::<f64>() {
            Ok(number) if number.is_finite() && scalar_style(node) == Some(Style::Plain) => {
                Some(number)
            }
            _ => self.wrong_text(&text, "a number"),
        }
    }

    fn wrong_text<T>(&mut self, text: &Spanned<String>, expected: &str) -> Option<T> {
        let message = format!("expected {expected}, found `{}`", text.value);
        let found = Diagnostic::error("wrong-type", text.span, message);
        self.report(match expected {
            "an integer" => found.help("write digits without quotes, for example `3`"),
            "a number" => found.help("write it without quotes, for example `0.5`"),
            _ => found,
        });
        None
    }

    /// Parses the name of a table, list or source, and reports a name that `is_name` rejects. `what` describes the name in
    /// messages, for example `the name of a table`.
    pub fn name(&mut self, name: &str, span: Span, what: &str) -> Spanned<String> {
        if !is_name(name) {
            let message = format!("`{name}` cannot be {what}");
            let help = "use lower-case letters, digits and `_`, and begin with a letter";
            self.report(Diagnostic::error("bad-name", span, message).help(help));
        }
        Spanned {
            value: name.to_owned(),
            span,
        }
    }
}

/// Returns an example of a mapping: the required keys of a section, or its first key if no key is required.
fn example_of(section: &Section) -> String {
    let required: Vec<&SectionKey> = section.keys.iter().filter(|key| key.required).collect();
    let keys = match required.is_empty() {
        true => section.keys.iter().take(1).collect(),
        false => required,
    };
    let keys: Vec<String> = keys
        .iter()
        .map(|key| format!("{}: {}", key.name, key.example))
        .collect();
    format!("{{ {} }}", keys.join(", "))
}

/// Returns the position of the first key if the node is a mapping, otherwise the position of the node.
fn start_of(node: &YamlNode) -> Span {
    match &node.kind {
        Kind::Mapping(entries) => entries.first().map_or(node.span, |entry| entry.key_span),
        _ => node.span,
    }
}

pub fn scalar_style(node: &YamlNode) -> Option<Style> {
    match &node.kind {
        Kind::Scalar(scalar) => Some(scalar.style),
        _ => None,
    }
}

pub fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// The default values of a kind's optional keys.
pub struct KindDefaults {
    pub span: Span,
    /// The default value of each key.
    pub values: BTreeMap<&'static str, YamlNode>,
    pub is_used: bool,
}

impl ParseState {
    /// Parses the section `defaults`.
    pub(super) fn defaults(&mut self, node: &YamlNode) {
        let entries = self.entries(node, "defaults by kind", "duplicate-key", "key");
        let forms: Vec<&'static KindSpec> = self.vocabulary.kinds_with_options().collect();
        let heads = || forms.iter().map(|form| form.head());
        for entry in entries.unwrap_or_default() {
            let Some(form) = forms.iter().find(|form| form.head() == entry.key) else {
                let message = format!("`{}` is not a kind with optional keys", entry.key);
                let found = Diagnostic::error("unknown-key", entry.key_span, message);
                let help = format!("the kinds are {}", quoted(heads()));
                self.report(found.suggest_or(nearest(&entry.key, heads()), help));
                continue;
            };
            self.kind_defaults(form, entry);
        }
    }

    fn kind_defaults(&mut self, form: &'static KindSpec, entry: &MappingEntry) {
        let keys = form.optional_keys();
        let names = || keys.iter().map(|key| key.name);
        let Some(entries) = self.keys(&entry.value, "the defaults of a kind") else {
            return;
        };
        let mut values = BTreeMap::new();
        for one in entries {
            if let Some(name) = names().find(|name| *name == one.key) {
                values.insert(name, one.value.clone());
                continue;
            }
            let is_required = form.keys(None).any(|key| key.name == one.key);
            let message = match is_required {
                true => format!(
                    "`{}` cannot have a default, because it is a required key of `{}`",
                    one.key, entry.key
                ),
                false => format!("`{}` has no key `{}`", entry.key, one.key),
            };
            let found = Diagnostic::error("unknown-key", one.key_span, message);
            let help = format!("its keys are {}", quoted(names()));
            self.report(found.suggest_or(nearest(&one.key, names()), help));
        }
        let defaults = KindDefaults {
            span: entry.key_span,
            values,
            is_used: false,
        };
        self.defaults.insert(form.head(), defaults);
    }

    /// Returns the default value of a key, and records that the defaults of the kind are used.
    pub(super) fn default_of(&mut self, form: &KindSpec, key: &SectionKey) -> Option<YamlNode> {
        let defaults = self.defaults.get_mut(form.head())?;
        let value = defaults.values.get(key.name)?;
        defaults.is_used = true;
        (!value.is_null()).then(|| value.clone())
    }
}

/// Returns the text of a scalar that is not null.
fn text(node: &YamlNode) -> Option<Spanned<String>> {
    match &node.kind {
        Kind::Scalar(scalar) if !node.is_null() => Some(Spanned {
            value: scalar.text.clone(),
            span: node.span,
        }),
        _ => None,
    }
}

fn wrong_type(node: &YamlNode, expected: &str) -> Diagnostic {
    let message = format!("expected {expected}, found {}", node.describe());
    let found = Diagnostic::error("wrong-type", node.span, message);
    match expected {
        "competitions by id" => found.help("for example `{ my-competition: {} }`"),
        "lists of ids by set" => found.help("for example `{ small: [my-competition] }`"),
        "a list of ids" => found.help("for example `[my-competition]`"),
        _ => found,
    }
}
