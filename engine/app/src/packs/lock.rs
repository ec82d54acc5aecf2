//! `pack.lock`: the digests that the data of a pack's competitions must have after they are prepared. The author of the
//! pack publishes this file.
//!
//! The file has the format of `prep.lock`, but names competitions without the name of their pack. If the file is signed,
//! its last line is the signature.

use std::collections::BTreeMap;
use std::path::Path;

use prep_core::Failure;
use prep_digests::{DatasetDigests, Lockfile};
use prep_fetch::bundle_stem;
use prep_remote::{
    PublicKey, Rejection, SigningKey, TrustedSigner, check_signer, sign_text, signer,
};
use serde::Serialize;

use crate::error::Error;
use crate::packs::{CORRECT, read_text};

pub(crate) const LOCK_FILE: &str = "pack.lock";

const HEAD: &str =
    "# Digests of the prepared data of this pack, written by `prep pack check --write`.\n";

#[derive(Debug, Default)]
pub(crate) struct PackLock {
    lock: Lockfile,
    signer: Option<PublicKey>,
}

/// The comparison of prepared data with `pack.lock`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LockComparison {
    /// Whether the digests are equal. `None` if the file does not list the competition in this variant.
    pub is_equal: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// The key that signed the file.
    pub signed_by: Option<String>,
    /// Whether the user trusts this key for the competition.
    pub is_trusted: bool,
}

impl PackLock {
    /// Reads the `pack.lock` at `path`. If this file does not exist, returns an empty lock. If the file was changed after it
    /// was signed, returns an error.
    pub(crate) fn read(path: &Path, pack: &str) -> Result<PackLock, Error> {
        if !path.exists() {
            return Ok(PackLock::default());
        }
        let text = read_text(path).map_err(|error| Error::reading("read", path, &error))?;
        let wrong = |failure, cause: &dyn std::fmt::Display| {
            Error::new(failure, format!("{}: {cause}", path.display())).help(CORRECT)
        };
        let signer = match signer(&purpose(pack), &text) {
            Err(Rejection::Unsigned) => None,
            signer => Some(signer.map_err(|rejection| wrong(Failure::Check, &rejection))?),
        };
        let lock = Lockfile::parse(&text).map_err(|error| wrong(Failure::Input, &error))?;
        Ok(PackLock { lock, signer })
    }

    /// Compares the digests of prepared data with the digests in the file.
    pub(crate) fn compare(
        &self,
        id: &str,
        facts: &DatasetDigests,
        trusted: &[TrustedSigner],
    ) -> LockComparison {
        let locked = self.lock.find(bundle_stem(id), &facts.variant);
        let differences: Option<Vec<String>> = locked.map(|locked| {
            let found = locked.differences(&facts.to_lock_entry());
            found.iter().map(ToString::to_string).collect()
        });
        let check = |key| check_signer(trusted, key, id);
        LockComparison {
            is_equal: differences.as_ref().map(Vec::is_empty),
            differences: differences.unwrap_or_default(),
            signed_by: self.signer.map(|key| key.to_string()),
            is_trusted: self.signer.is_some_and(|key| check(key).is_ok()),
        }
    }

    /// Returns the new text of `pack.lock`, signed if `key` is given. Competitions that are not in `found` keep their
    /// digests.
    pub(crate) fn text_with(
        mut self,
        pack: &str,
        found: &BTreeMap<String, DatasetDigests>,
        key: Option<&SigningKey>,
    ) -> String {
        for (name, facts) in found {
            self.lock.set(name, &facts.variant, &facts.to_lock_entry());
        }
        let facts = self.lock.text();
        // The first line is the comment of a `prep.lock`. `HEAD` replaces it.
        let facts = facts.split_once('\n').map_or("", |(_, facts)| facts);
        let text = format!("{HEAD}{facts}");
        match key {
            Some(key) => sign_text(key, &purpose(pack), &text),
            None => text,
        }
    }
}

/// Returns the purpose of a signature. It names the pack, so that the file of one pack is not valid for another one.
fn purpose(pack: &str) -> String {
    format!("{LOCK_FILE} of {pack}")
}
