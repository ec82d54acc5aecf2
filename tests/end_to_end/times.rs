//! Tests that the metadata of published files hide the order of the source, which can depend on the answers.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use flate2::Compression;
use flate2::write::GzEncoder;
use prep_formats::tar::TarWriter;

use crate::support::{Archive, CommandResult, Harbour, Member, Sandbox};

const PHOTOS: usize = 1009;

/// Creates a pipeline that renames the photos, so that the order of their names differs from the archive.
fn sandbox(archive: &str, shift: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut tar = TarWriter::new(Vec::new());
    for number in 0..PHOTOS {
        let content = number.to_string().repeat(500);
        let bytes = content.as_bytes();
        let name = format!("photos/{number:04}.txt");
        tar.add_file(&name, bytes.len() as u64, bytes).expect("tar");
    }
    let mut content = tar.finish().expect("tar");
    if archive.ends_with(".gz") {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&content).expect("memory");
        content = gzip.finish().expect("memory");
    }
    let bundle = Archive::new()
        .file("train.csv", Harbour::table())
        .member(Member::stored(archive, content));
    sandbox.bundle(Harbour::ID, &bundle.bytes());
    install(&sandbox, archive, shift);
    sandbox
}

fn install(sandbox: &Sandbox, archive: &str, shift: usize) {
    let outputs = format!(
        "  photos: {{ files: \"{archive}/photos/*.txt\" }}

public:
  photos/: |
    SELECT file, 'item-' || lpad(CAST((CAST(stem AS bigint) * 757 + {shift}) % {PHOTOS} AS varchar), 4, '0') || '.txt' AS path
    FROM photos
"
    );
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("public:\n", &outputs),
    );
}

/// Returns the photos' times of modification, creation (if the file system has it) and change, in the order of their names.
fn times(sandbox: &Sandbox) -> Vec<(SystemTime, Option<SystemTime>, (i64, i64))> {
    let directory = sandbox.prepared(Harbour::ID).join("public/photos");
    let entries = fs::read_dir(directory).expect("a directory");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths.len(), PHOTOS);
    let times = paths.iter().map(|path| {
        let found = path.metadata().expect("metadata");
        assert_eq!(found.mode() & 0o222, 0, "{} is read-only", path.display());
        let changed = (found.ctime(), found.ctime_nsec());
        (
            found.modified().expect("a time"),
            found.created().ok(),
            changed,
        )
    });
    times.collect()
}

#[track_caller]
fn check(sandbox: &Sandbox) {
    let times = times(sandbox);
    assert!(times.iter().all(|(modified, ..)| *modified == times[0].0));
    assert!(times.is_sorted_by_key(|(_, created, _)| *created));
    assert!(times.is_sorted_by_key(|(.., changed)| *changed));
}

fn run(sandbox: &Sandbox) {
    CommandResult::of(sandbox.run_command(&[Harbour::ID]).args(["--jobs", "1"])).code(0);
}

#[test]
fn file_times_do_not_reveal_the_order_of_the_archive() {
    for archive in ["photos.tar.gz", "photos.tar"] {
        let sandbox = sandbox(archive, 0);
        run(&sandbox);
        check(&sandbox);
        install(&sandbox, archive, 5);
        run(&sandbox);
        check(&sandbox);
    }
}
