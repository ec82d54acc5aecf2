//! Values: the data that flow between steps.

use prep_cache::{Digest, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::StepError;
use crate::graph::key::canonical;

/// The result of a step: a JSON body, and the cached objects that it refers to.
///
/// The value itself is stored as an object, and its digest is the value's identity. Two values are equal if and only if
/// their digests are equal, regardless of the step that produced them. If a step that ran again produces an equal value,
/// the steps that use it do not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The content, opaque to the engine.
    pub body: serde_json::Value,
    /// Objects that the body refers to, in a fixed order.
    pub objects: Vec<Digest>,
}

impl Value {
    /// Creates a value.
    pub fn new(body: serde_json::Value, objects: Vec<Digest>) -> Value {
        Value { body, objects }
    }

    /// Returns the value's identity without storing the value.
    pub fn digest(&self) -> Digest {
        Digest::of_bytes(self.encode().as_bytes())
    }

    /// Stores the value and returns its identity.
    ///
    /// # Errors
    /// If the value cannot be written.
    pub fn save(&self, store: &Store) -> Result<Digest, StoreError> {
        store.put(self.encode().as_bytes())
    }

    /// Reads a value by its identity.
    ///
    /// # Errors
    /// If the value is not in the cache or is not valid.
    pub fn load(store: &Store, digest: &Digest) -> Result<Value, StepError> {
        let bytes = store.read(digest)?;
        serde_json::from_slice(&bytes).map_err(|cause| StepError::Value {
            digest: *digest,
            cause,
        })
    }

    /// Parses the body.
    ///
    /// # Errors
    /// If the body has a different structure.
    pub fn decode<'v, T: Deserialize<'v>>(&'v self) -> Result<T, StepError> {
        T::deserialize(&self.body).map_err(|error| {
            StepError::internal(format!(
                "a stored value has an unexpected structure: {error}"
            ))
        })
    }

    fn encode(&self) -> String {
        let value = serde_json::json!({ "body": self.body, "objects": self.objects });
        canonical(&value)
    }
}
