//! Every kind that reads, draws or writes, in separate pipelines: from `bundle`, `kinds/NAME/pipeline.yaml` makes the files in
//! `expected`, which the original libraries made (`kinds/record.py`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Archive, Member, Sandbox};

/// All files below a directory, by their relative paths.
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

/// The directories next to this file.
pub fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/kinds");
    let entries = fs::read_dir(root).expect("kinds");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("entry").path())
        .filter(|folder| folder.join("pipeline.yaml").exists())
        .collect();
    folders.sort();
    folders
}

/// The files of a directory's bundle.
pub fn members(folder: &Path) -> Vec<(String, Vec<u8>)> {
    below(&folder.join("bundle"))
        .into_iter()
        .map(|(name, path)| (name, fs::read(path).expect("file")))
        .collect()
}

/// An archive of them; every second one is deflated.
pub fn archive(members: &[(String, Vec<u8>)]) -> Archive {
    let all = members.iter().enumerate();
    all.fold(Archive::new(), |archive, (number, (name, content))| {
        archive.member(match number % 2 {
            0 => Member::stored(name, content),
            _ => Member::deflated(name, content),
        })
    })
}

/// Puts bundle and pipeline in their places; returns the competition's id and its bundle.
pub fn install(sandbox: &Sandbox, folder: &Path) -> (String, Vec<u8>) {
    let id = folder.file_name().expect("name").to_string_lossy();
    let bundle = archive(&members(folder)).bytes();
    sandbox.bundle(&id, &bundle);
    let pipeline = fs::read_to_string(folder.join("pipeline.yaml")).expect("pipeline");
    sandbox.pipeline(&id, &pipeline);
    (id.into_owned(), bundle)
}

#[test]
fn kinds_do_what_the_original_libraries_do() {
    for folder in folders() {
        let sandbox = Sandbox::new();
        let (id, _) = install(&sandbox, &folder);
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
}
