//! Runs queries and returns their rows in batches.
//!
//! A join keeps its smaller side in memory if the side's estimated size is small enough. If the estimate was too low, and
//! memory runs out before the first batch, the query starts again, and all joins sort both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use datafusion_common::config::{ConfigNonZeroUsize, ConfigOptions};
use datafusion_execution::config::SessionConfig;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use prep_failure::Failure;
use prep_spec::model::Query;

use crate::bind::{BoundQuery, RowDemand, bind};
use crate::functions::{BATCH_ROWS, rows_for, rows_of};
use crate::limits::{QueryLimits, QueryPool};
use crate::lower::{Lowering, Sides};
use crate::proof::prove;
use crate::relation::Tables;
use crate::relational::{ColumnId, Expr, ExprKind, Relational};
use crate::{QueryError, Relation, Session};

/// Memory in bytes that a sort reserves for merging its temporary files.
const MERGE_BYTES: usize = 10 << 20;

/// The origin of a column's cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSource {
    /// Unchanged cells of a table. Instead of the cells, batches contain the indices (`UInt64`) of their stored rows.
    Cells {
        /// Name of the table.
        table: String,
        /// Position of the column in [`Relation::columns`].
        column: usize,
    },
    /// Computed values of this type.
    Values(DataType),
}

/// A column of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultColumn {
    /// The name of the column.
    pub name: String,
    /// The origin of the column's cells.
    pub source: ColumnSource,
}

/// The rows of a running query, batch by batch.
pub struct QueryRows {
    columns: Vec<ResultColumn>,
    query: Arc<PreparedQuery>,
    execution: QueryExecution,
    /// Whether no batch was returned yet.
    is_fresh: bool,
}

/// A resolved query, with all that is needed to run it, possibly more than once.
struct PreparedQuery {
    session: Session,
    bound: BoundQuery,
    tables: Tables,
    demand: RowDemand,
    /// The columns whose batches contain the origins of cells, not values.
    opaque: BTreeSet<ColumnId>,
    limits: QueryLimits,
}

struct QueryExecution {
    stream: SendableRecordBatchStream,
    pool: Arc<QueryPool>,
}

/// The form in which a caller needs the rows of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// In the query's order. Cells that the query only copies are represented by their origins.
    Cells,
    /// In the query's order, as values.
    Values,
    /// As values, in any order.
    Unordered,
    /// As values, for queries outside of pipelines: in any order if the query does not determine an order.
    Checked,
}

impl Session {
    /// Starts a query inside a `tokio` runtime.
    ///
    /// # Errors
    /// If the query is invalid for these tables, or fails when it starts.
    pub fn start(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
        form: RowForm,
        limits: &QueryLimits,
    ) -> Result<QueryRows, QueryError> {
        let tree = query.tree();
        let query = match self.prepared(query, tables.clone(), form, limits) {
            Err(QueryError::Order(_)) if form == RowForm::Checked => {
                self.prepared(query, tables, RowForm::Unordered, limits)?
            }
            query => query?,
        };
        if query.bound.columns.is_empty() {
            return Err(QueryError::no_columns(tree));
        }
        let columns = query.bound.columns.iter().map(|column| {
            let info = query.bound.catalog.get(column.id);
            let source = match &info.source {
                Some((table, index)) if query.opaque.contains(&column.id) => ColumnSource::Cells {
                    table: table.clone(),
                    column: *index,
                },
                _ => ColumnSource::Values(info.data_type.clone()),
            };
            ResultColumn {
                name: column.name.clone(),
                source,
            }
        });
        Ok(QueryRows {
            columns: columns.collect(),
            execution: query.execute(query.session.sides, false)?,
            query: Arc::new(query),
            is_fresh: true,
        })
    }

    /// Resolves a query for a form of its rows.
    fn prepared(
        &self,
        query: &Query,
        tables: Tables,
        form: RowForm,
        limits: &QueryLimits,
    ) -> Result<PreparedQuery, QueryError> {
        let demand = match form {
            RowForm::Unordered => RowDemand::AnyOrder,
            RowForm::Cells | RowForm::Values | RowForm::Checked => RowDemand::Ordered,
        };
        let bound = bind(query.tree(), &tables, demand)?;
        let bound = match form {
            RowForm::Cells => bound.with_copies(),
            _ => bound,
        };
        Ok(PreparedQuery {
            session: self.clone(),
            opaque: match form {
                RowForm::Cells => opaque_columns(&bound, &tables),
                _ => BTreeSet::new(),
            },
            bound,
            tables,
            demand,
            limits: limits.clone(),
        })
    }

    /// Returns the operators of a query as text, for tests and debugging.
    #[doc(hidden)]
    pub fn explain(
        &self,
        query: &Query,
        tables: BTreeMap<String, Arc<dyn Relation>>,
        form: RowForm,
        limits: &QueryLimits,
    ) -> Result<String, QueryError> {
        let query = self.prepared(query, tables, form, limits)?;
        let plan = query.plan(query.session.sides, false, Arc::new(query.options()))?;
        let shown = datafusion_physical_plan::displayable(plan.as_ref());
        Ok(shown.indent(false).to_string())
    }
}

/// Plans a query without running it, and proves its order.
pub(crate) fn plan_only(
    session: &Session,
    bound: &BoundQuery,
    tables: &Tables,
    demand: RowDemand,
) -> Result<(), QueryError> {
    let query = PreparedQuery {
        session: session.clone(),
        bound: bound.clone(),
        tables: tables.clone(),
        demand,
        opaque: opaque_columns(bound, tables),
        limits: QueryLimits::with_memory(1 << 30),
    };
    let options = Arc::new(query.options());
    query.plan(session.sides, false, options)?;
    Ok(())
}

/// Returns the columns that a query only passes on, and whose cells a writer can copy.
fn opaque_columns(bound: &BoundQuery, tables: &Tables) -> BTreeSet<ColumnId> {
    let used = bound.used_columns();
    let outputs = bound.columns.iter().map(|column| column.id);
    let is_opaque = |id: &ColumnId| {
        let source = bound.catalog.get(*id).source.as_ref();
        let has_cells = source.is_some_and(|(table, index)| {
            let relation = tables.get(table);
            relation.is_some_and(|relation| {
                *index < relation.columns().len() && relation.has_cells(*index)
            })
        });
        has_cells && !used.contains(id)
    };
    outputs.filter(is_opaque).collect()
}

impl PreparedQuery {
    fn options(&self) -> ConfigOptions {
        let mut options = ConfigOptions::new();
        let rows = batch_rows(&self.bound.plan, &self.limits).min(self.session.batch_rows);
        if let Ok(rows) = ConfigNonZeroUsize::try_new(rows) {
            options.execution.batch_size = rows;
        }
        options.execution.sort_spill_reservation_bytes =
            MERGE_BYTES.min(self.limits.accounted_bytes() / 8);
        options.extensions.insert(self.limits.clone());
        options
    }

    /// Plans the query, and proves its row order. If `is_traced` is true, errors of expressions name the row.
    fn plan(
        &self,
        sides: Sides,
        is_traced: bool,
        options: Arc<ConfigOptions>,
    ) -> Result<Arc<dyn ExecutionPlan>, QueryError> {
        let lowering = Lowering {
            tables: &self.tables,
            catalog: &self.bound.catalog,
            opaque: &self.opaque,
            limits: &self.limits,
            options,
            sides,
            is_traced,
        };
        let in_order = self.demand == RowDemand::Ordered;
        let plan = lowering.query(&self.bound, in_order);
        let plan = plan.map_err(|error| QueryError::run(error, None))?;
        prove(&plan, in_order).map_err(|error| QueryError::run(error, None))?;
        Ok(plan)
    }

    fn execute(&self, sides: Sides, is_traced: bool) -> Result<QueryExecution, QueryError> {
        let options = self.options();
        let plan = self.plan(sides, is_traced, Arc::new(options.clone()))?;
        let pool = Arc::new(QueryPool::new(self.limits.accounted_bytes()));
        let runtime = self.session.runtime(pool.clone())?;
        let context = TaskContext::default()
            .with_session_config(SessionConfig::from(options))
            .with_runtime(runtime);
        let stream = execute_stream(plan, Arc::new(context));
        let stream = stream.map_err(|error| QueryError::run(error, Some(&pool)))?;
        Ok(QueryExecution { stream, pool })
    }

    /// Adds the failing row to an error caused by a value, if the row can be found.
    async fn with_row(&self, error: QueryError) -> QueryError {
        let is_value = matches!(
            &error,
            QueryError::Run {
                failure: Failure::Input | Failure::Pipeline,
                cause: None,
                ..
            }
        );
        if !is_value {
            return error;
        }
        let Ok(mut traced) = self.execute(self.session.sides, true) else {
            return error;
        };
        while let Some(batch) = traced.stream.next().await {
            let Err(failure) = batch else {
                continue;
            };
            let located = QueryError::run(failure, Some(&traced.pool));
            // The traced run may fail for another reason, for example because row numbers need memory.
            return match located.failure() == error.failure() {
                true => located,
                false => error,
            };
        }
        error
    }
}

/// Returns the number of rows per batch, which is small if functions may return large values.
fn batch_rows(plan: &Relational, limits: &QueryLimits) -> usize {
    let mut rows = BATCH_ROWS;
    plan.node.visit_exprs(&mut |expr| {
        expr.visit(&mut |expr| match &expr.kind {
            ExprKind::Call { function, args } => {
                let constants: Vec<_> = args.iter().map(Expr::as_literal).collect();
                rows = rows.min(rows_for(function.name(), &constants, limits));
            }
            // Operators copy a constant to each row.
            ExprKind::Literal(value) => rows = rows.min(rows_of(value, limits)),
            _ => {}
        });
    });
    let inputs = plan.node.inputs().into_iter();
    inputs.fold(rows, |rows, input| rows.min(batch_rows(input, limits)))
}

impl QueryRows {
    /// Returns the columns in the order of the select list.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Returns whether all cells of a row always have the same origin, and this origin is never null.
    pub fn has_single_origin(&self) -> bool {
        self.query.bound.has_single_origin()
    }

    /// Returns the next batch, or `None` at the end.
    ///
    /// # Errors
    /// If a value cannot be computed, a table cannot be read, memory or disk is insufficient, or the query is cancelled.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        loop {
            let next = self.execution.stream.next().await.transpose();
            let error = match next {
                Ok(batch) => {
                    self.is_fresh = false;
                    return Ok(batch);
                }
                Err(error) => QueryError::run(error, Some(&self.execution.pool)),
            };
            if error.failure() != Failure::Machine
                || !self.is_fresh
                || self.execution.pool.required_bytes() == 0
            {
                return Err(self.query.with_row(error).await);
            }
            self.is_fresh = false;
            self.execution = self.query.execute(Sides::Sorted, false)?;
        }
    }
}
