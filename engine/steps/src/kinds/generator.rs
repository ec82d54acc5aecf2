//! What the kinds that draw from a seeded generator have in common: `seed`, or `after` another that drew.

use prep_spec::Diagnostic;
use prep_spec::model::Declaration;
use prep_spec::words::{Key, Value};

/// Name of the input with a generator that goes on, and of the output with the generator as it was left. No table can
/// have this name.
pub(crate) const GENERATOR: &str = "generator:";

pub(super) const SEED: Key = Key::optional(
    "seed",
    Value::Seed,
    "Seed of the random numbers. Needed without `after`.",
    "0",
);
pub(super) const AFTER: Key = Key::optional(
    "after",
    Value::Drawn,
    "In place of `seed`: the generator goes on where that of this table, which was drawn from the same library's, stopped.",
    "before",
);

/// Either `seed` or `after`, where the kind has both.
pub(super) fn check_generator(declaration: &Declaration) -> Option<Diagnostic> {
    let mut keys = declaration.form.keys(declaration.method);
    if !keys.any(|key| key.name == "after") {
        return None;
    }
    let title = declaration.title();
    match (declaration.has("seed"), declaration.has("after")) {
        (true, true) => {
            let message = format!("{title} cannot have both `seed` and `after`");
            let fault = declaration.fault("after", "conflicting-keys", message);
            Some(fault.help("`after` goes on with a generator that was seeded before"))
        }
        (false, false) => {
            let message = format!("{title} lacks `seed`");
            let fault = Diagnostic::error("missing-key", declaration.span, message);
            Some(fault.help("for example `seed: 0`; or `after` a table that was drawn"))
        }
        _ => None,
    }
}
