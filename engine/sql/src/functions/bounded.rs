//! Limits the size of the strings and lists that functions return.
//!
//! A call such as `repeat(x, 1000000000)` would use all memory before the size of the returned string could be checked.
//! Therefore an upper bound of the size is computed before each call. The limit depends on the query's memory.
//!
//! [`growth`] returns the bounds of some functions. All other functions return at most a small multiple of the size of their
//! arguments. If this multiple exceeds the limit, the function is called for a few rows at a time, and the actual sizes are
//! added up.

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use prep_failure::Failure;
use prep_formats::printf::MAX_WIDTH;

use super::regex;
use super::scalar::ResultSize;
use crate::QueryLimits;
use crate::error::FunctionError;

/// A call that is evaluated during planning may return at most this number of bytes.
const FOLDING_CALL_BYTES: u64 = 1 << 20;

/// Returns the maximum total size in bytes of the values that one call may return. Fails if the query was cancelled.
pub(super) fn allowed(args: &ScalarFunctionArgs) -> Result<u64> {
    let Some(limits) = args.config_options.extensions.get::<QueryLimits>() else {
        return Ok(FOLDING_CALL_BYTES);
    };
    limits.check()?;
    Ok(limits.max_call_bytes())
}

/// Maximum size of a single value that a call returns. The call fails if a value is larger.
const MAX_VALUE_BYTES: u64 = i32::MAX as u64;

/// Fails if a value, or all values of a call together, are too large.
pub(super) fn check_size(name: &str, size: ResultSize, allowed: u64) -> Result<()> {
    if size.largest > MAX_VALUE_BYTES {
        let message = format!(
            "{name} returns a value of {} MB; the limit is 2147 MB",
            size.largest / 1_000_000
        );
        return Err(FunctionError::error(Failure::Pipeline, message));
    }
    if size.total > allowed {
        // The values of a call may take up an eighth of the query's memory. Rounded up to a multiple of 10 MB.
        let needed = size.total.saturating_mul(8).div_ceil(10_000_000) * 10;
        let message = format!(
            "{name} returns {} MB for one batch: the query needs {needed} MB of memory or more",
            size.total.div_ceil(1_000_000)
        );
        return Err(FunctionError::error(Failure::Machine, message));
    }
    Ok(())
}

/// Bounds the size of the values that a call returns. The parameters are the call's arguments, the number of rows, and the
/// limit in bytes.
type SizeOf = fn(&[ColumnarValue], usize, u64) -> Result<ResultSize>;

#[derive(Clone, Copy)]
enum Growth {
    Known(SizeOf),
    /// The size depends on the value of an argument. If the planner does not know this value, batches have few rows.
    Counted(SizeOf),
    /// The bound of the size of a value may be much larger than the actual size.
    ///
    /// If the bound of all rows exceeds the limit, the function is called for a few rows at a time. A bound of a single row
    /// that exceeds the limit is an error.
    AtMost(SizeOf),
}

/// Returns how the size of a function's values is bounded. `None` means that the size grows linearly with the size of
/// the arguments: see [`LINEAR_GROWTH`] and [`ROW_BYTES`].
fn growth(name: &str) -> Option<Growth> {
    Some(match name {
        "repeat" => Growth::Counted(|args, rows, _| products(args, rows, 0)),
        "array_repeat" => Growth::Counted(|args, rows, _| products(args, rows, OFFSET_BYTES)),
        "lpad" | "rpad" => Growth::Counted(padded_size),
        "range" | "generate_series" => Growth::Counted(series_size),
        "concat" | "array_concat" | "make_array" | "array_append" | "array_prepend"
        | "array_union" => Growth::Known(|args, rows, _| Ok(sum_of_lengths(args, rows))),
        "concat_ws" => Growth::Known(separated_size),
        "replace" => Growth::Known(replaced_size),
        "regexp_replace" => Growth::Known(regex::replaced_size),
        "array_to_string" => Growth::Known(printed_size),
        "regexp_match" => Growth::AtMost(groups_size),
        "printf" => Growth::AtMost(formatted_size),
        _ => return None,
    })
}

/// Functions with linear growth return at most this multiple of the size of their arguments. For example, a list of
/// characters needs five bytes per character.
const LINEAR_GROWTH: u64 = 8;
/// In addition, such a function returns at most this number of bytes per row. For example, the SHA-256 of an empty
/// string has 64 digits.
const ROW_BYTES: u64 = 128;

/// Usual number of rows per batch.
pub(crate) const BATCH_ROWS: usize = 8192;
/// Number of rows per batch if an argument determines the size of a function's values.
const GROWING_BATCH_ROWS: usize = 256;

/// Returns the number of rows per batch for a function. `constants` contains `None` for arguments that vary.
pub(crate) fn rows_for(
    name: &str,
    constants: &[Option<&ScalarValue>],
    limits: &QueryLimits,
) -> usize {
    let Some(Growth::Counted(size)) = growth(name) else {
        return BATCH_ROWS;
    };
    let is_series = matches!(name, "range" | "generate_series");
    let known = constants
        .iter()
        .enumerate()
        .map(|(index, constant)| match constant {
            Some(constant) => Some((*constant).clone()),
            // An unknown first argument is assumed to be a string of typical length.
            None if index == 0 && !is_series => Some(ScalarValue::Utf8(Some("x".repeat(64)))),
            None => None,
        });
    let known = known.map(|value| value.map(ColumnarValue::Scalar));
    let size = known
        .collect::<Option<Vec<_>>>()
        .and_then(|args| size(&args, 1, 0).ok());
    let Some(size) = size else {
        return GROWING_BATCH_ROWS;
    };
    rows_of_bytes(size.total, limits)
}

/// Returns the number of rows per batch for a constant that is copied to each row.
pub(crate) fn rows_of(constant: &ScalarValue, limits: &QueryLimits) -> usize {
    let length = constant.to_array().map_or(0, |array| length(&array, 0));
    rows_of_bytes(length, limits)
}

fn rows_of_bytes(bytes: u64, limits: &QueryLimits) -> usize {
    let rows = limits.max_call_bytes() / 4 / bytes.max(1);
    usize::try_from(rows)
        .unwrap_or(BATCH_ROWS)
        .clamp(1, BATCH_ROWS)
}

/// Calls a function unless the size of its values exceeds the limit.
pub(super) fn bounded_call(
    function: &ScalarUDF,
    args: ScalarFunctionArgs,
) -> Result<ColumnarValue> {
    let is_array = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Array(_));
    // A call whose arguments are all constants is evaluated once, not for each row.
    let rows = if args.args.iter().any(is_array) {
        args.number_rows
    } else {
        1
    };
    let sizes = args
        .args
        .iter()
        .map(|arg| (is_array(arg), bytes(arg, rows)));
    let sizes: Vec<(bool, u64)> = sizes.collect();
    // Array arguments are already in memory. Therefore the call may return as many bytes as the largest of them has.
    let largest = sizes.iter().filter(|size| size.0).map(|size| size.1).max();
    let limit = allowed(&args)?.max(largest.unwrap_or(0));
    let linear = sizes
        .iter()
        .fold(0_u64, |sum, size| sum.saturating_add(size.1));
    let linear = linear
        .saturating_mul(LINEAR_GROWTH)
        .saturating_add(ROW_BYTES * rows as u64);
    let name = format!("{}()", function.name());
    let bound = match growth(function.name()) {
        Some(Growth::Known(size) | Growth::Counted(size)) => {
            check_size(&name, size(&args.args, rows, limit)?, limit)?;
            return function.invoke_with_args(args);
        }
        Some(Growth::AtMost(size)) => {
            let size = size(&args.args, rows, limit)?;
            let total = size.largest;
            check_size(&name, ResultSize { total, ..size }, limit)?;
            size.total
        }
        None => linear,
    };
    if bound <= limit || rows <= 1 {
        return function.invoke_with_args(args);
    }
    // The number of rows whose bound is about the limit.
    let count = u128::from(limit) * rows as u128 / u128::from(bound);
    piecewise(
        function,
        &name,
        &args,
        usize::try_from(count).unwrap_or(1).max(1),
        limit,
    )
}

/// Calls the function for `count` rows at a time, and stops if all values together exceed the limit.
fn piecewise(
    function: &ScalarUDF,
    name: &str,
    args: &ScalarFunctionArgs,
    count: usize,
    limit: u64,
) -> Result<ColumnarValue> {
    let mut size = ResultSize::default();
    let mut pieces: Vec<ArrayRef> = Vec::new();
    let mut first = 0;
    while first < args.number_rows {
        let count = count.min(args.number_rows - first);
        let slice = args.args.iter().map(|arg| match arg {
            ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(first, count)),
            scalar => scalar.clone(),
        });
        let piece = function.invoke_with_args(ScalarFunctionArgs {
            args: slice.collect(),
            arg_fields: args.arg_fields.clone(),
            number_rows: count,
            return_field: args.return_field.clone(),
            config_options: args.config_options.clone(),
        })?;
        let piece = piece.into_array(count)?;
        size.total = size.total.saturating_add(array_bytes(&piece));
        check_size(name, size, limit)?;
        pieces.push(piece);
        first += count;
    }
    let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
    Ok(ColumnarValue::Array(arrow::compute::concat(&pieces)?))
}

fn bytes(value: &ColumnarValue, rows: usize) -> u64 {
    match value {
        ColumnarValue::Array(array) => array_bytes(array),
        ColumnarValue::Scalar(scalar) => {
            let bytes = scalar.to_array().map_or(0, |array| array_bytes(&array));
            bytes.saturating_mul(rows as u64)
        }
    }
}

/// Returns the size of the values of an array, without parts of its buffers that belong to other rows.
fn array_bytes(array: &ArrayRef) -> u64 {
    let rows = array.len();
    let bytes = match array.data_type() {
        DataType::Utf8 => {
            let offsets = array.as_string::<i32>().offsets();
            (offsets[rows] - offsets[0]) as usize + 4 * rows
        }
        DataType::List(_) => {
            let list: &ListArray = array.as_list();
            let (first, end) = (list.offsets()[0] as usize, list.offsets()[rows] as usize);
            let values = list.values().slice(first, end - first);
            return array_bytes(&values).saturating_add(4 * rows as u64);
        }
        other => match other.primitive_width() {
            Some(width) => width * rows,
            None => array.to_data().get_slice_memory_size().unwrap_or(16 * rows),
        },
    };
    bytes as u64
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
    match array.data_type() {
        _ if array.is_null(row) => 0,
        DataType::Utf8 => array.as_string::<i32>().value(row).len() as u64,
        _ => array_bytes(&array.slice(row, 1)),
    }
}

pub(super) fn sum_of_lengths(args: &[ColumnarValue], rows: usize) -> ResultSize {
    result_size(sums_of_lengths(args, rows))
}

fn sums_of_lengths(args: &[ColumnarValue], rows: usize) -> Vec<u64> {
    let mut sums = vec![0_u64; rows];
    for arg in args {
        for (sum, length) in sums.iter_mut().zip(lengths(arg, rows)) {
            *sum = sum.saturating_add(length);
        }
    }
    sums
}

fn result_size(sizes: impl IntoIterator<Item = u64>) -> ResultSize {
    let mut size = ResultSize::default();
    for bytes in sizes {
        size.add(bytes);
    }
    size
}

/// Returns the integer that the argument at `index` has in each row. Returns 0 for NULL and negative integers.
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

/// Size in bytes of the offset of a list element.
const OFFSET_BYTES: u64 = 8;

/// Bounds the size by `(size + more) * count`. `size` is the size in bytes of the first argument, and `count` is the
/// value of the second argument.
fn products(args: &[ColumnarValue], rows: usize, more: u64) -> Result<ResultSize> {
    let lengths = args.first().map(|value| lengths(value, rows));
    let products = lengths.unwrap_or_default().into_iter();
    let products = products.zip(counts(args, 1, rows)?);
    Ok(result_size(products.map(|(length, count)| {
        length.saturating_add(more).saturating_mul(count)
    })))
}

/// Computes the size of a padded string. A character of the padding has up to four bytes.
fn padded_size(args: &[ColumnarValue], rows: usize, _: u64) -> Result<ResultSize> {
    let is_wide = args.get(2).is_some_and(|fill| match fill {
        ColumnarValue::Scalar(fill) => !fill.to_string().is_ascii(),
        ColumnarValue::Array(_) => true,
    });
    let width = if is_wide { 4 } else { 1 };
    let text_lengths = args.first().map(|value| lengths(value, rows));
    let counts = counts(args, 1, rows)?.into_iter();
    let sizes = counts.zip(text_lengths.unwrap_or_default());
    Ok(result_size(sizes.map(|(count, length)| {
        count.saturating_mul(width).saturating_add(length)
    })))
}

/// Computes the size of `range` and `generate_series`. An integer has 8 bytes.
fn series_size(args: &[ColumnarValue], rows: usize, _: u64) -> Result<ResultSize> {
    let numbers = |index: usize| -> Result<Vec<Option<f64>>> {
        match args.get(index) {
            Some(arg) if arg.data_type().is_numeric() => {
                let array = cast(&arg.to_array(rows)?, &DataType::Float64)?;
                Ok(array.as_primitive::<Float64Type>().iter().collect())
            }
            _ => Ok(vec![None; rows]),
        }
    };
    let bounds = numbers(0)?.into_iter().zip(numbers(1)?);
    let sizes = bounds.zip(numbers(2)?).map(|((first, second), step)| {
        let (start, stop) = match second {
            Some(stop) => (first.unwrap_or(0.0), stop),
            None => (0.0, first.unwrap_or(0.0)),
        };
        let count = (stop - start) / step.filter(|step| *step != 0.0).unwrap_or(1.0);
        ((count.max(0.0) + 1.0) * 8.0) as u64
    });
    Ok(result_size(sizes))
}

fn replaced_size(args: &[ColumnarValue], rows: usize, limit: u64) -> Result<ResultSize> {
    let [text, from, to] = args else {
        return Ok(ResultSize::default());
    };
    // The text contains `from` at most as often as the length of `from` fits into the length of the text.
    let (from_lengths, to_lengths) = (lengths(from, rows), lengths(to, rows));
    let bounds = lengths(text, rows)
        .into_iter()
        .zip(from_lengths.iter().zip(&to_lengths));
    let bound = result_size(bounds.map(|(text, (from, to))| {
        let count = text / from.max(&1) + u64::from(*from == 0);
        text.saturating_add(count.saturating_mul(*to))
    }));
    if bound.total <= limit {
        return Ok(bound);
    }
    // The rough bound exceeds the limit, so the occurrences are counted.
    let texts = cast(&text.to_array(rows)?, &DataType::Utf8)?;
    let sources = cast(&from.to_array(rows)?, &DataType::Utf8)?;
    let mut size = ResultSize::default();
    let pairs = texts
        .as_string::<i32>()
        .iter()
        .zip(sources.as_string::<i32>());
    for ((text, from), to) in pairs.zip(to_lengths) {
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

/// Computes the size of `concat_ws`.
fn separated_size(args: &[ColumnarValue], rows: usize, _: u64) -> Result<ResultSize> {
    // The arguments are the separator and n values, with n - 1 separators between them. `sums_of_lengths` already counts one
    // of these separators.
    let separators = (args.len() as u64).saturating_sub(3);
    let separator = args.first().map(|separator| lengths(separator, rows));
    let sums = sums_of_lengths(args, rows).into_iter();
    let sums = sums.zip(separator.unwrap_or_default());
    Ok(result_size(sums.map(|(sum, separator)| {
        sum.saturating_add(separator.saturating_mul(separators))
    })))
}

/// Bounds the size of `array_to_string`.
fn printed_size(args: &[ColumnarValue], rows: usize, _: u64) -> Result<ResultSize> {
    /// Maximum length of a number as text.
    const NUMBER_BYTES: u64 = 26;
    let list = args.first().map(|list| list.to_array(rows)).transpose()?;
    let others = sums_of_lengths(args.get(1..).unwrap_or_default(), rows);
    let sizes = others.into_iter().enumerate().map(|(row, other)| {
        let (elements, bytes) = list
            .as_ref()
            .map_or((0, 0), |list| elements(&list.slice(row, 1)));
        let each = other.saturating_add(NUMBER_BYTES);
        bytes.saturating_add(each.saturating_mul(elements))
    });
    Ok(result_size(sizes))
}

/// Returns how many innermost elements the lists have, and the size of these elements in bytes.
fn elements(array: &ArrayRef) -> (u64, u64) {
    match array.as_list_opt::<i32>() {
        Some(list) => {
            let (first, end) = (
                list.offsets()[0] as usize,
                list.offsets()[list.len()] as usize,
            );
            elements(&list.values().slice(first, end - first))
        }
        None => (array.len() as u64, array_bytes(array)),
    }
}

/// Bounds the size of `regexp_match`: each group may match the entire text.
fn groups_size(args: &[ColumnarValue], rows: usize, _: u64) -> Result<ResultSize> {
    let [text, pattern, ..] = args else {
        return Ok(ResultSize::default());
    };
    let patterns = cast(&pattern.to_array(rows)?, &DataType::Utf8)?;
    let groups = patterns.as_string::<i32>().iter().map(|pattern| {
        let groups = pattern.map_or(0, |pattern| pattern.matches('(').count());
        groups.max(1) as u64
    });
    let sizes = lengths(text, rows).into_iter().zip(groups);
    Ok(result_size(
        sizes.map(|(length, groups)| length.saturating_mul(groups)),
    ))
}

/// Bounds the size of `printf`: each conversion may have all digits of a double and the largest width.
fn formatted_size(args: &[ColumnarValue], rows: usize, _: u64) -> Result<ResultSize> {
    const DIGITS: u64 = 350;
    let Some(format) = args.first() else {
        return Ok(ResultSize::default());
    };
    let formats = cast(&format.to_array(rows)?, &DataType::Utf8)?;
    let padding = formats.as_string::<i32>().iter().map(|format| {
        let format = format.unwrap_or_default();
        let widths = format.split(|character: char| !character.is_ascii_digit());
        let width = widths.filter_map(|width| width.parse::<u64>().ok()).max();
        let width = width.unwrap_or(0).min(MAX_WIDTH as u64);
        (width + DIGITS).saturating_mul(format.matches('%').count() as u64)
    });
    let sizes = sums_of_lengths(args, rows).into_iter().zip(padding);
    Ok(result_size(
        sizes.map(|(sum, padding)| sum.saturating_add(padding)),
    ))
}
