//! Converts expressions.

use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator as AstOperator, CaseWhen, CastKind, CeilFloorKind,
    DateTimeField, Expr as Ast, Ident, Spanned as _, Subscript, TrimWhereField, TypedString,
    UnaryOperator,
};

use super::super::tree::{BinaryOperator, Expr, ExprKind, Truth};
use super::Lowering;
use super::calls::plain_call;
use crate::text::suggest::shortened;

const INTERVAL_HELP: &str = "add or subtract a number of days: `day - 7`";
const STRUCT_HELP: &str = "write each member as a column of its own";
const REGULAR_EXPRESSION: &str = "write a regular expression: `a ~ '^x'`";

impl Lowering<'_> {
    pub(super) fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Ast>) -> Vec<Expr> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    pub(super) fn maybe(&mut self, expr: Option<&Ast>) -> Option<Expr> {
        expr.map(|expr| self.expr(expr))
    }

    fn boxed(&mut self, expr: &Ast) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    pub(super) fn expr(&mut self, expr: &Ast) -> Expr {
        self.deeper(|inner| inner.expr_inside(expr))
    }

    fn expr_inside(&mut self, expr: &Ast) -> Expr {
        match expr {
            Ast::Identifier(name) => self.column(None, name),
            Ast::CompoundIdentifier(names) => match names.as_slice() {
                [table, name] => self.column(Some(table), name),
                _ => {
                    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                    let help = "a column has at most the name of a table before it: `t.a`";
                    self.rejected(self.start(expr.span()), &names.join("."), help)
                }
            },
            Ast::CompoundFieldAccess { root, access_chain } => self.accesses(root, access_chain),
            Ast::Nested(inner) => {
                let Expr { kind, at } = self.expr(inner);
                let at = self.words.before(at, 1);
                Expr { kind, at }
            }
            Ast::Value(value) => self.value(value),
            Ast::UnaryOp { op, expr: operand } => self.unary(*op, operand),
            Ast::BinaryOp { left, op, right } => self.binary(left, op, right),
            Ast::IsNull(expr) => self.is(expr, Truth::Null, false),
            Ast::IsNotNull(expr) => self.is(expr, Truth::Null, true),
            Ast::IsTrue(expr) => self.is(expr, Truth::True, false),
            Ast::IsNotTrue(expr) => self.is(expr, Truth::True, true),
            Ast::IsFalse(expr) => self.is(expr, Truth::False, false),
            Ast::IsNotFalse(expr) => self.is(expr, Truth::False, true),
            Ast::IsUnknown(expr) => self.is(expr, Truth::Unknown, false),
            Ast::IsNotUnknown(expr) => self.is(expr, Truth::Unknown, true),
            Ast::IsDistinctFrom(left, right) => self.distinct_from(left, right, false),
            Ast::IsNotDistinctFrom(left, right) => self.distinct_from(left, right, true),
            Ast::Function(function) => self.function(function),
            Ast::Array(Array { elem, named }) => {
                let elements = self.exprs(elem);
                let at = elements.first().map_or(self.at, |first| {
                    self.words.before(first.at, 1 + usize::from(*named))
                });
                plain_call("make_array", elements, at)
            }
            Ast::Exists { subquery, negated } => {
                let (query, negated) = (Box::new(self.query(subquery)), *negated);
                let at = self.words.last("EXISTS", query.at);
                let at = self.words.before(at, usize::from(negated));
                ExprKind::Exists { query, negated }.at(at)
            }
            Ast::Subquery(query) => {
                let query = self.query(query);
                let at = self.words.before(query.at, 1);
                ExprKind::Subquery(Box::new(query)).at(at)
            }
            other => self.comparison(other),
        }
    }

    fn column(&mut self, table: Option<&Ident>, name: &Ident) -> Expr {
        let table = table.map(|table| self.name(table));
        let name = self.name(name);
        let at = table.as_ref().map_or(name.at, |table| table.at);
        ExprKind::Column { table, name }.at(at)
    }

    fn accesses(&mut self, root: &Ast, chain: &[AccessExpr]) -> Expr {
        let (root, chain) = match (root, chain) {
            (Ast::Identifier(table), [AccessExpr::Dot(Ast::Identifier(name)), rest @ ..]) => {
                (self.column(Some(table), name), rest)
            }
            (root, chain) => (self.expr(root), chain),
        };
        let access = |list, access: &AccessExpr| self.access(list, access);
        chain.iter().fold(root, access)
    }

    fn access(&mut self, list: Expr, access: &AccessExpr) -> Expr {
        let at = list.at;
        let list = Box::new(list);
        let kind = match access {
            AccessExpr::Dot(member) => {
                let place = self.start(member.span());
                return self.rejected(place, &format!(".{member}"), STRUCT_HELP);
            }
            AccessExpr::Subscript(Subscript::Index { index }) => {
                let index = self.boxed(index);
                if let ExprKind::Text(_) = index.kind {
                    return self.rejected(index.at, &format!("[{index}]"), STRUCT_HELP);
                }
                ExprKind::Element { list, index }
            }
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride,
            }) => {
                let first = self.maybe(lower_bound.as_ref()).map(Box::new);
                let last = self.maybe(upper_bound.as_ref()).map(Box::new);
                if let Some(stride) = stride {
                    let at = self.start(stride.span());
                    self.reject(at, "[a:b:c]", "write `[a:b]`");
                }
                ExprKind::Slice { list, first, last }
            }
        };
        Expr { kind, at }
    }

    fn unary(&mut self, op: UnaryOperator, operand: &Ast) -> Expr {
        match op {
            UnaryOperator::Minus => return self.negative(operand),
            UnaryOperator::Not => {
                let operand = self.boxed(operand);
                let at = self.words.before(operand.at, 1);
                return ExprKind::Not(operand).at(at);
            }
            _ => {}
        }
        let Expr { kind, at } = self.expr(operand);
        let help = match op {
            // The sign of a number has no effect.
            UnaryOperator::Plus if matches!(kind, ExprKind::Integer(_) | ExprKind::Double(_)) => {
                let at = self.words.before(at, 1);
                return Expr { kind, at };
            }
            UnaryOperator::Plus => "remove it",
            UnaryOperator::BangNot => "write AND, OR, NOT",
            _ => "",
        };
        self.rejected(at, &op.to_string(), help)
    }

    fn binary(&mut self, left: &Ast, op: &AstOperator, right: &Ast) -> Expr {
        let operator = operator(op);
        let lowered = self.boxed(left);
        let at = lowered.at;
        let op = operator.unwrap_or_else(|help| {
            let text = op.to_string();
            let end = left.span().end;
            // The operator is after its left operand.
            let start = if end.line == 0 { self.at } else { end.into() };
            let found = self.words.find(&text.to_uppercase(), start);
            self.reject(found.unwrap_or(start), &text, help);
            BinaryOperator::Equal
        });
        ExprKind::Binary {
            op,
            left: lowered,
            right: self.boxed(right),
        }
        .at(at)
    }

    /// Converts an expression that begins with its first operand.
    fn begun(&mut self, first: &Ast, kind: impl FnOnce(&mut Self, Box<Expr>) -> ExprKind) -> Expr {
        let first = self.boxed(first);
        let at = first.at;
        kind(self, first).at(at)
    }

    fn is(&mut self, expr: &Ast, value: Truth, negated: bool) -> Expr {
        self.begun(expr, |_, expr| ExprKind::Is {
            expr,
            value,
            negated,
        })
    }

    /// Converts comparisons with several operands, and all other expressions with several parts.
    fn comparison(&mut self, comparison: &Ast) -> Expr {
        match comparison {
            Ast::InSubquery {
                expr,
                subquery,
                negated,
            } => self.begun(expr, |inner, expr| ExprKind::InQuery {
                expr,
                query: Box::new(inner.query(subquery)),
                negated: *negated,
            }),
            Ast::InList {
                expr,
                list,
                negated,
            } => self.begun(expr, |inner, expr| ExprKind::InList {
                expr,
                list: inner.exprs(list),
                negated: *negated,
            }),
            Ast::Between {
                expr,
                negated,
                low,
                high,
            } => self.begun(expr, |inner, expr| ExprKind::Between {
                expr,
                low: inner.boxed(low),
                high: inner.boxed(high),
                negated: *negated,
            }),
            Ast::Like {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            }
            | Ast::ILike {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            } => self.begun(expr, |inner, expr| {
                let pattern = inner.boxed(pattern);
                if *any {
                    let help = "write one LIKE for each pattern, joined by OR";
                    inner.reject(pattern.at, "LIKE ANY", help);
                }
                if escape_char.is_some() {
                    let help = "a backslash escapes `%`, `_` and itself";
                    inner.reject(pattern.at, "ESCAPE", help);
                }
                ExprKind::Like {
                    expr,
                    pattern,
                    negated: *negated,
                    ignores_case: matches!(comparison, Ast::ILike { .. }),
                }
            }),
            other => self.compound(other),
        }
    }

    /// Converts `a IS DISTINCT FROM b`. The parser would also read a following AND, OR or IS as part of `b`, so this is
    /// an error unless `b` is in parentheses.
    fn distinct_from(&mut self, left: &Ast, right: &Ast, negated: bool) -> Expr {
        let (left, lowered) = (self.boxed(left), self.boxed(right));
        let is_open = match right {
            Ast::BinaryOp {
                op: AstOperator::And | AstOperator::Or,
                ..
            } => true,
            _ => matches!(
                lowered.kind,
                ExprKind::Is { .. } | ExprKind::IsDistinct { .. }
            ),
        };
        if is_open && !matches!(right, Ast::Nested(_)) {
            let message = "it is unclear where the right side of IS DISTINCT FROM ends".to_owned();
            let help = "write parentheses: `(a IS DISTINCT FROM b) AND c`";
            self.report(lowered.at, message, help);
        }
        Expr {
            at: left.at,
            kind: ExprKind::IsDistinct {
                left,
                right: lowered,
                negated,
            },
        }
    }

    /// Converts a function with a syntax of its own.
    fn special_call(&mut self, call: &Ast) -> Expr {
        let (word, name, args) = match call {
            Ast::Ceil { expr, field } | Ast::Floor { expr, field } => {
                let value = self.expr(expr);
                let no_unit = CeilFloorKind::DateTimeField(DateTimeField::NoDateTime);
                if *field != no_unit {
                    self.reject(value.at, "a unit in ceil or floor", "multiply and divide");
                }
                match call {
                    Ast::Ceil { .. } => ("CEIL", "ceil", vec![value]),
                    _ => ("FLOOR", "floor", vec![value]),
                }
            }
            Ast::Position { expr, r#in } => {
                let text = self.expr(expr);
                let at = self.words.last("POSITION", text.at);
                return plain_call("strpos", vec![self.expr(r#in), text], at);
            }
            // `substr(a, 1)`, `substring(a, 1)` and `substring(a FROM 1)` are equivalent.
            Ast::Substring {
                expr,
                substring_from,
                substring_for,
                special: _,
                shorthand,
            } => {
                let mut args = vec![self.expr(expr)];
                let from = self.maybe(substring_from.as_deref());
                let length = self.maybe(substring_for.as_deref());
                let first = ExprKind::Integer(1).at(self.at);
                args.extend(from.or_else(|| length.as_ref().map(|_| first)));
                args.extend(length);
                let word = if *shorthand { "SUBSTR" } else { "SUBSTRING" };
                (word, "substr", args)
            }
            Ast::Trim {
                trim_where,
                trim_what,
                expr,
                trim_characters,
            } => {
                let what = self.maybe(trim_what.as_deref());
                let text = self.expr(expr);
                let characters = trim_characters.as_deref().unwrap_or_default();
                if characters.len() > 1 {
                    let help = "write all characters as one text: `trim(a, ' .')`";
                    self.reject(text.at, "trim(a, b, c)", help);
                }
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "btrim",
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                };
                let at = what.as_ref().map_or(text.at, |what| what.at);
                let at = self.words.last("TRIM", at);
                let mut args = vec![text];
                args.extend(what);
                args.extend(self.exprs(characters));
                return plain_call(name, args, at);
            }
            Ast::Overlay {
                expr,
                overlay_what,
                overlay_from,
                overlay_for,
            } => {
                let mut args = self.exprs([&**expr, &**overlay_what, &**overlay_from]);
                args.extend(self.maybe(overlay_for.as_deref()));
                ("OVERLAY", "overlay", args)
            }
            other => return self.unsupported_expr(other),
        };
        let first = args.first().map_or(self.at, |first| first.at);
        plain_call(name, args, self.words.last(word, first))
    }

    fn compound(&mut self, expr: &Ast) -> Expr {
        match expr {
            Ast::Cast {
                kind,
                expr,
                data_type,
                array,
                format,
            } => {
                let expr = self.boxed(expr);
                let to = self.data_type(expr.at, data_type);
                if *array {
                    self.reject(expr.at, "ARRAY in CAST", "");
                }
                if format.is_some() {
                    self.reject(expr.at, "FORMAT in CAST", "");
                }
                let at = match kind {
                    CastKind::DoubleColon => expr.at,
                    CastKind::Cast | CastKind::TryCast | CastKind::SafeCast => {
                        self.words.before(expr.at, 2)
                    }
                };
                let is_try = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
                ExprKind::Cast { expr, to, is_try }.at(at)
            }
            Ast::TypedString(TypedString {
                data_type,
                value,
                uses_odbc_syntax,
            }) => {
                let expr = Box::new(self.value(value));
                let to = self.data_type(expr.at, data_type);
                if *uses_odbc_syntax {
                    self.reject(expr.at, "{d ...}", "write `DATE '2020-01-31'`");
                }
                let at = self.words.before(expr.at, 1);
                let is_try = false;
                ExprKind::Cast { expr, to, is_try }.at(at)
            }
            Ast::Case {
                case_token,
                end_token: _,
                operand,
                conditions,
                else_result,
            } => {
                let operand = self.maybe(operand.as_deref()).map(Box::new);
                let branch = |CaseWhen { condition, result }: &CaseWhen| {
                    (self.expr(condition), self.expr(result))
                };
                let kind = ExprKind::Case {
                    operand,
                    branches: conditions.iter().map(branch).collect(),
                    otherwise: self.maybe(else_result.as_deref()).map(Box::new),
                };
                let at = self.start(case_token.0.span);
                Expr { kind, at }
            }
            other => self.special_call(other),
        }
    }

    fn unsupported_expr(&mut self, expr: &Ast) -> Expr {
        let (part, what, help): (&Ast, &str, &str) = match expr {
            Ast::SimilarTo { pattern, .. } => (pattern, "SIMILAR TO", REGULAR_EXPRESSION),
            Ast::RLike { pattern, .. } => (pattern, "RLIKE", REGULAR_EXPRESSION),
            Ast::AnyOp { right, .. } => (right, "ANY", "write IN, EXISTS or `array_has(list, a)`"),
            Ast::AllOp { right, .. } => {
                (right, "ALL", "write NOT EXISTS, or compare with max or min")
            }
            Ast::Tuple(_) => (expr, "(a, b)", "compare column by column, or write EXISTS"),
            Ast::Extract { expr: inner, .. } => {
                (inner, "EXTRACT", "extract the part with `split_part`")
            }
            Ast::Interval(interval) => {
                let at = self.start(interval.value.span());
                let at = self.words.last("INTERVAL", at);
                return self.rejected(at, "INTERVAL", INTERVAL_HELP);
            }
            _ => {
                let text = expr.to_string();
                let help = match expr {
                    Ast::GroupingSets(_) | Ast::Cube(_) | Ast::Rollup(_) => {
                        let what = text.split('(').next().unwrap_or_default().trim_end();
                        let help = "write a query for each grouping, joined by UNION ALL";
                        return self.rejected(self.start(expr.span()), what, help);
                    }
                    Ast::Struct { .. } | Ast::Named { .. } | Ast::Dictionary(_) | Ast::Map(_) => {
                        STRUCT_HELP
                    }
                    _ => "",
                };
                return self.rejected(self.start(expr.span()), &shortened(&text, 30), help);
            }
        };
        self.rejected(self.start(part.span()), what, help)
    }
}

/// Returns the operator, or the help if it is not supported.
fn operator(op: &AstOperator) -> Result<BinaryOperator, &'static str> {
    let matches = |negated, ignores_case| BinaryOperator::Matches {
        negated,
        ignores_case,
    };
    Ok(match op {
        AstOperator::Plus => BinaryOperator::Add,
        AstOperator::Minus => BinaryOperator::Subtract,
        AstOperator::Multiply => BinaryOperator::Multiply,
        AstOperator::Divide => BinaryOperator::Divide,
        AstOperator::Modulo => BinaryOperator::Remainder,
        AstOperator::StringConcat => BinaryOperator::Join,
        AstOperator::Gt => BinaryOperator::Greater,
        AstOperator::Lt => BinaryOperator::Less,
        AstOperator::GtEq => BinaryOperator::GreaterOrEqual,
        AstOperator::LtEq => BinaryOperator::LessOrEqual,
        AstOperator::Eq => BinaryOperator::Equal,
        AstOperator::NotEq => BinaryOperator::NotEqual,
        AstOperator::And => BinaryOperator::And,
        AstOperator::Or => BinaryOperator::Or,
        AstOperator::BitwiseAnd => BinaryOperator::BitAnd,
        AstOperator::BitwiseOr => BinaryOperator::BitOr,
        AstOperator::PGBitwiseShiftLeft => BinaryOperator::ShiftLeft,
        AstOperator::PGBitwiseShiftRight => BinaryOperator::ShiftRight,
        AstOperator::PGRegexMatch => matches(false, false),
        AstOperator::PGRegexIMatch => matches(false, true),
        AstOperator::PGRegexNotMatch => matches(true, false),
        AstOperator::PGRegexNotIMatch => matches(true, true),
        AstOperator::Spaceship => return Err("write `IS NOT DISTINCT FROM`"),
        AstOperator::Xor => return Err("write `<>`"),
        AstOperator::BitwiseXor | AstOperator::PGExp => {
            return Err("write `power(a, b)`");
        }
        AstOperator::DuckIntegerDivide | AstOperator::MyIntegerDivide => {
            return Err("write `/` between integers");
        }
        AstOperator::PGLikeMatch
        | AstOperator::PGILikeMatch
        | AstOperator::PGNotLikeMatch
        | AstOperator::PGNotILikeMatch
        | AstOperator::PGStartsWith => return Err("write LIKE, ILIKE or `starts_with(a, b)`"),
        AstOperator::Match | AstOperator::Regexp => return Err(REGULAR_EXPRESSION),
        _ => return Err(""),
    })
}
