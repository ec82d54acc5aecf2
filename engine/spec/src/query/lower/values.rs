//! Converts literals and types.

use sqlparser::ast::{
    DataType, ExactNumberInfo, Expr as AstExpr, Spanned as _, TimezoneInfo, Value, ValueWithSpan,
};

use super::super::tree::{CastType, Expr, ExprKind, Position};
use super::Lowering;

/// The number of digits of the least integer, -2^63. It is not an integer without the minus sign.
const LEAST_DIGITS: &str = "9223372036854775808";

impl Lowering<'_> {
    pub(super) fn value(&mut self, value: &ValueWithSpan) -> Expr {
        let ValueWithSpan { value, span } = value;
        let at = self.start(*span);
        let kind = match value {
            Value::Number(digits, false) => return self.number(digits, at),
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                ExprKind::Text(text.clone())
            }
            Value::Boolean(value) => ExprKind::Boolean(*value),
            Value::Null => ExprKind::Null,
            Value::Number(_, true) => {
                return self.rejected(at, &value.to_string(), "write only digits");
            }
            Value::Placeholder(name) => {
                let help = "a query has no parameters; write the value";
                return self.rejected(at, name, help);
            }
            other => return self.rejected(at, &other.to_string(), "write a text in single quotes"),
        };
        Expr { kind, at }
    }

    fn number(&mut self, digits: &str, at: Position) -> Expr {
        let kind = if is_whole(digits) {
            let Ok(number) = digits.parse() else {
                let what = "an integer of more than 64 bits";
                return self.rejected(at, what, "write a decimal: `1e20`, or a text");
            };
            ExprKind::Integer(number)
        } else {
            let number = digits.parse().ok();
            let Some(number) = number.filter(|number: &f64| number.is_finite()) else {
                let help = "the largest number is 1.7976931348623157e308";
                return self.rejected(at, digits, help);
            };
            ExprKind::Double(number)
        };
        Expr { kind, at }
    }

    /// Converts `-a`. The sign of a number is part of the number. Only `-0.0` stays an operation, because the literals
    /// `0.0` and `-0.0` would be equal.
    pub(super) fn negative(&mut self, operand: &AstExpr) -> Expr {
        let least = literal(operand).filter(|(digits, _)| *digits == LEAST_DIGITS);
        let (kind, at) = match least {
            Some((_, at)) => (ExprKind::Integer(i64::MIN), at),
            None => {
                let Expr { kind, at } = self.expr(operand);
                let kind = match kind {
                    ExprKind::Integer(number @ 0..) => ExprKind::Integer(-number),
                    ExprKind::Double(number) if number > 0.0 => ExprKind::Double(-number),
                    kind => ExprKind::Negate(Box::new(Expr { kind, at })),
                };
                (kind, at)
            }
        };
        let at = self.words.before(at, 1);
        Expr { kind, at }
    }

    /// Converts an integer that must be written as such. `what` describes it in the error.
    pub(super) fn natural(&mut self, expr: &AstExpr, what: impl Fn(&AstExpr) -> String) -> u64 {
        let number = literal(expr).and_then(|(digits, _)| digits.parse().ok());
        number.unwrap_or_else(|| {
            self.reject(self.start(expr.span()), &what(expr), "write an integer");
            0
        })
    }

    /// Converts a type. A length or precision is an error if it would have no effect. For example, a cast to `CHAR(3)`
    /// does not shorten a text.
    pub(super) fn data_type(&mut self, at: Position, data_type: &DataType) -> CastType {
        let help = match data_type {
            DataType::Boolean | DataType::Bool => return CastType::Boolean,
            DataType::Int(None)
            | DataType::Integer(None)
            | DataType::BigInt(None)
            | DataType::Int8(None) => return CastType::BigInt,
            DataType::Double(ExactNumberInfo::None)
            | DataType::DoublePrecision
            | DataType::Float8 => return CastType::Double,
            DataType::Varchar(None) | DataType::Text | DataType::String(None) => {
                return CastType::Varchar;
            }
            DataType::Date => return CastType::Date,
            DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
                return CastType::Timestamp;
            }
            DataType::Varchar(Some(_)) | DataType::String(Some(_)) | DataType::Char(_) => {
                "write VARCHAR, and `substr(a, 1, n)` to shorten a text"
            }
            DataType::Int(Some(_)) | DataType::Integer(Some(_)) | DataType::BigInt(Some(_)) => {
                "write the type without a length"
            }
            DataType::TinyInt(_) | DataType::SmallInt(_) => "write BIGINT",
            DataType::Real
            | DataType::Float(_)
            | DataType::Double(_)
            | DataType::Decimal(_)
            | DataType::Numeric(_) => "write DOUBLE, and `round(a, n)`",
            DataType::Timestamp(..) => {
                "write TIMESTAMP, without a precision and without a time zone"
            }
            _ => "types are VARCHAR, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP",
        };
        self.reject(at, &format!("the type {data_type}"), help);
        CastType::Varchar
    }
}

/// Returns the digits of a number in any number of parentheses, and their position.
fn literal(expr: &AstExpr) -> Option<(&str, Position)> {
    match expr {
        AstExpr::Nested(inner) => literal(inner),
        AstExpr::Value(ValueWithSpan {
            value: Value::Number(digits, false),
            span,
        }) if is_whole(digits) => Some((digits, span.start.into())),
        _ => None,
    }
}

fn is_whole(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit())
}
