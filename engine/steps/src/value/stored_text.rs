//! The text of a table as steps read it: what is known of it, and the text itself once somebody wants it.
//!
//! Whoever writes a text knows where its rows start, and may keep a few of its columns in memory. That is enough for most
//! queries, and for an output that is the table as it stands; then the text is never mapped, and publishing it is one
//! more name for its file. Texts are kept for the steps that come next; a text may be in memory only (`held_text`).

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

/// Bytes of a text that may stay mapped after rows were looked up anywhere: half of all memory.
pub(crate) fn room_for_text(context: &Context) -> u64 {
    context.limits.memory / 2
}

/// What is known of a text that was just written.
#[derive(Default)]
pub(crate) struct Known {
    /// Where its rows start; nothing, if that has to be looked for.
    pub index: RowIndex,
    pub projection: Option<Projection>,
}

/// A text with a schema, stored or held in memory.
pub(crate) struct StoredText {
    schema: Schema,
    store: Store,
    object: Stored,
    room: u64,
    /// Where the rows start, as long as the text is not mapped. Held while it is, so that it is mapped once.
    index: Mutex<RowIndex>,
    whole: OnceLock<TextTable>,
    few: Option<Few>,
}

/// Some columns, in memory.
struct Few {
    /// Their places in the whole.
    columns: Vec<usize>,
    table: TextTable,
    /// The values of each, once a query wanted them.
    values: Vec<OnceLock<ArrayRef>>,
}

impl StoredText {
    /// Keeps what is known of a text for the steps that come next.
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

    /// Holds a text in memory for the steps that come next; `known` says what is known of it.
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

    /// Stores the text, if it is not there yet.
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

    /// The text of this name as a table with a schema; mapped, if nothing is known of it yet.
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
        // The same bytes may have been read with other types.
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

    /// Bytes of memory that keeping the text takes.
    fn memory(&self) -> u64 {
        let whole = self.whole.get().map_or(0, TextTable::index_bytes);
        self.index().bytes() + whole + self.few.as_ref().map_or(0, Few::memory)
    }

    /// Columns and number of rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The object that holds the text, if it is stored.
    pub fn object(&self) -> Stored {
        self.object
    }

    /// The text, mapped.
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

    /// The few columns in memory, and where these are among them, if they are.
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

    /// A table that has these columns, and their places in it: the few in memory, if they are enough.
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

    /// Bytes of memory, with those of values.
    fn memory(&self) -> u64 {
        2 * (self.table.text().len() as u64 + self.table.index_bytes())
    }

    /// Where these columns of the whole are; none if one is not here.
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
