//! Two outputs with the same path are an error that names both, whether the plan or the run finds it. Nothing is
//! published.

use crate::support::{Gallery, Sandbox, Snapshot};

/// Returns a sandbox with the gallery's pipeline and one more public output.
fn with(output: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bundle(Gallery::ID, &Gallery::archive(20, 0).bytes());
    let pipeline = Gallery::pipeline(0).replace("\npublic:\n", &format!("\npublic:\n{output}\n"));
    sandbox.pipeline(Gallery::ID, &pipeline);
    sandbox
}

#[test]
fn two_outputs_with_one_path_are_an_error_naming_both() {
    let one = "FROM pictures WHERE stem = 'p00000'";
    for (output, parts) in [
        // Not an error: the output `./` adds a file with a new name to the directory of another output.
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
        // The same collision inside an archive.
        (
            format!(
                "  more.zip: {{ zip: {{ ./: \"SELECT file, 'a.csv' AS path {one}\", a.csv: SELECT * FROM train }} }}"
            ),
            &["gallery/public/more.zip: two outputs would write `a.csv`", "`./` and `a.csv`"],
        ),
        // The same path twice in one query.
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
            sandbox.run_and_count_steps(Gallery::ID);
            let tree = sandbox.tree(Gallery::ID);
            assert!(sandbox.prepared(Gallery::ID).join("public/test/p.png").is_file());
            assert_ne!(tree, Snapshot::of(&sandbox.path("none")));
            continue;
        }
        sandbox.run(Gallery::ID).code(3).stderr_has(parts);
        assert_eq!(sandbox.tree(Gallery::ID), Snapshot::of(&sandbox.path("none")), "{output}");
    }
}

/// If the pipeline states both paths, the plan already reports the error.
#[test]
fn constant_paths_that_collide_are_errors_at_load() {
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
            .stderr_has(&["pipeline.yaml:", part]);
    }
}
