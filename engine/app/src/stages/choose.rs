//! First stage: finds the catalog entries of a task's competitions.

use prep_core::Failure;
use prep_digests::Lockfile;

use super::lock;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::task::Task;

/// The selected competitions.
pub(crate) struct Chosen<'a> {
    /// The catalog entries, in the order of the ids.
    pub entries: Vec<&'a CatalogEntry>,
    /// `prep.lock`, if the prepared data must agree with it.
    pub lock: Option<Lockfile>,
}

impl<'a> Chosen<'a> {
    /// Finds the entries of `ids`.
    ///
    /// # Errors
    /// Returns an error if a competition does not exist, the directory of bundles does not exist, or `prep.lock` cannot be
    /// read.
    pub(super) fn choose(task: &'a Task, ids: &[String]) -> Result<Chosen<'a>, Error> {
        let source = task.options.remembered.source.as_ref();
        if let Some(source) = source.filter(|source| !source.is_dir()) {
            let message = format!("the source `{}` is not a directory", source.display());
            return Err(Error::new(Failure::Input, message)
                .help("name the directory that has ID.zip or ID/ID.zip"));
        }
        let lock = match task.options.locked {
            true => Some(lock::read(&task.settings.data_dir)?),
            false => None,
        };
        let entries = ids.iter().map(|id| task.catalog.get(id));
        Ok(Chosen {
            entries: entries.collect::<Result<_, _>>()?,
            lock,
        })
    }
}
