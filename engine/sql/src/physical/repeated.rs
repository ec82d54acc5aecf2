//! Drops repeated rows from the right side of a semi or anti join.
//!
//! For each left row, DataFusion's hash join visits all right rows with the same key, although one right row suffices.
//! If both sides repeat a value n times, the join takes n * n visits. Even a small compressed file can have a large n,
//! because equal rows compress well.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::Result;
use datafusion_common::hash_utils::{RandomState, create_hashes};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan as _;
use futures::StreamExt;

use super::operator::{Batches, Node, Operator, Plan};

/// Number of rows that are remembered. A repeated row that was forgotten is passed on again.
const REMEMBERED_ROWS: usize = 1 << 14;

/// Maximum total size in bytes of the remembered rows. If it is exceeded, all rows are forgotten.
const REMEMBERED_BYTES: usize = 4 << 20;

fn sort_fields(schema: &SchemaRef) -> Vec<SortField> {
    let fields = schema.fields().iter();
    fields
        .map(|field| SortField::new(field.data_type().clone()))
        .collect()
}

/// Passes on each distinct row at least once, and drops most repeated rows.
#[derive(Debug)]
pub(crate) struct SkipRepeated;

impl SkipRepeated {
    /// Drops repeated rows if rows of these types can be compared.
    pub(crate) fn plan(input: Plan) -> Plan {
        match RowConverter::supports_fields(&sort_fields(&input.schema())) {
            true => Node::above(SkipRepeated, input),
            false => input,
        }
    }
}

impl Operator for SkipRepeated {
    const NAME: &'static str = "SkipRepeated";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn start(&self, node: &Node<SkipRepeated>, context: &Arc<TaskContext>) -> Result<Batches> {
        let mut passed = PassedRows {
            converter: RowConverter::new(sort_fields(&node.schema()))?,
            remembered: vec![Remembered::default(); REMEMBERED_ROWS],
            bytes: 0,
            hashes: Vec::new(),
        };
        let input = node.input(0, context)?;
        Ok(Box::pin(
            input.map(move |batch| passed.drop_repeated(batch?)),
        ))
    }
}

/// A row that was passed on. Its content is stored only when its hash occurs for the second time.
#[derive(Debug, Clone, Default)]
struct Remembered {
    hash: u64,
    row: Option<Box<[u8]>>,
}

struct PassedRows {
    converter: RowConverter,
    /// A hash table. The index of a row is its hash modulo the length of this list.
    remembered: Vec<Remembered>,
    bytes: usize,
    /// The hashes of the rows of a batch. The field exists only to reuse its memory.
    hashes: Vec<u64>,
}

impl PassedRows {
    fn drop_repeated(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        self.hashes.clear();
        self.hashes.resize(batch.num_rows(), 0);
        let mut hashes = std::mem::take(&mut self.hashes);
        create_hashes(batch.columns(), &RandomState::with_seed(0), &mut hashes)?;
        let mut rows: Option<Rows> = None;
        let mut is_kept: Option<Vec<bool>> = None;
        for (row, hash) in hashes.iter().enumerate() {
            let place = *hash as usize % REMEMBERED_ROWS;
            let Some(known) = self.remembered.get_mut(place) else {
                continue;
            };
            if known.hash != *hash {
                known.hash = *hash;
                self.bytes -= known.row.take().map_or(0, |row| row.len());
                continue;
            }
            let contents = match &rows {
                Some(rows) => rows,
                None => rows.insert(self.converter.convert_columns(batch.columns())?),
            };
            let content = contents.row(row);
            let content = content.as_ref();
            match &known.row {
                Some(other) if **other == *content => {
                    is_kept.get_or_insert_with(|| vec![true; batch.num_rows()])[row] = false;
                }
                // A different row with the same hash is remembered, so this row is passed on.
                Some(_) => {}
                None => {
                    self.bytes += content.len();
                    known.row = Some(content.into());
                }
            }
            if self.bytes > REMEMBERED_BYTES {
                self.remembered.fill(Remembered::default());
                self.bytes = 0;
            }
        }
        self.hashes = hashes;
        let Some(is_kept) = is_kept else {
            return Ok(batch);
        };
        let kept = BooleanArray::from(is_kept);
        Ok(filter_record_batch(&batch, &kept)?)
    }
}
