//! Reads Parquet files.

use std::io::{self, Read};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use parking_lot::Mutex;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescriptor;

use super::ParquetError;
use super::footer;
use super::pages::{ListChunk, Pages};
use super::texts::{self, MAX_TEXT_BYTES, Texts};
use crate::limits::{DecodingLimits, Limit};
use crate::read_at::{ByteSection, ReadAt};
use crate::sniff::{FileType, SNIFF_BYTES};

/// Number of rows that even the smallest file may have.
const MAX_ROWS: u64 = 1 << 24;
/// Number of additional rows that each byte of a file allows. A run of identical values takes only a few bytes.
const ROWS_PER_BYTE: u64 = 1000;

/// Number of rows in a batch if this module searches a column.
const BATCH_ROWS: usize = 8192;

/// An open file. Its footer is in memory. [`ParquetTable::batches`] reads its data.
#[derive(Debug)]
pub struct ParquetTable<R: ReadAt + Send + Sync> {
    section: Arc<ByteSection<R>>,
    /// The footer, and the schema with views for strings.
    metadata: ArrowReaderMetadata,
    schema: SchemaRef,
    limits: DecodingLimits,
}

impl<R: ReadAt + Send + Sync + 'static> ParquetTable<R> {
    /// Opens the file in the range `range` of `base`, for example a stored member of an archive.
    ///
    /// Columns have the types of Parquet. Hints for Arrow, such as dictionaries or string views, are ignored.
    ///
    /// # Errors
    /// [`ParquetError::NotParquet`] if the file is not Parquet or is truncated.
    pub fn open(base: R, range: Range<u64>, limits: &DecodingLimits) -> Result<Self, ParquetError> {
        let section = Arc::new(ByteSection::new(base, range));
        let footer = read_footer(&section, limits)?;
        footer::check(&footer, limits)?;
        let metadata = Arc::new(guarded(|| {
            ParquetMetaDataReader::decode_metadata(&footer)
        })??);
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let schema = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options)?;
        let schema = Arc::clone(schema.schema());
        let options = ArrowReaderOptions::new().with_schema(texts::with_views(&schema));
        let metadata = ArrowReaderMetadata::try_new(metadata, options)?;
        let table = Self {
            section,
            metadata,
            schema,
            limits: *limits,
        };
        let size = table.section.len();
        let rows = table.row_groups().fold(0, u64::saturating_add);
        if rows != table.rows() {
            return Err(ParquetError::Damaged);
        }
        let limit = ROWS_PER_BYTE.saturating_mul(size).saturating_add(MAX_ROWS);
        match rows > limit {
            true => Err(ParquetError::TooManyRows { rows, size, limit }),
            false => Ok(table),
        }
    }

    /// Returns the columns, in the order of the file.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the writer of the file, as recorded in the footer.
    pub fn created_by(&self) -> Option<&str> {
        self.metadata.metadata().file_metadata().created_by()
    }

    /// Returns an entry of the footer's metadata.
    pub fn key_value(&self, key: &str) -> Option<&str> {
        let entries = self
            .metadata
            .metadata()
            .file_metadata()
            .key_value_metadata()?;
        entries
            .iter()
            .find(|entry| entry.key == key)?
            .value
            .as_deref()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Returns the number of rows of each row group.
    pub fn row_groups(&self) -> impl ExactSizeIterator<Item = u64> {
        let groups = self.metadata.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
    }

    /// Returns the approximate size in bytes of the decoded columns `columns`.
    pub fn decoded_bytes(&self, columns: &[&str]) -> u64 {
        let groups = self.metadata.metadata().row_groups().iter();
        let chunks = groups.flat_map(|group| group.columns());
        let wanted = chunks.filter(|chunk| {
            let name = chunk.column_path().parts().first();
            name.is_some_and(|name| columns.contains(&name.as_str()))
        });
        let sizes = wanted.map(|chunk| u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
        sizes.sum()
    }

    /// Returns whether a cell of the column `name` is missing. Reads the column if the footer does not state this.
    ///
    /// # Errors
    /// [`ParquetError::UnknownColumn`], or an error if a page is damaged or too large.
    pub fn has_missing(&self, name: &str) -> Result<bool, ParquetError> {
        let groups = self.metadata.metadata().row_groups().iter();
        let chunks = groups.flat_map(|group| group.columns());
        let own = chunks.filter(|chunk| chunk.column_path().string() == name);
        let counts = own.map(|chunk| chunk.statistics()?.null_count_opt());
        let stated: Option<u64> = counts.sum();
        if let Some(count) = stated {
            return Ok(count > 0);
        }
        for batch in self.batches(Some(&[name]), None, BATCH_ROWS)? {
            if batch?.columns().iter().any(|cells| cells.null_count() > 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads `columns` in the given order, or all columns, in batches of at most `batch_rows` rows.
    ///
    /// `row_group` selects one row group. `None` selects all row groups, in the order of the file.
    ///
    /// # Errors
    /// [`ParquetError::UnknownColumn`]. The iterator returns an error if a page is damaged or too large.
    pub fn batches(
        &self,
        columns: Option<&[&str]>,
        row_group: Option<usize>,
        batch_rows: usize,
    ) -> Result<ParquetBatches, ParquetError> {
        let section = &self.section;
        let failure = LastError::default();
        let source = ParquetSource {
            section: Arc::clone(section),
            failure: failure.clone(),
            pages: Pages::new(&self.limits, section.len(), self.list_chunks(row_group)),
        };
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(source, self.metadata.clone())
                .with_batch_size(batch_rows.min(self.max_batch_rows()?).max(1));
        if let Some(group) = row_group {
            builder = builder.with_row_groups(vec![group]);
        }
        // The crate returns the columns in the order of the file, not in the requested order.
        let mut order = None;
        let mut schema = Arc::clone(&self.schema);
        if let Some(columns) = columns {
            let indices = columns
                .iter()
                .map(|column| self.column_index(column))
                .collect::<Result<Vec<_>, _>>()?;
            let mask = ProjectionMask::roots(builder.parquet_schema(), indices.iter().copied());
            builder = builder.with_projection(mask);
            let mut read = indices.clone();
            read.sort_unstable();
            read.dedup();
            schema = Arc::new(self.schema.project(&read)?);
            let rank = |index: &usize| read.binary_search(index).unwrap_or(0);
            order = Some(indices.iter().map(rank).collect());
        }
        Ok(ParquetBatches {
            reader: builder.build().map_err(|error| failure.cause_of(error))?,
            failure,
            texts: Texts::new(schema, &self.limits, section.len()),
            order,
            is_damaged: false,
        })
    }

    /// Returns the maximum number of rows of a batch. In a column of fixed-length values, the crate copies as many
    /// bytes per row as the file declares. Therefore a large declared length allows few rows.
    fn max_batch_rows(&self) -> Result<usize, ParquetError> {
        let columns = self.metadata.parquet_schema().columns().iter();
        let widths = columns.map(|column| fixed_width(column));
        let width = widths.fold(0, u64::saturating_add);
        let checked = self.limits.check(Limit::Record, width);
        checked.map_err(io::Error::from)?;
        Ok(usize::try_from(MAX_TEXT_BYTES / width.max(1)).unwrap_or(usize::MAX))
    }

    /// Returns the column chunks whose values are in lists. `row_group` selects one row group. `None` selects all row
    /// groups.
    fn list_chunks(&self, row_group: Option<usize>) -> Vec<ListChunk> {
        let groups = self.metadata.metadata().row_groups();
        let groups = match row_group {
            Some(group) => groups.get(group..=group).unwrap_or_default(),
            None => groups,
        };
        let chunks = groups.iter().flat_map(|group| group.columns());
        let lists = chunks.filter(|chunk| chunk.column_descr().max_rep_level() > 0);
        let lists = lists.map(|chunk| {
            let first = chunk.dictionary_page_offset();
            let begin = first.unwrap_or(chunk.data_page_offset());
            let end = begin.saturating_add(chunk.compressed_size());
            ListChunk {
                range: u64::try_from(begin).unwrap_or(0)..u64::try_from(end).unwrap_or(0),
                width: fixed_width(chunk.column_descr()),
            }
        });
        lists.collect()
    }

    fn column_index(&self, column: &str) -> Result<usize, ParquetError> {
        let fields = self.schema().fields();
        fields
            .iter()
            .position(|field| field.name() == column)
            .ok_or_else(|| ParquetError::UnknownColumn {
                column: column.to_owned(),
                columns: fields.iter().map(|field| field.name().clone()).collect(),
            })
    }
}

/// Returns the number of bytes of a value, or 0 if the values of the column have different lengths.
fn fixed_width(column: &ColumnDescriptor) -> u64 {
    u64::try_from(column.type_length()).unwrap_or(0)
}

/// Iterates over batches.
pub struct ParquetBatches {
    reader: ParquetRecordBatchReader,
    failure: LastError,
    texts: Texts,
    /// For each requested column, its index in the reader's batch.
    order: Option<Vec<usize>>,
    /// Whether the reader panicked. In this case, it must not be called again.
    is_damaged: bool,
}

/// Calls the parquet crate, which panics on some damaged files, and converts panics to errors.
fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| ParquetError::Damaged)
}

impl Iterator for ParquetBatches {
    type Item = Result<RecordBatch, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.texts.next() {
                return Some(batch.and_then(|batch| match &self.order {
                    None => Ok(batch),
                    Some(order) => batch.project(order).map_err(Into::into),
                }));
            }
            if self.is_damaged {
                return None;
            }
            match guarded(|| self.reader.next()).transpose()? {
                Ok(Ok(batch)) => self.texts.add(batch),
                Ok(Err(error)) => return Some(Err(self.failure.cause_of(error))),
                Err(error) => {
                    self.is_damaged = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Keeps the last I/O error of a file, because the parquet crate passes on only its message.
#[derive(Debug, Clone, Default)]
struct LastError(Arc<Mutex<Option<io::Error>>>);

impl LastError {
    /// Keeps `error`. Returns an error with the same message for the crate.
    fn keep(&self, error: io::Error) -> io::Error {
        let copy = io::Error::new(error.kind(), prep_failure::chain(&error));
        if error.kind() != io::ErrorKind::Interrupted {
            *self.0.lock() = Some(error);
        }
        copy
    }

    /// Returns the I/O error that caused an error of the crate, or the error of the crate.
    fn cause_of(&self, error: impl Into<ParquetError>) -> ParquetError {
        let stored = self.0.lock().take();
        stored.map_or_else(|| error.into(), ParquetError::Io)
    }
}

/// The file, as the crate reads it. The crate calls `get_read` for page headers, and `get_bytes` for the data of pages.
#[derive(Debug)]
struct ParquetSource<R> {
    section: Arc<ByteSection<R>>,
    failure: LastError,
    pages: Pages,
}

impl<R: ReadAt + Send + Sync> Length for ParquetSource<R> {
    fn len(&self) -> u64 {
        self.section.len()
    }
}

impl<R: ReadAt> ParquetSource<R> {
    /// Returns the bytes of the file that begin at the offset `start`.
    fn from(&self, start: u64) -> ByteSection<&ByteSection<R>> {
        ByteSection::new(&*self.section, start..self.section.len())
    }
}

impl<R: ReadAt + Send + Sync> ChunkReader for ParquetSource<R> {
    type T = io::Cursor<Vec<u8>>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let header = self.pages.header(start, &mut self.from(start));
        let header = header.map_err(|error| self.failure.keep(error))?;
        Ok(io::Cursor::new(header))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let checked = self.pages.check(start, length as u64);
        checked.map_err(|error| self.failure.keep(error))?;
        let mut bytes = Vec::new();
        // A damaged header may request more bytes than exist, so the buffer grows while reading.
        let read = self
            .from(start)
            .take(length as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| self.failure.keep(error))?;
        if read < length {
            return Err(parquet::errors::ParquetError::EOF(format!(
                "expected {length} bytes at byte {start}, found {read}"
            )));
        }
        Ok(bytes.into())
    }
}

/// Reads the footer, which precedes its length and a signature at the end of the file.
fn read_footer<R: ReadAt>(
    section: &ByteSection<R>,
    limits: &DecodingLimits,
) -> Result<Vec<u8>, ParquetError> {
    reject_other_formats(section)?;
    let mut length = [0; 4];
    section.read_exact_at(&mut length, section.len() - 8)?;
    let length = u64::from(u32::from_le_bytes(length));
    let begin = section.len() - 8;
    let begin = begin.checked_sub(length).ok_or(ParquetError::Damaged)?;
    let checked = limits.check(Limit::Record, length);
    checked.map_err(io::Error::from)?;
    let mut footer = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    section.read_exact_at(&mut footer, begin)?;
    Ok(footer)
}

/// Checks that the file begins and ends like a Parquet file.
fn reject_other_formats<R: ReadAt>(section: &ByteSection<R>) -> Result<(), ParquetError> {
    let size = section.len();
    let mut head = vec![
        0;
        usize::try_from(size)
            .unwrap_or(SNIFF_BYTES)
            .min(SNIFF_BYTES)
    ];
    section.read_exact_at(&mut head, 0)?;
    let mut tail = [0; 4];
    if size >= 12 {
        section.read_exact_at(&mut tail, size - 4)?;
    }
    match FileType::detect(&head) {
        FileType::Parquet if &tail == b"PAR1" => Ok(()),
        found => Err(ParquetError::NotParquet { found, size }),
    }
}
