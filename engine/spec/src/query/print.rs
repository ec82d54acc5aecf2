//! Prints a tree as SQL on one line. Parsing this SQL returns the same tree.

use std::fmt::{self, Display, Formatter};

use super::operators::power;
use super::parse::{is_function, is_reserved};
use super::tree::{
    Alias, Body, Call, Condition, Expr, ExprKind, Frame, FrameBound, From, Grouping, Item, Join,
    JoinKind, Name, Operator, Part, QueryTree, Select, SetOperator, SortKey, Source, SubqueryKind,
    Wildcard, Window,
};

impl Display for QueryTree {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let limit = List(" LIMIT ", self.limit.as_slice(), "");
        let offset = Some(self.offset).filter(|offset| *offset > 0);
        let offset = List(" OFFSET ", offset.as_slice(), "");
        let order_by = List(" ORDER BY ", &self.order_by, "");
        let with = List("WITH ", &self.with, " ");
        write!(f, "{with}{}{order_by}{limit}{offset}", self.body)
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} AS ({})", self.alias, self.query)
    }
}

impl Display for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Body::Select(select) => select.fmt(f),
            Body::Query(query) => write!(f, "({query})"),
            Body::Operation {
                op,
                branches,
                at: _,
            } => {
                let word = match op {
                    SetOperator::UnionAll => " UNION ALL ",
                    SetOperator::Union => " UNION ",
                    SetOperator::Except => " EXCEPT ",
                    SetOperator::Intersect => " INTERSECT ",
                };
                for (index, branch) in branches.iter().enumerate() {
                    f.write_str(if index > 0 { word } else { "" })?;
                    match branch {
                        // INTERSECT binds more strongly than the other set operations.
                        Body::Operation { op: inner, .. }
                            if index > 0
                                || *op == SetOperator::Intersect
                                    && *inner != SetOperator::Intersect =>
                        {
                            write!(f, "({branch})")?;
                        }
                        _ => branch.fmt(f)?,
                    }
                }
                Ok(())
            }
            Body::Values(rows) => {
                let rows: Vec<_> = rows.iter().map(|row| List("(", row, ")")).collect();
                List("VALUES ", &rows, "").fmt(f)
            }
        }
    }
}

/// Returns the SQL keyword of an enum variant: its name in upper case.
fn upper(variant: &impl fmt::Debug) -> String {
    format!("{variant:?}").to_uppercase()
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        write!(f, "SELECT {distinct}{}", List("", &self.items, ""))?;
        List(" FROM ", &self.from, "").fmt(f)?;
        List(" WHERE ", self.filter.as_slice(), "").fmt(f)?;
        match &self.group_by {
            Grouping::None => {}
            Grouping::All => f.write_str(" GROUP BY ALL")?,
            Grouping::Keys(keys) => List(" GROUP BY ", keys, "").fmt(f)?,
        }
        List(" HAVING ", self.having.as_slice(), "").fmt(f)?;
        List(" QUALIFY ", self.qualify.as_slice(), "").fmt(f)
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Item::Expr { expr, name } => write!(f, "{expr}{}", List(" AS ", name.as_slice(), "")),
            Item::Wildcard(wildcard) => wildcard.fmt(f),
        }
    }
}

impl Display for Wildcard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let table = List("", self.table.as_slice(), ".");
        let exclude = List(" EXCLUDE (", &self.exclude, ")");
        let item = |(name, expr): &(Name, Expr)| format!("{expr} AS {name}");
        let replace: Vec<String> = self.replace.iter().map(item).collect();
        write!(f, "{table}*{exclude}{}", List(" REPLACE (", &replace, ")"))
    }
}

impl Display for From {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        self.joins.iter().try_for_each(|join| join.fmt(f))
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let alias = match self {
            Source::Table { alias, .. } | Source::Query { alias, .. } => alias,
            Source::Unnest { alias, .. } => alias,
        };
        match self {
            Source::Table { name, .. } => name.fmt(f)?,
            Source::Query { query, .. } => write!(f, "({query})")?,
            Source::Unnest { lists, .. } => write!(f, "unnest({})", List("", lists, ""))?,
        }
        List(" AS ", alias.as_slice(), "").fmt(f)
    }
}

impl Display for Alias {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, List("(", &self.columns, ")"))
    }
}

impl Display for Join {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let words = match self.kind {
            JoinKind::Inner => "JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Right => "RIGHT JOIN",
            JoinKind::Full => "FULL JOIN",
            JoinKind::LeftSemi => "LEFT SEMI JOIN",
            JoinKind::RightSemi => "RIGHT SEMI JOIN",
            JoinKind::LeftAnti => "LEFT ANTI JOIN",
            JoinKind::RightAnti => "RIGHT ANTI JOIN",
            JoinKind::Cross => "CROSS JOIN",
        };
        write!(f, " {words} {}", self.right)?;
        match &self.condition {
            Condition::On(condition) => write!(f, " ON {condition}"),
            Condition::Using(names) => List(" USING (", names, ")").fmt(f),
            Condition::None => Ok(()),
        }
    }
}

impl Display for SortKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let order = match (self.descending, self.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, false) => " DESC NULLS LAST",
            (true, true) => " DESC",
        };
        write!(f, "{}{order}", self.expr)
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        name(
            f,
            &self.text,
            is_reserved(&self.text) || self.text == "array",
        )
    }
}

/// Writes a name, in quotes if the name is not a word or has another meaning without quotes.
fn name(f: &mut Formatter<'_>, text: &str, has_meaning: bool) -> fmt::Result {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_word =
        text.bytes().all(is_part) && !text.starts_with(|first: char| first.is_ascii_digit());
    match is_word && !text.is_empty() && !has_meaning {
        true => f.write_str(text),
        false => quoted(f, text, '"'),
    }
}

fn quoted(f: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    write!(f, "{quote}{doubled}{quote}")
}

impl Expr {
    fn operand(&self, power: u8) -> Operand<'_> {
        Operand { expr: self, power }
    }
}

/// An operand, which is printed in parentheses if its binding power is below `power`.
struct Operand<'e> {
    expr: &'e Expr,
    power: u8,
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.expr.power() < self.power {
            true => write!(f, "({})", self.expr),
            false => self.expr.fmt(f),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Column { table, name } => {
                write!(f, "{}{name}", List("", table.as_slice(), "."))
            }
            ExprKind::Null => f.write_str("NULL"),
            ExprKind::Boolean(value) => value.fmt(f),
            ExprKind::Integer(number) => number.fmt(f),
            ExprKind::Double(number) => write!(f, "{number:?}"),
            ExprKind::Text(text) => quoted(f, text, '\''),
            ExprKind::Operation { op, operands } => match (op, operands.as_slice()) {
                (Operator::Not, [operand]) => match &operand.kind {
                    ExprKind::Operation { op, operands } if op.takes_not() => {
                        operation(f, *op, operands, "NOT ")
                    }
                    ExprKind::Subquery { kind, query } => subquery(f, kind, query, "NOT "),
                    _ => write!(f, "NOT {}", operand.operand(power::NOT)),
                },
                (op, operands) => operation(f, *op, operands, ""),
            },
            ExprKind::Subquery { kind, query } => subquery(f, kind, query, ""),
            ExprKind::Cast { expr, to, is_try } => {
                let to = upper(to);
                let word = if *is_try { "TRY_CAST" } else { "CAST" };
                write!(f, "{word}({expr} AS {to})")
            }
            ExprKind::Case {
                branches,
                otherwise,
            } => {
                f.write_str("CASE")?;
                for (condition, result) in branches {
                    write!(f, " WHEN {condition} THEN {result}")?;
                }
                write!(f, "{} END", List(" ELSE ", otherwise.as_slice(), ""))
            }
            ExprKind::Call(call) => call.fmt(f),
        }
    }
}

/// Writes an operation other than NOT. `not` is written before or within the operator.
fn operation(f: &mut Formatter<'_>, op: Operator, operands: &[Expr], not: &str) -> fmt::Result {
    let (power, symbol) = (op.power(), op.symbol());
    let symbol = match symbol.strip_prefix("IS ") {
        Some(rest) => format!("IS {not}{rest}"),
        None => format!("{not}{symbol}"),
    };
    match operands {
        [operand] if op == Operator::Negate => write!(f, "-{}", operand.operand(power + 1)),
        [operand] if op != Operator::In => write!(f, "{} {symbol}", operand.operand(power)),
        [left, right] if op != Operator::In => {
            write!(
                f,
                "{} {symbol} {}",
                left.operand(power),
                right.operand(power + 1)
            )
        }
        [operand, list @ ..] => {
            write!(
                f,
                "{} {symbol} ({})",
                operand.operand(power),
                List("", list, "")
            )
        }
        [] => f.write_str(&symbol),
    }
}

fn subquery(
    f: &mut Formatter<'_>,
    kind: &SubqueryKind,
    query: &QueryTree,
    not: &str,
) -> fmt::Result {
    match kind {
        SubqueryKind::Value => write!(f, "{not}({query})"),
        SubqueryKind::Exists => write!(f, "{not}EXISTS ({query})"),
        SubqueryKind::In(operand) => {
            write!(
                f,
                "{} {not}IN ({query})",
                operand.operand(power::COMPARISON)
            )
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        name(f, &self.name.text, !is_function(&self.name.text))?;
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let star = if self.star { "*" } else { "" };
        write!(f, "({distinct}{star}{}", List("", &self.args, ""))?;
        match self.within_group {
            true => List(") WITHIN GROUP (ORDER BY ", &self.order_by, ")").fmt(f)?,
            false => write!(f, "{})", List(" ORDER BY ", &self.order_by, ""))?,
        }
        List(" FILTER (WHERE ", self.filter.as_slice(), ")").fmt(f)?;
        f.write_str(if self.ignores_nulls {
            " IGNORE NULLS"
        } else {
            ""
        })?;
        match &self.over {
            Some(window) => write!(f, " OVER ({window})"),
            None => Ok(()),
        }
    }
}

impl Display for Window {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let partition_by = List("PARTITION BY ", &self.partition_by, " ");
        let order_by = List("ORDER BY ", &self.order_by, " ");
        let frame = List("", self.frame.as_slice(), "");
        f.write_str(format!("{partition_by}{order_by}{frame}").trim_end())
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = upper(&self.units);
        write!(f, "{units} BETWEEN {} AND {}", self.start, self.end)
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FrameBound::Preceding(None) => f.write_str("UNBOUNDED PRECEDING"),
            FrameBound::Preceding(Some(rows)) => write!(f, "{rows} PRECEDING"),
            FrameBound::CurrentRow => f.write_str("CURRENT ROW"),
            FrameBound::Following(Some(rows)) => write!(f, "{rows} FOLLOWING"),
            FrameBound::Following(None) => f.write_str("UNBOUNDED FOLLOWING"),
        }
    }
}

/// Prints `.0`, the elements separated by commas, and `.2`. Prints nothing if there are no elements.
struct List<'e, T>(&'static str, &'e [T], &'static str);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let List(before, elements, after) = self;
        for (index, element) in elements.iter().enumerate() {
            write!(f, "{}{element}", if index > 0 { ", " } else { before })?;
        }
        f.write_str(if elements.is_empty() { "" } else { after })
    }
}
