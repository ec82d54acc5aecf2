//! Archives in `public` as folders, for agents that would unpack them by hand.
//!
//! `train.zip` becomes the folder `train`. An archive whose members are all in a folder of that name already does not get
//! another one around it. The data are what they were: checksums, the store and the data folder know nothing of it.
//! Archives within archives stay.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use prep_core::Failure;
use prep_digests::digest_of_file;
use prep_formats::archive::MemberKind;
use prep_formats::zip::{EntryKind, ZipLimits, ZipListing};
use prep_formats::{sevenz, tar};
use prep_steps::Expand;

use super::Item;
use crate::error::Error;

/// Bytes that an archive may unpack to, at most so many times its own.
const MOST: u64 = 2000;

/// Unpacks the archives among the items into `staging`, and adds what was in them.
///
/// # Errors
/// When an archive cannot be read, or what is in it is there already.
pub fn expand(items: &mut Vec<Item>, wanted: Expand, staging: &Path) -> Result<(), Error> {
    let archives: Vec<Item> = items
        .iter()
        .filter(|item| item.path.starts_with("prepared/public/") && kind(&item.path).is_some())
        .cloned()
        .collect();
    let mut there: HashMap<String, PathBuf> = items
        .iter()
        .map(|item| (item.path.clone(), item.source.clone()))
        .collect();
    for (number, archive) in archives.iter().enumerate() {
        let staging = staging.join(number.to_string());
        let inside = unpack(archive, &staging).map_err(|error| {
            let message = format!("cannot unpack {}: {error}", archive.path);
            Error::new(Failure::Input, message)
                .help("leave --expand-archives out, or name the archive's folder in the pipeline")
        })?;
        for item in inside {
            if let Some(other) = there.get(&item.path) {
                // Some competitions publish an archive and what is in it.
                if is_same(other, &item.source) {
                    continue;
                }
                let message = format!(
                    "{} has a file {}, which is there already and differs",
                    archive.path, item.path
                );
                return Err(Error::new(Failure::Input, message).help("leave --expand-archives out"));
            }
            there.insert(item.path.clone(), item.source.clone());
            items.push(item);
        }
        if wanted == Expand::Instead {
            items.retain(|item| item != archive);
        }
    }
    Ok(())
}

/// Whether two files have the same bytes, as far as they can be read.
fn is_same(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| fs::metadata(path).map(|file| file.len()).ok();
    let digest = |path: &Path| digest_of_file(path).ok();
    length(one).is_some() && length(one) == length(other) && digest(one) == digest(other)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Zip,
    Tar,
    SevenZ,
}

/// What an archive with this name is, and the name without its suffix.
fn kind(path: &str) -> Option<(Kind, &str)> {
    let kinds = [
        (".zip", Kind::Zip),
        (".tar", Kind::Tar),
        (".tar.gz", Kind::Tar),
        (".tgz", Kind::Tar),
        (".7z", Kind::SevenZ),
    ];
    kinds
        .into_iter()
        .find_map(|(suffix, kind)| Some((kind, path.strip_suffix(suffix)?)))
}

/// Unpacks one archive; its files, as part of the copy.
fn unpack(archive: &Item, staging: &Path) -> io::Result<Vec<Item>> {
    let Some((kind, folder)) = kind(&archive.path) else {
        return Ok(Vec::new());
    };
    let (mut paths, mut seen) = (Vec::new(), HashSet::new());
    let mut write = |path: &str, content: &mut dyn Read| {
        let to = staging.join(path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        // Of a path that occurs twice in a tar archive the last one counts.
        io::copy(content, &mut File::create(&to)?)?;
        if seen.insert(path.to_owned()) {
            paths.push(path.to_owned());
        }
        Ok::<(), io::Error>(())
    };
    let file = File::open(&archive.source)?;
    let length = file.metadata()?.len();
    let most = length.saturating_mul(MOST);
    match kind {
        Kind::Zip => {
            let listing = ZipListing::read(&file, 0..length, &ZipLimits::default());
            for entry in listing.map_err(io::Error::other)?.entries {
                if entry.kind == EntryKind::File {
                    let mut member = entry.open(file.try_clone()?).map_err(io::Error::other)?;
                    write(&entry.path, &mut member)?;
                }
            }
        }
        Kind::Tar => {
            let read = tar::read(BufReader::new(file), most, files_of(&mut write));
            read.map_err(io::Error::other)?;
        }
        Kind::SevenZ => {
            let read = sevenz::read(BufReader::new(file), most, files_of(&mut write));
            read.map_err(io::Error::other)?;
        }
    }
    let (around, own) = folder.rsplit_once('/').unwrap_or(("", folder));
    let has_own = paths.iter().all(|path| {
        path.strip_prefix(own)
            .is_some_and(|rest| rest.starts_with('/'))
    });
    let base = if has_own { around } else { folder };
    let items = paths.into_iter().map(|path| Item {
        source: staging.join(&path),
        path: format!("{base}/{path}"),
    });
    Ok(items.collect())
}

/// Leaves folders out: they come with their files.
fn files_of(
    write: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> impl FnMut(&str, MemberKind, &mut dyn Read) -> io::Result<()> {
    move |path, kind, content| match kind {
        MemberKind::File { .. } => write(path, content),
        MemberKind::Directory => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_formats::tar::TarWriter;

    fn archive(dir: &Path, name: &str, members: &[(&str, &str)]) -> Item {
        let mut writer = TarWriter::new(Vec::new());
        for (path, content) in members {
            writer
                .add_file(path, content.len() as u64, content.as_bytes())
                .unwrap();
        }
        let source = dir.join(name);
        fs::write(&source, writer.finish().unwrap()).unwrap();
        Item {
            path: format!("prepared/public/{name}"),
            source,
        }
    }

    #[test]
    fn a_folder_stands_beside_an_archive_or_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let plain = archive(dir.path(), "a.tar", &[("x.txt", "1"), ("y/z.txt", "2")]);
        let own = archive(dir.path(), "b.tar", &[("b/x.txt", "3")]);
        for (wanted, kept) in [(Expand::Beside, 2), (Expand::Instead, 0)] {
            let mut items = vec![plain.clone(), own.clone()];
            expand(&mut items, wanted, &dir.path().join(format!("{kept}"))).unwrap();
            let mut paths: Vec<&str> = items.iter().map(|item| item.path.as_str()).collect();
            paths.retain(|path| !path.ends_with(".tar"));
            assert_eq!(items.len() - paths.len(), kept);
            assert_eq!(
                paths,
                [
                    "prepared/public/a/x.txt",
                    "prepared/public/a/y/z.txt",
                    "prepared/public/b/x.txt"
                ]
            );
            let last = items.last().unwrap();
            assert_eq!(fs::read_to_string(&last.source).unwrap(), "3");
        }
    }

    #[test]
    fn a_file_that_is_there_already_and_equal_stays() {
        let dir = tempfile::tempdir().unwrap();
        let one = archive(dir.path(), "a.tar", &[("x.txt", "1")]);
        let source = dir.path().join("x.txt");
        for (content, fits) in [("1", true), ("2", false)] {
            fs::write(&source, content).unwrap();
            let there = Item {
                path: "prepared/public/a/x.txt".into(),
                source: source.clone(),
            };
            let mut items = vec![one.clone(), there];
            let expanded = expand(&mut items, Expand::Beside, &dir.path().join(content));
            assert_eq!(expanded.is_ok(), fits);
            assert_eq!(items.len(), 2);
        }
    }

    #[test]
    fn what_is_in_the_way_or_no_archive_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let one = archive(dir.path(), "a.tar", &[("x.txt", "1")]);
        let there = Item {
            path: "prepared/public/a/x.txt".into(),
            source: PathBuf::new(),
        };
        let refused = expand(&mut vec![one, there], Expand::Beside, dir.path());
        assert!(refused.unwrap_err().message.contains("there already"));
        let source = dir.path().join("b.zip");
        fs::write(&source, "no zip").unwrap();
        let broken = Item {
            path: "prepared/public/b.zip".into(),
            source,
        };
        let refused = expand(&mut vec![broken], Expand::Beside, dir.path()).unwrap_err();
        assert!(
            refused
                .message
                .contains("cannot unpack prepared/public/b.zip"),
            "{refused}"
        );
    }
}
