//! The leaf operator, which reads a relation.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::TaskContext;

use super::operator::{Batches, Node, Operator, Plan, batch_of, properties_of};
use crate::error::UnreadableRelation;
use crate::functions::with_one_nan;
use crate::limits::QueryPool;
use crate::relation::{Relation, RelationBatch};

/// Assumed size in bytes of a value without a fixed size, for example a string.
const ASSUMED_TEXT_BYTES: usize = 48;

/// The content of a scanned column: values of the relation, origins, or row numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ScanColumn {
    Value(usize),
    Origin,
    Position,
}

/// Reads columns of a relation.
#[derive(Clone)]
pub(crate) struct Scan {
    relation: Arc<dyn Relation>,
    scanned: Arc<[ScanColumn]>,
    schema: SchemaRef,
    /// Whether the rows may come in any order.
    any_order: bool,
}

impl Scan {
    pub(crate) fn plan(
        relation: Arc<dyn Relation>,
        scanned: Vec<ScanColumn>,
        schema: SchemaRef,
        any_order: bool,
    ) -> Plan {
        // Origins and row numbers depend on the positions of the rows, so they require the row order.
        let has_only_values = scanned
            .iter()
            .all(|kind| matches!(kind, ScanColumn::Value(_)));
        let properties = properties_of(Arc::clone(&schema));
        let scan = Scan {
            relation,
            any_order: any_order && has_only_values,
            scanned: scanned.into(),
            schema,
        };
        Node::plan(scan, Vec::new(), properties)
    }

    pub(crate) fn is_unordered(&self) -> bool {
        self.any_order
    }

    /// Returns the index of the column with the row numbers.
    pub(crate) fn position(&self) -> Option<usize> {
        let mut kinds = self.scanned.iter();
        kinds.position(|kind| *kind == ScanColumn::Position)
    }

    fn batches(&self, size: usize) -> Box<dyn Iterator<Item = Result<RecordBatch>> + Send> {
        let values = self.scanned.iter().filter_map(|kind| match kind {
            ScanColumn::Value(index) => Some(*index),
            _ => None,
        });
        let values: Vec<usize> = values.collect();
        let scan = self.clone();
        let mut first = 0;
        if values.is_empty() {
            let rows = self.relation.rows();
            return Box::new(std::iter::from_fn(move || {
                let len = usize::try_from((rows - first).min(size as u64))
                    .ok()
                    .filter(|len| *len > 0)?;
                let batch = scan.assemble(first, len, Vec::new());
                first += len as u64;
                Some(batch)
            }));
        }
        let relation = self.relation.clone();
        let source = if self.any_order {
            relation.scan_unordered(values, size)
        } else {
            relation.scan(values, size)
        };
        Box::new(source.map(move |values| {
            let RelationBatch { rows, columns } = values
                .map_err(|error| DataFusionError::External(Box::new(UnreadableRelation(error))))?;
            let batch = scan.assemble(first, rows, columns);
            first += rows as u64;
            batch
        }))
    }

    /// Returns a batch of `len` rows that begins with the row `first`. `values` are the columns with values.
    fn assemble(&self, first: u64, len: usize, values: Vec<ArrayRef>) -> Result<RecordBatch> {
        let mut values = values.into_iter();
        let mut origins: Option<ArrayRef> = None;
        let mut columns = Vec::with_capacity(self.scanned.len());
        for kind in self.scanned.iter() {
            columns.push(match kind {
                ScanColumn::Value(_) => {
                    let column = values.next().ok_or_else(|| {
                        DataFusionError::Internal("a scan returned too few columns".to_owned())
                    });
                    with_one_nan(column?)
                }
                ScanColumn::Origin => origins
                    .get_or_insert_with(|| {
                        Arc::new(UInt64Array::from(self.relation.origins(first, len)))
                    })
                    .clone(),
                ScanColumn::Position => {
                    let rows = (first..first + len as u64)
                        .map(|row| i64::try_from(row).unwrap_or(i64::MAX));
                    Arc::new(Int64Array::from_iter_values(rows))
                }
            });
        }
        batch_of(&self.schema, columns, len)
    }

    pub(super) fn rows(&self) -> usize {
        usize::try_from(self.relation.rows()).unwrap_or(usize::MAX)
    }
}

/// Estimates the size in bytes of a row with these columns.
pub(crate) fn row_bytes(schema: &SchemaRef) -> usize {
    let width = |data_type: &DataType| data_type.primitive_width().unwrap_or(ASSUMED_TEXT_BYTES);
    let fields = schema.fields().iter();
    fields.map(|field| width(field.data_type())).sum()
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl Operator for Scan {
    const NAME: &'static str = "Scan";
    const KEEPS_ORDER: &'static [bool] = &[];

    fn details(&self) -> String {
        let fields = self.schema.fields().iter();
        let names: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
        let order = if self.any_order { ", any order" } else { "" };
        let columns = names.join(", ");
        format!("rows={}, columns=[{columns}]{order}", self.rows())
    }

    fn start(&self, _node: &Node<Scan>, context: &Arc<TaskContext>) -> Result<Batches> {
        let pool = context.memory_pool().downcast_ref::<QueryPool>();
        let read = pool.map(|pool| pool.start_scan(self.relation.rows()));
        let batches = self.batches(context.session_config().batch_size());
        let batches = batches.inspect(move |batch| {
            if let (Some(read), Ok(batch)) = (&read, batch) {
                read.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            }
        });
        Ok(Box::pin(futures::stream::iter(batches)))
    }
}
