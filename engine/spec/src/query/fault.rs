//! Errors in queries.

use std::collections::BTreeMap;

use super::tree::Position;
use crate::text::suggest::nearest;

/// An error in a query, with its position in the query's text.
#[derive(Debug)]
pub struct Fault {
    /// The position. If it is unknown, the error is shown at the end of the text.
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

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Creates the error for a list that the pipeline does not have.
    pub fn unknown_list(name: &str, at: Position, lists: &Lists) -> Self {
        let fault = Fault::new("unknown-list", at, format!("there is no list `{name}`"));
        match nearest(name, lists.keys().map(String::as_str)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help("define it in `lists`"),
        }
    }

    /// Creates the error for a statement other than SELECT.
    pub fn not_a_select() -> Self {
        let message = "the query is not a SELECT";
        Fault::new("not-a-select", Position::START, message)
            .help("begin the query with SELECT or WITH")
    }
}

/// The pipeline's lists by name.
pub type Lists = BTreeMap<String, Vec<String>>;
