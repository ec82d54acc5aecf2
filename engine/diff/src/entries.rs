//! All files of a folder or a bundle, and the members of the archives among them.

use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use prep_formats::read_at::ReadAt;
use prep_formats::zip::{Directory, EntryKind, ZipLimits};
use prep_formats::{sevenz, tar};

/// What is visited: path (an archive is a folder), length, and content.
pub type Visit<'a> = &'a mut dyn FnMut(&str, u64, &mut dyn Read) -> io::Result<()>;

/// An archive inside an archive is held in memory up to this length; of a larger one only the name is seen.
const WHOLE: u64 = 256 << 20;

/// Most bytes that an archive may hold.
const MOST: u64 = 1 << 50;

/// Visits all files below a folder, in the order of their paths.
///
/// # Errors
/// When something cannot be read, and those of `visit`.
pub fn of_folder(root: &Path, visit: Visit<'_>) -> io::Result<()> {
    below(root, "", visit)
}

fn below(root: &Path, inner: &str, visit: Visit<'_>) -> io::Result<()> {
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
            true => below(root, &path, visit)?,
            false => of_file(&root.join(&path), &path, visit)?,
        }
    }
    Ok(())
}

/// Visits a file and, if it is an archive, its members.
///
/// # Errors
/// As [`of_folder`].
pub fn of_file(place: &Path, path: &str, visit: Visit<'_>) -> io::Result<()> {
    let file = File::open(place)?;
    let length = file.metadata()?.len();
    match kind(path) {
        Some(Kind::Zip) => of_zip(&file, length, path, visit),
        Some(Kind::Tar) => of_tar(BufReader::new(file), path, visit),
        Some(Kind::SevenZ) => of_sevenz(BufReader::new(file), path, visit),
        None => visit(path, length, &mut BufReader::new(file)),
    }
}

enum Kind {
    Zip,
    Tar,
    SevenZ,
}

fn kind(path: &str) -> Option<Kind> {
    let path = path.to_ascii_lowercase();
    let ends = |one: &[&str]| one.iter().any(|end| path.ends_with(end));
    match () {
        () if ends(&[".zip"]) => Some(Kind::Zip),
        () if ends(&[".tar", ".tar.gz", ".tgz"]) => Some(Kind::Tar),
        () if ends(&[".7z"]) => Some(Kind::SevenZ),
        () => None,
    }
}

/// A member: visited, or entered if it is an archive itself.
fn member(path: &str, length: u64, content: &mut dyn Read, visit: Visit<'_>) -> io::Result<()> {
    let Some(kind) = kind(path).filter(|_| length <= WHOLE) else {
        return visit(path, length, content);
    };
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes)?;
    let length = bytes.len() as u64;
    match kind {
        Kind::Zip => of_zip(&bytes, length, path, visit),
        Kind::Tar => of_tar(Cursor::new(bytes), path, visit),
        Kind::SevenZ => of_sevenz(Cursor::new(bytes), path, visit),
    }
}

fn of_zip<R: ReadAt>(base: &R, length: u64, path: &str, visit: Visit<'_>) -> io::Result<()> {
    // What is no archive for all its name is a file.
    let Ok(directory) = Directory::read(base, 0..length, &ZipLimits::default()) else {
        return visit(path, length, &mut io::empty());
    };
    for one in directory.iter().filter(|one| one.kind == EntryKind::File) {
        let inner = format!("{path}/{}", one.path);
        let entry = one.to_entry();
        let mut reader = entry.open(base).map_err(io::Error::other)?;
        member(&inner, one.size, &mut reader, visit)?;
    }
    Ok(())
}

fn of_tar(input: impl Read, path: &str, visit: Visit<'_>) -> io::Result<()> {
    let each = |inner: &str, kind, content: &mut dyn Read| match kind {
        tar::TarKind::File { size, .. } => member(&format!("{path}/{inner}"), size, content, visit),
        tar::TarKind::Directory => Ok(()),
    };
    match tar::read(input, MOST, each) {
        Ok(()) => Ok(()),
        Err(_) => visit(path, 0, &mut io::empty()),
    }
}

fn of_sevenz(input: impl Read + io::Seek, path: &str, visit: Visit<'_>) -> io::Result<()> {
    let each = |inner: &str, kind, content: &mut dyn Read| match kind {
        sevenz::SevenZKind::File { size } => {
            member(&format!("{path}/{inner}"), size, content, visit)
        }
        sevenz::SevenZKind::Directory => Ok(()),
    };
    match sevenz::read(input, MOST, each) {
        Ok(()) => Ok(()),
        Err(_) => visit(path, 0, &mut io::empty()),
    }
}
