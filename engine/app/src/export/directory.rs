//! Writes a copy as plain files.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use prep_core::Cancel;

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
