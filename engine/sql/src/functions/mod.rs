//! The functions that queries can call. `list.txt` lists all of them.
//!
//! | Module | Content |
//! |---|---|
//! | `table` | the names and kinds of all functions |
//! | `guarded` | a wrapper of all scalar functions that limits their memory and normalizes NaN |
//! | `bounded` | upper bounds of the size of values, computed before the call |
//! | `canonical` | normalizes NaN and zero |
//! | `double_text` | converts doubles to text |
//! | `arithmetic` | operators on numbers |
//! | `exact` | sums, means and variances that do not depend on the order of the rows |
//! | `extreme` | `min` and `max` of doubles |
//! | `math`, `hashes`, `regex`, `json`, ... | functions that extend or replace DataFusion's |

mod arithmetic;
mod bounded;
mod canonical;
mod double_text;
mod exact;
mod extreme;
mod first_seen;
mod guarded;
mod hashes;
pub(crate) mod json;
mod math;
mod multi_hot;
mod printf;
mod regex;
mod round_half_even;
mod scalar;
mod single_row;
mod split_words;
pub(crate) mod strptime;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use datafusion_functions::all_default_functions;
use datafusion_functions_aggregate::all_default_aggregate_functions;
use datafusion_functions_nested::all_default_nested_functions;
use datafusion_functions_window::all_default_window_functions;

pub(crate) use self::regex::compiled;
pub(crate) use arithmetic::{checked_function, is_arithmetic, is_operator_name};
pub(crate) use bounded::{BATCH_ROWS, rows_for, rows_of};
pub(crate) use canonical::{canonical_key, ordered_bits, with_one_nan};
pub(crate) use double_text::{double_text, text_type};
use guarded::guarded;
pub(crate) use single_row::{cancellable, single_row};
pub(crate) use table::listed;
use table::{FunctionKind, functions};

/// Implements the methods that all replacements of an aggregate share. The field `plain` is the original aggregate.
macro_rules! describe_like_plain {
    () => {
        fn name(&self) -> &str {
            self.plain.name()
        }

        fn signature(&self) -> &datafusion_expr::Signature {
            self.plain.signature()
        }

        fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
            self.plain.return_type(arguments)
        }

        fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
            self.plain.coerce_types(types)
        }

        fn reverse_expr(&self) -> datafusion_expr::ReversedUDAF {
            datafusion_expr::ReversedUDAF::Identical
        }

        fn order_sensitivity(&self) -> datafusion_expr::utils::AggregateOrderSensitivity {
            datafusion_expr::utils::AggregateOrderSensitivity::Insensitive
        }
    };
}
use describe_like_plain;

/// Functions that depend on the clock, on randomness or on the system, including functions of other dialects.
pub(crate) const NON_DETERMINISTIC: &[&str] = &[
    "current_date",
    "current_time",
    "current_timestamp",
    "gen_random_uuid",
    "getdate",
    "localtime",
    "localtimestamp",
    "newid",
    "now",
    "rand",
    "random",
    "today",
    "uuid",
    "uuidv4",
    "uuidv7",
];

/// Aggregates whose value depends on the order of the rows. ORDER BY in other aggregates is an error.
const ORDER_SENSITIVE: &[&str] = &[
    "array_agg",
    "first_value",
    "last_value",
    "nth_value",
    "string_agg",
];

/// Functions that accept IGNORE NULLS.
const NULL_TREATMENT: &[&str] = &["first_value", "lag", "last_value", "lead", "nth_value"];

static SCALARS: LazyLock<HashMap<&'static str, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let mut plain = all_default_functions();
    plain.extend(all_default_nested_functions());
    let own = [
        multi_hot::function(),
        printf::function(),
        round_half_even::function(),
        split_words::function(),
        strptime::function(),
    ];
    let own = own
        .into_iter()
        .chain(json::functions())
        .chain(hashes::functions())
        .chain(regex::functions())
        .chain(math::functions());
    plain.extend(own.map(|function| Arc::new(ScalarUDF::from(function))));
    let is_scalar = |kind| matches!(kind, FunctionKind::Scalar | FunctionKind::Columns);
    let named = chosen(plain, is_scalar, |function| function.name());
    named
        .map(|(name, function)| (name, guarded(&function)))
        .collect()
});

static AGGREGATES: LazyLock<HashMap<&'static str, Arc<AggregateUDF>>> = LazyLock::new(|| {
    let is_aggregate = |kind| matches!(kind, FunctionKind::Aggregate | FunctionKind::Both);
    let plain = all_default_aggregate_functions();
    let named = chosen(plain, is_aggregate, |function| function.name());
    let order_free = |function: &Arc<AggregateUDF>| {
        exact::exact(function).or_else(|| extreme::ordered(function))
    };
    named
        .map(|(name, function)| (name, order_free(&function).unwrap_or(function)))
        .collect()
});

static WINDOWS: LazyLock<HashMap<&'static str, Arc<WindowUDF>>> = LazyLock::new(|| {
    let is_window = |kind| matches!(kind, FunctionKind::Window | FunctionKind::Both);
    let mut plain = all_default_window_functions();
    plain.push(Arc::new(WindowUDF::from(first_seen::FirstSeen::default())));
    chosen(plain, is_window, |function| function.name()).collect()
});

/// Finds each of `functions` in `list.txt`. Returns the functions whose kind in this list `is_wanted` accepts, each
/// with its name in this list.
fn chosen<F>(
    functions: Vec<Arc<F>>,
    is_wanted: fn(FunctionKind) -> bool,
    name: fn(&F) -> &str,
) -> impl Iterator<Item = (&'static str, Arc<F>)> {
    functions.into_iter().filter_map(move |function| {
        let listed = listed(name(&function))?;
        is_wanted(listed.kind).then_some((listed.name, function))
    })
}

/// Returns the scalar function with this name or alias. `name` must be in lower case. The planner does not use this
/// function for calls of `coalesce`, because it replaces them by CASE.
pub(crate) fn find_scalar(name: &str) -> Option<Arc<ScalarUDF>> {
    SCALARS.get(listed(name)?.name).cloned()
}

pub(crate) fn find_aggregate(name: &str) -> Option<Arc<AggregateUDF>> {
    AGGREGATES.get(listed(name)?.name).cloned()
}

pub(crate) fn find_window(name: &str) -> Option<Arc<WindowUDF>> {
    WINDOWS.get(listed(name)?.name).cloned()
}

/// Returns the names of all functions, including their aliases.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let names = |function: &'static table::ListedFunction| {
        std::iter::once(function.name).chain(function.aliases.iter().copied())
    };
    functions().iter().flat_map(names)
}

pub(crate) fn is_order_sensitive(name: &str) -> bool {
    ORDER_SENSITIVE.contains(&name)
}

pub(crate) fn takes_ignore_nulls(name: &str) -> bool {
    NULL_TREATMENT.contains(&name)
}
