//! Tests of `--partial`, which downloads only the members that the pipeline reads.

use super::{World, wide_harbour};
use crate::support::{Harbour, Sandbox};

#[test]
fn partial_download_gives_the_same_tree() {
    let bundle = wide_harbour(6);
    let world = World::harbour(&bundle, Vec::new());
    let plan = ["plan", "-c", Harbour::ID, "--json"];
    let plan = world.prep(&plan).code(0).json();
    let download = &plan["competitions"][0]["download"];
    assert_eq!(download["bytes"], bundle.len(), "{plan}");
    let part = download["partial_bytes"].as_u64().expect("bytes");
    assert!(part < 2000, "{plan}");
    assert!(plan["disk"]["free"].as_u64() > Some(0), "{plan}");
    assert!(!world.sandbox.data().exists() && !world.sandbox.store().exists());

    let before = world.server.sent();
    let ended = world.run(Harbour::ID, &["--partial"]).code(0);
    // The run downloads the listing and one piece, each a quarter of a megabyte.
    let sent = world.server.sent() - before;
    assert!(sent < 1_000_000, "{sent}");
    let report = &ended.json()["competitions"][0];
    let unverified = report["unverified"].as_array().expect("a list");
    assert_eq!(unverified[0], "the bundle's MD5");
    assert!(unverified.contains(&"public/train.csv".into()), "{report}");
    ended.stderr_has(&["only a part of the bundle was downloaded"]);

    let local = Sandbox::new();
    local.bundle(Harbour::ID, &bundle);
    local.pipeline(Harbour::ID, Harbour::PIPELINE);
    local.run_and_count_steps(Harbour::ID);
    let expected = local.tree(Harbour::ID);
    let got = world.sandbox.tree(Harbour::ID);
    assert_eq!(got.contents(), expected.contents());

    // `prep` keeps the partial bundle and uses it again. After its deletion, no step needs it.
    let requests = world.requests();
    for more in [&["--partial"][..], &["--partial", "--discard-bundle"]] {
        let report = world.run(Harbour::ID, more).code(0).json();
        assert_eq!(report["competitions"][0]["state"], "up_to_date");
    }
    let home = ["prepared", "prepared.files", "prepared.json"];
    assert_eq!(world.sandbox.names_in_home(Harbour::ID), home);
    world.run(Harbour::ID, &["--partial"]).code(0);
    assert_eq!(world.requests(), requests);
}

#[test]
fn existing_complete_bundle_is_preferred_to_a_partial_one() {
    let world = World::harbour(&Harbour::bundle(&Harbour::table()), Vec::new());
    Harbour::install(&world.sandbox);
    let more = ["--partial", "--source", "source"];
    let report = world.run(Harbour::ID, &more).code(0).json();
    assert!(report["competitions"][0].get("unverified").is_none());
    assert_eq!(world.requests(), 0);
}

#[test]
fn missing_member_is_reported_before_downloading() {
    let world = World::harbour(&wide_harbour(3), Vec::new());
    let text = Harbour::PIPELINE.replace("read: train.csv", "read: trains.csv");
    world.sandbox.pipeline(Harbour::ID, &text);
    let ended = world.run(Harbour::ID, &["--partial"]).code(4);
    ended.stderr_has(&["has no member trains.csv", "prep fetch --list harbour"]);
    assert!(world.server.sent() < 1_000_000);
}

#[test]
fn members_include_files_of_tables_lists_and_copies() {
    let text = "\
name: A
category: Tabular
bundle: { kaggle: a }
sources:
  labels: { folder: labels }
tables:
  all: { read: all.csv.zip/all.csv, columns: { id: integer } }
  labels: { read: labels:a.csv, columns: { id: integer } }
  photos: { files: photos/*.jpg }
public:
  train.csv: SELECT id FROM all
  notes/: { copy: notes/ }
  photos/: SELECT file, name AS path FROM photos
private:
  test.csv: SELECT id FROM all
  labels.csv: SELECT id FROM labels
";
    let pipeline = prep_spec::load(prep_steps::vocabulary(), "a", "a.yaml", text, "v1");
    assert_eq!(
        prep_steps::members(&pipeline.expect("valid")),
        ["notes/**", "photos/*.jpg", "{all.csv.zip,all.csv/**}"]
    );
}
