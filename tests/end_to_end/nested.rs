//! Archives that are deflated inside the bundle: read where they lie.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::{Archive, Member, Sandbox, names_in, zip_members};

pub const ID: &str = "photos";
pub const PHOTOS: usize = 400;

/// Noise that deflate shortens by an eighth, so that it stores no block of it as it is.
fn photo(number: usize) -> Vec<u8> {
    let mut state = number as u64 * 0x9e37_79b9 + 1;
    let bytes = (0..180_000 + number * 7).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as u8 & 0x7f
    });
    bytes.collect()
}

fn name(number: usize) -> String {
    format!("{number:04}.jpg")
}

/// The photos in one order or another, as they lie in the archive.
pub fn photos(order: impl Iterator<Item = usize>) -> Vec<u8> {
    let photos = order.map(|number| (name(number), photo(number)));
    let archive = photos.fold(Archive::new(), |archive, (name, content)| {
        archive.member(Member::stored(&name, content))
    });
    archive.bytes()
}

/// A bundle with an archive of photos and a table in an archive.
pub fn bundle(photos: Vec<u8>) -> Archive {
    let rows = (0..PHOTOS).map(|number| format!("{},{}\n", name(number), number % 3));
    let table = format!("photo,kind\n{}", rows.collect::<String>());
    let labels = Archive::new().member(Member::deflated("labels.csv", table));
    Archive::new()
        .member(Member::deflated("photos.zip", photos))
        .member(Member::deflated("labels.csv.zip", labels.bytes()))
}

/// All photos in a folder; or in an archive too, in an order in which they do not lie.
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

const MIXED: &str = "  mixed.zip: { zip_stored: { ./: \"SELECT file, (_row * 7 % 400) || '.jpg' AS path FROM photos\" } }
";

fn installed(photos: Vec<u8>, archive: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bundle(ID, &bundle(photos).bytes());
    sandbox.pipeline(ID, &pipeline(archive));
    sandbox
}

#[track_caller]
fn has_all_photos(sandbox: &Sandbox) {
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

/// Bytes of files that have no other name.
fn bytes_below(folder: &Path) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
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
fn what_is_prepared_is_all_that_is_written() {
    let turned = (0..PHOTOS).map(|number| number * 211 % PHOTOS);
    for photos in [photos(0..PHOTOS), photos(turned)] {
        let sandbox = installed(photos, "");
        sandbox.run_well(ID);
        has_all_photos(&sandbox);
        let prepared = bytes_below(&sandbox.prepared(ID));
        let store = bytes_below(&sandbox.store());
        assert!(store * 50 < prepared, "{store} bytes for {prepared}");
        assert!(names_in(&sandbox.store().join("tmp")).is_empty());
        // What is gone comes from the bundle again, and nothing else is touched.
        let path = sandbox.prepared(ID).join("public/photos").join(name(7));
        fs::remove_file(&path).expect("removed");
        assert_eq!(sandbox.run_well(ID), 1);
        has_all_photos(&sandbox);
        assert_eq!(sandbox.run_well(ID), 0);
    }
}

/// Whoever reads here and there has a copy, but only for so long; with little memory, too.
#[test]
fn files_come_in_any_order() {
    let sandbox = installed(photos(0..PHOTOS), MIXED);
    let mut command = sandbox.run_command(&[ID]);
    command.args(["--memory", "64MB", "--jobs", "3"]);
    assert!(command.output().expect("a run").status.success());
    has_all_photos(&sandbox);
    let archive = fs::read(sandbox.prepared(ID).join("public/mixed.zip")).expect("an archive");
    let members = zip_members(&archive);
    assert_eq!(members.len(), PHOTOS);
    for number in 0..PHOTOS {
        let member = members.get(&format!("{}.jpg", number * 7 % PHOTOS));
        assert!(member.expect("a member") == &photo(number), "{number}");
    }
    assert!(names_in(&sandbox.store().join("tmp")).is_empty());
    let store = bytes_below(&sandbox.store());
    assert!(store * 50 < bytes_below(&sandbox.prepared(ID)), "{store}");
}

/// The archive vouches for its bytes twice: as a member, and for its members.
#[test]
fn damage_is_told_by_the_archive_and_nothing_is_published() {
    let whole = bundle(photos(0..PHOTOS));
    let mut inside = photos(0..PHOTOS);
    inside[200_000] ^= 1;
    for (bundle, says) in [
        (whole.clone().damage("photos.zip").bytes(), "photos.zip"),
        (bundle(inside).bytes(), "0001.jpg"),
    ] {
        let sandbox = installed(Vec::new(), "");
        sandbox.bundle(ID, &bundle);
        sandbox.run(ID).code(4).says(&[says, "CRC"]);
        assert!(!sandbox.prepared(ID).exists());
        sandbox.bundle(ID, &whole.bytes());
        sandbox.run_well(ID);
        has_all_photos(&sandbox);
    }
}

/// The store may outlive the bundle: what needs its bytes says so, what does not goes on.
#[test]
fn the_bundle_has_to_be_there_for_what_is_read_of_it() {
    let sandbox = installed(photos(0..PHOTOS), "");
    sandbox.run_well(ID);
    let path = sandbox.source().join(format!("{ID}.zip"));
    let bundle = fs::read(&path).expect("the bundle");
    fs::remove_file(&path).expect("removed");
    let text = pipeline("").replace("kind = 0", "kind = 1");
    sandbox.pipeline(ID, &text);
    sandbox.run_well(ID);
    has_all_photos(&sandbox);
    let photo = sandbox.prepared(ID).join("public/photos").join(name(3));
    fs::remove_file(photo).expect("removed");
    sandbox.run(ID).says(&["photos"]);
    sandbox.bundle(ID, &bundle);
    sandbox.run_well(ID);
    has_all_photos(&sandbox);
}
