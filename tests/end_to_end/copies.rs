//! Tests of prepared data that other programs copied, linked or touched:
//! whether they are intact depends on the content, not on metadata.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::serve::Serving;
use crate::support::{CommandResult, Gallery, Sandbox, Snapshot, hex_md5, skipped};
use crate::until::wait_until;

const ID: &str = Gallery::ID;

fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.pipeline(ID, &Gallery::pipeline(0));
    sandbox.bundle(ID, &Gallery::archive(30, 1).bytes());
    sandbox.run_and_count_steps(ID);
    let answers = fs::read(sandbox.prepared(ID).join("private/test.csv")).expect("answers");
    sandbox.write("gold.csv", answers);
    sandbox
}

/// Runs a shell command in the sandbox. Returns false if a program is missing.
fn shell(sandbox: &Sandbox, line: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-ec", line]).current_dir(sandbox.path(""));
    let status = command.status().expect("a shell");
    assert!(status.success() || status.code() == Some(127), "{line}");
    status.success()
}

fn files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let tree = sandbox.tree(ID);
    let directory = sandbox.prepared(ID);
    tree.files().map(|path| directory.join(path)).collect()
}

fn grade(sandbox: &Sandbox, data: &str) -> CommandResult {
    sandbox.prep(&["grade", ID, "gold.csv", "-q", "--json", "--data-dir", data])
}

/// Shell commands that leave the same bytes in `data`.
const WAYS: [&str; 18] = [
    "cp -r data other && rm -rf data && mv other data",
    "cp -a data other && rm -rf data && mv other data",
    "mkdir other && tar -C data -cf - . | tar -C other -xf - && rm -rf data && mv other data",
    "mkdir other && tar -C data --format=ustar -cf - . | tar -C other -xf - && rm -rf data && mv other data",
    "rsync -a data/ other && rm -rf data && mv other data",
    "rsync -r data/ other && rm -rf data && mv other data",
    "mv data other && mv other data",
    "touch data/gallery/prepared/public/train.csv",
    "touch data/gallery/prepared/private/test.csv",
    "touch data/gallery/prepared data/gallery/prepared/public data/gallery/prepared/public/train",
    "find data -exec touch -d 2001-02-03 {} +",
    "chmod -R u+w data",
    // Other programs add files and remove them again.
    "touch data/gallery/prepared/public/notes.txt && rm data/gallery/prepared/public/notes.txt",
    // Moves the files to a content-addressed cache, as DVC does, and links or copies them back.
    "mkdir cas && find data/gallery/prepared -type f | while read f; do \
       s=$PWD/cas/$(md5sum < $f | cut -c -32); mv $f $s && ln -s $s $f; done",
    "mkdir cas && find data/gallery/prepared -type f | while read f; do \
       s=cas/$(md5sum < $f | cut -c -32); mv $f $s && ln $s $f; done",
    "mkdir cas && mv data/gallery/prepared cas/p && mkdir data/gallery/prepared && cp -r cas/p/. data/gallery/prepared",
    "mv data/gallery/prepared real && ln -s ../../real data/gallery/prepared",
    "mv data/gallery/prepared/public/train pictures && ln -s ../../../../pictures data/gallery/prepared/public/train",
];

#[test]
fn copied_and_touched_data_are_still_prepared() {
    for way in WAYS {
        let sandbox = prepared();
        let before = sandbox.tree(ID);
        if !shell(&sandbox, way) {
            skipped(&format!("a program is missing: {way}"));
            continue;
        }
        let found = grade(&sandbox, "data");
        assert_eq!(found.code, Some(0), "{way}: {found:?}");
        let lines: Vec<&str> = found.stderr.lines().collect();
        let [identical] = lines[..] else {
            panic!("{way}: {found:?}");
        };
        assert!(identical.contains("is identical to the answers"));
        assert_eq!(found.competition()["score"], 1.0, "{way}");
        let other = sandbox.prep(&["validate", ID, "gold.csv"]);
        assert_eq!((other.code, &*other.stderr), (Some(0), ""), "{way}");
        assert_eq!(sandbox.state(ID), "prepared v1", "{way}");
        let served = Serving::start(&sandbox, "data", &[ID]);
        let gold = fs::read(sandbox.path("gold.csv")).expect("gold");
        let (status, text) = served.validate(&gold);
        assert!(status == 200 && text.contains("is valid"), "{way}: {text}");
        let copied = sandbox.prep(&["export", ID, "-o", "copy", "--private"]);
        assert_eq!((copied.code, &*copied.stderr), (Some(0), ""), "{way}");
        let copy = Snapshot::of(&sandbox.path("copy/gallery/prepared"));
        assert_eq!(copy.contents(), before.contents(), "{way}");
        let touched = files_touched_by_run(&sandbox);
        assert_eq!(touched, [""; 0], "{way}");
        // The first check compares digests and records that they match. Later, the quick check of times is enough. If
        // a time has no fraction of a second, the quick check does not trust it until that second has passed.
        wait_until(&format!("the data are intact after {way}"), || {
            assert_eq!(files_touched_by_run(&sandbox), [""; 0], "{way}");
            let manifest = prep_app::manifest(&sandbox.data(), ID).expect("a manifest");
            manifest.is_some_and(|one| one.is_intact(&sandbox.prepared(ID)))
        });
    }
}

/// Asserts that a run executes no step, and returns the files that the run wrote.
fn files_touched_by_run(sandbox: &Sandbox) -> Vec<String> {
    let before = sandbox.tree(ID);
    assert_eq!(sandbox.run_and_count_steps(ID), 0);
    let after = sandbox.tree(ID);
    after
        .touched_since(&before)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// Another machine has another boot id, and no cache.
#[test]
fn data_of_another_machine_are_graded() {
    let sandbox = prepared();
    let record = sandbox.data().join(ID).join("prepared.json");
    let text = fs::read_to_string(&record).expect("record");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    json["boot"] = "00000000-0000-4000-8000-000000000000".into();
    fs::write(&record, json.to_string()).expect("record");
    assert!(shell(
        &sandbox,
        "cp -r data moved && rm -rf data store source"
    ));
    let found = grade(&sandbox, "moved").code(0);
    assert_eq!(found.competition()["score"], 1.0);
    let state = ["list", ID, "--json", "--data-dir", "moved"];
    let state = sandbox.prep(&state).code(0).competition();
    assert_eq!(state["state"], "prepared v1 (own pipeline)", "{state}");
    assert!(shell(&sandbox, "rm -rf moved/gallery/prepared/public"));
    let found = grade(&sandbox, "moved").code(0);
    assert_eq!(found.competition()["score"], 1.0);
}

#[test]
fn files_of_other_programs_are_a_warning() {
    for path in [
        "public/notes.txt",
        "private/.tmp",
        ".snakemake_timestamp",
        "public/train/x/y.png",
    ] {
        let sandbox = prepared();
        sandbox.write(&format!("data/gallery/prepared/{path}"), "mine");
        let shown = path.strip_suffix("y.png").unwrap_or(path);
        let arguments = ["grade", ID, "gold.csv", "--json"];
        let found = sandbox
            .prep(&arguments)
            .code(0)
            .stderr_has(&["warning", shown]);
        assert_eq!(found.competition()["score"], 1.0);
        sandbox
            .prep(&["validate", ID, "gold.csv"])
            .code(0)
            .stderr_has(&["warning", shown]);
        let row = sandbox.prep(&["list", ID, "--json"]).code(0).competition();
        assert_eq!(row["state"], "prepared v1 (own pipeline)");
        assert_eq!(
            row["reasons"][0]["message"],
            format!("extra files: {shown}")
        );
        let copied = sandbox.prep(&["export", ID, "-o", "copy", "--private"]);
        copied.code(0).stderr_has(&["not copied", shown]);
        assert!(!sandbox.path("copy/gallery/prepared").join(path).exists());
        let ended = CommandResult::of(&mut sandbox.run_command(&[ID])).code(0);
        ended.stderr_has(&["did not publish stay", shown]);
    }
}

/// Changes the public file at a path.
type Change = fn(&Path);

#[test]
fn changed_public_files_are_a_warning_and_prevent_copies() {
    let changes: [(&str, Change); 3] = [
        ("public/train.csv", |path| replace(path, "id,artist\n")),
        ("public/train.csv", |path| {
            fs::remove_file(path).expect("removed")
        }),
        ("public/train.csv", |path| {
            let text = fs::read_to_string(path).expect("read");
            replace(path, &text.replace(",a", ",d"));
        }),
    ];
    for (name, change) in changes {
        let sandbox = prepared();
        let before = sandbox.tree(ID);
        change(&sandbox.prepared(ID).join(name));
        for _ in 0..2 {
            let warned = sandbox.prep(&["grade", ID, "gold.csv", "--json"]).code(0);
            let report = warned.stderr_has(&["warning", name]).competition();
            assert_eq!(report["score"], 1.0);
            assert_eq!(report["comparable_with_v1"], false);
            assert!(
                report["not_comparable_because"].to_string().contains(name),
                "{report}"
            );
        }
        sandbox
            .prep(&["validate", ID, "gold.csv"])
            .code(0)
            .stderr_has(&["warning", name]);
        let row = sandbox.prep(&["list", ID, "--json"]).code(0).competition();
        assert_eq!(row["state"], "changed since prepared");
        assert_eq!(
            row["reasons"][0]["message"],
            format!("changed or missing: {name}")
        );
        sandbox
            .prep(&["export", ID, "-o", "copy"])
            .code(4)
            .stderr_has(&[name, "prep run"]);
        assert!(!sandbox.path("copy").exists());
        sandbox.run_and_count_steps(ID);
        assert_eq!(sandbox.tree(ID).contents(), before.contents());
        assert_eq!(sandbox.state(ID), "prepared v1");
    }
}

#[test]
fn a_replaced_description_is_not_a_changed_file() {
    let sandbox = prepared();
    replace(&sandbox.prepared(ID).join("public/description.md"), "mine");
    let found = grade(&sandbox, "data").code(0);
    let report = found.competition();
    assert!(
        !report["not_comparable_because"]
            .to_string()
            .contains("changed"),
        "{report}"
    );
    assert!(report["digests"]["public"].is_null() && report["digests"]["answers"].is_string());
    let row = sandbox.prep(&["list", ID, "--json"]).code(0).competition();
    assert_eq!(row["state"], "prepared v1 (own pipeline)");
    assert_eq!(row["reasons"][0]["message"], "the description was replaced");
    sandbox.prep(&["export", ID, "-o", "copy"]).code(0);
    let text = fs::read_to_string(sandbox.path("copy/gallery/prepared/public/description.md"));
    assert_eq!(text.expect("a description"), "mine");
    assert!(sandbox.run_and_count_steps(ID) > 0, "a run restores it");
}

fn replace(path: &Path, text: &str) {
    fs::remove_file(path).expect("removed");
    fs::write(path, text).expect("written");
}

/// Grading accepts answers that match the published checksum, whatever the record of the data directory states.
#[test]
fn the_verdict_about_answers_does_not_depend_on_the_record() {
    type Change = fn(&Sandbox);
    let published = |sandbox: &Sandbox, md5: &str| {
        let sums = format!("{{\"private\":{{\"test.csv\":\"{md5}\"}}}}");
        sandbox.write("pipelines/gallery/checksums.json", sums);
    };
    let records: [(&str, Change); 4] = [
        ("kept", |_| ()),
        ("removed", |sandbox| {
            for name in ["prepared.json", "prepared.files"] {
                fs::remove_file(sandbox.data().join(ID).join(name)).expect("removed");
            }
        }),
        ("incomplete", |sandbox| {
            let path = sandbox.data().join(ID).join("prepared.json");
            let text = fs::read_to_string(&path).expect("record");
            let text = text.replace("\"complete\": true", "\"complete\": false");
            fs::write(&path, text).expect("record");
        }),
        ("without the listing", |sandbox| {
            fs::remove_file(sandbox.data().join(ID).join("prepared.files")).expect("removed");
        }),
    ];
    for (name, record) in records {
        // The answers are the published ones, although the record describes others.
        let sandbox = prepared();
        let path = sandbox.prepared(ID).join("private/test.csv");
        let text = fs::read_to_string(&path).expect("answers");
        replace(&path, &text.replace(",a\n", ",b\n"));
        let other = fs::read(&path).expect("answers");
        published(&sandbox, &hex_md5(&other));
        record(&sandbox);
        let found = grade(&sandbox, "data");
        assert_eq!(found.code, Some(0), "{name}: {found:?}");
        // The answers match neither the published checksum nor the record.
        published(&sandbox, &"0".repeat(32));
        let found = grade(&sandbox, "data");
        assert_eq!(found.code, Some(4), "{name}: {found:?}");
    }
}

#[test]
fn unwritable_directories_can_be_graded() {
    let sandbox = prepared();
    assert!(shell(&sandbox, "cp -r data other && chmod -R a-w other"));
    let mut command = sandbox.command(&["grade", ID, "gold.csv", "--json", "--data-dir", "other"]);
    // Root may write everywhere. If the test runs as root, it only shows that grading works in a copy.
    let found = CommandResult::of(&mut command).code(0);
    assert_eq!(found.competition()["score"], 1.0);
    assert!(shell(&sandbox, "chmod -R u+w other"));
}

/// Each case is a path of a future publication, and a function that creates a file or directory of the user at this path.
#[test]
fn a_run_never_overwrites_a_file_that_no_run_published() {
    type Put = fn(&Path);
    let cases: [(&str, Put); 9] = [
        ("prepared", |path| fs::write(path, "mine").expect("write")),
        ("prepared", |path| symlink("nowhere", path).expect("link")),
        ("prepared/public", |path| {
            fs::write(path, "mine").expect("write")
        }),
        ("prepared/private", |path| {
            symlink("/tmp", path).expect("link")
        }),
        ("prepared/public/train", |path| {
            fs::write(path, "mine").expect("write")
        }),
        ("prepared/public/train.csv", |path| {
            fs::write(path, "mine").expect("write")
        }),
        ("prepared/public/train.csv", |path| {
            symlink("nowhere", path).expect("link")
        }),
        ("prepared/public/train.csv", |path| {
            fs::create_dir(path).expect("directory");
            fs::write(path.join("mine"), "mine").expect("write");
        }),
        ("prepared/private/test.csv", |path| {
            fs::write(path, "mine").expect("write")
        }),
    ];
    for (place, put) in cases {
        let sandbox = Sandbox::new();
        sandbox.pipeline(ID, &Gallery::pipeline(0));
        sandbox.bundle(ID, &Gallery::archive(30, 1).bytes());
        let path = sandbox.data().join(ID).join(place);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        put(&path);
        let before = (
            Snapshot::of(&sandbox.data().join(ID).join("prepared")),
            fs::symlink_metadata(&path).expect("there").len(),
        );
        let code = if place == "prepared" { 6 } else { 4 };
        let refused = sandbox.run(ID).code(code).stderr_has(&[place, "help"]);
        assert!(
            refused.stderr.contains("no publication created it"),
            "{refused:?}"
        );
        let after = (
            Snapshot::of(&sandbox.data().join(ID).join("prepared")),
            fs::symlink_metadata(&path).expect("there").len(),
        );
        assert_eq!(after, before, "{place}");
        if place != "prepared" {
            let mut command = sandbox.run_command(&[ID]);
            CommandResult::of(command.arg("--remove-unpublished")).code(0);
            assert_eq!(sandbox.state(ID), "prepared v1", "{place}");
        }
    }
}

/// `prep` adopts equal bytes that another program, such as upstream's, prepared.
#[test]
fn equal_files_of_other_programs_are_adopted() {
    let sandbox = prepared();
    let home = sandbox.data().join(ID);
    for name in ["prepared.json", "prepared.files"] {
        fs::remove_file(home.join(name)).expect("removed");
    }
    sandbox.write("data/gallery/notes.txt", "mine");
    sandbox.write("data/gallery/.prep-backup", "mine");
    let before = sandbox.tree(ID);
    sandbox.run_and_count_steps(ID);
    assert_eq!(sandbox.tree(ID).touched_since(&before), [""; 0]);
    assert_eq!(sandbox.state(ID), "prepared v1");
    for name in ["notes.txt", ".prep-backup"] {
        assert_eq!(fs::read_to_string(home.join(name)).expect("kept"), "mine");
    }
    // From now on, `prep` treats the files as its own.
    sandbox.pipeline(ID, &Gallery::pipeline(1));
    sandbox.run_and_count_steps(ID);
    assert_eq!(sandbox.state(ID), "prepared v1");
    let modes = files(&sandbox)
        .into_iter()
        .map(|path| fs::metadata(path).expect("file"));
    assert!(
        modes
            .into_iter()
            .all(|found| found.permissions().mode() & 0o400 != 0)
    );
}

#[test]
fn a_picture_that_was_edited_in_place_is_found_and_restored() {
    for verb in [
        &["digest", ID][..],
        &["export", ID, "-o", "copy"],
        &["audit", ID],
    ] {
        let sandbox = prepared();
        let before = sandbox.tree(ID);
        let digest = sandbox.prep(&["digest", ID, "--json"]).code(0).stdout;
        let path = before
            .files()
            .find(|path| path.starts_with("public/train/"));
        let path = sandbox.prepared(ID).join(path.expect("a picture"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
        let mut bytes = fs::read(&path).expect("a picture");
        bytes[0] ^= 1;
        fs::write(&path, &bytes).expect("written");
        assert_eq!(sandbox.run_and_count_steps(ID), 0);
        let ended = sandbox.prep(verb);
        match verb[0] {
            "digest" => assert_ne!(ended.code(0).stdout, digest),
            "export" => drop(ended.code(4).stderr_has(&["public/train/"])),
            _ => drop(ended.stdout_has(&["files-edited", "public/train/"])),
        }
        let row = sandbox.prep(&["list", ID, "--json"]).code(0).competition();
        assert!(row.to_string().contains("changed"), "{row}");
        assert!(sandbox.run_and_count_steps(ID) > 0);
        assert_eq!(sandbox.tree(ID).contents(), before.contents(), "{verb:?}");
        assert_eq!(
            sandbox.prep(&["digest", ID, "--json"]).code(0).stdout,
            digest
        );
    }
}
