//! The entries of the ledger.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Digest;

/// The outputs of a step, and the key record that determined them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The key record. Its digest is the key.
    pub record: serde_json::Value,
    /// Digests of the step's outputs, by name.
    pub outputs: BTreeMap<String, Digest>,
    /// Further objects that the outputs refer to, for example the files of a tree.
    #[serde(default)]
    pub references: Vec<Digest>,
    /// Further objects that the outputs refer to, which were only kept in memory. If they are needed, the step must run
    /// again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstored: Vec<Digest>,
    /// Lengths in bytes of the [`objects`](Self::objects), in the same order, if the entry came from a tier. They limit
    /// the bytes fetched for each object. Empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<u64>,
    /// Time of the step's run, in seconds since 1970.
    pub created: u64,
    /// Duration of the step's run in milliseconds.
    pub millis: u64,
    /// Whether the step ran on another machine. Objects that are missing on this machine are in a tier and are fetched
    /// on first use.
    #[serde(
        rename = "elsewhere",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_remote: bool,
}

impl LedgerEntry {
    /// Returns the objects that the store must have for this entry: outputs, then references.
    pub fn objects(&self) -> impl Iterator<Item = &Digest> {
        self.outputs.values().chain(&self.references)
    }
}
