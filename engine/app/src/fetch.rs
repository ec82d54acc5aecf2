//! Getting a bundle without preparing anything.

use std::path::PathBuf;

use prep_cache::Store;
use prep_core::{Cancel, Context, Failure, Source as _};
use prep_fetch::KaggleBundle;

use crate::error::Error;
use crate::plan::Task;
use crate::push::remote_of;

/// Sees that the bundle of a competition is in the data folder or the folder of bundles, whole, and with its published MD5
/// if that is to be checked. Returns where it is.
///
/// # Errors
/// When it is not there and cannot be downloaded, or is another one than the published one.
pub fn fetch(task: &Task<'_>, id: &str, cancel: &Cancel) -> Result<PathBuf, Error> {
    let entry = task.catalog.get(id)?;
    let pipeline = entry.load(&task.options.variant)?;
    let store = Store::open(&task.settings.store_dir)?;
    let _in_use = cancel.in_use(&store)?;
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

/// Sees that the bundle of a competition is in the mirror: it is fetched, or taken from where it lies, unless it is there
/// already. Returns whether it was sent.
///
/// # Errors
/// As [`fetch`]; when the remote does not take it.
pub fn mirror(task: &Task<'_>, id: &str, cancel: &Cancel) -> Result<bool, Error> {
    let link = remote_of(task.settings)?;
    let pipeline = task.catalog.get(id)?.load(&task.options.variant)?;
    let published = pipeline.bundle.md5.as_deref();
    if let Some(known) = link.source(id)? {
        let is_published = published.is_none_or(|published| {
            let told = known.content.md5.as_deref();
            told.is_some_and(|told| told.eq_ignore_ascii_case(published))
        });
        if known.mirrored && is_published {
            return Ok(false);
        }
    }
    let path = fetch(task, id, cancel)?;
    let store = Store::open(&task.settings.store_dir)?;
    let record = match store.source(&path)? {
        Some(record) => record,
        None => store.ingest(&path, true, &|_| {})?,
    };
    let file = std::fs::File::open(&path);
    let file = file.map_err(|error| Error::reading("read", &path, &error))?;
    link.send_source(id, &record.content(), Some(file))?;
    if !task.options.keep_bundles {
        prep_fetch::discard(&task.settings.data_dir, id);
    }
    Ok(true)
}
