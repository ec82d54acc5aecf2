//! Resolves expressions.

use arrow::compute::can_cast_types;
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use prep_spec::query::tree::{self, BinaryOperator, CastType, Name, Position, Truth};

use super::Binder;
use super::call::{PendingAggregate, PendingWindow};
use super::constant::{check_pattern, divides_by_zero, folded};
use super::scope::{Parts, Scope, missing_column};
use super::subquery::Pending;
use super::types::{
    TIMESTAMP, TypeClass, canonical, cast, common, compared, comparison, help, of_class, refused,
    rejected, text, widened,
};
use crate::QueryError;
use crate::functions::{Arithmetic, checked_function};
use crate::relational::{ColumnId, Expr, ExprKind};

/// Resolves the expressions of one clause.
pub(super) struct Exprs<'b, 'q, 't> {
    pub binder: &'b mut Binder<'t>,
    pub scope: &'b Scope<'b>,
    pub parts: &'b Parts<'q>,
    /// Names of the select list, for clauses that can use them.
    pub aliases: &'b [(&'q Name, &'q tree::Expr)],
    /// The parts that become operators of their own.
    pub found: Found,
}

/// The parts of expressions that become operators of their own. An expression refers to the result of such a part as a
/// column.
#[derive(Default)]
pub(super) struct Found {
    pub subqueries: Vec<Pending>,
    /// Subqueries in the arguments of aggregates.
    pub inside: Vec<Pending>,
    /// `None` where the clause accepts no aggregates.
    pub aggregates: Option<Vec<PendingAggregate>>,
    /// `None` where the clause accepts no window functions.
    pub windows: Option<Vec<PendingWindow>>,
    /// Columns of elements, with the lists. `None` where the clause accepts no `unnest`.
    pub unnested: Option<Vec<(ColumnId, Expr)>>,
}

impl<'b, 'q, 't> Exprs<'b, 'q, 't> {
    /// Creates a resolver for a clause that knows no names of the select list, and accepts only expressions that need no
    /// operator except for subqueries.
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
    /// Resolves an expression.
    pub(super) fn expr(&mut self, source: &'q tree::Expr) -> Result<Expr, QueryError> {
        let at = source.at;
        let resolved = match &source.kind {
            tree::ExprKind::Column { table, name } => self.name(table.as_ref(), name)?,
            tree::ExprKind::Null => Expr::literal(ScalarValue::Null, at),
            tree::ExprKind::Boolean(value) => Expr::literal((*value).into(), at),
            tree::ExprKind::Integer(value) => Expr::literal((*value).into(), at),
            tree::ExprKind::Double(value) => Expr::literal((*value).into(), at),
            tree::ExprKind::Text(value) => Expr::literal(value.as_str().into(), at),
            tree::ExprKind::Not(inner) => self.class(inner, TypeClass::Boolean, "NOT")?.not(),
            tree::ExprKind::Negate(inner) => self.negated(inner, at)?,
            tree::ExprKind::Binary { op, left, right } => self.binary(source, *op, left, right)?,
            tree::ExprKind::Is {
                expr,
                value,
                negated,
            } => negated_if(*negated, self.is(expr, *value)?),
            tree::ExprKind::IsDistinct {
                left,
                right,
                negated,
            } => {
                let (left, right) = self.pair(left, right, "compared")?;
                let op = match negated {
                    true => Operator::IsNotDistinctFrom,
                    false => Operator::IsDistinctFrom,
                };
                comparison(op, left, right)
            }
            tree::ExprKind::Between {
                expr,
                low,
                high,
                negated,
            } => {
                let (from, low) = self.pair(expr, low, "compared")?;
                let (to, high) = self.pair(expr, high, "compared")?;
                let above = comparison(Operator::GtEq, from, low);
                let below = comparison(Operator::LtEq, to, high);
                let both = Expr::binary(Operator::And, above, below, DataType::Boolean);
                negated_if(*negated, both)
            }
            tree::ExprKind::InList {
                expr,
                list,
                negated,
            } => negated_if(*negated, self.in_list(expr, list)?),
            tree::ExprKind::InQuery {
                expr,
                query,
                negated,
            } => {
                let value = self.expr(expr)?;
                let found = self.in_query(value, expr, query)?;
                negated_if(*negated, found)
            }
            tree::ExprKind::Exists { query, negated } => {
                negated_if(*negated, self.exists(query, at)?)
            }
            tree::ExprKind::Subquery(query) => self.scalar_subquery(query, at)?,
            tree::ExprKind::Like {
                expr,
                pattern,
                negated,
                ignores_case,
            } => {
                let kind = ExprKind::Like {
                    expr: Box::new(self.class(expr, TypeClass::Text, "LIKE")?),
                    pattern: Box::new(self.class(pattern, TypeClass::Text, "LIKE")?),
                    negated: *negated,
                    ignores_case: *ignores_case,
                };
                Expr::boolean(kind, at)
            }
            tree::ExprKind::Cast { expr, to, is_try } => self.explicit_cast(expr, *to, *is_try)?,
            tree::ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => self.case(operand.as_deref(), branches, otherwise.as_deref(), at)?,
            tree::ExprKind::Call(call) => self.call(call, source)?,
            tree::ExprKind::Element { list, index } => {
                let args = vec![self.expr(list)?, self.expr(index)?];
                self.named_call("array_element", args, &[list, index], at)?
            }
            tree::ExprKind::Slice { list, first, last } => {
                let mut args = vec![self.expr(list)?];
                let length = self.named_call("cardinality", args.clone(), &[list], at)?;
                args.push(match first {
                    Some(first) => self.class(first, TypeClass::Number, "a slice")?,
                    None => Expr::literal(1_i64.into(), at),
                });
                args.push(match last {
                    Some(last) => self.class(last, TypeClass::Number, "a slice")?,
                    None => length,
                });
                self.named_call("array_slice", args, &[list], at)?
            }
        };
        folded(Expr { at, ..resolved }, source)
    }

    /// Resolves an expression of a class.
    pub(super) fn class(
        &mut self,
        source: &'q tree::Expr,
        class: TypeClass,
        what: &str,
    ) -> Result<Expr, QueryError> {
        let expr = self.expr(source)?;
        of_class(expr, source, class, what)
    }

    /// Resolves two expressions that are compared or combined.
    fn pair(
        &mut self,
        left: &'q tree::Expr,
        right: &'q tree::Expr,
        what: &str,
    ) -> Result<(Expr, Expr), QueryError> {
        let exprs = (self.expr(left)?, self.expr(right)?);
        compared(exprs, (&|| text(left), &|| text(right)), what)
    }

    fn name(&mut self, table: Option<&Name>, name: &Name) -> Result<Expr, QueryError> {
        if let Some(id) = self.scope.own(table, name)? {
            return Ok(self.binder.reference(id, name.at));
        }
        let aliases = self.aliases.iter();
        let mut aliases = aliases.filter(|(alias, _)| table.is_none() && alias.text == name.text);
        if let Some((_, expr)) = aliases.next() {
            if aliases.any(|(_, other)| other != expr) {
                let message = format!("several columns of the select list are `{}`", name.text);
                let help = "give each of them a name of its own, or write its position";
                return Err(rejected(name.at, message, Some(help)));
            }
            // An alias cannot refer to another one, so that it does not refer to itself.
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

    fn negated(&mut self, inner: &'q tree::Expr, at: Position) -> Result<Expr, QueryError> {
        let inner = self.class(inner, TypeClass::Number, "-")?;
        Ok(arithmetic(Arithmetic::Negate, vec![inner], at))
    }

    fn binary(
        &mut self,
        source: &'q tree::Expr,
        op: BinaryOperator,
        left: &'q tree::Expr,
        right: &'q tree::Expr,
    ) -> Result<Expr, QueryError> {
        use BinaryOperator as Op;
        let (compare, symbol) = match op {
            Op::Equal => (Operator::Eq, "="),
            Op::NotEqual => (Operator::NotEq, "<>"),
            Op::Less => (Operator::Lt, "<"),
            Op::LessOrEqual => (Operator::LtEq, "<="),
            Op::Greater => (Operator::Gt, ">"),
            Op::GreaterOrEqual => (Operator::GtEq, ">="),
            Op::And => (Operator::And, "AND"),
            Op::Or => (Operator::Or, "OR"),
            Op::BitAnd => (Operator::BitwiseAnd, "&"),
            Op::BitOr => (Operator::BitwiseOr, "|"),
            Op::Matches {
                negated,
                ignores_case,
            } => match (negated, ignores_case) {
                (false, false) => (Operator::RegexMatch, "~"),
                (false, true) => (Operator::RegexIMatch, "~*"),
                (true, false) => (Operator::RegexNotMatch, "!~"),
                (true, true) => (Operator::RegexNotIMatch, "!~*"),
            },
            Op::ShiftLeft => return self.arithmetic(source, Arithmetic::ShiftLeft, left, right),
            Op::ShiftRight => return self.arithmetic(source, Arithmetic::ShiftRight, left, right),
            Op::Add => return self.arithmetic(source, Arithmetic::Add, left, right),
            Op::Subtract => return self.arithmetic(source, Arithmetic::Subtract, left, right),
            Op::Multiply => return self.arithmetic(source, Arithmetic::Multiply, left, right),
            Op::Divide => return self.arithmetic(source, Arithmetic::Divide, left, right),
            Op::Remainder => return self.arithmetic(source, Arithmetic::Remainder, left, right),
            Op::Join => {
                let args = vec![self.expr(left)?, self.expr(right)?];
                let args = args.into_iter().map(|arg| cast(arg, &DataType::Utf8));
                return Ok(arithmetic(Arithmetic::Join, args.collect(), source.at));
            }
        };
        let is_comparison = matches!(
            op,
            Op::Equal
                | Op::NotEqual
                | Op::Less
                | Op::LessOrEqual
                | Op::Greater
                | Op::GreaterOrEqual
        );
        if is_comparison {
            let (left, right) = self.pair(left, right, "compared")?;
            return Ok(comparison(compare, left, right));
        }
        let class = match compare {
            Operator::And | Operator::Or => TypeClass::Boolean,
            Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch => TypeClass::Text,
            _ => TypeClass::Number,
        };
        let operands = (
            self.class(left, class, symbol)?,
            self.class(right, class, symbol)?,
        );
        let result = match class {
            TypeClass::Number => {
                require_integers(symbol, [(&operands.0, left), (&operands.1, right)])?;
                DataType::Int64
            }
            TypeClass::Text => {
                check_pattern(&operands.1, None, right)?;
                DataType::Boolean
            }
            _ => DataType::Boolean,
        };
        Ok(Expr::binary(compare, operands.0, operands.1, result))
    }

    fn arithmetic(
        &mut self,
        source: &tree::Expr,
        op: Arithmetic,
        left: &'q tree::Expr,
        right: &'q tree::Expr,
    ) -> Result<Expr, QueryError> {
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        let is_date = |expr: &Expr| expr.data_type == DataType::Date32;
        if is_date(&a) || is_date(&b) {
            return date_arithmetic(op, a, b, source);
        }
        let symbol = op.symbol();
        let a = of_class(a, left, TypeClass::Number, symbol)?;
        let b = of_class(b, right, TypeClass::Number, symbol)?;
        let is_shift = matches!(op, Arithmetic::ShiftLeft | Arithmetic::ShiftRight);
        if is_shift {
            require_integers(symbol, [(&a, left), (&b, right)])?;
        }
        if a.data_type == DataType::Int64 && b.data_type == DataType::Int64 {
            divides_by_zero(op, &b, source)?;
            return Ok(arithmetic(op, vec![a, b], source.at));
        }
        let operands = [a, b].map(|operand| cast(operand, &DataType::Float64));
        Ok(arithmetic(op, operands.into(), source.at))
    }

    fn is(&mut self, expr: &'q tree::Expr, value: Truth) -> Result<Expr, QueryError> {
        if value == Truth::Null {
            return Ok(self.expr(expr)?.missing());
        }
        let operand = self.class(expr, TypeClass::Boolean, "IS")?;
        Ok(match value {
            Truth::True | Truth::False => {
                let value = Expr::literal((value == Truth::True).into(), expr.at);
                Expr::binary(
                    Operator::IsNotDistinctFrom,
                    operand,
                    value,
                    DataType::Boolean,
                )
            }
            Truth::Null | Truth::Unknown => operand.missing(),
        })
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
        let at = expr.at;
        let expr = Box::new(expr);
        Ok(Expr::new(ExprKind::Cast { expr, is_try }, to, at))
    }

    fn case(
        &mut self,
        operand: Option<&'q tree::Expr>,
        branches: &'q [(tree::Expr, tree::Expr)],
        otherwise: Option<&'q tree::Expr>,
        at: Position,
    ) -> Result<Expr, QueryError> {
        let mut conditions = Vec::with_capacity(branches.len());
        for (when, _) in branches {
            conditions.push(match operand {
                None => self.class(when, TypeClass::Boolean, "WHEN")?,
                Some(operand) => {
                    let (operand, when) = self.pair(operand, when, "compared")?;
                    comparison(Operator::Eq, operand, when)
                }
            });
        }
        let sources = branches.iter().map(|(_, then)| then).chain(otherwise);
        let sources: Vec<&tree::Expr> = sources.collect();
        let results = sources.iter().map(|source| self.expr(source));
        let results = results.collect::<Result<Vec<_>, _>>()?;
        let mut results = unified(results, &sources, "results of one CASE")?;
        let otherwise = match otherwise {
            Some(_) => results.pop().map(Box::new),
            None => None,
        };
        let data_type = results
            .first()
            .map_or(DataType::Null, |first| first.data_type.clone());
        let branches = conditions.into_iter().zip(results).collect();
        let kind = ExprKind::Case {
            branches,
            otherwise,
        };
        Ok(Expr::new(kind, data_type, at))
    }
}

/// Returns expressions with one type.
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
            let classes = (TypeClass::of(&to), TypeClass::of(&expr.data_type));
            let of = |index: usize| {
                sources
                    .get(index)
                    .map_or(String::new(), |source| text(source))
            };
            let message = format!(
                "`{}` is {} and `{}` is {}: they cannot be {what}",
                of(first),
                classes.0.name(),
                of(index),
                classes.1.name()
            );
            let at = exprs.get(first).map_or(expr.at, |first| first.at);
            return Err(rejected(at, message, Some(help(classes.0, classes.1))));
        };
        if !expr.data_type.is_null() {
            typed = typed.or(Some(index));
        }
        to = both;
    }
    Ok(exprs.into_iter().map(|expr| cast(expr, &to)).collect())
}

/// Returns an error if an operand is a number with decimals.
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

fn negated_if(negated: bool, expr: Expr) -> Expr {
    if negated { expr.not() } else { expr }
}

/// Returns a call of checked arithmetic, whose operands have one type.
pub(super) fn arithmetic(op: Arithmetic, args: Vec<Expr>, at: Position) -> Expr {
    let data_type = args
        .first()
        .map_or(DataType::Null, |arg| arg.data_type.clone());
    let function = std::sync::Arc::new(checked_function(op));
    Expr::new(ExprKind::Call { function, args }, data_type, at)
}

/// Adds or subtracts days, or returns the number of days between two dates.
fn date_arithmetic(
    op: Arithmetic,
    left: Expr,
    right: Expr,
    source: &tree::Expr,
) -> Result<Expr, QueryError> {
    let days = |expr: Expr| cast(cast(expr, &DataType::Int32), &DataType::Int64);
    let is_days = |expr: &Expr| expr.data_type.is_integer();
    let is_date = |expr: &Expr| expr.data_type == DataType::Date32;
    let to_date = match (op, is_date(&left), is_date(&right)) {
        (Arithmetic::Subtract, true, true) => false,
        (Arithmetic::Add | Arithmetic::Subtract, true, false) if is_days(&right) => true,
        (Arithmetic::Add, false, true) if is_days(&left) => true,
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
