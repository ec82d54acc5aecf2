//! A file of another source that is also in the bundle is extracted from the bundle instead of downloaded.

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use common::{ID, Outcome, content, context, search};
use prep_core::Source;
use prep_fetch::{BundleChecksums, LazyNetwork, Network, WebAddress, WebFile};
use prep_formats::zip::{ZipMethod, ZipWriter};
use tempfile::TempDir;

use crate::until::wait_until_open;

const FILE: &str = "labels.csv";

/// Returns a data directory with a bundle that contains the file.
fn data(dir: &TempDir, bytes: &[u8]) -> PathBuf {
    let data = dir.path().join("data");
    fs::create_dir_all(data.join(ID)).unwrap();
    let mut zip = ZipWriter::new(Vec::new());
    zip.add_file(FILE, ZipMethod::Deflate, bytes).unwrap();
    fs::write(
        data.join(ID).join(format!("{ID}.zip")),
        zip.finish().unwrap(),
    )
    .unwrap();
    data
}

fn source(data: &Path) -> WebFile {
    let address = WebAddress {
        source: "labels",
        file: FILE,
        url: "https://example.invalid/labels.csv",
    };
    let network =
        LazyNetwork::new(|| -> Result<Network, _> { Err(prep_fetch::FetchError::NotAllowed) });
    WebFile::new(
        address,
        search(ID, data),
        BundleChecksums::default(),
        network,
    )
    .unwrap()
}

fn target(data: &Path) -> PathBuf {
    data.join(ID).join("sources").join(FILE)
}

#[test]
fn a_file_is_extracted_from_the_bundle_without_leftovers() -> Outcome {
    let dir = tempfile::tempdir()?;
    let bytes = content(300_000, 1);
    let data = data(&dir, &bytes);
    fs::create_dir(data.join(ID).join("sources"))?;
    // These are the files of an incomplete download.
    let partial = data
        .join(ID)
        .join("sources")
        .join(format!("{FILE}.partial"));
    fs::write(&partial, vec![7; 400_000])?;
    fs::write(partial.with_extension("partial.map"), "{}")?;
    source(&data).run(&context(&dir))?;
    assert!(fs::read(target(&data))? == bytes, "the bytes differ");
    let left = fs::read_dir(data.join(ID).join("sources"))?;
    assert_eq!(left.count(), 1);
    Ok(())
}

/// Only one process at a time creates the file, by extracting or downloading it.
#[test]
fn an_extraction_waits_for_the_lock_of_the_download() -> Outcome {
    let dir = tempfile::tempdir()?;
    let bytes = content(300_000, 2);
    let data = data(&dir, &bytes);
    fs::create_dir(data.join(ID).join("sources"))?;
    let partial = data
        .join(ID)
        .join("sources")
        .join(format!("{FILE}.partial"));
    let lock = prep_cache::try_lock_file(&partial)?.ok_or("locked")?;
    let context = context(&dir);
    thread::scope(|scope| {
        let extraction = scope.spawn(|| source(&data).run(&context).is_ok());
        wait_until_open(std::process::id(), &data.join(ID), 2);
        assert!(
            !target(&data).exists(),
            "the file was created without the lock"
        );
        drop(lock);
        assert!(extraction.join().unwrap());
    });
    assert!(fs::read(target(&data))? == bytes, "the bytes differ");
    Ok(())
}

#[test]
fn a_failed_extraction_leaves_no_file() -> Outcome {
    let dir = tempfile::tempdir()?;
    let data = data(&dir, &content(300_000, 3));
    let bundle = data.join(ID).join(format!("{ID}.zip"));
    let mut bytes = fs::read(&bundle)?;
    bytes[150_000] ^= 1;
    fs::write(&bundle, bytes)?;
    source(&data)
        .run(&context(&dir))
        .expect_err("it is damaged");
    assert_eq!(fs::read_dir(data.join(ID).join("sources"))?.count(), 0);
    Ok(())
}
