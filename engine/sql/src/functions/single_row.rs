//! Functions that only the planner calls.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use datafusion_expr::{ScalarUDF, Signature, Volatility};
use prep_failure::Failure;

use super::guarded::guarded;
use super::scalar::SimpleFunction;
use crate::error::FunctionError;

/// Returns a function that returns its argument, and fails if the query was cancelled.
///
/// The conditions of joins contain this function, because a join may compare many pairs of rows before it returns a row.
/// Only then does the guard after the join check for cancellation.
pub(crate) fn cancellable() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    let function = SimpleFunction::new(
        "cancellable",
        signature,
        |types| Ok(types[0].clone()),
        |columns| Ok(columns[0].clone()),
    );
    guarded(&Arc::new(ScalarUDF::from(function)))
}

/// Returns the function `single_row(value, rows)`, which returns `value`, and fails if `rows` exceeds 1.
pub(crate) fn single_row() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(SimpleFunction::new(
        "single_row",
        Signature::any(2, Volatility::Immutable),
        |types| Ok(types[0].clone()),
        |columns| {
            let counts = columns[1].as_primitive::<Int64Type>();
            let mut several = counts.iter().flatten().filter(|count| *count > 1);
            match several.next() {
                None => Ok(columns[0].clone()),
                Some(count) => Err(FunctionError::error(
                    Failure::Pipeline,
                    format!(
                        "a subquery in an expression returns {count} rows, but must return at most one"
                    ),
                )),
            }
        },
    )))
}
