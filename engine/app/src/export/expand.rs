//! Unpacks the archives in the directory `public` of a copy. Archives inside these archives stay packed.
//!
//! `train.zip` becomes the directory `train`. If the archive contains only a directory `train`, the copy contains `train`
//! and not `train/train`.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use prep_core::{Cancel, Failure, Remedy, chain};
use prep_digests::digest_of_file;
use prep_formats::archive::{ArchiveFormat, Member, StoredForms};
use prep_formats::limits::DecodingLimits;
use prep_formats::read_at::ByteSection;
use prep_steps::Expand;

use crate::error::Error;
use crate::export::{CopiedFile, CopyInputs, list};

/// Unpacks the archives of `public` into the directory `staging`, and adds the unpacked files to `found`, the files to copy.
/// With [`Expand::Instead`], removes the archives from `found`.
///
/// # Errors
/// Returns an error if an archive cannot be read, or if a member has the path of another file with different content.
pub fn expand(
    found: &mut CopyInputs,
    wanted: Expand,
    staging: &Path,
    limits: &DecodingLimits,
    cancel: &Cancel,
) -> Result<(), Error> {
    let is_archive = |item: &&CopiedFile| {
        item.path.starts_with("prepared/public/") && ArchiveFormat::split_path(&item.path).is_some()
    };
    let archives: Vec<CopiedFile> = found.items.iter().filter(is_archive).cloned().collect();
    let mut sources_by_path: HashMap<String, PathBuf> = found
        .items
        .iter()
        .map(|item| (item.path.clone(), item.source.clone()))
        .collect();
    for (number, archive) in archives.iter().enumerate() {
        let Some((format, directory)) = ArchiveFormat::split_path(&archive.path) else {
            continue;
        };
        let staging = staging.join(number.to_string());
        unpack(&archive.source, format, &staging, limits, cancel).map_err(|error| {
            if cancel.is_cancelled() {
                return super::interrupted();
            }
            let message = format!("cannot unpack {}: {}", archive.path, chain(&error));
            Error::new(Failure::Input, message).help(Remedy::KeepArchives)
        })?;
        let mut inside = CopyInputs::default();
        list(&staging, base(&staging, directory), None, &mut inside)?;
        found.empty.append(&mut inside.empty);
        for item in inside.items {
            if let Some(other) = sources_by_path.get(&item.path) {
                // Some competitions publish an archive and also its members.
                if has_same_bytes(other, &item.source)? {
                    continue;
                }
                let message = format!(
                    "{} contains {}, but a different file with this path already exists",
                    archive.path, item.path
                );
                return Err(Error::new(Failure::Input, message).help(Remedy::KeepArchives));
            }
            sources_by_path.insert(item.path.clone(), item.source.clone());
            found.items.push(item);
        }
        if wanted == Expand::Instead {
            found.items.retain(|item| item != archive);
        }
    }
    Ok(())
}

fn has_same_bytes(one: &Path, other: &Path) -> Result<bool, Error> {
    let length = |path: &Path| {
        let metadata = fs::metadata(path).map_err(|error| Error::reading("read", path, &error))?;
        Ok::<u64, Error>(metadata.len())
    };
    let digest =
        |path: &Path| digest_of_file(path).map_err(|error| Error::reading("read", path, &error));
    Ok(length(one)? == length(other)? && digest(one)? == digest(other)?)
}

/// Returns the directory of the copy into which the content of `staging`, an unpacked archive, is copied.
///
/// `directory` is the archive's path without its suffix. If the archive contains only a directory with the name of
/// `directory`, returns the parent of `directory`. Otherwise returns `directory`.
fn base<'a>(staging: &Path, directory: &'a str) -> &'a str {
    let (around, own) = directory.rsplit_once('/').unwrap_or(("", directory));
    let alone = fs::read_dir(staging).is_ok_and(|entries| entries.count() == 1);
    match alone && staging.join(own).is_dir() {
        true => around,
        false => directory,
    }
}

/// Unpacks an archive into `staging`. Creates that directory even if the archive is empty.
fn unpack(
    archive: &Path,
    format: ArchiveFormat,
    staging: &Path,
    limits: &DecodingLimits,
    cancel: &Cancel,
) -> io::Result<()> {
    fs::create_dir_all(staging)?;
    let mut write = |member: &Member<'_>, content: &mut dyn Read| {
        let to = staging.join(member.path);
        if member.is_directory {
            return fs::create_dir_all(to);
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        // If a path occurs twice in a tar archive, the last member overwrites the first.
        io::copy(&mut cancel.reader(content), &mut File::create(&to)?)?;
        Ok(())
    };
    let file = File::open(archive)?;
    let length = file.metadata()?.len();
    let (section, budget) = (ByteSection::new(&file, 0..length), limits.budget(length));
    let read = format.read("", section, &budget, StoredForms::Skip, &mut write);
    read.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_formats::tar::TarWriter;

    fn archive(dir: &Path, name: &str, members: &[(&str, &str)]) -> CopiedFile {
        let mut writer = TarWriter::new(Vec::new());
        for (path, content) in members {
            let added = match path.strip_suffix('/') {
                Some(directory) => writer.add_directory(directory),
                None => writer.add_file(path, content.len() as u64, content.as_bytes()),
            };
            added.unwrap();
        }
        let source = dir.join(name);
        fs::write(&source, writer.finish().unwrap()).unwrap();
        CopiedFile {
            path: format!("prepared/public/{name}"),
            source,
        }
    }

    fn expanded(
        items: &[&CopiedFile],
        wanted: Expand,
        staging: &Path,
    ) -> Result<CopyInputs, Error> {
        let mut found = CopyInputs {
            items: items.iter().copied().cloned().collect(),
            empty: Vec::new(),
        };
        expand(
            &mut found,
            wanted,
            staging,
            &DecodingLimits::default(),
            &Cancel::default(),
        )?;
        Ok(found)
    }

    #[test]
    fn empty_archives_become_empty_directories() {
        let dir = tempfile::tempdir().unwrap();
        let nothing = archive(dir.path(), "a.tar", &[]);
        let directories = archive(dir.path(), "b.tar", &[("c/", ""), ("d/x.txt", "1")]);
        let found = expanded(
            &[&nothing, &directories],
            Expand::Instead,
            &dir.path().join("s"),
        );
        let found = found.unwrap();
        let paths: Vec<&str> = found.items.iter().map(|item| item.path.as_str()).collect();
        assert_eq!(paths, ["prepared/public/b/d/x.txt"]);
        assert_eq!(found.empty, ["prepared/public/a", "prepared/public/b/c"]);
    }

    #[test]
    fn an_archive_is_copied_next_to_its_directory_or_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let plain = archive(dir.path(), "a.tar", &[("x.txt", "1"), ("y/z.txt", "2")]);
        let own = archive(dir.path(), "b.tar", &[("b/x.txt", "3")]);
        let expanded = |items: &[&CopiedFile], wanted, staging: &str| {
            expanded(items, wanted, &dir.path().join(staging))
        };
        for (wanted, kept) in [(Expand::Beside, 2), (Expand::Instead, 0)] {
            let found = expanded(&[&plain, &own], wanted, &format!("{kept}")).unwrap();
            let mut items = found.items;
            items.sort();
            let mut paths: Vec<&str> = items.iter().map(|item| item.path.as_str()).collect();
            paths.retain(|path| !path.ends_with(".tar"));
            assert_eq!(items.len() - paths.len(), kept);
            assert_eq!(found.empty, [""; 0]);
            assert_eq!(
                paths,
                [
                    "prepared/public/a/x.txt",
                    "prepared/public/a/y/z.txt",
                    "prepared/public/b/x.txt"
                ]
            );
            items.retain(|item| item.path.ends_with("b/x.txt"));
            assert_eq!(fs::read_to_string(&items[0].source).unwrap(), "3");
        }
    }

    #[test]
    fn an_existing_file_must_equal_the_member() {
        let dir = tempfile::tempdir().unwrap();
        let one = archive(dir.path(), "a.tar", &[("x.txt", "1")]);
        let source = dir.path().join("x.txt");
        for (content, fits) in [("1", true), ("2", false)] {
            fs::write(&source, content).unwrap();
            let there = CopiedFile {
                path: "prepared/public/a/x.txt".into(),
                source: source.clone(),
            };
            let staging = dir.path().join(content);
            let expanded = expanded(&[&one, &there], Expand::Beside, &staging);
            assert_eq!(expanded.is_ok(), fits);
            assert!(expanded.is_err() || expanded.unwrap().items.len() == 2);
        }
    }

    #[test]
    fn conflicting_files_and_broken_archives_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let one = archive(dir.path(), "a.tar", &[("x.txt", "1")]);
        let other = dir.path().join("x.txt");
        let causes = [(Some("2"), "already exists"), (None, "cannot read")];
        for (index, (content, cause)) in causes.into_iter().enumerate() {
            let _ = fs::remove_file(&other);
            if let Some(content) = content {
                fs::write(&other, content).unwrap();
            }
            let there = CopiedFile {
                path: "prepared/public/a/x.txt".into(),
                source: other.clone(),
            };
            let staging = dir.path().join(index.to_string());
            let refused = expanded(&[&one, &there], Expand::Beside, &staging).unwrap_err();
            assert!(refused.message.contains(cause), "{refused}");
        }
        let source = dir.path().join("b.zip");
        fs::write(&source, "no zip").unwrap();
        let broken = CopiedFile {
            path: "prepared/public/b.zip".into(),
            source,
        };
        let refused = expanded(&[&broken], Expand::Beside, &dir.path().join("two")).unwrap_err();
        assert!(
            refused
                .message
                .contains("cannot unpack prepared/public/b.zip"),
            "{refused}"
        );
    }
}
