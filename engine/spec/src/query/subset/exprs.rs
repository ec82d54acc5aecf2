//! Checks expressions.

use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, CeilFloorKind, DateTimeField, Expr, Interval,
    Spanned as _, Subscript, TypedString, UnaryOperator, Value, ValueWithSpan,
};

use super::Subset;
use crate::text::suggest::shortened;

const BOOLEANS: &str = "write AND, OR, NOT";

impl Subset<'_, '_> {
    pub(super) fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {}
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.expr(root);
                for access in access_chain {
                    self.access(access);
                }
            }
            Expr::Nested(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsUnknown(inner)
            | Expr::IsNotUnknown(inner) => self.expr(inner),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.exprs([&**left, &**right]);
            }
            Expr::InList {
                expr,
                list,
                negated: _,
            } => {
                self.expr(expr);
                self.exprs(list);
            }
            Expr::InSubquery {
                expr,
                subquery,
                negated: _,
            } => {
                self.expr(expr);
                self.query(subquery);
            }
            Expr::Between {
                expr,
                negated: _,
                low,
                high,
            } => self.exprs([&**expr, &**low, &**high]),
            Expr::BinaryOp { left, op, right } => {
                self.expr(left);
                self.binary(left, op);
                self.expr(right);
            }
            Expr::Like {
                negated: _,
                any,
                expr,
                pattern,
                escape_char,
            }
            | Expr::ILike {
                negated: _,
                any,
                expr,
                pattern,
                escape_char,
            } => {
                self.exprs([&**expr, &**pattern]);
                let at = self.start(pattern.span());
                if *any {
                    self.reject(
                        at,
                        "LIKE ANY",
                        "write one LIKE for each pattern, joined by OR",
                    );
                }
                if escape_char.is_some() {
                    self.reject(at, "ESCAPE", "a backslash escapes `%`, `_` and itself");
                }
            }
            Expr::UnaryOp { op, expr: inner } => self.unary(expr, op, inner),
            Expr::Cast {
                kind: _,
                expr: inner,
                data_type,
                array,
                format,
            } => {
                self.expr(inner);
                let at = self.start(inner.span());
                self.data_type(at, data_type);
                if *array {
                    self.reject(at, "ARRAY in CAST", "");
                }
                if format.is_some() {
                    self.reject(at, "FORMAT in CAST", "");
                }
            }
            Expr::Ceil { expr, field } | Expr::Floor { expr, field } => {
                self.expr(expr);
                if !matches!(
                    field,
                    CeilFloorKind::DateTimeField(DateTimeField::NoDateTime)
                ) {
                    let at = self.start(expr.span());
                    self.reject(at, "a unit in ceil or floor", "multiply and divide");
                }
            }
            Expr::Position { expr, r#in } => self.exprs([&**expr, &**r#in]),
            // `substr(a, 1)`, `substring(a, 1)` and `substring(a FROM 1)` are equivalent.
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                special: _,
                shorthand: _,
            } => {
                self.expr(expr);
                self.exprs(substring_from.as_deref());
                self.exprs(substring_for.as_deref());
            }
            Expr::Trim {
                trim_where: _,
                trim_what,
                expr,
                trim_characters,
            } => {
                self.expr(expr);
                self.exprs(trim_what.as_deref());
                let characters = trim_characters.as_deref().unwrap_or_default();
                self.exprs(characters);
                if characters.len() > 1 {
                    let at = self.start(expr.span());
                    let help = "write all characters as one text: `trim(a, ' .')`";
                    self.reject(at, "trim(a, b, c)", help);
                }
            }
            Expr::Overlay {
                expr,
                overlay_what,
                overlay_from,
                overlay_for,
            } => {
                self.exprs([&**expr, &**overlay_what, &**overlay_from]);
                self.exprs(overlay_for.as_deref());
            }
            Expr::Value(value) => self.value(value),
            Expr::TypedString(TypedString {
                data_type,
                value,
                uses_odbc_syntax,
            }) => {
                self.value(value);
                let at = self.start(value.span);
                self.data_type(at, data_type);
                if *uses_odbc_syntax {
                    self.reject(at, "{d ...}", "write `DATE '2020-01-31'`");
                }
            }
            Expr::Function(function) => self.function(function),
            Expr::Case {
                case_token: _,
                end_token: _,
                operand,
                conditions,
                else_result,
            } => {
                self.exprs(operand.as_deref());
                for CaseWhen { condition, result } in conditions {
                    self.exprs([condition, result]);
                }
                self.exprs(else_result.as_deref());
            }
            Expr::Exists {
                subquery,
                negated: _,
            } => self.query(subquery),
            Expr::Subquery(query) => self.query(query),
            Expr::Array(Array { elem, named: _ }) => self.exprs(elem),
            Expr::Interval(interval) => self.interval(interval),
            Expr::SimilarTo { pattern, .. } => {
                let at = self.start(pattern.span());
                self.reject(at, "SIMILAR TO", "write a regular expression: `a ~ '^x'`");
            }
            Expr::RLike { pattern, .. } => {
                let at = self.start(pattern.span());
                self.reject(at, "RLIKE", "write a regular expression: `a ~ '^x'`");
            }
            Expr::AnyOp { right, .. } => {
                let at = self.start(right.span());
                self.reject(at, "ANY", "write IN, EXISTS or `array_has(list, a)`");
            }
            Expr::AllOp { right, .. } => {
                let at = self.start(right.span());
                self.reject(at, "ALL", "write NOT EXISTS, or compare with max or min");
            }
            Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => {
                let at = self.start(expr.span());
                let what = expr.to_string();
                let what = what.split('(').next().unwrap_or_default().trim_end();
                self.reject(
                    at,
                    what,
                    "write a query for each grouping, joined by UNION ALL",
                );
            }
            Expr::Tuple(_) => {
                let at = self.start(expr.span());
                let help = "compare column by column, or write EXISTS";
                self.reject(at, "(a, b)", help);
            }
            Expr::Extract { expr: inner, .. } => {
                let at = self.start(inner.span());
                self.reject(at, "EXTRACT", "extract the part with `split_part`");
            }
            Expr::Struct { .. } | Expr::Named { .. } | Expr::Dictionary(_) | Expr::Map(_) => {
                let at = self.start(expr.span());
                self.reject(
                    at,
                    &shortened(&expr.to_string(), 30),
                    "write `named_struct('a', 1, 'b', 2)`",
                );
            }
            other => {
                let at = self.start(other.span());
                self.reject(at, &shortened(&other.to_string(), 30), "");
            }
        }
    }

    fn access(&mut self, access: &AccessExpr) {
        match access {
            // A member of a struct, such as `named_struct(...).x`.
            AccessExpr::Dot(Expr::Identifier(_)) => {}
            AccessExpr::Dot(expr) => {
                let at = self.start(expr.span());
                self.reject(at, &format!(".{expr}"), "write `a['member']`");
            }
            AccessExpr::Subscript(Subscript::Index { index }) => self.expr(index),
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride,
            }) => {
                self.exprs(lower_bound);
                self.exprs(upper_bound);
                self.exprs(stride);
            }
        }
    }

    fn binary(&mut self, left: &Expr, op: &BinaryOperator) {
        use BinaryOperator as Op;
        let help = match op {
            Op::Plus
            | Op::Minus
            | Op::Multiply
            | Op::Divide
            | Op::Modulo
            | Op::StringConcat
            | Op::Gt
            | Op::Lt
            | Op::GtEq
            | Op::LtEq
            | Op::Eq
            | Op::NotEq
            | Op::And
            | Op::Or
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::PGBitwiseXor
            | Op::PGBitwiseShiftLeft
            | Op::PGBitwiseShiftRight
            | Op::PGRegexMatch
            | Op::PGRegexIMatch
            | Op::PGRegexNotMatch
            | Op::PGRegexNotIMatch => return,
            Op::Spaceship => "write `IS NOT DISTINCT FROM`",
            Op::Xor => "write `<>`",
            Op::BitwiseXor | Op::PGExp => "write `power(a, b)`, or `a # b` for a bitwise XOR",
            Op::DuckIntegerDivide | Op::MyIntegerDivide => "write `/` between integers",
            Op::PGLikeMatch
            | Op::PGILikeMatch
            | Op::PGNotLikeMatch
            | Op::PGNotILikeMatch
            | Op::PGStartsWith => "write LIKE, ILIKE or `starts_with(a, b)`",
            Op::Match | Op::Regexp => "write a regular expression: `a ~ '^x'`",
            _ => "",
        };
        let operator = op.to_string();
        let span = left.span();
        // The operator is located after its left operand.
        let start = if span.end.line == 0 {
            self.at
        } else {
            span.end
        };
        let upper = operator.to_uppercase();
        let found = self
            .words
            .iter()
            .find(|word| word.at >= start && word.text == upper);
        let at = found.map_or(start, |word| word.at);
        self.reject(at, &operator, help);
    }

    fn unary(&mut self, whole: &Expr, op: &UnaryOperator, inner: &Expr) {
        match op {
            UnaryOperator::Minus if matches!(inner, Expr::Value(value) if is_least_integer(value)) =>
                {}
            UnaryOperator::Plus | UnaryOperator::Minus | UnaryOperator::Not => self.expr(inner),
            _ => {
                self.expr(inner);
                let at = self.start(whole.span());
                let help = if *op == UnaryOperator::BangNot {
                    BOOLEANS
                } else {
                    ""
                };
                self.reject(at, &op.to_string(), help);
            }
        }
    }

    fn value(&mut self, value: &ValueWithSpan) {
        let ValueWithSpan { value, span } = value;
        let at = self.start(*span);
        match value {
            Value::Number(digits, false) => {
                let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
                if is_whole && digits.parse::<i64>().is_err() {
                    let help = "write a decimal: `1e20`, or a text";
                    self.reject(at, "an integer of more than 64 bits", help);
                }
            }
            Value::SingleQuotedString(_)
            | Value::EscapedStringLiteral(_)
            | Value::Boolean(_)
            | Value::Null => {}
            Value::Placeholder(name) => {
                self.reject(at, name, "a query has no parameters; write the value");
            }
            other => {
                let help = "write a text in single quotes";
                self.reject(at, &other.to_string(), help);
            }
        }
    }

    fn interval(&mut self, interval: &Interval) {
        let Interval {
            value,
            leading_field: _,
            leading_precision,
            last_field,
            fractional_seconds_precision,
        } = interval;
        self.expr(value);
        if leading_precision.is_some()
            || last_field.is_some()
            || fractional_seconds_precision.is_some()
        {
            let at = self.start(value.span());
            self.reject(at, "a precision of INTERVAL", "write `INTERVAL '1' DAY`");
        }
    }
}

/// Returns whether this is 2^63, which is a valid integer only after a minus sign.
fn is_least_integer(value: &ValueWithSpan) -> bool {
    matches!(&value.value, Value::Number(digits, false) if digits == "9223372036854775808")
}

/// Returns whether the expression consists only of literals. Such an expression has no effect as a sort or group key.
pub(super) fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_) => true,
        Expr::Nested(inner) => is_constant(inner),
        Expr::UnaryOp { op: _, expr } => is_constant(expr),
        Expr::Cast { expr, .. } => is_constant(expr),
        Expr::BinaryOp { left, op: _, right } => is_constant(left) && is_constant(right),
        _ => false,
    }
}
