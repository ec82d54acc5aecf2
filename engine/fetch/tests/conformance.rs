//! Checks that each kind of source meets the requirements that all sources have in common.

use std::fs;
use std::path::Path;

use prep_conformance::{SourceCase, Violation, check_source};
use prep_core::Source;
use prep_fault_server::{At, Bundle, Fault, Kind};
use prep_fetch::{
    BundleChecksums, LocalBundle, LocalDirectory, Members, PartOfBundle, WebAddress, WebFile,
};
use prep_formats::zip::{ZipMethod, ZipWriter};

use crate::common::{Fixture, ID, Outcome, content, search};

#[test]
fn a_local_bundle_meets_the_requirements_of_a_source() -> Outcome {
    let dir = crate::temporary::directory();
    let path = dir.path().join(format!("{ID}.zip"));
    fs::write(&path, content(100_000, 1))?;
    check_source(&SourceCase {
        source: &|| Box::new(LocalBundle::new(ID, &[dir.path()], None)),
        change: &|| fs::write(&path, content(100_000, 2)).unwrap(),
        remove: &|| fs::remove_file(&path).unwrap(),
    })?;
    Ok(())
}

#[test]
fn a_directory_meets_the_requirements_of_a_source() -> Outcome {
    let dir = crate::temporary::directory();
    let path = dir.path().join("source");
    fs::create_dir_all(path.join("inner"))?;
    fs::write(path.join("a.csv"), "a")?;
    fs::write(path.join("inner/b.csv"), "b")?;
    check_source(&SourceCase {
        source: &|| Box::new(LocalDirectory::new("source", path.clone())),
        change: &|| fs::write(path.join("inner/b.csv"), "c").unwrap(),
        remove: &|| fs::remove_dir_all(&path).unwrap(),
    })?;
    Ok(())
}

fn check_download(
    fixture: &Fixture,
    source: impl Fn() -> Box<dyn Source>,
) -> Result<(), Violation> {
    let path = || source().location().unwrap();
    check_source(&SourceCase {
        source: &source,
        change: &|| fs::write(path(), content(100_000, 2)).unwrap(),
        remove: &|| {
            fs::remove_file(path()).unwrap();
            let gone = |side| Fault::at(side, Kind::status(404)).always();
            fixture
                .server
                .set_faults([At::Api, At::Store].map(gone).to_vec());
        },
    })
}

#[test]
fn a_downloaded_bundle_meets_the_requirements_of_a_source() -> Outcome {
    let fixture = Fixture::new(Bundle::new(ID, content(100_000, 1)), Vec::new());
    check_download(&fixture, || Box::new(fixture.source(None)))?;
    Ok(())
}

#[test]
fn a_part_of_a_bundle_meets_the_requirements_of_a_source() -> Outcome {
    let mut zip = ZipWriter::new(Vec::new());
    for member in ["a.bin", "b.bin"] {
        zip.add_file(member, ZipMethod::Stored, &*content(100_000, 1))?;
    }
    let fixture = Fixture::new(Bundle::new(ID, zip.finish()?), Vec::new());
    let members = || Members::new(["a.bin".to_owned()]).unwrap();
    check_download(&fixture, || {
        Box::new(PartOfBundle::new(fixture.source(None), members()))
    })?;
    Ok(())
}

#[test]
fn a_file_at_a_url_meets_the_requirements_of_a_source() -> Outcome {
    let fixture = Fixture::new(Bundle::new(ID, content(100_000, 1)), Vec::new());
    let url = fixture.server.file(ID);
    let data = fixture.data();
    let file = |data: &Path| {
        let address = WebAddress {
            source: "labels",
            file: "labels.zip",
            url: &url,
            member: None,
        };
        let sums = BundleChecksums::default();
        WebFile::new(
            address,
            search(ID, data),
            sums,
            true,
            fixture.network.clone(),
        )
        .unwrap()
    };
    check_download(&fixture, || Box::new(file(&data)))?;
    Ok(())
}
