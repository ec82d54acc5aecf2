//! The text of a table as steps read it: what is known of it, and the text itself once somebody wants it.
//!
//! Whoever writes a text knows where its rows start, and may keep a few of its columns in memory. That is enough for most
//! queries, and for an output that is the table as it stands; then the text is never mapped, and publishing it is one
//! more name for its file. Texts are kept for the steps that come next.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow::array::ArrayRef;
use arrow::compute::concat_batches;
use prep_cache::{Digest, Store, Stored};
use prep_core::{Context, StepError};
use prep_formats::pandas::{CsvError, Projection, RowIndex, RowSelection, Schema, TextTable};

/// The part of all memory that a text may have mapped at most.
pub(crate) const SHARE_OF_TEXT: u64 = 2;

/// What is known of a text that was just written.
pub(crate) struct Known {
    /// Where its rows start.
    pub index: RowIndex,
    pub projection: Option<Projection>,
}

/// A stored text with a schema.
pub(crate) struct StoredText {
    schema: Schema,
    shared: Arc<Shared>,
    /// The whole text, once it is mapped.
    whole: OnceLock<TextTable>,
    few: Option<Few>,
}

/// What is the same whatever the schema.
struct Shared {
    store: Store,
    object: Stored,
    /// Bytes of the text that may stay in memory after rows were looked up anywhere.
    room: u64,
    whole: Mutex<Whole>,
}

enum Whole {
    /// Not opened yet; perhaps it is known where its rows start.
    Closed(Option<RowIndex>),
    Open(TextTable),
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
        let Known { index, projection } = known;
        let few = projection.map(|projection| Few::of(projection, schema));
        let text = StoredText {
            schema: schema.clone(),
            shared: Arc::new(Shared::new(context, object, Some(index))),
            whole: OnceLock::new(),
            few: few.transpose()?,
        };
        let digest = text.shared.object.digest;
        let kept = context.kept(&digest, || Ok(text), StoredText::memory);
        kept.map(drop)
    }

    /// The text of this name as a table with a schema; opened, if nothing is known of it yet.
    pub fn open(
        context: &Context,
        object: &Digest,
        schema: &Schema,
    ) -> Result<Arc<StoredText>, StepError> {
        let open = || {
            let object = Stored {
                digest: *object,
                len: context.store.open_object(object)?.len(),
            };
            let text = StoredText {
                schema: schema.clone(),
                shared: Arc::new(Shared::new(context, object, None)),
                whole: OnceLock::new(),
                few: None,
            };
            text.whole()?;
            Ok(text)
        };
        let text = context.kept(object, open, StoredText::memory)?;
        // The same bytes may have been read with other types.
        match text.schema == *schema {
            true => Ok(text),
            false => Ok(Arc::new(text.with_schema(schema)?)),
        }
    }

    fn with_schema(&self, schema: &Schema) -> Result<StoredText, StepError> {
        let few = self.few.as_ref().map(|few| few.with_schema(schema));
        Ok(StoredText {
            schema: schema.clone(),
            shared: self.shared.clone(),
            whole: OnceLock::new(),
            few: few.transpose()?,
        })
    }

    /// Bytes of memory that keeping the text takes.
    fn memory(&self) -> u64 {
        let index = match &*self.shared.state() {
            Whole::Closed(index) => index.as_ref().map_or(0, RowIndex::bytes),
            Whole::Open(table) => table.index_bytes(),
        };
        index + self.few.as_ref().map_or(0, Few::memory)
    }

    /// Columns and number of rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The object that holds the text.
    pub fn object(&self) -> Stored {
        self.shared.object
    }

    /// The text, mapped.
    pub fn whole(&self) -> Result<&TextTable, StepError> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let opened = self.shared.open(&self.schema)?;
        Ok(self.whole.get_or_init(|| opened))
    }

    /// All values of these columns, if they are in memory.
    pub fn values(&self, columns: &[usize]) -> Result<Option<Vec<ArrayRef>>, CsvError> {
        let few = self.few.as_ref();
        let held = few.and_then(|few| Some((few, few.places(columns)?)));
        let Some((few, places)) = held.filter(|(_, places)| !places.is_empty()) else {
            return Ok(None);
        };
        let values = places.into_iter().map(|place| few.values(place));
        values.collect::<Result<_, _>>().map(Some)
    }

    /// A table that has these columns, and their places in it: the few in memory, if they are enough.
    pub fn holding(&self, columns: &[usize]) -> Result<(&TextTable, Vec<usize>), StepError> {
        let few = self
            .few
            .as_ref()
            .and_then(|few| Some((&few.table, few.places(columns)?)));
        match few {
            Some(few) => Ok(few),
            None => Ok((self.whole()?, columns.to_vec())),
        }
    }
}

impl Shared {
    fn new(context: &Context, object: Stored, index: Option<RowIndex>) -> Shared {
        Shared {
            store: context.store.clone(),
            object,
            room: context.limits.memory / SHARE_OF_TEXT,
            whole: Mutex::new(Whole::Closed(index)),
        }
    }

    fn state(&self) -> MutexGuard<'_, Whole> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, schema: &Schema) -> Result<TextTable, StepError> {
        let mut whole = self.state();
        let index = match &mut *whole {
            Whole::Open(table) => {
                return table
                    .with_schema(schema.clone())
                    .map_err(StepError::internal);
            }
            Whole::Closed(index) => index.take(),
        };
        let object = self.store.open_private(&self.object.digest)?;
        let schema = schema.clone();
        let table = match index {
            Some(index) => TextTable::open_with(object.file(), schema, self.room, index),
            None => TextTable::open(object.file(), schema, self.room),
        };
        let table = table.map_err(StepError::internal)?;
        let same = table.with_schema(table.schema().clone());
        *whole = Whole::Open(same.map_err(StepError::internal)?);
        Ok(table)
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
