//! Errors in queries.

use std::collections::BTreeMap;

use super::tree::Position;
use crate::text::suggest::nearest;

/// An error in a query, at a position in the text of the query.
#[derive(Debug)]
pub struct Fault {
    pub at: Position,
    pub code: &'static str,
    pub message: String,
    pub help: Option<String>,
}

impl Fault {
    pub fn new(code: &'static str, at: Position, message: impl Into<String>) -> Self {
        Self {
            at,
            code,
            message: message.into(),
            help: None,
        }
    }

    pub fn syntax(at: Position, message: impl Into<String>) -> Self {
        Fault::new("sql-syntax", at, message)
    }

    /// Creates the error for valid SQL that queries cannot use.
    pub fn unsupported(at: Position, what: &str, help: &str) -> Self {
        Fault::new("unsupported-sql", at, format!("`{what}` is not supported")).help(help)
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into()).filter(|help| !help.is_empty());
        self
    }

    pub fn unknown_list(name: &str, at: Position, lists: &Lists) -> Self {
        let fault = Fault::new("unknown-list", at, format!("there is no list `{name}`"));
        match nearest(name, lists.keys().map(String::as_str)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help("define it in `lists`"),
        }
    }
}

/// The pipeline's lists of strings, by name.
pub type Lists = BTreeMap<String, Vec<String>>;
