//! The canonical text of a table, which is mapped into memory only when a step needs it.
//!
//! The step that writes a text passes the offsets of the rows to later steps of the run. The step may also keep in
//! memory the columns that queries usually need. A table that is published unchanged becomes a hard link to the text, so
//! publishing does not map the text. A text may also exist only in memory ([`TextWriter`](super::TextWriter)).

use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::compute::concat_batches;
use parking_lot::Mutex;
use prep_cache::{Digest, MappedObject, PrivateObject, Store, Stored};
use prep_core::{Context, StepError};
use prep_formats::pandas::{
    CsvError, MappedText, Projection, RowIndex, RowSelection, Schema, TextTable,
};

use super::InMemoryText;

struct ObjectText(MappedObject);

impl MappedText for ObjectText {
    fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    fn release(&self, part: Range<usize>) {
        self.0.release(part);
    }
}

fn map(object: &PrivateObject) -> Result<ObjectText, StepError> {
    object.map().map(ObjectText).map_err(StepError::machine)
}

/// Returns the maximum number of bytes of a text that stay mapped after random reads.
pub(crate) fn max_mapped_bytes(context: &Context) -> u64 {
    context.limits.memory / 2
}

/// Facts about a text. The step that writes the text passes them to later steps, which then need not scan the text.
#[derive(Default)]
pub(crate) struct TextMetadata {
    /// Offsets of the rows. Empty if the text must be scanned for them.
    pub index: RowIndex,
    /// The columns that are kept in memory, if any.
    pub projection: Option<Projection>,
}

/// A text with a schema, in the cache or in memory.
pub(crate) struct StoredText {
    schema: Schema,
    store: Store,
    object: Stored,
    max_mapped_bytes: u64,
    /// Offsets of the rows, until the text is mapped. The thread that maps the text holds the lock.
    index: Mutex<RowIndex>,
    /// The table with all columns, after the text was mapped.
    full_table: OnceLock<TextTable>,
    cached: Option<CachedColumns>,
}

/// The columns of a text that are kept in memory.
struct CachedColumns {
    /// Indices in the table, ascending.
    columns: Vec<usize>,
    table: TextTable,
    /// The typed values of each column, after a query needed them.
    values: Vec<OnceLock<ArrayRef>>,
}

impl StoredText {
    /// Shares a stored text and its metadata with later steps of the run.
    pub fn cache(
        context: &Context,
        object: Stored,
        schema: &Schema,
        metadata: TextMetadata,
    ) -> Result<(), StepError> {
        let text = StoredText::with_metadata(context, object, schema, OnceLock::new(), metadata)?;
        let kept = context
            .objects
            .shared_for_run(&object.digest, || Ok(text), StoredText::memory);
        kept.map(drop)
    }

    /// Keeps a text in memory for later steps of the run.
    pub fn cache_in_memory(
        context: &Context,
        object: Stored,
        schema: &Schema,
        text: InMemoryText,
        metadata: Option<TextMetadata>,
    ) -> Result<(), StepError> {
        let mut metadata = metadata.unwrap_or_default();
        let (pages, len) = text.buffer.into_pages().map_err(StepError::machine)?;
        let index = std::mem::take(&mut metadata.index);
        let full_table = TextTable::from_pages(pages, len, schema.clone(), index);
        let full_table = full_table.map_err(StepError::internal)?.into();
        let opened = StoredText::with_metadata(context, object, schema, full_table, metadata)?;
        context.objects.hold(object, Arc::new(opened), text.claim);
        Ok(())
    }

    fn with_metadata(
        context: &Context,
        object: Stored,
        schema: &Schema,
        full_table: OnceLock<TextTable>,
        metadata: TextMetadata,
    ) -> Result<StoredText, StepError> {
        let TextMetadata { index, projection } = metadata;
        let cached =
            projection.map(|projection| CachedColumns::from_projection(projection, schema));
        Ok(StoredText {
            schema: schema.clone(),
            store: context.store.clone(),
            object,
            max_mapped_bytes: max_mapped_bytes(context),
            index: Mutex::new(index),
            full_table,
            cached: cached.transpose()?,
        })
    }

    /// Writes the text to the cache if it is not there.
    pub fn store(&self, context: &Context) -> Result<(), StepError> {
        let store = &context.store;
        if store.len_of(&self.object.digest).is_some() {
            return Ok(());
        }
        let mut out = store.writer()?;
        out.write_all(self.full_table()?.text())
            .map_err(StepError::machine)?;
        out.commit()?;
        Ok(())
    }

    /// Opens an object as the text of a table. Shares it with other steps of the run.
    pub fn open(
        context: &Context,
        object: &Digest,
        schema: &Schema,
    ) -> Result<Arc<StoredText>, StepError> {
        let open = || {
            let (store, max_mapped_bytes) = (context.store.clone(), max_mapped_bytes(context));
            let file = store.open_private(object)?;
            let full_table = TextTable::open(map(&file)?, schema.clone(), max_mapped_bytes, None);
            Ok(StoredText {
                schema: schema.clone(),
                store,
                object: Stored {
                    digest: *object,
                    len: file.len(),
                },
                max_mapped_bytes,
                index: Mutex::default(),
                full_table: full_table.map_err(StepError::internal)?.into(),
                cached: None,
            })
        };
        let text = match context.objects.get(object) {
            Some(text) => text,
            None => context
                .objects
                .shared_for_run(object, open, StoredText::memory)?,
        };
        // An earlier step may have opened the same bytes with other types.
        match text.schema == *schema {
            true => Ok(text),
            false => Ok(Arc::new(text.with_schema(schema)?)),
        }
    }

    /// Returns the same text with other types of columns.
    fn with_schema(&self, schema: &Schema) -> Result<StoredText, StepError> {
        let cached = self
            .cached
            .as_ref()
            .map(|cached| cached.with_schema(schema));
        let full_table = self.full_table()?.with_schema(schema.clone());
        Ok(StoredText {
            schema: schema.clone(),
            store: self.store.clone(),
            object: self.object,
            max_mapped_bytes: self.max_mapped_bytes,
            index: Mutex::default(),
            full_table: full_table.map_err(StepError::internal)?.into(),
            cached: cached.transpose()?,
        })
    }

    /// Returns the memory in bytes of row offsets and cached columns, without the mapped text.
    fn memory(&self) -> u64 {
        let full_table = self.full_table.get().map_or(0, TextTable::index_bytes);
        self.index.lock().bytes()
            + full_table
            + self.cached.as_ref().map_or(0, CachedColumns::memory)
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the object of the text. The cache does not contain it if the text is only in memory.
    pub fn object(&self) -> Stored {
        self.object
    }

    /// Returns the entire table. The first call maps the text.
    pub fn full_table(&self) -> Result<&TextTable, StepError> {
        if let Some(full_table) = self.full_table.get() {
            return Ok(full_table);
        }
        let mut index = self.index.lock();
        if let Some(full_table) = self.full_table.get() {
            return Ok(full_table);
        }
        let object = self.store.open_private(&self.object.digest)?;
        let (schema, index) = (self.schema.clone(), std::mem::take(&mut *index));
        let full_table = TextTable::open(map(&object)?, schema, self.max_mapped_bytes, Some(index));
        let full_table = full_table.map_err(StepError::internal)?;
        Ok(self.full_table.get_or_init(|| full_table))
    }

    /// Returns the cached columns, and the index of each of `columns` among them. `None` if one of `columns` is not cached.
    fn cached_columns(&self, columns: &[usize]) -> Option<(&CachedColumns, Vec<usize>)> {
        let cached = self.cached.as_ref()?;
        let index = |column| cached.columns.binary_search(column).ok();
        let indices = columns.iter().map(index).collect::<Option<_>>()?;
        Some((cached, indices))
    }

    /// Returns the values of `columns`. `None` if `columns` is empty, or if one of `columns` is not cached.
    pub fn values(&self, columns: &[usize]) -> Result<Option<Vec<ArrayRef>>, CsvError> {
        let Some((cached, indices)) = self.cached_columns(columns).filter(|_| !columns.is_empty())
        else {
            return Ok(None);
        };
        let values = indices.into_iter().map(|index| cached.values(index));
        values.collect::<Result<_, _>>().map(Some)
    }

    /// Returns a table that contains `columns`, and the index of each of `columns` in this table. Maps the text if one of
    /// `columns` is not cached.
    pub fn table_with(&self, columns: &[usize]) -> Result<(&TextTable, Vec<usize>), StepError> {
        match self.cached_columns(columns) {
            Some((cached, indices)) => Ok((&cached.table, indices)),
            None => Ok((self.full_table()?, columns.to_vec())),
        }
    }
}

impl CachedColumns {
    fn new(columns: Vec<usize>, table: TextTable) -> CachedColumns {
        CachedColumns {
            values: columns.iter().map(|_| OnceLock::new()).collect(),
            columns,
            table,
        }
    }

    fn from_projection(
        projection: Projection,
        schema: &Schema,
    ) -> Result<CachedColumns, StepError> {
        let columns = projection.columns().to_vec();
        let table = projection.into_table(schema).map_err(StepError::internal)?;
        Ok(CachedColumns::new(columns, table))
    }

    fn with_schema(&self, schema: &Schema) -> Result<CachedColumns, StepError> {
        let table = self.table.with_schema(schema.of_columns(&self.columns));
        let table = table.map_err(StepError::internal)?;
        Ok(CachedColumns::new(self.columns.clone(), table))
    }

    /// Returns the memory in bytes, including typed values.
    fn memory(&self) -> u64 {
        2 * (self.table.text().len() as u64 + self.table.index_bytes())
    }

    /// Returns the typed values of a cached column. The first call converts the text of its cells.
    fn values(&self, index: usize) -> Result<ArrayRef, CsvError> {
        let slot = self.values.get(index);
        if let Some(values) = slot.and_then(OnceLock::get) {
            return Ok(values.clone());
        }
        let rows = usize::try_from(self.table.schema().rows).unwrap_or(usize::MAX);
        let batches = self.table.read_batches(&[index], RowSelection::All, rows)?;
        let schema = batches.schema();
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        let values = concat_batches(&schema, &batches)?.column(0).clone();
        Ok(match slot {
            Some(slot) => slot.get_or_init(|| values).clone(),
            None => values,
        })
    }
}
