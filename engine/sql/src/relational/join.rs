//! Joins: which conditions become keys, and the order of the joined rows.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion_expr::Operator;

use super::expr::equated;
use super::{ColumnId, Expr, ExprKind, NewColumn, Node, Relational, RowOrder, SortKey, and, push};
use crate::QueryError;

/// The kind of a join. A right join is a left join with exchanged sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
    Inner,
    Left,
    Full,
    Semi,
    Anti,
}

#[derive(Debug, Clone)]
pub(crate) struct JoinSpec {
    pub kind: JoinKind,
    /// Pairs of a left and a right column that are equal in matching rows.
    pub on: Vec<(ColumnId, ColumnId)>,
    /// A condition on matching rows, in addition to `on`.
    pub filter: Option<Expr>,
    /// Whether NULL matches NULL.
    pub nulls_equal: bool,
    /// Whether each left row has at most one match.
    pub is_unique: bool,
}

impl JoinSpec {
    pub(crate) fn new(kind: JoinKind) -> JoinSpec {
        JoinSpec {
            kind,
            on: Vec::new(),
            filter: None,
            nulls_equal: false,
            is_unique: false,
        }
    }

    /// Returns a join in which each left row has at most one match. No two right rows may have equal keys.
    pub(crate) fn unique(kind: JoinKind, on: Vec<(ColumnId, ColumnId)>) -> JoinSpec {
        JoinSpec {
            on,
            is_unique: true,
            ..JoinSpec::new(kind)
        }
    }
}

/// Adds the operands of AND to `found`. A condition without AND is its only operand.
pub(crate) fn conjuncts(condition: Expr, found: &mut Vec<Expr>) {
    match condition.kind {
        ExprKind::Binary(Operator::And, left, right) => {
            conjuncts(*left, found);
            conjuncts(*right, found);
        }
        _ => found.push(condition),
    }
}

impl Relational {
    /// Joins two plans on conditions. If a side has lost its order, the joined rows have no order either.
    pub(crate) fn joined_on(
        self,
        right: Relational,
        kind: JoinKind,
        conditions: Vec<Expr>,
        new_column: NewColumn<'_>,
    ) -> Result<Relational, QueryError> {
        let (mut left, mut right) = (self, right);
        let mut spec = JoinSpec::new(kind);
        let mut rest = Vec::new();
        for condition in conditions {
            if let Some((a, b)) = equated(&condition, &left.columns, &right.columns) {
                let (left_key, right_key);
                (left, left_key) = left.with_column(a.clone(), new_column);
                (right, right_key) = right.with_column(b.clone(), new_column);
                spec.on.push((left_key, right_key));
                continue;
            }
            let columns = condition.columns();
            let may_move = !condition.can_fail() && kind != JoinKind::Full;
            if may_move && columns.is_subset(&right.columns) {
                right = push::filter(right, condition);
            } else if may_move && kind == JoinKind::Inner && columns.is_subset(&left.columns) {
                left = push::filter(left, condition);
            } else {
                rest.push(condition);
            }
        }
        spec.filter = rest.into_iter().reduce(and);
        left.joined(right, spec, new_column)
    }

    /// Joins two plans. If a side has lost its order, the joined rows have no order either.
    pub(crate) fn joined(
        self,
        right: Relational,
        spec: JoinSpec,
        new_column: NewColumn<'_>,
    ) -> Result<Relational, QueryError> {
        let (mut left, mut right) = (self, right);
        let order = match spec.kind {
            JoinKind::Semi | JoinKind::Anti => {
                left = left.numbered(new_column);
                left.order.clone()
            }
            JoinKind::Inner | JoinKind::Left if spec.is_unique => {
                left = left.numbered(new_column);
                left.order.clone()
            }
            JoinKind::Inner | JoinKind::Left => {
                left = left.numbered(new_column);
                right = right.numbered(new_column);
                paired(&left.order, &right.order)
            }
            JoinKind::Full => {
                // Right rows without a match come last, because they have NULL in the sort column `present`.
                let present = new_column(DataType::Boolean);
                let exists = Expr::literal(true.into(), Default::default());
                left = left.numbered(new_column).computed(vec![(present, exists)]);
                right = right.numbered(new_column);
                match paired(&left.order, &right.order) {
                    RowOrder::Columns(mut keys) => {
                        keys.insert(0, SortKey::ascending(present));
                        RowOrder::Columns(keys)
                    }
                    order => order,
                }
            }
        };
        let columns = match spec.kind {
            JoinKind::Semi | JoinKind::Anti => Arc::clone(&left.columns),
            _ => Arc::new(left.columns.union(&right.columns).copied().collect()),
        };
        let rows = match spec.kind {
            JoinKind::Semi | JoinKind::Anti => left.rows,
            JoinKind::Inner | JoinKind::Left if spec.is_unique => left.rows,
            JoinKind::Inner if spec.on.is_empty() => left.rows.saturating_mul(right.rows),
            _ => left.rows.max(right.rows),
        };
        Ok(Relational {
            columns,
            order,
            rows,
            node: Arc::new(Node::Join { left, right, spec }),
        })
    }

    /// Adds a column for an expression, unless the expression is a column of the plan.
    pub(crate) fn with_column(
        self,
        expr: Expr,
        new_column: NewColumn<'_>,
    ) -> (Relational, ColumnId) {
        let own = expr.as_column();
        if let Some(column) = own.filter(|column| self.columns.contains(column)) {
            return (self, column);
        }
        let column = new_column(expr.data_type.clone());
        (self.computed(vec![(column, expr)]), column)
    }

    /// Adds a column that expresses the order of the rows, if they have an order.
    fn numbered(self, new_column: NewColumn<'_>) -> Relational {
        match &self.order {
            RowOrder::Arrival => match self.clone().with_order_columns(new_column) {
                Ok((mut numbered, keys)) => {
                    numbered.order = RowOrder::Columns(keys);
                    numbered
                }
                Err(_) => self,
            },
            _ => self,
        }
    }
}

/// Returns the order of joined rows: by the left row, and for each left row by the right row.
fn paired(left: &RowOrder, right: &RowOrder) -> RowOrder {
    let ascending = |keys: &[ColumnId]| keys.iter().copied().map(SortKey::ascending).collect();
    let columns = |keys: &[SortKey]| keys.iter().map(|key| key.column).collect::<Vec<_>>();
    match (left, right) {
        (RowOrder::Lost(why), _) | (_, RowOrder::Lost(why)) => RowOrder::Lost(why),
        (RowOrder::Columns(left), RowOrder::Columns(right)) => {
            RowOrder::Columns([left.as_slice(), right].concat())
        }
        // Each pair of a left and a right row occurs at most once, so the right keys complete the order.
        (RowOrder::Columns(left), RowOrder::Keys(right)) => {
            let right: Vec<SortKey> = ascending(right);
            RowOrder::Columns([left.as_slice(), &right].concat())
        }
        (RowOrder::Keys(left), RowOrder::Keys(right)) => {
            RowOrder::Keys([left.as_slice(), right].concat())
        }
        (RowOrder::Keys(left), RowOrder::Columns(right)) => {
            RowOrder::Keys([left.as_slice(), &columns(right)].concat())
        }
        // Does not occur, because `numbered` replaced the order `Arrival` on both sides.
        (RowOrder::Arrival, _) | (_, RowOrder::Arrival) => RowOrder::Lost(UNKNOWN),
    }
}

const UNKNOWN: &str = "the order of one side of a join is unknown";
