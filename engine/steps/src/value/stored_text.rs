//! The text of a table as steps read it. The text itself is mapped only when a step needs it.
//!
//! The writer of a text knows where its rows start, and may keep a few of its columns in memory. This is sufficient for
//! most queries, and for an output that is the unchanged table. In these cases the text is never mapped, and publishing
//! it only adds a hard link. Opened texts are cached for later steps. A text may also exist only in memory
//! (`held_text`).

use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::compute::concat_batches;
use parking_lot::{Mutex, MutexGuard};
use prep_cache::{Digest, MappedObject, PrivateObject, Store, Stored};
use prep_core::{Context, StepError};
use prep_formats::pandas::{
    CsvError, MappedText, Projection, RowIndex, RowSelection, Schema, TextTable,
};

use super::HeldText;

/// A mapped object as the text of a table.
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

/// Bytes of a text that may stay mapped after random reads: half of the run's memory.
pub(crate) fn room_for_text(context: &Context) -> u64 {
    context.limits.memory / 2
}

/// Facts about a text that are known when it has been written.
#[derive(Default)]
pub(crate) struct Known {
    /// Starts of the rows. Empty if the text must be scanned for them.
    pub index: RowIndex,
    /// Columns in memory.
    pub projection: Option<Projection>,
}

/// A text with a schema, in the store or in memory.
pub(crate) struct StoredText {
    schema: Schema,
    store: Store,
    object: Stored,
    room: u64,
    /// Starts of the rows, until the text is mapped. The lock is held during mapping, so that the text is mapped once.
    index: Mutex<RowIndex>,
    whole: OnceLock<TextTable>,
    few: Option<Few>,
}

/// Some columns of a table, in memory.
struct Few {
    /// Their indices in the table, ascending.
    columns: Vec<usize>,
    table: TextTable,
    /// The typed values of each column, after a query has requested them.
    values: Vec<OnceLock<ArrayRef>>,
}

impl StoredText {
    /// Caches the facts about a stored text for later steps.
    pub fn keep(
        context: &Context,
        object: Stored,
        schema: &Schema,
        known: Known,
    ) -> Result<(), StepError> {
        let text = StoredText::known(context, object, schema, OnceLock::new(), known)?;
        let kept = context.kept(&object.digest, || Ok(text), StoredText::memory);
        kept.map(drop)
    }

    /// Keeps a text in memory for later steps.
    pub fn hold(
        context: &Context,
        object: Stored,
        schema: &Schema,
        text: HeldText,
        known: Option<Known>,
    ) -> Result<(), StepError> {
        let mut known = known.unwrap_or_default();
        let (pages, len) = text.buffer.into_pages().map_err(StepError::machine)?;
        let index = std::mem::take(&mut known.index);
        let whole = TextTable::from_pages(pages, len, schema.clone(), index);
        let whole = whole.map_err(StepError::internal)?.into();
        let opened = StoredText::known(context, object, schema, whole, known)?;
        context.hold(object, Arc::new(opened), text.claim);
        Ok(())
    }

    fn known(
        context: &Context,
        object: Stored,
        schema: &Schema,
        whole: OnceLock<TextTable>,
        known: Known,
    ) -> Result<StoredText, StepError> {
        let Known { index, projection } = known;
        let few = projection.map(|projection| Few::of(projection, schema));
        Ok(StoredText {
            schema: schema.clone(),
            store: context.store.clone(),
            object,
            room: room_for_text(context),
            index: Mutex::new(index),
            whole,
            few: few.transpose()?,
        })
    }

    /// Stores the text if the store does not have it yet.
    pub fn store(&self, context: &Context) -> Result<(), StepError> {
        let store = &context.store;
        if store.len_of(&self.object.digest).is_some() {
            return Ok(());
        }
        let mut out = store.writer()?;
        out.write_all(self.whole()?.text())
            .map_err(StepError::machine)?;
        out.commit()?;
        Ok(())
    }

    /// Opens an object as a table with a schema. Maps it if it is not cached.
    pub fn open(
        context: &Context,
        object: &Digest,
        schema: &Schema,
    ) -> Result<Arc<StoredText>, StepError> {
        let open = || {
            let (store, room) = (context.store.clone(), room_for_text(context));
            let file = store.open_private(object)?;
            let whole = TextTable::open(map(&file)?, schema.clone(), room);
            Ok(StoredText {
                schema: schema.clone(),
                store,
                object: Stored {
                    digest: *object,
                    len: file.len(),
                },
                room,
                index: Mutex::default(),
                whole: whole.map_err(StepError::internal)?.into(),
                few: None,
            })
        };
        let text = match context.held(object) {
            Some(text) => text,
            None => context.kept(object, open, StoredText::memory)?,
        };
        // The same bytes may have been cached with other types.
        match text.schema == *schema {
            true => Ok(text),
            false => Ok(Arc::new(text.with_schema(schema)?)),
        }
    }

    fn with_schema(&self, schema: &Schema) -> Result<StoredText, StepError> {
        let few = self.few.as_ref().map(|few| few.with_schema(schema));
        let whole = self.whole()?.with_schema(schema.clone());
        Ok(StoredText {
            schema: schema.clone(),
            store: self.store.clone(),
            object: self.object,
            room: self.room,
            index: Mutex::default(),
            whole: whole.map_err(StepError::internal)?.into(),
            few: few.transpose()?,
        })
    }

    fn index(&self) -> MutexGuard<'_, RowIndex> {
        self.index.lock()
    }

    /// Bytes of memory that the cached text uses.
    fn memory(&self) -> u64 {
        let whole = self.whole.get().map_or(0, TextTable::index_bytes);
        self.index().bytes() + whole + self.few.as_ref().map_or(0, Few::memory)
    }

    /// Columns and number of rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The object of the text. The store may not have it.
    pub fn object(&self) -> Stored {
        self.object
    }

    /// The mapped text.
    pub fn whole(&self) -> Result<&TextTable, StepError> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let mut index = self.index();
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let object = self.store.open_private(&self.object.digest)?;
        let (schema, index) = (self.schema.clone(), std::mem::take(&mut *index));
        let whole = TextTable::open_with(map(&object)?, schema, self.room, index);
        let whole = whole.map_err(StepError::internal)?;
        Ok(self.whole.get_or_init(|| whole))
    }

    /// The columns in memory and the indices of `columns` among them, if all are in memory.
    fn held(&self, columns: &[usize]) -> Option<(&Few, Vec<usize>)> {
        let few = self.few.as_ref()?;
        Some((few, few.places(columns)?))
    }

    /// All values of these columns, if they are in memory.
    pub fn values(&self, columns: &[usize]) -> Result<Option<Vec<ArrayRef>>, CsvError> {
        let Some((few, places)) = self.held(columns).filter(|_| !columns.is_empty()) else {
            return Ok(None);
        };
        let values = places.into_iter().map(|place| few.values(place));
        values.collect::<Result<_, _>>().map(Some)
    }

    /// A table that has these columns, and their indices in it. It is the table in memory if that has all of them.
    pub fn holding(&self, columns: &[usize]) -> Result<(&TextTable, Vec<usize>), StepError> {
        match self.held(columns) {
            Some((few, places)) => Ok((&few.table, places)),
            None => Ok((self.whole()?, columns.to_vec())),
        }
    }
}

impl Few {
    fn new(columns: Vec<usize>, table: TextTable) -> Few {
        Few {
            values: columns.iter().map(|_| OnceLock::new()).collect(),
            columns,
            table,
        }
    }

    fn of(projection: Projection, schema: &Schema) -> Result<Few, StepError> {
        let columns = projection.columns().to_vec();
        let table = projection.into_table(schema).map_err(StepError::internal)?;
        Ok(Few::new(columns, table))
    }

    fn with_schema(&self, schema: &Schema) -> Result<Few, StepError> {
        let table = self.table.with_schema(schema.of_columns(&self.columns));
        let table = table.map_err(StepError::internal)?;
        Ok(Few::new(self.columns.clone(), table))
    }

    /// Bytes of memory, including the values.
    fn memory(&self) -> u64 {
        2 * (self.table.text().len() as u64 + self.table.index_bytes())
    }

    /// Indices of these columns of the table. `None` if one is not in memory.
    fn places(&self, columns: &[usize]) -> Option<Vec<usize>> {
        let place = |column| self.columns.binary_search(column).ok();
        columns.iter().map(place).collect()
    }

    fn values(&self, place: usize) -> Result<ArrayRef, CsvError> {
        let known = self.values.get(place);
        if let Some(values) = known.and_then(OnceLock::get) {
            return Ok(values.clone());
        }
        let rows = usize::try_from(self.table.schema().rows).unwrap_or(usize::MAX);
        let batches = self.table.read_batches(&[place], RowSelection::All, rows)?;
        let schema = batches.schema();
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        let values = concat_batches(&schema, &batches)?.column(0).clone();
        Ok(match known {
            Some(known) => known.get_or_init(|| values).clone(),
            None => values,
        })
    }
}
