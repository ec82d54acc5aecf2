//! A local file is used in place of the file at a URL only if the local file has the published checksum, or if it is a
//! member of the bundle that the pipeline names.

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use common::{Fixture, ID, Outcome, content, context, search};
use prep_core::{Failure, Source};
use prep_fault_server::Bundle;
use prep_fetch::{
    BundleChecksums, FetchError, LazyNetwork, Network, SearchPath, WebAddress, WebFile,
};
use prep_formats::zip::{ZipMethod, ZipWriter};
use sha2::{Digest as _, Sha256};

use crate::until::wait_until_open;

const FILE: &str = "labels.csv";

fn sha256(bytes: &[u8]) -> BundleChecksums {
    let sum = Sha256::digest(bytes);
    BundleChecksums {
        md5: None,
        sha256: Some(sum.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}

/// A server with one file, and the directories in which a source searches for this file.
struct Place {
    fixture: Fixture,
    bytes: Vec<u8>,
}

impl Place {
    fn new() -> Place {
        let bytes = content(50_000, 1);
        Place {
            fixture: Fixture::new(Bundle::new(FILE, bytes.clone()), Vec::new()),
            bytes,
        }
    }

    fn user(&self) -> PathBuf {
        self.fixture.dir.path().join("user")
    }

    fn target(&self) -> PathBuf {
        self.fixture.data().join(ID).join("sources").join(FILE)
    }

    fn write_bundle(&self, bytes: &[u8]) {
        let mut zip = ZipWriter::new(Vec::new());
        zip.add_file(FILE, ZipMethod::Deflate, bytes).unwrap();
        let bytes = zip.finish().unwrap();
        let directory = self.fixture.data().join(ID);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("{ID}.zip")), bytes).unwrap();
    }

    fn write_user(&self, path: &str, bytes: &[u8]) {
        let path = self.user().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn source(&self, sums: &BundleChecksums, is_checked: bool, member: Option<&str>) -> WebFile {
        let url = self.fixture.server.file(FILE);
        let address = WebAddress {
            source: "labels",
            file: FILE,
            url: &url,
            member,
        };
        let (user, data) = (self.user(), self.fixture.data());
        let search = SearchPath {
            id: ID,
            directories: &[&user],
            data: &data,
        };
        let network = self.fixture.network.clone();
        WebFile::new(address, search, sums.clone(), is_checked, network).unwrap()
    }

    fn read(&self, source: &WebFile) -> Vec<u8> {
        source.run(&self.fixture.context).unwrap();
        fs::read(source.location().unwrap()).unwrap()
    }

    fn requests(&self) -> usize {
        self.fixture.server.requests().len()
    }
}

#[test]
fn a_file_of_the_same_name_needs_the_published_checksum() {
    let other = content(50_000, 2);
    for (with_sum, is_checked, is_same) in [
        (false, true, false),
        (false, true, true),
        (false, false, true),
        (true, false, false),
        (true, true, true),
        (true, false, true),
    ] {
        for copy in ["bundle", FILE, &format!("{ID}/{FILE}")] {
            let name = format!("{copy}, {with_sum} {is_checked} {is_same}");
            let place = Place::new();
            let bytes = if is_same { &place.bytes } else { &other };
            match copy {
                "bundle" => place.write_bundle(bytes),
                path => place.write_user(path, bytes),
            }
            let sums = match with_sum {
                true => sha256(&place.bytes),
                false => BundleChecksums::default(),
            };
            let source = place.source(&sums, is_checked, None);
            assert!(place.read(&source) == place.bytes, "{name}");
            let is_used = with_sum && is_same;
            assert_eq!(place.requests() == 0, is_used, "{name}");
            let state = source.state(&place.fixture.context).unwrap();
            let known = matches!(state, prep_core::SourceState::Known { .. });
            assert!(known, "{name}: {state:?}");
        }
    }
}

#[test]
fn a_file_of_the_user_with_a_wrong_checksum_is_an_error() {
    let place = Place::new();
    place.write_user(FILE, &content(50_000, 2));
    let source = place.source(&sha256(&place.bytes), true, None);
    let error = source.run(&place.fixture.context).unwrap_err();
    assert_eq!(error.failure(), Failure::Check);
    assert_eq!(place.requests(), 0);
}

#[test]
fn a_member_with_a_wrong_checksum_is_not_used() {
    let place = Place::new();
    place.write_bundle(&content(50_000, 2));
    let source = place.source(&sha256(&place.bytes), true, None);
    assert!(place.read(&source) == place.bytes);
    assert!(place.requests() > 0);
}

#[test]
fn a_member_that_the_pipeline_names_is_used() {
    let place = Place::new();
    let other = content(50_000, 2);
    place.write_bundle(&other);
    let none = BundleChecksums::default();
    let source = place.source(&none, true, Some(FILE));
    assert!(place.read(&source) == other);
    assert_eq!(place.requests(), 0);
    let source = place.source(&none, true, None);
    assert_eq!(source.location(), None);
    assert!(place.read(&source) == place.bytes);
}

#[test]
fn a_file_without_a_record_of_its_origin_is_used() {
    let place = Place::new();
    let other = content(50_000, 2);
    fs::create_dir_all(place.target().parent().unwrap()).unwrap();
    fs::write(place.target(), &other).unwrap();
    let source = place.source(&BundleChecksums::default(), true, None);
    assert!(place.read(&source) == other);
}

/// If a download is complete but its record in the cache cannot be written, the downloaded file stays.
#[test]
fn a_record_that_cannot_be_written_deletes_no_download() -> Outcome {
    let place = Place::new();
    let wrong = BundleChecksums {
        sha256: Some("0".repeat(64)),
        ..BundleChecksums::default()
    };
    let source = place.source(&wrong, true, None);
    assert!(source.run(&place.fixture.context).is_err());
    assert!(!place.target().exists(), "its checksum is wrong");

    let place = Place::new();
    let source = place.source(&sha256(&place.bytes), true, None);
    source.run(&place.fixture.context)?;
    let records = place.fixture.dir.path().join("store/sources-v1");
    let files = |directory: &Path| -> Vec<PathBuf> {
        let mut unvisited = vec![directory.to_path_buf()];
        let mut files = Vec::new();
        while let Some(path) = unvisited.pop() {
            match path.is_dir() {
                true => {
                    unvisited.extend(fs::read_dir(path).unwrap().map(|one| one.unwrap().path()))
                }
                false => files.push(path),
            }
        }
        files
    };
    let record = place.fixture.context.store.source(&place.target())?;
    assert!(record.is_some());
    // Some records have the same path after each download, so the test can block these paths.
    let first_records = files(&records);
    fs::remove_file(place.target())?;
    for path in &first_records {
        fs::remove_file(path)?;
    }
    source.run(&place.fixture.context)?;
    fs::remove_file(place.target())?;
    let same_path: Vec<_> = first_records.iter().filter(|path| path.exists()).collect();
    let mut failures = 0;
    for path in same_path {
        for record in files(&records) {
            fs::remove_file(record)?;
        }
        // A directory has the path of the record, so the record cannot be written.
        fs::create_dir_all(path.join("taken"))?;
        let context = context(&place.fixture.dir);
        let failed = source.run(&context).is_err();
        fs::remove_dir_all(path)?;
        if failed {
            failures += 1;
            assert!(place.target().exists(), "the download was deleted");
        }
        let _ = fs::remove_file(place.target());
    }
    assert!(failures > 0, "no record failed");
    Ok(())
}

fn offline(data: &Path, sums: BundleChecksums) -> WebFile {
    let address = WebAddress {
        source: "labels",
        file: FILE,
        url: "https://example.invalid/labels.csv",
        member: None,
    };
    let network = LazyNetwork::new(|| -> Result<Network, _> { Err(FetchError::NotAllowed) });
    WebFile::new(address, search(ID, data), sums, true, network).unwrap()
}

#[test]
fn a_file_is_extracted_from_the_bundle_without_leftovers() -> Outcome {
    let place = Place::new();
    let bytes = content(300_000, 1);
    place.write_bundle(&bytes);
    let sources = place.target().parent().unwrap().to_path_buf();
    fs::create_dir(&sources)?;
    let partial = sources.join(format!("{FILE}.partial"));
    fs::write(&partial, vec![7; 400_000])?;
    fs::write(partial.with_extension("partial.map"), "{}")?;
    let source = offline(&place.fixture.data(), sha256(&bytes));
    source.run(&place.fixture.context)?;
    assert!(fs::read(place.target())? == bytes, "the bytes differ");
    let mut left: Vec<_> = fs::read_dir(sources)?
        .map(|one| one.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, [FILE, "labels.csv.url"]);
    Ok(())
}

#[test]
fn an_extraction_waits_for_the_lock_of_the_download() -> Outcome {
    let place = Place::new();
    let bytes = content(300_000, 2);
    place.write_bundle(&bytes);
    let sources = place.target().parent().unwrap().to_path_buf();
    fs::create_dir(&sources)?;
    let partial = sources.join(format!("{FILE}.partial"));
    let lock = prep_cache::try_lock_data(&partial)?.ok_or("locked")?;
    let data = place.fixture.data();
    thread::scope(|scope| {
        let source = offline(&data, sha256(&bytes));
        let context = &place.fixture.context;
        let extraction = scope.spawn(move || source.run(context).is_ok());
        wait_until_open(std::process::id(), &data.join(ID), 2);
        assert!(
            !place.target().exists(),
            "the file was created without the lock"
        );
        drop(lock);
        assert!(extraction.join().unwrap());
    });
    assert!(fs::read(place.target())? == bytes, "the bytes differ");
    Ok(())
}
