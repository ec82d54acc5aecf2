//! Random generators of tables. `seed` seeds a new generator; `after` continues the generator of an earlier table.

use prep_core::{Failure, Inputs, StepError, Value};
use prep_spec::Diagnostic;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, SectionKey, Word};
use prep_splits::{Rng, RngKind};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::located::{Subject, error_at};
use crate::value::TableValue;

/// Name of the output with the generator's state after the step. In a step that continues the generator, the input with
/// this state has the same name. No table can have this name.
pub(crate) const GENERATOR_PORT: &str = "generator:";

pub(super) const SEED: SectionKey = SectionKey::optional(
    "seed",
    KeyType::Seed,
    "Seed of the random numbers. Required unless `after` is given.",
    "0",
);
pub(super) const AFTER: SectionKey = SectionKey::optional(
    "after",
    KeyType::Drawn,
    "Instead of `seed`: the table whose generator is continued. Both tables must use the same library.",
    "before",
);

pub(super) const GENERATORS: &[Word] = &[
    Word {
        name: "numpy",
        doc: "`numpy.random.RandomState`, which `numpy.random.seed` seeds",
    },
    Word {
        name: "numpy_generator",
        doc: "`numpy.random.default_rng`",
    },
    Word {
        name: "python",
        doc: "`random.Random`, which `random.seed` seeds",
    },
];

#[derive(Debug, Error)]
enum GeneratorError {
    #[error(
        "the generator of the table in `after` is `{found}`, but this table needs the generator `{expected}`"
    )]
    DifferentGenerator {
        expected: &'static str,
        found: &'static str,
    },
    #[error("the table has {0} rows; the maximum is 4,294,967,295")]
    TooLong(u64),
}

/// The generator that a declaration requests, and its seed.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SeededGenerator {
    generator: RngKind,
    /// `None` if the generator of an earlier table is continued.
    seed: Option<u64>,
}

impl SeededGenerator {
    pub fn declared(declaration: &Declaration) -> Option<SeededGenerator> {
        let generator = match declaration.text("generator")? {
            "numpy" => RngKind::Numpy,
            "python" => RngKind::Python,
            _ => RngKind::NumpyGenerator,
        };
        let seed = declaration.natural("seed");
        Some(SeededGenerator { generator, seed })
    }

    /// Returns the generator before the step's first draw.
    pub fn start(&self, inputs: &Inputs) -> Result<Rng, StepError> {
        let Some(before) = inputs.get(GENERATOR_PORT) else {
            let seed = self.seed.unwrap_or(0);
            return Rng::new(self.generator, seed)
                .map_err(|error| error_at(Failure::Pipeline, Subject::Key("seed"), error));
        };
        let rng = load(before)?;
        if rng.kind() != self.generator {
            let error = GeneratorError::DifferentGenerator {
                expected: self.generator.name(),
                found: rng.kind().name(),
            };
            return Err(error_at(Failure::Pipeline, Subject::Key("after"), error));
        }
        Ok(rng)
    }
}

/// Returns the number of rows. Fails if it exceeds 32 bits, because generators draw positions of 32 bits.
pub(super) fn rows_of(table: &TableValue) -> Result<u32, StepError> {
    let rows = table.len();
    u32::try_from(rows).map_err(|_| StepError::input(GeneratorError::TooLong(rows)))
}

/// Returns the number of rows of an input. 0 if the input is missing or not a table.
pub(super) fn rows_of_input(inputs: &Inputs, name: &str) -> u64 {
    let table = inputs.get(name).map(TableValue::decode);
    table.and_then(Result::ok).map_or(0, |table| table.len())
}

/// Checks that exactly one of `seed` and `after` is given, if the kind has both.
pub(super) fn check_generator(declaration: &Declaration) -> Vec<Diagnostic> {
    let mut keys = declaration.form.keys(declaration.method);
    if !keys.any(|key| key.name == "after") {
        return Vec::new();
    }
    let title = declaration.title();
    match (declaration.has("seed"), declaration.has("after")) {
        (true, true) => {
            let message = format!("{title} cannot have both `seed` and `after`");
            let fault = declaration.fault("after", "conflicting-keys", message);
            vec![fault.help("`after` continues a generator that is already seeded")]
        }
        (false, false) => {
            let message = format!("{title} lacks `seed`");
            let fault = Diagnostic::error("missing-key", declaration.span, message);
            vec![fault.help(
                "add `seed`, for example `seed: 0`, or `after` with the table whose generator is continued",
            )]
        }
        _ => Vec::new(),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "value", rename = "generator")]
struct GeneratorValue {
    state: Rng,
}

/// Returns the state of a generator as the output of a step.
pub(crate) fn into_value(generator: &Rng) -> Value {
    let state = GeneratorValue {
        state: generator.clone(),
    };
    Value::new(serde_json::json!(state), Vec::new())
}

/// Restores a generator from the output of a step.
pub(crate) fn load(value: &Value) -> Result<Rng, StepError> {
    let value: GeneratorValue = value.decode()?;
    Ok(value.state)
}
