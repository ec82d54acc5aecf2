//! Tests the kinds of tables and outputs that read, draw or write. Each directory in `kinds` has a pipeline for some of
//! these kinds: `kinds/NAME/pipeline.yaml` must produce the files in `expected` from the files in `bundle`. The
//! original libraries wrote `expected` (`kinds/record.py`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Archive, Member, Sandbox};

fn files(directory: &Path, inner: &str, found: &mut Vec<(String, PathBuf)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory)
        .expect("directory")
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

fn below(directory: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    files(directory, "", &mut found);
    found
}

pub fn directory(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/kinds");
    root.join(name)
}

pub fn directories() -> Vec<PathBuf> {
    let entries = fs::read_dir(directory("")).expect("kinds");
    let mut directories: Vec<PathBuf> = entries
        .map(|entry| entry.expect("entry").path())
        .filter(|directory| directory.join("pipeline.yaml").exists())
        .collect();
    directories.sort();
    directories
}

pub fn members(directory: &Path) -> Vec<(String, Vec<u8>)> {
    below(&directory.join("bundle"))
        .into_iter()
        .map(|(name, path)| (name, fs::read(path).expect("file")))
        .collect()
}

/// Returns an archive of the members. Every second member is deflated.
pub fn archive(members: &[(String, Vec<u8>)]) -> Archive {
    let all = members.iter().enumerate();
    all.fold(Archive::new(), |archive, (number, (name, content))| {
        archive.member(match number % 2 {
            0 => Member::stored(name, content),
            _ => Member::deflated(name, content),
        })
    })
}

/// Installs the pipeline and the bundle of a directory in `kinds`. Returns the competition's id and the bundle.
pub fn install(sandbox: &Sandbox, directory: &Path) -> (String, Vec<u8>) {
    let id = directory.file_name().expect("name").to_string_lossy();
    let bundle = archive(&members(directory)).bytes();
    sandbox.bundle(&id, &bundle);
    let pipeline = fs::read_to_string(directory.join("pipeline.yaml")).expect("pipeline");
    sandbox.pipeline(&id, &pipeline);
    (id.into_owned(), bundle)
}

#[test]
fn outputs_match_those_of_the_original_libraries() {
    for directory in directories() {
        let sandbox = Sandbox::new();
        let (id, _) = install(&sandbox, &directory);
        sandbox.run_and_count_steps(&id);
        let prepared = sandbox.prepared(&id);
        for (name, path) in below(&directory.join("expected")) {
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
}
