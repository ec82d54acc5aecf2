//! Limits the size of results that can be much larger than the arguments.
//!
//! `repeat(x, 1000000000)` would allocate all memory before any check could run. Each function in this module computes
//! the size of its result before the call. If the size exceeds the limit derived from the query's memory, the call is
//! an error.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Float64Type, Int64Type};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;
use prep_failure::Failure;

use crate::QueryLimits;
use crate::error::FunctionError;

/// Limit in bytes for calls outside of a running query, for example during constant folding.
const FOLDING_CALL_BYTES: u64 = 64 << 20;

/// Returns the maximum number of bytes that a call may return.
pub(super) fn allowed(args: &ScalarFunctionArgs) -> Result<u64> {
    let Some(limits) = args.config_options.extensions.get::<QueryLimits>() else {
        return Ok(FOLDING_CALL_BYTES);
    };
    limits.check()?;
    Ok(limits.max_call_bytes())
}

/// Maximum size in bytes of a text or list in one row, and of all rows of a batch together.
const MAX_VALUE_BYTES: u64 = i32::MAX as u64;

/// The size of the result of a call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResultSize {
    /// Size of all rows together, in bytes.
    total: u64,
    /// Size of the largest row, in bytes.
    largest: u64,
}

impl ResultSize {
    fn add(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        self.largest = self.largest.max(bytes);
    }
}

/// Returns an error if the result of a call would be too large.
pub(super) fn check_size(name: &str, size: ResultSize, allowed: u64) -> Result<()> {
    if size.largest > MAX_VALUE_BYTES {
        let message = format!(
            "{name} returns a value of {} MB; the limit is 2147 MB",
            size.largest / 1_000_000
        );
        return Err(FunctionError::error(Failure::Pipeline, message));
    }
    if size.total > allowed {
        // A call may return an eighth of the query's memory.
        let needed = size.total.saturating_mul(8).div_ceil(10_000_000) * 10;
        let message = format!(
            "{name} returns {} MB for one batch: the query needs {needed} MB or more",
            size.total.div_ceil(1_000_000)
        );
        return Err(FunctionError::error(Failure::Machine, message));
    }
    Ok(())
}

/// Describes how the size of a result depends on the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Growth {
    /// The first argument is repeated the number of times that the second argument states.
    Times,
    /// The second argument is the number of characters.
    Padded,
    /// The result lists the numbers between two arguments.
    Series,
    /// The second argument is the number of elements.
    Resized,
    /// The result contains all arguments.
    Together,
    /// The third argument replaces each occurrence of the second argument in the first one.
    Replaced,
    /// The size is unknown before the call, so the function is called for a few rows at a time.
    Unknown,
}

impl Growth {
    /// Returns the size of a call's result, or 0 if it is unknown before the call.
    fn size(self, args: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
        match self {
            Growth::Times => repeated_size(args, rows),
            Growth::Padded => padded_size(args, rows),
            Growth::Series => series_size(args, rows),
            Growth::Resized => resized_size(args, rows),
            Growth::Together => Ok(sum_of_lengths(args, rows)),
            Growth::Replaced => replaced_size(args, rows),
            Growth::Unknown => Ok(ResultSize::default()),
        }
    }
}

fn growth(name: &str) -> Option<Growth> {
    Some(match name {
        "repeat" | "array_repeat" => Growth::Times,
        "lpad" | "rpad" => Growth::Padded,
        "range" | "generate_series" => Growth::Series,
        "array_resize" => Growth::Resized,
        "concat" | "concat_ws" | "array_concat" | "make_array" | "array_append"
        | "array_prepend" | "overlay" | "named_struct" | "struct" => Growth::Together,
        "replace" => Growth::Replaced,
        "regexp_replace" | "array_to_string" | "translate" => Growth::Unknown,
        _ => return None,
    })
}

/// Returns the function with a limit on the size of its result. `None` if the function needs no limit.
pub(crate) fn bounded(function: &Arc<ScalarUDF>) -> Option<Arc<ScalarUDF>> {
    if function.inner().is::<BoundedFunction>() {
        return None;
    }
    let growth = growth(function.name())?;
    let inner = function.clone();
    Some(Arc::new(ScalarUDF::from(BoundedFunction { inner, growth })))
}

/// Default number of rows per batch.
const BATCH_ROWS: usize = 8192;
/// Number of rows per batch if the value of an argument determines the size of a result.
const GROWING_BATCH_ROWS: usize = 256;

/// Returns the number of rows per batch for a query. It is smaller if results of functions may be large.
pub(crate) fn rows_per_batch(plan: &LogicalPlan, limits: &QueryLimits) -> usize {
    let mut rows = BATCH_ROWS;
    // The closures do not fail.
    let _ = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|inner| {
                if let Expr::ScalarFunction(function) = inner
                    && let Some(growth) = growth(function.name())
                {
                    rows = rows.min(rows_for(growth, &function.args, limits));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    rows
}

fn rows_for(growth: Growth, args: &[Expr], limits: &QueryLimits) -> usize {
    let text = ScalarValue::Utf8(Some("x".repeat(64)));
    let known = args.iter().enumerate().map(|(index, arg)| match arg {
        Expr::Literal(value, _) => Some(ColumnarValue::Scalar(value.clone())),
        // The first argument is assumed to be a text of typical length.
        _ if index == 0 && growth != Growth::Series => Some(ColumnarValue::Scalar(text.clone())),
        _ => None,
    });
    let size = match known.collect::<Option<Vec<_>>>() {
        Some(args) => growth.size(&args, 1).ok(),
        None => None,
    };
    match (growth, size) {
        (Growth::Together | Growth::Replaced | Growth::Unknown, _) => BATCH_ROWS,
        (_, None) => GROWING_BATCH_ROWS,
        (_, Some(size)) => {
            let rows = limits.max_call_bytes() / 4 / size.total.max(1);
            usize::try_from(rows)
                .unwrap_or(BATCH_ROWS)
                .clamp(1, BATCH_ROWS)
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct BoundedFunction {
    inner: Arc<ScalarUDF>,
    growth: Growth,
}

impl ScalarUDFImpl for BoundedFunction {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, context)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let allowed = allowed(&args)?;
        let rows = args.number_rows;
        let name = format!("{}()", self.inner.name());
        if self.growth == Growth::Unknown {
            return self.piecewise(&name, args, allowed);
        }
        check_size(&name, self.growth.size(&args.args, rows)?, allowed)?;
        self.inner.invoke_with_args(args)
    }
}

/// Maximum number of rows per call if the size of the result is unknown.
const MAX_PIECE_ROWS: usize = 64;

impl BoundedFunction {
    /// Calls the function for a few rows at a time, and stops if the results together are too large.
    fn piecewise(
        &self,
        name: &str,
        args: ScalarFunctionArgs,
        allowed: u64,
    ) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let is_scalar = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        let small = sum_of_lengths(&args.args, rows).total < allowed / 64;
        if small || args.args.iter().all(is_scalar) {
            return self.inner.invoke_with_args(args);
        }
        let mut size = ResultSize::default();
        let mut pieces: Vec<ArrayRef> = Vec::new();
        let (mut first, mut count) = (0, 1);
        while first < rows {
            count = count.min(rows - first);
            let slice = args.args.iter().map(|arg| match arg {
                ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(first, count)),
                scalar => scalar.clone(),
            });
            let piece = self.inner.invoke_with_args(ScalarFunctionArgs {
                args: slice.collect(),
                arg_fields: args.arg_fields.clone(),
                number_rows: count,
                return_field: args.return_field.clone(),
                config_options: args.config_options.clone(),
            })?;
            let piece = piece.into_array(count)?;
            let bytes = piece.get_array_memory_size() as u64;
            size.add(bytes);
            check_size(name, ResultSize { largest: 0, ..size }, allowed)?;
            pieces.push(piece);
            first += count;
            // The number of rows whose results probably use an eighth of the limit.
            let row = (bytes / count as u64).max(1);
            count = usize::try_from(allowed / 8 / row)
                .unwrap_or(MAX_PIECE_ROWS)
                .clamp(1, MAX_PIECE_ROWS);
        }
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        if pieces.is_empty() {
            return self.inner.invoke_with_args(args);
        }
        Ok(ColumnarValue::Array(arrow::compute::concat(&pieces)?))
    }
}

/// Returns the size in bytes of the value in each row.
fn lengths(value: &ColumnarValue, rows: usize) -> Vec<u64> {
    match value {
        ColumnarValue::Scalar(scalar) => {
            let length = scalar.to_array().map_or(0, |array| length(&array, 0));
            vec![length; rows]
        }
        ColumnarValue::Array(array) => (0..rows.min(array.len()))
            .map(|row| length(array, row))
            .collect(),
    }
}

fn length(array: &ArrayRef, row: usize) -> u64 {
    if array.is_null(row) {
        return 0;
    }
    let bytes = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).len(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).len(),
        DataType::Utf8View => array.as_string_view().value(row).len(),
        DataType::List(field) => {
            let list: &ListArray = array.as_list();
            let elements = list.value(row);
            match field.data_type().primitive_width() {
                Some(width) => elements.len() * width,
                None => elements.to_data().get_slice_memory_size().unwrap_or(0),
            }
        }
        other => other.primitive_width().unwrap_or(16),
    };
    bytes as u64
}

/// Returns the size of all arguments together.
pub(super) fn sum_of_lengths(args: &[ColumnarValue], rows: usize) -> ResultSize {
    let mut sums = vec![0_u64; rows];
    for arg in args {
        for (sum, length) in sums.iter_mut().zip(lengths(arg, rows)) {
            *sum = sum.saturating_add(length);
        }
    }
    result_size(sums)
}

fn result_size(sizes: impl IntoIterator<Item = u64>) -> ResultSize {
    let mut size = ResultSize::default();
    for bytes in sizes {
        size.add(bytes);
    }
    size
}

/// Returns the integer in each row, with 0 for missing and negative numbers.
fn counts(args: &[ColumnarValue], index: usize, rows: usize) -> Result<Vec<u64>> {
    let Some(arg) = args.get(index) else {
        return Ok(vec![0; rows]);
    };
    let array = cast(&arg.to_array(rows)?, &DataType::Int64)?;
    let array = array.as_primitive::<Int64Type>();
    Ok(array
        .iter()
        .map(|count| u64::try_from(count.unwrap_or(0)).unwrap_or(0))
        .collect())
}

fn repeated_size(args: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let lengths = args.first().map(|value| lengths(value, rows));
    let products = lengths.unwrap_or_default().into_iter();
    let products = products.zip(counts(args, 1, rows)?);
    Ok(result_size(
        products.map(|(length, count)| length.saturating_mul(count)),
    ))
}

/// Computes the size of a padded text. A character of the padding takes up to four bytes.
fn padded_size(args: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let is_wide = args.get(2).is_some_and(|fill| match fill {
        ColumnarValue::Scalar(fill) => !fill.to_string().is_ascii(),
        ColumnarValue::Array(_) => true,
    });
    let width = if is_wide { 4 } else { 1 };
    let own = args.first().map(|value| lengths(value, rows));
    let counts = counts(args, 1, rows)?.into_iter();
    let sizes = counts.zip(own.unwrap_or_default());
    Ok(result_size(sizes.map(|(count, own)| {
        count.saturating_mul(width).saturating_add(own)
    })))
}

fn series_size(args: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let number = |index: usize| -> Result<Option<Vec<Option<f64>>>> {
        let Some(arg) = args.get(index) else {
            return Ok(None);
        };
        let array = arg.to_array(rows)?;
        if !array.data_type().is_numeric() {
            return Ok(None);
        }
        let array = cast(&array, &DataType::Float64)?;
        Ok(Some(array.as_primitive::<Float64Type>().iter().collect()))
    };
    let (first, second, step) = (number(0)?, number(1)?, number(2)?);
    let mut size = ResultSize::default();
    for row in 0..rows {
        let at = |values: &Option<Vec<Option<f64>>>| {
            values.as_ref().and_then(|values| *values.get(row)?)
        };
        let (start, stop) = match at(&second) {
            Some(stop) => (at(&first).unwrap_or(0.0), stop),
            None => (0.0, at(&first).unwrap_or(0.0)),
        };
        let count = (stop - start) / at(&step).filter(|step| *step != 0.0).unwrap_or(1.0);
        // The conversion saturates.
        size.add(((count.max(0.0) + 1.0) * 8.0) as u64);
    }
    Ok(size)
}

fn resized_size(args: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let width = match args.first().map(ColumnarValue::data_type) {
        Some(DataType::List(field)) => field.data_type().primitive_width().unwrap_or(64),
        _ => 64,
    };
    let counts = counts(args, 1, rows)?.into_iter();
    Ok(result_size(
        counts.map(|count| count.saturating_mul(width as u64)),
    ))
}

fn replaced_size(args: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let [text, from, to] = args else {
        return Ok(ResultSize::default());
    };
    let shorter = |a: &ColumnarValue, b: &ColumnarValue| match (a, b) {
        (ColumnarValue::Scalar(a), ColumnarValue::Scalar(b)) => {
            matches!((a.try_as_str(), b.try_as_str()), (Some(Some(a)), Some(Some(b))) if a.len() <= b.len())
        }
        _ => false,
    };
    if shorter(to, from) {
        return Ok(sum_of_lengths(&args[..1], rows));
    }
    let texts = cast(&text.to_array(rows)?, &DataType::Utf8)?;
    let sources = cast(&from.to_array(rows)?, &DataType::Utf8)?;
    let tos = lengths(to, rows);
    let mut size = ResultSize::default();
    let pairs = texts
        .as_string::<i32>()
        .iter()
        .zip(sources.as_string::<i32>());
    for ((text, from), to) in pairs.zip(tos) {
        let (Some(text), Some(from)) = (text, from) else {
            continue;
        };
        let found = match from {
            "" => text.chars().count() + 1,
            from => text.matches(from).count(),
        };
        size.add((text.len() as u64).saturating_add((found as u64).saturating_mul(to)));
    }
    Ok(size)
}
