//! What flows between steps.

use prep_cache::{Digest, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::key::canonical;

/// The result of a step: a JSON body, and the objects of the store that it needs to be of use.
///
/// The body is itself an object of the store; its digest is the value's identity. Two values are the same exactly when
/// their digests are, whoever made them: this is what stops a wave of re-runs early.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub body: serde_json::Value,
    /// Objects that the body refers to, in a fixed order.
    pub objects: Vec<Digest>,
}

impl Value {
    pub fn new(body: serde_json::Value, objects: Vec<Digest>) -> Value {
        Value { body, objects }
    }

    /// The value's identity, without storing it.
    pub fn digest(&self) -> Digest {
        Digest::of(self.encode().as_bytes())
    }

    /// Stores the value and returns its identity.
    pub fn save(&self, store: &Store) -> Result<Digest, StoreError> {
        store.put(self.encode().as_bytes())
    }

    /// Reads a value back by its identity.
    pub fn load(store: &Store, digest: &Digest) -> Result<Value, crate::StepError> {
        let bytes = store.read(digest)?;
        serde_json::from_slice(&bytes).map_err(|cause| crate::StepError::Value {
            digest: *digest,
            cause,
        })
    }

    fn encode(&self) -> String {
        let value = serde_json::json!({ "body": self.body, "objects": self.objects });
        canonical(&value)
    }
}
