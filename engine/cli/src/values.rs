//! Parses values of options that several modules use.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use prep_app::LinkMode;

/// Parses an integer of at least 1.
///
/// # Errors
/// Returns an error if the text is not an integer of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected an integer of at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Parses a way of sharing bytes. Completions show all ways.
pub fn link_mode() -> impl TypedValueParser<Value = LinkMode> {
    let names = LinkMode::ALL.map(LinkMode::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<LinkMode>())
}

/// The value of an option that turns something on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    Yes,
    No,
}

impl Switch {
    pub fn is_on(self) -> bool {
        self == Switch::Yes
    }
}

/// Parses the value of a setting that turns something on or off.
pub fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" | "true" | "1" => Ok(true),
        "no" | "false" | "0" => Ok(false),
        _ => Err("expected yes or no".to_owned()),
    }
}
