//! Tests of complete bundles: trees equal those from `--source`, interrupted downloads continue, and users may delete
//! bundles.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use prep_fault_server::{At, Bundle, Fault, KEY, Kind, Side, TOKEN, USERNAME};

use super::{World, wide_harbour};
use crate::support::{Gallery, Harbour, Sandbox, names_in};

#[test]
fn downloaded_bundles_give_the_same_trees_as_local_ones() {
    let ids = [
        "dog-breed-identification",
        "random-acts-of-pizza",
        "spaceship-titanic",
    ];
    let local = Sandbox::new();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let mut bundles = Vec::new();
    for id in ids {
        let bytes = fs::read(cases.join(id).join("seed0/raw.zip")).expect("a bundle");
        local.bundle(id, &bytes);
        bundles.push(Bundle::new(id, bytes));
    }
    local.run_all(&ids).code(0);
    let world = World::new(bundles, Vec::new());
    let run = |world: &World| {
        let mut arguments = vec!["run", "--json", "--skip-verification"];
        arguments.extend(ids.iter().flat_map(|id| ["-c", *id]));
        world.prep(&arguments).code(0)
    };
    run(&world).stderr_has(&["Kaggle credentials: KAGGLE_USERNAME and KAGGLE_KEY"]);
    for id in ids {
        let (got, expected) = (world.sandbox.tree(id), local.tree(id));
        assert!(expected.files().count() > 3);
        assert_eq!(got.contents(), expected.contents(), "{id}");
        assert!(
            world
                .sandbox
                .data()
                .join(id)
                .join(format!("{id}.zip"))
                .is_file()
        );
    }
    assert_eq!(world.server.requests_of(Side::Api).len(), 3);
    for request in world.server.requests_of(Side::Store) {
        assert!(!request.authorization, "credentials reached the store");
    }
    let before = world.requests();
    let report = run(&world).json();
    for competition in report["competitions"].as_array().expect("a list") {
        assert_eq!(competition["state"], "up_to_date", "{report}");
    }
    assert_eq!(world.requests(), before);
}

#[test]
fn broken_connection_does_not_fail_the_run() {
    let bundle = wide_harbour(2);
    let faults = vec![
        Fault::at(At::Api, Kind::status(500)),
        Fault::at_byte(100_000, Kind::Drop),
        Fault::at_byte(1_500_000, Kind::Corrupt),
        Fault::at(At::Store, Kind::Expire).after(2),
    ];
    let world = World::harbour(&bundle, faults);
    world.run(Harbour::ID, &[]).code(0);
    assert_eq!(world.sandbox.state(Harbour::ID), "prepared v1");
}

fn report(world: &World, id: &str, more: &[&str]) -> serde_json::Value {
    world.run(id, more).code(0).json()["competitions"][0].clone()
}

#[test]
fn discarded_bundle_is_downloaded_again_only_when_needed() {
    let bundle = Gallery::archive(30, 0).bytes();
    let world = World::new(vec![Bundle::new(Gallery::ID, bundle)], Vec::new());
    world.sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    let home = ["prepared", "prepared.files", "prepared.json"];
    let discard =
        |more: &[&str]| report(&world, Gallery::ID, &[&["--discard-bundle"], more].concat());
    assert_eq!(discard(&[])["state"], "prepared");
    assert_eq!(world.sandbox.names_in_home(Gallery::ID), home);
    let (tree, requests) = (world.sandbox.tree(Gallery::ID), world.requests());

    // No step needs the bundle, so the run sends no request and executes no step.
    assert_eq!(discard(&[])["state"], "up_to_date");
    let plan = world.prep(&["plan", "-c", Gallery::ID, "--skip-verification"]);
    plan.code(0).stdout_has(&["up to date"]);
    // A changed query reads the cached table.
    let text = Gallery::pipeline(0).replace("'a' AS artist", "'b' AS artist");
    world.sandbox.pipeline(Gallery::ID, &text);
    assert_eq!(discard(&["--no-download"])["state"], "prepared");
    assert_eq!(world.requests(), requests);
    world.sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    assert_eq!(discard(&["--no-download"])["state"], "prepared");

    // Only the bundle contains the missing published image.
    let directory = world.sandbox.prepared(Gallery::ID).join("public/test");
    let picture = directory.join(names_in(&directory).first().expect("a picture"));
    fs::remove_file(&picture).expect("removed");
    let failed = world.run(Gallery::ID, &["--no-download"]).code(4);
    failed.stderr_has(&["no bundle: looked for", "downloads are not allowed"]);
    assert_eq!(world.requests(), requests);
    assert_eq!(discard(&[])["state"], "prepared");
    assert!(world.requests() > requests);
    assert_eq!(world.sandbox.tree(Gallery::ID).contents(), tree.contents());
    assert_eq!(world.sandbox.names_in_home(Gallery::ID), home);
}

#[test]
fn bundles_outside_the_data_directory_are_never_deleted() {
    let world = World::harbour(&Harbour::bundle(&Harbour::table()), Vec::new());
    Harbour::install(&world.sandbox);
    let more = ["--source", "source", "--discard-bundle"];
    world.run(Harbour::ID, &more).code(0);
    assert_eq!(names_in(&world.sandbox.source()), ["harbour.zip"]);
    assert_eq!(world.requests(), 0);
}

#[test]
fn credentials_of_kaggles_tools_are_found() {
    let bundle = Harbour::bundle(&Harbour::table());
    for (name, text) in [
        (
            "home/.kaggle/kaggle.json",
            format!("{{\"username\":\"{USERNAME}\",\"key\":\"{KEY}\"}}"),
        ),
        ("home/.config/kaggle/access_token", format!("{TOKEN}\n")),
    ] {
        let world = World::harbour(&bundle, Vec::new());
        let path = world.sandbox.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("mode");
        let mut command =
            world.command_without_credentials(&["run", "--skip-verification", "-c", Harbour::ID]);
        let ended = world.run_command(&mut command).code(0);
        let shown = path.display().to_string();
        ended.stderr_has(&[
            &format!("Kaggle credentials: {shown}"),
            &format!("{shown} is readable by other users"),
        ]);
    }
}

#[test]
fn max_rate_limits_the_download() {
    let world = World::harbour(&wide_harbour(1), Vec::new());
    let begin = Instant::now();
    world
        .run(Harbour::ID, &["--max-rate", "500kB", "--connections", "2"])
        .code(0);
    // The download takes at least two seconds, and more on a busy machine.
    assert!(begin.elapsed() > Duration::from_millis(1500));
}
