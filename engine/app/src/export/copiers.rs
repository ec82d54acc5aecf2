//! Writes a copy as plain files or as a tar archive.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use prep_core::Cancel;
use prep_formats::archive::ArchiveError;
use prep_formats::tar::TarWriter;

use super::{Copier, ExportedFile, Item, Reading};

pub struct DirectoryCopier {
    target: PathBuf,
    root: PathBuf,
}

impl DirectoryCopier {
    pub fn new(target: &Path, id: &str) -> DirectoryCopier {
        DirectoryCopier {
            target: target.to_owned(),
            root: target.join(id),
        }
    }
}

impl Copier for DirectoryCopier {
    fn file(&mut self, item: &Item, cancel: &Cancel) -> io::Result<ExportedFile> {
        let to = self.root.join(&item.path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut reading = Reading::open(item, cancel)?;
        let mut out = File::create_new(&to)?;
        io::copy(
            &mut BufReader::with_capacity(1 << 20, &mut reading),
            &mut out,
        )?;
        Ok(reading.into_exported_file())
    }

    fn directory(&mut self, path: &str) -> io::Result<()> {
        fs::create_dir_all(self.root.join(path))
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        fs::create_dir_all(&self.root)?;
        fs::write(self.root.join(name), text)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        // Temporary directories are private to the user. This directory becomes the copy, so other users must be able
        // to read it.
        fs::set_permissions(&self.target, fs::Permissions::from_mode(0o755))
    }
}

pub struct TarCopier {
    id: String,
    archive: TarWriter<BufWriter<File>>,
}

impl TarCopier {
    pub fn new(made: &Path, id: &str) -> io::Result<TarCopier> {
        let out = BufWriter::with_capacity(1 << 20, File::create_new(made)?);
        Ok(TarCopier {
            id: id.to_owned(),
            archive: TarWriter::new(out),
        })
    }

    fn append(&mut self, name: &str, length: u64, content: impl Read) -> io::Result<()> {
        let path = format!("{}/{name}", self.id);
        let added = self.archive.add_file(&path, length, content);
        added.map_err(system_error)
    }
}

/// Returns the error of the system that caused an error of the archive, if there is one.
fn system_error(error: ArchiveError) -> io::Error {
    match error {
        ArchiveError::Write {
            source: Some(source),
            ..
        } => source,
        other => io::Error::other(other),
    }
}

impl Copier for TarCopier {
    fn file(&mut self, item: &Item, cancel: &Cancel) -> io::Result<ExportedFile> {
        let mut reading = Reading::open(item, cancel)?;
        self.append(&item.path, reading.length, &mut reading)?;
        Ok(reading.into_exported_file())
    }

    fn directory(&mut self, path: &str) -> io::Result<()> {
        let path = format!("{}/{path}", self.id);
        self.archive.add_directory(&path).map_err(system_error)
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.append(name, text.len() as u64, text.as_bytes())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let out = self.archive.finish().map_err(system_error)?;
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    }
}
