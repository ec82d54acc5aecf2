//! The order of rows, and the nodes that depend on it.
//!
//! If a node depends on the order of its input, a sort may be added below the node. An input without an order is an error.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::{
    AggregateCall, ColumnId, Expr, NewColumn, Node, Relational, SortKey, WindowCall, WindowSpec,
};
use crate::QueryError;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowOrder {
    /// The values of these columns determine the order, and any two rows differ in one of these columns. If the rows
    /// must arrive in this order, [`Relational::arranged`] sorts them.
    Columns(Vec<SortKey>),
    /// The rows arrive in a determined order. If an operator needs columns that express this order, row numbers are
    /// added.
    Arrival,
    /// The rows have no order, but any two rows differ in one of these columns.
    Keys(Vec<ColumnId>),
    /// The rows have no order, for this reason.
    Lost(&'static str),
}

pub(super) const UNORDERED_KEYS: &str = "GROUP BY and DISTINCT lose the order of the rows; add an ORDER BY that names all columns of the GROUP BY or DISTINCT";

pub(crate) fn no_order(why: &str) -> QueryError {
    QueryError::Order(why.to_owned())
}

pub(crate) fn needs_order_by(name: &str) -> QueryError {
    QueryError::Order(format!("{name}() needs an ORDER BY inside its parentheses"))
}

impl Relational {
    /// Adds a sort by the order of the rows (`self.order`), unless they are known to arrive in it. Returns an error if the rows
    /// have no order.
    pub(crate) fn arranged(self) -> Result<Relational, QueryError> {
        match &self.order {
            RowOrder::Arrival => Ok(self),
            RowOrder::Columns(keys) => {
                let keys = keys.clone();
                let (columns, rows) = (Arc::clone(&self.columns), self.rows);
                Ok(Relational {
                    columns,
                    rows,
                    order: self.order.clone(),
                    node: Arc::new(Node::Sort { input: self, keys }),
                })
            }
            RowOrder::Keys(_) => Err(no_order(UNORDERED_KEYS)),
            RowOrder::Lost(why) => Err(no_order(why)),
        }
    }

    /// Same as [`Relational::arranged`], but returns rows without an order unchanged.
    pub(super) fn arranged_or_same(self) -> Relational {
        match &self.order {
            RowOrder::Columns(_) | RowOrder::Arrival => self.clone().arranged().unwrap_or(self),
            RowOrder::Keys(_) | RowOrder::Lost(_) => self,
        }
    }

    /// Returns sort keys in which any two rows differ. If the rows have an order, the sort keys express this order.
    ///
    /// Adds row numbers as a column if the order cannot be expressed by other columns. Returns an error if the rows have
    /// neither an order nor keys.
    pub(crate) fn with_order_columns(
        self,
        new_column: NewColumn<'_>,
    ) -> Result<(Relational, Vec<SortKey>), QueryError> {
        match &self.order {
            RowOrder::Columns(keys) => {
                let keys = keys.clone();
                Ok((self, keys))
            }
            RowOrder::Keys(keys) => {
                let keys = keys.iter().copied().map(SortKey::ascending).collect();
                Ok((self, keys))
            }
            RowOrder::Arrival if self.is_single_row() => Ok((self, Vec::new())),
            RowOrder::Arrival => {
                let number = new_column(DataType::Int64);
                let keys = vec![SortKey::ascending(number)];
                let node = Node::Number {
                    input: self.clone(),
                    number,
                };
                let mut numbered = Relational::above(&self, [number], node);
                numbered.order = RowOrder::Columns(keys.clone());
                Ok((numbered, keys))
            }
            RowOrder::Lost(why) => Err(no_order(why)),
        }
    }

    /// If the rows have no order, returns a key of GROUP BY or DISTINCT that is not in `keys`. Without this key, a sort by
    /// `keys` does not determine the order.
    pub(crate) fn missing_key(&self, keys: &[SortKey]) -> Option<ColumnId> {
        let RowOrder::Keys(unique) = &self.order else {
            return None;
        };
        unique.iter().copied().find(|key| !contains(keys, *key))
    }

    /// Sorts by `keys`. Rows with equal keys keep their order. If they have no order, they are sorted by the keys of
    /// GROUP BY.
    pub(crate) fn sorted(
        self,
        keys: Vec<SortKey>,
        new_column: NewColumn<'_>,
    ) -> Result<Relational, QueryError> {
        let mut keys = distinct(keys);
        let has_all = || self.columns.iter().all(|column| contains(&keys, *column));
        if matches!(self.order, RowOrder::Lost(_)) && has_all() {
            // The keys contain all columns, so rows with equal keys are identical, and their order does not matter.
            return Ok(Relational {
                columns: Arc::clone(&self.columns),
                order: RowOrder::Arrival,
                rows: self.rows,
                node: Arc::new(Node::Sort { input: self, keys }),
            });
        }
        let (input, ties) = self.with_order_columns(new_column)?;
        for tie in ties {
            if !contains(&keys, tie.column) {
                keys.push(tie);
            }
        }
        if keys.is_empty() {
            return Ok(input);
        }
        Ok(Relational {
            columns: Arc::clone(&input.columns),
            order: RowOrder::Columns(keys.clone()),
            rows: input.rows,
            node: Arc::new(Node::Sort { input, keys }),
        })
    }

    /// Skips `skip` rows, and returns at most `fetch` rows. Returns an error if the rows have no order.
    pub(crate) fn limited(self, skip: u64, fetch: Option<u64>) -> Result<Relational, QueryError> {
        let input = self.arranged()?;
        let rows = fetch.map_or(input.rows, |fetch| fetch.min(input.rows));
        let node = Node::Limit {
            input: input.clone(),
            skip,
            fetch,
        };
        Ok(Relational {
            rows,
            ..Relational::above(&input, [], node)
        })
    }

    /// Returns a row for each element of the lists. Rows without an order stay without an order.
    pub(crate) fn unnested(
        self,
        lists: Vec<(ColumnId, ColumnId)>,
    ) -> Result<Relational, QueryError> {
        let is_ordered = matches!(self.order, RowOrder::Columns(_) | RowOrder::Arrival);
        let input = self.arranged_or_same();
        let node = Node::Unnest {
            input: input.clone(),
            lists: lists.clone(),
        };
        let unnested = Relational::above(&input, lists.into_iter().map(|(id, _)| id), node);
        Ok(Relational {
            order: match (&input.order, is_ordered) {
                (_, true) => RowOrder::Arrival,
                (RowOrder::Lost(why), _) => RowOrder::Lost(why),
                _ => RowOrder::Lost(UNORDERED_KEYS),
            },
            rows: input.rows.saturating_mul(4),
            ..unnested
        })
    }

    /// Adds columns with window functions. Rows with equal ORDER BY keys keep the order of the input.
    pub(crate) fn windowed(
        self,
        window: WindowSpec,
        calls: Vec<(ColumnId, WindowCall)>,
        new_column: NewColumn<'_>,
    ) -> Result<Relational, QueryError> {
        let is_lost = matches!(self.order, RowOrder::Lost(_));
        let (input, ties) = match is_lost && !window.depends_on_ties {
            true => (self, Vec::new()),
            false => self.with_order_columns(new_column)?,
        };
        let ties = ties.into_iter().filter(|tie| {
            !contains(&window.order_by, tie.column) && !window.partition_by.contains(&tie.column)
        });
        let node = Node::Window {
            input: input.clone(),
            ties: ties.collect(),
            window,
            calls: calls.clone(),
        };
        let ids = calls.into_iter().map(|(id, _)| id);
        Ok(Relational::above(&input, ids, node))
    }

    /// Extends the ORDER BY of an aggregate by the order of the rows, unless this ORDER BY already determines the value of
    /// the aggregate.
    ///
    /// Returns an error if the rows have neither an order nor keys. Also returns an error if the aggregate has DISTINCT
    /// and its ORDER BY needs a further column, because SQL forbids this.
    pub(crate) fn ordered_call(
        self,
        mut call: AggregateCall,
        new_column: NewColumn<'_>,
    ) -> Result<(Relational, AggregateCall), QueryError> {
        call.order_by = distinct(call.order_by);
        let is_determined =
            |arg: &Expr| arg.columns().iter().all(|id| contains(&call.order_by, *id));
        if call.args.iter().all(is_determined) {
            return Ok((self, call));
        }
        let (input, ties) = self.with_order_columns(new_column)?;
        let missing = ties.into_iter();
        let missing = missing.filter(|tie| !contains(&call.order_by, tie.column));
        let missing: Vec<SortKey> = missing.collect();
        if call.distinct && !missing.is_empty() {
            let name = call.function.name();
            return Err(QueryError::Order(format!(
                "{name}(DISTINCT x ORDER BY ...) needs `x` in its ORDER BY"
            )));
        }
        call.order_by.extend(missing);
        Ok((input, call))
    }
}

/// Removes each key whose column is also the column of an earlier key.
pub(crate) fn distinct(keys: Vec<SortKey>) -> Vec<SortKey> {
    let mut distinct: Vec<SortKey> = Vec::with_capacity(keys.len());
    for key in keys {
        if !contains(&distinct, key.column) {
            distinct.push(key);
        }
    }
    distinct
}

/// Returns whether one of the keys is this column.
fn contains(keys: &[SortKey], column: ColumnId) -> bool {
    keys.iter().any(|key| key.column == column)
}
