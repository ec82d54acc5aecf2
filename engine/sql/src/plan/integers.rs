//! Casts the results of functions to signed 64-bit integers.
//!
//! Some of DataFusion's functions return 32-bit or unsigned integers. Arithmetic on 32-bit integers overflows early. An
//! operation on an unsigned and a signed number returns a decimal, which prints as `1.0000`. Therefore every call that
//! returns such integers, alone or in lists, is cast to BIGINT. An explicit CAST in a query keeps its type.

use std::mem::replace;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Projection, Union};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType as AstType, Expr as AstExpr, ObjectNamePart, Query as Ast, Value, VisitMut,
    VisitorMut,
};

use crate::QueryError;

/// Casts the results of function calls in a logical plan.
pub(crate) fn widen(plan: LogicalPlan) -> std::result::Result<LogicalPlan, QueryError> {
    let widened = plan.transform_up_with_subqueries(node);
    Ok(widened.map_err(|error| QueryError::plan(&error))?.data)
}

/// Returns the type with 64-bit integers in place of other integer types. `None` if it contains no other integer types.
fn widened_type(data_type: &DataType) -> Option<DataType> {
    let element = |field: &Arc<Field>| {
        let wide = widened_type(field.data_type())?;
        Some(Arc::new(field.as_ref().clone().with_data_type(wide)))
    };
    match data_type {
        DataType::Int64 => None,
        integer if integer.is_integer() => Some(DataType::Int64),
        DataType::List(field) => element(field).map(DataType::List),
        DataType::LargeList(field) => element(field).map(DataType::LargeList),
        _ => None,
    }
}

fn node(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Union(union) = plan {
        let union = Union::try_new_with_loose_types(union.inputs)?;
        return Ok(Transformed::yes(LogicalPlan::Union(union)));
    }
    let schema = merge_schema(&plan.inputs());
    let plan = plan.map_subqueries(|subquery| outer_columns(subquery, &schema))?;
    let names = NamePreserver::new(&plan.data);
    let plan = plan.data.map_expressions(|expr| {
        let name = names.save(&expr);
        let rewritten = expr.transform_up(|expr| call(expr, &schema))?;
        Ok(rewritten.update_data(|expr| name.restore(expr)))
    })?;
    let plan = plan.data.recompute_schema()?;
    Ok(Transformed::yes(match plan {
        LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) => cast_results(plan)?,
        plan => plan,
    }))
}

/// Casts a call within an expression.
fn call(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if !matches!(expr, Expr::ScalarFunction(_)) {
        return Ok(Transformed::no(expr));
    }
    Ok(match widened_type(&expr.get_type(schema)?) {
        Some(wide) => Transformed::yes(Expr::Cast(Cast::new(Box::new(expr), wide))),
        None => Transformed::no(expr),
    })
}

/// Casts the results of aggregates and window functions, which are separate plan nodes.
fn cast_results(plan: LogicalPlan) -> Result<LogicalPlan> {
    let inner = match &plan {
        LogicalPlan::Window(window) => window.input.schema().fields().len(),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.len(),
        _ => return Ok(plan),
    };
    let mut is_narrow = false;
    let fields = plan.schema().iter().enumerate();
    let exprs = fields.map(|(index, (qualifier, field))| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match widened_type(field.data_type()).filter(|_| index >= inner) {
            Some(wide) => {
                is_narrow = true;
                Expr::Cast(Cast::new(Box::new(column), wide))
                    .alias_qualified(qualifier.cloned(), field.name())
            }
            None => column,
        }
    });
    let exprs: Vec<Expr> = exprs.collect();
    if !is_narrow {
        return Ok(plan);
    }
    let projection = Projection::try_new(exprs, Arc::new(plan))?;
    Ok(LogicalPlan::Projection(projection))
}

/// Updates the types of outer columns in a subquery. A subquery stores a copy of the types of the outer columns that it
/// refers to.
fn outer_columns(subquery: LogicalPlan, schema: &DFSchema) -> Result<Transformed<LogicalPlan>> {
    let retyped = |expr: Expr| {
        expr.transform_up(|expr| match expr {
            Expr::OuterReferenceColumn(field, column) => {
                let found = schema.field_from_column(&column).ok().cloned();
                let field = found.unwrap_or(field);
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
            }
            expr => Ok(Transformed::no(expr)),
        })
    };
    let LogicalPlan::Subquery(mut subquery) = subquery else {
        return Ok(Transformed::no(subquery));
    };
    let outer = subquery.outer_ref_columns.into_iter();
    let outer = outer.map(|expr| Ok(retyped(expr)?.data));
    subquery.outer_ref_columns = outer.collect::<Result<Vec<Expr>>>()?;
    if !subquery.outer_ref_columns.is_empty() {
        let inner = subquery.subquery.as_ref().clone();
        let inner = inner.transform_up_with_subqueries(|node| {
            let names = NamePreserver::new(&node);
            let node = node.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(retyped(expr)?.update_data(|expr| name.restore(expr)))
            })?;
            node.map_data(LogicalPlan::recompute_schema)
        })?;
        subquery.subquery = Arc::new(inner.data);
    }
    Ok(Transformed::yes(LogicalPlan::Subquery(subquery)))
}

/// Functions with integer results that are not BIGINT, under all their names. The planner checks types while it plans,
/// so it rejects `words[2:cardinality(words)]` unless the call is cast in the query's text. Calls of all other
/// functions are cast after planning.
const COUNTING: [&str; 25] = [
    "array_length",
    "array_ndims",
    "array_position",
    "ascii",
    "cardinality",
    "char_length",
    "character_length",
    "dense_rank",
    "find_in_set",
    "instr",
    "length",
    "levenshtein",
    "list_indexof",
    "list_length",
    "list_ndims",
    "list_position",
    "array_indexof",
    "ntile",
    "octet_length",
    "position",
    "rank",
    "regexp_count",
    "regexp_instr",
    "row_number",
    "strpos",
];

/// Casts the calls of [`COUNTING`] functions in a query before it is planned.
pub(crate) fn widen_text(query: &mut Ast) {
    let _: ControlFlow<()> = query.visit(&mut Widener);
}

struct Widener;

impl VisitorMut for Widener {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut AstExpr) -> ControlFlow<()> {
        let counts = match expr {
            AstExpr::Position { .. } => true,
            AstExpr::Function(call) => {
                let name = call.name.0.last().and_then(ObjectNamePart::as_ident);
                name.is_some_and(|name| COUNTING.contains(&name.value.to_lowercase().as_str()))
            }
            _ => false,
        };
        if counts {
            let call = replace(expr, AstExpr::value(Value::Null));
            *expr = AstExpr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(call),
                data_type: AstType::BigInt(None),
                array: false,
                format: None,
            };
        }
        ControlFlow::Continue(())
    }
}
