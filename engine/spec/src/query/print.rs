//! Prints a tree as SQL on one line. Parsing the text gives the same tree.

use std::fmt::{self, Display, Formatter};

use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, Keyword};

use super::tree::{
    Alias, BinaryOperator, Body, Call, Condition, Expr, ExprKind, Frame, FrameBound, From,
    Grouping, Item, Join, JoinKind, Name, Part, QueryTree, Select, SortKey, Source, Wildcard,
    Window,
};

/// Keywords that are also common names, and are names wherever a tree has a name.
const NAMES: &str = "action author category class comment count data date day domain file format hour id index key label \
    language level location max min minute month name number path position rank record rows second sequence source sum tag \
    target text time timestamp title type url value version year";

/// Keywords that are also functions, with the usual syntax of calls.
const FUNCTIONS: &str = "abs array_agg avg ceil char_length character_length coalesce concat contains count cume_dist \
    dense_rank exp first_value floor greatest lag last_value lead least left ln lower max min nth_value ntile nullif \
    percent_rank percentile_cont power range rank regexp_like repeat replace reverse right round row_number sqrt string_agg \
    sum substr translate unnest upper";

/// Binding powers. An operand with a lower power than its operator requires is in parentheses.
mod power {
    pub const ANY: u8 = 0;
    pub const OR: u8 = 5;
    pub const AND: u8 = 10;
    pub const NOT: u8 = 15;
    pub const IS: u8 = 17;
    pub const LIKE: u8 = 19;
    pub const COMPARISON: u8 = 20;
    pub const BIT_OR: u8 = 21;
    pub const SHIFT: u8 = 22;
    pub const BIT_AND: u8 = 23;
    pub const SUM: u8 = 30;
    pub const PRODUCT: u8 = 40;
    pub const SIGN: u8 = 45;
    pub const ELEMENT: u8 = 50;
    pub const PRIMARY: u8 = 60;
}

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
            Body::Union { all, branches } => {
                let word = if *all { " UNION ALL " } else { " UNION " };
                for (index, branch) in branches.iter().enumerate() {
                    f.write_str(if index > 0 { word } else { "" })?;
                    branch_of(f, branch, index == 0)?;
                }
                Ok(())
            }
            Body::Except { left, right, at: _ } => {
                branch_of(f, left, true)?;
                f.write_str(" EXCEPT ")?;
                branch_of(f, right, false)
            }
            Body::Intersect { left, right, at: _ } => {
                branch_of(f, left, matches!(**left, Body::Intersect { .. }))?;
                f.write_str(" INTERSECT ")?;
                branch_of(f, right, false)
            }
            Body::Values(rows) => {
                let rows: Vec<_> = rows.iter().map(|row| List("(", row, ")")).collect();
                List("VALUES ", &rows, "").fmt(f)
            }
        }
    }
}

/// Returns the name of a variant as SQL writes it: in upper case.
fn upper(variant: &impl fmt::Debug) -> String {
    format!("{variant:?}").to_uppercase()
}

/// Writes a branch of a set operation. If `is_open` is true, a set operation needs no parentheses.
fn branch_of(f: &mut Formatter<'_>, body: &Body, is_open: bool) -> fmt::Result {
    match body {
        Body::Union { .. } | Body::Except { .. } | Body::Intersect { .. } if !is_open => {
            write!(f, "({body})")
        }
        _ => body.fmt(f),
    }
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
        name(f, &self.text, NAMES)
    }
}

/// Writes a name, in quotes unless it is a word that is not a keyword. The keywords in `allowed` need no quotes.
fn name(f: &mut Formatter<'_>, text: &str, allowed: &str) -> fmt::Result {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_word =
        text.bytes().all(is_part) && !text.starts_with(|first: char| first.is_ascii_digit());
    let is_allowed = |text| allowed.split_whitespace().any(|word| word == text);
    if is_word && !text.is_empty() && (!is_keyword(text) || is_allowed(text)) {
        return f.write_str(text);
    }
    quoted(f, text, '"')
}

fn is_keyword(text: &str) -> bool {
    let found = ALL_KEYWORDS.binary_search(&text.to_ascii_uppercase().as_str());
    let keyword = found.ok().and_then(|index| ALL_KEYWORDS_INDEX.get(index));
    keyword.is_some_and(|keyword| *keyword != Keyword::NoKeyword)
}

fn quoted(f: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    write!(f, "{quote}{doubled}{quote}")
}

impl Expr {
    fn power(&self) -> u8 {
        match &self.kind {
            ExprKind::Integer(..0) | ExprKind::Negate(_) => power::SIGN,
            ExprKind::Double(number) if *number < 0.0 => power::SIGN,
            ExprKind::Column { .. }
            | ExprKind::Null
            | ExprKind::Boolean(_)
            | ExprKind::Integer(_)
            | ExprKind::Double(_)
            | ExprKind::Text(_)
            | ExprKind::Subquery(_)
            | ExprKind::Cast { .. }
            | ExprKind::Case { .. }
            | ExprKind::Call(_) => power::PRIMARY,
            ExprKind::Element { .. } | ExprKind::Slice { .. } => power::ELEMENT,
            ExprKind::Not(_) => power::NOT,
            ExprKind::Binary { op, .. } => op.power(),
            ExprKind::Is { .. } => power::IS,
            ExprKind::Like { .. } => power::LIKE,
            ExprKind::Between { .. } | ExprKind::InList { .. } | ExprKind::InQuery { .. } => {
                power::COMPARISON
            }
            // The parser reads everything after IS DISTINCT FROM as its operand, and `NOT EXISTS` as one operation.
            ExprKind::IsDistinct { .. } | ExprKind::Exists { .. } => power::ANY,
        }
    }

    /// Returns the expression as an operand of an operator that binds with this power.
    fn operand(&self, power: u8) -> Operand<'_> {
        Operand { expr: self, power }
    }
}

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
        let power = self.power();
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match &self.kind {
            ExprKind::Column { table, name } => {
                write!(f, "{}{name}", List("", table.as_slice(), "."))
            }
            ExprKind::Null => f.write_str("NULL"),
            ExprKind::Boolean(value) => value.fmt(f),
            ExprKind::Integer(number) => number.fmt(f),
            ExprKind::Double(number) => write!(f, "{number:?}"),
            ExprKind::Text(text) => quoted(f, text, '\''),
            ExprKind::Not(expr) => write!(f, "NOT {}", expr.operand(power)),
            ExprKind::Negate(expr) => write!(f, "-{}", expr.operand(power + 1)),
            ExprKind::Binary { op, left, right } => {
                let (left, right) = (left.operand(power), right.operand(power + 1));
                write!(f, "{left} {} {right}", op.symbol())
            }
            ExprKind::Is {
                expr,
                value,
                negated,
            } => {
                let value = upper(value);
                write!(f, "{} IS {}{value}", expr.operand(power), not(negated))
            }
            ExprKind::IsDistinct {
                left,
                right,
                negated,
            } => {
                let (left, right) = (left.operand(power::IS), right.operand(power::IS + 1));
                write!(f, "{left} IS {}DISTINCT FROM {right}", not(negated))
            }
            ExprKind::Between {
                expr,
                low,
                high,
                negated,
            } => {
                let (low, high) = (low.operand(power + 1), high.operand(power + 1));
                let expr = expr.operand(power);
                write!(f, "{expr} {}BETWEEN {low} AND {high}", not(negated))
            }
            ExprKind::InList {
                expr,
                list,
                negated,
            } => {
                let list = List("", list, "");
                write!(f, "{} {}IN ({list})", expr.operand(power), not(negated))
            }
            ExprKind::InQuery {
                expr,
                query,
                negated,
            } => write!(f, "{} {}IN ({query})", expr.operand(power), not(negated)),
            ExprKind::Exists { query, negated } => write!(f, "{}EXISTS ({query})", not(negated)),
            ExprKind::Subquery(query) => write!(f, "({query})"),
            ExprKind::Like {
                expr,
                pattern,
                negated,
                ignores_case,
            } => {
                let (expr, pattern) = (expr.operand(power), pattern.operand(power + 1));
                let word = if *ignores_case { "ILIKE" } else { "LIKE" };
                write!(f, "{expr} {}{word} {pattern}", not(negated))
            }
            ExprKind::Cast { expr, to, is_try } => {
                let to = upper(to);
                let word = if *is_try { "TRY_CAST" } else { "CAST" };
                write!(f, "{word}({expr} AS {to})")
            }
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => {
                write!(f, "CASE{}", List(" ", operand.as_slice(), ""))?;
                for (condition, result) in branches {
                    write!(f, " WHEN {condition} THEN {result}")?;
                }
                write!(f, "{} END", List(" ELSE ", otherwise.as_slice(), ""))
            }
            ExprKind::Call(call) => call.fmt(f),
            ExprKind::Element { list, index } => {
                let index = index.operand(power::SHIFT);
                write!(f, "{}[{index}]", list.operand(power))
            }
            ExprKind::Slice { list, first, last } => {
                let operand = |bound: &Option<Box<Expr>>| {
                    let bound = bound.as_ref();
                    bound.map(|bound| bound.operand(power::SHIFT).to_string())
                };
                let (first, last) = (operand(first), operand(last));
                let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
                write!(f, "{}[{first}:{last}]", list.operand(power))
            }
        }
    }
}

impl BinaryOperator {
    fn power(self) -> u8 {
        self.written().0
    }

    /// Returns the operator as it is written.
    pub fn symbol(self) -> &'static str {
        self.written().1
    }

    /// Returns the binding power and the symbol.
    fn written(self) -> (u8, &'static str) {
        match self {
            BinaryOperator::Or => (power::OR, "OR"),
            BinaryOperator::And => (power::AND, "AND"),
            BinaryOperator::Equal => (power::COMPARISON, "="),
            BinaryOperator::NotEqual => (power::COMPARISON, "<>"),
            BinaryOperator::Less => (power::COMPARISON, "<"),
            BinaryOperator::LessOrEqual => (power::COMPARISON, "<="),
            BinaryOperator::Greater => (power::COMPARISON, ">"),
            BinaryOperator::GreaterOrEqual => (power::COMPARISON, ">="),
            BinaryOperator::Matches {
                negated,
                ignores_case,
            } => match (negated, ignores_case) {
                (false, false) => (power::COMPARISON, "~"),
                (false, true) => (power::COMPARISON, "~*"),
                (true, false) => (power::COMPARISON, "!~"),
                (true, true) => (power::COMPARISON, "!~*"),
            },
            BinaryOperator::BitOr => (power::BIT_OR, "|"),
            BinaryOperator::ShiftLeft => (power::SHIFT, "<<"),
            BinaryOperator::ShiftRight => (power::SHIFT, ">>"),
            BinaryOperator::BitAnd => (power::BIT_AND, "&"),
            BinaryOperator::Add => (power::SUM, "+"),
            BinaryOperator::Subtract => (power::SUM, "-"),
            BinaryOperator::Multiply => (power::PRODUCT, "*"),
            BinaryOperator::Divide => (power::PRODUCT, "/"),
            BinaryOperator::Remainder => (power::PRODUCT, "%"),
            BinaryOperator::Join => (power::PRODUCT, "||"),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        name(
            f,
            &self.name.text,
            if self.has_syntax() { FUNCTIONS } else { "" },
        )?;
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

impl Call {
    /// Returns `false` for a call that the parser accepts only with a name in quotes, because the function has a syntax of
    /// its own.
    fn has_syntax(&self) -> bool {
        let number = match self.name.text.as_str() {
            "ceil" | "floor" => 1..=1,
            "substr" => 2..=3,
            _ => return true,
        };
        let has_clauses = self.star
            || self.distinct
            || !self.order_by.is_empty()
            || self.filter.is_some()
            || self.ignores_nulls
            || self.over.is_some();
        number.contains(&self.args.len()) && !has_clauses
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

/// A text, elements with commas between them, and a text. Empty if there are no elements.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::query::Query;

    /// Returns the keys of a query with a name in quotes and without.
    fn keys(query: &str, name: &str) -> [Result<String, String>; 2] {
        [format!("\"{name}\""), name.to_owned()].map(|name| {
            let text = query.replace('@', &name);
            let query = Query::parse(&text).map_err(|error| format!("{error}\n{text}"))?;
            Ok(query.key)
        })
    }

    #[test]
    fn keywords_without_quotes_are_names_everywhere() {
        for name in NAMES.split_whitespace() {
            for query in [
                "SELECT @, a, @, @.@, f(@) AS @, @.* EXCLUDE (@) FROM @, a AS @(@), @ JOIN @ USING (@) WHERE @",
                "WITH @ AS (SELECT @ FROM a), @(@) AS (VALUES (@, -@)) SELECT @ FROM @ CROSS JOIN @ WHERE @ GROUP BY @, @",
                "SELECT @ FROM @ LEFT JOIN @ ON @ = @ GROUP BY @ HAVING @ QUALIFY @ ORDER BY @, @ DESC LIMIT 1",
                "SELECT CASE @ WHEN @ THEN @ ELSE @ END AS @, @ IN (@, @) AS b, @[@] AS c, @ BETWEEN @ AND @ AS d FROM t",
                "SELECT @ LIKE @ AS @, sum(@ ORDER BY @) OVER (PARTITION BY @, @ ORDER BY @) AS e, CAST(@ AS DATE) AS @ FROM t",
            ] {
                let [quoted, plain] = keys(query, name);
                assert_eq!(quoted, plain, "{name}");
                assert!(quoted.is_ok(), "{quoted:?}");
            }
        }
    }

    #[test]
    fn keywords_without_quotes_are_functions() {
        for name in FUNCTIONS.split_whitespace() {
            let args = match name {
                "ceil" | "floor" => "a",
                _ => "a, b",
            };
            let [quoted, plain] = keys(&format!("SELECT 1 AS a, @({args}) AS b FROM t"), name);
            assert_eq!(quoted, plain, "{name}");
            assert!(quoted.is_ok(), "{quoted:?}");
        }
    }
}
