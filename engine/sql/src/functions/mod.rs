//! SQL functions that extend or replace DataFusion's. There is one file per function or group of functions.

mod allowed;
mod arithmetic;
mod bounded;
mod exact;
mod extreme;
mod first_seen;
mod json;
mod json_get;
mod json_project;
mod json_with;
mod json_without;
mod printf;
mod round_half_even;
mod scalar;
mod split_words;
mod sum;

use std::sync::Arc;

use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};

pub(crate) use allowed::{AGGREGATE, NON_DETERMINISTIC, SCALAR, WINDOW};
pub(crate) use arithmetic::{Arithmetic, checked_function};
pub(crate) use bounded::{bounded, rows_per_batch};

/// Implements the methods that are the same for all replacements of an aggregate: those that describe the original
/// aggregate in the field `plain`, and those that state that the result does not depend on the order of the rows.
macro_rules! describe_like_plain {
    () => {
        fn name(&self) -> &str {
            self.plain.name()
        }

        fn aliases(&self) -> &[String] {
            self.plain.aliases()
        }

        fn signature(&self) -> &datafusion::logical_expr::Signature {
            self.plain.signature()
        }

        fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
            self.plain.return_type(arguments)
        }

        fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
            self.plain.coerce_types(types)
        }

        fn reverse_expr(&self) -> datafusion::logical_expr::ReversedUDAF {
            datafusion::logical_expr::ReversedUDAF::Identical
        }

        fn order_sensitivity(&self) -> datafusion::logical_expr::utils::AggregateOrderSensitivity {
            datafusion::logical_expr::utils::AggregateOrderSensitivity::Insensitive
        }
    };
}
use describe_like_plain;

/// Returns all scalar functions.
pub(crate) fn scalar() -> Vec<Arc<ScalarUDF>> {
    let mut functions = SessionStateDefaults::default_scalar_functions();
    let added = [
        json_get::function(),
        json_project::function(),
        json_with::function(),
        json_without::function(),
        printf::function(),
        round_half_even::function(),
        split_words::function(),
    ];
    functions.extend(added.map(|function| Arc::new(ScalarUDF::from(function))));
    functions
}

/// Returns all aggregates. If two have the same name, DataFusion uses the last one.
pub(crate) fn aggregate() -> Vec<Arc<AggregateUDF>> {
    let mut functions = SessionStateDefaults::default_aggregate_functions();
    functions.push(Arc::new(AggregateUDF::from(sum::Sum::default())));
    let order_free = |function: &Arc<AggregateUDF>| {
        exact::exact(function).or_else(|| extreme::ordered(function))
    };
    let functions = functions.into_iter();
    functions
        .map(|function| order_free(&function).unwrap_or(function))
        .collect()
}

/// Returns all window functions.
pub(crate) fn window() -> Vec<Arc<WindowUDF>> {
    let mut functions = SessionStateDefaults::default_window_functions();
    functions.push(Arc::new(WindowUDF::from(first_seen::FirstSeen::default())));
    functions
}
