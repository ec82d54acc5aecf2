//! Adds the row numbers of the scanned tables to a plan as columns.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::{Projection, SubqueryAlias, TableScan};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, TableScanBuilder};

use crate::table::relation::ROW;

/// A plan with additional columns.
pub(super) struct TracedPlan {
    pub plan: LogicalPlan,
    /// For each table, the column that contains the row's number in the table, from 0.
    pub rows: Vec<(String, Column)>,
}

/// Adds a column for each table that contributes to a row of the plan.
pub(super) fn trace(plan: &LogicalPlan) -> Result<TracedPlan> {
    trace_node(plan, &mut 0)
}

fn trace_node(plan: &LogicalPlan, number: &mut usize) -> Result<TracedPlan> {
    match plan {
        LogicalPlan::TableScan(table) => scan(plan, table, number),
        LogicalPlan::Projection(projection) => {
            let input = trace_node(&projection.input, number)?;
            let mut exprs = projection.expr.clone();
            let rows = input.rows.iter();
            exprs.extend(rows.map(|(_, column)| Expr::Column(column.clone())));
            let plan = Projection::try_new(exprs, Arc::new(input.plan))?;
            Ok(TracedPlan {
                plan: LogicalPlan::Projection(plan),
                rows: input.rows,
            })
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = trace_node(&alias.input, number)?;
            let rows = input.rows.into_iter().map(|(table, column)| {
                let column = Column::new(Some(alias.alias.clone()), column.name);
                (table, column)
            });
            let rows = rows.collect();
            let plan = SubqueryAlias::try_new(Arc::new(input.plan), alias.alias.clone())?;
            Ok(TracedPlan {
                plan: LogicalPlan::SubqueryAlias(plan),
                rows,
            })
        }
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => {
            pass_columns(plan, number, |_| true)
        }
        LogicalPlan::Window(_) => pass_columns(plan, number, |_| true),
        LogicalPlan::Join(join) => {
            let join_type = join.join_type;
            pass_columns(plan, number, |side| match join_type {
                JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => side == 0,
                JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => side == 1,
                _ => true,
            })
        }
        other => Ok(TracedPlan {
            plan: other.clone(),
            rows: Vec::new(),
        }),
    }
}

/// Rebuilds an operator that passes on all columns of the inputs for which `keeps` returns true.
fn pass_columns(
    plan: &LogicalPlan,
    number: &mut usize,
    keeps: impl Fn(usize) -> bool,
) -> Result<TracedPlan> {
    let mut inputs = Vec::new();
    let mut rows = Vec::new();
    for (side, input) in plan.inputs().into_iter().enumerate() {
        if keeps(side) {
            let input = trace_node(input, number)?;
            inputs.push(input.plan);
            rows.extend(input.rows);
        } else {
            inputs.push(input.clone());
        }
    }
    Ok(TracedPlan {
        plan: plan.with_new_exprs(plan.expressions(), inputs)?,
        rows,
    })
}

fn scan(plan: &LogicalPlan, table: &TableScan, number: &mut usize) -> Result<TracedPlan> {
    let all = table.source.schema();
    let Ok(row) = all.index_of(ROW) else {
        return Ok(TracedPlan {
            plan: plan.clone(),
            rows: Vec::new(),
        });
    };
    let mut projection = match &table.projection {
        Some(projection) => projection.clone(),
        None => (0..all.fields().len()).collect(),
    };
    if !projection.contains(&row) {
        projection.push(row);
    }
    let extended = TableScanBuilder::new(table.table_name.clone(), table.source.clone())
        .with_projection(Some(projection))
        .with_filters(table.filters.clone())
        .with_fetch(table.fetch)
        .build()?;
    let columns = table.projected_schema.columns().into_iter();
    let mut exprs: Vec<Expr> = columns.map(Expr::Column).collect();
    // The name is unique, so that joins and aliases cannot make it ambiguous.
    let name = format!("__row_{number}");
    *number += 1;
    let own = Column::new(Some(table.table_name.clone()), ROW);
    exprs.push(Expr::Column(own).alias(&name));
    let plan = Projection::try_new(exprs, Arc::new(LogicalPlan::TableScan(extended)))?;
    Ok(TracedPlan {
        plan: LogicalPlan::Projection(plan),
        rows: vec![(
            table.table_name.table().to_owned(),
            Column::new_unqualified(name),
        )],
    })
}
