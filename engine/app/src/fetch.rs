//! Fetches bundles without preparing anything.

use std::path::PathBuf;

use prep_cache::{Content, Store};
use prep_core::{Cancel, Context, Failure, Source as _};

use crate::error::Error;
use crate::stages::sources;
use crate::task::Task;
use crate::team::push::remote_of;

/// Makes sure that the complete bundle of a competition is in the data directory or the directory of bundles, with its published MD5 if
/// that is checked. Returns its path.
///
/// # Errors
/// When the bundle does not exist and cannot be downloaded, or differs from the published one.
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
            format!("the bundle of `{id}` is nowhere"),
        )
    };
    // The directory may be new.
    bundle.location().ok_or_else(nowhere)
}

/// Makes sure that the bundle of a competition is in the mirror. Otherwise sends the local bundle, or downloads it first. Returns
/// whether it was sent.
///
/// # Errors
/// As [`fetch`]; and when the remote does not accept the bundle.
pub fn mirror(task: &Task, id: &str, cancel: &Cancel) -> Result<bool, Error> {
    let link = remote_of(&task.settings)?;
    let store = Store::open(&task.settings.store_dir)?;
    link.remember_in(&store);
    let pipeline = task.catalog.get(id)?.load(&task.options.variant)?;
    let published = pipeline.bundle.md5.as_deref();
    let is_published = |content: &Content| {
        published.is_none_or(|published| {
            let told = content.md5.as_deref();
            told.is_some_and(|told| told.eq_ignore_ascii_case(published))
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
    // Results were made from the other bundle, and no checksum shows that this one is better.
    if let Some(known) = known
        && known.content.digest != content.digest
        && (published.is_none() || !is_published(&content))
    {
        let message = format!(
            "{} is not the bundle of `{id}` that the remote's results were made of",
            path.display()
        );
        return Err(Error::new(Failure::Check, message)
            .help("prepare it with `prep run`, which sends bundle and results if they are right"));
    }
    let file = std::fs::File::open(&path);
    let file = file.map_err(|error| Error::reading("read", &path, &error))?;
    link.send_source(id, &content, Some(file))?;
    if !task.options.keep_bundles {
        prep_fetch::discard(&task.settings.data_dir, id);
    }
    Ok(true)
}
