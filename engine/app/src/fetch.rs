//! Fetches bundles without preparing anything.

use std::path::PathBuf;

use prep_cache::{Content, Store};
use prep_core::{Cancel, Context, Failure, Remedy, Source as _};

use crate::error::Error;
use crate::stages::sources;
use crate::task::Task;
use crate::team::push::remote_of;

/// Ensures that the complete bundle of a competition is in the data directory or the directory of bundles. Downloads it
/// if necessary, and checks the published MD5 unless that is disabled. Returns the bundle's path.
///
/// # Errors
/// Returns an error if the bundle does not exist and cannot be downloaded, or differs from the published one.
pub fn fetch(task: &Task, id: &str, cancel: &Cancel) -> Result<PathBuf, Error> {
    let entry = task.catalog.get(id)?;
    let pipeline = entry.load(&task.options.variant)?;
    let store = Store::open(&task.settings.store_dir)?;
    let in_use = cancel.in_use(&store)?;
    let context = Context::new(store, task.settings.limits(), cancel.clone()).with_lock(in_use);
    let bundle = sources::bundle(id, &pipeline, task);
    bundle.run(&context)?;
    let nowhere = || {
        Error::new(
            Failure::Internal,
            format!("the bundle of `{id}` is missing after the download"),
        )
    };
    // `fetch` may have created the directory, so the bundle is located again.
    bundle.location().ok_or_else(nowhere)
}

/// Ensures that the bundle of a competition is in the mirror. If it is missing, sends the local bundle, after
/// downloading it if necessary. Returns whether the bundle was sent.
///
/// # Errors
/// Same as [`fetch`]. Also returns an error if the remote does not accept the bundle.
pub fn mirror(task: &Task, id: &str, cancel: &Cancel) -> Result<bool, Error> {
    let link = remote_of(&task.settings)?;
    let store = Store::open(&task.settings.store_dir)?;
    link.remember_in(&store);
    let pipeline = task.catalog.get(id)?.load(&task.options.variant)?;
    let published = pipeline.bundle.md5.as_deref();
    let is_published = |content: &Content| {
        published.is_none_or(|published| {
            let recorded = content.md5.as_deref();
            recorded.is_some_and(|recorded| recorded.eq_ignore_ascii_case(published))
        })
    };
    let known = link.source(id)?;
    if let Some(known) = &known
        && known.mirrored
        && is_published(&known.content)
    {
        return Ok(false);
    }
    let path = fetch(task, id, cancel)?;
    let record = match store.source(&path)? {
        Some(record) => record,
        None => store.ingest(&path, true, &|_| {})?,
    };
    let content = record.content();
    // The remote's results were computed from a different bundle, and no published checksum shows that the local bundle
    // is the right one.
    if let Some(known) = known
        && known.content.digest != content.digest
        && (published.is_none() || !is_published(&content))
    {
        let message = format!(
            "{} is not the bundle of `{id}` from which the remote's results were computed",
            path.display()
        );
        let remedy = Remedy::PrepareAndSend { id: id.to_owned() };
        return Err(Error::new(Failure::Check, message).help(remedy));
    }
    let file = std::fs::File::open(&path);
    let file = file.map_err(|error| Error::reading("read", &path, &error))?;
    link.send_source(id, &content, Some(file))?;
    if !task.options.keep_bundles {
        prep_fetch::discard(&task.settings.data_dir, id);
    }
    Ok(true)
}
