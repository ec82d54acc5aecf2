//! Accesses to files, one by one.
//!
//! A program that links this library can watch what is done to the files of the store, of bundles and of prepared folders,
//! and put an error in an access's place: so a full disk, a bad block or an interruption at any point can be played,
//! without one. Nothing is asked where nobody watches.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is about to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// A file is opened for reading; it may be mapped into memory then.
    Open,
    /// Bytes of an open file are read.
    Read,
    /// A file or a folder is made, or a further name of a file.
    Create,
    /// Bytes are written to an open file.
    Write,
    /// A file or a folder gets another name.
    Rename,
    /// A file or a folder is removed.
    Remove,
}

impl Access {
    /// Whether it changes something.
    pub fn is_change(self) -> bool {
        !matches!(self, Access::Open | Access::Read)
    }
}

/// Is told of every access before it happens, on the thread that is about to do it.
pub trait Watch: Send + Sync {
    /// # Errors
    /// One that takes the place of the access.
    fn before(&self, access: Access, path: &Path) -> io::Result<()>;
}

/// Who watches; usually nobody. Cheap to clone.
#[derive(Clone, Default)]
pub struct Accesses(Option<Arc<dyn Watch>>);

impl Accesses {
    pub fn watched_by(watch: Arc<dyn Watch>) -> Accesses {
        Accesses(Some(watch))
    }

    /// Announces an access.
    ///
    /// # Errors
    /// That of the watcher, in place of the access.
    pub fn before(&self, access: Access, path: &Path) -> io::Result<()> {
        match &self.0 {
            Some(watch) => watch.before(access, path),
            None => Ok(()),
        }
    }

    /// Announces every read from `inner`, which reads the file `path`.
    pub fn reader<R>(&self, path: &Path, inner: R) -> Watched<R> {
        let path = match self.0 {
            Some(_) => path.to_path_buf(),
            None => PathBuf::new(),
        };
        Watched {
            accesses: self.clone(),
            path,
            inner,
        }
    }
}

impl fmt::Debug for Accesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched = self.0.is_some();
        f.debug_struct("Accesses")
            .field("watched", &watched)
            .finish()
    }
}

/// A reader whose reads are announced. See [`Accesses::reader`].
#[derive(Debug)]
pub struct Watched<R> {
    accesses: Accesses,
    path: PathBuf,
    inner: R,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.accesses.before(Access::Read, &self.path)?;
        self.inner.read(buffer)
    }
}

impl<R: Seek> Seek for Watched<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
