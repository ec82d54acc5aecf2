//! Parses expressions by the binding powers of operators (a Pratt parser).

use std::ops::ControlFlow;

use super::super::fault::Fault;
use super::super::operators::power;
use super::super::token::TokenKind;
use super::super::tree::{CastType, Expr, ExprKind, Name, Operator, Position, SubqueryKind};
use super::super::walk::Node;
use super::calls::plain_call;
use super::{MAX_COPIED, MAX_DEPTH, Parenthesized, Parsed, Parser, is_reserved, value_of};

/// The digits of -2^63, the least integer. Without the minus sign, they exceed the range of integers.
const LEAST_DIGITS: &str = "9223372036854775808";

/// The help for SQL that reads a member of a struct.
const STRUCT_HELP: &str = "write each member as a column of its own";

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.operand(power::ANY)
    }

    /// Parses an operand of an operator with the binding power `min`.
    pub(super) fn operand(&mut self, min: u8) -> Parsed<Expr> {
        self.nested(|inner| {
            // The depth of the operand is counted from 0, and does not add to the depth of the expressions around it.
            let outer = std::mem::take(&mut inner.depth);
            let first = inner.prefix()?;
            inner.deepen()?;
            let expr = inner.infix(first, min)?;
            inner.depth = inner.depth.max(outer);
            Ok(expr)
        })
    }

    /// Parses the rest of an expression, whose first operand is already parsed.
    pub(super) fn expr_after(&mut self, first: Expr) -> Parsed<Expr> {
        self.infix(first, power::ANY)
    }

    /// Increments the depth of the current expression. Returns an error if the expression is too deep.
    fn deepen(&mut self) -> Parsed<()> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            false => Ok(()),
            true => {
                let message = format!("an expression is nested more than {MAX_DEPTH} levels deep");
                Err(Fault::new("query-too-long", Position::START, message))
            }
        }
    }

    /// Copies an operand that the tree needs twice: `a BETWEEN b AND c` becomes `a >= b AND a <= c`.
    ///
    /// The size of nested copies grows exponentially. Therefore the number of copied nodes is limited.
    fn copy(&mut self, expr: &Expr) -> Parsed<Expr> {
        let mut is_exceeded = |_: Node<'_>| {
            self.copied += 1;
            match self.copied > MAX_COPIED {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        match Node::Expr(expr).walk(&mut is_exceeded) {
            ControlFlow::Continue(()) => Ok(expr.clone()),
            ControlFlow::Break(()) => {
                let message = "the operands of BETWEEN and CASE are too long";
                Err(Fault::new("query-too-long", expr.at, message))
            }
        }
    }

    /// Parses the operators after the operand `left`, up to the first operator that does not bind more strongly than
    /// `min`.
    fn infix(&mut self, mut left: Expr, min: u8) -> Parsed<Expr> {
        loop {
            let at = left.at;
            let mut negated = self.is("NOT");
            let token = self
                .token(usize::from(negated))
                .filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Symbol));
            let symbol = token.map(|token| token.text.to_ascii_uppercase());
            let symbol = symbol.unwrap_or_default();
            let op = match symbol.strip_prefix('!') {
                // `a !~ b` is `NOT a ~ b`.
                Some(rest) if rest.starts_with('~') && !negated => Operator::from_symbol(rest),
                _ => Operator::from_symbol(&symbol),
            };
            let power = match (symbol.as_str(), op) {
                ("BETWEEN", _) => power::COMPARISON,
                (_, Some(op)) if !negated || op.takes_not() => op.power(),
                _ if negated => return Ok(left),
                ("IS", _) => power::IS,
                ("::" | "[", _) => power::ELEMENT,
                _ => return Ok(left),
            };
            if power <= min {
                return Ok(left);
            }
            self.next += usize::from(negated);
            self.next += 1;
            let kind = match (symbol.as_str(), op) {
                ("IN", _) => self.in_list(left)?,
                ("BETWEEN", _) => {
                    let low = self.operand(power)?;
                    self.expect("AND")?;
                    let high = self.operand(power)?;
                    let above = [self.copy(&left)?, low];
                    let above = ExprKind::operation(Operator::GreaterOrEqual, above).at(at);
                    let below = ExprKind::operation(Operator::LessOrEqual, [left, high]).at(at);
                    ExprKind::operation(Operator::And, [above, below])
                }
                ("IS", _) => {
                    negated = self.take("NOT");
                    self.operator_after_is(left)?
                }
                ("::", _) => ExprKind::Cast {
                    expr: Box::new(left),
                    to: self.data_type()?,
                    is_try: false,
                },
                ("[", _) => self.element(left)?,
                (_, Some(op)) => {
                    negated |= symbol.starts_with("!~");
                    ExprKind::operation(op, [left, self.operand(power)?])
                }
                (_, None) => return Err(self.unexpected("an operator")),
            };
            left = kind.at(at);
            if negated {
                left = ExprKind::operation(Operator::Not, [left]).at(at);
            }
            self.deepen()?;
        }
    }

    /// Parses a list of the pipeline, a subquery, or expressions in parentheses after `expr IN`.
    fn in_list(&mut self, expr: Expr) -> Parsed<ExprKind> {
        let mut operands = vec![expr];
        if let Some(name) = self.next_name(true).filter(|_| !self.is_ahead(1, "(")) {
            let texts = self.texts_of_list(&name)?.into_iter();
            operands.extend(texts.map(|text| ExprKind::Text(text).at(name.at)));
            self.next += 1;
            return Ok(ExprKind::operation(Operator::In, operands));
        }
        self.expect("(")?;
        let first = self.at();
        match self.content()? {
            Parenthesized::Query(query) if self.take(")") => {
                let operand = operands.pop().map(Box::new);
                let kind = operand.map_or(SubqueryKind::Value, SubqueryKind::In);
                let query = Box::new(query);
                return Ok(ExprKind::Subquery { kind, query });
            }
            Parenthesized::Query(query) => operands.push(value_of(query).at(first)),
            Parenthesized::Expr(expr) => operands.push(expr),
        }
        if self.take(",") {
            operands.extend(self.list(Self::expr)?);
        }
        self.expect(")")?;
        Ok(ExprKind::operation(Operator::In, operands))
    }

    /// Parses the rest of an operator that begins with IS, after IS and NOT.
    fn operator_after_is(&mut self, operand: Expr) -> Parsed<ExprKind> {
        if self.take("DISTINCT FROM") {
            let operands = [operand, self.operand(power::IS)?];
            return Ok(ExprKind::operation(Operator::IsDistinct, operands));
        }
        let values = [
            ("NULL", Operator::IsNull),
            ("TRUE", Operator::IsTrue),
            ("FALSE", Operator::IsFalse),
            ("UNKNOWN", Operator::IsUnknown),
        ];
        match values.into_iter().find(|(word, _)| self.take(word)) {
            Some((_, op)) => Ok(ExprKind::operation(op, [operand])),
            None => Err(self.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")),
        }
    }

    /// Parses the index or bounds after `[`. A missing bound is the start or end of the list.
    fn element(&mut self, list: Expr) -> Parsed<ExprKind> {
        let at = list.at;
        let bound = |inner: &mut Self| match inner.is(":") || inner.is("]") {
            true => Ok(None),
            false => inner.expr().map(Some),
        };
        let first = bound(self)?;
        let call = if self.take(":") {
            let first = first.unwrap_or_else(|| ExprKind::Integer(1).at(at));
            let last = bound(self)?;
            let last = match last {
                Some(last) => last,
                None => plain_call("cardinality", vec![self.copy(&list)?], at),
            };
            plain_call("array_slice", vec![list, first, last], at)
        } else {
            let index = first.ok_or_else(|| self.unexpected("an index"))?;
            if let ExprKind::Text(_) = index.kind {
                let what = format!("[{index}]");
                return Err(Fault::unsupported(index.at, &what, STRUCT_HELP));
            }
            plain_call("array_element", vec![list, index], at)
        };
        self.expect("]")?;
        Ok(call.kind)
    }

    /// Parses an operand, without the operators after it.
    fn prefix(&mut self) -> Parsed<Expr> {
        let at = self.at();
        let Some(token) = self.token(0) else {
            return Err(self.unexpected("an expression"));
        };
        // Some unsupported expressions begin with two tokens, for example `INTERVAL '...'` and `MAP {`.
        if ["(", "'", "{"].iter().any(|after| self.is_ahead(1, after)) {
            self.reject_unsupported(2)?;
        }
        let kind = match token.kind {
            TokenKind::Text => {
                self.next += 1;
                ExprKind::Text(token.text.clone())
            }
            TokenKind::Number => {
                self.next += 1;
                number(&token.text, at)?
            }
            TokenKind::Symbol => self.symbol()?,
            TokenKind::Word | TokenKind::Name => match self.keyword()? {
                Some(kind) => kind,
                None => return self.named(),
            },
            TokenKind::End => return Err(self.unexpected("an expression")),
        };
        Ok(kind.at(at))
    }

    /// Parses an operand that begins with a symbol, such as `(` or `-`.
    fn symbol(&mut self) -> Parsed<ExprKind> {
        if self.take("(") {
            return Ok(match self.parenthesized()? {
                Parenthesized::Query(query) => value_of(query),
                Parenthesized::Expr(expr) => expr.kind,
            });
        }
        let at = self.at();
        if self.take("[") {
            return self.list_of_values(at);
        }
        if self.take("-") {
            let least = self.token(0).filter(|token| token.text == LEAST_DIGITS);
            if least.is_some_and(|token| token.kind == TokenKind::Number) {
                self.next += 1;
                return Ok(ExprKind::Integer(i64::MIN));
            }
            // The numbers `0.0` and `-0.0` are equal, but their trees must differ. Therefore `-0.0` is an operation, not a number.
            let operand = self.operand(power::PRODUCT)?;
            return Ok(match operand.kind {
                ExprKind::Integer(number @ 0..) => ExprKind::Integer(-number),
                ExprKind::Double(number) if number > 0.0 => ExprKind::Double(-number),
                _ => ExprKind::operation(Operator::Negate, [operand]),
            });
        }
        if self.is("+") {
            let sign = self.at();
            self.next += 1;
            let operand = self.operand(power::PRODUCT)?;
            return match operand.kind {
                ExprKind::Integer(_) | ExprKind::Double(_) => Ok(operand.kind),
                _ => Err(Fault::unsupported(sign, "+", "remove it")),
            };
        }
        if self.is(":") {
            let help = "a query has no parameters; write the value";
            return Err(Fault::unsupported(self.at(), ":", help));
        }
        Err(self.unexpected("an expression"))
    }

    /// Parses an expression that begins with a keyword. Returns `None` if a name begins here.
    fn keyword(&mut self) -> Parsed<Option<ExprKind>> {
        let at = self.at();
        let constants = [
            ("NULL", ExprKind::Null),
            ("TRUE", ExprKind::Boolean(true)),
            ("FALSE", ExprKind::Boolean(false)),
        ];
        if let Some((_, constant)) = constants.into_iter().find(|(word, _)| self.take(word)) {
            return Ok(Some(constant));
        }
        Ok(Some(if self.is("CASE") && self.is_operand(1) {
            self.next += 1;
            self.case()?
        } else if self.take("EXISTS (") {
            let query = Box::new(self.query()?);
            self.expect(")")?;
            let kind = SubqueryKind::Exists;
            ExprKind::Subquery { kind, query }
        } else if self.take("NOT") {
            ExprKind::operation(Operator::Not, [self.operand(power::NOT)?])
        } else if self.is("CAST (") || self.is("TRY_CAST (") || self.is("SAFE_CAST (") {
            let is_try = !self.is("CAST");
            self.next += 2;
            let expr = Box::new(self.expr()?);
            self.expect("AS")?;
            let to = self.data_type()?;
            self.expect(")")?;
            ExprKind::Cast { expr, to, is_try }
        } else if self.take("ARRAY [") {
            self.list_of_values(at)?
        } else if self.is_ahead(1, "'") && self.kind() == TokenKind::Word {
            let to = self.data_type()?;
            let expr = Box::new(self.prefix()?);
            let is_try = false;
            ExprKind::Cast { expr, to, is_try }
        } else {
            return Ok(None);
        }))
    }

    /// Returns whether an operand begins after `ahead` tokens. This distinguishes the keyword CASE from a column named
    /// `case`: only the keyword is followed by an operand.
    fn is_operand(&self, ahead: usize) -> bool {
        let is_any = |words: &str, ahead| words.split(' ').any(|word| self.is_ahead(ahead, word));
        match self.token(ahead).map(|token| token.kind) {
            Some(TokenKind::Word) if is_any("NOT", ahead) => {
                !is_any("IN LIKE ILIKE BETWEEN", ahead + 1)
            }
            Some(TokenKind::Word) => {
                let is_keyword = self
                    .token(ahead)
                    .is_some_and(|token| is_reserved(&token.text));
                !is_keyword || is_any("WHEN CASE NULL TRUE FALSE LEFT RIGHT", ahead)
            }
            Some(TokenKind::Symbol) => is_any("( [ - +", ahead),
            Some(TokenKind::End) | None => false,
            Some(_) => true,
        }
    }

    fn case(&mut self) -> Parsed<ExprKind> {
        let operand = match self.is("WHEN") {
            true => None,
            false => Some(self.expr()?),
        };
        let mut branches = Vec::new();
        while self.take("WHEN") {
            let mut condition = self.expr()?;
            if let Some(operand) = &operand {
                let at = operand.at;
                let operands = [self.copy(operand)?, condition];
                condition = ExprKind::operation(Operator::Equal, operands).at(at);
            }
            self.expect("THEN")?;
            branches.push((condition, self.expr()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = self.maybe("ELSE", Self::expr)?.map(Box::new);
        self.expect("END")?;
        Ok(ExprKind::Case {
            branches,
            otherwise,
        })
    }

    /// Parses the elements of a list after `[`.
    fn list_of_values(&mut self, at: Position) -> Parsed<ExprKind> {
        let elements = match self.is("]") {
            true => Vec::new(),
            false => self.list(Self::expr)?,
        };
        self.expect("]")?;
        Ok(plain_call("make_array", elements, at).kind)
    }

    /// Parses an operand that begins with a name: a column, or a call of a function or of the macro `columns`.
    fn named(&mut self) -> Parsed<Expr> {
        let at = self.at();
        let is_function = self.is_any("LEFT RIGHT") && self.is_ahead(1, "(");
        let is_table = self.is_ahead(1, ".");
        let first = self.next_name(is_function || is_table || self.is("CASE"));
        let first = first.ok_or_else(|| self.unexpected("an expression"))?;
        if let Some(column) = self.macro_call()? {
            return Ok(column);
        }
        self.next += 1;
        if self.is("(") {
            return self.call(first);
        }
        let second = self.maybe(".", Self::name)?;
        if self.is(".") || second.is_some() && self.is("(") {
            let help = match self.is("(") {
                true => "the name of a function cannot contain dots",
                false => "before the name of a column, write at most the name of a table: `t.a`",
            };
            return Err(Fault::unsupported(self.at(), ".", help));
        }
        let (table, name) = match second {
            Some(name) => (Some(first), name),
            None => (None, first),
        };
        Ok(column(table, name).at(at))
    }

    pub(super) fn data_type(&mut self) -> Parsed<CastType> {
        let at = self.at();
        let written = self.name()?.text.to_ascii_uppercase();
        let sizes = "write the type without a length";
        let text = "write VARCHAR, and `substr(a, 1, n)` to shorten a string";
        let time = "write TIMESTAMP, without a precision and without a time zone";
        let (to, help) = match written.as_str() {
            "BOOLEAN" | "BOOL" => (Some(CastType::Boolean), ""),
            "INT" | "INTEGER" | "BIGINT" | "INT8" => (Some(CastType::BigInt), sizes),
            "DOUBLE" | "FLOAT8" => (Some(CastType::Double), "write DOUBLE, and `round(a, n)`"),
            "VARCHAR" | "TEXT" | "STRING" => (Some(CastType::Varchar), text),
            "DATE" => (Some(CastType::Date), ""),
            "TIMESTAMP" => (Some(CastType::Timestamp), time),
            "CHAR" | "CHARACTER" | "NVARCHAR" => (None, text),
            "TINYINT" | "SMALLINT" => (None, "write BIGINT"),
            "REAL" | "FLOAT" | "DECIMAL" | "NUMERIC" => (None, "write DOUBLE, and `round(a, n)`"),
            _ => (
                None,
                "types are VARCHAR, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP",
            ),
        };
        // Skips words that do not change the type: DOUBLE PRECISION is DOUBLE.
        let _ = written == "DOUBLE" && self.take("PRECISION");
        let _ = written == "TIMESTAMP" && self.take("WITHOUT TIME ZONE");
        // A length, UNSIGNED, `[]` or WITH TIME ZONE after the name makes a different type.
        let is_longer = self.is_any("( UNSIGNED") || self.is("[ ]") || self.is("WITH TIME ZONE");
        match to.filter(|_| !is_longer) {
            Some(to) => Ok(to),
            None => {
                let more = if is_longer && to.is_some() {
                    " ..."
                } else {
                    ""
                };
                Err(Fault::unsupported(
                    at,
                    &format!("the type {written}{more}"),
                    help,
                ))
            }
        }
    }
}

pub(super) fn column(table: Option<Name>, name: Name) -> ExprKind {
    ExprKind::Column { table, name }
}

fn number(digits: &str, at: Position) -> Parsed<ExprKind> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = digits.parse().map(ExprKind::Integer);
        return number.map_err(|_| {
            let help = "write a decimal: `1e20`, or a string";
            Fault::unsupported(at, "an integer of more than 64 bits", help)
        });
    }
    let number = digits
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite());
    number.map(ExprKind::Double).ok_or_else(|| {
        let help = "the largest number is 1.7976931348623157e308";
        Fault::unsupported(at, digits, help)
    })
}
