//! Writes a copy as a tar archive.

use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::Path;

use prep_core::Cancel;
use tar::{Builder, EntryType, Header};

use super::{Copier, ExportedFile, Item, Reading};

pub struct Tar {
    id: String,
    archive: Builder<BufWriter<File>>,
}

impl Tar {
    pub fn new(made: &Path, id: &str) -> io::Result<Tar> {
        let out = BufWriter::with_capacity(1 << 20, File::create_new(made)?);
        Ok(Tar {
            id: id.to_owned(),
            archive: Builder::new(out),
        })
    }

    fn append(&mut self, name: &str, length: u64, content: &mut dyn Read) -> io::Result<()> {
        self.entry(name, EntryType::Regular, 0o644, length, content)
    }

    fn entry(
        &mut self,
        name: &str,
        kind: EntryType,
        mode: u32,
        length: u64,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(length);
        header.set_mode(mode);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        let name = format!("{}/{name}", self.id);
        self.archive.append_data(&mut header, name, content)
    }
}

impl Copier for Tar {
    fn file(&mut self, item: &Item, cancel: &Cancel) -> io::Result<ExportedFile> {
        let mut reading = Reading::open(item, cancel)?;
        let length = reading.length;
        self.append(&item.path, length, &mut reading)?;
        Ok(reading.into_exported_file())
    }

    fn directory(&mut self, path: &str) -> io::Result<()> {
        let name = format!("{path}/");
        self.entry(&name, EntryType::Directory, 0o755, 0, &mut io::empty())
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.append(name, text.len() as u64, &mut text.as_bytes())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let out = self.archive.into_inner()?;
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    }
}
