//! Every kind that reads, draws or writes, in pipelines of its own: `kinds/NAME/pipeline.yaml` makes of `bundle` what is in
//! `expected`, which the original libraries made (`kinds/record.py`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Archive, Sandbox};

/// All files below a folder, by their paths in it.
fn files(folder: &Path, inner: &str, found: &mut Vec<(String, PathBuf)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("folder")
        .map(|entry| entry.expect("entry").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().expect("name").to_string_lossy();
        let inner = format!("{inner}{name}");
        if path.is_dir() {
            files(&path, &format!("{inner}/"), found);
        } else {
            found.push((inner, path));
        }
    }
}

fn below(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    files(folder, "", &mut found);
    found
}

#[test]
fn kinds_do_what_the_original_libraries_do() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/kinds");
    let mut seen = 0;
    for entry in fs::read_dir(&root).expect("kinds") {
        let folder = entry.expect("entry").path();
        let Ok(pipeline) = fs::read_to_string(folder.join("pipeline.yaml")) else {
            continue;
        };
        seen += 1;
        let id = folder.file_name().expect("name").to_string_lossy();
        let sandbox = Sandbox::new();
        let mut archive = Archive::new();
        for (name, path) in below(&folder.join("bundle")) {
            archive = archive.file(&name, fs::read(path).expect("file"));
        }
        sandbox.bundle(&id, &archive.bytes());
        sandbox.pipeline(&id, &pipeline);
        sandbox.run_well(&id);
        let prepared = sandbox.prepared(&id);
        for (name, path) in below(&folder.join("expected")) {
            let expected = fs::read(path).expect("expected");
            let made = fs::read(prepared.join(&name)).expect(&name);
            assert!(
                made == expected,
                "{id}: {name}:\n{}\nexpected:\n{}",
                String::from_utf8_lossy(&made),
                String::from_utf8_lossy(&expected)
            );
        }
    }
    assert!(seen >= 4, "{seen} pipelines");
}
