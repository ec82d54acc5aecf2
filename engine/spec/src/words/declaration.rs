//! Tables and outputs as a pipeline declares them.

use std::collections::BTreeMap;
use std::fmt;

use prep_splits::SplitSize;
use serde::Serialize;

use super::pipeline::Column;
use super::query::Query;
use super::{KeyType, KindSpec, Section, SectionKey};
use crate::text::diagnostic::{Diagnostic, Span, Spanned};

/// A declared table or output. All required keys exist, and every value has the type of its key.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// The kind.
    pub form: &'static KindSpec,
    /// The method of the kind, if it has methods.
    pub method: Option<&'static Section>,
    /// The first name of the table, or the path of the output.
    pub name: Spanned<String>,
    /// The position of the mapping in the file.
    pub span: Span,
    pub(crate) settings: Settings,
}

/// An output in `public`, in `private`, or in an archive.
#[derive(Debug, Clone)]
pub struct Output {
    /// The relative path, which ends with `/` for a directory. `./` is the directory of the section itself.
    pub path: Spanned<String>,
    /// The content.
    pub declaration: Declaration,
}

/// The values of the keys that are set.
pub(crate) type Settings = BTreeMap<&'static str, Spanned<Setting>>;

/// The value of a key.
#[derive(Debug, Clone)]
pub enum Setting {
    /// A string, path, name, or word of a fixed list.
    Text(String),
    /// An integer.
    Natural(u64),
    /// A fraction or a number of rows.
    Share(SplitSize),
    /// A delimiter.
    Delimiter(u8),
    /// The value `true`.
    True,
    /// A query.
    Query(Query),
    /// Queries, each with a name.
    Queries(Vec<(Spanned<String>, Query)>),
    /// Declared columns.
    Columns(Vec<Column>),
    /// A list of strings.
    Texts(Vec<String>),
    /// The members of an archive.
    Outputs(Vec<Output>),
    /// A list of mappings.
    Items(Vec<Item>),
    /// A number or a column.
    Operand(Operand),
    /// Comparisons that must all be true.
    Condition(Vec<Comparison>),
}

/// A mapping in a list. The first key of the mapping is a name.
#[derive(Debug, Clone)]
pub struct Item {
    /// The first key, which is a name that the author chooses.
    pub name: Spanned<String>,
    /// The section that the value of the first key selects.
    pub section: &'static Section,
    pub(crate) settings: Settings,
}

impl Item {
    /// Returns the keys that are set, with their values, in the order of the vocabulary.
    pub fn settings(&self) -> impl Iterator<Item = (&'static SectionKey, &Spanned<Setting>)> {
        let keys = self.section.keys.iter();
        keys.filter_map(|key| Some((key, self.settings.get(key.name)?)))
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.get(key).map(|setting| &setting.value)
    }

    /// Returns the columns that the mapping names, with their positions.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Span)> {
        self.settings.values().flat_map(|setting| {
            let operands: Vec<&Operand> = match &setting.value {
                Setting::Operand(operand) => vec![operand],
                Setting::Condition(comparisons) => comparisons
                    .iter()
                    .flat_map(|one| [&one.left, &one.right])
                    .collect(),
                _ => Vec::new(),
            };
            operands.into_iter().filter_map(|operand| match operand {
                Operand::Column(name) => Some((name.as_str(), setting.span)),
                Operand::Number(_) => None,
            })
        })
    }
}

/// A number, or a column that contains numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Operand {
    /// A number.
    Number(f64),
    /// The name of a column.
    Column(String),
}

/// A comparison of two operands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The left operand.
    pub left: Operand,
    /// The operator.
    pub operator: Operator,
    /// The right operand.
    pub right: Operand,
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Operator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Number(number) => number.fmt(f),
            Operand::Column(name) => name.fmt(f),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, self.operator, self.right)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operator::Equal => "=",
            Operator::NotEqual => "<>",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
        })
    }
}

impl Operator {
    /// Returns whether the comparison of two numbers is true.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Operator::Equal => left == right,
            Operator::NotEqual => left != right,
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
        }
    }
}

impl Declaration {
    /// Returns the keys that are set, with their values, in the order of the vocabulary.
    pub fn settings(&self) -> impl Iterator<Item = (&'static SectionKey, &Spanned<Setting>)> {
        self.form
            .keys(self.method)
            .filter_map(|key| Some((key, self.settings.get(key.name)?)))
    }

    /// Returns the name of the kind for messages.
    pub fn title(&self) -> String {
        let name = self.form.section.name;
        match self.method {
            Some(method) => format!("{name} `{}`", method.name),
            None => name.to_owned(),
        }
    }

    /// Returns whether the rows are drawn with a random generator. Another table can continue with the
    /// state of this generator.
    pub fn is_drawn(&self) -> bool {
        let mut keys = self.form.keys(self.method);
        keys.any(|key| matches!(key.value, KeyType::Drawn))
    }

    /// Returns whether a key is set. Accepts keys of other methods.
    pub fn has(&self, key: &str) -> bool {
        self.settings.contains_key(key)
    }

    /// Returns the value of a key, which must be a key of this kind.
    pub fn get(&self, key: &str) -> Option<&Spanned<Setting>> {
        debug_assert!(
            self.form.keys(self.method).any(|own| own.name == key),
            "`{key}` is not a key of {}",
            self.form.section.name
        );
        self.settings.get(key)
    }

    /// Returns a string, path, name or word.
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Setting::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the query that produces the rows of an output.
    pub fn rows_query(&self) -> Option<&Query> {
        let mut settings = self.settings();
        settings.find_map(|(key, setting)| match (&key.value, &setting.value) {
            (KeyType::Rows, Setting::Query(query)) => Some(query),
            _ => None,
        })
    }

    /// Returns an integer.
    pub fn natural(&self, key: &str) -> Option<u64> {
        match self.get(key)?.value {
            Setting::Natural(number) => Some(number),
            _ => None,
        }
    }

    /// Returns a 32-bit integer.
    pub fn seed(&self, key: &str) -> Option<u32> {
        u32::try_from(self.natural(key)?).ok()
    }

    /// Returns a fraction or a number of rows. `None` if a query computes the size.
    pub fn share(&self, key: &str) -> Option<SplitSize> {
        match self.get(key)?.value {
            Setting::Share(size) => Some(size),
            _ => None,
        }
    }

    /// Returns a delimiter.
    pub fn delimiter(&self, key: &str) -> Option<u8> {
        match self.get(key)?.value {
            Setting::Delimiter(byte) => Some(byte),
            _ => None,
        }
    }

    /// Returns a query.
    pub fn query(&self, key: &str) -> Option<&Query> {
        match &self.get(key)?.value {
            Setting::Query(query) => Some(query),
            _ => None,
        }
    }

    /// Returns queries by name. Empty if the key is not set.
    pub fn queries(&self, key: &str) -> &[(Spanned<String>, Query)] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Queries(queries)) => queries,
            _ => &[],
        }
    }

    /// Adds all queries of the declaration, including those of the members of an archive.
    pub(crate) fn add_queries<'d>(&'d self, found: &mut Vec<&'d Query>) {
        for (_, setting) in self.settings() {
            match &setting.value {
                Setting::Query(query) => found.push(query),
                Setting::Queries(queries) => found.extend(queries.iter().map(|(_, query)| query)),
                Setting::Outputs(outputs) => {
                    let outputs = outputs.iter().map(|output| &output.declaration);
                    outputs.for_each(|declaration| declaration.add_queries(found));
                }
                _ => {}
            }
        }
    }

    /// Returns declared columns. Empty if the key is not set.
    pub fn columns(&self, key: &str) -> &[Column] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Columns(columns)) => columns,
            _ => &[],
        }
    }

    /// Returns a list of mappings. Empty if the key is not set.
    pub fn items(&self, key: &str) -> &[Item] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Items(items)) => items,
            _ => &[],
        }
    }

    /// Returns a list of strings. Empty if the key is not set.
    pub fn texts(&self, key: &str) -> &[String] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// Returns the members of an archive. Empty if the key is not set.
    pub fn outputs(&self, key: &str) -> &[Output] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Outputs(outputs)) => outputs,
            _ => &[],
        }
    }

    /// Creates a diagnostic at the position of a key's value.
    pub fn fault(&self, key: &str, code: &'static str, message: impl Into<String>) -> Diagnostic {
        let span = self.get(key).map_or(self.span, |setting| setting.span);
        Diagnostic::error(code, span, message)
    }

    /// Returns the extension of a file name in lower case.
    pub fn extension(path: &str) -> String {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.') {
            Some((_, extension)) => extension.to_ascii_lowercase(),
            None => String::new(),
        }
    }

    /// Calls `visit` for this declaration and, for an archive, for all outputs in it.
    pub fn walk<'d>(&'d self, visit: &mut dyn FnMut(&'d Declaration)) {
        visit(self);
        for (_, setting) in self.settings() {
            if let Setting::Outputs(outputs) = &setting.value {
                for output in outputs {
                    output.declaration.walk(visit);
                }
            }
        }
    }
}
