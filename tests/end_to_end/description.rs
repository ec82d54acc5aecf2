//! What `public/description.md` tells beside the competition's own text.

use std::fs;

use crate::support::{Archive, Harbour, Sandbox};

#[test]
fn a_sample_that_is_copied_from_the_bundle_is_shown() {
    let sandbox = Sandbox::new();
    let sample = "id,docked\n1,0\n2,0\n3,0\n4,0\n";
    let bundle = Archive::new()
        .file("train.csv", Harbour::table())
        .file("guesses.csv", sample);
    sandbox.bundle(Harbour::ID, &bundle.bytes());
    let pipeline = Harbour::PIPELINE.replace(
        "sample_submission.csv: SELECT id, 0 AS docked FROM test",
        "sample_submission.csv: { copy: guesses.csv }",
    );
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_well(Harbour::ID);
    let text = sandbox.prepared(Harbour::ID).join("public/description.md");
    let text = fs::read_to_string(text).expect("the description");
    assert!(
        text.contains("\n```\nid,docked\n1,0\n2,0\n3,0\n```\n"),
        "{text}"
    );
}
