//! Operators on numbers, and `||` with a size limit.
//!
//! - Integer operators fail if the value exceeds 64 bits. The message shows the operands.
//! - `a << b` is `a` times 2 to the power of `b`, and `a >> b` is `a` divided by this power, rounded down.
//! - The number of bits `b` must be from 0 to 63, because processors and databases differ for other numbers.
//! - Operators on doubles follow IEEE 754, but every NaN has the same bits.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Datum, Scalar};
use arrow::compute::kernels::concat_elements::concat_elements_utf8;
use arrow::compute::kernels::numeric::{add, div, mul, neg, rem, sub};
use arrow::compute::try_binary;
use arrow::datatypes::{DataType, Int64Type};
use arrow::error::ArrowError;
use arrow::util::display::array_value_to_string;
use datafusion_common::ScalarValue;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use prep_failure::Failure;
use prep_spec::query::tree::Operator;

use super::bounded::{allowed, check_size, sum_of_lengths};
use super::canonical::{canonical_value, one_nan};
use crate::error::FunctionError;

/// The operators that [`CheckedArithmetic`] computes. The symbol of an operator is also the name of its function.
const OPERATORS: [Operator; 9] = [
    Operator::Add,
    Operator::Subtract,
    Operator::Multiply,
    Operator::Divide,
    Operator::Remainder,
    Operator::Negate,
    Operator::ShiftLeft,
    Operator::ShiftRight,
    Operator::Join,
];

pub(crate) fn is_arithmetic(op: Operator) -> bool {
    OPERATORS.contains(&op)
}

pub(crate) fn is_operator_name(name: &str) -> bool {
    OPERATORS.iter().any(|op| op.symbol() == name)
}

/// Returns the function that computes an arithmetic operator.
pub(crate) fn checked_function(op: Operator) -> ScalarUDF {
    ScalarUDF::from(CheckedArithmetic {
        op,
        signature: Signature::variadic_any(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedArithmetic {
    op: Operator,
    signature: Signature,
}

impl ScalarUDFImpl for CheckedArithmetic {
    fn name(&self) -> &str {
        self.op.symbol()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments.first().cloned().unwrap_or(DataType::Null))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let array = |value: &ColumnarValue| value.to_array(rows);
        let computed = match (self.op, args.args.as_slice()) {
            (Operator::Join, [left, right]) => {
                let lengths = sum_of_lengths(&args.args, rows);
                check_size("||", lengths, allowed(&args)?)?;
                let (left, right) = (array(left)?, array(right)?);
                let joined =
                    concat_elements_utf8(left.as_string::<i32>(), right.as_string::<i32>())?;
                Arc::new(joined) as ArrayRef
            }
            (Operator::ShiftLeft | Operator::ShiftRight | Operator::Negate, operands) => {
                let arrays = operands.iter().map(array).collect::<Result<Vec<_>>>()?;
                let datums: Vec<&dyn Datum> = arrays.iter().map(|array| array as _).collect();
                self.compute(&datums)
                    .map_err(|error| self.failed(error, &arrays))?
            }
            (_, operands) => {
                let boxed = operands.iter().map(datum).collect::<Result<Vec<_>>>()?;
                let datums: Vec<&dyn Datum> = boxed.iter().map(AsRef::as_ref).collect();
                match self.compute(&datums) {
                    Ok(computed) => computed,
                    Err(error) => {
                        let arrays = operands.iter().map(array).collect::<Result<Vec<_>>>()?;
                        return Err(self.failed(error, &arrays));
                    }
                }
            }
        };
        canonical_value(result(computed, &args.args)?, one_nan)
    }
}

impl CheckedArithmetic {
    fn compute(&self, operands: &[&dyn Datum]) -> std::result::Result<ArrayRef, ArrowError> {
        match (self.op, operands) {
            (Operator::Add, [left, right]) => add(*left, *right),
            (Operator::Subtract, [left, right]) => sub(*left, *right),
            (Operator::Multiply, [left, right]) => mul(*left, *right),
            (Operator::Divide, [left, right]) => div(*left, *right),
            (Operator::Remainder, [left, right]) => rem(*left, *right),
            (Operator::ShiftLeft, [left, right]) => shifted(*left, *right, shift_left),
            (Operator::ShiftRight, [left, right]) => shifted(*left, *right, shift_right),
            (Operator::Negate, [operand]) => neg(operand.get().0),
            _ => Err(ArrowError::InvalidArgumentError(
                "a wrong number of operands".to_owned(),
            )),
        }
    }

    /// Finds the first row that fails, and returns its error. The message shows the operands of this row.
    fn failed(&self, error: ArrowError, operands: &[ArrayRef]) -> DataFusionError {
        let rows = operands.first().map_or(0, |operand| operand.len());
        let slices = |row| {
            operands
                .iter()
                .map(move |operand| operand.slice(row, 1))
                .collect()
        };
        let failing = (0..rows).find_map(|row| {
            let slices: Vec<ArrayRef> = slices(row);
            let datums: Vec<&dyn Datum> = slices.iter().map(|array| array as _).collect();
            self.compute(&datums).err().map(|error| (slices, error))
        });
        let Some((slices, error)) = failing else {
            return error.into();
        };
        let texts = slices
            .iter()
            .map(|operand| array_value_to_string(operand, 0).unwrap_or_default());
        let operation = match texts.collect::<Vec<String>>().as_slice() {
            [operand] => format!("-({operand})"),
            operands => operands.join(&format!(" {} ", self.op.symbol())),
        };
        let (message, help) = match error {
            ArrowError::DivideByZero => (
                format!("division by zero: {operation}"),
                Some("use NULLIF(x, 0) as the divisor to make the result missing"),
            ),
            ArrowError::InvalidArgumentError(message) => (format!("{message}: {operation}"), None),
            _ => (
                format!("the result exceeds 64-bit integers: {operation}"),
                Some("use CAST(x AS DOUBLE) to compute with doubles, which have no such limit"),
            ),
        };
        FunctionError::with_help(Failure::Pipeline, message, help)
    }
}

/// Shifts an integer. Returns `None` if the result exceeds 64 bits.
type Shift = fn(i64, u32) -> Option<i64>;

fn shift_left(value: i64, bits: u32) -> Option<i64> {
    let shifted = value.checked_shl(bits)?;
    (shifted >> bits == value).then_some(shifted)
}

fn shift_right(value: i64, bits: u32) -> Option<i64> {
    value.checked_shr(bits)
}

fn shifted(
    values: &dyn Datum,
    bits: &dyn Datum,
    shift: Shift,
) -> std::result::Result<ArrayRef, ArrowError> {
    let (values, bits) = (values.get().0, bits.get().0);
    let (values, bits) = (
        values.as_primitive::<Int64Type>(),
        bits.as_primitive::<Int64Type>(),
    );
    let shifted = try_binary::<_, _, _, Int64Type>(values, bits, |value, bits| match bits {
        0..=63 => shift(value, bits as u32)
            .ok_or_else(|| ArrowError::ArithmeticOverflow("a shift".to_owned())),
        _ => {
            let message = "the number of bits must be from 0 to 63";
            Err(ArrowError::InvalidArgumentError(message.to_owned()))
        }
    })?;
    Ok(Arc::new(shifted))
}

fn datum(value: &ColumnarValue) -> Result<Box<dyn Datum>> {
    Ok(match value {
        ColumnarValue::Array(array) => Box::new(array.clone()),
        ColumnarValue::Scalar(scalar) => Box::new(Scalar::new(scalar.to_array()?)),
    })
}

/// Returns a scalar if all operands are scalars, otherwise the array.
fn result(array: ArrayRef, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
    let is_scalar = operands
        .iter()
        .all(|operand| matches!(operand, ColumnarValue::Scalar(_)));
    if is_scalar && !array.is_empty() {
        return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
            &array, 0,
        )?));
    }
    Ok(ColumnarValue::Array(array))
}
