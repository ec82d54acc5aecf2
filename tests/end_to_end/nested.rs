//! Tests that archives inside the bundle are read in place.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use prep_formats::archive::StoredForms;
use prep_formats::limits::DecodingLimits;
use prep_formats::sevenz::SevenZWriter;
use prep_formats::tar::{self, TarWriter};

use crate::support::{Archive, Member, Sandbox, names_in, zip_members};

pub const ID: &str = "photos";
pub const PHOTOS: usize = 200;

/// Returns noise that deflate shortens by an eighth, so that no block is stored uncompressed.
fn photo(number: usize) -> &'static [u8] {
    static PHOTO: [OnceLock<Vec<u8>>; PHOTOS] = [const { OnceLock::new() }; PHOTOS];
    PHOTO[number].get_or_init(|| {
        let mut state = number as u64 * 0x9e37_79b9 + 1;
        let bytes = (0..180_000 + number * 7).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as u8 & 0x7f
        });
        bytes.collect()
    })
}

fn name(number: usize) -> String {
    format!("{number:04}.jpg")
}

pub fn photos(order: impl Iterator<Item = usize>) -> Vec<u8> {
    let photos = order.map(|number| (name(number), photo(number)));
    let archive = photos.fold(Archive::new(), |archive, (name, content)| {
        archive.member(Member::stored(&name, content))
    });
    archive.bytes()
}

fn packed(kind: &str) -> Vec<u8> {
    let photos = (0..PHOTOS).map(|number| (name(number), photo(number)));
    if kind == "7z" {
        let mut archive = SevenZWriter::new(Cursor::new(Vec::new()), 0);
        for (name, content) in photos {
            archive.add_file(&name, content).expect("7z");
        }
        return archive.finish().expect("7z").into_inner();
    }
    let mut archive = TarWriter::new(Vec::new());
    for (name, content) in photos {
        let length = content.len() as u64;
        archive.add_file(&name, length, content).expect("tar");
    }
    let tar = archive.finish().expect("tar");
    if kind == "tar" {
        return tar;
    }
    // The default level, because the fastest level writes a single block.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&tar).expect("memory");
    gzip.finish().expect("memory")
}

/// Returns a bundle of two archives: the photos, and a table.
pub fn bundle(photos: Vec<u8>) -> Archive {
    bundle_with(Member::deflated("photos.zip", photos))
}

fn bundle_with(photos: Member) -> Archive {
    let rows = (0..PHOTOS).map(|number| format!("{},{}\n", name(number), number % 3));
    let table = format!("photo,kind\n{}", rows.collect::<String>());
    let labels = Archive::new().member(Member::deflated("labels.csv", table));
    Archive::new()
        .member(photos)
        .member(Member::deflated("labels.csv.zip", labels.bytes()))
}

/// Returns a pipeline that publishes all photos in a directory.
/// If `archive` is not empty, also publishes an archive of photos, in another order than in the bundle.
pub fn pipeline(archive: &str) -> String {
    format!(
        "\
name: Photos
category: Image Classification
bundle: {{ kaggle: photos }}
tables:
  labels: {{ read: labels.csv.zip/labels.csv, columns: {{ photo: text, kind: integer }} }}
  photos: {{ files: photos.zip/*.jpg }}
public:
  labels.csv: SELECT * FROM labels
  photos/: SELECT file, name AS path FROM photos
{archive}private:
  answers.csv: SELECT photo, kind FROM labels WHERE kind = 0
"
    )
}

const MIXED: &str = "  mixed.zip: { zip_stored: { ./: \"SELECT file, (_row * 7 % 200) || '.jpg' AS path FROM photos\" } }
";

fn installed(photos: Vec<u8>, archive: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bundle(ID, &bundle(photos).bytes());
    sandbox.pipeline(ID, &pipeline(archive));
    sandbox
}

#[track_caller]
fn assert_has_all_photos(sandbox: &Sandbox) {
    for number in 0..PHOTOS {
        let path = sandbox
            .prepared(ID)
            .join("public/photos")
            .join(name(number));
        assert!(
            fs::read(path).expect("a photo") == photo(number),
            "{number}"
        );
    }
    let labels = fs::read_to_string(sandbox.prepared(ID).join("public/labels.csv"));
    assert!(
        labels
            .expect("labels")
            .starts_with("photo,kind\n0000.jpg,0\n0001.jpg,1\n")
    );
}

/// Counts the bytes of files without another hard link.
fn bytes_below(directory: &Path) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let found = entry.metadata().expect("its metadata");
        bytes += match found.is_dir() {
            true => bytes_below(&entry.path()),
            false if found.nlink() > 1 => 0,
            false => found.len(),
        };
    }
    bytes
}

#[test]
fn nested_archives_are_read_without_a_copy() {
    let turned = (0..PHOTOS).map(|number| number * 211 % PHOTOS);
    for photos in [photos(0..PHOTOS), photos(turned)] {
        let sandbox = installed(photos, "");
        sandbox.run_and_count_steps(ID);
        assert_has_all_photos(&sandbox);
        let prepared = bytes_below(&sandbox.prepared(ID));
        let store = bytes_below(&sandbox.store());
        assert!(store * 50 < prepared, "{store} bytes for {prepared}");
        assert!(names_in(&sandbox.store().join("tmp")).is_empty());
        // A run restores missing files from the bundle, and changes no other file.
        let path = sandbox.prepared(ID).join("public/photos").join(name(7));
        fs::remove_file(&path).expect("removed");
        assert_eq!(sandbox.run_and_count_steps(ID), 1);
        assert_has_all_photos(&sandbox);
        assert_eq!(sandbox.run_and_count_steps(ID), 0);
    }
}

/// An output may have its files in another order than the bundle. This must also work with little memory.
#[test]
fn files_can_be_read_in_any_order() {
    let sandbox = installed(photos(0..PHOTOS), MIXED);
    let mut command = sandbox.run_command(&[ID]);
    command.args(["--memory", "64MB", "--jobs", "3"]);
    assert!(command.output().expect("a run").status.success());
    assert_has_all_photos(&sandbox);
    let archive = fs::read(sandbox.prepared(ID).join("public/mixed.zip")).expect("an archive");
    assert_is_mixed(&zip_members(&archive));
    assert!(names_in(&sandbox.store().join("tmp")).is_empty());
    let store = bytes_below(&sandbox.store());
    assert!(store * 50 < bytes_below(&sandbox.prepared(ID)), "{store}");
}

#[track_caller]
fn assert_is_mixed(members: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(members.len(), PHOTOS);
    for number in 0..PHOTOS {
        let member = members.get(&format!("{}.jpg", number * 7 % PHOTOS));
        assert!(member.expect("a member") == photo(number), "{number}");
    }
}

/// The bundle contains an archive of each kind, stored or deflated.
#[test]
fn archives_of_every_kind_are_read_in_place() {
    let tar = MIXED
        .replace("zip_stored", "tar")
        .replace("mixed.zip", "mixed.tar");
    for kind in ["tar", "tar.gz", "7z"] {
        let (photos, name) = (packed(kind), format!("photos.{kind}"));
        let members = [
            Member::stored(&name, &photos),
            Member::deflated(&name, &photos),
        ];
        for (deflated, member) in members.into_iter().enumerate() {
            let sandbox = Sandbox::new();
            sandbox.bundle(ID, &bundle_with(member).bytes());
            let pipeline = pipeline(&format!("{MIXED}{tar}")).replace("photos.zip", &name);
            sandbox.pipeline(ID, &pipeline);
            let mut command = sandbox.run_command(&[ID]);
            command.args(["--memory", "64MB", "--jobs", ["1", "3"][deflated]]);
            assert!(command.output().expect("a run").status.success(), "{name}");
            assert_has_all_photos(&sandbox);
            let read = |name: &str| fs::read(sandbox.prepared(ID).join("public").join(name));
            assert_is_mixed(&zip_members(&read("mixed.zip").expect("an archive")));
            let mut members = BTreeMap::new();
            let mixed = read("mixed.tar").expect("an archive");
            let budget = DecodingLimits::default().budget(1 << 30);
            let listed = tar::read(
                &*mixed,
                &budget,
                StoredForms::Skip,
                &mut |member, content| {
                    let mut bytes = Vec::new();
                    content.read_to_end(&mut bytes)?;
                    members.insert(member.path.to_owned(), bytes);
                    Ok(())
                },
            );
            listed.expect("tar");
            assert_is_mixed(&members);
            assert!(names_in(&sandbox.store().join("tmp")).is_empty());
            let store = bytes_below(&sandbox.store());
            let prepared = bytes_below(&sandbox.prepared(ID));
            assert!(
                store * 50 < prepared,
                "{name}: {store} bytes for {prepared}"
            );
        }
    }
}

/// A 7z archive has a checksum per member, so the error names the member. A gzip file has one checksum at its end.
#[test]
fn damage_in_archives_of_every_kind_is_reported() {
    let tar = MIXED
        .replace("zip_stored", "tar")
        .replace("mixed.zip", "mixed.tar");
    for (kind, says) in [("tar.gz", "photos.tar.gz"), ("7z", ".jpg")] {
        let mut photos = packed(kind);
        let last = photos.len() - 2_000_000;
        photos[last] ^= 1;
        let name = format!("photos.{kind}");
        for archive in ["", &*tar] {
            let sandbox = Sandbox::new();
            sandbox.bundle(ID, &bundle_with(Member::stored(&name, &photos)).bytes());
            sandbox.pipeline(ID, &pipeline(archive).replace("photos.zip", &name));
            sandbox
                .run(ID)
                .code(4)
                .stderr_has(&[says, "damaged", "fetch"]);
            assert!(!sandbox.prepared(ID).exists());
        }
    }
}

/// A checksum of the nested archive or of its members reveals the damage.
#[test]
fn damaged_nested_archive_prevents_publishing() {
    let whole = bundle(photos(0..PHOTOS));
    let mut inside = photos(0..PHOTOS);
    inside[200_000] ^= 1;
    for (bundle, says) in [
        (whole.clone().damage("photos.zip").bytes(), "photos.zip"),
        (bundle(inside).bytes(), "0001.jpg"),
    ] {
        let sandbox = installed(Vec::new(), "");
        sandbox.bundle(ID, &bundle);
        sandbox.run(ID).code(4).stderr_has(&[says, "CRC"]);
        assert!(!sandbox.prepared(ID).exists());
        sandbox.bundle(ID, &whole.bytes());
        sandbox.run_and_count_steps(ID);
        assert_has_all_photos(&sandbox);
    }
}

/// With a cache but without the bundle, steps that need bytes of the bundle fail, and other steps run.
#[test]
fn steps_that_need_a_missing_bundle_fail() {
    let sandbox = installed(photos(0..PHOTOS), "");
    sandbox.run_and_count_steps(ID);
    let path = sandbox.source().join(format!("{ID}.zip"));
    let bundle = fs::read(&path).expect("the bundle");
    fs::remove_file(&path).expect("removed");
    let text = pipeline("").replace("kind = 0", "kind = 1");
    sandbox.pipeline(ID, &text);
    sandbox.run_and_count_steps(ID);
    assert_has_all_photos(&sandbox);
    let photo = sandbox.prepared(ID).join("public/photos").join(name(3));
    fs::remove_file(photo).expect("removed");
    sandbox.run(ID).stderr_has(&["photos"]);
    sandbox.bundle(ID, &bundle);
    sandbox.run_and_count_steps(ID);
    assert_has_all_photos(&sandbox);
}
