//! Running a query.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use prep_spec::model::Query;

use crate::plan::{Planned, Rows as RowOrder, plan_opaque, plan_typed};
use crate::{QueryError, Relation, Session};

/// Where the cells of a result column come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSource {
    /// Cells of a table, unchanged: the batch column holds origins (`UInt64`), null for no row.
    Cells { table: String, column: usize },
    /// Computed values of this type.
    Values(DataType),
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultColumn {
    pub name: String,
    pub source: ColumnSource,
}

/// The rows of a result, batch by batch, in the query's order.
pub struct Rows {
    columns: Vec<ResultColumn>,
    /// For each column its place in the stream's batches, where one of those stands for several.
    fields: Option<Vec<usize>>,
    /// Does the query read one table, once?
    single: bool,
    stream: SendableRecordBatchStream,
}

impl Session {
    /// Runs a query whose passed-on columns come as origins, for writers that copy cells.
    pub async fn rows(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
    ) -> Result<Rows, QueryError> {
        let planned = plan_opaque(self, query, &tables, RowOrder::Ordered)?;
        self.start(planned, &tables, true).await
    }

    /// Runs a query for its values.
    pub async fn values(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
    ) -> Result<Rows, QueryError> {
        let planned = plan_typed(self, query, &tables, RowOrder::Ordered)?;
        self.start(planned, &tables, false).await
    }

    /// Runs a query for its values, in whatever order they come.
    pub async fn values_unordered(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
    ) -> Result<Rows, QueryError> {
        let planned = plan_typed(self, query, &tables, RowOrder::AnyOrder)?;
        self.start(planned, &tables, false).await
    }

    async fn start(
        &self,
        planned: Planned,
        tables: &BTreeMap<String, Arc<dyn Relation>>,
        opaque: bool,
    ) -> Result<Rows, QueryError> {
        let Planned {
            plan,
            used,
            columns: planned,
        } = planned;
        let mut columns = Vec::with_capacity(planned.len());
        let mut fields = Vec::with_capacity(planned.len());
        for column in planned {
            let cells = column.from.filter(|_| opaque).filter(|(table, index)| {
                let is_used = used.get(table).is_some_and(|used| used.contains(index));
                let is_column = tables.get(table).is_some_and(|relation| {
                    *index < relation.columns().len() && relation.has_cells(*index)
                });
                is_column && !is_used
            });
            let source = match cells {
                Some((table, column)) => ColumnSource::Cells { table, column },
                None => ColumnSource::Values(column.data_type),
            };
            columns.push(ResultColumn {
                name: column.name,
                source,
            });
            fields.push(column.field);
        }
        let stands_for_several = fields
            .iter()
            .enumerate()
            .any(|(place, field)| place != *field);
        let physical = self
            .state
            .create_physical_plan(&plan)
            .await
            .map_err(|error| QueryError::plan(&error))?;
        let stream = execute_stream(physical, self.state.task_ctx())
            .map_err(|error| QueryError::run(&error))?;
        Ok(Rows {
            columns,
            fields: stands_for_several.then_some(fields),
            single: scans(&plan) == 1,
            stream,
        })
    }
}

impl Rows {
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Does the query read one table, once? Then all origins in a row are the same.
    pub fn has_single_origin(&self) -> bool {
        self.single
    }

    /// The next batch; none at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        let batch = self
            .stream
            .next()
            .await
            .transpose()
            .map_err(|error| QueryError::run(&error))?;
        let (Some(batch), Some(fields)) = (&batch, &self.fields) else {
            return Ok(batch);
        };
        let batch = batch.project(fields);
        batch
            .map(Some)
            .map_err(|error| QueryError::Run(error.to_string()))
    }
}

/// Number of table scans in a plan, subqueries included.
fn scans(plan: &LogicalPlan) -> usize {
    let mut count = 0;
    // The closure does not fail.
    let _ = plan.apply_with_subqueries(|node| {
        count += usize::from(matches!(node, LogicalPlan::TableScan(_)));
        Ok(TreeNodeRecursion::Continue)
    });
    count
}
