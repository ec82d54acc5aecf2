//! Typed expressions over the columns of a [`Relational`](super::Relational) plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{Operator, ScalarUDF};
use prep_spec::query::tree::Position;

use crate::functions::is_operator_name;

/// A column of a plan. Each column that a node creates has a number of its own, whatever its name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ColumnId(pub u32);

/// An expression with its type. Equality ignores positions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub data_type: DataType,
    pub at: Position,
}

/// The kinds of expressions. All casts are explicit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExprKind {
    Column(ColumnId),
    Literal(ScalarValue),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        ignores_case: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
    },
    Cast {
        expr: Box<Expr>,
        is_try: bool,
    },
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Call {
        function: Arc<ScalarUDF>,
        args: Vec<Expr>,
    },
}

impl Expr {
    pub(crate) fn new(kind: ExprKind, data_type: DataType, at: Position) -> Expr {
        Expr {
            kind,
            data_type,
            at,
        }
    }

    pub(crate) fn column(id: ColumnId, data_type: DataType, at: Position) -> Expr {
        Expr::new(ExprKind::Column(id), data_type, at)
    }

    pub(crate) fn literal(value: ScalarValue, at: Position) -> Expr {
        let data_type = value.data_type();
        Expr::new(ExprKind::Literal(value), data_type, at)
    }

    pub(crate) fn boolean(kind: ExprKind, at: Position) -> Expr {
        Expr::new(kind, DataType::Boolean, at)
    }

    pub(crate) fn binary(op: Operator, left: Expr, right: Expr, data_type: DataType) -> Expr {
        let at = left.at;
        Expr::new(
            ExprKind::Binary(op, Box::new(left), Box::new(right)),
            data_type,
            at,
        )
    }

    pub(crate) fn call(
        function: Arc<ScalarUDF>,
        args: Vec<Expr>,
        data_type: DataType,
        at: Position,
    ) -> Expr {
        Expr::new(ExprKind::Call { function, args }, data_type, at)
    }

    /// Returns `CASE WHEN ... THEN ... ELSE otherwise END`. All branches must have the same type.
    pub(crate) fn case(branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>, at: Position) -> Expr {
        let first = branches.first().map(|(_, first)| first);
        let data_type = first
            .or(otherwise.as_ref())
            .map(|result| result.data_type.clone());
        let kind = ExprKind::Case {
            branches,
            otherwise: otherwise.map(Box::new),
        };
        Expr::new(kind, data_type.unwrap_or(DataType::Null), at)
    }

    /// Returns `self IS NULL`.
    pub(crate) fn missing(self) -> Expr {
        let at = self.at;
        Expr::boolean(ExprKind::IsNull(Box::new(self)), at)
    }

    pub(crate) fn not(self) -> Expr {
        let at = self.at;
        Expr::boolean(ExprKind::Not(Box::new(self)), at)
    }

    pub(crate) fn as_column(&self) -> Option<ColumnId> {
        match self.kind {
            ExprKind::Column(id) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn as_literal(&self) -> Option<&ScalarValue> {
        match &self.kind {
            ExprKind::Literal(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Column(_) | ExprKind::Literal(_) => Vec::new(),
            ExprKind::Binary(_, left, right) => vec![left, right],
            ExprKind::Not(inner) | ExprKind::IsNull(inner) | ExprKind::Cast { expr: inner, .. } => {
                vec![inner]
            }
            ExprKind::Like { expr, pattern, .. } => vec![expr, pattern],
            ExprKind::InList { expr, list } => std::iter::once(expr.as_ref()).chain(list).collect(),
            ExprKind::Case {
                branches,
                otherwise,
            } => {
                let branches = branches.iter().flat_map(|(when, then)| [when, then]);
                branches.chain(otherwise.as_deref()).collect()
            }
            ExprKind::Call { args, .. } => args.iter().collect(),
        }
    }

    fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Column(_) | ExprKind::Literal(_) => Vec::new(),
            ExprKind::Binary(_, left, right) => vec![left, right],
            ExprKind::Not(inner) | ExprKind::IsNull(inner) | ExprKind::Cast { expr: inner, .. } => {
                vec![inner]
            }
            ExprKind::Like { expr, pattern, .. } => vec![expr, pattern],
            ExprKind::InList { expr, list } => std::iter::once(expr.as_mut()).chain(list).collect(),
            ExprKind::Case {
                branches,
                otherwise,
            } => {
                let branches = branches.iter_mut().flat_map(|(when, then)| [when, then]);
                branches.chain(otherwise.as_deref_mut()).collect()
            }
            ExprKind::Call { args, .. } => args.iter_mut().collect(),
        }
    }

    /// Calls `visit` for this expression and all its parts.
    pub(crate) fn visit(&self, visit: &mut impl FnMut(&Expr)) {
        visit(self);
        for child in self.children() {
            child.visit(visit);
        }
    }

    /// Replaces each part for which `replace` returns an expression. Does not examine the parts of a replaced part.
    pub(crate) fn replace<E>(
        mut self,
        replace: &mut impl FnMut(&Expr) -> Result<Option<Expr>, E>,
    ) -> Result<Expr, E> {
        if let Some(replaced) = replace(&self)? {
            return Ok(replaced);
        }
        for child in self.children_mut() {
            let taken = std::mem::replace(child, Expr::literal(ScalarValue::Null, child.at));
            *child = taken.replace(replace)?;
        }
        Ok(self)
    }

    pub(crate) fn add_columns(&self, columns: &mut BTreeSet<ColumnId>) {
        self.visit(&mut |expr| columns.extend(expr.as_column()));
    }

    pub(crate) fn columns(&self) -> BTreeSet<ColumnId> {
        let mut columns = BTreeSet::new();
        self.add_columns(&mut columns);
        columns
    }

    pub(crate) fn is_constant(&self) -> bool {
        self.as_column().is_none() && self.children().into_iter().all(Expr::is_constant)
    }

    /// Returns whether evaluating the expression may fail because of a value.
    pub(crate) fn can_fail(&self) -> bool {
        let own = match &self.kind {
            ExprKind::Cast { expr, is_try } => {
                !is_try && !is_lossless_cast(&expr.data_type, &self.data_type)
            }
            ExprKind::Call { function, .. } => {
                let is_double = self.data_type == DataType::Float64;
                let is_safe = INFALLIBLE.contains(&function.name())
                    || is_double && is_operator_name(function.name());
                !is_safe
            }
            // The binder has compiled literal patterns, so they cannot fail.
            ExprKind::Binary(op, _, pattern) if is_regex(*op) => pattern.as_literal().is_none(),
            _ => false,
        };
        own || self.children().into_iter().any(Expr::can_fail)
    }
}

fn is_regex(op: Operator) -> bool {
    matches!(op, Operator::RegexMatch | Operator::RegexIMatch)
}

/// Returns whether each value of the type `from` can be cast to the type `to`.
fn is_lossless_cast(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Null, _) | (_, DataType::Utf8) => true,
        (DataType::Boolean, to) => to.is_numeric(),
        (from, DataType::Float64) => from.is_numeric(),
        (from, DataType::Int64) => from.is_integer() && *from != DataType::UInt64,
        (from, to) => from == to,
    }
}

/// Functions that cannot fail. Therefore plans may evaluate them even for rows that the query removes.
const INFALLIBLE: [&str; 15] = [
    "canonical_key",
    "character_length",
    "contains",
    "double_text",
    "ends_with",
    "floor",
    "ceil",
    "isnan",
    "lower",
    "btrim",
    "ltrim",
    "rtrim",
    "starts_with",
    "strpos",
    "upper",
];

/// If the condition compares columns of `left` with columns of `right` by `=`, returns the side with columns of `left`, and
/// then the other side.
pub(super) fn equated<'e>(
    condition: &'e Expr,
    left: &BTreeSet<ColumnId>,
    right: &BTreeSet<ColumnId>,
) -> Option<(&'e Expr, &'e Expr)> {
    let ExprKind::Binary(Operator::Eq, a, b) = &condition.kind else {
        return None;
    };
    let uses = |expr: &Expr, side: &BTreeSet<ColumnId>| {
        let columns = expr.columns();
        !columns.is_empty() && columns.is_subset(side)
    };
    if uses(a, left) && uses(b, right) {
        Some((a, b))
    } else if uses(b, left) && uses(a, right) {
        Some((b, a))
    } else {
        None
    }
}

pub(crate) fn and(left: Expr, right: Expr) -> Expr {
    Expr::binary(Operator::And, left, right, DataType::Boolean)
}
