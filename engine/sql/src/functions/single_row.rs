//! The value of a subquery that must have at most one row.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use datafusion_expr::{ScalarUDF, Signature, Volatility};
use prep_failure::Failure;

use super::scalar::SimpleFunction;
use crate::error::FunctionError;

/// Returns a function of a value and a number of rows. It returns the value, and fails if there are several rows.
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
