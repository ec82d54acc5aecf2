//! Runs queries and returns their rows in batches.
//!
//! A query runs within [`QueryLimits`]. A join keeps its smaller side in memory if the estimated size of that side is
//! small enough, and sorts both sides otherwise. The estimate may be too low. If memory runs out before the first batch
//! was returned, the query starts again and sorts the sides of all joins.

mod failing;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use prep_failure::Failure;
use prep_spec::model::Query;

use crate::functions::rows_per_batch;
use crate::limits::{QueryLimits, QueryPool};
use crate::plan::order::RowOrder;
use crate::plan::{PlannedQuery, constants, plan_opaque, plan_typed, types};
use crate::{QueryError, Relation, Session, physical};

/// Memory that a sort reserves for merging its temporary files, in bytes.
const MERGE_BYTES: usize = 10 << 20;

/// The origin of a result column's cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSource {
    /// Cells of a table, unchanged. The column in a batch contains origins (`UInt64`), with null for a row without an
    /// origin.
    Cells {
        /// Name of the table.
        table: String,
        /// Position of the column in [`Relation::columns`].
        column: usize,
    },
    /// Computed values of this type.
    Values(DataType),
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultColumn {
    /// The name of the column.
    pub name: String,
    /// The source of the column's cells.
    pub source: ColumnSource,
}

/// The rows of a result, batch by batch, in the query's order.
pub struct QueryRows {
    columns: Vec<ResultColumn>,
    /// For each result column, its position in the stream's batches. `None` if the positions are the same.
    fields: Option<Vec<usize>>,
    /// True if all origins of a row are equal.
    single: bool,
    execution: QueryExecution,
    /// The session, plan and limits, for running the query again.
    session: Session,
    plan: LogicalPlan,
    limits: QueryLimits,
    /// True until the first batch has been returned.
    is_fresh: bool,
}

/// A query that DataFusion is executing.
struct QueryExecution {
    stream: SendableRecordBatchStream,
    pool: Arc<QueryPool>,
}

/// How joins treat their sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sides {
    /// The smaller side is kept in memory if its estimated size is small enough. Otherwise both sides are sorted.
    InMemory,
    /// Both sides are always sorted.
    Sorted,
}

impl Session {
    /// Runs a query and returns passed-on columns as origins, for writers that copy cells.
    ///
    /// # Errors
    /// If the query is invalid for these tables, or fails when it starts.
    pub async fn rows(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
        limits: &QueryLimits,
    ) -> Result<QueryRows, QueryError> {
        let planned = plan_opaque(self, query, &tables, RowOrder::Ordered)?;
        self.start(planned, &tables, true, limits).await
    }

    /// Runs a query and returns all columns as values.
    ///
    /// # Errors
    /// Same as for [`Session::rows`].
    pub async fn values(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
        limits: &QueryLimits,
    ) -> Result<QueryRows, QueryError> {
        let planned = plan_typed(self, query, &tables, RowOrder::Ordered)?;
        self.start(planned, &tables, false, limits).await
    }

    /// Runs a query and returns all columns as values, with the rows in any order.
    ///
    /// # Errors
    /// Same as for [`Session::rows`].
    pub async fn values_unordered(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
        limits: &QueryLimits,
    ) -> Result<QueryRows, QueryError> {
        let planned = plan_typed(self, query, &tables, RowOrder::AnyOrder)?;
        self.start(planned, &tables, false, limits).await
    }

    /// Runs a query that is not part of a pipeline, and returns all columns as values. The rows are in the query's order,
    /// or in any order if the query does not determine one. Also checks the types and constants of the query, as
    /// [`crate::check`] does when a pipeline is loaded.
    ///
    /// # Errors
    /// Same as for [`Session::rows`], including values whose types cannot be compared or combined.
    pub async fn checked_values(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
        limits: &QueryLimits,
    ) -> Result<QueryRows, QueryError> {
        let planned = match plan_typed(self, query, &tables, RowOrder::Ordered) {
            Err(QueryError::Order(_)) => plan_typed(self, query, &tables, RowOrder::AnyOrder)?,
            planned => planned?,
        };
        types::check(&planned.plan)?;
        constants::check(self, &planned.plan)?;
        self.start(planned, &tables, false, limits).await
    }

    async fn start(
        &self,
        planned: PlannedQuery,
        tables: &BTreeMap<String, Arc<dyn Relation>>,
        opaque: bool,
        limits: &QueryLimits,
    ) -> Result<QueryRows, QueryError> {
        let PlannedQuery {
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
        Ok(QueryRows {
            columns,
            fields: stands_for_several.then_some(fields),
            single: has_single_origin(&plan),
            execution: self.execute(&plan, limits, Sides::InMemory).await?,
            session: self.clone(),
            plan,
            limits: limits.clone(),
            is_fresh: true,
        })
    }

    /// Creates the physical plan of a query, its context, and its memory pool.
    async fn prepare(
        &self,
        plan: &LogicalPlan,
        limits: &QueryLimits,
        sides: Sides,
    ) -> Result<(Arc<dyn ExecutionPlan>, TaskContext, Arc<QueryPool>), QueryError> {
        let pool = Arc::new(QueryPool::new(limits.accounted_bytes()));
        let state = self.state_for(plan, limits, sides);
        let physical = match state.create_physical_plan(plan).await {
            Ok(physical) => physical,
            Err(error) => {
                // DataFusion rejects some of its own plans because they rely on an order that the plan does not
                // provide.
                let plain = SessionStateBuilder::new_from_existing(state.clone())
                    .with_physical_optimizer_rules(physical::rules_without_equalities())
                    .build();
                let again = plain.create_physical_plan(plan).await;
                again.map_err(|_| QueryError::prepare(error, &pool))?
            }
        };
        let runtime = self.runtime(pool.clone())?;
        let context = TaskContext::from(&state).with_runtime(runtime);
        Ok((physical, context, pool))
    }

    /// Returns the session's state with the options for running a query within these limits.
    fn state_for(&self, plan: &LogicalPlan, limits: &QueryLimits, sides: Sides) -> SessionState {
        let mut state = SessionState::clone(&self.state);
        let options = state.config_mut().options_mut();
        let batch_rows = rows_per_batch(plan, limits).min(self.batch_rows);
        if let Ok(batch) = ConfigNonZeroUsize::try_new(batch_rows) {
            options.execution.batch_size = batch;
        }
        options.execution.sort_spill_reservation_bytes =
            MERGE_BYTES.min(limits.accounted_bytes() / 8);
        options.optimizer.hash_join_single_partition_threshold = match sides {
            Sides::InMemory => limits.max_build_side_bytes(),
            Sides::Sorted => 0,
        };
        options.extensions.insert(limits.clone());
        // Functions read the options that are set when execution starts.
        state.mark_start_execution();
        state
    }

    async fn execute(
        &self,
        plan: &LogicalPlan,
        limits: &QueryLimits,
        sides: Sides,
    ) -> Result<QueryExecution, QueryError> {
        let (physical, context, pool) = self.prepare(plan, limits, sides).await?;
        let stream = execute_stream(physical, Arc::new(context))
            .map_err(|error| QueryError::run(error, Some(&pool)))?;
        Ok(QueryExecution { stream, pool })
    }

    /// Returns the physical plan of a query as text, for tests and debugging.
    #[doc(hidden)]
    pub async fn explain(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
        ordered: bool,
        limits: &QueryLimits,
    ) -> Result<String, QueryError> {
        let order = match ordered {
            true => RowOrder::Ordered,
            false => RowOrder::AnyOrder,
        };
        let planned = plan_typed(self, query, &tables, order)?;
        let (physical, _, _) = self.prepare(&planned.plan, limits, Sides::InMemory).await?;
        let shown = datafusion::physical_plan::displayable(physical.as_ref());
        Ok(shown.indent(false).to_string())
    }
}

impl QueryRows {
    /// Returns the columns of the result, in order.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Returns true if each row of the result comes from one row of a single table that is scanned once. In that case,
    /// all origins of a row are equal and none is missing.
    pub fn has_single_origin(&self) -> bool {
        self.single
    }

    /// Expands columns of a batch that represent several result columns.
    fn columns_of(&self, batch: Option<RecordBatch>) -> Result<Option<RecordBatch>, QueryError> {
        let (Some(batch), Some(fields)) = (&batch, &self.fields) else {
            return Ok(batch);
        };
        let batch = batch.project(fields);
        let batch = batch.map_err(|error| QueryError::run(error.into(), None))?;
        Ok(Some(batch))
    }

    /// Returns the next batch, or `None` at the end.
    ///
    /// # Errors
    /// If a value cannot be computed, a table cannot be read, memory or disk space is insufficient, or the query is
    /// cancelled.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        loop {
            let next = self.execution.stream.next().await.transpose();
            let error = match next {
                Ok(batch) => {
                    self.is_fresh = false;
                    return self.columns_of(batch);
                }
                Err(error) => QueryError::run(error, Some(&self.execution.pool)),
            };
            if error.failure() != Failure::Machine
                || !self.is_fresh
                || self.execution.pool.required_bytes() == 0
            {
                return Err(self.with_row(error).await);
            }
            self.is_fresh = false;
            let (plan, limits) = (&self.plan, &self.limits);
            self.execution = self.session.execute(plan, limits, Sides::Sorted).await?;
        }
    }

    /// Adds the failing row to an error caused by a value, if the row can be found.
    async fn with_row(&self, error: QueryError) -> QueryError {
        let QueryError::Run {
            failure: failure @ (Failure::Input | Failure::Pipeline),
            help,
            cause: None,
            ..
        } = &error
        else {
            return error;
        };
        let state = self
            .session
            .state_for(&self.plan, &self.limits, Sides::InMemory);
        let found = failing::find(&self.session, &state, &self.plan, &self.limits);
        match found.await {
            Some(failing) => QueryError::Run {
                failure: *failure,
                message: failing.message,
                place: failing.place,
                help: help.clone(),
                needs_memory: false,
                cause: None,
            },
            None => error,
        }
    }
}

/// Returns whether every row of a plan comes from a row of the only table that the plan scans. Outer joins may return
/// rows without an origin.
fn has_single_origin(plan: &LogicalPlan) -> bool {
    let (mut scans, mut is_outer) = (0, false);
    // The closure does not fail.
    let _ = plan.apply_with_subqueries(|node| {
        scans += usize::from(matches!(node, LogicalPlan::TableScan(_)));
        is_outer |= matches!(node, LogicalPlan::Join(join) if join.join_type.is_outer());
        Ok(TreeNodeRecursion::Continue)
    });
    scans == 1 && !is_outer
}
