//! Type rules: which values can be compared or combined, and which casts are inserted.
//!
//! Text and numbers are never cast into each other implicitly. Queries compute with 64-bit integers and doubles.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use prep_spec::query::tree::{self, Position};
use prep_spec::shortened;

use crate::QueryError;
use crate::error::place;
use crate::functions::{canonical_key, double_text, text_type};
use crate::relational::{Expr, ExprKind};

/// A class of types whose values can be compared and combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeClass {
    Text,
    Number,
    Boolean,
    Time,
    List,
    /// The type of the literal NULL.
    Missing,
    /// Types that queries only pass on, for example bytes.
    Other,
}

impl TypeClass {
    pub(super) fn of(data_type: &DataType) -> TypeClass {
        match data_type {
            DataType::Null => TypeClass::Missing,
            DataType::Boolean => TypeClass::Boolean,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
                TypeClass::List
            }
            text if text.is_string() => TypeClass::Text,
            number if number.is_numeric() => TypeClass::Number,
            time if time.is_temporal() => TypeClass::Time,
            _ => TypeClass::Other,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            TypeClass::Text => "text",
            TypeClass::Number => "a number",
            TypeClass::Boolean => "a boolean",
            TypeClass::Time => "a time",
            TypeClass::List => "a list",
            TypeClass::Missing => "missing",
            TypeClass::Other => "a value without operations",
        }
    }
}

pub(super) const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Returns the type in which queries compute with values of this storage type.
pub(super) fn computed_type(data_type: &DataType) -> DataType {
    match data_type {
        integer if integer.is_integer() => DataType::Int64,
        number if number.is_numeric() => DataType::Float64,
        text if text.is_string() => DataType::Utf8,
        DataType::Timestamp(..) => TIMESTAMP,
        DataType::Date64 => DataType::Date32,
        DataType::LargeList(element) | DataType::List(element) => {
            list_of(computed_type(element.data_type()))
        }
        other => other.clone(),
    }
}

pub(super) fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// Returns the type to which both types are cast implicitly. `None` if both types need an explicit CAST.
pub(super) fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    let (a, b) = (computed_type(a), computed_type(b));
    match (&a, &b) {
        (DataType::Null, _) => Some(b),
        (_, DataType::Null) => Some(a),
        (a, b) if a == b => Some(a.clone()),
        (a, b) if a.is_numeric() && b.is_numeric() => Some(DataType::Float64),
        (DataType::Date32, DataType::Timestamp(..)) => Some(b),
        (DataType::Timestamp(..), DataType::Date32) => Some(a),
        (DataType::List(a), DataType::List(b)) => common(a.data_type(), b.data_type()).map(list_of),
        _ => None,
    }
}

/// Returns the common type of two columns, given by name and type, or an error.
pub(crate) fn united(a: (&str, &DataType), b: (&str, &DataType)) -> Result<DataType, QueryError> {
    let both = if a.1 == b.1 {
        Some(b.1.clone())
    } else {
        common(a.1, b.1)
    };
    both.ok_or_else(|| mismatch(a, b, "one column", Position::default()))
}

/// Returns a type error for two values. `what` ends the message, for example `compared`.
pub(super) fn mismatch(
    (one, one_type): (&str, &DataType),
    (other, other_type): (&str, &DataType),
    what: &str,
    at: Position,
) -> QueryError {
    let (a, b) = (TypeClass::of(one_type), TypeClass::of(other_type));
    let (a_name, b_name) = (a.name(), b.name());
    let message = format!("`{one}` is {a_name} and `{other}` is {b_name}: they cannot be {what}");
    rejected(at, message, Some(help(a, b)))
}

pub(super) fn cast(expr: Expr, to: &DataType) -> Expr {
    if expr.data_type == *to {
        return expr;
    }
    if is_double(&expr.data_type) && to.is_string() {
        return cast(printed(expr), to);
    }
    if let Some(value) = expr.as_literal()
        && let Ok(value) = value.cast_to(to)
    {
        return Expr::literal(value, expr.at);
    }
    let at = expr.at;
    let kind = ExprKind::Cast {
        expr: Box::new(expr),
        is_try: false,
    };
    Expr::new(kind, to.clone(), at)
}

/// Returns whether `double_text` prints the values of this type.
pub(super) fn is_double(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float64 | DataType::Float32)
}

/// Converts doubles, or lists of doubles, to text.
pub(super) fn printed(expr: Expr) -> Expr {
    let (at, to) = (expr.at, text_type(&expr.data_type));
    Expr::call(double_text(), vec![expr], to, at)
}

/// Casts an expression to the type in which queries compute with its values.
pub(super) fn widened(expr: Expr) -> Expr {
    let to = computed_type(&expr.data_type);
    cast(expr, &to)
}

/// Returns an expression whose equal doubles have equal bits: all NaNs become the same NaN, and -0.0 becomes 0.0.
pub(super) fn canonical(expr: Expr) -> Expr {
    if !expr.data_type.is_floating() {
        return expr;
    }
    let expr = cast(expr, &DataType::Float64);
    if let Some(ScalarValue::Float64(Some(value))) = expr.as_literal() {
        let value = if value.is_nan() {
            f64::NAN
        } else {
            value + 0.0
        };
        return Expr::literal(ScalarValue::Float64(Some(value)), expr.at);
    }
    if let ExprKind::Call { function, .. } = &expr.kind
        && function.name() == "canonical_key"
    {
        return expr;
    }
    let at = expr.at;
    Expr::call(canonical_key(), vec![expr], DataType::Float64, at)
}

/// Casts both sides of a comparison to a common type. `texts` return the sides as SQL, and `what` ends the error message.
pub(super) fn compared(
    (left, right): (Expr, Expr),
    texts: (&dyn Fn() -> String, &dyn Fn() -> String),
    what: &str,
) -> Result<(Expr, Expr), QueryError> {
    let (left, right) = time_literals(left, right);
    match common(&left.data_type, &right.data_type) {
        Some(to) => Ok((cast(left, &to), cast(right, &to))),
        None => {
            let (one, other) = (texts.0(), texts.1());
            let sides = ((&*one, &left.data_type), (&*other, &right.data_type));
            Err(mismatch(sides.0, sides.1, what, left.at))
        }
    }
}

/// Casts a text literal to a time if the other operand is a time, as in `day < '2020-01-31'`.
fn time_literals(left: Expr, right: Expr) -> (Expr, Expr) {
    let is_time = |expr: &Expr| TypeClass::of(&expr.data_type) == TypeClass::Time;
    let as_time = |expr: Expr, other: &DataType| match expr.as_literal() {
        Some(ScalarValue::Utf8(Some(_))) => {
            let value = expr
                .as_literal()
                .and_then(|value| value.cast_to(other).ok());
            value.map_or(expr.clone(), |value| Expr::literal(value, expr.at))
        }
        _ => expr,
    };
    if is_time(&left) {
        let right = as_time(right, &left.data_type);
        (left, right)
    } else if is_time(&right) {
        (as_time(left, &right.data_type), right)
    } else {
        (left, right)
    }
}

/// Compares two expressions. NaN equals NaN, and 0.0 equals -0.0.
pub(super) fn comparison(op: Operator, left: Expr, right: Expr) -> Expr {
    Expr::binary(op, canonical(left), canonical(right), DataType::Boolean)
}

/// Checks that the type of an expression is in `class`. Casts NULL to a type of the class. `what` begins the error message.
pub(super) fn of_class(
    expr: Expr,
    source: &tree::Expr,
    class: TypeClass,
    what: &str,
) -> Result<Expr, QueryError> {
    let found = TypeClass::of(&expr.data_type);
    if found == TypeClass::Missing {
        let to = match class {
            TypeClass::Text => DataType::Utf8,
            TypeClass::Boolean => DataType::Boolean,
            TypeClass::Number => DataType::Int64,
            _ => return Ok(expr),
        };
        return Ok(cast(expr, &to));
    }
    if found == class {
        return Ok(widened(expr));
    }
    let message = format!(
        "{what} takes {}, and `{}` is {}",
        class.name(),
        text(source),
        found.name()
    );
    Err(rejected(source.at, message, Some(help(found, class))))
}

/// Returns an expression as SQL for a message. Long expressions are shortened.
pub(super) fn text(expr: &tree::Expr) -> String {
    let expr = match &expr.kind {
        // The name of the table is left out, because the position of the error shows it.
        tree::ExprKind::Column { name, .. } => return name.text.clone(),
        _ => expr.to_string(),
    };
    shortened(&expr, 60)
}

/// Returns an error of a query at the position `at`.
pub(super) fn rejected(
    at: Position,
    message: impl Into<String>,
    help: Option<impl Into<String>>,
) -> QueryError {
    QueryError::Rejected {
        message: message.into(),
        place: place(at),
        column: None,
        help: help.map(Into::into),
    }
}

/// Same as [`rejected`], without help.
pub(super) fn refused(at: Position, message: impl Into<String>) -> QueryError {
    rejected(at, message, None::<String>)
}

/// Returns the help for two values whose classes do not fit each other.
pub(super) fn help(a: TypeClass, b: TypeClass) -> &'static str {
    match (a, b) {
        (TypeClass::Text, TypeClass::Number) | (TypeClass::Number, TypeClass::Text) => {
            "declare the column with the other type in `columns`, write the value in quotes, or convert: CAST(x AS BIGINT), CAST(x AS DOUBLE), CAST(x AS VARCHAR)"
        }
        (TypeClass::Boolean, _) | (_, TypeClass::Boolean) => {
            "write a condition (`a = 1`), or convert a boolean to a number: CAST(x AS BIGINT)"
        }
        _ => "convert one of them: CAST(x AS ...)",
    }
}
