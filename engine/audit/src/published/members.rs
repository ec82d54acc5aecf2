//! Finds a published checksum among the members of a bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use prep_contents::{Resources, Result, entries};

use crate::read::{hasher, hex};

/// Finds members of the bundle with these MD5s, including members of nested archives. Returns the path of each by its
/// MD5.
///
/// # Errors
/// If the bundle cannot be read.
pub fn members(
    bundle: &Path,
    resources: &Resources<'_>,
    wanted: &BTreeSet<String>,
) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    entries::of_file(bundle, "bundle.zip", resources, &mut |path, _, content| {
        let mut content: &mut dyn Read = content;
        let md5 = hex(hasher(&mut content)?);
        if wanted.contains(&md5) {
            let name = path.strip_prefix("bundle.zip/").unwrap_or(path);
            found.insert(md5, name.to_owned());
        }
        Ok(())
    })?;
    Ok(found)
}
