//! The relational plan. Its operators identify columns by numbers, and state the order of their rows.
//!
//! A node passes on all columns of its input, and adds columns. Aggregates and unions create new columns instead. When
//! the plan is lowered, columns that no later operator reads are removed.

mod expr;
mod join;
mod order;
mod push;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion_expr::{AggregateUDF, WindowFrame, WindowFunctionDefinition};

pub(crate) use expr::{ColumnId, Expr, ExprKind, and};
pub(crate) use join::{JoinKind, JoinSpec, conjuncts};
pub(crate) use order::{RowOrder, distinct, needs_order_by};

/// Creates a column with a type.
pub(crate) type NewColumn<'a> = &'a mut dyn FnMut(DataType) -> ColumnId;

/// A relational plan: an operator with its inputs.
#[derive(Debug, Clone)]
pub(crate) struct Relational {
    pub node: Arc<Node>,
    /// The columns that expressions above can use.
    pub columns: Arc<BTreeSet<ColumnId>>,
    pub order: RowOrder,
    /// Estimated number of rows, usually an upper bound.
    pub rows: u64,
}

#[derive(Debug)]
pub(crate) enum Node {
    /// One row without columns.
    OneRow,
    /// Rows of constant expressions.
    Values {
        columns: Vec<ColumnId>,
        rows: Vec<Vec<Expr>>,
    },
    /// The rows of a table in their order.
    Scan {
        table: String,
        /// Each column with its position in the table.
        columns: Vec<(ColumnId, usize)>,
        /// The column with the row numbers, from 0.
        row: ColumnId,
    },
    /// The rows for which the condition is true.
    Filter { input: Relational, condition: Expr },
    /// The rows with additional columns.
    Compute {
        input: Relational,
        exprs: Vec<(ColumnId, Expr)>,
    },
    Join {
        left: Relational,
        right: Relational,
        spec: JoinSpec,
    },
    /// One row per group, or one row if there are no keys.
    Aggregate {
        input: Relational,
        /// For each key: its column above the node, and the column of the input with the same values.
        keys: Vec<(ColumnId, ColumnId)>,
        calls: Vec<(ColumnId, AggregateCall)>,
    },
    /// The rows with additional columns. All window functions have the same partitions and order.
    Window {
        input: Relational,
        window: WindowSpec,
        /// Keys that order rows with equal ORDER BY keys.
        ties: Vec<SortKey>,
        calls: Vec<(ColumnId, WindowCall)>,
    },
    /// The rows of all inputs, one input after the other.
    Union {
        inputs: Vec<Relational>,
        /// For each column above the node: the column of each input that contains its values.
        columns: Vec<(ColumnId, Vec<ColumnId>)>,
    },
    /// The rows sorted by these keys, which must determine the order.
    Sort {
        input: Relational,
        keys: Vec<SortKey>,
    },
    /// Some rows of the input, which must arrive in order.
    Limit {
        input: Relational,
        skip: u64,
        fetch: Option<u64>,
    },
    /// The rows with a column of row numbers, from 0.
    Number { input: Relational, number: ColumnId },
    /// One row for each element of the lists. Shorter lists are padded with NULL.
    Unnest {
        input: Relational,
        /// For each list: the column of its elements, and the column of the input with the list.
        lists: Vec<(ColumnId, ColumnId)>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortKey {
    pub column: ColumnId,
    pub descending: bool,
    pub nulls_first: bool,
}

impl SortKey {
    pub(crate) fn ascending(column: ColumnId) -> SortKey {
        SortKey {
            column,
            descending: false,
            nulls_first: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AggregateCall {
    pub function: Arc<AggregateUDF>,
    pub args: Vec<Expr>,
    pub distinct: bool,
    pub ignores_nulls: bool,
    pub filter: Option<Expr>,
    pub order_by: Vec<SortKey>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WindowSpec {
    pub partition_by: Vec<ColumnId>,
    pub order_by: Vec<SortKey>,
    /// Whether a function depends on the order of rows with equal keys.
    pub depends_on_ties: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WindowCall {
    pub function: WindowFunctionDefinition,
    pub args: Vec<Expr>,
    pub ignores_nulls: bool,
    pub filter: Option<Expr>,
    pub frame: Arc<WindowFrame>,
}

impl Relational {
    pub(crate) fn one_row() -> Relational {
        Relational {
            node: Arc::new(Node::OneRow),
            columns: Arc::default(),
            order: RowOrder::Arrival,
            rows: 1,
        }
    }

    pub(crate) fn values(columns: Vec<ColumnId>, rows: Vec<Vec<Expr>>) -> Relational {
        Relational {
            columns: Arc::new(columns.iter().copied().collect()),
            order: RowOrder::Arrival,
            rows: rows.len() as u64,
            node: Arc::new(Node::Values { columns, rows }),
        }
    }

    pub(crate) fn scan(
        table: &str,
        columns: Vec<(ColumnId, usize)>,
        row: ColumnId,
        rows: u64,
    ) -> Relational {
        let ids = columns.iter().map(|(id, _)| *id).chain([row]);
        Relational {
            columns: Arc::new(ids.collect()),
            order: RowOrder::Columns(vec![SortKey::ascending(row)]),
            rows,
            node: Arc::new(Node::Scan {
                table: table.to_owned(),
                columns,
                row,
            }),
        }
    }

    /// Keeps the rows for which all conditions are true. Conditions that can fail are not reordered.
    pub(crate) fn filtered(self, conditions: Vec<Expr>) -> Relational {
        let mut plan = self;
        for condition in conditions {
            plan = push::filter(plan, condition);
        }
        plan
    }

    /// Adds columns with the values of expressions.
    pub(crate) fn computed(self, exprs: Vec<(ColumnId, Expr)>) -> Relational {
        if exprs.is_empty() {
            return self;
        }
        let mut columns = self.columns.as_ref().clone();
        columns.extend(exprs.iter().map(|(id, _)| *id));
        Relational {
            columns: Arc::new(columns),
            order: self.order.clone(),
            rows: self.rows,
            node: Arc::new(Node::Compute { input: self, exprs }),
        }
    }

    /// Groups the rows by `keys`. Each key is a pair: a new column, and the column of `self` that contains its values.
    pub(crate) fn aggregated(
        self,
        keys: Vec<(ColumnId, ColumnId)>,
        calls: Vec<(ColumnId, AggregateCall)>,
    ) -> Relational {
        let key_columns: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
        let ids = key_columns.iter().copied();
        Relational {
            columns: Arc::new(ids.chain(calls.iter().map(|(id, _)| *id)).collect()),
            rows: if keys.is_empty() { 1 } else { self.rows },
            order: match keys.is_empty() {
                true => RowOrder::Arrival,
                false => RowOrder::Keys(key_columns),
            },
            node: Arc::new(Node::Aggregate {
                input: self,
                keys,
                calls,
            }),
        }
    }

    /// Concatenates the rows of the inputs. Each new column takes its values from one column of each input.
    pub(crate) fn union(
        inputs: Vec<Relational>,
        columns: Vec<(ColumnId, Vec<ColumnId>)>,
    ) -> Relational {
        let lost = inputs.iter().find_map(|input| match &input.order {
            RowOrder::Lost(why) => Some(*why),
            RowOrder::Keys(_) => Some(order::UNORDERED_KEYS),
            RowOrder::Columns(_) | RowOrder::Arrival => None,
        });
        let inputs = match lost {
            None => inputs
                .into_iter()
                .map(Relational::arranged_or_same)
                .collect(),
            Some(_) => inputs,
        };
        Relational {
            columns: Arc::new(columns.iter().map(|(id, _)| *id).collect()),
            order: lost.map_or(RowOrder::Arrival, RowOrder::Lost),
            rows: inputs.iter().map(|input| input.rows).sum(),
            node: Arc::new(Node::Union { inputs, columns }),
        }
    }

    /// Returns whether the plan has exactly one row, whatever its tables contain.
    pub(crate) fn is_single_row(&self) -> bool {
        match self.node.as_ref() {
            Node::OneRow => true,
            Node::Aggregate { keys, .. } => keys.is_empty(),
            Node::Compute { input, .. } | Node::Sort { input, .. } => input.is_single_row(),
            Node::Join { left, right, spec } => {
                spec.is_unique
                    && left.is_single_row()
                    && (spec.kind == JoinKind::Left || spec.on.is_empty() && right.is_single_row())
            }
            _ => false,
        }
    }

    /// If the plan returns several rows, returns what each row stands for. For example, `group` means that the plan
    /// returns a row for each group.
    ///
    /// Assumes that each table has several rows and several groups.
    pub(crate) fn repeats(&self) -> Option<&'static str> {
        match self.node.as_ref() {
            Node::Scan { .. } => Some("row of a table"),
            Node::Aggregate { input, keys, .. } if !keys.is_empty() => {
                input.repeats().and(Some("group"))
            }
            Node::Compute { input, .. } | Node::Sort { input, .. } | Node::Window { input, .. } => {
                input.repeats()
            }
            Node::Limit { input, fetch, .. } => input.repeats().filter(|_| *fetch != Some(1)),
            Node::Join { left, right, spec } => match spec.kind {
                JoinKind::Inner if spec.filter.is_none() => left.repeats().and(right.repeats()),
                JoinKind::Left | JoinKind::Full => left.repeats(),
                _ => None,
            },
            Node::Union { inputs, .. } => inputs.iter().find_map(Relational::repeats),
            // A condition may be true for a single row.
            _ => None,
        }
    }

    /// Returns whether an operator of the plan may fail because of a value.
    pub(crate) fn can_fail(&self) -> bool {
        self.node.can_fail() || self.node.inputs().into_iter().any(Relational::can_fail)
    }

    /// Returns a plan with the columns and the order of `input`, and the columns `added`.
    pub(super) fn above(
        input: &Relational,
        added: impl IntoIterator<Item = ColumnId>,
        node: Node,
    ) -> Relational {
        let mut columns = input.columns.as_ref().clone();
        columns.extend(added);
        Relational {
            columns: Arc::new(columns),
            order: input.order.clone(),
            rows: input.rows,
            node: Arc::new(node),
        }
    }
}

impl Node {
    /// Returns the columns with which the operator computes, as opposed to columns that it only passes on.
    pub(crate) fn used(&self) -> BTreeSet<ColumnId> {
        let mut used = BTreeSet::new();
        self.visit_exprs(&mut |expr| expr.add_columns(&mut used));
        match self {
            Node::OneRow
            | Node::Values { .. }
            | Node::Scan { .. }
            | Node::Filter { .. }
            | Node::Compute { .. }
            | Node::Limit { .. }
            | Node::Number { .. } => {}
            Node::Join { spec, .. } => {
                used.extend(spec.on.iter().flat_map(|(left, right)| [*left, *right]));
            }
            Node::Aggregate { keys, calls, .. } => {
                used.extend(keys.iter().map(|(_, key)| *key));
                let order = calls.iter().flat_map(|(_, call)| &call.order_by);
                used.extend(order.map(|key| key.column));
            }
            Node::Window { window, ties, .. } => {
                used.extend(&window.partition_by);
                used.extend(window.order_by.iter().chain(ties).map(|key| key.column));
            }
            Node::Union { columns, .. } => {
                used.extend(columns.iter().flat_map(|(_, inputs)| inputs));
            }
            Node::Sort { keys, .. } => used.extend(keys.iter().map(|key| key.column)),
            Node::Unnest { lists, .. } => used.extend(lists.iter().map(|(_, list)| *list)),
        }
        used
    }

    /// Calls `visit` for each expression of this node, but not for parts of these expressions.
    pub(crate) fn visit_exprs(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Node::Values { rows, .. } => rows.iter().flatten().for_each(visit),
            Node::Filter { condition, .. } => visit(condition),
            Node::Compute { exprs, .. } => exprs.iter().for_each(|(_, expr)| visit(expr)),
            Node::Join { spec, .. } => spec.filter.iter().for_each(visit),
            Node::Aggregate { calls, .. } => {
                let calls = calls.iter().map(|(_, call)| call);
                calls.for_each(|call| call.args.iter().chain(&call.filter).for_each(&mut *visit));
            }
            Node::Window { calls, .. } => {
                let calls = calls.iter().map(|(_, call)| call);
                calls.for_each(|call| call.args.iter().chain(&call.filter).for_each(&mut *visit));
            }
            Node::OneRow
            | Node::Scan { .. }
            | Node::Union { .. }
            | Node::Sort { .. }
            | Node::Limit { .. }
            | Node::Number { .. }
            | Node::Unnest { .. } => {}
        }
    }

    /// Returns whether this operator may fail because of a value.
    pub(crate) fn can_fail(&self) -> bool {
        // A sum of integers can overflow.
        let is_sum = |name: &str, args: &[Expr]| {
            name == "sum" && args.iter().any(|arg| !arg.data_type.is_floating())
        };
        let overflows = match self {
            Node::Aggregate { calls, .. } => calls
                .iter()
                .any(|(_, call)| is_sum(call.function.name(), &call.args)),
            Node::Window { calls, .. } => calls
                .iter()
                .any(|(_, call)| is_sum(call.function.name(), &call.args)),
            _ => false,
        };
        let mut can_fail = overflows;
        self.visit_exprs(&mut |expr| can_fail |= expr.can_fail());
        can_fail
    }

    pub(crate) fn inputs(&self) -> Vec<&Relational> {
        match self {
            Node::OneRow | Node::Values { .. } | Node::Scan { .. } => Vec::new(),
            Node::Filter { input, .. }
            | Node::Compute { input, .. }
            | Node::Aggregate { input, .. }
            | Node::Window { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Number { input, .. }
            | Node::Unnest { input, .. } => vec![input],
            Node::Join { left, right, .. } => vec![left, right],
            Node::Union { inputs, .. } => inputs.iter().collect(),
        }
    }
}
