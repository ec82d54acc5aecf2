//! The syntax tree (AST) of the SQL that queries can use.
//!
//! Two queries are treated as equal if and only if their trees are equal. Equal trees have equal serializations
//! ([`QueryTree::serialized`]), and different trees have different serializations. Layout, comments and redundant
//! parentheses are not part of the tree. Comparisons ignore positions.
//!
//! A query must not have two different trees. Therefore code that builds trees must follow these rules:
//!
//! - A [`Body::Query`] represents only parentheses that are needed: both the query in the parentheses and the query around
//!   them have a WITH, ORDER BY, LIMIT or OFFSET clause.
//! - A branch of a UNION is not a UNION of the same kind.
//! - A minus sign before a number is part of the number, but -0.0 is [`Operator::Negate`] of 0.0.
//! - A function has its main name, not an alias.
//!
//! The parser simplifies: `a BETWEEN b AND c` becomes `a >= b AND a <= c`, `a NOT IN (b)` becomes `NOT a IN (b)`, and
//! `CASE a WHEN b ...` becomes `CASE WHEN a = b ...`. It also expands macros. If a name refers to a
//! list in the pipeline's section `lists`, the parser replaces the name by the list's strings.

use serde::Serialize;

/// A position in a query's text. Line 0 means unknown. `==` is true for any two positions, so that
/// comparisons of trees ignore positions.
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

/// A name, without its quotes if it is written in quotes. Names are case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Name {
    /// The name.
    pub text: String,
    /// The position.
    #[serde(skip)]
    pub at: Position,
}

/// A query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryTree {
    /// The parts of WITH. Each can use the earlier parts.
    pub with: Vec<Part>,
    /// The body, which determines the rows.
    pub body: Body,
    /// The keys of ORDER BY.
    pub order_by: Vec<SortKey>,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// Number of rows to skip.
    pub offset: u64,
    /// The start of the query.
    #[serde(skip)]
    pub at: Position,
}

/// A part of WITH.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// The name of the part, and the names of its columns.
    pub alias: Alias,
    /// The query.
    pub query: QueryTree,
}

/// The name of an item of FROM or a part of WITH, as in `AS t(a, b)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alias {
    /// The name.
    pub name: Name,
    /// New names of the columns. Empty if the columns keep their names.
    pub columns: Vec<Name>,
}

/// The body of a query, without WITH, ORDER BY and LIMIT.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Body {
    /// `SELECT ...`
    Select(Box<Select>),
    /// A query in parentheses.
    Query(Box<QueryTree>),
    /// `a UNION b`, `a EXCEPT b`, ... A chain of UNION is one node. All other operations have two branches.
    Operation {
        /// The operator.
        op: SetOperator,
        /// The branches.
        branches: Vec<Body>,
        /// The start of the last branch.
        #[serde(skip)]
        at: Position,
    },
    /// `VALUES (1, 'a'), (2, 'b')`. The columns are named `column1`, `column2`, ...
    Values(Vec<Vec<Expr>>),
}

/// A set operator. All except UNION ALL return distinct rows.
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
    /// DISTINCT.
    pub distinct: bool,
    /// The select list.
    pub items: Vec<Item>,
    /// The items of FROM. Several items are a cross join.
    pub from: Vec<From>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Grouping,
    /// HAVING.
    pub having: Option<Expr>,
    /// QUALIFY.
    pub qualify: Option<Expr>,
    /// The start of the SELECT.
    #[serde(skip)]
    pub at: Position,
}

/// The keys of GROUP BY.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub enum Grouping {
    /// No GROUP BY.
    #[default]
    None,
    /// `GROUP BY ALL`: the items of the select list without an aggregate.
    All,
    /// The keys. A number is the position of an item of the select list.
    Keys(Vec<Expr>),
}

/// An item of a select list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Item {
    /// An expression, and its name if it has one.
    Expr {
        /// The expression.
        expr: Expr,
        /// The name after AS.
        name: Option<Name>,
    },
    /// `*` or `t.*`.
    Wildcard(Wildcard),
}

/// `*` or `t.*`, with EXCLUDE and REPLACE.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wildcard {
    /// The table before the dot.
    pub table: Option<Name>,
    /// The columns of EXCLUDE.
    pub exclude: Vec<Name>,
    /// The columns of REPLACE, with their new expressions.
    pub replace: Vec<(Name, Expr)>,
    /// The start of the wildcard.
    #[serde(skip)]
    pub at: Position,
}

/// An item of FROM with its joins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct From {
    /// The first table.
    pub first: Source,
    /// The joins in order.
    pub joins: Vec<Join>,
}

/// A source of rows in FROM.
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
        /// The start of the subquery.
        #[serde(skip)]
        at: Position,
    },
    /// `unnest(list, ...)`: a row for each element of the lists. The lists may be columns of the left side of a CROSS JOIN.
    Unnest {
        /// The lists.
        lists: Vec<Expr>,
        /// The name after AS, with the names of the columns.
        alias: Option<Alias>,
        /// The start of `unnest`.
        #[serde(skip)]
        at: Position,
    },
}

/// A join with one table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Join {
    /// The kind.
    pub kind: JoinKind,
    /// The table.
    pub right: Source,
    /// The condition. Only a cross join has [`Condition::None`].
    pub condition: Condition,
    /// The start of the table.
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
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST. By default, NULL comes last in ascending order and first in descending order.
    pub nulls_first: bool,
}

/// An expression with its position.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Expr {
    /// The expression.
    pub kind: ExprKind,
    /// The start of the expression.
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
    /// A 64-bit integer, including its minus sign.
    Integer(i64),
    /// A finite double other than -0.0.
    Double(f64),
    /// A string literal.
    Text(String),
    /// `a + b`, `NOT a`, `a IS NULL`, `a IN (b, c)`, ...
    Operation {
        /// The operator.
        op: Operator,
        /// The operands. The first operand of IN is compared with the others.
        operands: Vec<Expr>,
    },
    /// A subquery in an expression.
    Subquery {
        /// The kind.
        kind: SubqueryKind,
        /// The query.
        query: Box<QueryTree>,
    },
    /// `CAST(a AS BIGINT)` or `TRY_CAST(a AS BIGINT)`.
    Cast {
        /// The value.
        expr: Box<Expr>,
        /// The target type.
        to: CastType,
        /// TRY_CAST, which returns NULL for a value that cannot be converted.
        is_try: bool,
    },
    /// `CASE ... END`
    Case {
        /// The conditions and their values, in order.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// A call of a function. `[a, b]` is `make_array(a, b)`, and `a[1]` is `array_element(a, 1)`.
    Call(Box<Call>),
}

/// The kind of a subquery in an expression.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum SubqueryKind {
    /// `(SELECT ...)`: the value of a query with one column and at most one row.
    Value,
    /// `EXISTS (SELECT ...)`
    Exists,
    /// `a IN (SELECT ...)`: whether the only column of the query contains `a`.
    In(Box<Expr>),
}

impl ExprKind {
    pub(crate) fn operation(op: Operator, operands: impl Into<Vec<Expr>>) -> ExprKind {
        let operands = operands.into();
        ExprKind::Operation { op, operands }
    }

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
    /// LIKE, in which a backslash escapes `%`, `_` and itself.
    Like,
    /// ILIKE: LIKE that ignores case.
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
    /// 64 bits. The only integer type.
    BigInt,
    /// 64 bits. The only floating-point type.
    Double,
    Varchar,
    Date,
    Timestamp,
}

/// A call of a function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// The name in lower case. The parser replaces aliases.
    pub name: Name,
    /// The arguments. Empty for `count(*)`.
    pub args: Vec<Expr>,
    /// Whether the argument is `*`.
    pub star: bool,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY in the parentheses, or of WITHIN GROUP.
    pub order_by: Vec<SortKey>,
    /// WITHIN GROUP.
    pub within_group: bool,
    /// FILTER.
    pub filter: Option<Expr>,
    /// IGNORE NULLS.
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
    /// The frame. `None` for SQL's default.
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
    /// `n PRECEDING`, or `UNBOUNDED PRECEDING` if `None`.
    Preceding(Option<u64>),
    /// `CURRENT ROW`
    CurrentRow,
    /// `n FOLLOWING`, or `UNBOUNDED FOLLOWING` if `None`.
    Following(Option<u64>),
}
