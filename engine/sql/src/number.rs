//! Runs a query that returns one number, for example a metric that an author defines. The query reads tables in memory.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use prep_spec::model::Query;
use prep_spec::query::Node;
use prep_spec::query::tree::{Expr, ExprKind, Operator};
use thiserror::Error;
use tokio::runtime::Builder;

use crate::bind::{RowDemand, bind};
use crate::check::{Columns, UNDECLARED, relations};
use crate::relation::{Relation, RelationBatch, RelationBatches, RelationColumn, Tables};
use crate::run::RowForm;
use crate::{QueryError, QueryLimits, Session, type_name};

/// A table in memory.
#[derive(Debug)]
pub struct ArrayTable {
    columns: Vec<RelationColumn>,
    arrays: Vec<ArrayRef>,
    rows: usize,
}

impl ArrayTable {
    /// Creates a table with `rows` rows. All columns must have this length.
    pub fn new(rows: usize, columns: Vec<(String, ArrayRef)>) -> ArrayTable {
        let described = columns.iter().map(|(name, array)| RelationColumn {
            name: name.clone(),
            data_type: array.data_type().clone(),
            hidden: false,
        });
        ArrayTable {
            columns: described.collect(),
            arrays: columns.into_iter().map(|(_, array)| array).collect(),
            rows,
        }
    }
}

impl Relation for ArrayTable {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        let batch = batch.max(1);
        Box::new((0..self.rows).step_by(batch).map(move |first| {
            let rows = batch.min(self.rows - first);
            let arrays = columns.iter().filter_map(|column| self.arrays.get(*column));
            Ok(RelationBatch {
                rows,
                columns: arrays.map(|array| array.slice(first, rows)).collect(),
            })
        }))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        (first..first + len as u64).collect()
    }
}

/// The reason why a query does not return one number.
#[derive(Debug, Error)]
pub enum NumberError {
    /// The query is invalid, or fails.
    #[error("{error}")]
    Query {
        /// The error of the query.
        #[from]
        error: QueryError,
    },
    /// The query names a column that no table has.
    #[error("{error}")]
    NoColumn {
        /// The error of the query.
        error: Box<QueryError>,
        /// A similar column, and the columns of the tables that the query reads.
        help: Option<String>,
    },
    /// The result has several columns.
    #[error("the result has {0} columns, expected one")]
    Columns(usize),
    /// The result has several rows, whatever the tables contain.
    #[error("the result has one row for each {0}, expected a single row")]
    RowPer(&'static str),
    /// The result is not a number.
    #[error("the result is of the type {0}, expected a number")]
    NotNumber(&'static str),
    /// The result has no row.
    #[error("the result has no row, expected one")]
    NoRow,
    /// The result has several rows.
    #[error("the result has more than one row")]
    Rows,
    /// The result is missing.
    #[error("the result is missing (NULL), expected a number")]
    Missing,
    /// The result is infinite or NaN.
    #[error(
        "the result is {value}, expected a finite number{}",
        if .division.is_some() { "; perhaps this divisor is 0" } else { "" }
    )]
    NotFinite {
        /// The result.
        value: f64,
        /// Line and column of the first divisor that may be 0, if there is one.
        division: Option<(u64, u64)>,
    },
    /// The query lacks something that it needs to run, for example memory.
    #[error("the query cannot run: {0}")]
    System(String),
}

impl NumberError {
    /// Returns the line and column of the error in the query's text, both from 1.
    pub fn place(&self) -> Option<(u64, u64)> {
        match self {
            NumberError::Query { error } => error.place(),
            NumberError::NoColumn { error, .. } => error.place(),
            NumberError::NotFinite { division, .. } => *division,
            _ => None,
        }
    }

    /// Returns an action that corrects the query.
    pub fn help(&self) -> Option<&str> {
        match self {
            NumberError::Query { error } => error.help(),
            NumberError::RowPer("group") => Some(
                "aggregate the groups in an outer query: `SELECT avg(x) FROM (SELECT ... AS x ... GROUP BY ...) g`",
            ),
            NumberError::RowPer(_) | NumberError::Rows => {
                Some("use an aggregate, for example `SELECT avg(...)`")
            }
            NumberError::NotFinite {
                division: Some(_), ..
            } => Some(
                "a division by 0 is NULL with `x / nullif(y, 0)`; `coalesce(x / nullif(y, 0), 0)` replaces this NULL",
            ),
            NumberError::NoColumn { help, .. } => help.as_deref(),
            NumberError::System(_) => None,
            _ => Some("the result must be one row with one finite number"),
        }
    }
}

/// Types that are tried for columns of unknown type.
const UNKNOWN_TYPES: [DataType; 3] = [DataType::Null, DataType::Float64, DataType::Utf8];

/// Checks a query that returns one number, before the rows of its tables are known.
///
/// If the columns of a table are unknown, any unknown name is accepted as a column of this table.
///
/// # Errors
/// If the query is invalid for all types that the columns may have.
pub fn check_number(
    query: &Query,
    tables: &[(&str, Option<&[String]>)],
) -> Result<(), NumberError> {
    let plan = |kind| plan_with_unknown(query, tables, &kind);
    let [first, others @ ..] = UNKNOWN_TYPES.map(plan);
    match others.iter().any(Result::is_ok) {
        true => Ok(()),
        false => first,
    }
}

/// Plans a query as if all columns had the type `kind`.
///
/// If the query names a column that no table has, adds the column to a table whose columns are unknown, and plans the
/// query again.
fn plan_with_unknown(
    query: &Query,
    tables: &[(&str, Option<&[String]>)],
    kind: &DataType,
) -> Result<(), NumberError> {
    let column = |name: &str| RelationColumn {
        name: name.to_owned(),
        data_type: kind.clone(),
        hidden: false,
    };
    let of_table = |known: Option<&[String]>| match known {
        Some(known) => known.iter().map(|name| column(name)).collect(),
        None => vec![column(UNDECLARED)],
    };
    let mut columns: Vec<Vec<RelationColumn>> =
        tables.iter().map(|(_, known)| of_table(*known)).collect();
    let bound = loop {
        let named = tables.iter().zip(&columns);
        let named =
            named.map(|((name, _), columns)| ((*name).to_owned(), columns.as_slice().into()));
        let declared: Vec<(String, Columns)> = named.collect();
        let declared = relations(declared.iter().map(|(name, columns)| (name, columns)));
        // The result must be a single row, so an order of the rows is not needed.
        let error = match bind(query.tree(), &declared, RowDemand::AnyOrder) {
            Ok(bound) => break bound,
            Err(error) => error,
        };
        // Add the missing column to only one table, because a name in several tables would be ambiguous. If the query
        // needs the column of another table, the next iteration adds the column to the next table.
        let Some(missing) = error.missing_column() else {
            return Err(error.into());
        };
        let lacks = |columns: &[RelationColumn]| columns.iter().all(|one| one.name != missing);
        let candidates = tables.iter().zip(&mut columns);
        let mut candidates =
            candidates.filter(|((_, known), columns)| known.is_none() && lacks(columns));
        match candidates.next() {
            Some((_, columns)) => columns.push(column(missing)),
            None => {
                let read = tables
                    .iter()
                    .filter(|(name, _)| query.tables.contains(*name));
                let listed = read.filter_map(|(name, known)| {
                    Some(((*name).to_owned(), known.map(<[String]>::to_vec)?))
                });
                let help = error.help_with(&query.text, &listed.collect::<Vec<_>>(), "");
                return Err(NumberError::NoColumn {
                    error: Box::new(error),
                    help,
                });
            }
        }
    };
    if let Some(of) = bound.plan.repeats() {
        return Err(NumberError::RowPer(of));
    }
    match bound.columns.as_slice() {
        [column] => check_type(&bound.catalog.get(column.id).data_type),
        columns => Err(NumberError::Columns(columns.len())),
    }
}

fn check_type(data_type: &DataType) -> Result<(), NumberError> {
    match data_type.is_numeric() || *data_type == DataType::Null {
        true => Ok(()),
        false => Err(NumberError::NotNumber(type_name(data_type))),
    }
}

/// Runs a query in a separate thread, and returns the number that the query returns. The caller may be inside or outside of
/// a `tokio` runtime.
///
/// # Errors
/// If the query fails, exceeds `limits`, or does not return one finite number.
pub fn number(
    query: &Query,
    tables: BTreeMap<String, Arc<dyn Relation>>,
    limits: &QueryLimits,
) -> Result<f64, NumberError> {
    let system = |error: &dyn Display| NumberError::System(error.to_string());
    std::thread::scope(|scope| {
        let run = || {
            let runtime = Builder::new_current_thread().build();
            let runtime = runtime.map_err(|error| system(&error))?;
            runtime.block_on(only_number(query, tables, limits))
        };
        let thread = std::thread::Builder::new().spawn_scoped(scope, run);
        let thread = thread.map_err(|error| system(&error))?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(NumberError::System("a thread failed".to_owned())))
    })
}

/// Runs a query, and returns the number in its only row and column.
async fn only_number(
    query: &Query,
    tables: Tables,
    limits: &QueryLimits,
) -> Result<f64, NumberError> {
    let mut rows = Session::planner().start(query, tables, RowForm::Unordered, limits)?;
    if rows.columns().len() != 1 {
        return Err(NumberError::Columns(rows.columns().len()));
    }
    let mut found = None;
    while let Some(batch) = rows.next().await? {
        let column = batch.column(0);
        check_type(column.data_type())?;
        if column.is_empty() {
            continue;
        }
        if found.is_some() || column.len() > 1 {
            return Err(NumberError::Rows);
        }
        let numbers = cast(column, &DataType::Float64);
        let numbers = numbers.map_err(|error| NumberError::System(error.to_string()))?;
        let numbers = numbers.as_any().downcast_ref::<Float64Array>();
        found = Some(
            numbers
                .filter(|numbers| numbers.is_valid(0))
                .map(|numbers| numbers.value(0)),
        );
    }
    match found {
        None => Err(NumberError::NoRow),
        Some(None) => Err(NumberError::Missing),
        Some(Some(value)) if !value.is_finite() => Err(NumberError::NotFinite {
            value,
            division: first_divisor(query),
        }),
        Some(Some(number)) => Ok(number),
    }
}

/// Returns the line and column of the first divisor of a query that may be 0.
fn first_divisor(query: &Query) -> Option<(u64, u64)> {
    let may_be_zero = |divisor: &Expr| match &divisor.kind {
        ExprKind::Integer(number) => *number == 0,
        ExprKind::Double(number) => *number == 0.0,
        ExprKind::Call(call) => call.name.text != "nullif",
        _ => true,
    };
    let found = Node::Query(query.tree()).walk(&mut |node| {
        if let Node::Expr(expr) = node
            && let ExprKind::Operation { op, operands } = &expr.kind
            && *op == Operator::Divide
            && let Some(divisor) = operands.last().filter(|divisor| may_be_zero(divisor))
        {
            return ControlFlow::Break(divisor.at);
        }
        ControlFlow::Continue(())
    });
    let at = found.break_value()?;
    Some((u64::from(at.line), u64::from(at.column)))
}
