//! Queries as trees, which are generated, printed as SQL, and evaluated row by row.

use crate::random::value::{Kind, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    pub name: String,
    pub kind: Kind,
}

/// The documented order of a query's rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// The order of the tables in FROM, or of an ORDER BY.
    Defined,
    /// Undefined, unless an ORDER BY names these columns of the query.
    Keys(Vec<usize>),
    Undefined,
}

impl Order {
    pub fn is_defined(&self) -> bool {
        *self == Order::Defined
    }
}

#[derive(Debug, Clone)]
pub struct Query {
    pub ctes: Vec<(String, Query)>,
    pub body: Body,
    pub order_by: Vec<OrderKey>,
    pub limit: Option<usize>,
    pub offset: Option<usize>,
    pub columns: Vec<OutputColumn>,
    /// The order without the ORDER BY of the query.
    pub unsorted: Order,
    pub order: Order,
}

#[derive(Debug, Clone)]
pub enum Body {
    Select(Box<Select>),
    Set {
        operator: SetOperator,
        left: Box<Query>,
        right: Box<Query>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    UnionAll,
    Union,
    Except,
    Intersect,
}

#[derive(Debug, Clone)]
pub struct Select {
    pub is_distinct: bool,
    pub items: Vec<Item>,
    /// The tables separated by commas. Empty for a SELECT without FROM.
    pub from: Vec<From>,
    pub filter: Option<Expr>,
    /// The keys of GROUP BY. A key with the index of an item is printed as the item's position, as in `GROUP BY 1`.
    pub group_by: Vec<(Expr, Option<usize>)>,
    /// Whether the rows are aggregated, with or without keys.
    pub is_grouped: bool,
    pub having: Option<Expr>,
    pub qualify: Option<Expr>,
}

#[derive(Debug, Clone)]
pub enum Item {
    Expr(Expr, String),
    /// `*` or `a.*`: all columns in order, some of them excluded or replaced.
    Star {
        qualifier: Option<String>,
        excluded: Vec<String>,
        /// Expression and name of each column, and whether REPLACE contains the expression.
        columns: Vec<(Expr, String, bool)>,
    },
}

#[derive(Debug, Clone)]
pub enum From {
    Source {
        source: Source,
        alias: String,
        width: usize,
    },
    Join {
        kind: Join,
        left: Box<From>,
        right: Box<From>,
        on: Option<Expr>,
        /// Columns with one name on both sides: the name, and the column indices on the left and right side.
        using: Vec<(String, usize, usize)>,
    },
}

#[derive(Debug, Clone)]
pub enum Source {
    /// The index of a table.
    Table(usize),
    /// The name of a part of WITH.
    Part(String),
    Query(Box<Query>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    Semi,
    Anti,
}

#[derive(Debug, Clone)]
pub struct OrderKey {
    pub by: OrderBy,
    pub is_descending: bool,
    pub nulls_first: Option<bool>,
}

impl OrderKey {
    /// Returns whether NULL comes first. By default, NULL comes first in descending order.
    pub fn has_nulls_first(&self) -> bool {
        self.nulls_first.unwrap_or(self.is_descending)
    }
}

#[derive(Debug, Clone)]
pub enum OrderBy {
    /// A column of the select list, by name or by position.
    Output {
        place: usize,
        by_position: bool,
    },
    Expr(Expr),
}

#[derive(Debug, Clone)]
pub struct ColumnRef {
    pub alias: String,
    pub name: String,
    pub is_qualified: bool,
    /// Number of queries between this reference and the column's query: 0 for the same query.
    pub level: usize,
    pub place: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    Minus,
    Not,
    IsNull,
    IsNotNull,
    IsTrue,
    IsNotTrue,
    Upper,
    Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Concat,
    Distinct,
    NotDistinct,
    NullIf,
}

#[derive(Debug, Clone)]
pub enum Expr {
    Column(ColumnRef),
    Literal(Value),
    Unary(Unary, Box<Expr>),
    Binary {
        operator: Binary,
        left: Box<Expr>,
        right: Box<Expr>,
        /// Whether the operands are integers. DuckDB writes a division of integers as `//`.
        is_integer: bool,
    },
    Between {
        value: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        is_negated: bool,
    },
    In {
        value: Box<Expr>,
        items: Vec<Expr>,
        is_negated: bool,
    },
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Coalesce(Vec<Expr>),
    Replace(Box<Expr>, Box<Expr>, Box<Expr>),
    Scalar(Box<Query>),
    Exists(Box<Query>, bool),
    InQuery {
        value: Box<Expr>,
        query: Box<Query>,
        is_negated: bool,
    },
    /// A key of GROUP BY: its index, and its expression.
    Key(usize, Box<Expr>),
    Aggregate(Box<Aggregate>),
    Window(Box<Window>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    CountAll,
    Count,
    Sum,
    Average,
    Min,
    Max,
    Joined,
    First,
    Last,
    RowNumber,
    Rank,
    DenseRank,
    Lag,
    Lead,
}

#[derive(Debug, Clone)]
pub struct Aggregate {
    pub call: Call,
    pub argument: Option<Expr>,
    pub is_distinct: bool,
    pub order_by: Vec<OrderKey>,
    pub filter: Option<Expr>,
}

#[derive(Debug, Clone)]
pub struct Window {
    pub call: Call,
    pub argument: Option<Expr>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderKey>,
    pub frame: Option<Frame>,
}

/// A frame of ROWS or GROUPS. `None` is an unbounded bound. Negative bounds precede the current row.
#[derive(Debug, Clone)]
pub struct Frame {
    pub is_groups: bool,
    pub start: Option<i64>,
    pub end: Option<i64>,
}

impl Expr {
    pub fn binary(operator: Binary, left: Expr, right: Expr) -> Expr {
        Expr::Binary {
            operator,
            left: Box::new(left),
            right: Box::new(right),
            is_integer: false,
        }
    }

    pub fn and(self, other: Expr) -> Expr {
        Expr::binary(Binary::And, self, other)
    }
}

impl From {
    pub fn width(&self) -> usize {
        match self {
            From::Source { width, .. } => *width,
            From::Join {
                kind: Join::Semi | Join::Anti,
                left,
                ..
            } => left.width(),
            From::Join { left, right, .. } => left.width() + right.width(),
        }
    }
}

impl OrderKey {
    pub fn expr(&self) -> Option<&Expr> {
        match &self.by {
            OrderBy::Expr(expr) => Some(expr),
            OrderBy::Output { .. } => None,
        }
    }
}

impl Select {
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let items = self.items.iter().flat_map(|item| match item {
            Item::Expr(expr, _) => vec![expr],
            Item::Star { columns, .. } => columns.iter().map(|(expr, _, _)| expr).collect(),
        });
        items.chain(&self.qualify)
    }
}

impl Expr {
    /// Calls `visit` for this expression and its operands, but not for subqueries.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        for operand in self.operands() {
            operand.walk(visit);
        }
    }

    fn operands(&self) -> Vec<&Expr> {
        match self {
            Expr::Unary(_, inner) => vec![inner],
            Expr::Binary { left, right, .. } => vec![left, right],
            Expr::Between {
                value, low, high, ..
            } => vec![value, low, high],
            Expr::In { value, items, .. } => std::iter::once(&**value).chain(items).collect(),
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => {
                let branches = branches.iter().flat_map(|(when, then)| [when, then]);
                let ends = operand.iter().chain(otherwise).map(|expr| &**expr);
                ends.chain(branches).collect()
            }
            Expr::Coalesce(items) => items.iter().collect(),
            Expr::Replace(text, from, to) => vec![text, from, to],
            Expr::InQuery { value, .. } => vec![value],
            _ => Vec::new(),
        }
    }
}
