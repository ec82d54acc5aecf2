//! A table or output of one of the vocabulary's kinds, as a pipeline declares it.

use std::collections::BTreeMap;
use std::fmt;

use prep_splits::Size;
use serde::Serialize;

use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Column, Output, Query, Spanned};
use crate::words::{Form, Key, Section, Value};

/// A kind with the values of its keys. All required keys are there, and every value is of its key's type.
#[derive(Debug, Clone)]
pub struct Declaration {
    pub form: &'static Form,
    pub method: Option<&'static Section>,
    /// The table's first name, or the output's path.
    pub name: Spanned<String>,
    pub span: Span,
    pub(crate) settings: BTreeMap<&'static str, Spanned<Setting>>,
}

/// The value of a key.
#[derive(Debug, Clone)]
pub enum Setting {
    /// A text, path, name or word.
    Text(String),
    Natural(u64),
    Share(Size),
    Delimiter(u8),
    True,
    Query(Query),
    Queries(Vec<(Spanned<String>, Query)>),
    Columns(Vec<Column>),
    Texts(Vec<String>),
    Outputs(Vec<Output>),
    Items(Vec<Item>),
    Operand(Operand),
    Condition(Vec<Comparison>),
}

/// A mapping of a list, named by its first key.
#[derive(Debug, Clone)]
pub struct Item {
    pub name: Spanned<String>,
    /// Told by the value of the first key.
    pub section: &'static Section,
    pub(crate) settings: BTreeMap<&'static str, Spanned<Setting>>,
}

impl Item {
    /// The keys that are set, with their values, in the order of the vocabulary.
    pub fn settings(&self) -> impl Iterator<Item = (&'static Key, &Spanned<Setting>)> {
        let keys = self.section.keys.iter();
        keys.filter_map(|key| Some((key, self.settings.get(key.name)?)))
    }

    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.get(key).map(|setting| &setting.value)
    }

    /// The columns of the table that it reads.
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

/// A number, or a column that holds one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Operand {
    Number(f64),
    Column(String),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub left: Operand,
    pub operator: Operator,
    pub right: Operand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
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
    /// The keys that are set, with their values, in the order of the vocabulary.
    pub fn settings(&self) -> impl Iterator<Item = (&'static Key, &Spanned<Setting>)> {
        self.form
            .keys(self.method)
            .filter_map(|key| Some((key, self.settings.get(key.name)?)))
    }

    /// What a message calls it.
    pub fn title(&self) -> String {
        let name = self.form.section.name;
        match self.method {
            Some(method) => format!("{name} `{}`", method.name),
            None => name.to_owned(),
        }
    }

    /// Whether it draws from a generator that another table can go on with.
    pub fn is_drawn(&self) -> bool {
        let mut keys = self.form.keys(self.method);
        keys.any(|key| matches!(key.value, Value::Drawn))
    }

    /// Whether a key is set; also of a key that the method does not have.
    pub fn has(&self, key: &str) -> bool {
        self.settings.contains_key(key)
    }

    pub fn get(&self, key: &str) -> Option<&Spanned<Setting>> {
        debug_assert!(
            self.form.keys(self.method).any(|own| own.name == key),
            "`{key}` is no key of {}",
            self.form.section.name
        );
        self.settings.get(key)
    }

    /// A text, path, name or word.
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Setting::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn natural(&self, key: &str) -> Option<u64> {
        match self.get(key)?.value {
            Setting::Natural(number) => Some(number),
            _ => None,
        }
    }

    /// A whole number of 32 bits.
    pub fn seed(&self, key: &str) -> Option<u32> {
        u32::try_from(self.natural(key)?).ok()
    }

    /// A share or a count; none where a query computes it.
    pub fn share(&self, key: &str) -> Option<Size> {
        match self.get(key)?.value {
            Setting::Share(size) => Some(size),
            _ => None,
        }
    }

    pub fn delimiter(&self, key: &str) -> Option<u8> {
        match self.get(key)?.value {
            Setting::Delimiter(byte) => Some(byte),
            _ => None,
        }
    }

    pub fn query(&self, key: &str) -> Option<&Query> {
        match &self.get(key)?.value {
            Setting::Query(query) => Some(query),
            _ => None,
        }
    }

    pub fn queries(&self, key: &str) -> &[(Spanned<String>, Query)] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Queries(queries)) => queries,
            _ => &[],
        }
    }

    /// Declared columns; none where the key is not set.
    pub fn columns(&self, key: &str) -> &[Column] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Columns(columns)) => columns,
            _ => &[],
        }
    }

    pub fn items(&self, key: &str) -> &[Item] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Items(items)) => items,
            _ => &[],
        }
    }

    /// A list of texts; none where the key is not set.
    pub fn texts(&self, key: &str) -> &[String] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Texts(texts)) => texts,
            _ => &[],
        }
    }

    pub fn outputs(&self, key: &str) -> &[Output] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Setting::Outputs(outputs)) => outputs,
            _ => &[],
        }
    }

    /// A finding about the value of a key.
    pub fn fault(&self, key: &str, code: &'static str, message: impl Into<String>) -> Diagnostic {
        let span = self.get(key).map_or(self.span, |setting| setting.span);
        Diagnostic::error(code, span, message)
    }

    /// What follows the last dot of a file's name, in lower case.
    pub fn extension(path: &str) -> String {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.') {
            Some((_, extension)) => extension.to_ascii_lowercase(),
            None => String::new(),
        }
    }

    /// Finds every output in an archive's outputs, and itself, and hands on the declarations.
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
