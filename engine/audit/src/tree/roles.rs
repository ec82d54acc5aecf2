//! Determines the roles of tables in a tree.

use std::collections::HashSet;
use std::path::Path;

use prep_contents::listing::Listing;
use prep_contents::table::columns_of;
use prep_contents::{DecodingLimits, Format, Result};

use crate::error::unless_damaged;
use crate::table::TableUse;

#[derive(Debug, Clone, Default)]
pub struct Roles {
    /// Path of the answers, for example `private/test.csv`.
    pub answers: Option<String>,
    pub sample: Option<String>,
    pub rows_by_position: bool,
    pub columns_by_position: bool,
    /// Id columns. If this set is empty, `completed` infers ids and labels. If only labels are unknown, all other columns
    /// of private tables are treated as labels.
    pub ids: HashSet<String>,
    pub labels: HashSet<String>,
}

impl Roles {
    /// Infers the id and label columns, unless the ids are known. Columns of the answers that the public test table also
    /// contains are ids. If there are none, the first column is the id. The other columns of the answers are labels.
    pub(super) fn completed(
        &self,
        root: &Path,
        listing: &Listing,
        limits: &DecodingLimits,
    ) -> Result<Roles> {
        let mut roles = self.clone();
        if !roles.ids.is_empty() {
            return Ok(roles);
        }
        let columns = |path: &str| -> Result<Option<Vec<String>>> {
            let Some(format) = Format::from_path(path) else {
                return Ok(None);
            };
            if !listing.files.contains_key(path) {
                return Ok(None);
            }
            unless_damaged(columns_of(&root.join(path), format, limits))
        };
        let private = || {
            listing
                .files
                .keys()
                .find(|path| path.starts_with("private/") && Format::from_path(path).is_some())
        };
        let answers = roles.answers.clone().or_else(|| private().cloned());
        let answers = answers.map(|path| columns(&path)).transpose()?;
        let Some(answers) = answers.flatten() else {
            return Ok(roles);
        };
        let is_test = |path: &&String| {
            let name = path.rsplit('/').next().unwrap_or_default();
            path.starts_with("public/")
                && name.starts_with("test")
                && Format::from_path(path).is_some()
        };
        let test = listing.files.keys().find(is_test);
        let test = test.map(|path| columns(path)).transpose()?.flatten();
        let shown = |name: &&String| test.as_ref().is_some_and(|test| test.contains(name));
        roles.ids = answers.iter().filter(shown).cloned().collect();
        let mut known = roles.ids.clone();
        // Of several candidates, only columns of the sample submission are ids.
        let sample = roles.sample.as_deref().map(columns).transpose()?.flatten();
        if let Some(sample) = sample
            && roles.ids.len() > 1
            && roles.ids.iter().any(|name| sample.contains(name))
        {
            roles.ids.retain(|name| sample.contains(name));
        }
        if roles.ids.is_empty() {
            roles.ids.extend(answers.first().cloned());
            known.clone_from(&roles.ids);
        }
        roles
            .labels
            .extend(answers.into_iter().filter(|name| !known.contains(name)));
        Ok(roles)
    }

    pub(super) fn only_id(&self) -> Option<&str> {
        let mut ids = self.ids.iter().map(String::as_str);
        ids.next().filter(|_| self.ids.len() == 1)
    }

    pub(super) fn role(&self, path: &str) -> TableUse {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_test = path.starts_with("public/") && name.starts_with("test");
        let is_sample = self.sample.as_deref() == Some(path);
        TableUse {
            is_private: path.starts_with("private/"),
            labels: if is_sample {
                HashSet::new()
            } else {
                self.labels.clone()
            },
            ids: self.ids.clone(),
            rows_by_position: self.rows_by_position,
            columns_by_position: self.columns_by_position,
            is_followed: is_sample || is_test || self.answers.as_deref() == Some(path),
        }
    }
}
