//! Two outputs with the same path are an error that names both, at any stage, and nothing is published.

use crate::support::{Gallery, Sandbox, Snapshot};

/// The gallery's pipeline with another public output.
fn with(output: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bundle(Gallery::ID, &Gallery::archive(20, 0).bytes());
    let pipeline = Gallery::pipeline(0).replace("\npublic:\n", &format!("\npublic:\n{output}\n"));
    sandbox.pipeline(Gallery::ID, &pipeline);
    sandbox
}

#[test]
fn two_outputs_on_one_path_are_refused_with_both_names() {
    let one = "FROM pictures WHERE stem = 'p00000'";
    for (output, parts) in [
        // A top directory, and a file of the same name.
        (
            format!("  ./: SELECT file, 'test/p.png' AS path {one}"),
            [].as_slice(),
        ),
        (
            format!("  ./: SELECT file, 'train.csv' AS path {one}"),
            &["`public/train.csv`", "`public/./`"],
        ),
        (
            format!("  ./: SELECT file, 'description.md' AS path {one}"),
            &["`public/description.md`", "`public/./`"],
        ),
        // A file with the path of another output's directory.
        (
            format!("  ./: SELECT file, 'train' AS path {one}"),
            &["`public/train`", "`public/./`", "`public/train/`"],
        ),
        // The same in an archive.
        (
            format!(
                "  more.zip: {{ zip: {{ ./: \"SELECT file, 'a.csv' AS path {one}\", a.csv: SELECT * FROM train }} }}"
            ),
            &["gallery/public/more.zip: two outputs would write `a.csv`", "`./` and `a.csv`"],
        ),
        // In one query.
        (
            "  more/: SELECT file, CASE WHEN stem = 'p00000' THEN 'x' ELSE 'x/y' END AS path FROM pictures \
             WHERE stem IN ('p00000', 'p00001')"
                .to_owned(),
            &["`x/y`", "below `x`"],
        ),
        (
            "  more/: SELECT file, 'x' AS path FROM pictures".to_owned(),
            &["`x`", "`pictures/p00000.png`", "`pictures/p00001.png`"],
        ),
    ] {
        let sandbox = with(&output);
        if parts.is_empty() {
            sandbox.run_well(Gallery::ID);
            let tree = sandbox.tree(Gallery::ID);
            assert!(sandbox.prepared(Gallery::ID).join("public/test/p.png").is_file());
            assert_ne!(tree, Snapshot::of(&sandbox.path("none")));
            continue;
        }
        sandbox.run(Gallery::ID).code(3).says(parts);
        assert_eq!(sandbox.tree(Gallery::ID), Snapshot::of(&sandbox.path("none")), "{output}");
    }
}

/// If the paths are constants of the pipeline, the plan reports the error.
#[test]
fn what_is_known_beforehand_is_refused_at_load() {
    for (output, part) in [
        (
            "  description.md: { lines: SELECT stem FROM pictures }",
            "`description.md` is created from the pipeline's own",
        ),
        ("  train.csv/: { empty: true }", "have the same name"),
        ("  ./: { empty: true }", "declared as an empty directory"),
    ] {
        let sandbox = with(output);
        sandbox
            .prep(&["plan", Gallery::ID])
            .code(3)
            .says(&["pipeline.yaml:", part]);
    }
}
