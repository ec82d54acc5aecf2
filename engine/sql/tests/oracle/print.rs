//! Prints trees as SQL.

use super::database::Database;
use super::tree::{
    Aggregate, Binary, Body, Call, Expr, Frame, From, Item, Join, OrderBy, OrderKey, Query, Select,
    SetOperator, Source, Unary, Window,
};
use crate::random::value::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Prep,
    DuckDb,
}

const KEYWORDS: [&str; 6] = ["select", "order", "group", "from", "table", "null"];

pub fn name(name: &str) -> String {
    let mut characters = name.chars();
    let is_plain = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !KEYWORDS.contains(&name);
    match is_plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

pub struct Printer<'a> {
    pub dialect: Dialect,
    pub database: &'a Database,
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

impl Printer<'_> {
    pub fn query(&self, query: &Query) -> String {
        let mut text = String::new();
        if !query.ctes.is_empty() {
            let parts = query.ctes.iter();
            let parts =
                parts.map(|(part, query)| format!("{} AS ({})", name(part), self.query(query)));
            text = format!("WITH {} ", list(parts));
        }
        text += &match &query.body {
            Body::Select(select) => self.select(select),
            Body::Set {
                operator,
                left,
                right,
            } => {
                let word = match operator {
                    SetOperator::UnionAll => "UNION ALL",
                    SetOperator::Union => "UNION",
                    SetOperator::Except => "EXCEPT",
                    SetOperator::Intersect => "INTERSECT",
                };
                format!(
                    "{} {word} {}",
                    self.side(left, *operator, true),
                    self.side(right, *operator, false)
                )
            }
        };
        if !query.order_by.is_empty() {
            text += &format!(" ORDER BY {}", self.keys(&query.order_by, Some(query)));
        }
        if let Some(limit) = query.limit {
            text += &format!(" LIMIT {limit}");
        }
        if let Some(offset) = query.offset {
            text += &format!(" OFFSET {offset}");
        }
        text
    }

    fn side(&self, query: &Query, operator: SetOperator, is_left: bool) -> String {
        let is_simple = query.ctes.is_empty()
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.offset.is_none();
        let is_bare = match &query.body {
            Body::Select(_) => true,
            Body::Set {
                operator: inner, ..
            } => {
                is_left && (operator != SetOperator::Intersect || *inner == SetOperator::Intersect)
            }
        };
        let text = self.query(query);
        match is_simple && is_bare {
            true => text,
            false => format!("({text})"),
        }
    }

    fn select(&self, select: &Select) -> String {
        let distinct = if select.is_distinct { "DISTINCT " } else { "" };
        let items = list(select.items.iter().map(|item| self.item(item)));
        let mut text = format!("SELECT {distinct}{items}");
        if !select.from.is_empty() {
            let from = list(select.from.iter().map(|from| self.from(from)));
            text += &format!(" FROM {from}");
        }
        if let Some(filter) = &select.filter {
            text += &format!(" WHERE {}", self.expr(filter));
        }
        if !select.group_by.is_empty() {
            let keys = select.group_by.iter();
            let keys = keys.map(|(key, position)| match position {
                Some(position) => (position + 1).to_string(),
                None => self.expr(key),
            });
            text += &format!(" GROUP BY {}", list(keys));
        }
        if let Some(having) = &select.having {
            text += &format!(" HAVING {}", self.expr(having));
        }
        if let Some(qualify) = &select.qualify {
            text += &format!(" QUALIFY {}", self.expr(qualify));
        }
        text
    }

    fn item(&self, item: &Item) -> String {
        match item {
            Item::Expr(expr, alias) => format!("{} AS {}", self.expr(expr), name(alias)),
            Item::Star {
                qualifier,
                excluded,
                columns,
            } => {
                let mut text = match qualifier {
                    Some(alias) => format!("{}.*", name(alias)),
                    None => "*".to_owned(),
                };
                if !excluded.is_empty() {
                    let names = list(excluded.iter().map(|column| name(column)));
                    text += &format!(" EXCLUDE ({names})");
                }
                let replaced = columns.iter().filter(|(_, _, is_replaced)| *is_replaced);
                let replaced =
                    list(replaced.map(|(expr, column, _)| {
                        format!("{} AS {}", self.expr(expr), name(column))
                    }));
                if !replaced.is_empty() {
                    text += &format!(" REPLACE ({replaced})");
                }
                text
            }
        }
    }

    fn from(&self, from: &From) -> String {
        match from {
            From::Source { source, alias, .. } => {
                let source = match source {
                    Source::Table(index) => name(&self.database.tables[*index].name),
                    Source::Part(part) => name(part),
                    Source::Query(query) => format!("({})", self.query(query)),
                };
                format!("{source} AS {}", name(alias))
            }
            From::Join {
                kind,
                left,
                right,
                on,
                using,
            } => {
                let duck = self.dialect == Dialect::DuckDb;
                let word = match kind {
                    Join::Inner => "JOIN",
                    Join::Left => "LEFT JOIN",
                    Join::Right => "RIGHT JOIN",
                    Join::Full => "FULL JOIN",
                    Join::Cross => "CROSS JOIN",
                    Join::Semi if duck => "SEMI JOIN",
                    Join::Semi => "LEFT SEMI JOIN",
                    Join::Anti if duck => "ANTI JOIN",
                    Join::Anti => "LEFT ANTI JOIN",
                };
                let mut text = format!("{} {word} {}", self.from(left), self.from(right));
                if let Some(on) = on {
                    text += &format!(" ON {}", self.expr(on));
                }
                if !using.is_empty() {
                    let names = list(using.iter().map(|(column, _, _)| name(column)));
                    text += &format!(" USING ({names})");
                }
                text
            }
        }
    }

    fn keys(&self, keys: &[OrderKey], query: Option<&Query>) -> String {
        list(keys.iter().map(|key| {
            let mut text = match (&key.by, query) {
                (OrderBy::Expr(expr), _) => self.expr(expr),
                (
                    OrderBy::Output {
                        place,
                        by_position: false,
                    },
                    Some(query),
                ) => name(&query.columns[*place].name),
                (OrderBy::Output { place, .. }, _) => (place + 1).to_string(),
            };
            if key.is_descending {
                text += " DESC";
            }
            let nulls_first = match self.dialect {
                Dialect::Prep => key.nulls_first,
                Dialect::DuckDb => Some(key.has_nulls_first()),
            };
            match nulls_first {
                Some(true) => text += " NULLS FIRST",
                Some(false) => text += " NULLS LAST",
                None => {}
            }
            text
        }))
    }

    pub fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Column(column) => match column.is_qualified {
                true => format!("{}.{}", name(&column.alias), name(&column.name)),
                false => name(&column.name),
            },
            // In DuckDB, `-0.0` is a decimal number without a sign.
            Expr::Literal(Value::Number(number)) if self.dialect == Dialect::DuckDb => {
                format!("CAST('{number:?}' AS DOUBLE)")
            }
            Expr::Literal(value) => literal(value),
            Expr::Unary(operator, inner) => self.unary(*operator, inner),
            Expr::Binary {
                operator,
                left,
                right,
                is_integer,
            } => self.binary(*operator, left, right, *is_integer),
            Expr::Between {
                value,
                low,
                high,
                is_negated,
            } => format!(
                "({}{} BETWEEN {} AND {})",
                self.expr(value),
                not(*is_negated),
                self.expr(low),
                self.expr(high)
            ),
            Expr::In {
                value,
                items,
                is_negated,
            } => format!(
                "({}{} IN ({}))",
                self.expr(value),
                not(*is_negated),
                list(items.iter().map(|item| self.expr(item)))
            ),
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => {
                let mut text = "CASE".to_owned();
                if let Some(operand) = operand {
                    text += &format!(" {}", self.expr(operand));
                }
                for (when, then) in branches {
                    text += &format!(" WHEN {} THEN {}", self.expr(when), self.expr(then));
                }
                if let Some(otherwise) = otherwise {
                    text += &format!(" ELSE {}", self.expr(otherwise));
                }
                text + " END"
            }
            Expr::Coalesce(items) => {
                format!(
                    "coalesce({})",
                    list(items.iter().map(|item| self.expr(item)))
                )
            }
            Expr::Replace(text, from, to) => format!(
                "replace({}, {}, {})",
                self.expr(text),
                self.expr(from),
                self.expr(to)
            ),
            Expr::Scalar(query) => format!("({})", self.query(query)),
            Expr::Exists(query, is_negated) => {
                let not = if *is_negated { "NOT " } else { "" };
                format!("({not}EXISTS ({}))", self.query(query))
            }
            Expr::InQuery {
                value,
                query,
                is_negated,
            } => format!(
                "({}{} IN ({}))",
                self.expr(value),
                not(*is_negated),
                self.query(query)
            ),
            Expr::Key(_, key) => self.expr(key),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate),
            Expr::Window(window) => self.window(window),
        }
    }

    fn unary(&self, operator: Unary, inner: &Expr) -> String {
        let inner = self.expr(inner);
        match operator {
            Unary::Minus => format!("- {inner}"),
            Unary::Not => format!("(NOT {inner})"),
            Unary::IsNull => format!("({inner} IS NULL)"),
            Unary::IsNotNull => format!("({inner} IS NOT NULL)"),
            Unary::IsTrue => format!("({inner} IS TRUE)"),
            Unary::IsNotTrue => format!("({inner} IS NOT TRUE)"),
            Unary::Upper => format!("upper({inner})"),
            Unary::Length => format!("length({inner})"),
        }
    }

    fn binary(&self, operator: Binary, left: &Expr, right: &Expr, is_integer: bool) -> String {
        let (left, right) = (self.expr(left), self.expr(right));
        let word = match operator {
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide if is_integer && self.dialect == Dialect::DuckDb => "//",
            Binary::Divide => "/",
            Binary::Remainder => "%",
            Binary::Equal => "=",
            Binary::NotEqual => "<>",
            Binary::Less => "<",
            Binary::LessOrEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterOrEqual => ">=",
            Binary::And => "AND",
            Binary::Or => "OR",
            Binary::Concat => "||",
            Binary::Distinct => "IS DISTINCT FROM",
            Binary::NotDistinct => "IS NOT DISTINCT FROM",
            Binary::NullIf => return format!("nullif({left}, {right})"),
        };
        format!("({left} {word} {right})")
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        let distinct = if aggregate.is_distinct {
            "DISTINCT "
        } else {
            ""
        };
        let order = match aggregate.order_by.is_empty() {
            true => String::new(),
            false => format!(" ORDER BY {}", self.keys(&aggregate.order_by, None)),
        };
        let argument = aggregate.argument.as_ref().map(|expr| self.expr(expr));
        let mut text = call(aggregate.call, argument, distinct, &order);
        if let Some(filter) = &aggregate.filter {
            text += &format!(" FILTER (WHERE {})", self.expr(filter));
        }
        text
    }

    fn window(&self, window: &Window) -> String {
        let argument = window.argument.as_ref().map(|expr| self.expr(expr));
        let mut clauses = Vec::new();
        if !window.partition_by.is_empty() {
            let keys = list(window.partition_by.iter().map(|key| self.expr(key)));
            clauses.push(format!("PARTITION BY {keys}"));
        }
        if !window.order_by.is_empty() {
            clauses.push(format!("ORDER BY {}", self.keys(&window.order_by, None)));
        }
        if let Some(Frame {
            is_groups,
            start,
            end,
        }) = &window.frame
        {
            let unit = if *is_groups { "GROUPS" } else { "ROWS" };
            clauses.push(format!(
                "{unit} BETWEEN {} AND {}",
                bound(*start, "PRECEDING"),
                bound(*end, "FOLLOWING")
            ));
        }
        let call = call(window.call, argument, "", "");
        format!("{call} OVER ({})", clauses.join(" "))
    }
}

fn not(is_negated: bool) -> &'static str {
    if is_negated { " NOT" } else { "" }
}

fn bound(rows: Option<i64>, unbounded: &str) -> String {
    match rows {
        None => format!("UNBOUNDED {unbounded}"),
        Some(0) => "CURRENT ROW".to_owned(),
        Some(rows) if rows < 0 => format!("{} PRECEDING", -rows),
        Some(rows) => format!("{rows} FOLLOWING"),
    }
}

fn call(call: Call, argument: Option<String>, distinct: &str, order: &str) -> String {
    let argument = argument.unwrap_or_default();
    match call {
        Call::CountAll => "count(*)".to_owned(),
        Call::Joined => format!("string_agg({distinct}{argument}, ','{order})"),
        _ => {
            let name = match call {
                Call::Count => "count",
                Call::Sum => "sum",
                Call::Average => "avg",
                Call::Min => "min",
                Call::Max => "max",
                Call::First => "first_value",
                Call::Last => "last_value",
                Call::RowNumber => "row_number",
                Call::Rank => "rank",
                Call::DenseRank => "dense_rank",
                Call::Lag => "lag",
                _ => "lead",
            };
            format!("{name}({distinct}{argument}{order})")
        }
    }
}

/// Returns the literal of a value. NaN and infinities have no literal, and are not generated.
fn literal(value: &Value) -> String {
    match value {
        Value::Missing => "NULL".to_owned(),
        other => other.literal(),
    }
}
