//! Evaluates queries by their definition: nested loops, row by row.
//!
//! The rows are in the documented order. Where the order is undefined ([`Order`](super::tree::Order)), the rows of GROUP
//! BY, DISTINCT and set operations are sorted by their keys, because window functions above them use this order.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::database::Database;
use super::tree::{
    Aggregate, Binary, Body, Call, Expr, From, Item, Join, OrderBy, OrderKey, Query, Select,
    SetOperator, Source, Unary, Window,
};
use super::windows;
use crate::random::value::{Value, and, average, checked_sum, in_order, or};

pub type Row = Vec<Value>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Overflow,
    DivisionByZero,
    /// A scalar subquery with several rows.
    ManyRows,
}

pub type Evaluated<T> = Result<T, Fault>;

/// The row for which an expression is evaluated, and the scope of the outer query.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub outer: Option<&'a Scope<'a>>,
    pub row: &'a [Value],
    pub group: Option<Group<'a>>,
    pub windows: Option<&'a Windows>,
    /// Index of the row, for the values of windows.
    pub index: usize,
}

/// The keys and the rows of a group.
#[derive(Clone, Copy)]
pub struct Group<'a> {
    keys: &'a [Value],
    rows: &'a [Row],
}

/// The values of window functions in each row. The key is the address of the function's tree.
pub type Windows = HashMap<*const Window, Vec<Value>>;

impl<'a> Scope<'a> {
    pub fn of(outer: Option<&'a Scope<'a>>, row: &'a [Value]) -> Scope<'a> {
        Scope {
            outer,
            row,
            group: None,
            windows: None,
            index: 0,
        }
    }
}

pub struct Evaluator<'a> {
    database: &'a Database,
    /// The rows of the parts of WITH.
    parts: RefCell<HashMap<String, Rc<Vec<Row>>>>,
}

/// A row of a result.
struct Projected {
    row: Row,
    /// The values of the keys of ORDER BY.
    keys: Row,
}

impl<'a> Evaluator<'a> {
    pub fn new(database: &'a Database) -> Evaluator<'a> {
        Evaluator {
            database,
            parts: RefCell::default(),
        }
    }

    pub fn query(&self, query: &Query, outer: Option<&Scope<'_>>) -> Evaluated<Vec<Row>> {
        for (name, part) in &query.ctes {
            let rows = self.query(part, outer)?;
            self.parts.borrow_mut().insert(name.clone(), Rc::new(rows));
        }
        let mut projected = match &query.body {
            Body::Select(select) => self.select(select, &query.order_by, outer)?,
            Body::Set {
                operator,
                left,
                right,
            } => {
                let rows = set(
                    *operator,
                    self.query(left, outer)?,
                    self.query(right, outer)?,
                );
                let plain = rows.into_iter();
                let plain = plain.map(|row| Projected {
                    row,
                    keys: Vec::new(),
                });
                plain.collect()
            }
        };
        for one in &mut projected {
            let outputs = query.order_by.iter().enumerate();
            for (index, key) in outputs {
                if let OrderBy::Output { place, .. } = key.by {
                    one.keys.resize(query.order_by.len(), Value::Missing);
                    one.keys[index] = one.row[place].clone();
                }
            }
        }
        projected.sort_by(|a, b| in_key_order(&a.keys, &b.keys, &query.order_by));
        let rows = projected.into_iter().map(|one| one.row);
        let rows = rows.skip(query.offset.unwrap_or(0));
        Ok(rows.take(query.limit.unwrap_or(usize::MAX)).collect())
    }

    fn select(
        &self,
        select: &Select,
        order_by: &[OrderKey],
        outer: Option<&Scope<'_>>,
    ) -> Evaluated<Vec<Projected>> {
        let mut rows = self.rows(select, outer)?;
        if let Some(filter) = &select.filter {
            rows = self.filtered(rows, filter, outer)?;
        }
        let mut projected = match select.is_grouped {
            true => self.grouped(select, &rows, order_by, outer)?,
            false => self.windowed(select, rows, order_by, outer)?,
        };
        if select.is_distinct {
            let rows = distinct(projected.into_iter().map(|one| one.row).collect());
            projected = rows
                .into_iter()
                .map(|row| Projected {
                    row,
                    keys: Vec::new(),
                })
                .collect();
        }
        Ok(projected)
    }

    fn filtered(
        &self,
        rows: Vec<Row>,
        filter: &Expr,
        outer: Option<&Scope<'_>>,
    ) -> Evaluated<Vec<Row>> {
        let mut kept = Vec::new();
        for row in rows {
            if self.expr(filter, &Scope::of(outer, &row))?.is_true() {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    fn rows(&self, select: &Select, outer: Option<&Scope<'_>>) -> Evaluated<Vec<Row>> {
        let mut rows = vec![Row::new()];
        let mut start = 0;
        for from in &select.from {
            let more = self.from(from, start, outer)?;
            rows = rows
                .iter()
                .flat_map(|row| more.iter().map(|other| [row.as_slice(), other].concat()))
                .collect();
            start += from.width();
        }
        Ok(rows)
    }

    /// Returns the rows of a table of FROM. The column index of its first column is `start`.
    fn from(&self, from: &From, start: usize, outer: Option<&Scope<'_>>) -> Evaluated<Vec<Row>> {
        let (kind, left, right, on, using) = match from {
            From::Source { source, .. } => {
                return match source {
                    Source::Table(index) => Ok(self.database.tables[*index].rows.clone()),
                    Source::Part(name) => Ok(self.parts.borrow()[name].to_vec()),
                    Source::Query(query) => self.query(query, outer),
                };
            }
            From::Join {
                kind,
                left,
                right,
                on,
                using,
            } => (*kind, left, right, on, using),
        };
        let lefts = self.from(left, start, outer)?;
        let rights = self.from(right, start + left.width(), outer)?;
        let padding = vec![Value::Missing; start];
        let mut joined = Vec::new();
        let mut matched = vec![false; rights.len()];
        let missing_left = vec![Value::Missing; left.width()];
        if kind == Join::Right {
            for right_row in &rights {
                let before = joined.len();
                for left_row in &lefts {
                    let row = [padding.as_slice(), left_row, right_row].concat();
                    if self.matches(on.as_ref(), using, &row, outer)? {
                        joined.push([left_row.as_slice(), right_row].concat());
                    }
                }
                if joined.len() == before {
                    joined.push([missing_left.as_slice(), right_row].concat());
                }
            }
            return Ok(joined);
        }
        for left_row in &lefts {
            let mut found = Vec::new();
            for (index, right_row) in rights.iter().enumerate() {
                let row = [padding.as_slice(), left_row, right_row].concat();
                let is_found = self.matches(on.as_ref(), using, &row, outer)?;
                if is_found {
                    matched[index] = true;
                    found.push([left_row.as_slice(), right_row].concat());
                }
            }
            match kind {
                Join::Semi if found.is_empty() => {}
                Join::Semi => joined.push(left_row.clone()),
                Join::Anti if found.is_empty() => joined.push(left_row.clone()),
                Join::Anti => {}
                Join::Left | Join::Full if found.is_empty() => {
                    let missing = vec![Value::Missing; right.width()];
                    joined.push([left_row.as_slice(), &missing].concat());
                }
                _ => joined.extend(found),
            }
        }
        if kind == Join::Full {
            let unmatched = rights.iter().zip(matched).filter(|(_, matched)| !matched);
            joined.extend(unmatched.map(|(right, _)| [missing_left.as_slice(), right].concat()));
        }
        Ok(joined)
    }

    fn matches(
        &self,
        on: Option<&Expr>,
        using: &[(String, usize, usize)],
        row: &[Value],
        outer: Option<&Scope<'_>>,
    ) -> Evaluated<bool> {
        let is_equal =
            |(_, a, b): &(String, usize, usize)| row[*a].compare(&row[*b]) == Some(Ordering::Equal);
        match on {
            Some(on) => Ok(self.expr(on, &Scope::of(outer, row))?.is_true()),
            None => Ok(using.iter().all(is_equal)),
        }
    }

    fn grouped(
        &self,
        select: &Select,
        rows: &[Row],
        order_by: &[OrderKey],
        outer: Option<&Scope<'_>>,
    ) -> Evaluated<Vec<Projected>> {
        let mut groups: Vec<(Row, Vec<Row>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for row in rows {
            let scope = Scope::of(outer, row);
            let keys = select.group_by.iter();
            let keys = keys.map(|(key, _)| Ok(self.expr(key, &scope)?.canonical()));
            let keys = keys.collect::<Evaluated<Row>>()?;
            let place = *places.entry(row_key(&keys)).or_insert(groups.len());
            if place == groups.len() {
                groups.push((keys, Vec::new()));
            }
            groups[place].1.push(row.clone());
        }
        if select.group_by.is_empty() && groups.is_empty() {
            groups.push((Row::new(), Vec::new()));
        }
        groups.sort_by(|a, b| in_row_order(&a.0, &b.0));
        let width = select.from.iter().map(From::width).sum();
        let mut projected = Vec::new();
        for (keys, rows) in &groups {
            // A subquery can use only columns of the group that are keys, so one row represents the group.
            let mut row = rows.first().cloned().unwrap_or(vec![Value::Missing; width]);
            for ((key, _), value) in select.group_by.iter().zip(keys) {
                if let Expr::Column(column) = key
                    && column.level == 0
                {
                    row[column.place] = value.clone();
                }
            }
            let mut scope = Scope::of(outer, &row);
            scope.group = Some(Group { keys, rows });
            if let Some(having) = &select.having
                && !self.expr(having, &scope)?.is_true()
            {
                continue;
            }
            projected.push(self.projected(select, order_by, &scope)?);
        }
        Ok(projected)
    }

    fn windowed(
        &self,
        select: &Select,
        rows: Vec<Row>,
        order_by: &[OrderKey],
        outer: Option<&Scope<'_>>,
    ) -> Evaluated<Vec<Projected>> {
        let mut calls = Vec::new();
        for expr in select
            .exprs()
            .chain(order_by.iter().filter_map(OrderKey::expr))
        {
            expr.walk(&mut |inner| {
                if let Expr::Window(window) = inner {
                    calls.push(&**window);
                }
            });
        }
        let mut values = Windows::new();
        for call in calls {
            let found = windows::evaluate(self, call, &rows, outer)?;
            values.insert(std::ptr::from_ref(call), found);
        }
        let mut projected = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let mut scope = Scope::of(outer, row);
            scope.windows = Some(&values);
            scope.index = index;
            if let Some(qualify) = &select.qualify
                && !self.expr(qualify, &scope)?.is_true()
            {
                continue;
            }
            projected.push(self.projected(select, order_by, &scope)?);
        }
        Ok(projected)
    }

    fn projected(
        &self,
        select: &Select,
        order_by: &[OrderKey],
        scope: &Scope<'_>,
    ) -> Evaluated<Projected> {
        let mut row = Row::new();
        for item in &select.items {
            match item {
                Item::Expr(expr, _) => row.push(self.expr(expr, scope)?),
                Item::Star { columns, .. } => {
                    for (expr, _, _) in columns {
                        row.push(self.expr(expr, scope)?);
                    }
                }
            }
        }
        let keys = order_by.iter().map(|key| match &key.by {
            OrderBy::Expr(expr) => self.expr(expr, scope),
            OrderBy::Output { .. } => Ok(Value::Missing),
        });
        let keys = keys.collect::<Evaluated<Row>>()?;
        Ok(Projected { row, keys })
    }

    pub fn expr(&self, expr: &Expr, scope: &Scope<'_>) -> Evaluated<Value> {
        Ok(match expr {
            Expr::Column(column) => {
                let mut scope = scope;
                for _ in 0..column.level {
                    scope = scope.outer.expect("an outer query");
                }
                scope.row[column.place].clone()
            }
            Expr::Literal(value) => value.clone(),
            Expr::Unary(operator, inner) => unary(*operator, self.expr(inner, scope)?)?,
            Expr::Binary {
                operator: operator @ (Binary::And | Binary::Or),
                left,
                right,
                ..
            } => {
                let left = self.expr(left, scope)?.truth();
                if left == Some(*operator == Binary::Or) {
                    return Ok(Value::from(left));
                }
                let right = self.expr(right, scope)?.truth();
                Value::from(match operator {
                    Binary::And => and(left, right),
                    _ => or(left, right),
                })
            }
            Expr::Binary {
                operator,
                left,
                right,
                ..
            } => binary(*operator, self.expr(left, scope)?, self.expr(right, scope)?)?,
            Expr::Between {
                value,
                low,
                high,
                is_negated,
            } => {
                let value = self.expr(value, scope)?;
                let low = value.compare(&self.expr(low, scope)?);
                let mut found = low.map(Ordering::is_ge);
                if found != Some(false) {
                    let high = value.compare(&self.expr(high, scope)?);
                    found = and(found, high.map(Ordering::is_le));
                }
                Value::from(found.map(|found| found != *is_negated))
            }
            Expr::In {
                value,
                items,
                is_negated,
            } => {
                let value = self.expr(value, scope)?;
                let mut found = Some(false);
                for item in items {
                    let order = value.compare(&self.expr(item, scope)?);
                    found = or(found, order.map(Ordering::is_eq));
                    if found == Some(true) {
                        break;
                    }
                }
                Value::from(found.map(|found| found != *is_negated))
            }
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => {
                let operand = operand.as_ref().map(|operand| self.expr(operand, scope));
                let operand = operand.transpose()?;
                for (when, then) in branches {
                    let when = self.expr(when, scope)?;
                    let is_chosen = match &operand {
                        Some(operand) => operand.compare(&when) == Some(Ordering::Equal),
                        None => when.is_true(),
                    };
                    if is_chosen {
                        return self.expr(then, scope);
                    }
                }
                let otherwise = otherwise.as_ref();
                otherwise.map_or(Ok(Value::Missing), |expr| self.expr(expr, scope))?
            }
            Expr::Coalesce(items) => {
                for item in items {
                    let value = self.expr(item, scope)?;
                    if value != Value::Missing {
                        return Ok(value);
                    }
                }
                Value::Missing
            }
            Expr::Replace(text, from, to) => {
                let values = [text, from, to].map(|part| self.expr(part, scope));
                match values {
                    [
                        Ok(Value::Text(text)),
                        Ok(Value::Text(from)),
                        Ok(Value::Text(to)),
                    ] => Value::Text(text.replace(&from, &to)),
                    values => {
                        for value in values {
                            value?;
                        }
                        Value::Missing
                    }
                }
            }
            Expr::Scalar(query) => match self.query(query, Some(scope))?.as_slice() {
                [] => Value::Missing,
                [row] => row[0].clone(),
                _ => return Err(Fault::ManyRows),
            },
            Expr::Exists(query, is_negated) => {
                let is_found = !self.query(query, Some(scope))?.is_empty();
                Value::from(is_found != *is_negated)
            }
            Expr::InQuery {
                value,
                query,
                is_negated,
            } => {
                let value = self.expr(value, scope)?;
                let rows = self.query(query, Some(scope))?.into_iter();
                let items: Row = rows.map(|mut row| row.swap_remove(0)).collect();
                member(&value, &items, *is_negated)
            }
            Expr::Key(index, _) => scope.group.expect("a group").keys[*index].clone(),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate, scope)?,
            Expr::Window(window) => {
                let values = &scope.windows.expect("windows")[&std::ptr::from_ref(&**window)];
                values[scope.index].clone()
            }
        })
    }

    fn aggregate(&self, aggregate: &Aggregate, scope: &Scope<'_>) -> Evaluated<Value> {
        let mut rows: Vec<(Row, Value)> = Vec::new();
        for row in scope.group.expect("a group").rows {
            let scope = Scope::of(scope.outer, row);
            if let Some(filter) = &aggregate.filter
                && !self.expr(filter, &scope)?.is_true()
            {
                continue;
            }
            let keys = self.keys(&aggregate.order_by, &scope)?;
            let argument = aggregate.argument.as_ref();
            let value = argument.map_or(Ok(Value::from(true)), |expr| self.expr(expr, &scope))?;
            rows.push((keys, value));
        }
        rows.sort_by(|a, b| in_key_order(&a.0, &b.0, &aggregate.order_by));
        let mut values: Row = rows.into_iter().map(|(_, value)| value).collect();
        if aggregate.is_distinct {
            values.retain(|value| *value != Value::Missing);
            values = values.iter().map(Value::canonical).collect();
            let mut seen = HashSet::new();
            values.retain(|value| seen.insert(value.key()));
        }
        call(aggregate.call, values)
    }

    pub fn keys(&self, keys: &[OrderKey], scope: &Scope<'_>) -> Evaluated<Row> {
        let exprs = keys.iter().map(|key| key.expr().expect("an expression"));
        exprs.map(|expr| self.expr(expr, scope)).collect()
    }
}

/// Returns the value of an aggregate for the values of a group or of a frame, in order.
pub fn call(call: Call, mut values: Row) -> Evaluated<Value> {
    match call {
        Call::CountAll => return Ok(Value::from(values.len())),
        Call::First => return Ok(values.into_iter().next().unwrap_or(Value::Missing)),
        Call::Last => return Ok(values.pop().unwrap_or(Value::Missing)),
        _ => {}
    }
    values.retain(|value| *value != Value::Missing);
    Ok(match call {
        Call::Count => Value::from(values.len()),
        Call::Sum => checked_sum(&values).ok_or(Fault::Overflow)?,
        Call::Average => average(&values),
        Call::Min | Call::Max => {
            // -0.0 and 0.0 compare as equal, but `min` and `max` treat -0.0 as less.
            let by_sign = |value: &Value| match value {
                Value::Number(number) => number.is_nan() || number.is_sign_positive(),
                _ => true,
            };
            let compare = |a: &Value, b: &Value| {
                let order = a.compare(b).expect("values of one kind");
                order.then(by_sign(a).cmp(&by_sign(b)))
            };
            let found = match call {
                Call::Min => values.into_iter().min_by(compare),
                _ => values.into_iter().max_by(compare),
            };
            found.unwrap_or(Value::Missing)
        }
        Call::Joined if values.is_empty() => Value::Missing,
        Call::Joined => {
            let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
            Value::Text(texts.join(","))
        }
        _ => panic!("{call:?} is not an aggregate"),
    })
}

/// Evaluates IN or, if `is_negated`, NOT IN.
fn member(value: &Value, items: &[Value], is_negated: bool) -> Value {
    if items.is_empty() {
        return Value::from(is_negated);
    }
    let found = items.iter().map(|item| {
        let order = value.compare(item);
        order.map(Ordering::is_eq)
    });
    let found = found.fold(Some(false), or);
    Value::from(found.map(|found| found != is_negated))
}

fn unary(operator: Unary, value: Value) -> Evaluated<Value> {
    Ok(match (operator, value) {
        (Unary::IsNull, value) => Value::from(value == Value::Missing),
        (Unary::IsNotNull, value) => Value::from(value != Value::Missing),
        (Unary::IsTrue, value) => Value::from(value.is_true()),
        (Unary::IsNotTrue, value) => Value::from(!value.is_true()),
        (_, Value::Missing) => Value::Missing,
        (Unary::Minus, Value::Integer(value)) => {
            Value::Integer(value.checked_neg().ok_or(Fault::Overflow)?)
        }
        (Unary::Minus, Value::Number(value)) => Value::Number(-value),
        (Unary::Not, Value::Boolean(value)) => Value::Boolean(!value),
        (Unary::Upper, Value::Text(text)) => Value::Text(text.to_uppercase()),
        (Unary::Length, Value::Text(text)) => Value::from(text.chars().count()),
        (operator, value) => panic!("{operator:?} of {value:?}"),
    })
}

fn binary(operator: Binary, left: Value, right: Value) -> Evaluated<Value> {
    let compared = |accepts: fn(Ordering) -> bool| Value::from(left.compare(&right).map(accepts));
    Ok(match operator {
        Binary::Equal => compared(Ordering::is_eq),
        Binary::NotEqual => compared(Ordering::is_ne),
        Binary::Less => compared(Ordering::is_lt),
        Binary::LessOrEqual => compared(Ordering::is_le),
        Binary::Greater => compared(Ordering::is_gt),
        Binary::GreaterOrEqual => compared(Ordering::is_ge),
        Binary::Distinct => Value::from(!left.same(&right)),
        Binary::NotDistinct => Value::from(left.same(&right)),
        Binary::NullIf if left.compare(&right) == Some(Ordering::Equal) => Value::Missing,
        Binary::NullIf => left,
        Binary::Concat => match (left, right) {
            (Value::Text(left), Value::Text(right)) => Value::Text(left + &right),
            _ => Value::Missing,
        },
        _ => match (left, right) {
            (Value::Integer(left), Value::Integer(right)) => Value::Integer(match operator {
                Binary::Add => left.checked_add(right).ok_or(Fault::Overflow)?,
                Binary::Subtract => left.checked_sub(right).ok_or(Fault::Overflow)?,
                Binary::Multiply => left.checked_mul(right).ok_or(Fault::Overflow)?,
                _ if right == 0 => return Err(Fault::DivisionByZero),
                Binary::Divide => left.checked_div(right).ok_or(Fault::Overflow)?,
                _ => left.checked_rem(right).ok_or(Fault::Overflow)?,
            }),
            (Value::Number(left), Value::Number(right)) => Value::Number(match operator {
                Binary::Add => left + right,
                Binary::Subtract => left - right,
                Binary::Multiply => left * right,
                _ => left / right,
            }),
            _ => Value::Missing,
        },
    })
}

fn set(operator: SetOperator, left: Vec<Row>, right: Vec<Row>) -> Vec<Row> {
    let keys: HashSet<String> = right.iter().map(|row| row_key(row)).collect();
    let mut rows = left;
    match operator {
        SetOperator::UnionAll | SetOperator::Union => rows.extend(right),
        SetOperator::Except => rows.retain(|row| !keys.contains(&row_key(row))),
        SetOperator::Intersect => rows.retain(|row| keys.contains(&row_key(row))),
    }
    match operator {
        SetOperator::UnionAll => rows,
        _ => distinct(rows),
    }
}

fn distinct(rows: Vec<Row>) -> Vec<Row> {
    let canonical = |row: Row| row.iter().map(Value::canonical).collect();
    let mut rows: Vec<Row> = rows.into_iter().map(canonical).collect();
    rows.sort_by(|a, b| in_row_order(a, b));
    rows.dedup_by_key(|row| row_key(row));
    rows
}

/// Returns a string that is the same for equal rows.
pub fn row_key(row: &[Value]) -> String {
    let keys = row.iter().map(|value| {
        let key = value.key();
        format!("{}:{key}", key.len())
    });
    keys.collect()
}

fn in_row_order(a: &[Value], b: &[Value]) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| in_order(a, b, false, false));
    orders.fold(Ordering::Equal, Ordering::then)
}

pub fn in_key_order(a: &[Value], b: &[Value], keys: &[OrderKey]) -> Ordering {
    let orders = a
        .iter()
        .zip(b)
        .zip(keys)
        .map(|((a, b), key)| in_order(a, b, key.is_descending, key.has_nulls_first()));
    orders.fold(Ordering::Equal, Ordering::then)
}
