//! Resolves expressions.

use arrow::compute::can_cast_types;
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator as PlanOperator;
use prep_spec::query::tree::{self, CastType, Name, Operator, Position, SubqueryKind};

use super::Binder;
use super::call::{PendingAggregate, PendingWindow};
use super::constant::{check_pattern, folded, reject_zero_divisor};
use super::scope::{Parts, Scope, missing_column};
use super::subquery::Pending;
use super::types::{
    TIMESTAMP, TypeClass, canonical, cast, common, compared, comparison, is_double, mismatch,
    of_class, refused, rejected, text, widened,
};
use crate::QueryError;
use crate::functions::{checked_function, is_arithmetic};
use crate::relational::{ColumnId, Expr, ExprKind};

/// Resolves the expressions of one clause.
pub(super) struct Exprs<'b, 'q, 't> {
    pub binder: &'b mut Binder<'t>,
    pub scope: &'b Scope<'b>,
    pub parts: &'b Parts<'q>,
    /// The aliases of the select list, each with its expression. Empty if the clause cannot use aliases.
    pub aliases: &'b [(&'q Name, &'q tree::Expr)],
    pub found: Found,
}

/// Parts of expressions that are not computed with the expression, but by an operator below it in the plan: subqueries,
/// aggregates, window functions and `unnest`.
///
/// The operator writes the value of the part into a column. The expression then refers to this column.
#[derive(Default)]
pub(super) struct Found {
    pub subqueries: Vec<Pending>,
    /// Subqueries in the arguments of aggregates.
    pub inside: Vec<Pending>,
    /// `None` in clauses that accept no aggregates.
    pub aggregates: Option<Vec<PendingAggregate>>,
    /// `None` in clauses that accept no window functions.
    pub windows: Option<Vec<PendingWindow>>,
    /// For each `unnest`: the column of its elements, and its list. `None` in clauses that accept no `unnest`.
    pub unnested: Option<Vec<(ColumnId, Expr)>>,
}

impl<'b, 'q, 't> Exprs<'b, 'q, 't> {
    /// Creates a resolver for a clause without aliases, aggregates, window functions and `unnest`.
    pub(super) fn new(
        binder: &'b mut Binder<'t>,
        scope: &'b Scope<'b>,
        parts: &'b Parts<'q>,
    ) -> Exprs<'b, 'q, 't> {
        Exprs {
            binder,
            scope,
            parts,
            aliases: &[],
            found: Found::default(),
        }
    }
}

impl<'q> Exprs<'_, 'q, '_> {
    pub(super) fn expr(&mut self, source: &'q tree::Expr) -> Result<Expr, QueryError> {
        let at = source.at;
        let resolved = match &source.kind {
            tree::ExprKind::Column { table, name } => self.name(table.as_ref(), name)?,
            tree::ExprKind::Null => Expr::literal(ScalarValue::Null, at),
            tree::ExprKind::Boolean(value) => Expr::literal((*value).into(), at),
            tree::ExprKind::Integer(value) => Expr::literal((*value).into(), at),
            tree::ExprKind::Double(value) => Expr::literal((*value).into(), at),
            tree::ExprKind::Text(value) => Expr::literal(value.as_str().into(), at),
            tree::ExprKind::Operation { op, operands } => self.operation(source, *op, operands)?,
            tree::ExprKind::Subquery { kind, query } => match kind {
                SubqueryKind::Value => self.scalar_subquery(query, at)?,
                SubqueryKind::Exists => self.exists(query, at)?,
                SubqueryKind::In(operand) => {
                    let value = self.expr(operand)?;
                    self.in_query(value, operand, query)?
                }
            },
            tree::ExprKind::Cast { expr, to, is_try } => self.explicit_cast(expr, *to, *is_try)?,
            tree::ExprKind::Case {
                branches,
                otherwise,
            } => self.case(branches, otherwise.as_deref(), at)?,
            tree::ExprKind::Call(call) => self.call(call, source)?,
        };
        folded(Expr { at, ..resolved }, source)
    }

    /// Resolves an expression whose type must be in `class`. `what` begins the error message, for example `WHERE`.
    pub(super) fn class(
        &mut self,
        source: &'q tree::Expr,
        class: TypeClass,
        what: &str,
    ) -> Result<Expr, QueryError> {
        let expr = self.expr(source)?;
        of_class(expr, source, class, what)
    }

    /// Resolves two expressions that are compared, and casts them to a common type.
    fn pair(
        &mut self,
        left: &'q tree::Expr,
        right: &'q tree::Expr,
        what: &str,
    ) -> Result<(Expr, Expr), QueryError> {
        let exprs = (self.expr(left)?, self.expr(right)?);
        // If both columns have the same name, the message also shows their tables.
        let shown = |expr: &tree::Expr| match text(left) == text(right) {
            true => expr.to_string(),
            false => text(expr),
        };
        compared(exprs, (&|| shown(left), &|| shown(right)), what)
    }

    fn name(&mut self, table: Option<&Name>, name: &Name) -> Result<Expr, QueryError> {
        if let Some(id) = self.scope.find_here(table, name)? {
            return Ok(self.binder.reference(id, name.at));
        }
        let aliases = self.aliases.iter();
        let mut aliases = aliases.filter(|(alias, _)| table.is_none() && alias.text == name.text);
        if let Some((_, expr)) = aliases.next() {
            if aliases.any(|(_, other)| other != expr) {
                let message = format!(
                    "several columns of the select list have the name `{}`",
                    name.text
                );
                let help =
                    "give each of them a different name, or write the column's position, such as 2";
                return Err(rejected(name.at, message, Some(help)));
            }
            // The expression of an alias cannot use aliases. Otherwise, an alias could refer to itself.
            let aliases = std::mem::take(&mut self.aliases);
            let resolved = self.expr(expr);
            self.aliases = aliases;
            return resolved;
        }
        match self.scope.find(table, name)? {
            Some(id) => Ok(self.binder.reference(id, name.at)),
            None => Err(match table {
                Some(table) if !self.scope.has_table(&table.text) => rejected(
                    table.at,
                    format!("FROM has no table `{}`", table.text),
                    None::<&str>,
                ),
                _ => missing_column(table, name),
            }),
        }
    }

    fn operation(
        &mut self,
        source: &'q tree::Expr,
        op: Operator,
        operands: &'q [tree::Expr],
    ) -> Result<Expr, QueryError> {
        let (symbol, at) = (op.symbol(), source.at);
        let boolean = DataType::Boolean;
        match (op, operands) {
            (Operator::In, [value, list @ ..]) => self.in_list(value, list),
            (Operator::Not, [operand]) => {
                Ok(self.class(operand, TypeClass::Boolean, symbol)?.not())
            }
            (Operator::Negate, [operand]) => {
                let operand = self.class(operand, TypeClass::Number, symbol)?;
                Ok(arithmetic(Operator::Negate, vec![operand], at))
            }
            (Operator::IsNull, [operand]) => Ok(self.expr(operand)?.missing()),
            (Operator::IsUnknown, [operand]) => {
                Ok(self.class(operand, TypeClass::Boolean, "IS")?.missing())
            }
            (Operator::IsTrue | Operator::IsFalse, [operand]) => {
                let value = Expr::literal((op == Operator::IsTrue).into(), operand.at);
                let operand = self.class(operand, TypeClass::Boolean, "IS")?;
                Ok(Expr::binary(
                    PlanOperator::IsNotDistinctFrom,
                    operand,
                    value,
                    boolean,
                ))
            }
            (_, [left, right]) => {
                if is_arithmetic(op) {
                    return self.arithmetic(source, op, left, right);
                }
                let (class, plan) = plan_operator(op);
                let Some(class) = class else {
                    let (left, right) = self.pair(left, right, "compared")?;
                    return Ok(comparison(plan, left, right));
                };
                let operands = (
                    self.class(left, class, symbol)?,
                    self.class(right, class, symbol)?,
                );
                if matches!(op, Operator::Like | Operator::Ilike) {
                    let kind = ExprKind::Like {
                        expr: Box::new(operands.0),
                        pattern: Box::new(operands.1),
                        ignores_case: op == Operator::Ilike,
                    };
                    return Ok(Expr::boolean(kind, at));
                }
                let result = match class {
                    TypeClass::Number => {
                        require_integers(symbol, [(&operands.0, left), (&operands.1, right)])?;
                        DataType::Int64
                    }
                    TypeClass::Text => {
                        check_pattern(&operands.1, None, right)?;
                        boolean
                    }
                    _ => boolean,
                };
                Ok(Expr::binary(plan, operands.0, operands.1, result))
            }
            _ => Err(refused(
                at,
                format!("{symbol} cannot be applied to these operands"),
            )),
        }
    }

    fn arithmetic(
        &mut self,
        source: &tree::Expr,
        op: Operator,
        left: &'q tree::Expr,
        right: &'q tree::Expr,
    ) -> Result<Expr, QueryError> {
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        if op == Operator::Join {
            let args = [a, b].map(|arg| cast(arg, &DataType::Utf8));
            return Ok(arithmetic(op, args.into(), source.at));
        }
        let is_date = |expr: &Expr| expr.data_type == DataType::Date32;
        if is_date(&a) || is_date(&b) {
            return date_arithmetic(op, a, b, source);
        }
        let symbol = op.symbol();
        let a = of_class(a, left, TypeClass::Number, symbol)?;
        let b = of_class(b, right, TypeClass::Number, symbol)?;
        let is_shift = matches!(op, Operator::ShiftLeft | Operator::ShiftRight);
        if is_shift {
            require_integers(symbol, [(&a, left), (&b, right)])?;
        }
        if a.data_type == DataType::Int64 && b.data_type == DataType::Int64 {
            reject_zero_divisor(op, &b, source)?;
            return Ok(arithmetic(op, vec![a, b], source.at));
        }
        let operands = [a, b].map(|operand| cast(operand, &DataType::Float64));
        Ok(arithmetic(op, operands.into(), source.at))
    }

    fn in_list(
        &mut self,
        source: &'q tree::Expr,
        list: &'q [tree::Expr],
    ) -> Result<Expr, QueryError> {
        let value = self.expr(source)?;
        let mut to = value.data_type.clone();
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            let resolved = self.expr(item)?;
            let texts: (&dyn Fn() -> String, &dyn Fn() -> String) =
                (&|| text(source), &|| text(item));
            let (value, resolved) = compared((value.clone(), resolved), texts, "compared")?;
            to = common(&to, &value.data_type).unwrap_or(to);
            items.push(resolved);
        }
        let items = items.into_iter().map(|item| canonical(cast(item, &to)));
        let kind = ExprKind::InList {
            expr: Box::new(canonical(cast(value, &to))),
            list: items.collect(),
        };
        Ok(Expr::boolean(kind, source.at))
    }

    fn explicit_cast(
        &mut self,
        source: &'q tree::Expr,
        to: CastType,
        is_try: bool,
    ) -> Result<Expr, QueryError> {
        let expr = self.expr(source)?;
        let (to, name) = match to {
            CastType::Boolean => (DataType::Boolean, "BOOLEAN"),
            CastType::BigInt => (DataType::Int64, "BIGINT"),
            CastType::Double => (DataType::Float64, "DOUBLE"),
            CastType::Varchar => (DataType::Utf8, "VARCHAR"),
            CastType::Date => (DataType::Date32, "DATE"),
            CastType::Timestamp => (TIMESTAMP, "TIMESTAMP"),
        };
        let from = TypeClass::of(&expr.data_type);
        let is_number_as_time = matches!(
            (from, TypeClass::of(&to)),
            (TypeClass::Number | TypeClass::Boolean, TypeClass::Time)
                | (TypeClass::Time, TypeClass::Number | TypeClass::Boolean)
        );
        let is_list = from == TypeClass::List;
        if is_number_as_time || is_list || !can_cast_types(&expr.data_type, &to) {
            let message = format!(
                "`{}` is {} and cannot be converted to {name}",
                text(source),
                from.name()
            );
            return Err(refused(source.at, message));
        }
        if expr.data_type == to {
            return Ok(expr);
        }
        if is_double(&expr.data_type) && to == DataType::Utf8 {
            return Ok(cast(expr, &to));
        }
        let at = expr.at;
        let expr = Box::new(expr);
        Ok(Expr::new(ExprKind::Cast { expr, is_try }, to, at))
    }

    fn case(
        &mut self,
        branches: &'q [(tree::Expr, tree::Expr)],
        otherwise: Option<&'q tree::Expr>,
        at: Position,
    ) -> Result<Expr, QueryError> {
        let mut conditions = Vec::with_capacity(branches.len());
        for (when, _) in branches {
            conditions.push(self.class(when, TypeClass::Boolean, "WHEN")?);
        }
        let sources = branches.iter().map(|(_, then)| then).chain(otherwise);
        let sources: Vec<&tree::Expr> = sources.collect();
        let results = sources.iter().map(|source| self.expr(source));
        let results = results.collect::<Result<Vec<_>, _>>()?;
        let mut results = unified(results, &sources, "results of one CASE")?;
        let otherwise = match otherwise {
            Some(_) => results.pop(),
            None => None,
        };
        let branches = conditions.into_iter().zip(results).collect();
        Ok(Expr::case(branches, otherwise, at))
    }
}

/// Casts expressions to a common type. `what` ends the error message, for example `results of one CASE`.
pub(super) fn unified(
    exprs: Vec<Expr>,
    sources: &[&tree::Expr],
    what: &str,
) -> Result<Vec<Expr>, QueryError> {
    let mut to = DataType::Null;
    let mut typed: Option<usize> = None;
    for (index, expr) in exprs.iter().enumerate() {
        let Some(both) = common(&to, &expr.data_type) else {
            let first = typed.unwrap_or_default();
            let of = |index: usize| {
                sources
                    .get(index)
                    .map_or(String::new(), |source| text(source))
            };
            let (one, other) = ((&*of(first), &to), (&*of(index), &expr.data_type));
            let at = exprs.get(first).map_or(expr.at, |first| first.at);
            return Err(mismatch(one, other, what, at));
        };
        if !expr.data_type.is_null() {
            typed = typed.or(Some(index));
        }
        to = both;
    }
    Ok(exprs.into_iter().map(|expr| cast(expr, &to)).collect())
}

fn require_integers(symbol: &str, operands: [(&Expr, &tree::Expr); 2]) -> Result<(), QueryError> {
    for (operand, source) in operands {
        if operand.data_type != DataType::Int64 {
            let message = format!(
                "{symbol} takes integers, and `{}` has decimals",
                text(source)
            );
            return Err(refused(source.at, message));
        }
    }
    Ok(())
}

/// Returns the operator of the plan, and the type class of its operands (`None` for comparisons).
fn plan_operator(op: Operator) -> (Option<TypeClass>, PlanOperator) {
    match op {
        Operator::Or => (Some(TypeClass::Boolean), PlanOperator::Or),
        Operator::Like | Operator::Ilike => (Some(TypeClass::Text), PlanOperator::LikeMatch),
        Operator::Matches => (Some(TypeClass::Text), PlanOperator::RegexMatch),
        Operator::MatchesAnyCase => (Some(TypeClass::Text), PlanOperator::RegexIMatch),
        Operator::BitOr => (Some(TypeClass::Number), PlanOperator::BitwiseOr),
        Operator::BitAnd => (Some(TypeClass::Number), PlanOperator::BitwiseAnd),
        Operator::IsDistinct => (None, PlanOperator::IsDistinctFrom),
        Operator::Equal => (None, PlanOperator::Eq),
        Operator::NotEqual => (None, PlanOperator::NotEq),
        Operator::Less => (None, PlanOperator::Lt),
        Operator::LessOrEqual => (None, PlanOperator::LtEq),
        Operator::Greater => (None, PlanOperator::Gt),
        Operator::GreaterOrEqual => (None, PlanOperator::GtEq),
        // Only AND remains: `operation` handles all other operators.
        _ => (Some(TypeClass::Boolean), PlanOperator::And),
    }
}

/// Creates a call of checked arithmetic. All `args` must have the same type.
pub(super) fn arithmetic(op: Operator, args: Vec<Expr>, at: Position) -> Expr {
    let data_type = args
        .first()
        .map_or(DataType::Null, |arg| arg.data_type.clone());
    Expr::call(
        std::sync::Arc::new(checked_function(op)),
        args,
        data_type,
        at,
    )
}

/// Adds days to a date, subtracts days from a date, or counts the days between two dates.
fn date_arithmetic(
    op: Operator,
    left: Expr,
    right: Expr,
    source: &tree::Expr,
) -> Result<Expr, QueryError> {
    let days = |expr: Expr| cast(cast(expr, &DataType::Int32), &DataType::Int64);
    let is_days = |expr: &Expr| expr.data_type.is_integer();
    let is_date = |expr: &Expr| expr.data_type == DataType::Date32;
    let to_date = match (op, is_date(&left), is_date(&right)) {
        (Operator::Subtract, true, true) => false,
        (Operator::Add | Operator::Subtract, true, false) if is_days(&right) => true,
        (Operator::Add, false, true) if is_days(&left) => true,
        _ => {
            let message = format!("`{}` combines a date with another value", text(source));
            let help = "add or subtract a number of days (`day + 7`), or subtract two dates";
            return Err(rejected(source.at, message, Some(help)));
        }
    };
    let operand = |expr: Expr| match is_date(&expr) {
        true => days(expr),
        false => widened(expr),
    };
    let number = arithmetic(op, vec![operand(left), operand(right)], source.at);
    Ok(match to_date {
        true => cast(cast(number, &DataType::Int32), &DataType::Date32),
        false => number,
    })
}
