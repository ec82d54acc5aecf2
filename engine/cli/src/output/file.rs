//! Writes the output files of verbs. A file is written completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use prep_app::Error;

/// Writes a temporary file in the same directory and renames it, so that readers see either the old or the complete new
/// content. Pipes and devices are written directly.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    // If the path is a link, the link stays and its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_direct = fs::metadata(&path).is_ok_and(|found| !found.is_file());
    let temporary = if is_direct {
        path.clone()
    } else {
        temporary_path(&path)
    };
    let written = File::create(&temporary).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    let written = match written {
        Ok(()) if !is_direct => fs::rename(&temporary, &path),
        other => other,
    };
    written.map_err(|error| {
        if !is_direct {
            // Errors are ignored: the file may not exist, and the first error is the relevant one.
            let _ = fs::remove_file(&temporary);
        }
        Error::writing("write", &path, &error)
    })
}

fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        let read = || fs::read_to_string(&path).unwrap();
        write_atomically(&path, |out| out.write_all(b"one")).unwrap();
        let full = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let error = write_atomically(&path, full).unwrap_err();
        assert!(error.message.contains("a.txt"), "{error}");
        assert_eq!(read(), "one");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_atomically(&link, |out| out.write_all(b"two")).unwrap();
        assert_eq!(read(), "two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        write_atomically(Path::new("/dev/null"), |out| out.write_all(b"x")).unwrap();
        write_atomically(&dir.path().join("no/where"), |out| out.write_all(b"x")).unwrap_err();
    }
}
