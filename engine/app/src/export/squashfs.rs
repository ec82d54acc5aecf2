//! A copy as a SquashFS image, which Linux mounts without unpacking it.
//!
//! The image is written when all files are known, so each is read twice: for its sum, and into the image.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use backhand::compression::Compressor;
use backhand::{BackhandError, FilesystemCompressor, FilesystemWriter, NodeHeader};
use prep_core::Cancel;

use super::{Copier, ExportedFile, Item, Reading};

const FILE: u16 = 0o644;
const FOLDER: u16 = 0o755;

pub struct SquashFs {
    made: PathBuf,
    id: String,
    image: FilesystemWriter<'static, 'static, 'static>,
}

/// The library's errors have no text of their own.
fn failed(error: BackhandError) -> io::Error {
    match error {
        BackhandError::StdIo(error) => error,
        _ => io::Error::other("a SquashFS image cannot hold this"),
    }
}

/// Belongs to root, and has no time: equal contents give equal images.
fn header(mode: u16) -> NodeHeader {
    NodeHeader::new(mode, 0, 0, 0)
}

impl SquashFs {
    pub fn new(made: &Path, id: &str) -> io::Result<SquashFs> {
        let mut image = FilesystemWriter::default();
        let compressor = FilesystemCompressor::new(Compressor::Zstd, None).map_err(failed)?;
        image.set_compressor(compressor);
        image.set_time(0);
        image.set_root_mode(FOLDER);
        image.set_only_root_id();
        Ok(SquashFs {
            made: made.to_owned(),
            id: id.to_owned(),
            image,
        })
    }

    /// The place of a file in the image; its folders are there afterwards.
    fn place(&mut self, path: &str) -> io::Result<String> {
        let place = format!("{}/{path}", self.id);
        if let Some((folder, _)) = place.rsplit_once('/') {
            self.image
                .push_dir_all(folder, header(FOLDER))
                .map_err(failed)?;
        }
        Ok(place)
    }
}

/// A file that is written until somebody wants to stop: all files are read while the image is written.
struct Stoppable {
    file: File,
    cancel: Cancel,
}

impl Write for Stoppable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.cancel.check()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Stoppable {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Copier for SquashFs {
    fn file(&mut self, item: &Item, cancel: &Cancel) -> io::Result<ExportedFile> {
        let mut reading = Reading::open(item, cancel)?;
        io::copy(
            &mut BufReader::with_capacity(1 << 20, &mut reading),
            &mut io::sink(),
        )?;
        let place = self.place(&item.path)?;
        let pushed = self
            .image
            .push_file_from_path(&item.source, place, header(FILE));
        pushed.map_err(failed)?;
        Ok(reading.done())
    }

    fn folder(&mut self, path: &str) -> io::Result<()> {
        let place = format!("{}/{path}", self.id);
        self.image
            .push_dir_all(place, header(FOLDER))
            .map_err(failed)
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        let place = self.place(name)?;
        let content = Cursor::new(text.as_bytes().to_vec());
        self.image
            .push_file(content, place, header(FILE))
            .map_err(failed)
    }

    fn finish(mut self: Box<Self>, cancel: &Cancel) -> io::Result<()> {
        let out = Stoppable {
            file: File::create_new(&self.made)?,
            cancel: cancel.clone(),
        };
        let mut out = BufWriter::with_capacity(1 << 20, out);
        self.image.write(&mut out).map_err(failed)?;
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .file
            .sync_all()
    }
}
