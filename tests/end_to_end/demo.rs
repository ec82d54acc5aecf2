//! Tests of `prep demo`, the first command for new users: it prepares and grades bundles that are part of the program.

use crate::support::{Sandbox, Snapshot, names_in};

#[test]
fn demo_prepares_and_grades_in_its_directory_only() {
    let sandbox = Sandbox::new();
    let before = Snapshot::of(&sandbox.path(""));
    let first = sandbox
        .prep(&["demo", "--output", "look", "--json"])
        .code(0);
    let report = first.json();
    let competitions = report["competitions"].as_array().expect("competitions");
    assert!(competitions.len() >= 4, "{report}");
    for one in competitions {
        assert_eq!(one["state"], "prepared", "{one}");
        let id = one["id"].as_str().expect("an id");
        let prepared = sandbox.path(&format!("look/data/{id}/prepared"));
        assert!(prepared.join("public/description.md").is_file(), "{id}");
        assert_ne!(names_in(&prepared.join("private")), [""; 0], "{id}");
    }
    let submissions = report["submissions"].as_array().expect("submissions");
    let scored = submissions.iter().filter(|one| one["score"].is_number());
    let medals = submissions.iter().filter(|one| one["medal"].is_string());
    let refused = submissions.iter().filter(|one| one["reason"].is_object());
    let (scored, refused) = (scored.count(), refused.count());
    assert!(medals.count() > 0, "{report}");
    assert!(scored >= competitions.len(), "{report}");
    assert_eq!(scored + refused, submissions.len(), "{report}");
    let written = report["report"].as_str().expect("a report");
    assert!(sandbox.path(written).is_file(), "{written}");

    // The demo creates nothing outside of its directory: no cache, no data directory, nothing in the home directory.
    let after = Snapshot::of(&sandbox.path(""));
    let outside = |snapshot: &Snapshot| -> Vec<String> {
        let files = snapshot.files().filter(|path| !path.starts_with("look/"));
        files.map(str::to_owned).collect()
    };
    assert_eq!(outside(&after), outside(&before));
    assert_eq!(names_in(&sandbox.path("home")), [""; 0]);

    let first = Snapshot::of(&sandbox.path("look/data"));
    let again = sandbox
        .prep(&["demo", "--output", "look", "--json"])
        .code(0);
    again.stderr_has(&["nothing had to run"]);
    // Only the records of the data directory have a new time.
    let later = Snapshot::of(&sandbox.path("look/data"));
    assert_eq!(later.contents(), first.contents());
    assert!(first.files().count() > 0);
}

#[test]
fn demo_does_not_touch_a_directory_with_other_files() {
    let sandbox = Sandbox::new();
    sandbox.write("thesis/chapter.txt", "mine");
    let before = Snapshot::of(&sandbox.path(""));
    sandbox
        .prep(&["demo", "--output", "thesis"])
        .code(2)
        .stderr_has(&["error: thesis is not empty", "--output"]);
    assert_eq!(Snapshot::of(&sandbox.path("")), before);
}
