//! The identity of a query.

use super::tree::QueryTree;

impl QueryTree {
    /// Returns the part of step keys that identifies the query: its text for people, and the hash of the tree's
    /// serialization. Two queries are equal if and only if their serializations are equal.
    pub fn key(&self) -> String {
        let tree = blake3::hash(self.serialized().as_bytes());
        format!("{self} -- {}", tree.to_hex())
    }

    /// Returns the serialization that identifies the query.
    pub fn serialized(&self) -> String {
        #[allow(
            clippy::expect_used,
            reason = "the tree contains no maps and no numbers that are not finite"
        )]
        let serialized = serde_json::to_string(self).expect("a tree can be serialized");
        serialized
    }
}

/// Returns the query in a key as readable SQL. `None` if the text is not a key.
pub fn sql_of_key(key: &str) -> Option<&str> {
    let (sql, tree) = key.rsplit_once(" -- ")?;
    let is_hash = tree.len() == 64 && tree.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(sql)
}
