//! Temporary files of sorts, groups and joins.
//!
//! DataFusion reads its own temporary files through a thread pool, which fails or blocks if the system cannot start
//! another thread. The files of this module are read on the thread of the query's step.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::spill_file::{SpillFile, SpillWriter, TempFileFactory};
use futures::{Stream, stream};

const CHUNK_BYTES: usize = 128 << 10;

/// Creates unlinked files in a directory. The system deletes an unlinked file when it is closed.
pub(crate) struct SpillDirectory(pub Arc<Path>);

impl TempFileFactory for SpillDirectory {
    fn create_temp_file(&self, _description: &str) -> Result<Arc<dyn SpillFile>> {
        let file = tempfile::tempfile_in(&self.0).map_err(DataFusionError::IoError)?;
        Ok(Arc::new(QuerySpillFile(Arc::new(SpillFileData {
            file,
            bytes: AtomicU64::new(0),
        }))))
    }
}

struct SpillFileData {
    file: File,
    bytes: AtomicU64,
}

/// A file that is written once, sequentially, and can be read any number of times.
struct QuerySpillFile(Arc<SpillFileData>);

impl SpillFile for QuerySpillFile {
    fn size(&self) -> Option<u64> {
        Some(self.0.bytes.load(Ordering::Relaxed))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let inner = self.0.clone();
        let mut offset = 0;
        let chunks = std::iter::from_fn(move || {
            let chunk = read_at(&inner.file, offset);
            match chunk {
                Ok(chunk) if chunk.is_empty() => None,
                Ok(chunk) => {
                    offset += chunk.len() as u64;
                    Some(Ok(chunk))
                }
                Err(error) => Some(Err(DataFusionError::IoError(error))),
            }
        });
        Ok(Box::pin(stream::iter(chunks)))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(Writer(self.0.clone())))
    }
}

/// Reads at most [`CHUNK_BYTES`] at `offset`. Returns no bytes at the end of the file.
fn read_at(file: &File, offset: u64) -> io::Result<Bytes> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let count = loop {
        match file.read_at(&mut chunk, offset) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    chunk.truncate(count);
    Ok(Bytes::from(chunk))
}

struct Writer(Arc<SpillFileData>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = (&self.0.file).write(bytes)?;
        self.0.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    #[test]
    fn a_spilled_file_is_read_from_its_start_and_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let spilled = SpillDirectory(directory.path().into());
        let file = spilled.create_temp_file("a test").unwrap();
        let bytes: Vec<u8> = (0..3 * CHUNK_BYTES + 7).map(|at| at as u8).collect();
        let (first, rest) = bytes.split_at(CHUNK_BYTES / 2);
        let read = || {
            let chunks = file.read_stream().unwrap();
            let chunks = chunks.map(|chunk| chunk.unwrap().to_vec());
            futures::executor::block_on(chunks.concat())
        };
        let mut writer = file.open_writer().unwrap();
        writer.write_all(first).unwrap();
        assert!(
            read() == first,
            "the content differs from the bytes written so far"
        );
        writer.write_all(rest).unwrap();
        writer.finish().unwrap();
        assert_eq!(file.size(), Some(bytes.len() as u64));
        assert!(read() == bytes && read() == bytes);
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}
