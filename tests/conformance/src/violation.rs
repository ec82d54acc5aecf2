//! The error of the functions in this crate.

use std::fmt::Display;

use prep_core::chain;

/// A guarantee that an implementation does not give.
#[derive(Debug, thiserror::Error)]
#[error("{guarantee}: {found}")]
pub struct Violation {
    /// The guarantee, as a sentence.
    pub guarantee: &'static str,
    /// The observation that contradicts it.
    pub found: String,
}

impl Violation {
    pub(crate) fn new(guarantee: &'static str, found: impl Display) -> Violation {
        Violation {
            guarantee,
            found: found.to_string(),
        }
    }
}

/// Converts an error that must not occur to a violation.
pub(crate) trait OrViolation<T> {
    fn or_violation(self, guarantee: &'static str) -> Result<T, Violation>;
}

impl<T, E: std::error::Error + 'static> OrViolation<T> for Result<T, E> {
    fn or_violation(self, guarantee: &'static str) -> Result<T, Violation> {
        self.map_err(|error| Violation::new(guarantee, chain(&error)))
    }
}

pub(crate) fn expect(
    holds: bool,
    guarantee: &'static str,
    found: impl FnOnce() -> String,
) -> Result<(), Violation> {
    match holds {
        true => Ok(()),
        false => Err(Violation::new(guarantee, found())),
    }
}
