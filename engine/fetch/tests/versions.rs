//! A downloaded file never contains bytes of two versions, whichever ETag and modification time the server sends.

use crate::common;
use std::fs;
use std::path::Path;

use common::{Fixture, ID, Outcome, content, search};
use prep_core::{Source, StepError, Value};
use prep_fault_server::{
    At, Bundle, Content, Etag, Fault, Kind, MemberFile, Modified, Side, Validators,
};
use prep_fetch::{BundleChecksums, Members, PartOfBundle, WebAddress, WebFile};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipMethod, ZipWriter};

/// Approximate size of a downloaded file in bytes.
const LENGTH: usize = 400_003;

const ETAGS: [Etag; 5] = [
    Etag::Strong,
    Etag::Weak,
    Etag::ConstantWeak,
    Etag::None,
    Etag::Strong,
];
const TIMES: [Modified; 3] = [Modified::Changing, Modified::Constant, Modified::None];

fn all_validators() -> Vec<Validators> {
    let mut all = Vec::new();
    for etag in ETAGS {
        for modified in TIMES {
            for once in [false, true] {
                all.push(Validators {
                    etag,
                    modified,
                    once,
                });
            }
        }
    }
    all
}

fn archive(seed: u64) -> Vec<u8> {
    let mut zip = ZipWriter::new(Vec::new());
    for member in 0..3 {
        let bytes = content(LENGTH / 3, 10 * seed + member);
        let name = format!("{member}.bin");
        zip.add_file(&name, ZipMethod::Stored, &*bytes).unwrap();
    }
    zip.finish().unwrap()
}

fn replacement(bytes: Vec<u8>) -> Kind {
    Kind::Replace(Content::from(bytes))
}

#[derive(Debug, Clone, Copy)]
enum Download {
    Bundle,
    Url,
    Part,
}

impl Download {
    fn source(self, fixture: &Fixture) -> Box<dyn Source> {
        match self {
            Download::Bundle => Box::new(fixture.source(None)),
            Download::Url => Box::new(web(fixture, ID, "x.zip")),
            Download::Part => {
                let members = Members::new(["1.bin".to_owned()]).unwrap();
                Box::new(PartOfBundle::new(fixture.source(None), members))
            }
        }
    }

    fn run(self, fixture: &Fixture) -> Result<Value, StepError> {
        self.source(fixture).run(&fixture.context)
    }

    /// Returns whether the downloaded file at `path` equals one of `versions`. For [`Download::Part`], compares only the
    /// fetched member.
    fn is_one_of(self, path: &Path, versions: &[&Vec<u8>]) -> bool {
        let bytes = fs::read(path).unwrap();
        match self {
            Download::Bundle | Download::Url => versions.contains(&&bytes),
            Download::Part => {
                let versions = versions.iter().map(|version| member(version, "1.bin"));
                versions
                    .into_iter()
                    .any(|one| one == member(&bytes, "1.bin"))
            }
        }
    }
}

fn member(archive: &[u8], path: &str) -> Vec<u8> {
    let range = 0..archive.len() as u64;
    let listing = ZipDirectory::read(archive, range, &DecodingLimits::default().budget(1 << 20));
    let listing = listing.unwrap();
    let entries = listing.entries();
    let entry = entries.iter().find(|entry| entry.path == path);
    let mut bytes = Vec::new();
    std::io::copy(&mut entry.unwrap().open(archive).unwrap(), &mut bytes).unwrap();
    bytes
}

fn web(fixture: &Fixture, bundle: &str, file: &str) -> WebFile {
    let url = fixture.server.file(bundle);
    let address = WebAddress {
        source: "web",
        file,
        url: &url,
        member: None,
    };
    let (data, sums) = (fixture.data(), BundleChecksums::default());
    WebFile::new(
        address,
        search(ID, &data),
        sums,
        true,
        fixture.network.clone(),
    )
    .unwrap()
}

#[test]
fn a_file_that_is_replaced_during_its_download_is_not_mixed() {
    let (first, second) = (archive(1), archive(2));
    assert_eq!(first.len(), second.len());
    for download in [Download::Bundle, Download::Url, Download::Part] {
        for validators in all_validators() {
            for request in [0, 1, 2, 5] {
                let place = format!("{download:?}, {validators:?}, replaced at {request}");
                let bundle = Bundle::new(ID, first.clone()).with_validators(validators);
                let fault = Fault::at(At::Store, replacement(second.clone())).after(request);
                let fixture = Fixture::new(bundle, vec![fault]);
                let source = download.source(&fixture);
                let result = source.run(&fixture.context);
                let can_be_verified = validators.etag == Etag::Strong && !validators.once;
                match source.location() {
                    Some(path) => {
                        assert!(
                            download.is_one_of(&path, &[&first, &second]),
                            "{place}: mixed"
                        );
                    }
                    None => {
                        let is_part = matches!(download, Download::Part);
                        assert!(
                            is_part && (!can_be_verified || request > 0),
                            "{place}: {result:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_replaced_between_two_runs_is_not_mixed() {
    let (first, second) = (archive(1), archive(2));
    for download in [Download::Bundle, Download::Url, Download::Part] {
        for validators in all_validators() {
            let place = format!("{download:?}, {validators:?}");
            let bundle = Bundle::new(ID, first.clone()).with_validators(validators);
            let drop = Fault::at_byte(LENGTH as u64 / 2, Kind::Drop).always();
            let fixture = Fixture::new(bundle, vec![drop]);
            assert!(download.run(&fixture).is_err(), "{place}");
            let fault = Fault::at(At::Store, replacement(second.clone()));
            fixture.server.set_faults(vec![fault]);
            let source = download.source(&fixture);
            let result = source.run(&fixture.context);
            match source.location() {
                Some(path) => assert!(download.is_one_of(&path, &[&second]), "{place}: mixed"),
                None => assert!(matches!(download, Download::Part), "{place}: {result:?}"),
            }
        }
    }
}

/// If responses do not prove which version of the file they contain, all bytes come from a single response.
#[test]
fn a_file_without_a_strong_validator_comes_from_one_answer() -> Outcome {
    let bytes = archive(1);
    for validators in all_validators() {
        let can_be_verified = validators.etag == Etag::Strong && !validators.once;
        let bundle = Bundle::new(ID, bytes.clone()).with_validators(validators);
        let fixture = Fixture::new(bundle, Vec::new());
        Download::Url.run(&fixture)?;
        let requests = fixture.server.requests_of(Side::Store);
        let is_whole = requests
            .last()
            .is_some_and(|request| request.range.is_none());
        assert_eq!(is_whole, !can_be_verified, "{validators:?}: {requests:?}");
    }
    Ok(())
}

/// Both URLs have the same ETag.
#[test]
fn a_partial_file_of_another_url_is_not_continued() -> Outcome {
    let (first, second) = (content(LENGTH, 1), content(LENGTH, 2));
    let shared = Validators {
        etag: Etag::Shared,
        ..Validators::default()
    };
    let bundle = |id, bytes: &Vec<u8>| Bundle::new(id, bytes.clone()).with_validators(shared);
    let drop = Fault::at_byte(LENGTH as u64 - 1, Kind::Drop).always();
    let bundles = vec![bundle("one", &first), bundle("two", &second)];
    let fixture = Fixture::with(bundles, vec![drop], |_| {});
    assert!(web(&fixture, "one", "x.bin").run(&fixture.context).is_err());
    fixture.server.set_faults(Vec::new());
    let source = web(&fixture, "two", "x.bin");
    source.run(&fixture.context)?;
    assert!(fs::read(source.location().ok_or("no file")?)? == second);
    let source = web(&fixture, "one", "x.bin");
    assert_eq!(source.location(), None);
    source.run(&fixture.context)?;
    assert!(fs::read(source.location().ok_or("no file")?)? == first);
    Ok(())
}

/// Between the two runs, the server adds a member before the members that the first run fetched.
#[test]
fn members_that_were_fetched_one_by_one_are_not_mixed_up() -> Outcome {
    let file = |path: &str, seed| {
        let bytes = content(30_000, seed);
        MemberFile {
            path: path.to_owned(),
            zipped: bytes.clone().into(),
            bytes: bytes.into(),
        }
    };
    let no_zip = b"7z\xbc\xaf\x27\x1c".repeat(1000);
    let bundle =
        Bundle::new(ID, no_zip.clone()).with_files(vec![file("b.bin", 1), file("c.bin", 2)]);
    let fixture = Fixture::new(bundle, Vec::new());
    let members = || Members::new(["*.bin".to_owned()]).unwrap();
    let source = || PartOfBundle::new(fixture.source(None), members());
    let fault = Fault::at(At::Api, Kind::status(418)).after(3).always();
    fixture.server.set_faults(vec![fault]);
    assert!(source().run(&fixture.context).is_err());
    let files = vec![file("a.bin", 3), file("b.bin", 1), file("c.bin", 2)];
    fixture
        .server
        .set_bundle(Bundle::new(ID, no_zip).with_files(files));
    fixture.server.set_faults(Vec::new());
    source().run(&fixture.context)?;
    let archive = fs::read(source().location().ok_or("no file")?)?;
    for (path, seed) in [("a.bin", 3), ("b.bin", 1), ("c.bin", 2)] {
        assert!(member(&archive, path) == content(30_000, seed), "{path}");
    }
    Ok(())
}

#[test]
fn a_server_that_caps_ranges_is_used_without_failures() -> Outcome {
    let bytes = archive(1);
    for cap in [1000, 16_000, 20_000] {
        for download in [Download::Bundle, Download::Url, Download::Part] {
            let fault = Fault::at(At::Store, Kind::Cap(cap)).always();
            let bundle = Bundle::new(ID, bytes.clone());
            let fixture = Fixture::with(vec![bundle], vec![fault], |options| options.attempts = 1);
            let source = download.source(&fixture);
            source.run(&fixture.context)?;
            let path = source.location().ok_or("no file")?;
            assert!(download.is_one_of(&path, &[&bytes]), "{download:?}, {cap}");
        }
    }
    Ok(())
}

#[test]
fn an_encoded_file_is_an_error_that_names_the_header() {
    for download in [Download::Bundle, Download::Url, Download::Part] {
        for at in [At::Store, At::Api] {
            if matches!((download, at), (Download::Url, At::Api)) {
                continue;
            }
            let fault = Fault::at(at, Kind::Encoding("gzip".into())).always();
            let fixture = Fixture::new(Bundle::new(ID, archive(1)), vec![fault]);
            let error = prep_core::chain(&download.run(&fixture).unwrap_err());
            assert!(
                error.contains("Content-Encoding: gzip"),
                "{download:?}: {error}"
            );
            assert_eq!(download.source(&fixture).location(), None);
        }
    }
    let fault = Fault::at(At::Store, Kind::Encoding("identity".into())).always();
    let fixture = Fixture::new(Bundle::new(ID, archive(1)), vec![fault]);
    assert!(Download::Bundle.run(&fixture).is_ok());
}
