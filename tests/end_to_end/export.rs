//! Tests of exported copies of prepared competitions.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::support::{Harbour, Sandbox, Snapshot};
use crate::until::wait_until_open;

fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.run_and_count_steps(Harbour::ID);
    sandbox
}

#[test]
fn copy_has_only_public_files_by_default() {
    let sandbox = prepared();
    let id = Harbour::ID;
    sandbox.prep(&["export", id, "-o", "out"]).code(0);
    sandbox
        .prep(&["export", id, "-o", "all", "--private"])
        .code(0);
    let place = |inner: &str| sandbox.path(inner).join(id).join("prepared");
    assert!(!place("out").join("private").exists());
    for section in ["public", "private"] {
        let copy = fs::read_dir(place("all").join(section)).unwrap();
        for file in copy {
            let file = file.unwrap();
            let original = sandbox.prepared(id).join(section).join(file.file_name());
            assert_eq!(fs::read(file.path()).unwrap(), fs::read(original).unwrap());
            let metadata = file.metadata().unwrap();
            assert_eq!((metadata.nlink(), metadata.mode() & 0o200), (1, 0o200));
        }
    }
    // The copy must not contain paths of the machine that wrote it.
    let manifest = fs::read_to_string(sandbox.path("all").join(id).join("manifest.json")).unwrap();
    assert!(
        !manifest.contains(&*sandbox.path("").to_string_lossy()),
        "{manifest}"
    );
    let listed: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(listed["files"].as_array().unwrap().len(), 5);
    let croissant = fs::read(sandbox.path("out").join(id).join("croissant.json")).unwrap();
    let croissant: serde_json::Value = serde_json::from_slice(&croissant).unwrap();
    let fields = &croissant["recordSet"][2]["field"];
    assert_eq!(fields[1]["name"], "tons");
    assert_eq!(fields[1]["dataType"], "sc:Float");
    assert!(
        croissant["distribution"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| {
                let path = one["contentUrl"].as_str().unwrap();
                place("out").join("..").join(path).is_file()
            })
    );
    let sample = place("all").join("public/sample_submission.csv");
    let answers = place("all").join("private/test.csv");
    let arguments = [
        "validate",
        id,
        sample.to_str().unwrap(),
        "--answers",
        answers.to_str().unwrap(),
    ];
    sandbox.prep(&arguments).code(0);
}

/// A copy with answers contains the record that grading needs. A public copy contains no digests of answers.
#[test]
fn private_copies_are_graded_like_the_original() {
    let sandbox = prepared();
    let id = Harbour::ID;
    let sample = sandbox.prepared(id).join("public/sample_submission.csv");
    let report = |data: &str| {
        let grade = [
            "grade",
            id,
            sample.to_str().unwrap(),
            "--json",
            "--no-log",
            "--data-dir",
            data,
        ];
        let mut report = sandbox.prep(&grade).code(0).competition();
        report["created_at"].take();
        report
    };
    let export = |target: &str, option: &str| {
        sandbox.prep(&["export", id, "-o", target, option]).code(0);
    };
    let original = report("data");
    assert!(original["digests"]["answers"].is_string(), "{original}");
    export("copy", "--private");
    assert_eq!(report("copy"), original);
    export("copy.tar", "--private");
    fs::create_dir(sandbox.path("unpacked")).unwrap();
    let unpacked = std::process::Command::new("tar")
        .arg("-xf")
        .args([sandbox.path("copy.tar")])
        .arg("-C")
        .arg(sandbox.path("unpacked"))
        .status();
    assert!(unpacked.unwrap().success());
    assert_eq!(report("unpacked"), original);
    let record = fs::read_to_string(sandbox.path("unpacked/harbour/prepared.json")).unwrap();
    assert!(!record.contains(&*sandbox.path("").to_string_lossy()));
    export("public", "--expand-archives=no");
    assert!(!sandbox.path("public/harbour/prepared.json").exists());
    assert!(!sandbox.path("public/harbour/prepared.files").exists());
    // Answers that were changed in the copy are an error.
    let answers = sandbox.path("copy/harbour/prepared/private/test.csv");
    fs::write(&answers, fs::read(&answers).unwrap().to_ascii_uppercase()).unwrap();
    let grade = ["grade", id, sample.to_str().unwrap(), "--data-dir", "copy"];
    sandbox.prep(&grade).code(4).stderr_has(&["was modified"]);
}

/// The bytes of a tar archive do not depend on the time or on the data directory.
#[test]
fn equal_contents_give_equal_archives() {
    let sandbox = prepared();
    let mut run = sandbox.run_command(&[Harbour::ID]);
    let ended = run.args(["--data-dir", "other"]).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    for (name, data) in [("a.tar", "data"), ("b.tar", "other")] {
        sandbox
            .prep(&[
                "export",
                Harbour::ID,
                "-o",
                name,
                "--private",
                "--data-dir",
                data,
            ])
            .code(0);
    }
    let bytes = fs::read(sandbox.path("a.tar")).unwrap();
    assert_eq!(bytes, fs::read(sandbox.path("b.tar")).unwrap());
    let listed = std::process::Command::new("tar")
        .arg("-tf")
        .arg(sandbox.path("a.tar"))
        .output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let expected = ["harbour/prepared/private/test.csv", "harbour/manifest.json"];
    assert!(expected.iter().all(|one| listed.contains(one)), "{listed}");
}

#[test]
fn incomplete_data_and_existing_targets_are_errors() {
    let sandbox = prepared();
    fs::create_dir(sandbox.path("there")).unwrap();
    sandbox
        .prep(&["export", Harbour::ID, "-o", "there"])
        .code(2);
    sandbox.prep(&["export", "nothing", "-o", "out"]).code(2);
    sandbox
        .prep(&["export", "spaceship-titanic", "-o", "out"])
        .code(4);
    fs::remove_file(sandbox.prepared(Harbour::ID).join("public/test.csv")).unwrap();
    let before = Snapshot::of(&sandbox.path("there"));
    sandbox.prep(&["export", Harbour::ID, "-o", "out"]).code(4);
    assert!(!sandbox.path("out").exists());
    assert_eq!(Snapshot::of(&sandbox.path("there")), before);
}

#[test]
fn export_unpacks_archives_on_request() {
    let sandbox = Sandbox::new();
    sandbox.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let zip = "public:\n  photos.zip:\n    zip:\n      train.csv: SELECT * FROM train\n";
    sandbox.pipeline(Harbour::ID, &Harbour::PIPELINE.replace("public:\n", zip));
    sandbox.run_and_count_steps(Harbour::ID);
    let before = sandbox.tree(Harbour::ID);
    sandbox
        .prep(&["export", "--expand-archives", Harbour::ID, "-o", "beside"])
        .code(0);
    sandbox
        .prep(&[
            "export",
            "--expand-archives=instead",
            Harbour::ID,
            "-o",
            "instead",
        ])
        .code(0);
    let public = |name: &str| sandbox.path(name).join(Harbour::ID).join("prepared/public");
    for name in ["beside", "instead"] {
        assert_eq!(
            fs::read(public(name).join("photos/train.csv")).unwrap(),
            fs::read(public(name).join("train.csv")).unwrap()
        );
        assert_eq!(public(name).join("photos.zip").exists(), name == "beside");
    }
    assert_eq!(before, sandbox.tree(Harbour::ID));
}

/// A name with the extension of an archive that `export` cannot write is an error, and not the name of a directory.
#[test]
fn unsupported_archive_formats_are_errors() {
    let sandbox = prepared();
    for name in ["out.tar.gz", "out.tgz", "out.ZIP", "out.7z"] {
        let ended = sandbox.prep(&["export", Harbour::ID, "-o", name]).code(2);
        assert!(
            ended.stderr.contains("cannot write a copy as"),
            "{}",
            ended.stderr
        );
        assert!(!sandbox.path(name).exists());
    }
    sandbox
        .prep(&["export", Harbour::ID, "-o", "out.TAR"])
        .code(0);
    assert!(sandbox.path("out.TAR").is_file());
    sandbox.prep(&["export", Harbour::ID, "-o", "v1.0"]).code(0);
    assert!(sandbox.path("v1.0").is_dir());
}

#[test]
fn a_publication_during_a_copy_is_an_error() {
    let sandbox = prepared();
    fs::create_dir(sandbox.path("copies")).unwrap();
    // The export waits for this lock after it has examined the data, and before it copies them.
    let lock = fs::File::open(sandbox.path("copies")).unwrap();
    lock.lock().unwrap();
    let export = ["export", Harbour::ID, "-o", "copies/one", "--private"];
    let export = sandbox.command(&export).spawn().unwrap();
    wait_until_open(export.id(), &sandbox.path("copies"), 1);
    let changed = Harbour::PIPELINE.replace("0 AS docked", "1 AS docked");
    sandbox.pipeline(Harbour::ID, &changed);
    sandbox.run_and_count_steps(Harbour::ID);
    lock.unlock().unwrap();
    let ended = export.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(6), "{shown}");
    assert!(
        shown.contains("published `harbour` during the copy"),
        "{shown}"
    );
    assert!(!sandbox.path("copies/one").exists());
}
