//! Tests of further sources besides the bundle: a file at a URL, in `--source` or in the bundle, and a directory.

use std::fs;
use std::os::unix::fs::symlink;

use prep_fault_server::{At, Bundle, Fault, Kind, Side};
use serde_json::{Value, json};

use super::{World, noise};
use crate::support::{Archive, Harbour, Member, hex_md5};
use crate::until::wait_until;

const LATER: &str = "id,flag\n3,red\n5,NA\n";
const FILE: &str = "labels.zip";

/// Returns a zip with labels that were published later, and with `padding` bytes that make the file long.
fn labels(padding: usize) -> Vec<u8> {
    Archive::new()
        .file("padding.bin", noise(padding, 7))
        .member(Member::deflated("labels/later.csv", LATER))
        .bytes()
}

/// Returns a pipeline that reads ships from the bundle and labels from the file at `url`.
/// `more` contains additional keys of the source.
fn pipeline(url: &str, more: &str) -> String {
    format!(
        "\
name: Fleet
category: Tabular
bundle: {{ kaggle: harbour }}
sources:
  labels: {{ url: \"{url}?download=1\"{more} }}
tables:
  ships: {{ read: train.csv, columns: {{ id: integer, tons: inferred, docked: inferred }} }}
  later: {{ read: labels:labels.zip/labels/later.csv, columns: {{ id: integer, flag: text }} }}
public:
  ships.csv: SELECT * FROM ships
private:
  test.csv: SELECT id, flag FROM later
"
    )
}

fn world(file: &[u8], more: &str, faults: Vec<Fault>) -> World {
    let bundles = vec![
        Bundle::new(Harbour::ID, Harbour::bundle(&Harbour::table())),
        Bundle::new(FILE, file.to_vec()).without_hash(),
    ];
    let world = World::new(bundles, faults);
    let text = pipeline(&world.server.file(FILE), more);
    world.sandbox.pipeline(Harbour::ID, &text);
    world
}

fn md5(file: &[u8]) -> String {
    format!(", md5: {}", hex_md5(file))
}

/// Runs the competition, and verifies published checksums.
#[track_caller]
fn run(world: &World, more: &[&str]) -> crate::support::CommandResult {
    world.prep(&[&["run", "--json", "-c", Harbour::ID], more].concat())
}

#[track_caller]
fn assert_prepared(world: &World) {
    let prepared = world.sandbox.prepared(Harbour::ID);
    let read = |path: &str| fs::read_to_string(prepared.join(path)).expect("a file");
    assert_eq!(read("private/test.csv"), "id,flag\n3,red\n5,\n");
    assert_eq!(read("public/ships.csv"), Harbour::table());
}

fn file_requests(world: &World) -> usize {
    let requests = world.server.requests_of(Side::Store);
    let is_file = |path: &str| path.starts_with("/files/");
    requests.iter().filter(|one| is_file(&one.path)).count()
}

#[test]
fn source_file_is_downloaded_like_a_bundle() {
    let file = labels(600_000);
    let faults = vec![
        Fault::at(At::Store, Kind::status(503)).after(1),
        Fault::at_byte(100_000, Kind::Drop),
        Fault::at_byte(500_000, Kind::Corrupt),
    ];
    let world = world(&file, &md5(&file), faults);
    run(&world, &[]).code(0);
    assert_prepared(&world);
    let home = world.sandbox.data().join(Harbour::ID);
    assert!(fs::read(home.join("sources/labels.zip")).expect("the file") == file);
    for request in world.server.requests_of(Side::Store) {
        assert!(
            !request.authorization,
            "credentials reached a file's server"
        );
    }
    // A second run executes no step and sends no request, although the file is deleted.
    let requests = world.requests();
    for more in [&[][..], &["--discard-bundle"], &["--no-download"]] {
        let report = run(&world, more).code(0).json();
        assert_eq!(report["competitions"][0]["state"], "up_to_date");
    }
    assert!(!home.join("sources").exists());
    assert_eq!(world.requests(), requests);
    // The changed table needs only the source. So `prep` downloads the source, but not the bundle.
    let text = fs::read_to_string(world.sandbox.path("pipelines/harbour/pipeline.yaml"));
    let text = text
        .expect("the pipeline")
        .replace("{ id: integer, flag: text }", "{ flag: text, id: integer }");
    world.sandbox.pipeline(Harbour::ID, &text);
    run(&world, &["--discard-bundle"]).code(0);
    assert_prepared(&world);
    let api = world.server.requests_of(Side::Api).len();
    assert_eq!(api, 1, "the bundle was not needed");
}

#[test]
fn pipeline_with_sources_needs_no_bundle() {
    let file = labels(1000);
    let world = world(&file, &md5(&file), Vec::new());
    let path = world.sandbox.path("pipelines/harbour/pipeline.yaml");
    let text = fs::read_to_string(path).expect("the pipeline");
    let without = text.replace("bundle: { kaggle: harbour }\n", "");
    world.sandbox.pipeline(Harbour::ID, &without);
    let refused = run(&world, &[]).code(3).json();
    let error = refused["competitions"][0]["failures"].to_string();
    assert!(
        error.contains("the pipeline lacks `bundle`") && error.contains("NAME:path"),
        "{error}"
    );
    let ships = without
        .split("  ships: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let only = without
        .replace(&format!("  ships: {}\n", ships.expect("a table")), "")
        .replace("SELECT * FROM ships", "SELECT id FROM later");
    world.sandbox.pipeline(Harbour::ID, &only);
    for more in [
        &[][..],
        &["--discard-bundle"],
        &["--no-download"],
        &["--partial"],
    ] {
        let report = run(&world, more).code(0).json();
        let state = &report["competitions"][0]["state"];
        assert!(state == "prepared" || state == "up_to_date", "{report}");
    }
    assert_eq!(world.sandbox.state(Harbour::ID), "prepared v1");
    world.prep(&["plan", Harbour::ID]).code(0);
    world.prep(&["audit", Harbour::ID]).code(0);
    let fetched = world.prep(&["fetch", Harbour::ID]).code(2);
    fetched.stderr_has(&["has no bundle"]);
    assert!(world.server.requests_of(Side::Api).is_empty());
}

#[test]
fn killed_download_of_a_source_is_resumed() {
    let file = labels(6_000_000);
    let slow = Fault::at(At::Store, Kind::Throttle(2_000_000)).always();
    let world = world(&file, &md5(&file), vec![slow]);
    let mut child = world
        .command(&["run", "-c", Harbour::ID])
        .spawn()
        .expect("the program starts");
    wait_until("half of the file was sent", || {
        world.server.sent() >= 3_000_000
    });
    child.kill().expect("a kill");
    child.wait().expect("an end");
    world.server.set_faults(Vec::new());
    run(&world, &[]).code(0);
    assert_prepared(&world);
    let most = file.len() as u64 + 2_000_000;
    assert!(world.server.sent() < most, "{}", world.server.sent());
}

#[test]
fn source_file_is_downloaded_without_credentials() {
    let file = labels(10);
    let world = world(&file, &md5(&file), Vec::new());
    let bundle = Harbour::bundle(&Harbour::table());
    world.sandbox.bundle(Harbour::ID, &bundle);
    let mut command =
        world.command_without_credentials(&["run", "-c", Harbour::ID, "--source", "source"]);
    let ended = world.run_command(&mut command).code(0);
    assert!(!ended.stderr.contains("redentials"), "{}", ended.stderr);
    assert_prepared(&world);
}

#[test]
fn source_file_is_found_next_to_or_inside_the_bundle() {
    let file = labels(10);
    for place in ["source/labels.zip", "source/harbour/labels.zip"] {
        let world = world(&file, &md5(&file), Vec::new());
        let bundle = Harbour::bundle(&Harbour::table());
        world.sandbox.bundle(Harbour::ID, &bundle);
        let path = world.sandbox.write(place, &file);
        run(&world, &["--source", "source", "--discard-bundle"]).code(0);
        assert_prepared(&world);
        assert_eq!(world.requests(), 0);
        assert!(path.exists(), "it is the user's");
        let plan = world.prep(&["plan", "-c", Harbour::ID, "--source", "source", "--json"]);
        let plan = plan.code(0).json();
        let found = plan["competitions"][0]["sources"][0]["path"].as_str();
        assert_eq!(found, Some(place), "{plan}");
    }
    // The bundle contains the file, as in some mirrors.
    let world = world(&file, &md5(&file), Vec::new());
    let bundle = Archive::new()
        .file("train.csv", Harbour::table())
        .file(FILE, &file);
    world.sandbox.bundle(Harbour::ID, &bundle.bytes());
    run(&world, &["--source", "source"]).code(0);
    assert_prepared(&world);
    assert_eq!(world.requests(), 0);
}

#[test]
fn source_file_without_checksum_comes_from_its_url() {
    let file = labels(10);
    let other = Archive::new().member(Member::deflated("labels/later.csv", "id,flag\n9,blue\n"));
    let other = other.bytes();
    for place in ["source/labels.zip", "source/harbour/labels.zip", "bundle"] {
        let world = world(&file, "", Vec::new());
        let bundle = Archive::new().file("train.csv", Harbour::table());
        let bundle = match place {
            "bundle" => bundle.file(FILE, &other),
            path => {
                world.sandbox.write(path, &other);
                bundle
            }
        };
        world.sandbox.bundle(Harbour::ID, &bundle.bytes());
        run(&world, &["--source", "source"]).code(0);
        assert_prepared(&world);
        assert!(file_requests(&world) > 0, "{place}");
        let report = run(&world, &["--source", "source"]).code(0).json();
        assert_eq!(report["competitions"][0]["state"], "up_to_date", "{place}");
    }
    // The pipeline states that the member `labels.zip` of the bundle is the same file.
    let world = world(&file, ", member: labels.zip", Vec::new());
    let bundle = Archive::new()
        .file("train.csv", Harbour::table())
        .file(FILE, &file);
    world.sandbox.bundle(Harbour::ID, &bundle.bytes());
    run(&world, &["--source", "source"]).code(0);
    assert_prepared(&world);
    assert_eq!(world.requests(), 0);
}

/// The directory remembers the content of a deleted file. If the URL in the pipeline changes, this content is not used.
#[test]
fn deleted_source_file_of_another_url_is_downloaded() {
    let world = world(&labels(10), "", Vec::new());
    let discard = ["--discard-bundle"];
    run(&world, &discard).code(0);
    let requests = file_requests(&world);
    let report = run(&world, &discard).code(0).json();
    assert_eq!(report["competitions"][0]["state"], "up_to_date");
    assert_eq!(file_requests(&world), requests);
    let text = pipeline(&world.server.file(FILE), "").replace("download=1", "download=2");
    world.sandbox.pipeline(Harbour::ID, &text);
    run(&world, &discard).code(0);
    assert_prepared(&world);
    assert!(file_requests(&world) > requests);
}

#[test]
fn source_with_wrong_checksum_is_an_error() {
    let file = labels(10);
    let zeros = |count| "0".repeat(count);
    for (more, sum) in [
        (format!(", md5: {}", zeros(32)), "MD5"),
        (format!(", sha256: {}", zeros(64)), "SHA-256"),
    ] {
        let world = world(&file, &more, Vec::new());
        let ended = run(&world, &[]).code(5);
        let report = ended.json();
        ended.stderr_has(&["labels.zip", sum, "--skip-bundle-verification"]);
        assert_eq!(report["competitions"][0]["checksums"], "differ");
        let target = world.sandbox.data().join("harbour/sources/labels.zip");
        assert!(!target.exists());
        assert!(!world.sandbox.prepared(Harbour::ID).exists());
        // A local file with a wrong checksum is an error, too.
        let path = world.sandbox.write("source/labels.zip", &file);
        let ended = run(&world, &["--source", "source"]).code(5);
        ended.stderr_has(&[
            &format!("labels.zip has {sum}"),
            &format!("the published {sum} is 000"),
        ]);
        assert!(path.exists());
        run(&world, &["--skip-bundle-verification"]).code(0);
        assert_prepared(&world);
    }
}

#[test]
fn verified_sha256_of_a_source_is_remembered() {
    let table = LATER;
    let more = ", file: later.csv, sha256: SUM";
    let world = World::new(
        vec![
            Bundle::new(Harbour::ID, Harbour::bundle(&Harbour::table())),
            Bundle::new("17", table.as_bytes().to_vec()).without_hash(),
        ],
        Vec::new(),
    );
    let more = more.replace("SUM", SHA256_OF_LATER);
    let text = pipeline(&world.server.file("17"), &more)
        .replace("labels:labels.zip/labels/later.csv", "labels:later.csv");
    let text = text.replace(
        "private:\n",
        "private:\n  whole.csv: { copy: labels:later.csv }\n",
    );
    world.sandbox.pipeline(Harbour::ID, &text);
    run(&world, &[]).code(0);
    assert_prepared(&world);
    let whole = world
        .sandbox
        .prepared(Harbour::ID)
        .join("private/whole.csv");
    assert_eq!(fs::read_to_string(whole).expect("a copy"), table);
    let report = run(&world, &["--no-download"]).code(0).json();
    assert_eq!(report["competitions"][0]["state"], "up_to_date");
    let file = world.sandbox.data().join("harbour/sources/later.csv");
    fs::write(&file, "id,flag\n1,x\n").expect("written");
    run(&world, &["--no-download"])
        .code(5)
        .stderr_has(&["later.csv has SHA-256"]);
}

const SHA256_OF_LATER: &str = "5ad8336eae86aaf9a25c0d04701a2335604fc0fd2b29288c8ff90ec16fe8195e";

#[test]
fn missing_sources_are_reported() {
    let file = labels(10);
    let offline = world(&file, "", Vec::new());
    let bundle = Harbour::bundle(&Harbour::table());
    offline.sandbox.bundle(Harbour::ID, &bundle);
    let arguments = ["--no-download", "--source", "source"];
    run(&offline, &arguments).code(4).stderr_has(&[
        "no file of the source `labels`: looked for ",
        "harbour/sources/labels.zip",
        "downloads are not allowed",
        "add its md5 or sha256 to the pipeline",
    ]);
    let plan = offline.prep(&[&["plan", "-c", Harbour::ID], &arguments[..]].concat());
    plan.code(0)
        .stdout_has(&["the source `labels` is missing", "source/labels"]);
    assert_eq!(offline.requests(), 0);

    let gone = World::new(vec![Bundle::new(Harbour::ID, bundle)], Vec::new());
    let text = pipeline(&gone.server.file(FILE), "");
    gone.sandbox.pipeline(Harbour::ID, &text);
    run(&gone, &[]).code(4).stderr_has(&[
        "has no file /files/labels.zip (404)",
        "correct the address of the file in the pipeline",
    ]);
    assert_eq!(file_requests(&gone), 1, "asked once");

    let faults = vec![Fault::at(At::Store, Kind::Html).always()];
    let page = world(&file, "", faults);
    page.sandbox
        .bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    run(&page, &["--source", "source"])
        .code(4)
        .stderr_has(&["got HTML", "expected a zip archive"]);
}

#[test]
fn list_plan_and_fetch_name_every_source() {
    let file = labels(10);
    let world = world(&file, &md5(&file), Vec::new());
    let url = world.server.file(FILE);
    let shown = world.prep(&["plan", "-c", Harbour::ID]).code(0);
    shown.stdout_has(&["source/labels", "the source `labels`:", "to download"]);
    let plan = world.prep(&["plan", "-c", Harbour::ID, "--json"]).code(0);
    let plan = plan.json();
    let source = &plan["competitions"][0]["sources"][0];
    assert_eq!(source["name"], "labels");
    assert_eq!(source["path"], Value::Null);
    assert_eq!(source["download"]["bytes"], json!(file.len()));
    let bundles = plan["disk"]["bundles"].as_u64().expect("bytes");
    assert!(bundles > file.len() as u64, "{plan}");

    let shown = world.prep(&["fetch", "--check-rules", Harbour::ID]).code(0);
    shown.stdout_has(&["harbour: source `labels`: may be downloaded", &url]);
    let rules = world
        .prep(&["fetch", "--check-rules", Harbour::ID, "--json"])
        .code(0)
        .json();
    assert_eq!(rules["sources"][0]["bytes"], json!(file.len()));

    let shown = world.prep(&["fetch", "--list", Harbour::ID]).code(0);
    shown.stdout_has(&["train.csv", "labels:labels.zip", &url]);
    run(&world, &[]).code(0);
    let listing = world
        .prep(&["fetch", "--list", Harbour::ID, "--json"])
        .code(0)
        .competition();
    let path = listing["sources"][0]["path"].as_str().expect("a path");
    assert!(path.ends_with("harbour/sources/labels.zip"), "{path}");
    let why = world.prep(&["why", Harbour::ID, "source/labels"]).code(0);
    why.stdout_has(&["source/labels (download) is up to date"]);
}

const FOLDER: &str = "\
name: Fleet
category: Tabular
bundle: { kaggle: harbour }
sources:
  notes: { folder: ../../files/notes }
tables:
  later: { read: notes:later.csv, columns: { id: integer, flag: text } }
  pictures: { files: notes:**/*.png, may_be_empty: true }
  names: { files: notes:** }
public:
  ships.csv: { copy: train.csv }
  names.csv: SELECT file, dir, name FROM names
  pictures/: SELECT file, name AS path FROM pictures
private:
  test.csv: SELECT id, flag FROM later
  all/: { copy: notes:deep/ }
";

#[test]
fn directory_can_be_a_source() {
    let world = World::harbour(&Harbour::bundle(&Harbour::table()), Vec::new());
    let sandbox = &world.sandbox;
    sandbox.pipeline(Harbour::ID, FOLDER);
    let missing = run(&world, &[]).code(4);
    missing.stderr_has(&[
        "the source `notes`: the directory",
        "does not exist",
        "correct `folder`",
    ]);
    sandbox.write("files/notes/later.csv", LATER);
    let picture = sandbox.write("files/notes/deep/er/1.png", "a picture");
    run(&world, &[]).code(0);
    assert_prepared(&world);
    let prepared = sandbox.prepared(Harbour::ID);
    let read = |path: &str| fs::read_to_string(prepared.join(path)).expect("a file");
    assert_eq!(read("public/pictures/1.png"), "a picture");
    assert_eq!(read("private/all/er/1.png"), "a picture");
    let names =
        "file,dir,name\nnotes:deep/er/1.png,notes:deep/er,1.png\nnotes:later.csv,,later.csv\n";
    assert_eq!(read("public/names.csv"), names);
    let state = |world: &World| {
        let report = run(world, &["--no-download"]).code(0).json();
        report["competitions"][0]["state"].clone()
    };
    assert_eq!(state(&world), "up_to_date");

    fs::write(&picture, "another picture").expect("written");
    let plan = world.prep(&["plan", "-c", Harbour::ID, "--no-download"]);
    plan.code(0).stdout_has(&["source/notes", "15 B to read"]);
    assert_eq!(state(&world), "prepared");
    assert_eq!(read("public/pictures/1.png"), "another picture");
    assert!(picture.exists());
    fs::remove_file(&picture).expect("removed");
    let gone = run(&world, &[]).code(4);
    gone.stderr_has(&["the source `notes` has no `deep/`"]);

    symlink(sandbox.path("files"), sandbox.path("files/notes/loop")).expect("a link");
    run(&world, &[]).stderr_has(&["notes/loop is a link to a directory"]);
}
