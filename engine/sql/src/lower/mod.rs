//! Converts a [`Relational`] plan to operators that DataFusion executes.
//!
//! ```text
//! expr      expressions          join      joins: which side is kept in memory, or whether both are sorted
//! located   the row for which an expression fails
//! ```
//!
//! No optimizer runs afterwards. A sort is omitted if the rows provably arrive in the order of this sort ([`Arrival`]).

mod expr;
mod join;
mod located;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result};
use datafusion_physical_expr::aggregate::AggregateExprBuilder;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::InputOrderMode;
use datafusion_physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, create_window_expr};

use crate::QueryLimits;
use crate::bind::{BoundQuery, Catalog};
use crate::physical::{
    Concat, ConstantSlot, FirstRows, Guard, Numbered, Plan, Rows, Scan, ScanColumn, Unnested,
    WindowsInParts,
};
use crate::relation::Tables;
use crate::relational::{
    AggregateCall, ColumnId, Expr, Node, Relational, SortKey, WindowCall, WindowSpec,
};

use expr::Layout;
pub(crate) use expr::physical_constant;
use located::Located;

/// Whether a join keeps one side in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sides {
    /// A side is kept in memory if its estimated size is small enough. Otherwise both sides are sorted.
    InMemory,
    /// Both sides are always sorted.
    Sorted,
}

pub(crate) struct Lowering<'a> {
    pub tables: &'a Tables,
    pub catalog: &'a Catalog,
    /// The columns that the query only passes on. In place of values, the plan contains the origins of their cells: references
    /// to the rows of a table.
    pub opaque: &'a BTreeSet<ColumnId>,
    pub limits: &'a QueryLimits,
    pub options: Arc<ConfigOptions>,
    pub sides: Sides,
    /// Whether errors of expressions name the row.
    pub is_traced: bool,
}

/// The order in which the rows of an operator arrive.
#[derive(Debug, Clone, PartialEq)]
enum Arrival {
    /// The order may differ between runs.
    Unknown,
    /// The order is determined. If there are keys, the rows are sorted by these keys.
    Sorted(Vec<SortKey>),
}

/// An operator, and the content of its rows.
#[derive(Clone)]
struct Lowered {
    plan: Plan,
    columns: Vec<ColumnId>,
    /// Columns with the same value in all rows. The operator's rows do not contain these columns.
    constants: BTreeMap<ColumnId, Arc<ConstantSlot>>,
    arrival: Arrival,
}

impl Lowered {
    fn layout(&self) -> Layout {
        Layout {
            columns: self.columns.clone(),
            constants: self.constants.clone(),
            schema: self.plan.schema(),
        }
    }

    /// Returns whether the rows are known to arrive in this order.
    fn arrives_in(&self, ordering: &LexOrdering) -> Result<bool> {
        let Arrival::Sorted(keys) = &self.arrival else {
            return Ok(false);
        };
        let known = keys.iter().copied();
        let known = known.take_while(|key| self.columns.contains(&key.column));
        let known = sort_exprs(&known.collect::<Vec<_>>(), &self.layout())?;
        Ok(known.starts_with(ordering))
    }
}

/// The columns that operators further up in the plan read.
type Needed = BTreeSet<ColumnId>;

impl Lowering<'_> {
    /// Returns the operators of a query. An error is a defect of this crate.
    ///
    /// `in_order` states whether the order in which rows arrive matters to the caller.
    pub(crate) fn query(&self, query: &BoundQuery, in_order: bool) -> Result<Plan> {
        let needed = query.columns.iter().map(|column| column.id).collect();
        let lowered = self.lower(&query.plan, &needed, in_order)?;
        let layout = lowered.layout();
        let outputs = query.columns.iter().enumerate().map(|(index, column)| {
            let expr = layout.column(column.id)?;
            Ok((expr, format!("{index}")))
        });
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        let plan = ProjectionExec::try_new(outputs, lowered.plan)?;
        Ok(Guard::pass(Arc::new(plan)))
    }

    /// Lowers a plan. `in_order` states whether the order in which rows arrive matters to the caller.
    fn lower(&self, plan: &Relational, needed: &Needed, in_order: bool) -> Result<Lowered> {
        let lowered = match plan.node.as_ref() {
            Node::OneRow => self.rows(&[], &[Vec::new()])?,
            Node::Values { columns, rows } => self.rows(columns, rows)?,
            Node::Scan {
                table,
                columns,
                row,
            } => self.scan(table, columns, *row, needed, in_order)?,
            Node::Filter { input, condition } => {
                let below = self.with_used(needed, input, [condition]);
                let input = self.lower(input, &below, in_order)?;
                let condition = self.expr(condition, &input.layout())?;
                let filter = FilterExec::try_new(condition, input.plan.clone())?;
                Lowered {
                    plan: Arc::new(filter),
                    ..input
                }
            }
            Node::Compute { input, exprs } => self.compute(input, exprs, needed, in_order)?,
            Node::Join { left, right, spec } => self.join(left, right, spec, needed, in_order)?,
            Node::Aggregate { input, keys, calls } => self.aggregate(input, keys, calls, needed)?,
            Node::Window {
                input,
                window,
                ties,
                calls,
            } => self.window(input, window, ties, calls, needed)?,
            Node::Union { inputs, columns } => self.union(inputs, columns, needed, in_order)?,
            Node::Sort { input, keys } => self.sort(input, keys, needed, None)?,
            Node::Limit { input, skip, fetch } => {
                let skip = usize::try_from(*skip).unwrap_or(usize::MAX);
                let fetch = fetch.map(|fetch| usize::try_from(fetch).unwrap_or(usize::MAX));
                let reads_all = input.can_fail();
                let input = match input.node.as_ref() {
                    Node::Sort { input, keys } => {
                        let rows = fetch.map(|fetch| fetch.saturating_add(skip));
                        self.sort(input, keys, needed, rows)?
                    }
                    _ => self.lower(input, needed, true)?,
                };
                Lowered {
                    plan: FirstRows::plan(input.plan, skip, fetch, reads_all),
                    ..input
                }
            }
            Node::Number { input, number } => {
                let below: Needed = needed.iter().copied().filter(|id| id != number).collect();
                let input = self.lower(input, &below, true)?;
                let mut columns = input.columns.clone();
                columns.push(*number);
                Lowered {
                    plan: Numbered::plan(input.plan, &name(*number)),
                    columns,
                    arrival: Arrival::Sorted(vec![SortKey::ascending(*number)]),
                    constants: input.constants,
                }
            }
            Node::Unnest { input, lists } => self.unnest(input, lists, needed)?,
        };
        Ok(Lowered {
            plan: Guard::pass(lowered.plan),
            ..lowered
        })
    }

    fn rows(&self, columns: &[ColumnId], rows: &[Vec<Expr>]) -> Result<Lowered> {
        let layout = Layout::default();
        let mut fields = Vec::with_capacity(columns.len());
        let mut arrays = Vec::with_capacity(columns.len());
        let one = RecordBatchOptions::new().with_row_count(Some(1));
        let empty = RecordBatch::try_new_with_options(layout.schema.clone(), Vec::new(), &one)?;
        for (index, column) in columns.iter().enumerate() {
            let values = rows.iter().filter_map(|row| row.get(index));
            let values = values.map(|value| {
                let value = self.expr(value, &layout)?.evaluate(&empty)?;
                value.into_array(1)
            });
            let values = values.collect::<Result<Vec<_>>>()?;
            let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
            let array = arrow::compute::concat(&values)?;
            fields.push(Field::new(name(*column), array.data_type().clone(), true));
            arrays.push(array);
        }
        let count = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &count)?;
        Ok(Lowered {
            plan: Rows::plan(batch),
            columns: columns.to_vec(),
            constants: BTreeMap::new(),
            arrival: Arrival::Sorted(Vec::new()),
        })
    }

    fn scan(
        &self,
        table: &str,
        columns: &[(ColumnId, usize)],
        row: ColumnId,
        needed: &Needed,
        in_order: bool,
    ) -> Result<Lowered> {
        let Some(relation) = self.tables.get(table) else {
            return internal(format!("there is no table `{table}`"));
        };
        let mut ids = Vec::new();
        let mut fields = Vec::new();
        let mut scanned = Vec::new();
        for (id, index) in columns {
            if !needed.contains(id) {
                continue;
            }
            ids.push(*id);
            if self.opaque.contains(id) {
                fields.push(Field::new(name(*id), DataType::UInt64, true));
                scanned.push(ScanColumn::Origin);
            } else {
                let data_type = self.catalog.get(*id).data_type.clone();
                fields.push(Field::new(name(*id), data_type, true));
                scanned.push(ScanColumn::Value(*index));
            }
        }
        let mut arrival = Vec::new();
        if needed.contains(&row) {
            ids.push(row);
            fields.push(Field::new(name(row), DataType::Int64, false));
            scanned.push(ScanColumn::Position);
            arrival.push(SortKey::ascending(row));
        }
        let schema = Arc::new(Schema::new(fields));
        let has_origins = scanned
            .iter()
            .any(|one| !matches!(one, ScanColumn::Value(_)));
        let any_order = !in_order && !has_origins;
        Ok(Lowered {
            plan: Scan::plan(relation.clone(), scanned, schema, any_order),
            columns: ids,
            constants: BTreeMap::new(),
            arrival: match any_order {
                true => Arrival::Unknown,
                false => Arrival::Sorted(arrival),
            },
        })
    }

    fn compute(
        &self,
        input: &Relational,
        exprs: &[(ColumnId, Expr)],
        needed: &Needed,
        in_order: bool,
    ) -> Result<Lowered> {
        let computed: Vec<&(ColumnId, Expr)> =
            exprs.iter().filter(|(id, _)| needed.contains(id)).collect();
        let kept: Needed = needed
            .iter()
            .copied()
            .filter(|id| exprs.iter().all(|(own, _)| own != id))
            .collect();
        let below = self.with_used(&kept, input, computed.iter().map(|(_, expr)| expr));
        let input = self.lower(input, &below, in_order)?;
        if computed.is_empty() {
            return Ok(input);
        }
        let layout = input.layout();
        let mut columns = Vec::new();
        let mut outputs: Vec<(Arc<dyn PhysicalExpr>, String)> = Vec::new();
        for id in input.columns.iter().filter(|id| self.is_kept(**id, &kept)) {
            outputs.push((layout.column(*id)?, name(*id)));
            columns.push(*id);
        }
        let mut constants = input.constants;
        for (id, expr) in computed {
            // The constant does not become a column of the rows. As a column, it would fail even if no row needed its
            // value.
            let constant = expr.as_column().and_then(|column| constants.get(&column));
            if let Some(constant) = constant.cloned() {
                constants.insert(*id, constant);
                continue;
            }
            outputs.push((self.expr(expr, &layout)?, name(*id)));
            columns.push(*id);
        }
        Ok(Lowered {
            plan: Arc::new(ProjectionExec::try_new(outputs, input.plan.clone())?),
            arrival: kept_arrival(&input.arrival, &columns),
            columns,
            constants,
        })
    }

    /// Returns whether a column must stay in the rows: because an operator needs it, or to locate errors.
    fn is_kept(&self, id: ColumnId, needed: &Needed) -> bool {
        needed.contains(&id) || self.is_traced && self.is_row(id)
    }

    /// Returns whether a column contains the row numbers of a table.
    fn is_row(&self, id: ColumnId) -> bool {
        let source = self.catalog.get(id).source.as_ref();
        source.is_some_and(|(table, index)| {
            let relation = self.tables.get(table);
            relation.is_some_and(|relation| *index == relation.columns().len())
        })
    }

    /// Returns the columns of `input` that are in `needed` or that `exprs` use. If errors must name the row and `exprs` can
    /// fail, also returns the columns with row numbers.
    fn with_used<'e>(
        &self,
        needed: &Needed,
        input: &Relational,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Needed {
        let mut below: Needed = needed.intersection(&input.columns).copied().collect();
        let mut can_fail = false;
        for expr in exprs {
            expr.add_columns(&mut below);
            can_fail |= expr.can_fail();
        }
        if self.is_traced && can_fail {
            below.extend(input.columns.iter().filter(|id| self.is_row(**id)));
        }
        below
    }

    /// Converts an expression over rows. If `is_traced` is set, its errors name the row.
    fn expr(&self, expr: &Expr, layout: &Layout) -> Result<Arc<dyn PhysicalExpr>> {
        let physical = layout.expr(expr, &self.options)?;
        if self.is_traced && expr.can_fail() {
            return Ok(Located::around(expr, physical, layout, self));
        }
        Ok(physical)
    }

    /// Removes unneeded columns, and adds needed constants as columns.
    fn narrowed(&self, lowered: Lowered, needed: &Needed) -> Result<Lowered> {
        let is_kept = |id: &ColumnId| self.is_kept(*id, needed);
        let constants = lowered
            .constants
            .keys()
            .copied()
            .filter(|id| needed.contains(id));
        let constants: Vec<ColumnId> = constants.collect();
        if constants.is_empty() && lowered.columns.iter().all(is_kept) {
            return Ok(Lowered {
                constants: BTreeMap::new(),
                ..lowered
            });
        }
        let layout = lowered.layout();
        let kept = lowered.columns.iter().copied().filter(is_kept);
        let columns: Vec<ColumnId> = kept.chain(constants).collect();
        let outputs = columns
            .iter()
            .map(|id| Ok((layout.column(*id)?, name(*id))));
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        let plan = ProjectionExec::try_new(outputs, lowered.plan)?;
        Ok(Lowered {
            plan: Guard::pass(Arc::new(plan)),
            arrival: kept_arrival(&lowered.arrival, &columns),
            columns,
            constants: BTreeMap::new(),
        })
    }

    fn aggregate(
        &self,
        input: &Relational,
        keys: &[(ColumnId, ColumnId)],
        calls: &[(ColumnId, AggregateCall)],
        needed: &Needed,
    ) -> Result<Lowered> {
        let needed_calls = calls.iter().filter(|(id, _)| needed.contains(id));
        let mut needed_calls: Vec<&(ColumnId, AggregateCall)> = needed_calls.collect();
        if keys.is_empty() && needed_calls.is_empty() {
            // The operator needs a column to return its only row.
            needed_calls.extend(calls.first());
        }
        let calls = needed_calls;
        let mut below: Needed = keys.iter().map(|(_, input)| *input).collect();
        for (_, call) in &calls {
            below.extend(call.order_by.iter().map(|key| key.column));
        }
        let exprs = calls
            .iter()
            .flat_map(|(_, call)| call.args.iter().chain(&call.filter));
        let below = self.with_used(&below, input, exprs);
        let input = self.lower(input, &below, false)?;
        let constants = input.constants.clone();
        // Keys and columns of ORDER BY must be columns, even if they are constants.
        let materialized: Needed = keys
            .iter()
            .map(|(_, input)| *input)
            .chain(
                calls
                    .iter()
                    .flat_map(|(_, call)| call.order_by.iter().map(|key| key.column)),
            )
            .chain(input.columns.iter().copied())
            .collect();
        let mut input = self.narrowed(input, &materialized)?;
        input.constants = constants;
        let layout = input.layout();
        let mut groups = Vec::with_capacity(keys.len());
        for (id, key) in keys {
            groups.push((layout.column(*key)?, name(*id)));
        }
        let aggregates = calls
            .iter()
            .map(|(id, call)| self.aggregate_call(*id, call, &layout));
        let aggregates = aggregates.collect::<Result<Vec<_>>>()?;
        let filters = calls.iter().map(|(_, call)| {
            let filter = call
                .filter
                .as_ref()
                .map(|filter| self.expr(filter, &layout));
            filter.transpose()
        });
        let filters = filters.collect::<Result<Vec<_>>>()?;
        let groups = PhysicalGroupBy::new_single(groups);
        let build = |plan: Plan| {
            AggregateExec::try_new(
                AggregateMode::Single,
                groups.clone(),
                aggregates.clone(),
                filters.clone(),
                plan.clone(),
                plan.schema(),
            )
        };
        let mut aggregate = build(input.plan.clone())?;
        let required = aggregate
            .required_input_ordering()
            .into_iter()
            .next()
            .flatten();
        if let Some(required) = required {
            let ordering = LexOrdering::from(required.into_single());
            let plan = match input.arrives_in(&ordering)? {
                true => input.plan.clone(),
                false => Arc::new(SortExec::new(ordering.clone(), input.plan.clone())),
            };
            aggregate = build(Guard::ordered(plan, Some(ordering)))?;
        }
        let ids = keys.iter().map(|(id, _)| *id);
        Ok(Lowered {
            plan: Arc::new(aggregate),
            columns: ids.chain(calls.iter().map(|(id, _)| *id)).collect(),
            constants: BTreeMap::new(),
            arrival: match keys.is_empty() {
                true => Arrival::Sorted(Vec::new()),
                false => Arrival::Unknown,
            },
        })
    }

    fn aggregate_call(
        &self,
        id: ColumnId,
        call: &AggregateCall,
        layout: &Layout,
    ) -> Result<Arc<datafusion_physical_expr::aggregate::AggregateFunctionExpr>> {
        let args = call.args.iter().map(|arg| self.expr(arg, layout));
        let built = AggregateExprBuilder::new(call.function.clone(), args.collect::<Result<_>>()?)
            .order_by(sort_exprs(&call.order_by, layout)?)
            .schema(layout.schema.clone())
            .alias(name(id))
            .with_distinct(call.distinct)
            .with_ignore_nulls(call.ignores_nulls)
            .build()?;
        Ok(Arc::new(built))
    }

    fn window(
        &self,
        input: &Relational,
        window: &WindowSpec,
        ties: &[SortKey],
        calls: &[(ColumnId, WindowCall)],
        needed: &Needed,
    ) -> Result<Lowered> {
        let calls: Vec<&(ColumnId, WindowCall)> =
            calls.iter().filter(|(id, _)| needed.contains(id)).collect();
        if calls.is_empty() {
            return self.lower(input, needed, false);
        }
        let keys = window.partition_by.iter().copied().map(SortKey::ascending);
        let keys: Vec<SortKey> = keys
            .chain(window.order_by.iter().chain(ties).copied())
            .collect();
        let mut below: Needed = needed.intersection(&input.columns).copied().collect();
        below.extend(keys.iter().map(|key| key.column));
        let exprs = calls
            .iter()
            .flat_map(|(_, call)| call.args.iter().chain(&call.filter));
        let below = self.with_used(&below, input, exprs);
        let mut sorted = self.sort(input, &keys, &below, None)?;
        let layout = sorted.layout();
        let order = LexOrdering::new(sort_exprs(&keys, &layout)?);
        sorted.plan = Guard::ordered(sorted.plan, order);
        let partition_by = window.partition_by.iter().map(|id| layout.column(*id));
        let partition_by = partition_by.collect::<Result<Vec<_>>>()?;
        let order_by = sort_exprs(&window.order_by, &layout)?;
        let mut exprs = Vec::with_capacity(calls.len());
        for (id, call) in &calls {
            let args = call.args.iter().map(|arg| self.expr(arg, &layout));
            let filter = call
                .filter
                .as_ref()
                .map(|filter| self.expr(filter, &layout));
            exprs.push(create_window_expr(
                &call.function,
                name(*id),
                &args.collect::<Result<Vec<_>>>()?,
                &partition_by,
                &order_by,
                call.frame.clone(),
                layout.schema.clone(),
                call.ignores_nulls,
                false,
                filter.transpose()?,
            )?);
        }
        let is_bounded = exprs.iter().all(|expr| expr.uses_bounded_memory());
        let plan: Plan = if is_bounded {
            let mode = InputOrderMode::Sorted;
            Arc::new(BoundedWindowAggExec::try_new(
                exprs,
                sorted.plan,
                mode,
                false,
            )?)
        } else if partition_by.is_empty() {
            let counted = Guard::count(sorted.plan, true, input.rows);
            Arc::new(WindowAggExec::try_new(exprs, counted, false)?)
        } else {
            WindowsInParts::plan(partition_by, exprs, sorted.plan)?
        };
        let ids = calls.iter().map(|(id, _)| *id);
        Ok(Lowered {
            plan,
            columns: sorted.columns.iter().copied().chain(ids).collect(),
            ..sorted
        })
    }

    fn union(
        &self,
        inputs: &[Relational],
        columns: &[(ColumnId, Vec<ColumnId>)],
        needed: &Needed,
        in_order: bool,
    ) -> Result<Lowered> {
        let columns: Vec<&(ColumnId, Vec<ColumnId>)> = columns
            .iter()
            .filter(|(id, _)| needed.contains(id))
            .collect();
        let mut plans = Vec::with_capacity(inputs.len());
        let mut is_determined = true;
        for (index, input) in inputs.iter().enumerate() {
            let own = columns
                .iter()
                .filter_map(|(_, inputs)| inputs.get(index).copied());
            let own: Vec<ColumnId> = own.collect();
            let lowered = self.lower(input, &own.iter().copied().collect(), in_order)?;
            is_determined &= lowered.arrival != Arrival::Unknown;
            let layout = lowered.layout();
            let outputs = own.iter().zip(&columns);
            let outputs = outputs.map(|(id, (output, _))| Ok((layout.column(*id)?, name(*output))));
            let plan = ProjectionExec::try_new(outputs.collect::<Result<Vec<_>>>()?, lowered.plan)?;
            plans.push(Guard::pass(Arc::new(plan)));
        }
        Ok(Lowered {
            plan: Concat::plan(plans)?,
            columns: columns.iter().map(|(id, _)| *id).collect(),
            constants: BTreeMap::new(),
            arrival: match is_determined {
                true => Arrival::Sorted(Vec::new()),
                false => Arrival::Unknown,
            },
        })
    }

    /// Sorts by keys, unless the rows arrive in this order. With `fetch`, may return only the first `fetch` rows.
    fn sort(
        &self,
        input: &Relational,
        keys: &[SortKey],
        needed: &Needed,
        fetch: Option<usize>,
    ) -> Result<Lowered> {
        let below: Needed = needed
            .iter()
            .copied()
            .filter(|id| input.columns.contains(id))
            .chain(keys.iter().map(|key| key.column))
            .collect();
        let lowered = self.lower(input, &below, true)?;
        let is_sorted = match &lowered.arrival {
            Arrival::Unknown => false,
            Arrival::Sorted(sorted) => sorted.starts_with(keys),
        };
        if is_sorted {
            return Ok(lowered);
        }
        let lowered = match keys
            .iter()
            .any(|key| lowered.constants.contains_key(&key.column))
        {
            true => self.narrowed(lowered, &below)?,
            false => lowered,
        };
        let Some(ordering) = LexOrdering::new(sort_exprs(keys, &lowered.layout())?) else {
            return Ok(lowered);
        };
        // The operator does not support a limit of 0 rows.
        let fetch = fetch.filter(|rows| *rows > 0);
        let sorted = SortExec::new(ordering, lowered.plan).with_fetch(fetch);
        let rows = fetch.map_or(input.rows, |fetch| input.rows.min(fetch as u64));
        Ok(Lowered {
            plan: Guard::after_all(Arc::new(sorted), rows),
            arrival: Arrival::Sorted(keys.to_vec()),
            columns: lowered.columns,
            constants: lowered.constants,
        })
    }

    fn unnest(
        &self,
        input: &Relational,
        lists: &[(ColumnId, ColumnId)],
        needed: &Needed,
    ) -> Result<Lowered> {
        let mut below: Needed = needed.intersection(&input.columns).copied().collect();
        let kept = below.clone();
        below.extend(lists.iter().map(|(_, list)| *list));
        let lowered = self.lower(input, &below, true)?;
        let lowered = self.narrowed(lowered, &below)?;
        let position = |id: ColumnId| lowered.columns.iter().position(|own| *own == id);
        let mut elements = Vec::with_capacity(lists.len());
        for (id, list) in lists {
            let Some(index) = position(*list) else {
                return internal("a list to unnest is missing".to_owned());
            };
            elements.push((index, name(*id)));
        }
        let others = lowered.columns.iter().enumerate();
        let others = others.filter(|(_, id)| self.is_kept(**id, &kept));
        let others: Vec<(usize, ColumnId)> = others.map(|(index, id)| (index, *id)).collect();
        let indices = others.iter().map(|(index, _)| *index).collect();
        let ids = others.iter().map(|(_, id)| *id);
        Ok(Lowered {
            plan: Unnested::plan(lowered.plan, indices, elements)?,
            columns: ids.chain(lists.iter().map(|(id, _)| *id)).collect(),
            constants: BTreeMap::new(),
            arrival: match lowered.arrival {
                Arrival::Unknown => Arrival::Unknown,
                Arrival::Sorted(_) => Arrival::Sorted(Vec::new()),
            },
        })
    }
}

/// Returns the name of a column in DataFusion's plan.
fn name(id: ColumnId) -> String {
    format!("c{}", id.0)
}

/// Returns the arrival order after all columns except `columns` are removed.
fn kept_arrival(arrival: &Arrival, columns: &[ColumnId]) -> Arrival {
    match arrival {
        Arrival::Unknown => Arrival::Unknown,
        Arrival::Sorted(keys) => {
            let kept = keys.iter().take_while(|key| columns.contains(&key.column));
            Arrival::Sorted(kept.copied().collect())
        }
    }
}

fn sort_exprs(keys: &[SortKey], layout: &Layout) -> Result<Vec<PhysicalSortExpr>> {
    let exprs = keys.iter().map(|key| {
        let options = SortOptions {
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        Ok(PhysicalSortExpr::new(layout.column(key.column)?, options))
    });
    exprs.collect()
}

fn internal<T>(message: String) -> Result<T> {
    Err(DataFusionError::Internal(message))
}

fn column_at(schema: &SchemaRef, index: usize) -> Arc<dyn PhysicalExpr> {
    let name = schema.fields().get(index).map_or("", |field| field.name());
    Arc::new(Column::new(name, index))
}
