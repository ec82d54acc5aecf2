//! A seeded generator between two draws, as a value.

use prep_core::{StepError, Value};
use prep_splits::Rng;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(tag = "value", rename = "generator")]
struct GeneratorValue {
    state: Rng,
}

/// The state of a generator, from which another step goes on.
pub(crate) fn into_value(generator: &Rng) -> Value {
    let state = GeneratorValue {
        state: generator.clone(),
    };
    Value::new(serde_json::json!(state), Vec::new())
}

/// The generator that another step left.
pub(crate) fn of(value: &Value) -> Result<Rng, StepError> {
    let value: GeneratorValue = super::decode(value)?;
    Ok(value.state)
}
