//! A [`Relation`] as a DataFusion table.
//!
//! The schema has the relation's columns, typed or opaque, and `_row`. An opaque column is a `UInt64`: the origin of the
//! row. Only projected columns are read.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use crate::relation::Relation;

/// Name of the hidden column that holds a row's position, from 0.
pub(crate) const ROW: &str = "_row";

/// Rows per batch.
const BATCH: usize = 8192;

/// A relation, and which of its columns are opaque to the query at hand.
#[derive(Debug)]
pub(crate) struct Provider {
    relation: Arc<dyn Relation>,
    kinds: Vec<Kind>,
    schema: SchemaRef,
}

/// What stands in a column of the scan.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Value(usize),
    Origin,
    Position,
}

impl Provider {
    pub(crate) fn new(relation: Arc<dyn Relation>, opaque: &BTreeSet<usize>) -> Provider {
        let mut fields = Vec::new();
        let mut kinds = Vec::new();
        for (index, column) in relation.columns().iter().enumerate() {
            if opaque.contains(&index) {
                fields.push(Field::new(&column.name, DataType::UInt64, false));
                kinds.push(Kind::Origin);
            } else {
                fields.push(Field::new(&column.name, column.data_type.clone(), true));
                kinds.push(Kind::Value(index));
            }
        }
        fields.push(Field::new(ROW, DataType::Int64, false));
        kinds.push(Kind::Position);
        Provider {
            relation,
            kinds,
            schema: Arc::new(Schema::new(fields)),
        }
    }
}

#[async_trait]
impl TableProvider for Provider {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, kinds) = match projection {
            Some(projection) => {
                let schema = Arc::new(self.schema.project(projection)?);
                (
                    schema,
                    projection.iter().map(|&index| self.kinds[index]).collect(),
                )
            }
            None => (self.schema.clone(), self.kinds.clone()),
        };
        // Rows come by position: told to the engine, a sort by `_row` costs nothing.
        let row = schema.index_of(ROW).ok().map(|index| {
            let row: Arc<dyn PhysicalExpr> = Arc::new(Column::new(ROW, index));
            PhysicalSortExpr::new(
                row,
                SortOptions {
                    descending: false,
                    nulls_first: false,
                },
            )
        });
        let ordering = row.and_then(|row| LexOrdering::new([row]));
        let scan = Arc::new(Scan {
            relation: self.relation.clone(),
            kinds,
            schema: schema.clone(),
        });
        Ok(Arc::new(StreamingTableExec::try_new(
            schema,
            vec![scan],
            None,
            ordering,
            false,
            limit,
        )?))
    }
}

#[derive(Clone)]
struct Scan {
    relation: Arc<dyn Relation>,
    kinds: Vec<Kind>,
    schema: SchemaRef,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan")
            .field("schema", &self.schema)
            .finish()
    }
}

impl PartitionStream for Scan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let values: Vec<usize> = self
            .kinds
            .iter()
            .filter_map(|kind| match kind {
                Kind::Value(index) => Some(*index),
                _ => None,
            })
            .collect();
        let scan = self.clone();
        let schema = self.schema.clone();
        let mut first = 0;
        let batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send> = if values.is_empty() {
            let rows = self.relation.rows();
            Box::new(std::iter::from_fn(move || {
                let len = usize::try_from((rows - first).min(BATCH as u64))
                    .ok()
                    .filter(|len| *len > 0)?;
                let batch = scan.assemble(first, len, Vec::new());
                first += len as u64;
                Some(batch)
            }))
        } else {
            let source = self.relation.clone().scan(values, BATCH);
            Box::new(source.map(move |values| {
                let values = values.map_err(DataFusionError::External)?;
                let batch = scan.assemble(first, values.rows, values.columns);
                first += values.rows as u64;
                batch
            }))
        };
        Box::pin(RecordBatchStreamAdapter::new(
            schema,
            futures::stream::iter(batches),
        ))
    }
}

impl Scan {
    /// Puts origins and positions between the values.
    fn assemble(&self, first: u64, len: usize, values: Vec<ArrayRef>) -> Result<RecordBatch> {
        let mut values = values.into_iter();
        let mut origins: Option<ArrayRef> = None;
        let mut columns = Vec::with_capacity(self.kinds.len());
        for kind in &self.kinds {
            columns.push(match kind {
                Kind::Value(_) => values.next().ok_or_else(|| {
                    DataFusionError::Internal("a scan returned too few columns".to_owned())
                })?,
                Kind::Origin => origins
                    .get_or_insert_with(|| {
                        Arc::new(UInt64Array::from(self.relation.origins(first, len)))
                    })
                    .clone(),
                Kind::Position => {
                    let rows = (first..first + len as u64)
                        .map(|row| i64::try_from(row).unwrap_or(i64::MAX));
                    Arc::new(Int64Array::from_iter_values(rows))
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        Ok(RecordBatch::try_new_with_options(
            self.schema.clone(),
            columns,
            &options,
        )?)
    }
}
