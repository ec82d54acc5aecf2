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
use crate::usage::origin;
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
        let Planned { plan, used } = planned;
        let mut columns = Vec::new();
        for (index, field) in plan.schema().fields().iter().enumerate() {
            let cells = opaque
                .then(|| origin(&plan, index))
                .flatten()
                .filter(|(table, column)| {
                    let is_used = used.get(table).is_some_and(|used| used.contains(column));
                    let is_column = tables.get(table).is_some_and(|relation| {
                        *column < relation.columns().len() && relation.has_cells(*column)
                    });
                    is_column && !is_used
                });
            let source = match cells {
                Some((table, column)) => ColumnSource::Cells { table, column },
                None => ColumnSource::Values(field.data_type().clone()),
            };
            columns.push(ResultColumn {
                name: field.name().clone(),
                source,
            });
        }
        let physical = self
            .state
            .create_physical_plan(&plan)
            .await
            .map_err(|error| QueryError::plan(&error))?;
        let stream = execute_stream(physical, self.state.task_ctx())
            .map_err(|error| QueryError::run(&error))?;
        Ok(Rows {
            columns,
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
        self.stream
            .next()
            .await
            .transpose()
            .map_err(|error| QueryError::run(&error))
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
