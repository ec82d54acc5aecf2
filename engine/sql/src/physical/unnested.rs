//! `unnest`: replaces each row by one row for each element of its lists.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::{DataFusionError, Result, internal_err};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan as _;
use futures::{StreamExt, TryStreamExt};

use super::operator::{Batches, Node, Operator, Plan, batch_of, properties_of};

/// Maximum number of rows of a batch.
const MAX_ROWS: usize = 1 << 14;

/// Maximum size in bytes of a batch. Each element gets a copy of the other columns of its row.
const MAX_BYTES: usize = 8 << 20;

/// Replaces each row by one row per element of its lists. Shorter lists are padded with NULL.
#[derive(Debug)]
pub(crate) struct Unnested {
    /// The indices of the columns that are copied to each new row.
    others: Vec<usize>,
    /// The indices of the columns with lists.
    lists: Vec<usize>,
}

impl Unnested {
    pub(crate) fn plan(
        input: Plan,
        others: Vec<usize>,
        lists: Vec<(usize, String)>,
    ) -> Result<Plan> {
        let schema = input.schema();
        let mut fields = Vec::with_capacity(others.len() + lists.len());
        for other in &others {
            fields.push(schema.field(*other).clone());
        }
        for (list, name) in &lists {
            let element = match schema.field(*list).data_type() {
                DataType::List(element) => element.data_type().clone(),
                DataType::Null => DataType::Null,
                other => return internal_err!("{other} is not a list"),
            };
            fields.push(Field::new(name, element, true));
        }
        let properties = properties_of(Arc::new(Schema::new(fields)));
        let lists = lists.into_iter().map(|(list, _)| list).collect();
        Ok(Node::plan(
            Unnested { others, lists },
            vec![input],
            properties,
        ))
    }
}

/// Returns the number of elements of each row, which is the length of its longest list.
fn lengths(batch: &RecordBatch, lists: &[usize]) -> Result<Vec<usize>> {
    let mut lengths = vec![0_usize; batch.num_rows()];
    for list in lists {
        let column = batch.column(*list);
        if column.data_type().is_null() {
            continue;
        }
        let list = column.as_list::<i32>();
        let offsets = list.value_offsets();
        for (row, (length, range)) in lengths.iter_mut().zip(offsets.windows(2)).enumerate() {
            if let [start, end] = range
                && list.is_valid(row)
            {
                *length = (*length).max(usize::try_from(end - start).unwrap_or(0));
            }
        }
    }
    Ok(lengths)
}

/// The elements of one input batch, and the position up to which they were returned.
struct Parts {
    batch: RecordBatch,
    operator: Arc<Unnested>,
    schema: SchemaRef,
    max_rows: usize,
    lengths: Vec<usize>,
    /// The next row to return, and the next element of this row.
    row: usize,
    element: usize,
}

impl Parts {
    fn new(operator: Arc<Unnested>, schema: SchemaRef, batch: RecordBatch) -> Result<Parts> {
        let others = operator.others.iter().map(|index| batch.column(*index));
        let bytes: usize = others.map(|column| column.get_array_memory_size()).sum();
        let row_bytes = bytes / batch.num_rows().max(1) + 1;
        Ok(Parts {
            lengths: lengths(&batch, &operator.lists)?,
            batch,
            operator,
            schema,
            max_rows: (MAX_BYTES / row_bytes).clamp(1, MAX_ROWS),
            row: 0,
            element: 0,
        })
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let (mut rows, mut indices) = (Vec::new(), Vec::new());
        while let Some(length) = self.lengths.get(self.row) {
            let room = self.max_rows - rows.len();
            let count = (length - self.element).min(room);
            let row = u32::try_from(self.row).unwrap_or(u32::MAX);
            rows.extend(std::iter::repeat_n(row, count));
            indices.extend(self.element..self.element + count);
            self.element += count;
            if self.element == *length {
                (self.row, self.element) = (self.row + 1, 0);
            }
            if rows.len() == self.max_rows {
                break;
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let count = rows.len();
        let rows = UInt32Array::from(rows);
        let Unnested { others, lists } = self.operator.as_ref();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(others.len() + lists.len());
        for other in others {
            columns.push(take(self.batch.column(*other), &rows, None)?);
        }
        for list in lists {
            columns.push(elements(self.batch.column(*list), &rows, &indices)?);
        }
        batch_of(&self.schema, columns, count).map(Some)
    }
}

/// Returns the elements at `indices` of the lists in `rows`, with NULL where a list has no such element.
fn elements(lists: &ArrayRef, rows: &UInt32Array, indices: &[usize]) -> Result<ArrayRef> {
    if lists.data_type().is_null() {
        return Ok(new_null_array(&DataType::Null, rows.len()));
    }
    let lists = lists.as_list::<i32>();
    let offsets = lists.value_offsets();
    let pairs = rows.values().iter().zip(indices);
    let places = pairs.map(|(row, index)| {
        let row = *row as usize;
        let (start, end) = (*offsets.get(row)?, *offsets.get(row + 1)?);
        let place = u32::try_from(start).ok()? as usize + index;
        (lists.is_valid(row) && place < usize::try_from(end).ok()?)
            .then(|| u32::try_from(place).ok())?
    });
    let places = UInt32Array::from_iter(places);
    let values = take(lists.values(), &places, None)?;
    Ok(match values.data_type() == lists.values().data_type() {
        true => values,
        false => cast(&values, lists.values().data_type())?,
    })
}

impl Operator for Unnested {
    const NAME: &'static str = "Unnested";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn start(&self, node: &Node<Unnested>, context: &Arc<TaskContext>) -> Result<Batches> {
        let (schema, operator) = (node.schema(), node.operator());
        let parts = node.input(0, context)?.map(move |batch| {
            let mut parts = Parts::new(Arc::clone(&operator), Arc::clone(&schema), batch?)?;
            Ok::<_, DataFusionError>(futures::stream::iter(std::iter::from_fn(move || {
                parts.next().transpose()
            })))
        });
        Ok(Box::pin(parts.try_flatten()))
    }
}
