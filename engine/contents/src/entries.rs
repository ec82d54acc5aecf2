//! All files of a folder or a bundle, and the members of the archives among them, however deep.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use prep_formats::zip::EntryKind;

use crate::archive::{self, Archive};
use crate::read::spool;

/// What is visited: path (an archive is a folder), length as far as it is known, and content.
pub type Visit<'a> = &'a mut dyn FnMut(&str, u64, &mut dyn Read) -> io::Result<()>;

/// An archive inside an archive that must be taken out to be read is not entered beyond this length.
const TAKEN_OUT: u64 = 4 << 30;

/// Visits all files below a folder, in the order of their paths. Archives in archives are put below `temp` for the time of
/// reading, unless they can be read where they are.
///
/// # Errors
/// When something cannot be read, and those of `visit`.
pub fn of_folder(root: &Path, temp: &Path, visit: Visit<'_>) -> io::Result<()> {
    below(root, "", &mut Walk { temp, visit })
}

fn below(root: &Path, inner: &str, walk: &mut Walk<'_>) -> io::Result<()> {
    let mut names: Vec<(String, bool)> = Vec::new();
    for entry in fs::read_dir(root.join(inner))? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        names.push((entry.file_name().to_string_lossy().into_owned(), is_folder));
    }
    names.sort();
    for (name, is_folder) in names {
        let path = match inner {
            "" => name,
            inner => format!("{inner}/{name}"),
        };
        match is_folder {
            true => below(root, &path, walk)?,
            false => walk.file(&root.join(&path), &path)?,
        }
    }
    Ok(())
}

/// Visits a file or, if it is an archive, its members.
///
/// # Errors
/// As [`of_folder`].
pub fn of_file(place: &Path, path: &str, temp: &Path, visit: Visit<'_>) -> io::Result<()> {
    Walk { temp, visit }.file(place, path)
}

struct Walk<'a> {
    temp: &'a Path,
    visit: Visit<'a>,
}

impl Walk<'_> {
    fn file(&mut self, place: &Path, path: &str) -> io::Result<()> {
        let length = fs::metadata(place)?.len();
        let entered = match Archive::of(path) {
            None => false,
            Some(Archive::Zip) => self.zip(&File::open(place)?, 0..length, path)?,
            Some(kind) => self.in_sequence(kind, place, path)?,
        };
        if entered {
            return Ok(());
        }
        // What is no archive for all its name is a file.
        (self.visit)(path, length, &mut BufReader::new(File::open(place)?))
    }

    /// Whether it is one.
    fn zip(&mut self, file: &File, range: Range<u64>, path: &str) -> io::Result<bool> {
        let Ok(directory) = archive::directory(file, range) else {
            return Ok(false);
        };
        for one in directory.iter().filter(|one| one.kind == EntryKind::File) {
            let inner = format!("{path}/{}", one.path);
            let entry = one.to_entry();
            if Archive::of(&inner) == Some(Archive::Zip)
                && let Ok(Some(stretch)) = entry.section(file)
                && self.zip(file, stretch, &inner)?
            {
                continue;
            }
            let mut reader = entry.open(file).map_err(io::Error::other)?;
            self.member(&inner, Some(one.size), &mut reader)?;
        }
        Ok(true)
    }

    /// Whether it is an archive of this kind. One that is damaged behind its first file is an error.
    fn in_sequence(&mut self, kind: Archive, place: &Path, path: &str) -> io::Result<bool> {
        let (mut failed, mut members) = (None, 0_u64);
        let outcome = kind.visit(place, path, &mut |inner, length, content| {
            members += 1;
            let visited = self.member(&format!("{path}/{inner}"), length, content);
            visited.map_err(|error| {
                let kind = error.kind();
                failed = Some(error);
                kind.into()
            })
        });
        match (failed, outcome) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(true),
            (None, Err(_)) if members == 0 => Ok(false),
            (None, Err(error)) => Err(io::Error::other(format!("`{path}` is damaged: {error}"))),
        }
    }

    /// A member: visited, or entered if it is an archive itself.
    fn member(
        &mut self,
        path: &str,
        length: Option<u64>,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        let small = length.is_none_or(|length| length <= TAKEN_OUT);
        if Archive::of(path).is_some() && small {
            let taken = spool(content, self.temp)?;
            return self.file(taken.path(), path);
        }
        (self.visit)(path, length.unwrap_or(0), content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tar of files of 600 bytes.
    fn tar(names: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        for name in names {
            let mut header = [0_u8; 512];
            let fields: [(usize, &[u8]); 6] = [
                (0, name.as_bytes()),
                (100, b"0000644\0"),
                (124, b"00000001130\0"),
                (148, b"        "),
                (156, b"0"),
                (257, b"ustar\x0000"),
            ];
            for (at, field) in fields {
                header[at..at + field.len()].copy_from_slice(field);
            }
            let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            out.extend(header);
            out.extend([b'x'; 600]);
            out.resize(out.len().next_multiple_of(512), 0);
        }
        out.resize(out.len() + 1024, 0);
        out
    }

    fn visited(name: &str, content: &[u8]) -> io::Result<Vec<(String, usize)>> {
        let (folder, temp) = (tempfile::tempdir()?, tempfile::tempdir()?);
        fs::write(folder.path().join(name), content)?;
        let mut found = Vec::new();
        of_folder(folder.path(), temp.path(), &mut |path, _, content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found.push((path.to_owned(), bytes.len()));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn archives_are_entered_unless_they_are_none_or_damaged() -> io::Result<()> {
        let whole = tar(&["a", "b"]);
        let both = [("t.tar/a".to_owned(), 600), ("t.tar/b".to_owned(), 600)];
        assert_eq!(visited("t.tar", &whole)?, both);
        assert_eq!(visited("t.tar", b"no tar")?, [("t.tar".to_owned(), 6)]);
        // Within the second file.
        let cut = visited("t.tar", &whole[..2200]);
        let message = cut.err().map(|error| error.to_string());
        let message = message.unwrap_or_default();
        assert!(!message.is_empty(), "a part of an archive is no archive");
        Ok(())
    }
}
