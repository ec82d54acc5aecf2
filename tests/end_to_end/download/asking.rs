//! Tests of commands that send requests but download nothing: `prep fetch --list`, `prep fetch --check-rules`,
//! `prep plan`.

use prep_fault_server::Bundle;
use serde_json::json;

use super::{World, wide_harbour};
use crate::support::{Archive, Gallery, Harbour};

#[test]
fn listing_a_bundle_downloads_nothing() {
    let bundle = wide_harbour(4);
    let world = World::harbour(&bundle, Vec::new());
    let shown = world.prep(&["fetch", "--list", Harbour::ID]).code(0);
    let shown = shown.stdout_has(&["train.csv", "other/3.bin", "used"]);
    shown.stderr_has(&["5 files in 4.00 MB (on Kaggle)", "the pipeline uses"]);
    let listing = world
        .prep(&["fetch", "--list", Harbour::ID, "--json"])
        .code(0)
        .competition();
    assert_eq!(listing["bytes"], bundle.len());
    let used = |file: &serde_json::Value| file["used"] == json!(true);
    let files = listing["files"].as_array().expect("a list");
    let used: Vec<_> = files.iter().filter(|file| used(file)).collect();
    assert_eq!(used.len(), 1);
    assert_eq!(used[0]["path"], "train.csv");
    assert!(world.server.sent() < 2_000_000);
    assert!(!world.sandbox.data().exists());

    // `fetch --list` lists a local bundle in the same way, without a request.
    world.sandbox.bundle(Harbour::ID, &bundle);
    let requests = world.requests();
    let ls = [
        "fetch",
        "--list",
        Harbour::ID,
        "--source",
        "source",
        "--json",
    ];
    let local = world.prep(&ls).code(0).competition();
    assert_eq!(local["files"], listing["files"]);
    assert_eq!(world.requests(), requests);
}

#[test]
fn bundle_without_a_pipeline_can_be_listed() {
    let world = World::new(vec![Bundle::new("another", wide_harbour(1))], Vec::new());
    let listing = world
        .prep(&["fetch", "--list", "another", "--json"])
        .code(0)
        .competition();
    assert_eq!(listing["used_bytes"], json!(null));
    let unknown = world.prep(&["fetch", "--list", "nobody-knows-it"]).code(4);
    unknown.stderr_has(&["has no competition nobody-knows-it (404)"]);
}

#[test]
fn rules_to_accept_are_listed_together() {
    let bundles = vec![
        Bundle::new(Harbour::ID, wide_harbour(1)),
        Bundle::new(Gallery::ID, Gallery::archive(10, 0).bytes()).without_consent(),
    ];
    let world = World::new(bundles, Vec::new());
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    world.sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    let ended = world
        .prep(&["fetch", "--check-rules", Harbour::ID, "-c", Gallery::ID])
        .code(4);
    ended.stdout_has(&[
        "1 of 2 may be downloaded",
        "https://www.kaggle.com/competitions/gallery/rules",
        "phone number",
    ]);
    let rules = world
        .prep(&["fetch", "--check-rules", Harbour::ID, "--json"])
        .code(0)
        .json();
    let expected = json!([{
        "id": "harbour",
        "state": "accepted",
        "url": "https://www.kaggle.com/competitions/harbour/rules",
    }]);
    assert_eq!(rules["competitions"], expected);
    // `--check-rules` sends one API request per competition, and no request to the store.
    assert_eq!(world.requests(), 3);
    let mut command = world.command_without_credentials(&["fetch", "--check-rules", Harbour::ID]);
    world
        .run_command(&mut command)
        .code(4)
        .stderr_has(&["no Kaggle credentials"]);
    let mut command = world.command_without_credentials(&["fetch", "--check-rules", Harbour::ID]);
    command.env("KAGGLE_API_TOKEN", "wrong");
    let refused = world.run_command(&mut command).code(4);
    refused.stderr_has(&["does not accept the credentials of KAGGLE_API_TOKEN (401)"]);
}

#[test]
fn plan_reports_obstacles() {
    let refused = Bundle::new(Harbour::ID, wide_harbour(1)).without_consent();
    let world = World::new(vec![refused], Vec::new());
    world.sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    let plan = ["plan", "-c", Harbour::ID];
    let shown = world.prep(&plan).code(4);
    shown.stdout_has(&["the bundle is missing: the rules of harbour are not accepted"]);
}

/// `prep` reads the listing of a bundle on Kaggle and the beginning of its tables, but not the entire bundle.
#[test]
fn draft_is_written_without_downloading_the_bundle() {
    let photos: Vec<u8> = (0..4 << 20)
        .map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let bundle = Archive::new()
        .file("train.csv", Harbour::table())
        .file("sample_submission.csv", "id,docked\n41,0\n")
        .file("photos/all.bin", photos);
    let world = World::new(vec![Bundle::new("another", bundle.bytes())], vec![]);
    world
        .prep(&["pipeline", "new", "another", "--output", "drafts"])
        .code(0);
    let path = world.sandbox.path("drafts/another/pipeline.yaml");
    let text = std::fs::read_to_string(path).expect("a pipeline");
    for part in [
        "tons: number",
        "metric: { roc_auc: docked }",
        "photos/*.bin } # 1 file\n",
        "md5: ",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    world
        .sandbox
        .prep(&["pipeline", "check", "drafts/another/pipeline.yaml"])
        .code(0);
    assert!(!world.sandbox.data().join("another").exists());
    world.prep(&["pipeline", "new", "nobody-knows-it"]).code(4);
}
