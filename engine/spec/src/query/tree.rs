//! The syntax tree of a query: the supported subset of SQL, and nothing else.
//!
//! Two queries are equal if and only if their trees are equal, and two trees are equal if and only if their serializations
//! ([`QueryTree::serialized`]) are equal. Layout, comments, redundant parentheses and the spelling of keywords are not
//! part of the tree. The tree contains positions, but comparisons and the serialization ignore them.
//!
//! Each query has exactly one tree. Therefore code that builds trees must ensure these properties:
//!
//! - No parentheses are redundant: the query in a [`Body::Query`] has a clause of its own (WITH, ORDER BY, LIMIT or
//!   OFFSET), and so has a query whose body is a [`Body::Query`].
//! - A branch of a UNION is not a UNION of the same kind.
//! - A minus sign before a number is part of the number, but -0.0 is [`Operator::Negate`] of 0.0.
//! - The name of a function is not an alias.
//!
//! The parser replaces expressions that other nodes can represent: `a BETWEEN b AND c` becomes `a >= b AND a <= c`,
//! `a NOT IN (b)` becomes `NOT a IN (b)`, and `CASE a WHEN b ...` becomes `CASE WHEN a = b ...`. It also expands macros
//! such as `one_hot`, and replaces the name of a list by the strings of the list.

use serde::Serialize;

/// A position in a query's text: line and column, from 1. Line 0 means that the position is unknown.
///
/// All positions are equal to each other, because trees that differ only in positions are the same query.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl PartialEq for Position {
    fn eq(&self, _: &Position) -> bool {
        true
    }
}

impl Eq for Position {}

/// A name as it is written, without quotes. Names are case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it is written.
    #[serde(skip)]
    pub at: Position,
}

/// A query: optional parts of WITH, a body, and the clauses that follow the body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryTree {
    /// The queries that WITH defines, in order. Each can use the earlier ones.
    pub with: Vec<Part>,
    /// The rows.
    pub body: Body,
    /// The keys of ORDER BY.
    pub order_by: Vec<SortKey>,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// Number of rows to skip.
    pub offset: u64,
    /// Where the query begins.
    #[serde(skip)]
    pub at: Position,
}

/// A query that WITH defines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// The name of the table that the query defines, and the names of its columns.
    pub alias: Alias,
    /// The query.
    pub query: QueryTree,
}

/// The name of an item of FROM or of a part of WITH, as in `AS t(a, b)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alias {
    /// The name.
    pub name: Name,
    /// New names of the columns. Empty if the columns keep their names.
    pub columns: Vec<Name>,
}

/// The rows of a query, before ORDER BY and LIMIT.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Body {
    /// `SELECT ...`
    Select(Box<Select>),
    /// A query in parentheses.
    Query(Box<QueryTree>),
    /// `a UNION b`, `a EXCEPT b`, ... A chain of UNION is one node, because UNION is associative. All other operations
    /// have two branches.
    Operation {
        /// The operation.
        op: SetOperator,
        /// Two branches or more.
        branches: Vec<Body>,
        /// Where the right operand of the last operator begins.
        #[serde(skip)]
        at: Position,
    },
    /// `VALUES (1, 'a'), (2, 'b')`. The columns are named `column1`, `column2`, ...
    Values(Vec<Vec<Expr>>),
}

/// An operation on the rows of several queries. All except UNION ALL return distinct rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are those of SQL")]
pub enum SetOperator {
    UnionAll,
    Union,
    Except,
    Intersect,
}

/// A SELECT.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Select {
    /// Whether equal rows are removed.
    pub distinct: bool,
    /// The select list.
    pub items: Vec<Item>,
    /// The items of FROM. Several items are a cross join.
    pub from: Vec<From>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// The keys of GROUP BY. A number is the position of an item of the select list.
    pub group_by: Grouping,
    /// HAVING.
    pub having: Option<Expr>,
    /// QUALIFY.
    pub qualify: Option<Expr>,
    /// Where the SELECT begins.
    #[serde(skip)]
    pub at: Position,
}

/// The keys of GROUP BY.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub enum Grouping {
    /// There is no GROUP BY.
    #[default]
    None,
    /// `GROUP BY ALL`: the items of the select list without an aggregate.
    All,
    /// These keys.
    Keys(Vec<Expr>),
}

/// An item of a select list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Item {
    /// An expression, with its name if it has an AS.
    Expr {
        /// The expression.
        expr: Expr,
        /// The name after AS.
        name: Option<Name>,
    },
    /// `*` or `t.*`.
    Wildcard(Wildcard),
}

/// `*` or `t.*`, with the columns that are left out or replaced.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wildcard {
    /// The table before the dot.
    pub table: Option<Name>,
    /// The columns of EXCLUDE.
    pub exclude: Vec<Name>,
    /// The columns of REPLACE, with the expressions that replace them.
    pub replace: Vec<(Name, Expr)>,
    /// Where the wildcard is written.
    #[serde(skip)]
    pub at: Position,
}

/// An item of FROM with its joins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct From {
    /// The first table.
    pub first: Source,
    /// The joined tables, in order.
    pub joins: Vec<Join>,
}

/// A table, subquery or list in FROM.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Source {
    /// A table of the pipeline, or a part of WITH.
    Table {
        /// The name of the table.
        name: Name,
        /// The name after AS.
        alias: Option<Alias>,
    },
    /// A subquery.
    Query {
        /// The subquery.
        query: Box<QueryTree>,
        /// The name after AS.
        alias: Option<Alias>,
        /// Where the subquery begins.
        #[serde(skip)]
        at: Position,
    },
    /// `unnest(list, ...)`: a row for each element of the lists. If `unnest` is the right side of a CROSS JOIN, the
    /// lists may use the columns of the left side.
    Unnest {
        /// The lists.
        lists: Vec<Expr>,
        /// The name after AS, with the names of the columns.
        alias: Option<Alias>,
        /// Where `unnest` is written.
        #[serde(skip)]
        at: Position,
    },
}

/// A join with one further table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Join {
    /// The kind.
    pub kind: JoinKind,
    /// The table.
    pub right: Source,
    /// The condition. [`Condition::None`] for a cross join only.
    pub condition: Condition,
    /// Where the table begins.
    #[serde(skip)]
    pub at: Position,
}

/// The kind of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are those of SQL")]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    LeftSemi,
    RightSemi,
    LeftAnti,
    RightAnti,
    Cross,
}

/// The condition of a join.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Condition {
    /// ON.
    On(Expr),
    /// USING.
    Using(Vec<Name>),
    /// No condition.
    None,
}

/// A key of ORDER BY.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SortKey {
    /// The expression. In the ORDER BY of a query, a number is the position of a column.
    pub expr: Expr,
    /// Whether the largest value comes first.
    pub descending: bool,
    /// Whether missing values come first. The default is SQL's: last, and first in descending order.
    pub nulls_first: bool,
}

/// An expression, with the position of its first character.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Expr {
    /// The expression.
    pub kind: ExprKind,
    /// Where it begins.
    #[serde(skip)]
    pub at: Position,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ExprKind {
    /// A column, with the table before the dot.
    Column {
        /// The table.
        table: Option<Name>,
        /// The column.
        name: Name,
    },
    /// NULL.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// An integer of 64 bits. A minus sign before the digits is part of the literal.
    Integer(i64),
    /// A finite double, not -0.0.
    Double(f64),
    /// A string literal.
    Text(String),
    /// `a + b`, `NOT a`, `a IS NULL`, `a IN (b, c)`, ...
    Operation {
        /// The operator.
        op: Operator,
        /// The operands, as many as the operator has. The first operand of IN is compared with the others.
        operands: Vec<Expr>,
    },
    /// An operation on the rows of a query.
    Subquery {
        /// The operation.
        kind: SubqueryKind,
        /// The query.
        query: Box<QueryTree>,
    },
    /// `CAST(a AS BIGINT)`, or `TRY_CAST`, whose result is missing if the value cannot be converted.
    Cast {
        /// The value.
        expr: Box<Expr>,
        /// The type of the result.
        to: CastType,
        /// Whether a failure gives a missing value.
        is_try: bool,
    },
    /// `CASE ... END`
    Case {
        /// The conditions and results, in order.
        branches: Vec<(Expr, Expr)>,
        /// The result if no condition is true.
        otherwise: Option<Box<Expr>>,
    },
    /// A call of a function. `[a, b]` is `make_array(a, b)`, `a[1]` is `array_element(a, 1)`, and so on.
    Call(Box<Call>),
}

/// An operation on the rows of a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum SubqueryKind {
    /// `(SELECT ...)`: the value of a query with one column and at most one row.
    Value,
    /// `EXISTS (SELECT ...)`
    Exists,
    /// `a IN (SELECT ...)`: whether the only column of the query contains the value.
    In(Box<Expr>),
}

impl ExprKind {
    pub(crate) fn operation(op: Operator, operands: impl Into<Vec<Expr>>) -> ExprKind {
        let operands = operands.into();
        ExprKind::Operation { op, operands }
    }

    /// Returns the expression at a position.
    pub(crate) fn at(self, at: Position) -> Expr {
        Expr { kind: self, at }
    }
}

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "the names are those of the operators")]
pub enum Operator {
    Or,
    And,
    Not,
    IsNull,
    IsTrue,
    IsFalse,
    IsUnknown,
    IsDistinct,
    /// A backslash escapes `%`, `_` and itself.
    Like,
    /// LIKE for which upper and lower case are equal.
    Ilike,
    In,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `a ~ b`
    Matches,
    /// `a ~* b`
    MatchesAnyCase,
    BitOr,
    ShiftLeft,
    ShiftRight,
    BitAnd,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    /// `||`
    Join,
    Negate,
}

/// A type in CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are those of SQL")]
pub enum CastType {
    Boolean,
    /// 64 bits. The only type of integers.
    BigInt,
    /// 64 bits. The only type of floating-point numbers.
    Double,
    Varchar,
    Date,
    Timestamp,
}

/// A call of a function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// The name of the function in lower case, as the reference lists it. The parser replaces aliases of a function by
    /// this name.
    pub name: Name,
    /// The arguments. Empty for `count(*)`.
    pub args: Vec<Expr>,
    /// Whether the argument is `*`.
    pub star: bool,
    /// DISTINCT before the arguments.
    pub distinct: bool,
    /// ORDER BY in the parentheses, or of WITHIN GROUP.
    pub order_by: Vec<SortKey>,
    /// Whether the call has WITHIN GROUP.
    pub within_group: bool,
    /// FILTER.
    pub filter: Option<Expr>,
    /// Whether the call has IGNORE NULLS.
    pub ignores_nulls: bool,
    /// OVER.
    pub over: Option<Window>,
}

/// The window of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Window {
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// The frame. SQL's default if `None`.
    pub frame: Option<Frame>,
}

/// The frame of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// The unit of the bounds.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
}

/// The unit of the bounds of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are those of SQL")]
pub enum FrameUnits {
    Rows,
    Range,
    Groups,
}

/// A bound of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum FrameBound {
    /// `n PRECEDING`. The first row of the partition if `None`.
    Preceding(Option<u64>),
    /// `CURRENT ROW`
    CurrentRow,
    /// `n FOLLOWING`. The last row of the partition if `None`.
    Following(Option<u64>),
}
