//! Getting a bundle without preparing anything.

use std::path::PathBuf;

use prep_cache::Store;
use prep_core::{Cancel, Context, Failure, Source as _};
use prep_fetch::KaggleBundle;

use crate::error::Error;
use crate::plan::Task;

/// Sees that the bundle of a competition is in the data folder or the folder of bundles, whole, and with its published MD5
/// if that is to be checked. Returns where it is.
///
/// # Errors
/// When it is not there and cannot be downloaded, or is another one than the published one.
pub fn fetch(task: &Task<'_>, id: &str, cancel: &Cancel) -> Result<PathBuf, Error> {
    let entry = task.catalog.get(id)?;
    let pipeline = entry.load(&task.options.variant)?;
    let store = Store::open(&task.settings.store_dir)?;
    let _in_use = store.in_use()?;
    let context = Context::new(store, task.settings.limits(), cancel.clone());
    let options = task.options;
    let folders: Vec<_> = options.source.iter().map(PathBuf::as_path).collect();
    let checked = options.check_outputs && options.check_bundle;
    let bundle = KaggleBundle::new(
        id,
        &pipeline.bundle.kaggle,
        &task.settings.data_dir,
        &folders,
        pipeline.bundle.md5.as_deref().filter(|_| checked),
        task.network.clone(),
    );
    bundle.run(&context)?;
    let nowhere = || {
        Error::new(
            Failure::Internal,
            format!("the bundle of `{id}` is nowhere"),
        )
    };
    // It may not have been there before.
    bundle.location().ok_or_else(nowhere)
}
