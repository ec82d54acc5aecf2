//! The state of a seeded random generator between two steps.

use prep_core::{StepError, Value};
use prep_splits::Rng;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(tag = "value", rename = "generator")]
struct GeneratorValue {
    state: Rng,
}

/// Stores the state of a generator, with which another step can continue.
pub(crate) fn into_value(generator: &Rng) -> Value {
    let state = GeneratorValue {
        state: generator.clone(),
    };
    Value::new(serde_json::json!(state), Vec::new())
}

/// Loads the state of a generator that another step stored.
pub(crate) fn load(value: &Value) -> Result<Rng, StepError> {
    let value: GeneratorValue = value.decode()?;
    Ok(value.state)
}
